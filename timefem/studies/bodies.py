"""A body in units of its own."""

from __future__ import annotations

from timefem import InitialValueProblem, Pose, RigidBody, System

from ..argument_names import named_arguments


@named_arguments
def unit_body(rotation: str = "quaternion", inverse_mass: str = "polynomial",
              t_end: float = 5.0) -> InitialValueProblem:
    """A free body of unit mass and inertia that turns at about 1 rad/s: every number in the tangent is O(1).

    Slopes of condition numbers show on coarse meshes here, while a body in SI units hides some behind its inertia.
    """
    body = RigidBody(1, [1, 1, 1], rotation, inverse_mass, name="body")
    return InitialValueProblem(System([body]), {body: Pose(angular_velocity=(0, 0.7, 0.7))}, (0, t_end))
