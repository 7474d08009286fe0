"""Contact of solids: with planes, of points and spheres, the corners of a box, ellipsoids, and the rims of discs; and
with each other, of spheres, of discs in a plane, from outside and inside, and of two boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError
from ..bodies.rigid_base import Lengths
from ..declared import Direction, Flag, On, Orientation, Point, Real, Rows, Vector, VectorFunction
from ..joints.joint import across
from ..numbers.arguments import by_rows, diagonal, joined
from ..shapes import Stroke
from .geometry import (
    CORNERS,
    EDGES,
    Touch,
    boxes,
    circles,
    disc_on_plane,
    edges,
    ellipsoid_on_plane,
    sphere_on_plane,
    spheres,
)
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


# ---- contact of spheres, and of discs in a plane, from outside and inside

class _RoundContact(Touching, abstract=True):
    body_a = On()
    body_b = On(ground=True)
    radius_a = Real("of what is fixed in body a; zero for a point", "m", None, least=0)
    radius_b = Real("of what is fixed in body b or in the ground; zero for a point", "m", None, least=0)
    point_a = Point("its centre, in body axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
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
    needs_rotation = has_ends = True

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
    start_a = Point("of the edge of a, in body axes from the centre of mass, of a link from its origin", None)
    end_a = Point("of the edge of a", None)
    start_b = Point("of the edge of b, in body axes; of the ground in space", None, of=1)
    end_b = Point("of the edge of b", None, of=1)
    outwards = Direction("out of body b at its edge, on the side where a is, in the axes of b; of the ground in space",
                         default=(0, 0, 1))
    has_ends = True

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
