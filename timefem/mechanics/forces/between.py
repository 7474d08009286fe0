"""What forces between two bodies, or a body and the ground, share."""

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ..bodies import rotations
from ..part import Body, Part


class ForcePart(Part):
    """Checks of bodies and numbers, and what the kinds of all forces are made of."""

    _to_ground = False  # whether a missing second body is the ground

    def __init__(self, bodies, name, rotation=False):
        """`bodies` ends with None for the ground; with `rotation` all of them have to have one."""
        self.name = name
        if len(bodies) == 2 and bodies[1] is None:
            bodies = bodies[:1]
        need = "angular_velocity_map" if rotation else "frame"
        for body in bodies:
            if not (isinstance(body, Body) and hasattr(body, need)):
                what = "a rigid body" if rotation else "a body"
                raise InputError(f"{self._title} must act on {what}, not on {body!r}"
                                 f"{'; the ground is body_b=None' if body is None else ''}")
        if len(bodies) == 2 and bodies[0] is bodies[1]:
            raise InputError(f"{self._title} needs two different bodies, or body_b=None for the ground")
        self.bodies = tuple(bodies)

    def __repr__(self):
        ground = " and ground" * (self._to_ground and len(self.bodies) == 1)
        return f"{self._title} on {' and '.join(map(repr, self.bodies))}{ground}"

    @property
    def kind(self):
        return (type(self), *self._form, *(body.kind for body in self.bodies))

    @property
    def _form(self):
        """What tells formulas of one class apart, hashable."""
        return ()

    def _real(self, name, value, zero=True):
        """A number that is not negative, or not zero either."""
        value = validate.real(f"{self._title}: {name}", value, positive=not zero)
        if value < 0:
            raise InputError(f"{self._title}: {name} must not be negative, but is {value:g}")
        return value

    def _vector(self, name, value):
        return validate.array(f"{self._title}: {name}", value, (3,))

    def _axis(self, axis):
        """The vector as given, and of unit length."""
        return validate.direction(f"{self._title}: axis", axis)

    def _orientation(self, reference):
        """The orientation as given, and its rotation matrix."""
        try:
            quaternion = rotations.as_quaternion(reference)
        except InputError as error:
            raise InputError(f"{self._title}: reference: {error}") from None
        return np.array(reference, float), rotations.matrix_from_quaternion(quaternion)

    def _place(self, s, i, x):
        """Place in space of the point `x` in the axes of body `i`; beyond the last body is the ground."""
        if i == len(self.bodies):
            return x
        position, rotation = self.bodies[i].frame(s.q[i])
        return position + rotation @ x


class PointForce(ForcePart):
    """Along the line between a point of body a and a point of body b or of the ground: the first six parameters."""

    _to_ground = True

    def __init__(self, body_a, body_b, point_a, point_b, name):
        super().__init__((body_a, body_b), name)
        self.point_a, self.point_b = self._vector("point_a", point_a), self._vector("point_b", point_b)

    def _square(self, s):
        """Squared distance of the points."""
        return ca.sumsqr(self._place(s, 0, s.own[:3]) - self._place(s, 1, s.own[3:6]))


def relative_rotation(part, s, reference):
    """Rotation matrix of body a relative to body b or the ground, from the reference: `S^T R_b^T R_a`, (3, 3)."""
    turned = part.bodies[0].frame(s.q[0])[1]
    if len(part.bodies) == 2:
        turned = part.bodies[1].frame(s.q[1])[1].T @ turned
    return reference.T @ turned


def dissipative_force(s, rates, damping):
    """Q = -dD/d(qdot) of the dissipation function D = 1/2 sum_i c_i rate_i^2.

    `rates` are linear in the velocities: `rate_i = b_i(q) . qdot`; each b_i is given, SX of shape (n_q,).
    """
    velocity = ca.vertcat(*s.velocity)
    return -sum(c * ca.dot(b, velocity) * b for b, c in zip(rates, damping, strict=True))
