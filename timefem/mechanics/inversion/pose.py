"""Outputs for the pose of a body along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ... import validate
from ...argument_names import named_arguments
from ...errors import InputError
from ...types import Vector
from ..bodies.rotations import as_quaternion, matrix_from_quaternion
from ..functions.formula import as_vector_function
from ..functions.trajectories import Polynomial
from .outputs import Output, PositionOutput

if TYPE_CHECKING:
    from ..body_frame import BodyFrame
    from ..part import Body

CLOCK = Polynomial((0.0, 1.0))


class OrientationOutput(Output):
    """One of three numbers that vanish where a body has the orientation R_d(t); its trajectory is the time.

    The skew part of `R_d^T R`, sin(angle) times the axis of the rotation that is left: neither the sign of a
    quaternion nor full turns enter. `pose_outputs` makes all three.

    Parameters
    ----------
    body : RigidBody or link of a tree
    orientation : array_like, shape (4,) or (3, 3), or callable
        R_d: unit quaternion or rotation matrix, body to space, or a function of the CasADi symbol of the time.
    component : {0, 1, 2}
        Axis of the body about which the turn is counted.
    name : str, optional

    Raises
    ------
    InputError
        For bodies without an orientation, and for what is not a rotation.
    """

    def __init__(self, body: Body, orientation: Any, component: int, name: str | None = None) -> None:
        if not getattr(body, "has_orientation", False):
            raise InputError(f"OrientationOutput: body must be a rigid body or link, not {body!r}")
        self.bodies, self.component = (body,), validate.choice("OrientationOutput: component", component, (0, 1, 2))
        self.name = name or f"{body.name or 'body'} turn about {'xyz'[component]}"
        self._wanted = _matrix_of(self.name, orientation)

    def value(self, q: ca.SX) -> ca.SX:
        return self.deviation(0.0, q)

    def deviation(self, target: Any, q: ca.SX) -> ca.SX:
        left = self._wanted(target).T @ self.bodies[0].frame(q)[1]
        i, j = (self.component + 1) % 3, (self.component + 2) % 3
        return (left[j, i] - left[i, j]) / 2


def _matrix_of(title, orientation):
    """A function from the time to the rotation matrix of a constant orientation, or of one as a function of time."""
    if not callable(orientation):
        matrix = ca.DM(matrix_from_quaternion(as_quaternion(orientation)))
        return lambda t: ca.SX(matrix)
    t = ca.SX.sym("t")
    try:
        given = orientation(t)
        rows = given if isinstance(given, list | tuple) else [given]
        value = ca.SX(ca.vertcat(*(ca.horzcat(*row) if isinstance(row, list | tuple) else row for row in rows)))
    except Exception as error:
        raise InputError(f"{title}: the orientation fails on the CasADi symbol of the time: {error}") from None
    if value.shape == (4, 1):  # of any length
        a, v = value[0], value[1:]
        e, g = (ca.horzcat(-v, a * ca.SX.eye(3) + sign * ca.skew(v)) for sign in (1, -1))
        value = e @ g.T / ca.sumsqr(value)
    if value.shape != (3, 3) or any(not ca.is_equal(s, t) for s in ca.symvar(value)):
        raise InputError(f"{title}: the orientation must be a quaternion or a rotation matrix, or a function of the "
                         "CasADi symbol of the time that returns one")
    return ca.Function("orientation", [t], [value])


@named_arguments
def pose_outputs(body: BodyFrame, position: Any = None, orientation: Any = None,
                 point: Vector = (0.0, 0.0, 0.0)) -> dict[Output, Any]:
    """Outputs that guide a body along a path: up to six, with their trajectories, for `InverseDynamics`.

    Parameters
    ----------
    body : RigidBody or link of a tree
    position : optional
        Of the point in space [m]: three numbers or functions of time, or one function that returns three.
    orientation : optional
        Unit quaternion (scalar first, of either sign) or rotation matrix, body to space; or a function of the CasADi
        symbol of the time that returns one (a quaternion may have any length).
    point : array_like, shape (3,)
        In the axes of the body.

    Returns
    -------
    dict
        Output -> trajectory.

    Raises
    ------
    InputError
        When neither position nor orientation is given, and for what is not a rotation.
    """
    found = {}
    if position is not None:
        for axis, trajectory in zip("xyz", as_vector_function("pose_outputs: position", position), strict=True):
            found[PositionOutput(body, axis, point)] = trajectory
    if orientation is not None:
        found |= {OrientationOutput(body, orientation, i): CLOCK for i in range(3)}
    if not found:
        raise InputError("pose_outputs: give a position, an orientation, or both")
    return found


