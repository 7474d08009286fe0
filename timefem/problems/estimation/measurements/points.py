"""Sensors of points and directions of bodies, and how a sensor sits on its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from ....types import Matrix, Vector
from ..loads import Moment
from ..prior import Prior
from .base import Sensor

# ---- How a sensor sits on its body: the place, and the axes, known or with an unknown small turn

def turned(c: ca.SX) -> ca.SX:
    """Rotation matrix of Rodrigues' parameters, SX (3,): twice the tangent of half the angle, about the axis c."""
    h = c / 2
    return ca.SX.eye(3) + 2 / (1 + ca.sumsqr(h)) * (ca.skew(h) + ca.skew(h) @ ca.skew(h))


def point_of(sensor: Any, c: dict[str, ca.SX]) -> ca.SX:
    """The place of a sensor in body axes from the centre of mass, SX (3,)."""
    return ca.SX(sensor.number("point", c))


def axes_of(sensor: Any, c: dict[str, ca.SX]) -> ca.SX:
    """Rotation matrix, axes of the sensor to axes of the body, SX (3, 3)."""
    axes = ca.SX(ca.DM(matrix_from_quaternion(as_quaternion(sensor.mounting))))
    error = sensor.number("mounting_error", c)
    return axes if error is None else axes @ turned(ca.SX(error))


class AlongAxes:
    """Sensors that measure along some of three axes, by their argument `axes`."""

    axes: str

    @property
    def n(self) -> int:
        return len(self.axes)

    @property
    def component_names(self) -> list[str]:
        return list(self.axes)

    def along(self, vector: ca.SX) -> ca.SX:
        """The components of a vector that are measured, SX (n,)."""
        return vector[["xyz".index(a) for a in self.axes]]


def check_mounting(sensor: Any) -> None:
    """Convert the argument `mounting` of a sensor."""
    sensor.mounting = as_quaternion((1.0, 0.0, 0.0, 0.0) if sensor.mounting is None else sensor.mounting)


def check_point(sensor: Any) -> None:
    """Convert the argument `point` of a sensor, where it is known."""
    if not isinstance(sensor.point, Prior):
        sensor.point = validate.array(f"{sensor.title}: point", np.asarray(sensor.point, float), (3,))


def mounting_numbers(sensor: Any) -> dict[str, tuple[Any, int]]:
    """The same as `own_numbers`."""
    return {"mounting_error": (sensor.mounting_error, 3)}


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


# ---- Directions of space as a body sees them, and whole orientations

@dataclass(eq=False, repr=False)
class DirectionSensor(Sensor):
    """A vector of space in the axes of a sensor on a body: a star, gravity, the magnetic field.

    Parameters
    ----------
    body : Body or str
    direction : array_like, shape (3,), or Prior
        In space, of the length that the sensor gives: of unit length for stars, in the units of the values for a
        magnetic field.
    mounting, mounting_error
        As of `Gyroscope`.
    """

    body: Any
    direction: Vector | Prior
    mounting: Vector | Matrix | None = None
    mounting_error: Prior | None = None

    word: ClassVar[str] = "direction from"
    n: ClassVar[int] = 3

    def _check_own(self):
        check_mounting(self)
        if not isinstance(self.direction, Prior):
            self.direction = validate.direction(f"{self.title}: direction", self.direction)[0]

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return mounting_numbers(self) | {"direction": (self.direction, 3)}

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return axes_of(self, c).T @ (now.rotation_matrix(self.body).T @ ca.SX(self.number("direction", c)))


@dataclass(eq=False, repr=False)
class OrientationSensor(Sensor):
    """The orientation of a body as a whole; its errors are small turns in the axes of the sensor [rad].

    Parameters
    ----------
    body : Body or str
    values : array_like, shape (n_times, 4) or (n_times, 3, 3)
        Unit quaternions (scalar first, of either sign) or rotation matrices, sensor axes to space; rows of NaN where
        it is missing.
    mounting, mounting_error
        As of `Gyroscope`.
    """

    body: Any
    mounting: Vector | Matrix | None = None
    mounting_error: Prior | None = None

    word: ClassVar[str] = "orientation of"
    n: ClassVar[int] = 3

    def _check_own(self):
        check_mounting(self)
        if self.bias is not None or self.scale is not None:
            raise InputError(f"{self.title}: an orientation has a mounting_error, not a bias or a scale")

    def _check_values(self, title, n):
        values = np.array(self.values, float)
        if values.ndim < 2 or values.shape[1:] not in ((4,), (3, 3)) or len(values) != len(self.times):
            raise InputError(f"{title}: values must be quaternions of shape ({len(self.times)}, 4) or rotation matrices"
                             f" of shape ({len(self.times)}, 3, 3), not {values.shape}")
        lacking = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        turns = np.tile(np.eye(3), (len(values), 1, 1))
        for j in np.flatnonzero(~lacking):
            try:
                turns[j] = matrix_from_quaternion(as_quaternion(values[j]))
            except InputError as error:
                raise InputError(f"{title}: values at t = {self.times[j]:g} s: {error}") from None
        self.values = np.where(lacking[:, None], np.nan, 0.0) * np.ones(n)
        super()._check_values(title, n)
        self.values = turns.reshape(len(values), 9)  # what the residual is given, row by row

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        return mounting_numbers(self)

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return ca.reshape((now.rotation_matrix(self.body) @ axes_of(self, c)).T, 9, 1)

    def residual(self, now: Moment, c: dict[str, ca.SX], y: ca.SX) -> ca.SX:
        """The turn that is left, as the axis times 2 sin(angle / 2), from what is expected to what was measured."""
        left = ca.reshape(self.predicted(now, c), 3, 3) @ ca.reshape(y[:9], 3, 3).T
        skew = ca.vertcat(left[2, 1] - left[1, 2], left[0, 2] - left[2, 0], left[1, 0] - left[0, 1]) / 2
        return skew * ca.sqrt(2 / ca.fmax(1 + (ca.trace(left) - 1) / 2, 1e-6))
