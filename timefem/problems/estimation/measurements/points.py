"""Places and velocities of points of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....types import Vector
from ..moment import Moment
from ..prior import Prior
from .base import Sensor
from .mounting import point_of


@dataclass(eq=False, repr=False)
class Marker(Sensor):
    """The place of a point of a body in space [m], all of it or some components, as cameras give it.

    Parameters
    ----------
    body : Body or str
    point : array_like, shape (3,), or Prior
        In body axes from the centre of mass [m].
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
        if not isinstance(self.point, Prior):
            self.point = validate.array(f"{self.title}: point", np.asarray(self.point, float), (3,))

    @property
    def n(self) -> int:
        return len(self.axes)

    @property
    def component_names(self) -> list[str]:
        return list(self.axes)

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return {"point": (self.point, 3)}

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return now.position(self.body, point_of(self, c))[["xyz".index(a) for a in self.axes]]


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
        return now.velocity(self.body, point_of(self, c))[["xyz".index(a) for a in self.axes]]
