"""Rigid bodies, with the rotation in unit quaternions or in directors."""

from abc import abstractmethod

import numpy as np

from .. import validate
from ..errors import InputError
from . import rotations
from .part import Body


def RigidBody(mass, inertia, rotation="quaternion", inverse_mass="polynomial", name=None, size=None):
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
        Edge lengths in body axes [m] of the box that plots draw; it does not enter the motion.

    Returns
    -------
    QuaternionBody or DirectorBody

    Raises
    ------
    InputError
        For a mass that is not positive, or an inertia that is not symmetric, not positive, or violates the
        triangle inequality; with directors also when the Euler tensor is singular.
    """
    validate.choice("rotation", rotation, ("quaternion", "directors"))
    if rotation == "quaternion":
        return QuaternionBody(mass, inertia, name, inverse_mass, size)
    if inverse_mass != "polynomial":
        raise InputError("inverse_mass applies to rotation='quaternion'; the mass matrix of directors is constant")
    return DirectorBody(mass, inertia, name, size)


def _inertia_matrix(inertia):
    shape = np.shape(inertia)
    if shape == (3,):
        inertia = np.diag(validate.array("inertia", inertia, (3,)))
    elif shape == (3, 3):
        inertia = validate.array("inertia", inertia, (3, 3))
    else:
        raise InputError(f"inertia must have shape (3,) (principal values) or (3, 3), not {shape}")
    size = np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > 1e-12 * size:
        raise InputError("inertia must be symmetric")
    inertia = (inertia + inertia.T) / 2
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] <= 0:
        raise InputError(f"inertia must be positive definite, but has the principal value {principal[0]:.6g}")
    if principal[2] > principal[0] + principal[1] + 1e-12 * size:
        raise InputError("inertia violates the triangle inequality: principal values "
                         f"{principal[0]:.6g} + {principal[1]:.6g} < {principal[2]:.6g}")
    return inertia


class RigidBodyBase(Body):
    """Common to both rotations: `q = (position of the centre of mass, rotation coordinates)`."""

    def __init__(self, mass, inertia, name, size):
        self.mass = validate.real("mass", mass, positive=True)
        self.inertia = _inertia_matrix(inertia)
        self.name = name
        self.size = None if size is None else validate.array("size", size, (3,))
        if size is not None and not np.all(self.size > 0):
            raise InputError(f"size: the edge lengths must be positive, not {self.size.tolist()}")

    n_increments = 6

    def null_space(self, q):
        """Velocities that keep the body rigid: of the centre of mass, and angular, in space axes."""
        import casadi as ca

        return ca.vertcat(ca.horzcat(ca.SX.eye(3), ca.SX(3, 3)),
                          ca.horzcat(ca.SX(self.n_q - 3, 3), self.rotation_rate(q[3:])))

    @abstractmethod
    def rotation_rate(self, rotation):
        """Symbolic B, shape (n_q - 3, 3): the rotation coordinates change by B(rotation) omega, omega in space axes."""

    @property
    def _diagonal(self):
        return not np.any(self.inertia - np.diag(np.diag(self.inertia)))

    def __repr__(self):
        inertia = np.diag(self.inertia) if self._diagonal else self.inertia
        name = f", name={self.name!r}" if self.name else ""
        return f"RigidBody(mass={self.mass:g}, inertia={inertia.tolist()}, rotation={self.rotation!r}{name})"

    @abstractmethod
    def frame(self, q):
        """Symbolic position of the centre of mass (3,) and rotation matrix (3, 3) at coordinates `q`."""

    @abstractmethod
    def angular_velocity_map(self, q):
        """Symbolic A(q), shape (3, n_q): the angular velocity in space axes is omega = A(q) qdot.

        Its transpose gives the generalized force of a torque m in space axes, Q = A(q)^T m, as Q.qdot = m.omega.
        """

    @abstractmethod
    def state(self, pose):
        """Coordinates and momenta of a `Pose`: two arrays of length n_q."""

    @abstractmethod
    def rotation_matrix(self, q):
        """Rotation matrix R, body to space, shape (..., n_q) -> (..., 3, 3)."""

    @abstractmethod
    def spin(self, q, p):
        """Angular momentum about the centre of mass in space axes, shape (..., 3) [kg m^2/s]."""

    def position(self, q):
        """Centre of mass, shape (..., n_q) -> (..., 3) [m]."""
        return np.asarray(q)[..., :3]

    def velocity(self, q, p):
        """Velocity of the centre of mass, shape (..., 3) [m/s]."""
        return np.asarray(p)[..., :3] / self.mass

    def linear_momentum(self, q, p):
        """Linear momentum, shape (..., 3) [kg m/s]."""
        return np.asarray(p)[..., :3]

    def angular_momentum(self, q, p):
        """Angular momentum about the origin in space axes, shape (..., 3) [kg m^2/s]."""
        return np.cross(self.position(q), self.linear_momentum(q, p)) + self.spin(q, p)

    def angular_velocity(self, q, p, frame="body"):
        """Angular velocity [rad/s] in body (convective) or space axes, shape (..., 3)."""
        validate.choice("frame", frame, ("body", "space"))
        r = self.rotation_matrix(q)
        body = np.einsum("ab,...cb,...c->...a", np.linalg.inv(self.inertia), r, self.spin(q, p))
        return body if frame == "body" else np.einsum("...ab,...b->...a", r, body)


class QuaternionBody(RigidBodyBase):
    """Rigid body in unit quaternions: May & Betsch Sect. 4.2; `q = (position, quaternion)`, scalar first."""

    rotation = "quaternion"
    n_q = 7
    constraint_names = ("unit length of the quaternion",)

    def __init__(self, mass, inertia, name=None, inverse_mass="polynomial", size=None):
        super().__init__(mass, inertia, name, size)
        self.inverse_mass = validate.choice("inverse_mass", inverse_mass, ("polynomial", "exact"))
        inverse = np.linalg.inv(self.inertia)
        packed = np.diag(inverse) if self._diagonal else inverse[np.triu_indices(3)]
        # J0 = tr(J)/2 only fills up the rank of the mass matrix (54)
        self.own_parameters = np.concatenate([[1 / self.mass, 2 / np.trace(self.inertia)], packed])

    @property
    def kind(self):
        return ("quaternion body", self._diagonal, self.inverse_mass)

    @property
    def mass_scale(self):
        """Size of the mass matrix per coordinate, for scaling."""
        return np.array([self.mass] * 3 + [2 * np.trace(self.inertia)] * 4)

    def kinetic_energy(self, q, p, c):
        """T = |p_phi|^2/(2m) + 1/8 p.M4^-1 p with M4^-1 = Ql(q) J4^-1 Ql(q)^T, (58) and (70)."""
        import casadi as ca

        w = self.invariant_momentum(q, p)
        if self.inverse_mass == "exact":
            w[3:] /= ca.sumsqr(q[3:])
        return self.kinetic_of_invariant_momentum(w, c)

    def kinetic_of_invariant_momentum(self, w, c):
        import casadi as ca

        turning = c[1] * w[3] ** 2 + ca.bilin(self._inverse_inertia(c), w[4:], w[4:])
        return c[0] * ca.sumsqr(w[:3]) / 2 + turning / 8

    def _inverse_inertia(self, c):
        import casadi as ca

        if self._diagonal:
            return ca.diag(c[2:5])
        return ca.vertcat(ca.horzcat(c[2], c[3], c[4]), ca.horzcat(c[3], c[5], c[6]), ca.horzcat(c[4], c[6], c[7]))

    def kinetic_of_velocity(self, q, v, c):
        """T = m/2 |v|^2 + 1/2 Omega.J Omega, Kinon & Betsch (45): the mass matrix (46) of the quaternion has rank 3."""
        return self.kinetic_of_invariants(self.invariant_velocity(q, v), c)

    def kinetic_of_invariants(self, w, c):
        import casadi as ca

        inverse = self._inverse_inertia(c)
        inertia = ca.diag(1 / c[2:5]) if self._diagonal else ca.inv(inverse)
        return ca.sumsqr(w[:3]) / (2 * c[0]) + ca.bilin(inertia, w[3:], w[3:]) / 2

    def invariant_velocity(self, q, v):
        """Velocity of the centre of mass, and Omega = 2 G(q) v."""
        import casadi as ca

        a, b = q[3:], v[3:]
        return ca.vertcat(v[:3], 2 * (a[0] * b[1:] - b[0] * a[1:] - ca.cross(a[1:], b[1:])))

    def invariant_momentum(self, q, p):
        """Linear momentum, and Ql(q)^T p, Betsch & Siebert; Kinon & Betsch (145)."""
        import casadi as ca

        a, b = q[3:], p[3:]
        return ca.vertcat(p[:3], ca.dot(a, b), a[0] * b[1:] - b[0] * a[1:] - ca.cross(a[1:], b[1:]))

    def moved(self, q, u):
        """q = (x + u_x, turn(u_R) o quaternion): Kinon & Betsch (105) with Rodrigues parameters, which are cheaper."""
        import casadi as ca

        a, v = ca.vertsplit(turn(u[3:]), [0, 1, 4])
        b, w = q[3], q[4:]
        return ca.vertcat(q[:3] + u[:3], a * b - ca.dot(v, w), a * w + b * v + ca.cross(v, w))

    def rotation_rate(self, rotation):
        import casadi as ca

        a, v = rotation[0], rotation[1:]
        return ca.vertcat(-v.T, a * ca.SX.eye(3) - ca.skew(v)) / 2  # qdot = 1/2 E(q)^T omega

    def constraints(self, s):
        import casadi as ca

        return (ca.sumsqr(s.q[0][3:]) - 1) / 2  # (59)

    def velocity_constraints(self, s):
        import casadi as ca

        return ca.dot(s.q[0][3:], s.p[0][3:])  # q.qdot = 0 times 4 J0; reads q.p in (69)

    def frame(self, q):
        import casadi as ca

        a, v = q[3], q[4:]
        e = ca.horzcat(-v, a * ca.SX.eye(3) + ca.skew(v))
        g = ca.horzcat(-v, a * ca.SX.eye(3) - ca.skew(v))
        return q[:3], e @ g.T

    def angular_velocity_map(self, q):
        import casadi as ca

        a, v = q[3], q[4:]
        return ca.horzcat(ca.SX(3, 3), -2 * v, 2 * (a * ca.SX.eye(3) + ca.skew(v)))  # omega = 2 E(q) qdot

    def state(self, pose):
        quaternion = pose.quaternion
        spin = self.inertia @ pose.angular_velocity_in("body")
        momentum = 2 * rotations.convective_map(quaternion).T @ spin  # p = 4 M4 qdot = 2 Ql (0, J Omega)
        return np.concatenate([pose.position, quaternion]), np.concatenate([self.mass * pose.velocity, momentum])

    def quaternion(self, q):
        """Quaternion, scalar first, shape (..., n_q) -> (..., 4)."""
        return np.asarray(q)[..., 3:]

    def rotation_matrix(self, q):
        return rotations.matrix_from_quaternion(self.quaternion(q))

    def spin(self, q, p):
        return np.einsum("...ab,...b->...a", rotations.spatial_map(self.quaternion(q)), np.asarray(p)[..., 3:]) / 2


class DirectorBody(RigidBodyBase):
    """Rigid body in directors: May & Betsch Sect. 4.3; `q = (position, d1, d2, d3)`, R = [d1 d2 d3]."""

    rotation = "directors"
    n_q = 12
    constraint_names = ("length of d1", "length of d2", "length of d3", "d1.d2 = 0", "d1.d3 = 0", "d2.d3 = 0")

    def __init__(self, mass, inertia, name=None, size=None):
        super().__init__(mass, inertia, name, size)
        self.euler_tensor = np.trace(self.inertia) / 2 * np.eye(3) - self.inertia
        smallest = np.linalg.eigvalsh(self.euler_tensor)[0]
        if smallest <= 1e-12 * np.trace(self.inertia):
            raise InputError("inertia gives a singular Euler tensor (a plate or rod without thickness), which the "
                             "momenta of directors cannot take; use rotation='quaternion'")
        inverse = np.linalg.inv(self.euler_tensor)
        packed = np.diag(inverse) if self._diagonal else inverse[np.triu_indices(3)]
        self.own_parameters = np.concatenate([[1 / self.mass], packed])

    @property
    def kind(self):
        return ("director body", self._diagonal)

    @property
    def mass_scale(self):
        """Size of the mass matrix per coordinate, for scaling."""
        return np.concatenate([[self.mass] * 3, np.repeat(np.diag(self.euler_tensor), 3)])

    def kinetic_energy(self, q, p, c):
        """T = |p_phi|^2/(2m) + 1/2 E^-1_ij p_i.p_j, the Legendre transform of (62)."""
        return self.kinetic_of_invariant_momentum(p, c)

    def kinetic_of_invariant_momentum(self, w, c):
        import casadi as ca

        d = ca.reshape(w[3:], 3, 3)
        return (c[0] * ca.sumsqr(w[:3]) + ca.trace(self._inverse_euler(c) @ (d.T @ d))) / 2

    def _inverse_euler(self, c):
        import casadi as ca

        if self._diagonal:
            return ca.diag(c[1:4])
        return ca.vertcat(ca.horzcat(c[1], c[2], c[3]), ca.horzcat(c[2], c[4], c[5]), ca.horzcat(c[3], c[5], c[6]))

    def kinetic_of_velocity(self, q, v, c):
        """T = m/2 |v|^2 + 1/2 E_ij d_i'.d_j', (62)."""
        return self.kinetic_of_invariants(v, c)

    def kinetic_of_invariants(self, w, c):
        import casadi as ca

        d = ca.reshape(w[3:], 3, 3)
        euler = ca.diag(1 / c[1:4]) if self._diagonal else ca.inv(self._inverse_euler(c))
        return (ca.sumsqr(w[:3]) / c[0] + ca.trace(euler @ (d.T @ d))) / 2

    def invariant_velocity(self, q, v):
        return v  # the mass matrix is constant

    def invariant_momentum(self, q, p):
        return p

    def moved(self, q, u):
        """Directors turned by `turn(u_R)`."""
        import casadi as ca

        a, v = ca.vertsplit(turn(u[3:]), [0, 1, 4])
        turned = [d + 2 * a * ca.cross(v, d) + 2 * ca.cross(v, ca.cross(v, d)) for d in ca.vertsplit(q[3:], 3)]
        return ca.vertcat(q[:3] + u[:3], *turned)

    def rotation_rate(self, rotation):
        import casadi as ca

        return ca.vertcat(*(-ca.skew(d) for d in ca.vertsplit(rotation, 3)))  # d_i' = omega x d_i

    def constraints(self, s):
        import casadi as ca

        d1, d2, d3 = (s.q[0][3 * i:3 * i + 3] for i in range(1, 4))
        lengths = [(ca.sumsqr(d) - 1) / 2 for d in (d1, d2, d3)]
        return ca.vertcat(*lengths, ca.dot(d1, d2), ca.dot(d1, d3), ca.dot(d2, d3))  # (65)

    def frame(self, q):
        import casadi as ca

        return q[:3], ca.reshape(q[3:], 3, 3)

    def angular_velocity_map(self, q):
        import casadi as ca

        return ca.horzcat(ca.SX(3, 3), *(ca.skew(q[3 * i:3 * i + 3]) / 2 for i in range(1, 4)))  # 1/2 d_i x d_i'

    def state(self, pose):
        r = rotations.matrix_from_quaternion(pose.quaternion)
        rate = r @ rotations.hat(pose.angular_velocity_in("body"))
        momentum = (rate @ self.euler_tensor).T.ravel()
        return np.concatenate([pose.position, r.T.ravel()]), np.concatenate([self.mass * pose.velocity, momentum])

    def rotation_matrix(self, q):
        q = np.asarray(q)
        return np.swapaxes(q[..., 3:].reshape(*q.shape[:-1], 3, 3), -1, -2)

    def spin(self, q, p):
        q, p = np.asarray(q), np.asarray(p)
        return np.cross(q[..., 3:].reshape(*q.shape[:-1], 3, 3), p[..., 3:].reshape(*p.shape[:-1], 3, 3)).sum(axis=-2)



def turn(u):
    """Symbolic unit quaternion (4,) of a rotation by the Rodrigues parameters u (3,): angle 2 atan(|u| / 2) about u."""
    import casadi as ca

    return ca.vertcat(1, u / 2) / ca.sqrt(1 + ca.sumsqr(u) / 4)
