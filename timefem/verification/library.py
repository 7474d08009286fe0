"""Mechanisms of the IFToMM library of multibody benchmarks, and others with published or closed-form numbers."""

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import casadi as ca
import numpy as np
from scipy.special import ellipj, ellipk, ellipkinc

from timefem import (
    Constraint,
    Coordinates,
    Damper,
    FormulaForce,
    GeneralizedSystem,
    InitialValueProblem,
    MixedGalerkin,
    PointMass,
    Pose,
    Prismatic,
    Revolute,
    RigidBody,
    RigidDistance,
    Spherical,
    Spring,
    System,
    Universal,
    critical_values,
    linearize,
    solve,
)

from ..cases import find_case
from ..cases.nonholonomic import bicycle
from .entry import entry
from .newton_euler import Mechanism
from .test_set import ANDREWS

LIBRARY = "IFToMM library of multibody benchmarks, {}"


@entry("library-a01-pendulum", "simple pendulum let go from the horizontal, t = 10 s: place",
       LIBRARY.format("A01; in closed form, by elliptic functions"), 1e-9)
def pendulum():
    g, length, t = 9.81, 1.0, 10.0
    point = PointMass(1.0)
    system = System([point, RigidDistance(point, length=length)], gravity=(0, -g, 0))
    problem = InitialValueProblem(system, {point: Pose(position=[-length, 0, 0])}, (0, t))
    sol = solve(problem, MixedGalerkin(4), 1000, progress=False)
    # theta from the lower position, sin(theta/2) = k sn(K + w t), k = sin(45 deg)
    k = np.sin(np.pi / 4)
    sn, _, dn, _ = ellipj(ellipk(k**2) + np.sqrt(g / length) * t, k**2)
    half = k * sn
    exact = -length * 2 * half * dn, -length * (1 - 2 * half**2), 0.0
    return {"place": (np.array(exact), sol.position(point, t))}


@entry("library-a02-four-bars", "two four-bar linkages in a row, through singular positions, t = 10 s: point B0",
       LIBRARY.format("A02, N = 2 (Gonzalez, Dopico, Lugris & Cuadrado 2006)"), 1e-6)
def four_bars():
    n = 2
    points = n + 1

    def rods(q):
        """Ends of all rods: the upright ones from the ground, then those between neighbours."""
        top = [q[2 * i:2 * i + 2] for i in range(points)]
        return [(None, x) for x in top] + list(pairwise(top))

    def kinetic(q, v, c):
        return sum(((0 if a is None else ca.sumsqr(a) + ca.dot(a, b)) + ca.sumsqr(b)) / 6 for a, b in rods(v))

    def potential(q, c):
        return sum(9.81 * ((0 if a is None else a[1]) + b[1]) / 2 for a, b in rods(q))

    def constraints(q, c):
        feet = [ca.vertcat(float(i), 0.0) for i in range(points)]
        ends = [(feet[i] if a is None else a, b) for i, (a, b) in enumerate(rods(q))]
        return [(ca.sumsqr(b - a) - 1) / 2 for a, b in ends]

    start = np.array([[i, 1.0] for i in range(points)]).ravel()
    system = GeneralizedSystem(2 * points, kinetic, potential, constraints)
    problem = InitialValueProblem(system, Coordinates(start, np.tile([1.0, 0.0], points)), (0, 10))
    sol = solve(problem, MixedGalerkin(3), 2000, progress=False)
    return {"B0": (np.array([0.32845810, 0.94451854]), sol.coordinates(system.bodies[0], 10.0)[:2])}


@entry("library-a03-andrews", "Andrews' squeezing mechanism of seven bodies on ten hinges, t = 0.03 s: directions and "
       "speeds of the bodies", LIBRARY.format("A03; numbers of the Test Set for IVP Solvers, problem andrews"), 1e-8)
def andrews_of_bodies():
    problem = find_case("andrews-squeezer").make(t_end=0.03)
    sol = solve(problem, MixedGalerkin(4), 400, progress=False)
    (beta, theta, gamma, phi, delta, omega, epsilon), rates = ANDREWS[:2]
    angles = np.array([beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon])
    speeds = np.array([rates[0], rates[0] + rates[1], rates[2], rates[3] + rates[4], rates[4], rates[5] + rates[6],
                       rates[6]])
    bodies = problem.system.bodies
    return {"directions": (np.stack([np.cos(angles), np.sin(angles)], axis=1),
                           np.array([sol.rotation_matrix(b, 0.03)[:2, 0] for b in bodies])),
            "speeds": (speeds, np.array([sol.angular_velocity(b, 0.03)[2] for b in bodies]))}


@entry("library-a04-bricard", "Bricard's mechanism, t = 1 s: end of the third bar",
       LIBRARY.format("A04; numbers of Exudyn 1.13, generalized alpha, 4000 steps"), 1e-7)
def bricard():
    problem = find_case("bricard").make(t_end=1.0)
    sol = solve(problem, MixedGalerkin(3), 100, progress=False)
    bar = problem.system.bodies[2]
    tip = sol.position(bar, 1.0) + sol.rotation_matrix(bar, 1.0) @ [0, 0, 0.5]
    return {"end of the bar": (np.array([0.51050151, -1.64916758, 0.14012314]), tip)}


@entry("library-free-body", "free rotation of a box about all axes, t = 10 s: angular velocity",
       "closed form by Jacobi's elliptic functions (Landau & Lifshitz, Mechanics, 37)", 1e-9)
def free_body():
    inertia, omega, t = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 1.5]), 10.0
    body = RigidBody(1.0, inertia)
    problem = InitialValueProblem(System([body]), {body: Pose(angular_velocity=omega)}, (0, t))
    sol = solve(problem, MixedGalerkin(4), 1000, progress=False)
    i1, i2, i3 = inertia
    twice, square = inertia @ omega**2, (inertia * omega) @ (inertia * omega)  # 2 E, M^2; here M^2 > 2 E I2
    w1, w3 = np.sqrt((twice * i3 - square) / (i1 * (i3 - i1))), np.sqrt((square - twice * i1) / (i3 * (i3 - i1)))
    w2 = np.sqrt((twice * i3 - square) / (i2 * (i3 - i2)))
    rate = np.sqrt((i3 - i2) * (square - twice * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (twice * i3 - square) / ((i3 - i2) * (square - twice * i1))
    # where the motion starts on its path: omega_2 = w2 sn, and cn of the sign of omega_1
    amplitude = np.arctan2(omega[1] / w2, omega[0] / w1)
    phase = ellipkinc(amplitude, m)
    sn, cn, dn, _ = ellipj(phase + rate * t, m)
    return {"angular velocity": (np.array([w1 * cn, w2 * sn, w3 * dn]), sol.angular_velocity(body, t))}


# slider above the ground [m], angular velocity of the shaft [rad/s]
GOVERNOR = {0.5: (0.7432494247863327, 5.10341542197154), 1.0: (0.5014209223795683, 6.27112574187662),
            10.0: (0.6196229170613909, 5.54820362265498)}


def cuboid(mass, sides):
    """Principal inertia."""
    squares = np.square(sides)
    return mass / 12 * (squares.sum() - squares)


def governor():
    """System, states, shaft and slider: the rods turn about the top of the shaft, springs and dampers hold the
    slider to their middles."""
    length, thin, density, ball, out, tilt = 1.0, 0.01, 3000.0, 5.0, 0.05, np.pi / 6
    spin = np.array([0, 0, 2 * np.pi])
    bar, block = density * length * thin**2, density * 0.1**3
    shaft = RigidBody(bar, cuboid(bar, (thin, thin, length)), name="shaft")
    slider = RigidBody(block, cuboid(block, (0.1, 0.1, 0.1)), name="slider")
    up, top = (0, 0, 1), np.array([0, 0, length / 2])
    parts = [shaft, slider, Revolute(shaft, point_a=-top, point_b=(0, 0, 0), axis_a=up, axis_b=up),
             Prismatic(slider, shaft, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=up)]
    states = {shaft: Pose(top, angular_velocity=spin), slider: Pose((0, 0, 0.5), angular_velocity=spin)}
    mass = bar + ball
    reach = (bar * length / 2 + ball * length) / mass  # from the hinge to the centre of mass of rod and ball
    across = bar * (reach - length / 2)**2 + ball * (length - reach)**2
    inertia = cuboid(bar, (length, thin, thin)) + [0, across, across]
    for side, name in ((1, "right rod"), (-1, "left rod")):
        rod, y = RigidBody(mass, inertia, name=name), np.array([0, side, 0])
        along = np.array([side * np.cos(tilt), 0, -np.sin(tilt)])
        rotation = np.column_stack([along, y, np.cross(along, y)])
        hinge = np.array([side * out, 0, length])
        held = dict(point_a=(length / 2 - reach, 0, 0), point_b=(side * out, 0, 0))
        parts += [rod, Revolute(rod, shaft, point_a=(-reach, 0, 0), point_b=hinge - top, axis_a=y, axis_b=y),
                  Spring(rod, slider, stiffness=8e5, length=0.5, **held), Damper(rod, slider, damping=4e4, **held)]
        place = hinge + reach * along
        states[rod] = Pose(place, rotation, np.cross(spin, place), rotation.T @ spin)
    return System(parts, gravity=(0, 0, -9.81)), states, shaft, slider


@entry("library-a05-governor", "stiff flyball governor, t = 0.5, 1 and 10 s: place of the slider, speed of the shaft",
       LIBRARY.format("A05, at 1 turn/s; numbers of Exudyn 1.13, DOPRI5 in joint coordinates at 1e-11"), 1e-9,
       minutes=True, remark="The library has its numbers in a figure: the slider goes from 0.50 to 0.74 m and back "
       "in 1.02 s; these do too.")
def flyball_governor():
    system, states, shaft, slider = governor()
    sol = solve(InitialValueProblem(system, states, (0, 10)), MixedGalerkin(4), 4000, progress=False)
    times = np.array(list(GOVERNOR))
    place, speed = np.array(list(GOVERNOR.values()), float).T
    return {"place of the slider": (place, sol.position(slider, times)[:, 2]),
            "speed of the shaft": (speed, sol.angular_velocity(shaft, times)[:, 2])}


# t [s], place of the slider [m]
CRANK = {0.1: 0.226785384, 0.2: 0.263034975, 0.4: 0.222848664, 1.0: 0.211754668, 2.0: 0.289063554, 3.0: 0.228450093,
         4.0: 0.188208161, 5.0: 0.240761815}


def slider_crank():
    """System, states, slider, and the same as plain data."""
    crank_length, rod_length, spin = 0.08, 0.3, np.array([6.0, 0, 0])
    a, x = np.array([0, 0.1, 0.12]), np.array([1.0, 0, 0])
    b = a + [0, 0, crank_length]
    c = np.array([np.sqrt(rod_length**2 - b[1]**2 - b[2]**2), 0, 0])
    along = (c - b) / rod_length
    across = np.cross(x, along) / np.linalg.norm(np.cross(x, along))
    rotation = np.column_stack([along, across, np.cross(along, across)])
    at_b = np.cross(spin, b - a)
    at_c = at_b @ along / along[0] * x
    # the rod turns with its ends, and does not turn beside the cross of the universal joint
    turn = np.array([*(np.cross(along, e) for e in rotation.T[1:]), np.cross(across, x)])
    relative = (at_c - at_b) / rod_length
    spin_of_rod = np.linalg.solve(turn, [relative @ rotation[:, 1], relative @ rotation[:, 2], 0.0])
    crank = RigidBody(0.12, (1e-4, 1e-5, 1e-4), name="crank")
    rod = RigidBody(0.5, (4e-4, 4e-3, 4e-3), name="rod")
    slider = RigidBody(2.0, (1e-4, 1e-4, 1e-4), name="slider")
    half, end, zero = np.array([0, 0, crank_length / 2]), np.array([rod_length / 2, 0, 0]), np.zeros(3)
    poses = {crank: Pose(a + half, velocity=at_b / 2, angular_velocity=spin),
             rod: Pose((b + c) / 2, rotation, (at_b + at_c) / 2, rotation.T @ spin_of_rod),
             slider: Pose(c, velocity=at_c)}
    y, z = np.eye(3)[1:]
    parts = [crank, rod, slider, Revolute(crank, point_a=-half, point_b=a, axis_a=x, axis_b=x),
             Spherical(crank, rod, point_a=half, point_b=-end),
             Universal(rod, slider, point_a=end, point_b=zero, axis_a=(0, 1, 0), axis_b=x),
             Prismatic(slider, point_a=zero, point_b=zero, axis_b=x)]

    def right_angles(i, fixed, *directions):
        return [(("direction", i, fixed), ("direction", None, u)) for u in directions]

    joints = [([((0, -half), (None, a))], right_angles(0, x, y, z), []), ([((0, half), (1, -end))], [], []),
              ([((1, end), (2, zero))], [(("direction", 1, y), ("direction", 2, x))], []),
              ([], [*right_angles(2, x, y, z), *right_angles(2, y, z),
                    *((("gap", (2, zero), (None, zero)), ("direction", None, u)) for u in (y, z))], [])]
    plain = Mechanism([0.12, 0.5, 2.0], [body.inertia.diagonal() for body in poses], joints, [], (0, 0, -9.81))
    return System(parts, gravity=(0, 0, -9.81)), poses, slider, plain


@entry("library-spatial-slider-crank", "spatial slider-crank with a universal joint, t = 0.1 to 5 s: place of the "
       "slider", LIBRARY.format("spatial rigid slider-crank; numbers handed in by F. Gonzalez, nine digits"), 5e-4,
       remark="Ours agree with equations of motion stated a second time to 1e-9, see the next entry; of the others "
       "that were handed in to the library some differ by 1e-2.")
def spatial_slider_crank():
    system, poses, slider, _ = slider_crank()
    sol = solve(InitialValueProblem(system, poses, (0, 5)), MixedGalerkin(3), 1000, progress=False)
    return {"place of the slider": (np.array(list(CRANK.values())), sol.position(slider, list(CRANK))[:, 0])}


@entry("spatial-slider-crank-newton-euler", "spatial slider-crank with a universal joint, t = 2 s: places and "
       "velocities", "Newton-Euler equations of their own, SciPy's DOP853 at 1e-11", 1e-8, minutes=True)
def spatial_slider_crank_again():
    system, poses, _, plain = slider_crank()
    sol = solve(InitialValueProblem(system, poses, (0, 2)), MixedGalerkin(4), 800, progress=False)
    y = [np.concatenate([sol.position(b, 0), sol.quaternion(b, 0), sol.velocity(b, 0), sol.angular_velocity(b, 0)])
         for b in poses]
    end = plain.solve(np.array(y), 2.0)
    return {"places": (end[:, :3], np.array([sol.position(b, 2.0) for b in poses])),
            "velocities": (end[:, 7:10], np.array([sol.velocity(b, 2.0) for b in poses])),
            "angular velocities": (end[:, 10:], np.array([sol.angular_velocity(b, 2.0) for b in poses]))}


# ---- stability of steady motions, with published eigenvalues

# speed [m/s]: castering, capsize, weave
BICYCLE = {1: (-7.11008014637442, -3.13423125066578, 3.52696170990070 + 0.8077402751993j),
           2: (-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j),
           3: (-10.35101467245920, -2.63366137253667, 1.70675605663975 + 2.31582447384325j),
           4: (-12.15861426576450, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
           5: (-14.07838969279820, -0.32286642900409, -0.77534188219585 + 4.46486771378823j),
           6: (-16.08537123098030, -0.00406690076970, -1.52644486584142 + 5.87673060598709j),
           7: (-18.15788466125262, 0.10268170574766, -2.13875644258362 + 7.19525913329805j),
           8: (-20.27940894394569, 0.14327879765713, -2.69348683581097 + 8.46037971396931j),
           9: (-22.43788559040858, 0.15790184030917, -3.21675402252485 + 9.69377351531791j),
           10: (-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j)}
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


@entry("bicycle-eigenvalues", "Whipple's bicycle, upright at 1 to 10 m/s: eigenvalues, weave and capsize speed",
       "Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), Table 2; IFToMM library", 1e-11)
def bicycle_eigenvalues():
    system, riding = bicycle()
    critical = critical_values(lambda speed: linearize(system, riding(speed)), (0.5, 8))
    out = {"weave and capsize speed": (np.array([WEAVE, CAPSIZE]), np.array([c.value for c in critical]))}
    for speed, published in BICYCLE.items():
        found = linearize(system, riding(float(speed))).eigenvalues
        theirs, ours = np.array(published), np.array([found[np.argmin(np.abs(found - x))] for x in published])
        out[f"eigenvalues at {speed} m/s"] = tuple(np.append(x.real, x.imag) for x in (theirs, ours))
    return out


# ---- the wheelset of the Test Set for Initial Value Problem Solvers: creep forces that depend on the normal forces.
#
# Simeon, Fuehrer & Rentrop, Surv. Math. Ind. 1 (1991), 1-37. A rigid wheelset with conical wheels on rails of circular
# profile, in the place (x, y, z) of its centre, yaw, roll and spin. The points of contact follow in closed form from
# the condition that surfaces touch, so that the contact of each wheel is one constraint, whose multiplier gives the
# normal force.

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
