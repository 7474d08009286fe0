"""Contact of two boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..bodies.rigid.base import Lengths
from ..declared import Flag, On
from .geometry import CORNERS, EDGES, Touch, boxes
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
