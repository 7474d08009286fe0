"""What acts on a coordinate of a joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...types import Expression
from ..body_frame import is_on_tree
from ..declared import CoordinateName, OnJoint
from ..part import Part
from ..symmetry import ALL, NONE

if TYPE_CHECKING:
    from ..symbols import Symbols


class JointPart(Part, abstract=True):
    """A part that sees one coordinate x of a joint, its angle or displacement, and the rate of x.

    A subclass declares its arguments, and states its formulas in `self.coordinate_of(s)` and `self.rate_of(s)`. Where
    it `counts_turns` angles go on over whole turns.
    """

    joint = OnJoint("whose coordinate it acts on")
    coordinate = CoordinateName()
    keyword_only = ("joint",)
    counts_turns = False

    def _complete(self):
        super()._complete()
        self.bound = self.joint.bound(self.coordinate)
        self._counts = self.counts_turns and self.bound.coordinate.turns
        self.bodies = (*self.bound.bodies, self.bound.counter) if self._counts else self.bound.bodies

    def symmetry(self, s: Symbols) -> ca.SX:
        """All rigid motions, of a joint between two bodies."""
        return ca.SX.eye(6) if len(self.bound.bodies) == 2 else ca.SX(6, 0)

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.bound.counting, self) if self._counts else (self,)

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "axes": self.bound.numbers(c.bound)}

    @property
    def _form(self):
        return (*super()._form, self.bound.form)

    def workless_motions(self) -> np.ndarray:
        return ALL if is_on_tree(self.joint) or len(self.bound.bodies) == 2 else NONE

    def coordinate_of(self, s: Symbols) -> ca.SX:
        c = self.named(s.own).axes
        return self.bound.counted(s.q, c) if self._counts else self.bound.value(s.q, c)

    def rate_of(self, s: Symbols) -> ca.SX:
        return self.bound.rate(s.q, s.velocity, self.named(s.own).axes)

    def along(self, s: Symbols, force: Expression) -> ca.SX:
        """Generalized force of a force or torque along the coordinate: `Q = dx/dq^T force`."""
        q = s.q[:len(self.bound.bodies)]
        pulled = ca.jtimes(self.bound.value(q, self.named(s.own).axes), ca.vertcat(*q), ca.SX(force), True)
        return ca.vertcat(pulled, ca.SX(len(s.q) - len(q), 1))

    def __repr__(self):
        return f"{self._title} on {self.coordinate} of {self.joint!r}"
