"""Two points at a fixed distance."""

import casadi as ca

from ... import validate
from .joint import Joint, gap


class RigidDistance(Joint):
    """A massless rod between a point of a and a point of b: (|x_b - x_a|^2 - length^2)/2 = 0; invariant.

    Parameters
    ----------
    a : RigidBody or PointMass
    b : RigidBody or PointMass, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        The points [m], from the centre of mass in the axes of each body; in space for the ground. Zero for a point
        mass.
    length : float
        Distance of the points [m]; for distance zero use `Spherical`.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.

    Notes
    -----
    The force of b on a is multiplier times (x_b - x_a): a positive multiplier pulls the points together.
    """

    constraint_names = ("distance",)
    point_mass_dimension = 1

    def __init__(self, a, b=None, *, point_a=(0.0, 0.0, 0.0), point_b=(0.0, 0.0, 0.0), length, name=None):
        super().__init__(a, b, name)
        self.point_a, self.point_b = self._point("a", point_a), self._point("b", point_b)
        self.length = validate.real(f"{self._title}: length", length)
        if self.length <= 0:
            # its gradient vanishes where the points meet
            raise validate.InputError(f"{self._title}: length must be positive, not {self.length:g}; points that "
                                      f"coincide need a Spherical joint")
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, length=self.length)

    def formula(self, a, b, t, c):
        return [(ca.sumsqr(gap(a, b, c.point_a, c.point_b)) - c.length**2) / 2]
