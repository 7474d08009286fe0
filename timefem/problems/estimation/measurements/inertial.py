"""Gyroscopes and accelerometers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from .... import validate
from ....types import Matrix, Vector
from ..loads import Moment
from ..prior import Prior
from .base import Sensor
from .points import AlongAxes, axes_of, check_mounting, check_point, mounting_numbers, point_of


@dataclass(eq=False, repr=False)
class Gyroscope(AlongAxes, Sensor):
    """The angular velocity of a body against space [rad/s], in the axes of the sensor, or along some of them.

    Parameters
    ----------
    body : Body or str
    axes : str
        Axes of the sensor along which it measures, "xyz" or some of them.
    mounting : array_like, shape (4,) or (3, 3), optional
        Quaternion or rotation matrix, axes of the sensor to axes of the body; default: the same axes.
    mounting_error : Prior, optional
        Of an unknown small turn of the sensor, three angles in its axes [rad].
    """

    body: Any
    axes: str = "xyz"
    mounting: Vector | Matrix | None = None
    mounting_error: Prior | None = None

    word: ClassVar[str] = "gyroscope on"

    def _check_own(self):
        self.axes = validate_axes(self.title, self.axes)
        check_mounting(self)

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return mounting_numbers(self)

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return self.along(axes_of(self, c).T @ now.angular_velocity(self.body, "body"))


@dataclass(eq=False, repr=False)
class Accelerometer(AlongAxes, Sensor):
    """The specific force at a point of a body, its acceleration less gravity [m/s^2], in the axes of the sensor.

    At rest it shows the gravitational acceleration upwards. The rate of the velocity is that of the element's
    polynomial at the time.

    Parameters
    ----------
    body : Body or str
    point : array_like, shape (3,), or Prior
        Where it sits, in body axes from the centre of mass, of a link of a tree from its own origin [m].
    axes, mounting, mounting_error
        As of `Gyroscope`.
    gravity : array_like, shape (3,), optional
        Gravitational acceleration in space [m/s^2]; default: that of the system.
    """

    body: Any
    point: Vector | Prior = (0.0, 0.0, 0.0)
    axes: str = "xyz"
    mounting: Vector | Matrix | None = None
    mounting_error: Prior | None = None
    gravity: Vector | None = None

    word: ClassVar[str] = "accelerometer on"

    def _check_own(self):
        self.axes = validate_axes(self.title, self.axes)
        check_mounting(self)
        check_point(self)
        if self.gravity is not None:
            self.gravity = validate.array(f"{self.title}: gravity", self.gravity, (3,))

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return mounting_numbers(self) | {"point": (self.point, 3)}

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        gravity = now.gravity() if self.gravity is None else ca.DM(np.asarray(self.gravity))
        force = now.acceleration(self.body, point_of(self, c)) - gravity
        return self.along(axes_of(self, c).T @ (now.rotation_matrix(self.body).T @ force))


def validate_axes(title, axes):
    """Some of "xyz", as they are."""
    return validate.choice(f"{title}: axes", axes, ("xyz", "x", "y", "z", "xy", "xz", "yz"))
