"""Dampers: forces from a dissipation function D of the velocities, Q = -dD/d(qdot)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import Direction, On, Real
from ..symmetry import ALL, translations
from .between import ForcePart, PointForce, dissipative_force

if TYPE_CHECKING:
    from ..symbols import Symbols


class Damper(PointForce):
    """Linear damper along the line of two points: force -c d/dt l with their distance l, D = 1/2 c (dl/dt)^2.

    The points must not coincide, where the line is not defined.
    """

    damping = Real("c", "N s/m", None, least=0)

    line = "damper"

    def workless_motions(self) -> np.ndarray:
        return self.line_motions()

    def force(self, s: Symbols) -> ca.SX:
        along = ca.gradient(ca.sqrt(self._square(s)), ca.vertcat(*s.q))
        return dissipative_force(s, [along], [self.named(s.own).damping])


class TorsionalDamper(ForcePart):
    """Torsional damper about an axis fixed in body a: torque -c (omega_a - omega_b).axis on a, the opposite on b."""

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    axis = Direction("in the axes of body a, of any length", default=(0, 0, 1))
    damping = Real("c", "N m s/rad", None, least=0)
    needs_rotation = True

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def force(self, s: Symbols) -> ca.SX:
        axis = self.bodies[0].frame(s.q[0])[1] @ s.own[:3]
        maps = [body.angular_velocity_map(q) for body, q in zip(self.bodies, s.q, strict=True)]
        rate = ca.vertcat(*(sign * m.T @ axis for sign, m in zip((1, -1), maps, strict=False)))
        return dissipative_force(s, [rate], [s.own[3]])


class RayleighDissipation(ForcePart):
    """Resistance of the surroundings to all motion of a body, D = 1/2 c_l |v|^2 + 1/2 c_a |omega|^2.

    The force on the centre of mass is -c_l v, the torque -c_a omega.
    """

    body = On()
    linear = Real("c_l", "N s/m", 0.0, least=0)
    angular = Real("c_a, zero for a point mass", "N m s/rad", 0.0, least=0)

    def _complete(self):
        if self.angular and not self.bodies[0].has_orientation:
            raise InputError(f"{self._title} must act on a rigid body, not on {self.bodies[0]!r}")

    def force(self, s: Symbols) -> ca.SX:
        body, q = self.bodies[0], s.q[0]
        rates = ca.vertsplit(ca.jacobian(body.frame(q)[0], q))
        damping = [s.own[0]] * 3
        if body.has_orientation:
            rates += ca.vertsplit(body.angular_velocity_map(q))
            damping += [s.own[1]] * 3
        return dissipative_force(s, [rate.T for rate in rates], damping)
