"""Contact of two boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..bodies.rigid.base import Lengths
from ..declared import Direction, Flag, On, Point
from ..shapes import Stroke
from .geometry import CORNERS, EDGES, Touch, boxes, edges
from .touching import Touching

if TYPE_CHECKING:
    from ..symbols import Symbols


class BoxPairContact(Touching):
    """Two boxes that may touch: corners on faces of the other one, and edges on edges; laws as of `PlaneContact`.

    Corners of a come first, then those of b, then pairs of edges: 16 places, and with the edges 160. Without these the
    march is faster, and its kernels are made in seconds and not in a minute, but boxes whose edges cross go through
    each other.
    """

    body_a = On(rotating=True)
    body_b = On(rotating=True)
    size_a = Lengths("edge lengths in body axes; those of body a unless given", "m", None, optional=True)
    size_b = Lengths("edge lengths in body axes; those of body b unless given", "m", None, optional=True)
    edges = Flag("whether edges may touch edges", default=True)
    needs_rotation = True

    def _complete(self):
        super()._complete()
        for body, (name, size) in zip(self.given_bodies, self.from_bodies.items(), strict=True):
            if size is None:
                raise InputError(f"{self._title}: {body!r} has no size, and so no corners; give {name}=")

    @property
    def from_bodies(self) -> dict[str, Any]:
        return {name: getattr(body, "size", None) if size is None else size for body, name, size in
                zip(self.given_bodies, ("size_a", "size_b"), (self.size_a, self.size_b), strict=True)}

    @property
    def n_touches(self) -> int:
        return 2 * len(CORNERS) + len(EDGES)**2 * self.edges

    def numbers(self, c: Any) -> dict[str, Any]:
        """Half the edges too, as two arguments or of the bodies."""
        sizes = {"half_a": c.body_a.size if self.size_a is None else c.size_a,
                 "half_b": c.body_b.size if self.size_b is None else c.size_b}
        return {**super().numbers(c), **{name: size / 2 for name, size in sizes.items()}}

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        a, b = self._frame(s, 0), self._frame(s, 1)
        return boxes(a.position, a.rotation, c.half_a, b.position, b.rotation, c.half_b, self.edges)


# ---- contact of edges

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
