"""The wheelset of the Test Set for Initial Value Problem Solvers: creep forces that depend on the normal forces.

Simeon, Fuehrer & Rentrop, Surv. Math. Ind. 1 (1991), 1-37. A rigid wheelset with conical wheels on rails of circular
profile, in the place (x, y, z) of its centre, yaw, roll and spin. The points of contact follow in closed form from the
condition that surfaces touch, so that the contact of each wheel is one constraint, whose multiplier gives the normal
force.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import casadi as ca
import numpy as np

from timefem import (
    Constraint,
    Coordinates,
    FormulaForce,
    GeneralizedSystem,
    InitialValueProblem,
    MixedGalerkin,
    System,
    solve,
)

from .entry import entry


@dataclass(frozen=True)
class Parameters:
    """Of the problem, in SI units."""

    mass: float = 16.08
    about_axle: float = 0.0605  # moments of inertia
    across: float = 0.366
    speed: float = 30.0
    g: float = 9.81
    radius: float = 0.1  # of the wheels in the middle
    cone: float = 0.0262  # angle of the wheels
    half: float = 0.1506  # distance of the wheels from the middle
    rail: float = 0.06  # radius of the profile of the rails
    stiffness: float = 6400.0  # of the suspension along and across the track
    arm: float = 0.19
    friction: float = 0.12
    shear_modulus: float = 7.92e10
    poisson: float = 0.28
    kalker: tuple[float, float, float] = (4.72772197, 4.27526987, 1.97203505)
    hertz: tuple[float, float] = (1.3537956, 0.7115218)
    pi: float = 3.1415926  # as it is stated
    start: tuple[float, ...] = (0.14941e-2, 0.40089e-6, 0.11241e-5, -0.28573e-3, 0.26459e-3)
    force_unit: float = 1e4
    sides: tuple[int, int] = (1, -1)  # left, right


@dataclass(frozen=True)
class Published:
    """Values at t = 10 s, of DASSL with tolerances of 1e-9."""

    place: tuple[float, ...] = (0.86355386965811e-2, 0.13038281022727e-4, -0.93635784016818e-4, -0.13642299804033e-1,
                                0.15292895005422e-2)
    velocity: tuple[float, ...] = (-0.76985374142666e-1, -0.25151106429207e-3, 0.20541188079539e-2,
                                   -0.23904837703692, -0.13633468454173e-1)
    spin: tuple[float, ...] = (-0.24421377661131,)
    contact_angles: tuple[float, ...] = (0.37839614386969e-3, -0.33666751972196e-3)  # left, right
    contact_places: tuple[float, ...] = (0.14173214964613, -0.15949425684022)
    multipliers: tuple[float, ...] = (-0.10124044903201e-1, -0.56285630573753e-2)


C = Parameters()


def touch(q, side):
    """Where a wheel touches its rail: angle psi about the axle, place xi along it, radius r of the wheel there, slopes
    of wheel and rail, gap."""
    x, y, yaw, roll = q[0], q[1], q[3], q[4]
    slope = -side * np.tan(C.cone)  # of the radius along the axle
    # tangents of both surfaces along the track agree: a linear equation for cosine and sine of psi
    across, along = ca.sin(yaw) * ca.sin(roll), ca.cos(yaw)
    psi = (ca.asin(slope * ca.sin(yaw) * ca.cos(roll) / ca.sqrt(across**2 + along**2)) - ca.atan2(across, along))
    outwards = ca.cos(yaw) * ca.sin(roll) * ca.cos(psi) - ca.sin(yaw) * ca.sin(psi)
    # and so do those across the track, which settle the point of the rail
    rail_slope = -(slope * ca.cos(yaw) * ca.cos(roll) - outwards) / (
        slope * ca.sin(roll) + ca.cos(roll) * ca.cos(psi))
    u = -side * C.rail * rail_slope / ca.sqrt(1 + rail_slope**2)
    place = side * (C.half + np.sin(C.cone) * C.rail + u)
    height = ca.sqrt(C.rail**2 - u**2) - C.radius - np.cos(C.cone) * C.rail
    largest = C.radius + np.tan(C.cone) * C.half  # r = largest + slope xi
    xi = (place - x - largest * outwards) / (ca.cos(yaw) * ca.cos(roll) + slope * outwards)
    r = largest + slope * xi
    gap = height - y - xi * ca.sin(roll) + r * ca.cos(roll) * ca.cos(psi)
    return SimpleNamespace(psi=psi, xi=xi, r=r, slope=slope, rail_slope=rail_slope, gap=gap)


def moves(q, yaw, at):
    """Derivative of a point of the wheel by (x, y, z, yaw, roll, spin), with another yaw, SX (3, 6)."""
    angles = ca.SX.sym("angles", 3)  # yaw, roll, angle about the axle
    a, b, psi = ca.vertsplit(angles)
    axle = ca.vertcat(ca.cos(a) * ca.cos(b), ca.sin(b), -ca.sin(a) * ca.cos(b))
    radial = ca.vertcat(ca.cos(a) * ca.sin(b) * ca.cos(psi) - ca.sin(a) * ca.sin(psi), -ca.cos(b) * ca.cos(psi),
                        -ca.sin(a) * ca.sin(b) * ca.cos(psi) - ca.cos(a) * ca.sin(psi))
    by_angles = ca.jacobian(at.xi * axle + at.r * radial, angles)
    return ca.horzcat(ca.SX.eye(3), ca.substitute(by_angles, angles, ca.vertcat(yaw, q[4], at.psi)))


def creep(q, v, at, normal):
    """Force of the rail along the surface, SX (3,), after Kalker and Jaschinski."""
    tilt = ca.atan(at.rail_slope)
    yaw = q[3] / ca.cos(tilt)
    track = ca.SX([0, 0, C.speed])
    slip = moves(q, yaw, at) @ v + track
    rolling = ca.norm_2(slip - 2 * (v[:3] + track)) / 2
    along = ca.vertcat(ca.sin(yaw), 0, ca.cos(yaw))
    across = ca.vertcat(ca.cos(yaw) * ca.cos(tilt), ca.sin(tilt), -ca.sin(yaw) * ca.cos(tilt))
    curvatures = 1 / (2 * at.r * ca.sqrt(1 + at.slope**2)) + 1 / (2 * C.rail)
    e, g = C.hertz
    size = (3 * ca.fabs(normal) * (1 - C.poisson) * e / (2 * C.pi * curvatures * C.shear_modulus * np.sqrt(g)))**(1 / 3)
    c11, c22, c23 = C.kalker
    limit, stiffness = C.friction * normal, C.shear_modulus * size**2
    turning = (ca.cos(tilt) * v[3] - ca.sin(tilt) * v[5]) / rolling
    force = ca.vertcat(-limit * ca.tanh(stiffness * c11 * ca.dot(along, slip) / rolling / limit),
                       -limit * ca.tanh(stiffness * (c22 * ca.dot(across, slip) / rolling + size * c23 * turning)
                                        / limit))
    whole = ca.norm_2(force)
    force *= ca.if_else(whole > ca.fabs(limit), ca.fabs(limit) / whole, 1)
    return force[0] * along + force[1] * across


def contact_forces(f, t, c, r):
    """Generalized forces of creep, by the multipliers r of the contacts."""
    q, v, yaw, roll = f[0].q, f[0].rate, f[0].q[3], f[0].q[4]
    force = ca.SX(6, 1)
    for i, side in enumerate(C.sides):
        at = touch(q, side)
        normal = -r[i] * ca.sqrt(1 + at.rail_slope**2)
        force += moves(q, yaw, at).T @ creep(q, v, at, normal)
        # the Test Set takes moments of contact and suspension about the vertical in the axes of the wheelset
        force[3] += (ca.cos(roll) - 1) * ca.jacobian(at.gap, q)[3] * r[i]
    force[5] -= 2 * C.arm**2 * C.stiffness * yaw * ca.sin(roll)
    return force


def kinetic(q, v, c):
    spin = v[5] + v[3] * ca.sin(q[4])
    return (C.mass * ca.sumsqr(v[:3]) + C.across * ((v[3] * ca.cos(q[4]))**2 + v[4]**2) + C.about_axle * spin**2) / 2


def potential(q, c):
    return C.stiffness * (q[0]**2 + q[2]**2 + (C.arm * q[3])**2) + C.mass * C.g * q[1]


def problem(t_end=10.0):
    """The initial-value problem; the gaps at the start, of 5e-10 m, stay."""
    q0 = [*C.start, 0.0]
    gaps = [float(ca.DM(touch(ca.SX(ca.DM(q0)), side).gap)) for side in C.sides]
    wheelset = GeneralizedSystem(6, kinetic, potential, name="wheelset")
    body = wheelset.bodies[0]
    rails = Constraint(body, lambda f, t, c: [c[i] - touch(f[0].q, side).gap for i, side in enumerate(C.sides)], 2,
                       parameters=gaps, names=["left", "right"], name="rails")
    force = FormulaForce(body, contact_forces, reactions=[rails], name="creep")
    rates = [0.0, 0.0, 0.0, 0.0, 0.0, C.speed / C.radius]
    return InitialValueProblem(System([*wheelset.parts, rails, force]), {body: Coordinates(q0, rates)}, (0, t_end))


@entry("test-set-wheelset", "wheelset on rails, creep by normal force, t = 10 s: all 17 values",
       "Test Set for IVP Solvers, problem wheel (Simeon, Fuehrer & Rentrop 1991)", 2e-6, minutes=True,
       remark="The published values are those of DASSL with tolerances of 1e-9. Where adhesion ends the creep force "
              "has a kink, beyond which ours lose the order of the element.")
def wheelset():
    sol = solve(problem(), MixedGalerkin(3), 20_000, progress=False)
    body = sol.system["wheelset"]
    q, v = sol.coordinates(body, 10.0), sol.velocity(body, 10.0)
    at = [touch(ca.SX(ca.DM(q)), side) for side in C.sides]
    theirs = Published()
    ours = {"place": q[:5], "velocity": v[:5], "spin": v[5:] - C.speed / C.radius,
            "contact_angles": [float(ca.DM(x.psi)) for x in at], "contact_places": [float(ca.DM(x.xi)) for x in at],
            "multipliers": sol.multipliers(10.0)[:2] / C.force_unit}
    return {name.replace("_", " "): (np.array(getattr(theirs, name)), np.array(value)) for name, value in ours.items()}
