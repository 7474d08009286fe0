"""Multibody dynamics a second time, on its own: Newton-Euler equations with accelerations of joints, by DOP853.

Nothing here is shared with the rest of timefem: unit quaternions are integrated from angular velocities in body axes,
joints are stated by their accelerations, `J a + c = 0`, derived by hand from points and directions of bodies, and

    [M  J^T] [ a ]   [ f ]
    [J   0 ] [-l ] = [-c ]

is solved by least squares, so that repeated constraints do no harm. Constraints hold as far as the integration is
accurate.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

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
