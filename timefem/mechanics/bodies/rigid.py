"""Rigid bodies, with the rotation in unit quaternions or in directors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError, named_arguments
from ...types import Expression, Floats, Matrix, Vector
from ..declared import Choice, Name
from ..numbers.arguments import diagonal, inverse, trace, upper_triangle
from . import rotations
from .rigid_base import RigidBodyBase, turn

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .states import Pose

__all__ = ["DirectorBody", "QuaternionBody", "RigidBody", "RigidBodyBase"]


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


# ---- In unit quaternions

class QuaternionBody(RigidBodyBase):
    """Rigid body in unit quaternions: May & Betsch Sect. 4.2; `q = (position, quaternion)`, scalar first."""

    rotation = "quaternion"
    n_q = 7
    spin_per_momentum = 0.5
    quaternion_place = slice(3, 7)
    constraint_names = ("unit length of the quaternion",)
    momentum_level = True

    name = Name()
    inverse_mass = Choice("how M4^-1 is written off the unit sphere", ("polynomial", "exact"), "polynomial")
    size, shape = RigidBodyBase.size, RigidBodyBase.shape

    def numbers(self, c: Any) -> dict[str, Any]:
        packed = 1 / diagonal(c.inertia) if self._diagonal else upper_triangle(inverse(c.inertia))
        # J0 = tr(J)/2 only fills up the rank of the mass matrix (54)
        return {"mass": [1 / c.mass, 2 / trace(c.inertia)], "inertia": packed}

    @property
    def _trace(self):
        return self.inertia.item(0) + self.inertia.item(4) + self.inertia.item(8)  # in a tenth of NumPy's time

    @property
    def kind(self) -> Hashable:
        return ("quaternion body", self._diagonal, self.inverse_mass)

    @property
    def mass_scale(self) -> np.ndarray:
        """Size of the mass matrix per coordinate, for scaling."""
        return np.array([self.mass] * 3 + [2 * self._trace] * 4)

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        """T = |p_phi|^2/(2m) + 1/8 p.M4^-1 p with M4^-1 = Ql(q) J4^-1 Ql(q)^T, (58) and (70)."""
        w = self.invariant_momentum(q, p)
        if self.inverse_mass == "exact":
            w[3:] /= ca.sumsqr(q[3:])
        return self.kinetic_of_invariant_momentum(w, c)

    def kinetic_of_invariant_momentum(self, w: ca.SX, c: Any) -> Expression:
        turning = c[1] * w[3] ** 2 + ca.bilin(self._inverse_inertia(c), w[4:], w[4:])
        return c[0] * ca.sumsqr(w[:3]) / 2 + turning / 8

    def _inverse_inertia(self, c):
        if self._diagonal:
            return ca.diag(c[2:5])
        return ca.vertcat(ca.horzcat(c[2], c[3], c[4]), ca.horzcat(c[3], c[5], c[6]), ca.horzcat(c[4], c[6], c[7]))

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        """T = m/2 |v|^2 + 1/2 Omega.J Omega, Kinon & Betsch (45): the mass matrix (46) of the quaternion has rank 3."""
        return self.kinetic_of_invariants(self.invariant_velocity(q, v), c)

    def kinetic_of_invariants(self, w: ca.SX, c: Any) -> Expression:
        inverse = self._inverse_inertia(c)
        inertia = ca.diag(1 / c[2:5]) if self._diagonal else ca.inv(inverse)
        return ca.sumsqr(w[:3]) / (2 * c[0]) + ca.bilin(inertia, w[3:], w[3:]) / 2

    def invariant_velocity(self, q: ca.SX, v: ca.SX) -> ca.SX:
        """Velocity of the centre of mass, and Omega = 2 G(q) v."""
        a, b = q[3:], v[3:]
        return ca.vertcat(v[:3], 2 * (a[0] * b[1:] - b[0] * a[1:] - ca.cross(a[1:], b[1:])))

    def invariant_momentum(self, q: ca.SX, p: ca.SX) -> ca.SX:
        """Linear momentum, and Ql(q)^T p, Betsch & Siebert; Kinon & Betsch (145)."""
        a, b = q[3:], p[3:]
        return ca.vertcat(p[:3], ca.dot(a, b), a[0] * b[1:] - b[0] * a[1:] - ca.cross(a[1:], b[1:]))

    def lift(self, s: Symbols) -> ca.SX | None:
        """`(p_x, p.q, Ql(q)^T p)`; of principal inertias with `(q.q, p.p)`, so that a symmetric top keeps its spin."""
        w = self.invariant_momentum(s.q[0], s.p[0])
        return ca.vertcat(w, ca.sumsqr(s.q[0][3:]), ca.sumsqr(s.p[0][3:])) if self._diagonal else w

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        """`Pi.J^-1 Pi / 2`, where two principal inertias are equal with `|Pi|^2 = (|q|^2 |p|^2 - (q.p)^2) / 4` in the
        place of the two components of Pi, which the spin about the third axis turns."""
        if not self._diagonal:
            return self.kinetic_of_invariant_momentum(e, s.own)
        x, y, z = ca.vertsplit(s.own[2:5])
        both = ca.if_else(x == y, x, ca.if_else(y == z, y, ca.if_else(z == x, z, 0)))
        turning = both * (e[7] * e[8] - e[3] ** 2) + ca.dot(s.own[2:5] - both, e[4:7] ** 2)
        return s.own[0] * ca.sumsqr(e[:3]) / 2 + (s.own[1] * e[3] ** 2 + turning) / 8

    def frame_lift(self, q: ca.SX, p: ca.SX) -> ca.SX | None:
        """Position, rotation matrix, linear momentum, and angular momentum in body axes."""
        position, rotation = self.frame(q)
        w = self.invariant_momentum(q, p)
        return ca.vertcat(position, ca.vec(rotation), w[:3], w[4:] / 2)

    def frame_of_lift(self, e: ca.SX, c: ca.SX) -> tuple[ca.SX, ...]:
        rotation = ca.reshape(e[3:12], 3, 3)
        return e[:3], rotation, c[0] * e[12:15], rotation @ ca.skew(self._inverse_inertia(c) @ e[15:])

    def moved(self, q: ca.SX, u: ca.SX) -> ca.SX:
        """q = (x + u_x, turn(u_R) o quaternion): Kinon & Betsch (105) with Rodrigues parameters, which are cheaper."""
        a, v = ca.vertsplit(turn(u[3:]), [0, 1, 4])
        b, w = q[3], q[4:]
        return ca.vertcat(q[:3] + u[:3], a * b - ca.dot(v, w), a * w + b * v + ca.cross(v, w))

    def rotation_rate(self, rotation: ca.SX) -> ca.SX:
        a, v = rotation[0], rotation[1:]
        return ca.vertcat(-v.T, a * ca.SX.eye(3) - ca.skew(v)) / 2  # qdot = 1/2 E(q)^T omega

    def constraints(self, s: Symbols) -> ca.SX:
        return (ca.sumsqr(s.q[0][3:]) - 1) / 2  # (59)

    def velocity_constraints(self, s: Symbols) -> ca.SX:
        return ca.dot(s.q[0][3:], s.p[0][3:])  # q.qdot = 0 times 4 J0; reads q.p in (69)

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        a, v = q[3], q[4:]
        e = ca.horzcat(-v, a * ca.SX.eye(3) + ca.skew(v))
        g = ca.horzcat(-v, a * ca.SX.eye(3) - ca.skew(v))
        return q[:3], e @ g.T

    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        a, v = q[3], q[4:]
        return ca.horzcat(ca.SX(3, 3), -2 * v, 2 * (a * ca.SX.eye(3) + ca.skew(v)))  # omega = 2 E(q) qdot

    def coordinates_of(self, pose: Pose) -> np.ndarray:
        return np.concatenate([pose.position, pose.quaternion])

    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        return self.states(pose.position, pose.quaternion, pose.velocity, pose.angular_velocity_in("body"))

    def states(self, position: np.ndarray, quaternion: np.ndarray, velocity: np.ndarray,
               omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta, of shapes (..., 3), (..., 4), (..., 3) and angular velocities in body axes (..., 3).
        """
        # p = 4 M4 qdot = 2 Ql (0, J Omega)
        turning = 2 * np.einsum("...ab,...a->...b", rotations.convective_map(quaternion), omega @ self.inertia)
        return np.concatenate([position, quaternion], axis=-1), np.concatenate([self.mass * velocity, turning], axis=-1)

    def quaternion(self, q: Floats) -> np.ndarray:
        """Quaternion, scalar first, shape (..., n_q) -> (..., 4)."""
        return np.asarray(q)[..., 3:]

    def orientation(self, q: np.ndarray) -> np.ndarray:
        return self.quaternion(q)

    def rotation_coordinates(self, quaternion: np.ndarray) -> np.ndarray:
        return quaternion

    def turning(self, q: np.ndarray) -> np.ndarray:
        none = np.zeros((3, 3))
        return tuple(np.concatenate([none, m(q[3:]).T / 2]) for m in (rotations.spatial_map, rotations.convective_map))

    def spin_matrix(self, omega: np.ndarray) -> np.ndarray:
        matrix = np.zeros((7, 7))
        matrix[3:, 3:] = np.block([[0, -omega[None]], [omega[:, None], -rotations.hat(omega)]]) / 2  # q o (0, omega)/2
        return matrix

    def rotation_matrix(self, q: Floats) -> np.ndarray:
        return rotations.matrix_from_quaternion(self.quaternion(q))

    def spin(self, q: Floats, p: Floats) -> np.ndarray:
        return np.einsum("...ab,...b->...a", rotations.spatial_map(self.quaternion(q)), np.asarray(p)[..., 3:]) / 2


# ---- Either of them

@named_arguments
def RigidBody(mass: float, inertia: Vector | Matrix, rotation: str = "quaternion", inverse_mass: str = "polynomial",
              name: str | None = None, size: Vector | None = None, shape: Any = "box") -> RigidBodyBase:
    """A rigid body, with its reference frame in the centre of mass.

    Parameters
    ----------
    mass : float
        Mass [kg].
    inertia : array_like, shape (3,) or (3, 3)
        Inertia about the centre of mass in body axes [kg m^2]: principal values, or the symmetric matrix.
    rotation : {"quaternion", "directors"}
        Coordinates of the rotation: a unit quaternion (one internal constraint) or three directors (six).
    inverse_mass : {"polynomial", "exact"}
        Quaternion only: how M4^-1 is written off the unit sphere, `Ql J4^-1 Ql^T` (May & Betsch (70)) or
        that divided by |q|^4. Both agree on unit quaternions; conservation differs (polynomial is the default).
    name : str, optional
        Used in messages and files.
    size : array_like, shape (3,), optional
        Edge lengths in body axes [m] of the box in which plots draw it; it does not enter the motion.
    shape : {"box", "cylinder", "ellipsoid"}
        What plots draw in `size`; a cylinder lies across the two edges that are most alike.

    Returns
    -------
    QuaternionBody or DirectorBody

    Raises
    ------
    InputError
        For a mass that is not positive, or an inertia that is not symmetric, not positive, or violates the
        triangle inequality.
    """
    validate.choice("rotation", rotation, ("quaternion", "directors"))
    if rotation == "quaternion":
        return QuaternionBody(mass, inertia, name, inverse_mass, size, shape)
    if inverse_mass != "polynomial":
        raise InputError("inverse_mass applies to rotation='quaternion'; the mass matrix of directors is constant")
    return DirectorBody(mass, inertia, name, size, shape)
