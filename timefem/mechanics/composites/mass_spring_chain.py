"""Masses in a row, held together by springs and dampers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from ..bodies.point_mass import PointMass
from ..bodies.states import Pose
from ..declared import Integer, Real, Term, Vector
from ..forces.springs import Damper, Spring
from .composite import Composite

if TYPE_CHECKING:
    from ..part import Body, Part


class RestPlace(Vector):
    """A place that states at the start are made of, and formulas are not."""

    varies = False


class MassSpringChain(Composite):
    """A chain or rope as n equal point masses in a row, with equal springs between neighbours.

    `V = sum_i 1/2 k (|x_{i+1} - x_i| - l0)^2` with masses m/n each. At rest it is straight from `start` to `end`; a
    rope of length L, cross-section stiffness EA has k = (n - 1) EA/L.

    Raises
    ------
    InputError
        For numbers out of range.
    """

    n = Integer("number of masses", least=2, most=10**6)
    mass = Real("of all of it", "kg", above=0)
    stiffness = Real("k of each spring", "N/m", above=0)
    end = RestPlace("place of the last mass where no state is given", "m")
    start = RestPlace("place of the first mass where no state is given", "m", (0.0, 0.0, 0.0))
    length = Term("l0 of each spring", "m", 0.0, least=0, vanishes=False)
    damping = Term("c of a damper beside each spring; none where zero", "N s/m", 0.0, least=0, vanishes=False)

    def make_nodes(self) -> Iterable[Body]:
        return [PointMass(self.mass / self.n) for _ in range(self.n)]

    def make_elements(self) -> Iterable[Part]:
        pairs = list(pairwise(self.nodes))
        springs = [Spring(a, b, stiffness=self.stiffness, length=self.length) for a, b in pairs]
        return springs + [Damper(a, b, damping=self.damping) for a, b in pairs if self._damped]

    def _complete(self):
        self._damped = bool(self.damping)
        super()._complete()

    def reference(self, i: int) -> Pose:
        return Pose(self.start + i / (self.n - 1) * (self.end - self.start))
