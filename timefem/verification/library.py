"""Mechanisms of the IFToMM library of multibody benchmarks, and others with published or closed-form numbers."""

from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.special import ellipj, ellipk, ellipkinc

from timefem import (
    Coordinates,
    GeneralizedSystem,
    InitialValueProblem,
    MixedGalerkin,
    PointMass,
    Pose,
    RigidBody,
    RigidDistance,
    System,
    solve,
)

from ..cases import find_case
from .entry import entry
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

