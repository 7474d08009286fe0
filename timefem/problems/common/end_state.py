"""What is prescribed for a body at an end of a motion: its state, or only some components of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import casadi as ca
import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...display import digits
from ...errors import InputError
from ...mechanics.bodies import rotations
from ...mechanics.bodies.states import Coordinates, Pose
from ...mechanics.symbols import Symbols
from ...types import Matrix, Vector

TOLERANCE = 1e-10  # of conditions and constraints at the end, against their size
INDEPENDENT = 1e-8  # smallest singular value of conditions that do not repeat others


@dataclass(frozen=True, eq=False)
class EndState(NamedArguments):
    """State of a body at the end, of which only what is given is asked for; None is free.

    Parameters
    ----------
    position, velocity : array_like, shape (3,), optional
        Of the centre of mass in space [m, m/s]; entries that are None are free.
    orientation : array_like, shape (4,) or (3, 3), optional
        Unit quaternion (scalar first) or rotation matrix.
    angular_velocity : array_like, shape (3,), optional
        [rad/s], in the axes `frame`; entries that are None are free.
    frame : {"body", "space"}
    q, v : array_like, shape (n,), optional
        Generalized coordinates and velocities of a `GeneralizedBody`; entries that are None are free.
    """

    position: Sequence[float | None] | np.ndarray | None = None
    orientation: Vector | Matrix | None = None
    velocity: Sequence[float | None] | np.ndarray | None = None
    angular_velocity: Sequence[float | None] | np.ndarray | None = None
    frame: str = "body"
    q: Sequence[float | None] | np.ndarray | None = None
    v: Sequence[float | None] | np.ndarray | None = None

    def __post_init__(self):
        validate.choice("frame", self.frame, ("body", "space"))
        for name in ("position", "velocity", "angular_velocity"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _partial(name, getattr(self, name), 3))
        for name in ("q", "v"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _partial(name, getattr(self, name), len(getattr(self, name))))
        if self.orientation is not None:
            object.__setattr__(self, "orientation", rotations.as_quaternion(self.orientation))

    @classmethod
    def of(cls, value: Pose | Coordinates, rates: bool = True) -> EndState:
        """The same of a `Pose` or of `Coordinates`, which ask for everything, or without velocities."""
        if isinstance(value, Coordinates):
            given = {"q": value.q} | ({"v": value.v} if rates else {})
        else:
            given = {"position": value.position, "orientation": value.quaternion}
            if rates:
                given |= {name: getattr(value, name) for name in ("velocity", "angular_velocity", "frame")}
        made = object.__new__(cls)  # all of this was checked
        made.__dict__.update(given)
        return made


class AsCounted(EndState):
    """Of a counter of turns at the start of a motion: that of the angle which it counts, with its first turn."""


def _partial(name, value, n):
    if type(value) is np.ndarray and value.shape == (n,) and value.dtype == float and isfinite(value.sum()):
        return value.copy()  # the usual case
    try:
        given = np.array(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of {n} numbers, or None where it is free, not {value!r}") from None
    of_arrays = isinstance(value, np.ndarray)  # such as attributes of another `EndState`, with nan for what is free
    free = np.array([x is None or (of_arrays and np.isnan(y)) for x, y in zip(value, given, strict=True)]) \
        if given.ndim == 1 else False
    if given.shape != (n,) or not np.all(np.isfinite(given) | free):
        raise InputError(f"{name} must be an array of {n} numbers, or None where it is free, not {digits(given)}")
    return given


def body_velocity(body, q, p, own=None):
    """Velocities qdot = dH/dp of a body, SX, with other `own_parameters`."""
    s = Symbols(body)
    own = body.own_parameters if own is None else own
    return ca.Function("velocity", [s.q[0], s.p[0], s.own], [s.velocity[0]])(q, p, own)
