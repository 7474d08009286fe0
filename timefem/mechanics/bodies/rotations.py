"""Unit quaternions (scalar first) and rotation matrices, for NumPy arrays with leading batch axes, and in CasADi
symbols.

`R(q) = E(q) G(q)^T` maps body to space (May & Betsch (44), (52)).
"""

from math import sqrt

import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError
from ...memory import Late

ca = Late("casadi")  # most of this is for NumPy

# of a quaternion (a, v): G = (-v, a I - hat(v)), E = (-v, a I + hat(v))
PLACES = np.array([[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
CONVECTIVE = np.array([[-1.0, 1, 1, -1], [-1, -1, 1, 1], [-1, 1, -1, 1]])
SPATIAL = np.array([[-1.0, 1, -1, 1], [-1, 1, 1, -1], [-1, -1, 1, 1]])


def hat(a):
    """Skew-symmetric matrix of the cross product, shape (..., 3) -> (..., 3, 3)."""
    a = np.asarray(a, float)
    out = np.zeros((*a.shape, 3))
    out[..., 0, 1], out[..., 0, 2] = -a[..., 2], a[..., 1]
    out[..., 1, 0], out[..., 1, 2] = a[..., 2], -a[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -a[..., 1], a[..., 0]
    return out


def convective_map(q):
    """G(q), shape (..., 4) -> (..., 3, 4): Omega = 2 G(q) qdot."""
    return np.asarray(q, float).take(PLACES, axis=-1) * CONVECTIVE


def spatial_map(q):
    """E(q), shape (..., 4) -> (..., 3, 4): omega = 2 E(q) qdot."""
    return np.asarray(q, float).take(PLACES, axis=-1) * SPATIAL


def product(a, b):
    """Quaternion product a o b, shapes (..., 4)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    scalar = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(axis=-1)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([scalar[..., None], vector], axis=-1)


def matrix_from_quaternion(q):
    """Rotation matrix of a unit quaternion, shape (..., 4) -> (..., 3, 3)."""
    return spatial_map(q) @ np.swapaxes(convective_map(q), -1, -2)


def quaternion_from_matrix(rotation):
    """Unit quaternion with non-negative scalar part of a rotation matrix of shape (3, 3)."""
    r = np.asarray(rotation, float)
    # rows of 4 q q^T; the largest diagonal entry is the safe divisor
    d = np.array([1 + r[0, 0] + r[1, 1] + r[2, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2],
                  1 - r[0, 0] + r[1, 1] - r[2, 2], 1 - r[0, 0] - r[1, 1] + r[2, 2]])
    v = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    s = r + r.T
    rows = np.array([[d[0], v[0], v[1], v[2]], [v[0], d[1], s[0, 1], s[0, 2]],
                     [v[1], s[0, 1], d[2], s[1, 2]], [v[2], s[0, 2], s[1, 2], d[3]]])
    q = rows[np.argmax(d)]
    q = q / np.linalg.norm(q)
    return -q if q[0] < 0 else q


def as_quaternion(orientation):
    """Unit quaternion of an orientation given as quaternion (4,) or rotation matrix (3, 3).

    Raises
    ------
    InputError
        When the quaternion has not unit length or the matrix is not a rotation (to 1e-8).
    """
    given = orientation if isinstance(orientation, np.ndarray) else np.asarray(orientation, dtype=object)
    if given.shape == (3, 3):
        r = validate.array("orientation", orientation, (3, 3))
        if np.abs(r.T @ r - np.eye(3)).max() > 1e-8 or np.linalg.det(r) < 0:
            raise InputError("orientation: the matrix is not a rotation; R^T R = I and det R = 1 are needed")
        return quaternion_from_matrix(r)
    if given.ndim and given.shape != (4,):
        raise InputError(f"orientation must have shape (4,) or (3, 3), not {given.shape}")
    q = validate.array("orientation", orientation, (4,))
    norm = sqrt(q.dot(q))
    if abs(norm - 1) > 1e-8:
        raise InputError(f"orientation: the quaternion has length {digits(norm, 1)}, but must have length 1; "
                         f"divide it by its length")
    return q / norm


def symbolic_product(a, b):
    """Quaternion product a o b, SX (4,)."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


def exponential(u):
    """exp(0, u), SX (4,): the rotation by the angle 2 |u| about u; smooth at u = 0."""
    square = ca.sumsqr(u)
    small = square < 1e-2  # there the series up to |u|^10 are exact to rounding
    angle = ca.sqrt(ca.if_else(small, 1, square))
    cosine, sine = _series(square, 0), _series(square, 1)
    return ca.vertcat(ca.if_else(small, cosine, ca.cos(angle)), ca.if_else(small, sine, ca.sin(angle) / angle) * u)


def _series(square, first):
    """cos x (first = 0) or sin(x) / x (first = 1) as a polynomial in x^2, by Horner."""
    value = 1
    for n in (10, 8, 6, 4, 2):
        value = 1 - square / ((n + first) * (n + first - 1)) * value
    return value
