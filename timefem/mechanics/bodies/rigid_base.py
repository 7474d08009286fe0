"""What rigid bodies in any coordinates of the rotation share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, SuspectUnits, warn
from ...types import Floats
from ..declared import Choice, Field, Real, Vector
from ..numbers.arguments import diagonal
from ..part import Body
from ..shapes import SHAPES, Piece

if TYPE_CHECKING:
    from .states import Pose

SAME = 0.3  # of decimal logarithms: boxes, ellipsoids, cylinders and frames of one size are as near


class Inertia(Field):
    """Principal values or a matrix; kept as the matrix."""

    kind_of_value, schema_type = "array_like, shape (3,) or (3, 3)", "inertia"
    given_as, kept_as, varies = "Vector | Matrix", "np.ndarray", True

    def check(self, title, value):
        return _inertia_matrix(value, title)

    def of_symbols(self, value):
        value = super().of_symbols(value)
        return value if value.shape == (3, 3) else diagonal(value)


class Lengths(Vector):
    """Three positive lengths, which do not enter formulas."""

    def __init__(self, help, unit, default, *, optional):
        super().__init__(help, unit, default)
        self.optional = optional

    def check(self, title, value):
        value = super().check(title, value)
        if not np.all(value > 0):
            raise InputError(f"{title}: the edge lengths must be positive, not {digits(value)}")
        return value

    def numbers(self, value):
        return np.zeros(0)

    def schema(self):
        return {"description": "three positive edge lengths [m]", "type": "array",
                "items": {"$ref": "#/$defs/positive"}, "minItems": 3, "maxItems": 3}


class Look(Choice):
    """One of some shapes, which do not enter formulas."""

    def form(self, value):
        return None


class RigidBodyBase(Body, abstract=True):
    """Common to both rotations: `q = (position of the centre of mass, rotation coordinates)`."""

    mass = Real("mass", "kg", above=0)
    inertia = Inertia("about the centre of mass in body axes: principal values, or the symmetric matrix", "kg m^2")
    size = Lengths("edge lengths in body axes of the box in which plots draw it; it does not enter the motion", "m",
                   None, optional=True)
    shape = Look("that plots draw in `size`; a cylinder lies along the edge across which the other two are most alike",
                 tuple(SHAPES), "box")
    has_position = has_orientation = True
    n_increments = 6
    spin_per_momentum = 1.0  # largest angular momentum over the size of the momenta of the rotation

    def _complete(self):
        if self.size is not None:
            self._warn_of_units()

    made_by = "RigidBody"  # whatever turns it

    def _warn_of_units(self):
        """Warn when the inertia is 1000^k times that of a box of this mass and size: of lengths in mm, masses in g."""
        x, y, z = self.size  # by logarithms: squares of small numbers are zero
        of_box = np.log10(self.mass / 12) + 2 * np.log10(np.hypot([y, z, x], [z, x, y]))
        ratio = np.log10(np.diag(self.inertia)) - of_box
        power = 3 * round(float(ratio.mean()) / 3)
        if power and np.abs(ratio - power).max() < SAME:
            warn(f"{self._title}: the inertia is 1e{power:+d} times that of a box of its mass and size; are "
                 "all three in SI units (kg m^2, kg, m)?", SuspectUnits)

    def null_space(self, q: ca.SX) -> ca.SX:
        """Velocities that keep the body rigid: of the centre of mass, and angular, in space axes."""
        return ca.vertcat(ca.horzcat(ca.SX.eye(3), ca.SX(3, 3)),
                          ca.horzcat(ca.SX(self.n_q - 3, 3), self.rotation_rate(q[3:])))

    @abstractmethod
    def rotation_rate(self, rotation: ca.SX) -> ca.SX:
        """Symbolic B, shape (n_q - 3, 3): the rotation coordinates change by B(rotation) omega, omega in space axes."""

    def rigid_motion(self, q: ca.SX) -> ca.SX:
        at_centre = ca.horzcat(ca.SX.eye(3), -ca.skew(q[:3]))
        return self.null_space(q) @ ca.vertcat(at_centre, ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)))

    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]:
        shape = None if self.size is None else SHAPES[self.shape](self.size)
        return [Piece("", shape, self.drawn_size, self.position(q), self.velocity(q, p), self.rotation_matrix(q),
                      self.angular_velocity(q, p, "space"))]

    @property
    def drawn_size(self) -> np.ndarray:
        """Edge lengths in body axes [m], shape (3,): `size`, or of the cuboid with the body's inertia.

        The cuboid has the Euler tensor E = tr(J)/2 - J, so that l_i = sqrt(12 E_ii / m); edges are at least 1 % of the
        longest, to be seen. Products of inertia do not show.
        """
        if self.size is not None:
            return self.size
        euler = np.trace(self.inertia) / 2 - np.diag(self.inertia)
        size = np.sqrt(12 * np.maximum(euler, 0) / self.mass)
        return np.maximum(size, 0.01 * size.max())

    free = ()  # if any, all entries of the inertia are parameters

    def is_shaped_by(self, path: Sequence[Any]) -> bool:
        """Whether its formulas lack a number as long as that is zero: products of inertia of a diagonal one."""
        steps = path[1] if len(path) == 2 else ()
        if path[0] == "inertia" and isinstance(steps, tuple) and len(set(steps)) == 2:
            return self._diagonal
        return super().is_shaped_by(path)

    @cached_property
    def _diagonal(self):
        return not self.free and np.count_nonzero(self.inertia) == np.count_nonzero(self.inertia.diagonal())

    def __repr__(self):
        inertia = np.diag(self.inertia) if self._diagonal else self.inertia
        name = f", name={self.name!r}" if self.name else ""
        return f"RigidBody(mass={self.mass:g}, inertia={inertia.tolist()}, rotation={self.rotation!r}{name})"

    @abstractmethod
    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Symbolic position of the centre of mass (3,) and rotation matrix (3, 3) at coordinates `q`."""

    @abstractmethod
    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        """Symbolic A(q), shape (3, n_q): the angular velocity in space axes is omega = A(q) qdot.

        Its transpose gives the generalized force of a torque m in space axes, Q = A(q)^T m, as Q.qdot = m.omega.
        """

    @abstractmethod
    def coordinates_of(self, pose: Pose) -> np.ndarray:
        """Coordinates of a `Pose`, shape (n_q,)."""

    @abstractmethod
    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta of a `Pose`: two arrays of length n_q."""

    @abstractmethod
    def rotation_matrix(self, q: Floats) -> np.ndarray:
        """Rotation matrix R, body to space, shape (..., n_q) -> (..., 3, 3)."""

    @abstractmethod
    def orientation(self, q: np.ndarray) -> np.ndarray:
        """Orientation as a `Pose` takes it, which gives the same coordinates: quaternion of either sign, or matrix."""

    @abstractmethod
    def rotation_coordinates(self, quaternion: np.ndarray) -> np.ndarray:
        """Coordinates of the rotation of a unit quaternion, shape (n_q - 3,)."""

    @abstractmethod
    def turning(self, q: np.ndarray) -> np.ndarray:
        """Changes of the coordinates by small rotations about axes of space and of the body, two arrays (n_q, 3)."""

    @abstractmethod
    def spin_matrix(self, omega: np.ndarray) -> np.ndarray:
        """W with qdot = W q for the angular velocity omega in body axes, shape (n_q, n_q)."""

    @abstractmethod
    def spin(self, q: Floats, p: Floats) -> np.ndarray:
        """Angular momentum about the centre of mass in space axes, shape (..., 3) [kg m^2/s]."""

    def position(self, q: Floats) -> np.ndarray:
        """Centre of mass, shape (..., n_q) -> (..., 3) [m]."""
        return np.asarray(q)[..., :3]

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Velocity of the centre of mass, shape (..., 3) [m/s]."""
        return np.asarray(p)[..., :3] / self.mass

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Linear momentum, shape (..., 3) [kg m/s]."""
        return np.asarray(p)[..., :3]

    def angular_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Angular momentum about the origin in space axes, shape (..., 3) [kg m^2/s]."""
        return np.cross(self.position(q), self.linear_momentum(q, p)) + self.spin(q, p)

    @cached_property
    def rate_per_momentum(self) -> float:
        """Largest angular velocity of a body whose momenta of rotation have length one [rad/s]."""
        least = self.inertia.diagonal().min() if self._diagonal else np.linalg.eigvalsh(self.inertia)[0]
        return self.spin_per_momentum / least

    def angular_velocity(self, q: Floats, p: Floats, frame: str = "body") -> np.ndarray:
        """Angular velocity [rad/s] in body (convective) or space axes, shape (..., 3)."""
        validate.choice("frame", frame, ("body", "space"))
        r = self.rotation_matrix(q)
        body = np.einsum("ab,...cb,...c->...a", np.linalg.inv(self.inertia), r, self.spin(q, p))
        return body if frame == "body" else np.einsum("...ab,...b->...a", r, body)


def _inertia_matrix(inertia, title="inertia"):
    shape = np.shape(inertia)
    if shape == (3,):
        inertia = np.diag(validate.array(title, inertia, (3,)))
    elif shape == (3, 3):
        inertia = validate.array(title, inertia, (3, 3))
    else:
        raise InputError(f"{title} must have shape (3,) (principal values) or (3, 3), not {shape}")
    size = np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > 1e-12 * size:
        raise InputError(f"{title} must be symmetric")
    inertia = (inertia + inertia.T) / 2
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] <= 0:
        raise InputError(f"{title} must be positive definite, but has the principal value {digits(principal[0])}")
    if principal[2] > principal[0] + principal[1] + 1e-12 * size:
        raise InputError(f"{title} violates the triangle inequality: principal values "
                         f"{digits(principal[0])} + {digits(principal[1])} < {digits(principal[2])}")
    return inertia


def turn(u):
    """Symbolic unit quaternion (4,) of a rotation by the Rodrigues parameters u (3,): angle 2 atan(|u| / 2) about u."""
    return ca.vertcat(1, u / 2) / ca.sqrt(1 + ca.sumsqr(u) / 4)
