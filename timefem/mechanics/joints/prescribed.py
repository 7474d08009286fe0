"""Motion prescribed as a function of time (rheonomic constraints).

The velocities of the bodies follow it, so that its rate must not jump: it may be constant, a `Sine`, a smooth `Ramp`,
a cubic `Table` that covers the time span, or a formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import Direction, Function, On, Point, VectorFunction
from ..numbers.arguments import cross
from ..shapes import Stroke
from ..symmetry import ALL, translations
from .bound import JointPart
from .frame import frames_of
from .joint import Joint, gap

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .frame import Frame


class _Prescribed(Joint):
    """Knows the times for which the motion is known."""

    @property
    def t_span(self) -> tuple[float, float]:
        """Times [s] for which the motion is known."""
        return max(f.t_span[0] for f in self.functions), min(f.t_span[1] for f in self.functions)


class PrescribedPosition(_Prescribed):
    """A point of a body moves in space as a function of time; 3 constraints.

    Its configuration-level multiplier is the force [N] on the body, in space axes.

    Raises
    ------
    InputError
        For wrong bodies and numbers, or a function that fails, returns something else, or is not smooth.
    """

    body = On()
    body_a = body_b = None
    position = VectorFunction("place in space: three numbers or functions of time (see `time_functions`), or one "
                              "function of the CasADi symbol t [s] that returns three, for instance `lambda t: "
                              "(casadi.sin(t), 0, 0)`; each new callable is compiled", "m", prescribes=True)
    point = Point("in body axes, from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    keyword_only = ("position",)
    constraint_names = ("position, x", "position, y", "position, z")
    point_mass_dimension = 3

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("joint", ((self.bodies[0], self.point),))]

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [gap(a, b, c.point, ca.vertcat(*self.values_at("position", t, c, motion=True)))]


class PrescribedAngle(_Prescribed):
    """Body a is turned against b about an axis by an angle that is a function of time; 1 constraint.

    It only prescribes the angle: a `Revolute` or `Cylindrical` joint has to hold the axis. With direction_a = d in a,
    direction_b = u and v = axis x u in b the constraint reads d.(sin(angle) u - cos(angle) v) = 0, a scalar product
    (invariant) that holds for any number of turns. Its configuration-level multiplier is the driving torque on a
    about the axis [N m].

    Raises
    ------
    InputError
        For wrong bodies and numbers, a direction_b along the axis, or a function that fails, returns something else,
        or is not smooth.
    """

    angle = Function("a callable takes the CasADi symbol t [s], for instance `lambda t: 0.5 * t**2`, and each new one "
                     "is compiled", "rad", prescribes=True)
    axis_b = Direction("axis of the rotation in b (in space for the ground), of any length; its sense is that of the "
                       "angle")
    direction_a = Direction("at right angles to the axis, in a")
    direction_b = Direction("at right angles to the axis, in b: coincides with direction_a at angle zero")
    constraint_names = ("angle",)

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.bodies) == 2 else translations()

    def _complete(self):
        numbers = super().numbers(self)
        axis, u = numbers["axis_b"], numbers["direction_b"]
        if abs(axis @ u) > 1e-8:
            degrees = np.degrees(np.arccos(np.clip(axis @ u, -1, 1)))
            raise InputError(f"{self._title}: direction_b must be at right angles to axis_b, but is at {degrees:.6g} "
                             "degrees to it; remove its component along the axis")

    def numbers(self, c: Any) -> dict[str, Any]:
        given = super().numbers(c)
        u = given["direction_b"]
        return {"d": given["direction_a"], "u": u, "v": cross(given["axis_b"], u), "angle": given.get("angle", ())}

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        angle, = self.values_at("angle", t, c, motion=True)
        u, v = b.direction(c.u), b.direction(c.v)
        return [ca.dot(a.direction(c.d), ca.sin(angle) * u - ca.cos(angle) * v)]

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [ca.atan2(self.formula(a, b, t, c)[0], self.right_side(a, b, t, c)[0])]

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        angle, = self.values_at("angle", t, c, motion=True)
        return [ca.dot(a.direction(c.d), ca.cos(angle) * b.direction(c.u) + ca.sin(angle) * b.direction(c.v))]


class PrescribedJoint(JointPart):
    """A coordinate of a joint moves as a function of time; 1 constraint.

    Of an angle it is `sin(value - angle) = 0`, which holds for any number of turns. Its configuration-level multiplier
    is the driving torque on a about the axis [N m], or force along it [N].

    Raises
    ------
    InputError
        For a joint without that coordinate, or a function that fails, returns something else, or is not smooth.
    """

    value = Function("of the coordinate; a callable takes the CasADi symbol t [s], and each new one is compiled",
                     "rad or m", prescribes=True)
    table = "joints"
    constraint_names = ("coordinate",)

    @property
    def t_span(self) -> tuple[float, float]:
        """Times [s] for which the motion is known."""
        return self.value.t_span

    def constraints(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        target, = self.values_at("value", s.t, c, motion=True)
        return -self.bound.coordinate.gap(*frames_of(self.bound.bodies, s.q), c.axes, target)

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        target, = self.values_at("value", t, c, motion=True)
        return [-self.bound.coordinate.deviation(a, b, c.axes, target)]

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [np.pi / 2 - ca.fabs(x) for x in self.closing(a, b, t, c)] if self.bound.coordinate.turns else []
