"""Rigid bodies, with the rotation in unit quaternions or in directors."""

from __future__ import annotations

from typing import Any

from .... import validate
from ....errors import InputError, named_arguments
from ....types import Matrix, Vector
from .base import RigidBodyBase
from .directors import DirectorBody
from .quaternion import QuaternionBody

__all__ = ["DirectorBody", "QuaternionBody", "RigidBody", "RigidBodyBase"]


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
