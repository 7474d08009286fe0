"""Nonholonomic constraints of one rigid body: rolling, knife edges, frames that do not twist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ..declared import Direction, On, Real, Vector
from ..numbers.arguments import joined
from ..part import Part
from .joint import across
from .nonholonomic import MovingFrame

if TYPE_CHECKING:
    from ..symbols import Symbols


class _OnBody(Part):
    """Constraint of one rigid body."""

    body = On(rotating=True)
    table = "joints"

    def _checked_bodies(self, bodies):
        if not getattr(bodies[0], "has_orientation", False):
            raise InputError(f"{self._title} must act on a RigidBody, not on {bodies[0]!r}")
        return tuple(bodies)

    def __repr__(self):
        return f"{self._title} of {self.bodies[0]!r}"

    def _frame(self, s):
        return MovingFrame.of(self.bodies[0], s.q[0], s.velocity[0])


class _Rolling(_OnBody):
    """Rolling without slip on a plane at rest. The plane's point, its normal, two directions in it, and the radius are
    the first 13 parameters.

    The contact is a holonomic constraint, whose multiplier is the normal force of the plane [N]; the multipliers of
    the nonholonomic constraints are the friction [N] along the two directions of `directions`.
    """

    radius = Real("of what rolls", "m", above=0)
    normal = Direction("of the plane, in space; the body is on its side", default=(0, 0, 1))
    plane_point = Vector("of the plane, in space", "m", (0, 0, 0))
    keyword_only = True
    constraint_names = ("contact",)
    nonholonomic_names = ("rolling, first direction", "rolling, second direction")

    def _complete(self):
        self.directions = across(self.number("normal", self))

    def numbers(self, c: Any) -> dict[str, Any]:
        given = super().numbers(c)
        first = {"plane_point": given.pop("plane_point"), "normal": given.pop("normal")}
        return first | {"directions": joined(*across(first["normal"])), "radius": given.pop("radius")} | given

    def _arm(self, s):
        """From the centre of mass to the point of contact, in space axes; and how high the centre is above it."""
        raise NotImplementedError

    def constraints(self, s: Symbols) -> ca.SX:
        position, _ = self.bodies[0].frame(s.q[0])
        # the plane minus the body: the multiplier is the force of the plane
        return self._arm(s)[1] - ca.dot(s.own[3:6], position - s.own[:3])

    def velocity_form(self, s: Symbols) -> ca.SX:
        velocity = self._frame(s).velocity_at(self._arm(s)[0])
        return -ca.vertcat(ca.dot(s.own[6:9], velocity), ca.dot(s.own[9:12], velocity))


class RollingSphere(_Rolling):
    """A sphere, with its centre in the centre of mass, that rolls on a plane.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    def _arm(self, s):
        return -s.own[12] * s.own[3:6], s.own[12]


class RollingDisc(_Rolling):
    """A thin disc, with its centre in the centre of mass, that rolls with its edge on a plane, upright or tilted.

    It must not lie flat.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    axis = Direction("of the disc, in body axes", default=(0, 0, 1))

    def _arm(self, s):
        normal, axis = s.own[3:6], self._frame(s).direction(s.own[13:])
        down = ca.dot(normal, axis) * axis - normal  # steepest descent in the plane of the disc
        length = ca.sqrt(ca.sumsqr(down))
        return s.own[12] / length * down, s.own[12] * length


class KnifeEdge(_OnBody):
    """A blade, skate or wheel: the velocity of a point of the body has no component along a direction of the body.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    point = Vector("in body axes, from the centre of mass", "m", (0, 0, 0))
    across = Direction("the direction without velocity, in body axes; the multiplier is the force along it [N]",
                       default=(0, 1, 0))
    keyword_only = True
    nonholonomic_names = ("velocity across the edge",)

    def velocity_form(self, s: Symbols) -> ca.SX:
        frame = self._frame(s)
        return -ca.dot(frame.direction(s.own[3:]), frame.velocity_at(frame.direction(s.own[:3])))


class NonTwisting(_OnBody):
    """The body does not turn about its third axis, Gebhardt & Romero (80): `(1 - a) d1'.d2 - a d2'.d1 = 0`.

    Its directors are then a non-twisting (Bishop) frame of the path of d3 on the sphere.

    Raises
    ------
    InputError
        For a body that is not rigid, or a outside of [0, 1].
    """

    a = Real("the constraint force acts on d1 (a = 0), on d2 (a = 1) or on both; on orthonormal directors all are the "
             "same constraint", "", 0.5, least=0, most=1)
    nonholonomic_names = ("twist about d3",)

    def velocity_form(self, s: Symbols) -> ca.SX:
        _, rotation = self.bodies[0].frame(s.q[0])
        d1, d2 = rotation[:, 0], rotation[:, 1]
        d1_rate, d2_rate = (ca.jtimes(d, s.q[0], s.velocity[0]) for d in (d1, d2))
        return (1 - s.own[0]) * ca.dot(d1_rate, d2) - s.own[0] * ca.dot(d2_rate, d1)
