"""Contact of spheres, and of discs in a plane, from outside and inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...display import digits
from ...errors import InputError
from ..declared import Direction, Flag, On, Point, Real
from .geometry import Touch, circles, spheres
from .touching import Touching

if TYPE_CHECKING:
    from ..symbols import Symbols


class _RoundContact(Touching, abstract=True):
    body_a = On()
    body_b = On(ground=True)
    radius_a = Real("of what is fixed in body a; zero for a point", "m", None, least=0)
    radius_b = Real("of what is fixed in body b or in the ground; zero for a point", "m", None, least=0)
    point_a = Point("its centre, in body axes from the centre of mass", (0.0, 0.0, 0.0))
    point_b = Point("its centre, in body axes; of the ground in space", (0.0, 0.0, 0.0), of=1)
    inside = Flag("a is in a hollow of b", default=False)
    refuses_arms = True

    def _complete(self):
        super()._complete()
        if self.inside and not self.radius_a < self.radius_b:
            raise InputError(f"{self._title}: inside of b with radius {digits(self.radius_b)} m, radius_a must be "
                             f"less, not {digits(self.radius_a, self.radius_b)}")
        if not (self.radius_a or self.radius_b):
            raise InputError(f"{self._title}: two points do not touch; give radius_a, radius_b or both")


class SphereContact(_RoundContact):
    """Two spheres, a sphere and a point, or a sphere in a hollow one, that may touch; laws as of `PlaneContact`."""

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        a, b = self._frame(s, 0), self._frame(s, 1)
        return [spheres(a.point(c.point_a), c.radius_a, b.point(c.point_b), c.radius_b, self.inside)]


class DiscContact(_RoundContact):
    """Two discs in one plane, or two parallel cylinders, or a disc in a round hole, that may touch; as `PlaneContact`.

    Sliding is along the plane.
    """

    axis = Direction("across the plane of the discs, in the axes of body b; of the ground in space", default=(0, 0, 1))

    n_directions = 1

    def _axis(self, s, c):
        return self._frame(s, 1).direction(c.axis)

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        a, b = self._frame(s, 0), self._frame(s, 1)
        return [circles(a.point(c.point_a), c.radius_a, b.point(c.point_b), c.radius_b, self._axis(s, c), self.inside)]

    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX:
        return ca.cross(self._axis(s, c), touch.normal)
