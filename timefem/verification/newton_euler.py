"""Multibody dynamics a second time, on its own: Newton-Euler equations with accelerations of joints, by DOP853.

Nothing here is shared with the rest of timefem: unit quaternions are integrated from angular velocities in body axes,
joints are stated by their accelerations, `J a + c = 0`, derived by hand from points and directions of bodies, and

    [M  J^T] [ a ]   [ f ]
    [J   0 ] [-l ] = [-c ]

is solved by least squares, so that repeated constraints do no harm. Constraints hold as far as the integration is
accurate.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from timefem import (
    Cylindrical,
    Damper,
    InitialValueProblem,
    MixedGalerkin,
    Planar,
    Pose,
    Prismatic,
    Revolute,
    RigidBody,
    RigidDistance,
    Spherical,
    Spring,
    System,
    Universal,
    Weld,
    solve,
)

from .entry import entry

TOLERANCE = 1e-11
DEPENDENT = 1e-5  # singular values, relative to the largest, of constraints that repeat others but for drift
FARTHEST = 1e6  # m, m/s, rad/s


@dataclass
class Vector:
    """A vector of the motion: its value, its velocity `J v`, and its acceleration `J a + c`."""

    value: np.ndarray
    jacobian: np.ndarray
    rate: np.ndarray
    bias: np.ndarray

    def __sub__(self, other):
        return Vector(self.value - other.value, self.jacobian - other.jacobian, self.rate - other.rate,
                      self.bias - other.bias)

    def dot(self, other):
        """A scalar: its row of J, and c."""
        return (self.value @ other.jacobian + other.value @ self.jacobian,
                self.value @ other.bias + other.value @ self.bias + 2 * self.rate @ other.rate)


def hat(w):
    """Matrix of the cross product."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def matrix(e):
    """Rotation matrix of a quaternion, scalar first."""
    w, v = e[0], e[1:]
    return ((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * hat(v)) / (e @ e)


class State:
    """Bodies at one state; `None` is the ground.

    Parameters
    ----------
    y : ndarray, shape (13 n,)
        Of each body position, quaternion, velocity, angular velocity in body axes.
    """

    def __init__(self, y):
        self.y = y.reshape(-1, 13)
        self.n, self.rotation = len(self.y), [matrix(row[3:7]) for row in self.y]
        self.velocity = self.y[:, 7:].ravel()

    def direction(self, body, u):
        """A vector that is fixed in a body."""
        jacobian = np.zeros((3, 6 * self.n))
        if body is None:
            return Vector(np.array(u, float), jacobian, np.zeros(3), np.zeros(3))
        r, w = self.rotation[body], self.y[body, 10:]
        jacobian[:, 6 * body + 3:6 * body + 6] = -r @ hat(u)
        return Vector(r @ u, jacobian, r @ np.cross(w, u), r @ np.cross(w, np.cross(w, u)))

    def point(self, body, u):
        """A point of a body, from its centre of mass in its axes."""
        out = self.direction(body, u)
        if body is not None:
            out.value, out.rate = out.value + self.y[body, :3], out.rate + self.y[body, 7:10]
            out.jacobian[:, 6 * body:6 * body + 3] = np.eye(3)
        return out


class Mechanism:
    """Bodies with joints, springs and dampers, as plain data.

    Attributes
    ----------
    masses, inertias : list
        Principal values of the inertia.
    joints : list of (points, products, distances)
        `points`: pairs of points that coincide; `products`: pairs of vectors at right angles, each ("direction", body,
        u) or ("gap", (body a, u), (body b, w)); `distances`: pairs of points whose distance stays.
    springs : list of (point, point, stiffness, rest length, damping)
    gravity : ndarray
    """

    def __init__(self, masses, inertias, joints, springs, gravity):
        self.masses, self.inertias, self.joints, self.springs = masses, inertias, joints, springs
        self.gravity = np.asarray(gravity, float)

    def constraints(self, s):
        """J, shape (m, 6 n), and c, shape (m,)."""
        rows, biases = [], []
        for points, products, distances in self.joints:
            for a, b in points:
                gap = s.point(*a) - s.point(*b)
                rows += list(gap.jacobian)
                biases += list(gap.bias)
            scalars = [self._vector(s, a).dot(self._vector(s, b)) for a, b in products]
            gaps = [s.point(*a) - s.point(*b) for a, b in distances]
            for row, bias in scalars + [gap.dot(gap) for gap in gaps]:
                rows.append(row)
                biases.append(bias)
        return np.array(rows).reshape(-1, 6 * s.n), np.array(biases)

    def _vector(self, s, stated):
        if stated[0] == "direction":
            return s.direction(*stated[1:])
        return s.point(*stated[1]) - s.point(*stated[2])

    def rate(self, _, y):
        if not np.abs(y).max() < FARTHEST:  # a stage of a step that is much too long, which is not taken
            return np.full(len(y), np.nan)
        s = State(y)
        mass = np.concatenate([np.append(np.full(3, m), i) for m, i in zip(self.masses, self.inertias, strict=True)])
        force = np.zeros(6 * s.n)
        for i, (m, inertia) in enumerate(zip(self.masses, self.inertias, strict=True)):
            w = s.y[i, 10:]
            force[6 * i:6 * i + 3] = m * self.gravity
            force[6 * i + 3:6 * i + 6] = -np.cross(w, inertia * w)
        for a, b, stiffness, rest, damping in self.springs:
            gap = s.point(*a) - s.point(*b)
            length = np.linalg.norm(gap.value)
            along = gap.value / length
            force -= (stiffness * (length - rest) + damping * along @ gap.rate) * (along @ gap.jacobian)
        jacobian, bias = self.constraints(s)
        root = np.sqrt(mass)  # with a scaled by it, the least motion away from the free one
        scaled = jacobian / root
        free = force / root
        acceleration = (free + np.linalg.lstsq(scaled, -bias - scaled @ free, rcond=DEPENDENT)[0]) / root \
            if len(bias) else force / mass
        out = np.empty_like(s.y)
        for i, row in enumerate(s.y):
            w, e = row[10:], row[3:7]
            out[i, :3] = row[7:10]
            out[i, 3:7] = np.append(-w @ e[1:], e[0] * w + np.cross(e[1:], w)) / 2
            out[i, 7:] = acceleration[6 * i:6 * i + 6]
        return out.ravel()

    def solve(self, y0, t_end):
        """State at a later time, shape (n, 13)."""
        sol = solve_ivp(self.rate, (0, t_end), y0.ravel(), method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)
        return sol.y[:, -1].reshape(-1, 13)


KINDS = ("spherical", "revolute", "universal", "cylindrical", "prismatic", "planar", "weld", "distance")
GRAVITY = (0.0, 0.0, -9.81)
T_END, N_ELEMENTS, DEGREE = 0.3, 100, 4
COUNT = 50


class Draft:
    """A mechanism as it is drawn, stated three times: as parts, as plain data, and as it stands in space."""

    def __init__(self, rng, n):
        self.rng, self.n = rng, n
        self.masses = rng.uniform(0.5, 5.0, n)
        a, b = rng.uniform(0.05, 0.5, (2, n))
        self.inertias = np.stack([a, b, rng.uniform(np.abs(a - b) + 0.02, a + b - 0.01)], axis=1)
        self.places = np.cumsum(rng.normal(0, 0.4, (n, 3)), axis=0)
        quaternions = rng.normal(0, 1, (n, 4))
        self.quaternions = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
        self.rotations = [matrix(e) for e in self.quaternions]
        self.bodies = [RigidBody(m, i, name=f"b{k}") for k, (m, i) in enumerate(zip(self.masses, self.inertias,
                                                                                   strict=True))]
        self.parts, self.joints, self.springs = list(self.bodies), [], []
        self.standing = {"joints": [], "springs": []}  # with places and directions in space, for other programs

    def body(self, i):
        return None if i is None else self.bodies[i]

    def local(self, i, place):
        """A place in space, in the axes of a body."""
        return np.array(place) if i is None else self.rotations[i].T @ (place - self.places[i])

    def turned(self, i, direction):
        return np.array(direction) if i is None else self.rotations[i].T @ direction

    def direction(self):
        v = self.rng.normal(size=3)
        return v / np.linalg.norm(v)

    def place(self, i):
        """Somewhere on a body, or around the ground's origin."""
        centre = np.zeros(3) if i is None else self.places[i]
        return centre + self.rng.normal(0, 0.3, 3)

    def join(self, kind, i, j):
        """A joint of body i with body j, None for the ground, as they stand."""
        at, axis = (self.places[i] + (np.zeros(3) if j is None else self.places[j])) / 2 + self.rng.normal(0, 0.1, 3), \
            self.direction()
        across = np.cross(axis, self.direction())
        across /= np.linalg.norm(across)
        third = np.cross(axis, across)
        a, b = self.body(i), self.body(j)
        pi, pj, ai, aj = self.local(i, at), self.local(j, at), self.turned(i, axis), self.turned(j, axis)
        points = dict(point_a=pi, point_b=pj)
        same, gap = [((i, pi), (j, pj))], ("gap", (i, pi), (j, pj))
        in_b = [("direction", j, self.turned(j, v)) for v in (across, third)]
        along = [(("direction", i, ai), v) for v in in_b]
        turn = along + [(("direction", i, self.turned(i, across)), in_b[1])]
        slide = [(gap, v) for v in in_b]
        rotation = np.column_stack([self.turned(j, column) for column in self.rotations[i].T])
        if kind == "spherical":
            part, plain = Spherical(a, b, **points), (same, [], [])
        elif kind == "revolute":
            part, plain = Revolute(a, b, axis_a=ai, axis_b=aj, **points), (same, along, [])
        elif kind == "universal":
            w = self.turned(j, across)
            part = Universal(a, b, axis_a=ai, axis_b=w, **points)
            plain = (same, [(("direction", i, ai), ("direction", j, w))], [])
        elif kind == "cylindrical":
            part, plain = Cylindrical(a, b, axis_a=ai, axis_b=aj, **points), ([], along + slide, [])
        elif kind == "prismatic":
            part, plain = Prismatic(a, b, axis_b=aj, orientation=rotation, **points), ([], turn + slide, [])
        elif kind == "planar":
            part = Planar(a, b, axis_a=ai, axis_b=aj, **points)
            plain = ([], [*along, (gap, ("direction", j, aj))], [])
        elif kind == "weld":
            part, plain = Weld(a, b, orientation=rotation, **points), (same, turn, [])
        else:
            p, q = self.place(i), self.place(j)
            at, axis, across = p, q, q
            ends = (i, self.local(i, p)), (j, self.local(j, q))
            part = RigidDistance(a, b, point_a=ends[0][1], point_b=ends[1][1], length=np.linalg.norm(p - q))
            plain = ([], [], [ends])
        self.parts.append(part)
        self.joints.append(plain)
        self.standing["joints"].append([kind, i, j, [list(v) for v in (at, axis, across)]])

    def spring(self, i, j):
        """A spring and a damper between two bodies."""
        p, q = self.place(i), self.place(j)
        stiffness, damping = self.rng.uniform(10, 100), self.rng.uniform(0.1, 2)
        rest = self.rng.uniform(0.3, 1.0) * np.linalg.norm(p - q)
        ends = (i, self.local(i, p)), (j, self.local(j, q))
        points = dict(point_a=ends[0][1], point_b=ends[1][1])
        self.parts += [Spring(self.body(i), self.body(j), stiffness=stiffness, length=rest, **points),
                       Damper(self.body(i), self.body(j), damping=damping, **points)]
        self.springs.append((*ends, stiffness, rest, damping))
        self.standing["springs"].append([i, j, list(p), list(q), stiffness, rest, damping])


def draft_of(number):
    """Random mechanism of that number: as it is drawn, its equations of motion, and its state, shape (n, 13)."""
    rng = np.random.default_rng([7, number])
    n = int(rng.integers(3, 13))
    draft = Draft(rng, n)
    for i in range(n):
        j = None if i == 0 or rng.random() < 0.15 else int(rng.integers(i))
        # kinds take turns, so that all of them occur
        draft.join(KINDS[(number + i + int(rng.integers(3))) % len(KINDS)], i, j)
    for _ in range(int(rng.integers(3))):  # loops
        i, j = rng.choice(n, 2, replace=False)
        draft.join("distance", int(i), int(j))
    for _ in range(1 + int(rng.integers(4))):
        i, j = rng.choice(n, 2, replace=False)
        draft.spring(int(i), None if rng.random() < 0.3 else int(j))
    mechanism = Mechanism(draft.masses, draft.inertias, draft.joints, draft.springs, GRAVITY)
    y = np.zeros((n, 13))
    y[:, :3], y[:, 3:7] = draft.places, draft.quaternions
    jacobian, _ = mechanism.constraints(State(y.ravel()))
    v = rng.normal(0, 1, 6 * n)
    y[:, 7:] = (v - np.linalg.lstsq(jacobian, jacobian @ v, rcond=1e-10)[0]).reshape(n, 6)
    return draft, mechanism, y


def drawn(number):
    """Random mechanism of that number: system, states of its bodies, the same as plain data, and its state."""
    draft, mechanism, y = draft_of(number)
    states = {body: Pose(position=row[:3], orientation=row[3:7], velocity=row[7:10], angular_velocity=row[10:])
              for body, row in zip(draft.bodies, y, strict=True)}
    return System(draft.parts, gravity=GRAVITY, redundant="drop"), states, mechanism, y


def standing(number):
    """A random mechanism as plain data with places and directions in space, for other programs."""
    draft, _, y = draft_of(number)
    return draft.standing | {"masses": draft.masses.tolist(), "inertias": draft.inertias.tolist(), "states": y.tolist()}


QUANTITIES = "places", "rotations", "velocities", "angular velocities"


def compare(number):
    """Places, rotation matrices and velocities of all bodies of one mechanism at the end: Pinocchio's and ours."""
    system, states, _, _ = drawn(number)
    return dict(zip(QUANTITIES, zip(_by_pinocchio(number), _ours(number, system, states), strict=True), strict=True))


def compare_with_newton_euler(number):
    """The same with the equations of motion of `newton_euler` in place of Pinocchio."""
    system, states, mechanism, y = drawn(number)
    end = mechanism.solve(y, T_END)
    theirs = end[:, :3], np.array([matrix(e) for e in end[:, 3:7]]), end[:, 7:10], end[:, 10:]
    return dict(zip(QUANTITIES, zip(theirs, _ours(number, system, states), strict=True), strict=True))


def _ours(number, system, states):
    sol = solve(InitialValueProblem(system, states, (0, T_END)), MixedGalerkin(DEGREE), N_ELEMENTS, progress=False)
    if not sol.success:
        raise ArithmeticError(f"mechanism {number}: {sol.status.message}")
    return [np.array([f(b, T_END) for b in states])
            for f in (sol.position, sol.rotation_matrix, sol.velocity, sol.angular_velocity)]


def _by_pinocchio(number):
    """Numbers that `tools/random_by_pinocchio.py` made."""
    kept = json.loads((Path(__file__).parent / "pinocchio.json").read_bytes())
    return [np.array(kept["ends"][number][name]) for name in QUANTITIES]


def _compute(numbers):
    found = [compare(number) for number in numbers]
    return {f"{what}, mechanism {number}": pair for number, facts in zip(numbers, found, strict=True)
            for what, pair in facts.items()}


for first in range(0, COUNT, 5):
    entry(f"random-{first}", f"random trees and loops of 3 to 12 bodies, {first} to {first + 4}, t = {T_END} s: "
          "places, rotations, velocities", "Pinocchio 4.1 in joint coordinates, SciPy's DOP853 at 1e-12", 1e-8,
          minutes=True)(lambda first=first: _compute(range(first, first + 5)))
