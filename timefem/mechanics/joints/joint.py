"""What all joints share: two frames, points and axes fixed in them, and a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError, known_names
from ...records import frozen
from ..declared import On
from ..numbers.arguments import cross, least_axis, unit
from ..part import Part
from ..shapes import Stroke
from .bound import BoundCoordinate
from .frame import Frame, constraint_lift, frames_of, lifted_constraints

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .frame import JointCoordinate

__all__ = ["Frame", "Joint", "across", "frames_of", "gap", "products"]


@frozen
class AngleOptions:
    """How angles between axes stay smooth for a search."""

    tie: float = 1e-7  # sine by which exactly opposite axes, which turn either way, are set apart
    tiny: float = 1e-40  # under roots of squares of sines, which have a derivative then


OPTIONS = AngleOptions()


class Joint(Part, abstract=True):
    """Joint of body a with body b, or with the ground (`body_b=None`, whose frame is the origin with space axes).

    Points are given from the centre of mass in the axes of their body, of a link of a tree from its origin, and in
    space for the ground. Every gap is point b minus point a, so that its multiplier is the force that b exerts on a.
    All constraints are products of vectors fixed in the bodies: at most quadratic in directors, so that mG(k) keeps
    them at the nodes to round-off. In quaternions their degree is up to 4, and 6 on velocity level: mG(k) then keeps
    them to round-off with 2k, and 3k Gauss points; with k points, which angular momentum needs, they hold to the order
    of the method.

    A subclass declares its arguments, sets `constraint_names` and implements `formula`.
    """

    body_a = On()
    body_b = On(ground=True)
    keyword_only = refuses_arms = True
    table = "joints"
    # smallest dimension of a point mass that the joint takes; None: rigid bodies only
    point_mass_dimension = None
    coordinate_kinds = {}  # noqa: RUF012  name -> class, of those of its `coordinate_numbers`

    def __repr__(self):
        return f"{self._title} of {' and '.join(map(repr, self.bodies))}{' and ground' * (len(self.bodies) == 1)}"

    def _checked_bodies(self, bodies):
        a, b = (*bodies, None)[:2]
        if b is a:
            raise InputError(f"{self._title}: a body cannot be joined to itself; give two bodies, or body_b=None "
                             f"for the ground")
        for name, body in zip(self._body_names, (a,) if b is None else (a, b), strict=False):
            self._check_body(name, body)
        return (a,) if b is None else (a, b)

    @property
    def _body_names(self):
        return [name for name, field in self.fields.items() if field.is_body] or ["body_a", "body_b"]

    def _check_body(self, name, body):
        if getattr(body, "has_orientation", False):
            return
        if not getattr(body, "has_position", False):
            raise InputError(f"{self._title}: {name} must be a RigidBody or PointMass, not {body!r}; the ground is "
                             f"body_b=None")
        if self.point_mass_dimension is None:
            raise InputError(f"{self._title}: {name} must be a RigidBody, because a point mass has no axes")
        if body.dimension < self.point_mass_dimension:
            raise InputError(f"{self._title}: {name} must be a RigidBody or a PointMass with dimension="
                             f"{self.point_mass_dimension}, not {body!r}")

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("joint", ((self.bodies[0], self.point_a),))] if hasattr(self, "point_a") else []

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        """Constraints from the frames `a` and `b`, the time `t` and the `numbers` c: list of SX."""
        raise NotImplementedError

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX] | None:
        """The same constraints as a search of a pose takes them, as the `formula`; None where that one will do.

        Scalar products of axes vanish at opposite axes, too; these angles do not, and fall all the way to zero.
        """
        return None

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        """Numbers that are positive where the joint is meant to be, and negative where its `formula` vanishes on the
        other side; none where it has no other side."""
        return []

    def transmitted(self, q: Sequence[ca.SX], t: ca.SX, c: Any, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Force and torque about point_a that it exerts on body a by its multipliers `w`, in space: two SX (3,).

        From shifts and small rotations of the frame of a, so of links of trees, too.
        """
        a, b = frames_of(self.bodies, q)
        shift, turn = ca.SX.sym("shift", 3), ca.SX.sym("turn", 3)
        moved = Frame(a.position + shift, a.rotation + ca.skew(turn) @ a.rotation, a.q)
        phi, moves = _column(self.formula(moved, b, t, c)), ca.vertcat(shift, turn)
        pulled = ca.substitute(ca.jtimes(phi, moves, w, True), moves, ca.SX.zeros(6))
        force, torque = -pulled[:3], -pulled[3:]
        if hasattr(c, "point_a"):
            torque -= ca.cross(a.direction(c.point_a), force)
        return force, torque

    @cached_property
    def coordinates(self) -> tuple[JointCoordinate, ...]:
        """Those that it leaves free and knows."""
        return tuple(self.coordinate_kinds[name](name, numbers)
                     for name, numbers in self.coordinate_numbers(self).items())

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        """Name -> numbers of each of the `coordinates`, as a formula of the arguments `c`, see `numbers`."""
        return {}

    def relative(self, x: Mapping[str, Any]) -> Any:
        """How body a stands against b, from the coordinates and rates of the joint.

        Parameters
        ----------
        x : dict
            Name of a coordinate -> (value, rate); where it leaves all rotation free "rotation" -> (matrix of a seen
            from b, angular velocity in the axes of b).

        Returns
        -------
        rotation, spin, place, rate : ndarray, shapes (3, 3), (3,), (3,), (3,)
            `R_b^T R_a`, the relative angular velocity, where point_a stands from point_b, and its rate, in the axes of
            b. None where coordinates do not tell.
        """
        return None

    def bound(self, name: str | None = None) -> BoundCoordinate:
        """The coordinate of that name, or the only one, of the bodies of the joint."""
        names = [c.name for c in self.coordinates]
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            raise InputError(f"{self._title} has no coordinate {name!r}{known_names(name, names)}")
        return self._bound[name]

    @cached_property
    def _bound(self):
        return {c.name: BoundCoordinate(self, self.bodies, c) for c in self.coordinates}

    first_turn = 0.0  # an angle starts within half a turn of it

    def constraints(self, s: Symbols) -> ca.SX:
        return _column(self.formula(*frames_of(self.bodies, s.q), s.t, self.named(s.own)))

    def constraint_lift(self, s: Symbols) -> ca.SX | None:
        return constraint_lift(self, s)

    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX:
        def rows(frames, t):
            return _column(self.formula(*frames, *[Frame.ground()] * (2 - len(frames)), t, self.named(s.own)))

        return lifted_constraints(self, s, e, t, rows)


def _column(rows):
    """Rows of a formula, a list or one SX, as one SX."""
    return ca.vec(rows) if isinstance(rows, ca.SX) else ca.vertcat(*rows)


def across(axis):
    """Two unit vectors that make a right-handed frame (u, v, axis) with a unit vector, each of shape (3,)."""
    u = unit(cross(axis, least_axis(axis)))
    return u, cross(axis, u)


def gap(a, b, point_a, point_b, invariant=False):
    """Point b minus point a in space axes, or in the axes of body a (scalar products with its directors).

    The second form does not change when the whole system moves as one, wherever the two points are: it conserves
    the momenta exactly, where the first one leaves the moment of a force at two points that do not quite meet.
    """
    if invariant:
        return a.rotation.T @ (b.point(point_b) - a.position) - point_a
    return b.point(point_b) - a.point(point_a)


def tilts(n, u, v):
    """Angle by which a direction n is tilted from u x v, as two components along u and v."""
    x, y, along = ca.dot(n, u), ca.dot(n, v), ca.dot(n, ca.cross(u, v))
    return angle_along([x + (along < 0) * OPTIONS.tie, y], along)


def angle_along(sines, cosine):
    """The angle with that cosine, as components along those of its sine."""
    size = ca.sqrt(sum(x * x for x in sines) + OPTIONS.tiny)
    return [ca.atan2(size, cosine) / size * x for x in sines]


def products(first, second):
    """Scalar products, pair by pair: list of SX."""
    return [ca.dot(x, y) for x, y in zip(first, second)]
