"""The box by which a rigid body is drawn."""

import itertools

import numpy as np


def box_size(body):
    """Edge lengths (l, b, h) in body axes [m], shape (3,): `size`, or of the cuboid with the body's inertia.

    The cuboid has the Euler tensor E = tr(J)/2 - J, so that l_i = sqrt(12 E_ii / m); edges are at least 1 % of the
    longest, to be seen. Products of inertia do not show.
    """
    if body.size is not None:
        return body.size
    euler = np.trace(body.inertia) / 2 - np.diag(body.inertia)
    size = np.sqrt(12 * np.maximum(euler, 0) / body.mass)
    return np.maximum(size, 0.01 * size.max())


def box_faces(centre, rotation, size):
    """Corners of a box, shape (8, 3), and of its faces, (6, 4, 3)."""
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    corners = centre + (signs * size / 2) @ rotation.T
    return corners, corners[[[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]]]
