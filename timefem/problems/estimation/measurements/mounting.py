"""How a sensor sits on its body: the place, and the axes, known or with an unknown small turn."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from .... import validate
from ....mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from ..prior import Prior


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
