"""Initial states of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import validate
from ...errors import NamedArguments
from ...records import frozen
from ...types import Converted, Matrix, Vector
from . import rotations


@frozen(eq=False)
class Pose(NamedArguments):
    """Position, orientation and velocities of a rigid body.

    Parameters
    ----------
    position : array_like, shape (3,)
        Centre of mass in space [m].
    orientation : array_like, shape (4,) or (3, 3)
        Unit quaternion (scalar first) or rotation matrix, body to space.
    velocity : array_like, shape (3,)
        Velocity of the centre of mass in space [m/s].
    angular_velocity : array_like, shape (3,)
        Angular velocity [rad/s], in the axes named by `frame`.
    frame : {"body", "space"}
    relative_to : Body or str, optional
        Another body: then position, orientation and velocities are relative to it, seen in its axes from its centre of
        mass ("space" in `frame` means these axes).
    """

    position: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)
    orientation: Converted[Vector | Matrix, np.ndarray] = (1.0, 0.0, 0.0, 0.0)
    velocity: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)
    angular_velocity: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)
    frame: str = "body"
    relative_to: Any = None

    def __post_init__(self):
        for name in ("position", "velocity", "angular_velocity"):
            object.__setattr__(self, name, validate.array(name, getattr(self, name), (3,)))
        object.__setattr__(self, "quaternion", rotations.as_quaternion(self.orientation))
        validate.choice("frame", self.frame, ("body", "space"))

    def angular_velocity_in(self, frame: str) -> np.ndarray:
        """Angular velocity in body or space axes, shape (3,) [rad/s]."""
        if frame == self.frame:
            return self.angular_velocity
        r = rotations.matrix_from_quaternion(self.quaternion)
        return (r.T if frame == "body" else r) @ self.angular_velocity


@frozen(eq=False)
class CanonicalState(NamedArguments):
    """Coordinates `q` and conjugate momenta `p` of a body, as they are.

    Parameters
    ----------
    q, p : array_like, shape (n_q,)
        As the kind of body has them.

    Raises
    ------
    InputError
        When they are not finite numbers, or differ in length.
    """

    q: Converted[Vector, np.ndarray]
    p: Converted[Vector, np.ndarray]

    def __post_init__(self):
        object.__setattr__(self, "q", validate.array("q", self.q, (None,)))
        object.__setattr__(self, "p", validate.array("p", self.p, np.shape(self.q)))


@frozen(eq=False)
class Coordinates(NamedArguments):
    """Generalized coordinates and their velocities.

    Parameters
    ----------
    q : array_like, shape (n,)
        In the units of the coordinates.
    v : array_like, shape (n,), optional
        Their rates qdot, per second; at rest when left out.

    Raises
    ------
    InputError
        When they are not finite numbers, or differ in length.
    """

    q: Converted[Vector, np.ndarray]
    v: Converted[Vector | None, np.ndarray] = None

    def __post_init__(self):
        object.__setattr__(self, "q", validate.array("q", self.q, (None,)))
        v = np.zeros(self.q.shape) if self.v is None else self.v
        object.__setattr__(self, "v", validate.array("v", v, self.q.shape))
