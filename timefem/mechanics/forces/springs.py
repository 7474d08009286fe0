"""Springs: forces and torques that derive from a potential of the coordinates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...types import Expression
from ..declared import Choice, Direction, Flag, Formula, Numbers, On, Orientation, Real, Term
from ..formulas.formula import call, check_symbols
from ..formulas.text import TextFormula
from ..joints.bound import BoundCoordinate
from ..joints.coordinates import Twist, nearest
from ..numbers.arithmetic import joined
from ..symmetry import ALL, translations
from .between import ForcePart, PointForce, relative_rotation

if TYPE_CHECKING:
    from ..part import Part
    from ..symbols import Symbols

SMALL = 1e-3  # squares of the sine of half an angle below which eight terms of a power series have every digit


class Spring(PointForce):
    """Linear spring, V = 1/2 k (l - l0)^2 with the distance l of two points.

    With `length=0` the potential is 1/2 k |r|^2, which is smooth everywhere; otherwise the direction of the force
    is not defined where the points coincide.

    Raises
    ------
    InputError
        For numbers out of range, or bodies that are the same.
    """

    stiffness = Real("k", "N/m", None, above=0)
    length = Term("l0", "m", 0.0, least=0)

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        c = self.named(s.own)
        return c.stiffness / 2 * (square if self.length == 0 else (ca.sqrt(square) - c.length) ** 2)


class NonlinearSpring(PointForce):
    """Spring with any potential V(l) of the distance l of two points.

    The points must not coincide, where the direction of the force is not defined. `potential(l, *parameters)` [J] is
    written in CasADi symbols, for instance `lambda l, k: k * (l - 1)**4`, or as text `"c[0] * (l - 1)**4"`. Each new
    formula is compiled; springs whose functions state the same share a kernel, whatever their parameters.

    Raises
    ------
    InputError
        Also when the function fails, or returns something else than a scalar of its arguments.
    """

    potential = Formula("V(l), see above", "l", "c", default=None)
    parameters_of_potential = Numbers("of the potential", (), argument="parameters")

    def _complete(self):
        value, symbols = self.traced("potential")
        check_symbols(f"{self._title}: potential", value, *symbols.values())

    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]:
        """The potential, and its symbols by their names in a text."""
        length, c = ca.SX.sym("l"), ca.SX.sym("c", len(self.parameters_of_potential))
        return self._potential(length, c), {"l": length, "c": c}

    def _potential(self, length, c):
        own = [c] if isinstance(self.potential, TextFormula) else ca.vertsplit(c)
        return call(f"{self._title}: potential", self.potential, 1, length, *own)

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        return self._potential(ca.sqrt(square), s.own[6:])


class TorsionalSpring(ForcePart):
    """Torsional spring about an axis, V = 1/2 k (angle - rest)^2.

    The angle is that of body a relative to body b (or the ground) about the axis: of the rotation `R_b^T R_a`, zero
    at `orientation`, the part about the axis (its twist). When a joint holds the axis it is the angle of the joint. At
    the start of a motion it is within half a turn of the rest angle, that one taken in (-pi, pi]; from there it goes on
    over whole turns. A spring along the angle of a joint is a `JointSpring`.
    """

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    axis = Direction("in the axes of body a, of any length", default=(0, 0, 1))
    stiffness = Real("k", "N m/rad", None, above=0)
    rest = Real("angle where the torque vanishes", "rad", 0.0)
    orientation = Orientation("of a seen from b (the ground) at angle zero, as quaternion or matrix",
                              default=(1, 0, 0, 0))
    turns = Flag("the angle continues over full turns (by one more coordinate of the system); otherwise it is in (-pi, "
                 "pi] from the rest angle, where the torque jumps", default=True)
    needs_rotation = True

    def _complete(self):
        self.bound = BoundCoordinate(self, self.given_bodies, Twist("angle", self.coordinate_numbers(self)["angle"]))
        if self.turns:
            self.bodies = (*self.given_bodies, self.bound.counter)

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        """Those of its angle, see `Joint.coordinate_numbers`."""
        return {"angle": joined(self.number("axis", c), self.number("orientation", c))}

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.bound.counting, self) if self.turns else (self,)

    @property
    def first_turn(self) -> float:
        """Within half a turn of which the angle starts [rad]."""
        return nearest(self.rest, 0.0)

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def energy(self, s: Symbols) -> Expression:
        c = self.named(s.own)
        numbers = ca.vertcat(c.axis, c.orientation)
        if self.turns:
            return c.stiffness / 2 * (self.bound.counted(s.q, numbers) - c.rest) ** 2
        return c.stiffness / 2 * self.bound.deviation(s.q, numbers, c.rest) ** 2


class RotationalSpring(ForcePart):
    """Spring against any relative rotation, V = k (1 - cos(angle)), smooth at all angles up to half a turn.

    The angle is that of the rotation `R_b^T R_a` from `orientation`; V = 1/2 k angle^2 for small ones, or for all of
    them by `law="angle"`, with a kink at half a turn.
    """

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    stiffness = Real("k", "N m/rad", None, above=0)
    orientation = Orientation("of a seen from b (the ground) at rest, as quaternion or matrix",
                              default=(1, 0, 0, 0))
    law = Choice("of the energy: k (1 - cos(angle)), or 1/2 k angle^2", ("cosine", "angle"), "cosine")
    needs_rotation = True

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def energy(self, s: Symbols) -> Expression:
        # tr R = 1 + 2 cos(angle)
        rest = 3 - ca.trace(relative_rotation(self, s, ca.reshape(s.own[1:], 3, 3)))
        return s.own[0] / 2 * (rest if self.law == "cosine" else _square_of_angle(rest / 4))


def _square_of_angle(u):
    """The square of an angle, of `u = sin(angle / 2)^2`; smooth at zero, where it is its power series."""
    series = sum(2.0 * 4**n / (n**2 * math.comb(2 * n, n)) * u**n for n in range(1, 9))
    some = ca.fmin(ca.fmax(u, SMALL), 1.0)  # so that no branch has an infinite slope at zero
    return ca.if_else(u < SMALL, series, 4 * ca.atan2(ca.sqrt(some), ca.sqrt(1 - some)) ** 2)
