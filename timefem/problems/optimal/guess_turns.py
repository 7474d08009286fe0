"""Turns of bodies between two configurations."""

import numpy as np

from ...mechanics.bodies import rotations


def quaternions(body, *coordinates):
    """Unit quaternions of a body at coordinates, of equal signs where its coordinates have none."""
    if hasattr(body, "quaternion"):
        return tuple(map(body.quaternion, coordinates))
    out = [rotations.as_quaternion(body.rotation_matrix(q)) for q in coordinates]
    return tuple(q if q @ out[0] >= 0 else -q for q in out)


def turn(first, last):
    """Axis times angle, in space, of the rotation from one unit quaternion to another."""
    vector, scalar = rotations.spatial_map(first) @ last, first @ last  # last = turn o first
    size = np.linalg.norm(vector)
    return (2 * np.arctan2(size, scalar) / size if size else 0.0) * vector


def turned(quaternion, axis_angle):
    """A unit quaternion after rotations by axis times angle, in space, shape (..., 3)."""
    half = np.linalg.norm(axis_angle, axis=-1, keepdims=True) / 2
    out = np.cos(half) * quaternion + np.sinc(half / np.pi) * axis_angle / 2 @ rotations.spatial_map(quaternion)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)
