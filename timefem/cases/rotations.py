"""Rotations known in closed form, by the torque that they take: Zupan & Zupan (2017), IV.A."""

import casadi as ca
import numpy as np

from timefem import Pose, RigidBody, System, Torque

from ..mechanics.bodies.quaternions import exponential, product
from .table import define_case

INERTIA = (5.0, 5.0, 1.0)


def rotation_i(t):
    """Rotation vector of load case (i), in CasADi symbols [rad]."""
    return t**2, 0, t / 5


def rotation_ii(t):
    """Rotation vector of load case (ii), in CasADi symbols [rad]."""
    return t + ca.sin(t), 0, ca.cos(t)


@define_case("rotation-i", "Prescribed rotation, growing torque", t_end=5 * np.pi, n_elements=2000, conserved_axes=())
def prescribed_rotation_i(**rotation):
    """A body turned by the torque, in space axes, that makes its rotation vector (t^2, 0, t/5) (Zupan & Zupan, load
    case i)."""
    return _turned(rotation_i, torque_i, rotation)


@define_case("rotation-ii", "Prescribed rotation, harmonic", t_end=5 * np.pi, n_elements=400, conserved_axes=())
def prescribed_rotation_ii(**rotation):
    """A body turned by the torque, in space axes, that makes its rotation vector (t + sin t, 0, cos t) (Zupan & Zupan,
    load case ii)."""
    return _turned(rotation_ii, torque_ii, rotation)


def torque_i(t):
    """Torque of load case (i) in space axes [N m]."""
    return _motion(rotation_i, t)[2]


def torque_ii(t):
    """Torque of load case (ii) in space axes [N m]."""
    return _motion(rotation_ii, t)[2]


def _turned(vector, torque, rotation):
    body = RigidBody(mass=1, inertia=INERTIA, name="body", **rotation)
    t = ca.SX.sym("t")
    q, angular_velocity, _ = ca.Function("motion", [t], _motion(vector, t))(0)
    state = Pose(orientation=np.array(q).ravel(), angular_velocity=np.array(angular_velocity).ravel())
    return System([body, Torque(body, torque, name="torque")]), {body: state}


def _motion(vector, time):
    """Quaternion, angular velocity in body axes, torque in space axes at `time` of a motion by a rotation vector."""
    t, conjugate = ca.SX.sym("t"), ca.DM([1, -1, -1, -1])
    q = exponential(ca.vertcat(*vector(t)) / 2)
    w = 2 * product(conjugate * q, ca.jacobian(q, t))[1:]
    momentum = ca.DM(INERTIA) * w
    torque = ca.vertcat(0, ca.jacobian(momentum, t) + ca.cross(w, momentum))
    values = q, w, product(product(q, torque), conjugate * q)[1:]
    return [ca.substitute(value, t, time) for value in values]
