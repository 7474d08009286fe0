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


def check_mounting(sensor: Any, with_point: bool) -> None:
    """Convert the arguments `mounting`, `mounting_error` and `point` of a sensor."""
    sensor.mounting = as_quaternion((1.0, 0.0, 0.0, 0.0) if sensor.mounting is None else sensor.mounting)
    if with_point and not isinstance(sensor.point, Prior):
        sensor.point = validate.array(f"{sensor.title}: point", np.asarray(sensor.point, float), (3,))


def mounting_numbers(sensor: Any) -> dict[str, tuple[Any, int]]:
    """The same as `own_numbers`."""
    found = {"mounting_error": (sensor.mounting_error, 3)}
    return found | ({"point": (sensor.point, 3)} if hasattr(sensor, "point") else {})
