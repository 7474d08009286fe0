"""Turns of bodies between two configurations."""

import numpy as np

from ...mechanics.bodies import rotations
from .options import OPTIONS

X = np.array([1.0, 0.0, 0.0])


def quaternions(body, *coordinates):
    """Unit quaternions of a body at coordinates, of equal signs where its coordinates have none."""
    if hasattr(body, "quaternion"):
        return tuple(map(body.quaternion, coordinates))
    out = [rotations.as_quaternion(body.rotation_matrix(q)) for q in coordinates]
    return tuple(q if q @ out[0] >= 0 else -q for q in out)


def turn(first, last, about=X):
    """Axis times angle, in space, of the rotation from one unit quaternion to another; of a full turn, which no axis
    follows from, about the one given in the axes of the body."""
    vector, scalar = rotations.spatial_map(first) @ last, first @ last  # last = turn o first
    size = np.linalg.norm(vector)
    if size <= OPTIONS.full_turn and scalar < 0:
        return 2 * np.pi * rotations.matrix_from_quaternion(first) @ about
    return (2 * np.arctan2(size, scalar) / size if size else 0.0) * vector


def easiest_axis(body):
    """Axis of the body about which its inertia is least."""
    inertia = getattr(body, "inertia", None)
    return X if inertia is None else np.linalg.eigh(inertia)[1][:, 0]


def turned(quaternion, axis_angle):
    """A unit quaternion after rotations by axis times angle, in space, shape (..., 3)."""
    half = np.linalg.norm(axis_angle, axis=-1, keepdims=True) / 2
    out = np.cos(half) * quaternion + np.sinc(half / np.pi) * axis_angle / 2 @ rotations.spatial_map(quaternion)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def rate_of_turn(axis_angle, rate):
    """Angular velocity, in space, of a turn by axis times angle that change at a rate, shapes (..., 3)."""
    angle = np.linalg.norm(axis_angle, axis=-1, keepdims=True)
    size = np.where(angle > 1e-4, angle, 1.0)  # 1/6 below, to rounding
    across = np.cross(axis_angle, rate)
    return rate + np.sinc(angle / (2 * np.pi))**2 / 2 * across + np.where(
        angle > 1e-4, (size - np.sin(size)) / size**3, 1 / 6) * np.cross(axis_angle, across)


def rate_before(axis_angle, omega):
    """The rate of axis times angle of which an angular velocity comes; least where, near a whole turn, many do."""
    return np.linalg.lstsq(rate_of_turn(axis_angle, np.eye(3)).T, omega, rcond=OPTIONS.singular_turn)[0]
