"""Contact with planes: of points and spheres, the corners of a box, ellipsoids, and the rims of discs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError
from ..bodies.rigid_base import Lengths
from ..declared import Direction, On, Orientation, Point, Real, Rows, Vector, VectorFunction
from ..joints.joint import across
from ..numbers.arguments import by_rows, diagonal, joined
from .geometry import CORNERS, Touch, disc_on_plane, ellipsoid_on_plane, sphere_on_plane
from .surfaces import Touching

if TYPE_CHECKING:
    from ..symbols import Symbols


class HalfAxes(Vector):
    """Three positive lengths."""

    def check(self, title, value):
        value = super().check(title, value)
        if not np.all(value > 0):
            raise InputError(f"{title}: the half axes must be positive, not {digits(value)}")
        return value


class _OnPlane(Touching, abstract=True):
    """A plane at rest, fixed in a body, or moving as a function of time; its surface may run along it, as of a belt."""

    body = On(rotating=False)
    on = On("in which the plane is fixed", ground=True, key="on")
    normal = Direction("of the plane, in the axes of what it is fixed in; the body is on its side", default=(0, 0, 1))
    plane_point = Vector("of the plane, in those axes, of a body from its centre of mass, of a link from its origin",
                         "m", (0.0, 0.0, 0.0))
    motion = VectorFunction("displacement of the plane from there, three numbers or functions of "
                            "time", "m", (0.0, 0.0, 0.0),
                            prescribes=True)
    surface_velocity = VectorFunction("of its surface, such as of a belt, as `motion`; what is along the plane counts",
                                      "m/s", (0.0, 0.0, 0.0))

    @property
    def t_span(self) -> tuple[float, float]:
        """Times [s] for which the motion of the plane is known."""
        return max(f.t_span[0] for f in self.motion), min(f.t_span[1] for f in self.motion)

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "directions": joined(*across(self.number("normal", c)))}

    def _way(self, s, c):
        return ca.vertcat(*self.values_at("motion", s.t, c, motion=True))

    def _plane(self, s, c):
        """Normal and a point of the plane, in space."""
        frame = self._frame(s, 1)
        return frame.direction(c.normal), frame.point(c.plane_point + self._way(s, c))

    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX:
        if self.n_directions == 2:
            return self._frame(s, 1).rotation @ ca.reshape(c.directions, 3, 2)
        return super().directions(touch, s, c)

    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX:
        belt = ca.vertcat(*self.values_at("surface_velocity", s.t, c))
        belt -= c.normal * ca.dot(c.normal, belt)
        return self._frame(s, 1).direction(ca.jacobian(self._way(s, c), s.t) + belt)


class PlaneContact(_OnPlane):
    """Points of a body, or spheres around them, that may touch a plane, with friction.

    Without a stiffness the contact is rigid: it keeps the points from the plane, with Newton's restitution in impacts
    and Coulomb's friction. With one it is a penalty with the depth delta: `F = k delta (1 + a ddelta/dt)`, Hunt &
    Crossley (1975), and never a pull, so that the force has no jump; besides F a friction
    `-mu F v / sqrt(|v|^2 + w^2)` acts against the velocity v of sliding, which is Coulomb's from some w on: below, the
    contact creeps.
    """

    points = Rows("in body axes, from the centre of mass, of a link from its origin; that one unless given [m]",
                  default=((0, 0, 0),))
    radius = Real("of spheres around the points", "m", 0.0, least=0)

    @property
    def n_touches(self) -> int:
        return len(self._corners(self))

    def _complete(self):
        super()._complete()
        if not self.bodies[0].has_orientation and np.any(self._corners(self)):
            raise InputError(f"{self._title}: {self.bodies[0]!r} has no points but its own; leave points out")

    def _corners(self, c):
        """Where it may touch, shape (n, 3), by arguments `c` as in `numbers`."""
        return c.points

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        frame, plane = self._frame(s, 0), self._plane(s, c)
        return [sphere_on_plane(frame.point(x), c.radius, *plane) for x in ca.vertsplit(c.points, 3)]


class BoxContact(PlaneContact):
    """The eight corners of a box that may touch a plane; as `PlaneContact`."""

    body = On(rotating=True)
    size = Lengths("edge lengths in body axes; those of the body unless given", "m", None, optional=True)
    points = None
    radius = None
    needs_rotation = True

    def _complete(self):
        if self._edges(self) is None:
            raise InputError(f"{self._title}: {self.bodies[0]!r} has no size, and so no corners; give size=, or take "
                             "PlaneContact with points")
        super()._complete()

    @property
    def from_bodies(self) -> dict[str, Any]:
        return {"size": self._edges(self)}

    def _edges(self, c):
        return getattr(c.body, "size", None) if self.size is None else c.size

    def _corners(self, c):
        return np.array(CORNERS) / 2 @ diagonal(self._edges(c))

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "points": by_rows(self._corners(c)), "radius": np.zeros(1)}


class EllipsoidContact(_OnPlane):
    """An ellipsoid fixed in a body that may touch a plane; the laws are those of `PlaneContact`."""

    body = On(rotating=True)
    half_axes = HalfAxes("of the ellipsoid", "m", None)
    centre = Point("of the ellipsoid, in body axes", (0.0, 0.0, 0.0))
    orientation = Orientation("of its axes in those of the body, as quaternion or matrix", default=(1, 0, 0, 0))
    needs_rotation = True

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        frame = self._frame(s, 0)
        axes = frame.rotation @ ca.reshape(c.orientation, 3, 3)
        return [ellipsoid_on_plane(frame.point(c.centre), axes, c.half_axes, *self._plane(s, c))]


class RimContact(_OnPlane):
    """The rim of a thin disc, wheel or coin fixed in a body that may touch a plane; as `PlaneContact`.

    The disc must not lie flat on the plane, where it touches everywhere.
    """

    body = On(rotating=True)
    radius = Real("of the disc", "m", None, above=0)
    axis = Direction("of the disc, in body axes", default=(0, 0, 1))
    centre = Point("of the disc, in body axes", (0.0, 0.0, 0.0))
    needs_rotation = True

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        frame = self._frame(s, 0)
        return [disc_on_plane(frame.point(c.centre), frame.direction(c.axis), c.radius, *self._plane(s, c))]
