"""Springs: forces and torques that derive from a potential of the coordinates."""

import casadi as ca
import numpy as np

from ... import validate
from ..formula import Same, call, check_symbols
from .between import ForcePart, PointForce, relative_rotation


class Spring(PointForce):
    """Linear spring, V = 1/2 k (l - l0)^2 with the distance l of two points.

    With `rest_length=0` the potential is 1/2 k |r|^2, which is smooth everywhere; otherwise the direction of the force
    is not defined where the points coincide.

    Parameters
    ----------
    body_a : RigidBody or PointMass
    body_b : RigidBody or PointMass, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points in body axes from the centre of mass, of the ground in space [m].
    stiffness : float
        k [N/m], positive.
    rest_length : float
        l0 [m], not negative.
    name : str, optional

    Raises
    ------
    InputError
        For numbers out of range, or bodies that are the same.
    """

    def __init__(self, body_a, body_b=None, point_a=(0, 0, 0), point_b=(0, 0, 0), stiffness=None, rest_length=0.0,
                 name=None):
        super().__init__(body_a, body_b, point_a, point_b, name)
        self.stiffness = self._real("stiffness", stiffness, zero=False)
        self.rest_length = self._real("rest_length", rest_length)
        self.own_parameters = np.concatenate([self.point_a, self.point_b, [self.stiffness, self.rest_length]])

    @property
    def _form(self):
        return (self.rest_length == 0,)  # no square root then

    def energy(self, s):
        k, l0 = s.own[6], s.own[7]
        square = self._square(s)
        return k / 2 * (square if self.rest_length == 0 else (ca.sqrt(square) - l0) ** 2)


class NonlinearSpring(PointForce):
    """Spring with any potential V(l) of the distance l of two points.

    Parameters
    ----------
    body_a, body_b, point_a, point_b, name
        As for `Spring`. The points must not coincide, where the direction of the force is not defined.
    potential : callable
        `potential(l, *parameters)` [J] in CasADi symbols, for instance `lambda l, k: k * (l - 1)**4`. Each new
        function is compiled; springs with the very same function and other parameters share a kernel.
    parameters : array_like, shape (n,)

    Raises
    ------
    InputError
        Also when the function fails, or returns something else than a scalar of its arguments.
    """

    def __init__(self, body_a, body_b=None, point_a=(0, 0, 0), point_b=(0, 0, 0), potential=None, parameters=(),
                 name=None):
        super().__init__(body_a, body_b, point_a, point_b, name)
        self.potential = potential
        self.parameters_of_potential = validate.array(f"{self._title}: parameters", parameters, (None,))
        self.own_parameters = np.concatenate([self.point_a, self.point_b, self.parameters_of_potential])
        symbols = ca.SX.sym("l"), *ca.vertsplit(ca.SX.sym("c", len(self.parameters_of_potential)))
        check_symbols(f"{self._title}: potential", self._potential(*symbols), *symbols)

    @property
    def _form(self):
        return Same(self.potential), len(self.own_parameters)

    def _potential(self, *arguments):
        return call(f"{self._title}: potential", self.potential, 1, *arguments)

    def energy(self, s):
        return self._potential(ca.sqrt(self._square(s)), *ca.vertsplit(s.own[6:]))


class TorsionalSpring(ForcePart):
    """Torsional spring about an axis, V = 1/2 k (angle - rest_angle)^2.

    The angle is that of body a relative to body b (or the ground) about the axis: of the rotation `R_b^T R_a`, zero
    at `reference`, the part about the axis (its twist). When a joint holds the axis it is the angle of the joint. It
    is taken in (-pi, pi] from the rest angle, and the torque jumps half a turn away from it.

    Parameters
    ----------
    body_a : RigidBody
    body_b : RigidBody, optional
        None is the ground.
    axis : array_like, shape (3,)
        In the axes of body a, of any length.
    stiffness : float
        k [N m/rad], positive.
    rest_angle : float
        [rad]
    reference : array_like, shape (4,) or (3, 3)
        Orientation of body a relative to body b (the ground) at angle zero, quaternion or matrix.
    name : str, optional
    """

    _to_ground = True

    def __init__(self, body_a, body_b=None, axis=(0, 0, 1), stiffness=None, rest_angle=0.0, reference=(1, 0, 0, 0),
                 name=None):
        super().__init__((body_a, body_b), name, rotation=True)
        self.axis, axis = self._axis(axis)
        self.stiffness = self._real("stiffness", stiffness, zero=False)
        self.rest_angle = validate.real(f"{self._title}: rest_angle", rest_angle)
        self.reference, matrix = self._orientation(reference)
        self.own_parameters = np.concatenate([axis, [self.stiffness, np.cos(self.rest_angle), np.sin(self.rest_angle)],
                                              matrix.ravel(order="F")])

    def energy(self, s):
        axis, k, cos, sin = s.own[:3], s.own[3], s.own[4], s.own[5]
        r = relative_rotation(self, s, ca.reshape(s.own[6:], 3, 3))
        # sine and cosine of the twist, times a factor that drops out
        y = ca.dot(axis, ca.vertcat(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]))
        x = ca.trace(r) - ca.bilin(r, axis, axis)
        return k / 2 * ca.atan2(y * cos - x * sin, x * cos + y * sin) ** 2


class RotationalSpring(ForcePart):
    """Spring against any relative rotation, V = k (1 - cos(angle)), smooth at all angles up to half a turn.

    The angle is that of the rotation `R_b^T R_a` from `reference`; V = 1/2 k angle^2 for small ones.

    Parameters
    ----------
    body_a : RigidBody
    body_b : RigidBody, optional
        None is the ground.
    stiffness : float
        k [N m/rad], positive.
    reference : array_like, shape (4,) or (3, 3)
        Orientation of body a relative to body b (the ground) at rest, quaternion or matrix.
    name : str, optional
    """

    _to_ground = True

    def __init__(self, body_a, body_b=None, stiffness=None, reference=(1, 0, 0, 0), name=None):
        super().__init__((body_a, body_b), name, rotation=True)
        self.stiffness = self._real("stiffness", stiffness, zero=False)
        self.reference, matrix = self._orientation(reference)
        self.own_parameters = np.concatenate([[self.stiffness], matrix.ravel(order="F")])

    def energy(self, s):
        # tr R = 1 + 2 cos(angle)
        return s.own[0] / 2 * (3 - ca.trace(relative_rotation(self, s, ca.reshape(s.own[1:], 3, 3))))
