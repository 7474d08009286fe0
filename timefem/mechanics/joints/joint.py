"""What all joints share: two frames, points and axes fixed in them, and a formula."""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import On
from ..part import Part
from ..shapes import Stroke


class Frame(NamedTuple):
    """What a joint sees of a body or of the ground, in CasADi symbols.

    Attributes
    ----------
    position : SX, shape (3,)
        Centre of mass [m]; the origin for the ground.
    rotation : SX, shape (3, 3)
        Rotation matrix, body to space; the identity for the ground and for point masses.
    q : SX, shape (n_q,)
        Coordinates as they are; bodies of other classes, without a frame, have only these.
    """

    position: Any
    rotation: Any
    q: Any

    @classmethod
    def of(cls, body, q):
        position, rotation = body.frame(q) if body.has_position else (None, None)
        return cls(position, rotation, q)

    @classmethod
    def ground(cls):
        return cls(ca.SX.zeros(3), ca.SX.eye(3), ca.SX(0, 1))

    def point(self, x):
        """Place in space of a point given in body axes, shape (3,)."""
        return self.position + self.rotation @ x

    def direction(self, a):
        """A vector given in body axes, in space axes, shape (3,)."""
        return self.rotation @ a


class Joint(Part, abstract=True):
    """Joint of body `a` with body `b`, or with the ground (`b=None`, whose frame is the origin with space axes).

    Points are given from the centre of mass in the axes of their body, and in space for the ground. Every gap is
    point b minus point a, so that its multiplier is the force that b exerts on a. All constraints are products of
    vectors fixed in the bodies: at most quadratic in directors, so that mG(k) keeps them at the nodes to round-off.
    In quaternions their degree is up to 4, and 6 on velocity level: mG(k) then keeps them to round-off with 2k, and
    3k Gauss points; with k points, which angular momentum needs, they hold to the order of the method.

    A subclass declares its arguments, sets `constraint_names` and implements `formula`.
    """

    a = On()
    b = On(ground=True)
    keyword_only = refuses_arms = True
    table = "joints"
    # smallest dimension of a point mass that the joint takes; None: rigid bodies only
    point_mass_dimension = None

    def __repr__(self):
        return f"{self._title} of {' and '.join(map(repr, self.bodies))}{' and ground' * (len(self.bodies) == 1)}"

    def _checked_bodies(self, bodies):
        a, b = (*bodies, None)[:2]
        if b is a:
            raise InputError(f"{self._title}: a body cannot be joined to itself; give two bodies, or b=None for the "
                             f"ground")
        for letter, body in zip("ab", (a,) if b is None else (a, b)):
            self._check_body(letter, body)
        return (a,) if b is None else (a, b)

    def _check_body(self, letter, body):
        if getattr(body, "has_orientation", False):
            return
        if not getattr(body, "has_position", False):
            raise InputError(f"{self._title}: {letter} must be a RigidBody or PointMass, not {body!r}; the ground is "
                             f"b=None")
        if self.point_mass_dimension is None:
            raise InputError(f"{self._title}: {letter} must be a RigidBody, because a point mass has no axes")
        if body.dimension < self.point_mass_dimension:
            raise InputError(f"{self._title}: {letter} must be a RigidBody or a PointMass with dimension="
                             f"{self.point_mass_dimension}, not {body!r}")

    def drawn_line(self):
        return Stroke("joint", ((self.bodies[0], self.point_a),)) if hasattr(self, "point_a") else None

    def formula(self, a, b, t, c):
        """Constraints from the frames `a` and `b`, the time `t` and the `numbers` c: list of SX."""
        raise NotImplementedError

    def constraints(self, s):
        frames = [Frame.of(body, q) for body, q in zip(self.bodies, s.q)]
        frames += [Frame.ground()] * (2 - len(frames))
        return ca.vertcat(*self.formula(*frames, s.t, self.named(s.own)))


def across(axis):
    """Two unit vectors that make a right-handed frame (u, v, axis) with a unit vector, each of shape (3,)."""
    u = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    u /= np.linalg.norm(u)
    return u, np.cross(axis, u)


def gap(a, b, point_a, point_b, invariant=False):
    """Point b minus point a in space axes, or in the axes of body a (scalar products with its directors).

    The second form does not change when the whole system moves as one, wherever the two points are: it conserves
    the momenta exactly, where the first one leaves the moment of a force at two points that do not quite meet.
    """
    if invariant:
        return a.rotation.T @ (b.point(point_b) - a.position) - point_a
    return b.point(point_b) - a.point(point_a)


def products(first, second):
    """Scalar products, pair by pair: list of SX."""
    return [ca.dot(x, y) for x, y in zip(first, second)]
