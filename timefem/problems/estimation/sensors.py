"""The sensors: gyroscopes, accelerometers, encoders, reactions, formulas, points, orientations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ...mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from ...mechanics.formulas.formula import call, call_vector
from ...mechanics.formulas.text import as_formula
from ...types import Matrix, UserFormula, Vector
from .loads import Moment
from .prior import Prior
from .sensor import Sensor

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


# ---- Along axes of the sensor

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


# ---- Of joints, reactions, and formulas

@dataclass(eq=False, repr=False)
class JointSensor(Sensor):
    """A coordinate of a joint [rad or m], or its rate; angles are compared without counting turns.

    Parameters
    ----------
    joint : Joint or str
    coordinate : str, optional
        Which one, where it has several; the first unless given.
    rate : bool
        Whether the rate is measured [rad/s or m/s].
    """

    joint: Any
    coordinate: str | None = None
    rate: bool = False

    word: ClassVar[str] = "sensor of joint"
    on: ClassVar[str] = "joint"
    refers: ClassVar[tuple[str, ...]] = ("joint",)
    n: ClassVar[int] = 1

    def _check_own(self):
        self.rate = validate.flag(f"{self.title}: rate", self.rate)

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return now.joint_rate(self.joint, self.coordinate) if self.rate else now.joint(self.joint, self.coordinate)

    def residual(self, now: Moment, c: dict[str, ca.SX], y: ca.SX) -> ca.SX:
        if self.rate:
            return super().residual(now, c, y)
        scale, bias = self.number("scale", c), self.number("bias", c)
        scale = 1.0 if scale is None else scale
        return -scale * now.joint_deviation(self.joint, self.coordinate, (y - (0 if bias is None else bias)) / scale)


@dataclass(eq=False, repr=False)
class ReactionSensor(Sensor):
    """Force [N] and torque [N m] that a joint exerts on a body, in space axes, the torque about the centre of mass.

    Parameters
    ----------
    joint : Joint or str
    body : Body or str, optional
        Of the joint; its first one unless given.
    components : str
        "force", "torque" or "both".
    """

    joint: Any
    body: Any = None
    components: str = "force"

    word: ClassVar[str] = "reaction of"
    on: ClassVar[str] = "joint"
    refers: ClassVar[tuple[str, ...]] = ("joint", "body")

    def _check_own(self):
        validate.choice(f"{self.title}: components", self.components, ("force", "torque", "both"))

    @property
    def n(self) -> int:
        return 6 if self.components == "both" else 3

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        found = now.reaction(self.joint, self.body)
        return {"force": found[:3], "torque": found[3:], "both": found}[self.components]


@dataclass(eq=False, repr=False)
class FormulaSensor(Sensor):
    """Numbers by a formula of the motion.

    Parameters
    ----------
    formula : callable, str or sequence of str
        `formula(now)` -> expressions in CasADi symbols, or such a formula as text; `now` offers what that of a `Limit`
        does, and `acceleration(body, point)`, `angular_acceleration(body, frame)` and `reaction(joint, body)`, such as
        `"now.energy()"` or `"now.control('motor')[0]"`.
    n : int
        How many numbers it gives.
    """

    formula: UserFormula
    n: int = 1

    word: ClassVar[str] = "formula"
    on: ClassVar[str] = "name"
    refers: ClassVar[tuple[str, ...]] = ()

    def _check_own(self):
        self.n = validate.integer(f"{self.title}: n", self.n, minimum=1)
        self.formula = as_formula(f"{self.title}: formula", self.formula, ["now"])

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        value = call("formula", self.formula, 1, now) if self.n == 1 else \
            ca.SX(call_vector("formula", self.formula, now))
        if value.numel() != self.n:
            raise InputError(f"it gives {value.numel()} numbers, but n is {self.n}")
        return value
