"""What parts look like, for pictures only: polyhedra fixed in bodies, and lines between points of bodies."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ..types import Matrix, Vector

AROUND = 24  # edges of a circle


class Shape(NamedTuple):
    """A surface of flat faces.

    Attributes
    ----------
    kind : str
        "box", "cylinder", "ellipsoid" or "surface".
    size : ndarray, shape (3,)
        Edge lengths of the box around it [m].
    points : ndarray, shape (n, 3)
        In body axes, from the centre of mass [m].
    faces : tuple of tuple of int
        Numbers of the corners, counterclockwise seen from outside.
    """

    kind: str
    size: np.ndarray
    points: np.ndarray
    faces: tuple

    def placed(self, position: Vector, rotation: Matrix) -> Shape:
        """The same shape, turned by a rotation matrix and moved."""
        return surface(self.points @ np.asarray(rotation, float).T + position, self.faces)


class Piece(NamedTuple):
    """A rigid piece of a body, at n states.

    Attributes
    ----------
    name : str
        Within the body; "" for the body itself.
    shape : Shape or None
        None where nothing is known: its axes are drawn.
    size : ndarray, shape (3,)
        Twice the lengths of the axes [m]; zero for a point.
    position, velocity : ndarray, shape (n, 3)
        Of the origin of its axes [m, m/s].
    rotation : ndarray, shape (n, 3, 3)
        Its axes to space.
    angular_velocity : ndarray, shape (n, 3)
        In space axes [rad/s].
    """

    name: str
    shape: Shape | None
    size: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    rotation: np.ndarray
    angular_velocity: np.ndarray


class Stroke(NamedTuple):
    """A joint, rod, spring, damper or rope through points of bodies.

    Attributes
    ----------
    kind : {"joint", "rod", "spring", "damper", "rope"}
    points : tuple of (Body or None, array_like)
        Points in the axes of bodies, or of the ground [m].
    """

    kind: str
    points: tuple


def box(size):
    """A cuboid about the origin with edge lengths along the axes, shape (3,)."""
    size = np.asarray(size, float)
    points = np.array(list(itertools.product((-1, 1), repeat=3))) * size / 2
    return Shape("box", size, points, ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                                       (1, 5, 7, 3)))


def cylinder(size):
    """A cylinder in the box of these edge lengths, about the axis across which the other two are most alike."""
    size = np.asarray(size, float)
    axis = int(np.argmin([abs(np.log(size[(i + 1) % 3] / size[(i + 2) % 3])) for i in (2, 0, 1)]) + 2) % 3
    angle = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = np.zeros((AROUND, 3))
    ring[:, (axis + 1) % 3], ring[:, (axis + 2) % 3] = np.cos(angle) / 2, np.sin(angle) / 2
    ends = [ring.copy(), ring.copy()]
    ends[0][:, axis], ends[1][:, axis] = -0.5, 0.5
    n = AROUND
    sides = tuple((i, (i + 1) % n, n + (i + 1) % n, n + i) for i in range(n))
    return Shape("cylinder", size, np.concatenate(ends) * size,
                 (tuple(range(n))[::-1], tuple(range(n, 2 * n)), *sides))


def ellipsoid(size):
    """An ellipsoid in the box of these edge lengths; a sphere when they are equal."""
    size, n, rows = np.asarray(size, float), AROUND // 2, AROUND // 4
    height = np.pi * np.arange(1, rows) / rows
    around = 2 * np.pi * np.arange(n) / n
    rings = [np.stack([np.sin(h) * np.cos(around), np.sin(h) * np.sin(around), np.full(n, np.cos(h))], axis=1)
             for h in height]
    points = np.concatenate([[[0, 0, 1]], *rings, [[0, 0, -1]]]) * size / 2
    low, last = 1 + (rows - 2) * n, len(points) - 1
    faces = [(0, 1 + i, 1 + (i + 1) % n) for i in range(n)]
    faces += [(1 + r * n + i, 1 + (r + 1) * n + i, 1 + (r + 1) * n + (i + 1) % n, 1 + r * n + (i + 1) % n)
              for r in range(rows - 2) for i in range(n)]
    faces += [(low + i, last, low + (i + 1) % n) for i in range(n)]
    return Shape("ellipsoid", size, points, tuple(faces))


def surface(points, faces):
    """Any polyhedron: corners, shape (n, 3) [m], and the numbers of them of each face."""
    points = np.asarray(points, float)
    return Shape("surface", np.ptp(points, axis=0), points, tuple(map(tuple, faces)))


def joined(shapes):
    """Several shapes as one."""
    if len(shapes) == 1:
        return shapes[0]
    first = np.cumsum([0, *(len(s.points) for s in shapes)])
    return surface(np.concatenate([s.points for s in shapes]),
                   [tuple(k + int(n) for k in face) for s, n in zip(shapes, first, strict=False) for face in s.faces])


SHAPES = {"box": box, "cylinder": cylinder, "ellipsoid": ellipsoid}
