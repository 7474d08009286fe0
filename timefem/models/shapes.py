"""Masses and inertias of shapes, and orientations as files state them."""

import numpy as np

from ..mechanics.bodies import rotations

NO_MASS = "plane", "hfield"


def inertia_of(kind, size):
    """Volume, and inertia about the centre for a mass of one, shape (3,); the long axis is z.

    `size`: radius; radius and half length; half edges or half axes.
    """
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * np.pi * r**3, np.full(3, 0.4 * r**2)
    if kind == "box":
        x, y, z = np.square(size[:3])
        return 8 * np.prod(size[:3]), np.array([y + z, x + z, x + y]) / 3
    if kind == "ellipsoid":
        x, y, z = np.square(size[:3])
        return 4 / 3 * np.pi * np.prod(size[:3]), np.array([y + z, x + z, x + y]) / 5
    r, half = size[:2]
    middle = 2 * np.pi * r**2 * half
    along, across = r**2 / 2, r**2 / 4 + half**2 / 3
    if kind == "cylinder":
        return middle, np.array([across, across, along])
    ends = 4 / 3 * np.pi * r**3  # of a capsule: two half spheres, whose centres are 3/8 r from their planes
    share = ends / (ends + middle)
    of_ends = 0.4 * r**2 + half**2 + 0.75 * half * r
    across, along = (1 - share) * across + share * of_ends, (1 - share) * along + share * 0.4 * r**2
    return ends + middle, np.array([across, across, along])


def shell_of(kind, size):
    """Area of a thin shell, and inertia about the centre for a mass of one, shape (3,); as `inertia_of`."""
    if kind == "sphere":
        r = size[0]
        return 4 * np.pi * r**2, np.full(3, 2 / 3 * r**2)
    if kind == "box":
        areas = 8 * np.prod(size[:3]) / size[:3]  # of the pairs of faces across x, y, z
        squares = areas.sum() * np.square(size[:3]) / 3 + 2 / 3 * areas * np.square(size[:3])  # integrals of x^2, ...
        return areas.sum(), (squares.sum() - squares) / areas.sum()
    r, half = size[:2]
    side, ends = 4 * np.pi * r * half, (4 if kind == "capsule" else 2) * np.pi * r**2
    along, across = side * r**2, side * (r**2 / 2 + half**2 / 3)
    if kind == "cylinder":
        along, across = along + ends * r**2 / 2, across + ends * (r**2 / 4 + half**2)
    else:  # half spheres, whose centres are r/2 from their planes
        along, across = along + ends * 2 / 3 * r**2, across + ends * (2 / 3 * r**2 + half**2 + half * r)
    return side + ends, np.array([across, across, along]) / (side + ends)


def joined(masses):
    """Mass, centre and inertia about it of bodies (mass, centre, inertia about their centres), as a triple."""
    mass = sum(m for m, _, _ in masses)
    centre = sum((m * c for m, c, _ in masses), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, j in masses:
        d = c - centre
        inertia += j + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia


def about(axis, angle):
    """Rotation matrix about an axis, of any length."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return rotations.matrix_from_quaternion(np.append(np.cos(angle / 2), np.sin(angle / 2) * axis))


def from_z(direction):
    """The smallest rotation that brings z to a direction."""
    z, axis = direction / np.linalg.norm(direction), np.array([-direction[1], direction[0], 0.0])
    if np.linalg.norm(axis) < 1e-14 * np.linalg.norm(direction):
        return np.diag([1.0, 1.0, 1.0]) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return about(axis, np.arctan2(np.hypot(z[0], z[1]), z[2]))


def from_euler(angles, sequence):
    """Rotation matrix of Euler angles: x, y, z about moving axes, X, Y, Z about fixed ones."""
    turn = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        one = about(np.eye(3)["xyz".index(letter.lower())], angle)
        turn = turn @ one if letter.islower() else one @ turn
    return turn
