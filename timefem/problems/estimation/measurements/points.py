"""Places and velocities of points of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from ....errors import InputError
from ....types import Vector
from ..moment import Moment
from ..prior import Prior
from .base import Sensor
from .mounting import AlongAxes, check_point, point_of


@dataclass(eq=False, repr=False)
class Marker(AlongAxes, Sensor):
    """The place of a point of a body in space [m], all of it or some components, as cameras give it.

    Parameters
    ----------
    body : Body or str
    point : array_like, shape (3,), or Prior
        In body axes from the centre of mass, of a link of a tree from its own origin, where its joint is [m].
    axes : str
        Components that are measured, "xyz" or some of them.
    """

    body: Any
    point: Vector | Prior = (0.0, 0.0, 0.0)
    axes: str = "xyz"

    word: ClassVar[str] = "marker on"

    def _check_own(self):
        if not isinstance(self.axes, str) or not self.axes or any(
                a not in "xyz" or self.axes.count(a) > 1 for a in self.axes):
            raise InputError(f"{self.title}: axes must be some of 'xyz', such as 'xy', not {self.axes!r}")
        check_point(self)

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return {"point": (self.point, 3)}

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return self.along(now.position(self.body, point_of(self, c)))


@dataclass(eq=False, repr=False)
class PointVelocity(Marker):
    """The velocity of a point of a body in space [m/s], all of it or some components, as satellites or radar give it.

    Parameters
    ----------
    body, point, axes
        As of `Marker`.
    """

    word: ClassVar[str] = "velocity of"

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return self.along(now.velocity(self.body, point_of(self, c)))
