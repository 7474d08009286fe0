"""Poses that are given relative to other bodies."""

import numpy as np

from ..errors import InputError
from .bodies.rotations import matrix_from_quaternion
from .bodies.states import Pose
from .body_frame import is_on_tree


def in_space(system, body, values, asked=()):
    """The `Pose` of a body in space, from one that may be relative to another body.

    With the pose (x, R, v, omega) of the other body `x + R r`, `R R_r`, `v + omega x R r + R v_r`, `omega + R omega_r`.

    Parameters
    ----------
    values : dict
        Body -> what was given.
    asked : tuple
        Bodies whose poses wait for this one.

    Raises
    ------
    InputError
        For poses that are relative to each other.
    """
    if is_on_tree(body) and body not in values:
        q, p = body.body.state(values.get(body.body, body.body.reference))
        motion = body.motion(q[body.dofs], body.body.velocity(q, p)[body.dofs])
        return Pose(motion[0], motion[2], motion[1], motion[3], "space")
    value = values.get(body, body.reference)
    if not isinstance(value, Pose):
        return Pose(body.position(value.q), body.orientation(value.q) if body.has_orientation else (1, 0, 0, 0),
                    body.velocity(value.q, value.p),
                    body.angular_velocity(value.q, value.p) if body.has_orientation else (0, 0, 0))
    if value.relative_to is None:
        return value
    if body in asked:
        raise InputError(f"state of {system.label(body)}: its pose is relative to itself, by way of "
                         f"{', '.join(map(system.label, asked))}; give one of them in space")
    other = in_space(system, system.find(value.relative_to), values, (*asked, body))
    turn, spin = matrix_from_quaternion(other.quaternion), other.angular_velocity_in("space")
    arm = turn @ value.position
    place, velocity = other.position + arm, other.velocity + np.cross(spin, arm) + turn @ value.velocity
    if not body.has_orientation:
        return Pose(place, value.quaternion, velocity, value.angular_velocity)  # of which a point mass has none
    return Pose(place, turn @ matrix_from_quaternion(value.quaternion), velocity,
                spin + turn @ value.angular_velocity_in("space"), "space")
