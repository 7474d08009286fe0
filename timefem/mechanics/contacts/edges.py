"""Contact of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..declared import Direction, On, Point
from ..shapes import Stroke
from .geometry import Touch, edges
from .touching import Touching

if TYPE_CHECKING:
    from ..symbols import Symbols


class EdgeContact(Touching):
    """Two straight edges that may touch between their ends, as those of boxes that cross; laws as of `PlaneContact`.

    Edges that are parallel do not touch here: their ends do, each of them a `PlaneContact` on the other body.
    """

    body_a = On()
    body_b = On(ground=True)
    start_a = Point("of the edge of a, in body axes from the centre of mass", None)
    end_a = Point("of the edge of a", None)
    start_b = Point("of the edge of b, in body axes; of the ground in space", None, of=1)
    end_b = Point("of the edge of b", None, of=1)
    outwards = Direction("out of body b at its edge, on the side where a is, in the axes of b; of the ground in space",
                         default=(0, 0, 1))

    def _complete(self):
        super()._complete()
        for letter, x, y in (("a", self.start_a, self.end_a), ("b", self.start_b, self.end_b)):
            if not np.linalg.norm(y - x) > 0:
                raise InputError(f"{self._title}: start_{letter} and end_{letter} are the same point; give two")
        along = self.end_b - self.start_b
        if not any(body.has_orientation for body in self.bodies) and _parallel(along, self.end_a - self.start_a):
            raise InputError(f"{self._title}: the edges are always parallel, and so do not touch between their ends; "
                             "use a PlaneContact of their ends")
        if _parallel(along, self.outwards):
            raise InputError(f"{self._title}: outwards is along the edge of b; it must point out of body b, across the "
                             "edge")

    def drawn_lines(self) -> list[Stroke]:
        a, b = (*self.given_bodies, None)[:2]
        ends = ((a, self.start_a), (a, self.end_a)), ((b, self.start_b), (b, self.end_b))
        return [Stroke("rod", edge) for edge in ends]

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        a, b = self._frame(s, 0), self._frame(s, 1)
        return [edges(a.point(c.start_a), a.direction(c.end_a - c.start_a), b.point(c.start_b),
                      b.direction(c.end_b - c.start_b), b.direction(c.outwards))]


def _parallel(u, v):
    return np.linalg.norm(np.cross(u, v)) < 1e-9 * np.linalg.norm(u) * np.linalg.norm(v)
