"""Mass, centre and inertia of simple solids, and of bodies composed of them."""

from __future__ import annotations

import numpy as np

from ... import validate
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...types import Converted, Matrix, Vector
from .rotations import as_quaternion, matrix_from_quaternion


@frozen(eq=False)
class MassProperties(NamedArguments):
    """Mass, inertia and centre of mass of a rigid body.

    `a + b` is the body composed of both, in their common reference frame. `RigidBody(p.mass, p.inertia)` makes a
    body whose origin is the centre of mass, with axes parallel to the reference frame.

    Parameters
    ----------
    mass : float
        Mass [kg].
    inertia : array_like, shape (3, 3) or (3,)
        Inertia about the centre of mass, in the axes of the reference frame [kg m^2]; three values are its diagonal.
    centre : array_like, shape (3,)
        Centre of mass in the reference frame [m].

    Raises
    ------
    InputError
        For a mass, dimension or density that is not positive, or an inertia that is not a symmetric matrix.
    """

    mass: float
    inertia: Converted[Vector | Matrix, np.ndarray]
    centre: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        object.__setattr__(self, "mass", validate.real("mass", self.mass, positive=True))
        object.__setattr__(self, "centre", validate.array("centre", self.centre, (3,)))
        inertia = np.diag(validate.array("inertia", self.inertia, (3,))) if np.shape(self.inertia) == (3,) \
            else validate.array("inertia", self.inertia, (3, 3))
        if np.abs(inertia - inertia.T).max() > 1e-12 * np.abs(inertia).max():
            raise InputError("inertia must be symmetric")
        object.__setattr__(self, "inertia", inertia)

    @classmethod
    def cuboid(cls, length: float, width: float, height: float, density: float) -> MassProperties:
        """Cuboid; the origin is its centre.

        Parameters
        ----------
        length, width, height : float
            Edges along e1, e2, e3 [m].
        density : float
            [kg/m^3]

        Raises
        ------
        InputError
            For numbers that are not positive.
        """
        l, b, h, rho = _positive(length=length, width=width, height=height, density=density)
        m = rho * l * b * h
        return cls(m, m / 12 * np.array([b**2 + h**2, l**2 + h**2, l**2 + b**2]))

    @classmethod
    def cylinder(cls, radius: float, height: float, density: float) -> MassProperties:
        """Solid cylinder with axis e3; the origin is its centre.

        Parameters
        ----------
        radius, height : float
            [m]
        density : float
            [kg/m^3]

        Raises
        ------
        InputError
            For numbers that are not positive.
        """
        r, h, rho = _positive(radius=radius, height=height, density=density)
        m = rho * np.pi * r**2 * h
        across = m * (3 * r**2 + h**2) / 12
        return cls(m, [across, across, m * r**2 / 2])

    @classmethod
    def cone(cls, radius: float, height: float, density: float) -> MassProperties:
        """Solid circular cone; the origin is its tip, the base lies at +height e3.

        The centre of mass is at 3/4 height e3; about it J1 = J2 = 3/80 m (4 r^2 + h^2), J3 = 3/10 m r^2.

        Parameters
        ----------
        radius, height : float
            [m]
        density : float
            [kg/m^3]

        Raises
        ------
        InputError
            For numbers that are not positive.
        """
        r, h, rho = _positive(radius=radius, height=height, density=density)
        m = rho * np.pi * r**2 * h / 3
        across = 3 * m * (4 * r**2 + h**2) / 80
        return cls(m, [across, across, 3 * m * r**2 / 10], [0, 0, 3 * h / 4])

    @classmethod
    def sphere(cls, radius: float, density: float) -> MassProperties:
        """Solid sphere; the origin is its centre.

        Parameters
        ----------
        radius : float
            [m]
        density : float
            [kg/m^3]

        Raises
        ------
        InputError
            For numbers that are not positive.
        """
        r, rho = _positive(radius=radius, density=density)
        m = 4 * rho * np.pi * r**3 / 3
        return cls(m, np.full(3, 2 * m * r**2 / 5))

    @classmethod
    def rod(cls, length: float, area: float, density: float) -> MassProperties:
        """Thin rod along e3; the origin is its centre.

        The inertia about its own axis is zero, which a RigidBody on its own does not take: use a cylinder or a
        cuboid there; as a piece of a composed body it is fine.

        Parameters
        ----------
        length : float
            [m]
        area : float
            Cross section [m^2].
        density : float
            [kg/m^3]

        Raises
        ------
        InputError
            For numbers that are not positive.
        """
        l, a, rho = _positive(length=length, area=area, density=density)
        m = rho * a * l
        return cls(m, [m * l**2 / 12, m * l**2 / 12, 0.0])

    def about(self, point: Vector) -> np.ndarray:
        """Inertia about a point of the reference frame [m], by the parallel-axis theorem, shape (3, 3) [kg m^2].

        Raises
        ------
        InputError
            For a point that is not three numbers.
        """
        return self.inertia + self.mass * _square(self.centre - validate.array("point", point, (3,)))

    def shifted(self, by: Vector) -> MassProperties:
        """The same solid moved by a vector, shape (3,) [m], in the reference frame.

        The inertia about the centre moves along; `about` gives it about any other point.

        Raises
        ------
        InputError
            For a vector that is not three numbers.
        """
        return MassProperties(self.mass, self.inertia, self.centre + validate.array("by", by, (3,)))

    def rotated(self, rotation: Vector | Matrix) -> MassProperties:
        """The same solid turned about the origin of the reference frame by a rotation matrix or a unit quaternion."""
        r = matrix_from_quaternion(as_quaternion(rotation))
        inertia = r @ self.inertia @ r.T
        return MassProperties(self.mass, (inertia + inertia.T) / 2, r @ self.centre)

    def __add__(self, other: MassProperties) -> MassProperties:
        if not isinstance(other, MassProperties):
            return NotImplemented
        mass = self.mass + other.mass
        centre = (self.mass * self.centre + other.mass * other.centre) / mass
        return MassProperties(mass, self.about(centre) + other.about(centre), centre)


def _square(r):
    """|r|^2 I - r r^T."""
    return r @ r * np.eye(3) - np.outer(r, r)


def _positive(**values):
    return [validate.real(name, value, positive=True) for name, value in values.items()]
