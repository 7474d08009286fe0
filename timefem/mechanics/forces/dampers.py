"""Dampers: forces from a dissipation function D of the velocities, Q = -dD/d(qdot)."""

import casadi as ca
import numpy as np

from .between import ForcePart, PointForce, dissipative_force


class Damper(PointForce):
    """Linear damper along the line of two points: force -c d/dt l with their distance l, D = 1/2 c (dl/dt)^2.

    The points must not coincide, where the line is not defined.

    Parameters
    ----------
    body_a : RigidBody or PointMass
    body_b : RigidBody or PointMass, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points in body axes from the centre of mass, of the ground in space [m].
    damping : float
        c [N s/m], not negative.
    name : str, optional
    """

    def __init__(self, body_a, body_b=None, point_a=(0, 0, 0), point_b=(0, 0, 0), damping=None, name=None):
        super().__init__(body_a, body_b, point_a, point_b, name)
        self.damping = self._real("damping", damping)
        self.own_parameters = np.concatenate([self.point_a, self.point_b, [self.damping]])

    def force(self, s):
        return dissipative_force(s, [ca.gradient(ca.sqrt(self._square(s)), ca.vertcat(*s.q))], [s.own[6]])


class TorsionalDamper(ForcePart):
    """Torsional damper about an axis fixed in body a: torque -c (omega_a - omega_b).axis on a, and its opposite on b.

    Parameters
    ----------
    body_a : RigidBody
    body_b : RigidBody, optional
        None is the ground.
    axis : array_like, shape (3,)
        In the axes of body a, of any length.
    damping : float
        c [N m s/rad], not negative.
    name : str, optional
    """

    _to_ground = True

    def __init__(self, body_a, body_b=None, axis=(0, 0, 1), damping=None, name=None):
        super().__init__((body_a, body_b), name, rotation=True)
        self.axis, axis = self._axis(axis)
        self.damping = self._real("damping", damping)
        self.own_parameters = np.append(axis, self.damping)

    def force(self, s):
        axis = self.bodies[0].frame(s.q[0])[1] @ s.own[:3]
        maps = [body.angular_velocity_map(q) for body, q in zip(self.bodies, s.q, strict=True)]
        rate = ca.vertcat(*(sign * m.T @ axis for sign, m in zip((1, -1), maps, strict=False)))
        return dissipative_force(s, [rate], [s.own[3]])


class RayleighDissipation(ForcePart):
    """Resistance of the surroundings to all motion of a body, D = 1/2 c_l |v|^2 + 1/2 c_a |omega|^2.

    The force on the centre of mass is -c_l v, the torque -c_a omega.

    Parameters
    ----------
    body : RigidBody or PointMass
    linear : float
        c_l [N s/m], not negative.
    angular : float
        c_a [N m s/rad], not negative; zero for a point mass.
    name : str, optional
    """

    def __init__(self, body, linear=0.0, angular=0.0, name=None):
        super().__init__((body,), name, rotation=bool(angular))
        self.linear = self._real("linear", linear)
        self.angular = self._real("angular", angular)
        self._turns = hasattr(body, "angular_velocity_map")
        self.own_parameters = np.array([self.linear, self.angular])

    def force(self, s):
        body, q = self.bodies[0], s.q[0]
        rates = ca.vertsplit(ca.jacobian(body.frame(q)[0], q))
        damping = [s.own[0]] * 3
        if self._turns:
            rates += ca.vertsplit(body.angular_velocity_map(q))
            damping += [s.own[1]] * 3
        return dissipative_force(s, [rate.T for rate in rates], damping)
