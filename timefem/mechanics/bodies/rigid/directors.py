"""Rigid bodies in directors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ....types import Expression, Floats
from ...declared import Name
from ...numbers.arguments import diagonal, inverse, trace, upper_triangle
from .. import rotations
from .base import RigidBodyBase, turn

if TYPE_CHECKING:
    from ...symbols import Symbols
    from ..states import Pose


class DirectorBody(RigidBodyBase):
    """Rigid body in directors: May & Betsch Sect. 4.3; `q = (position, d1, d2, d3)`, R = [d1 d2 d3]."""

    rotation = "directors"
    n_q = 12
    spin_per_momentum = 3**0.5
    constraint_names = ("length of d1", "length of d2", "length of d3", "d1.d2 = 0", "d1.d3 = 0", "d2.d3 = 0")

    name = Name()
    size, shape = RigidBodyBase.size, RigidBodyBase.shape

    no_inverse = ("has a singular Euler tensor (a plate or rod without thickness)", "use rotation='quaternion', or "
                  "EML() or MixedGalerkin(k, form='energy'), which do without")

    def _complete(self):
        super()._complete()
        self.euler_tensor = self._euler_of(self.inertia)
        self.has_inverse_mass = bool(np.linalg.eigvalsh(self.euler_tensor)[0] > 1e-12 * np.trace(self.inertia))

    @staticmethod
    def _euler_of(inertia):
        return trace(inertia) / 2 * np.eye(3) - inertia

    def numbers(self, c: Any) -> dict[str, Any]:
        tensor = self._euler_of(c.inertia) if self.has_inverse_mass else c.inertia
        if self._diagonal:
            packed = 1 / diagonal(tensor) if self.has_inverse_mass else diagonal(tensor)
        else:
            packed = upper_triangle(inverse(tensor) if self.has_inverse_mass else tensor)
        return {"mass": 1 / c.mass, "inertia": packed}

    @property
    def kind(self) -> Hashable:
        return ("director body", self._diagonal, self.has_inverse_mass)

    @property
    def mass_scale(self) -> np.ndarray:
        """Size of the mass matrix per coordinate, for scaling."""
        size = np.diag(self.euler_tensor)
        return np.concatenate([[self.mass] * 3, np.repeat(np.maximum(size, 1e-3 * size.max()), 3)])

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        """T = |p_phi|^2/(2m) + 1/2 E^-1_ij p_i.p_j, the Legendre transform of (62).

        Of a singular E that of all velocities that keep the directors orthonormal, 1/2 L.J^-1 L with the spin
        L = sum d_i x p_i and J in space axes.
        """
        if self.has_inverse_mass:
            return self.kinetic_of_invariant_momentum(p, c)
        return (c[0] * ca.sumsqr(p[:3]) + ca.dot(_spin(q, p), self.angular_velocity_of_momenta(q, p, c))) / 2

    def angular_velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        """By the spin, R J^-1 R^T sum d_i x p_i, as `angular_velocity`.

        So they agree also where rates are not those of orthonormal directors to rounding, as with elements whose
        constraints hold for positions only.
        """
        d, inertia = ca.reshape(q[3:], 3, 3), self._packed(c)
        if self.has_inverse_mass:
            euler = self._euler(c)
            inertia = ca.trace(euler) * ca.SX.eye(3) - euler
        return d @ (ca.inv(inertia) @ (d.T @ _spin(q, p)))

    def kinetic_of_invariant_momentum(self, w: ca.SX, c: Any) -> Expression:
        d = ca.reshape(w[3:], 3, 3)
        return (c[0] * ca.sumsqr(w[:3]) + ca.trace(self._packed(c) @ (d.T @ d))) / 2

    def _packed(self, c):
        """The tensor of `numbers`: E^-1, or J where E is singular."""
        if self._diagonal:
            return ca.diag(c[1:4])
        return ca.vertcat(ca.horzcat(c[1], c[2], c[3]), ca.horzcat(c[2], c[4], c[5]), ca.horzcat(c[3], c[5], c[6]))

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        """T = m/2 |v|^2 + 1/2 E_ij d_i'.d_j', (62)."""
        return self.kinetic_of_invariants(v, c)

    def kinetic_of_invariants(self, w: ca.SX, c: Any) -> Expression:
        d = ca.reshape(w[3:], 3, 3)
        return (ca.sumsqr(w[:3]) / c[0] + ca.trace(self._euler(c) @ (d.T @ d))) / 2

    def _euler(self, c):
        """The Euler tensor E from the tensor of `numbers`."""
        packed = self._packed(c)
        if not self.has_inverse_mass:
            return ca.trace(packed) / 2 * ca.SX.eye(3) - packed
        return ca.diag(1 / c[1:4]) if self._diagonal else ca.inv(packed)

    def invariant_velocity(self, q: ca.SX, v: ca.SX) -> ca.SX:
        return v  # the mass matrix is constant

    def invariant_momentum(self, q: ca.SX, p: ca.SX) -> ca.SX:
        return p if self.has_inverse_mass else None

    def moved(self, q: ca.SX, u: ca.SX) -> ca.SX:
        """Directors turned by `turn(u_R)`."""
        a, v = ca.vertsplit(turn(u[3:]), [0, 1, 4])
        turned = [d + 2 * a * ca.cross(v, d) + 2 * ca.cross(v, ca.cross(v, d)) for d in ca.vertsplit(q[3:], 3)]
        return ca.vertcat(q[:3] + u[:3], *turned)

    def rotation_rate(self, rotation: ca.SX) -> ca.SX:
        return ca.vertcat(*(-ca.skew(d) for d in ca.vertsplit(rotation, 3)))  # d_i' = omega x d_i

    def constraints(self, s: Symbols) -> ca.SX:
        d1, d2, d3 = (s.q[0][3 * i:3 * i + 3] for i in range(1, 4))
        lengths = [(ca.sumsqr(d) - 1) / 2 for d in (d1, d2, d3)]
        return ca.vertcat(*lengths, ca.dot(d1, d2), ca.dot(d1, d3), ca.dot(d2, d3))  # (65)

    def velocity_constraints(self, s: Symbols) -> ca.SX:
        """Rates of `constraints`; of momenta and a singular E, by which no rates are known, what such momenta hold.

        `p_i = E_ij omega x d_j`, so that `W_ij = d_i.p_j` is `hat(omega) E`: then `E W + W^T E = 0`, and `n.W n = 0`
        where `E n = 0`.
        """
        if self.has_inverse_mass or s.velocity_given:
            return super().velocity_constraints(s)
        euler, w = self._euler(s.own), ca.reshape(s.q[0][3:], 3, 3).T @ ca.reshape(s.p[0][3:], 3, 3)
        size, columns = ca.trace(euler), ca.horzsplit(euler)
        along = ca.horzcat(*(ca.cross(columns[i - 2], columns[i - 1]) for i in range(3))) / size ** 2  # of n n^T
        rows = euler @ w / size + along @ w @ along
        return ca.vertcat(*((rows + rows.T)[i, j] / size for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return q[:3], ca.reshape(q[3:], 3, 3)

    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        return ca.horzcat(ca.SX(3, 3), *(ca.skew(q[3 * i:3 * i + 3]) / 2 for i in range(1, 4)))  # 1/2 d_i x d_i'

    def coordinates_of(self, pose: Pose) -> np.ndarray:
        return np.concatenate([pose.position, self.rotation_coordinates(pose.quaternion)])

    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        r = rotations.matrix_from_quaternion(pose.quaternion)
        rate = r @ rotations.hat(pose.angular_velocity_in("body"))
        momentum = (rate @ self.euler_tensor).T.ravel()
        return self.coordinates_of(pose), np.concatenate([self.mass * pose.velocity, momentum])

    def orientation(self, q: np.ndarray) -> np.ndarray:
        return self.rotation_matrix(q)

    def rotation_coordinates(self, quaternion: np.ndarray) -> np.ndarray:
        return rotations.matrix_from_quaternion(quaternion).T.ravel()

    def turning(self, q: np.ndarray) -> np.ndarray:
        r, about = self.rotation_matrix(q), rotations.hat(np.eye(3))
        changes = ([hat @ r for hat in about], [r @ hat for hat in about])
        return tuple(np.concatenate([np.zeros((3, 3)), np.array([c.T.ravel() for c in change]).T])
                     for change in changes)

    def spin_matrix(self, omega: np.ndarray) -> np.ndarray:
        matrix = np.zeros((12, 12))
        matrix[3:, 3:] = np.kron(rotations.hat(omega).T, np.eye(3))  # R' = R hat(omega), column by column
        return matrix

    def rotation_matrix(self, q: Floats) -> np.ndarray:
        q = np.asarray(q)
        return np.swapaxes(q[..., 3:].reshape(*q.shape[:-1], 3, 3), -1, -2)

    def spin(self, q: Floats, p: Floats) -> np.ndarray:
        q, p = np.asarray(q), np.asarray(p)
        return np.cross(q[..., 3:].reshape(*q.shape[:-1], 3, 3), p[..., 3:].reshape(*p.shape[:-1], 3, 3)).sum(axis=-2)


def _spin(q, p):
    """Angular momentum about the centre of mass in space axes, SX (3,)."""
    d, momenta = ca.reshape(q[3:], 3, 3), ca.reshape(p[3:], 3, 3)
    return sum(ca.cross(d[:, i], momenta[:, i]) for i in range(3))
