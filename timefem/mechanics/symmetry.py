"""Rigid motions of space: columns (v, w), shape (6, k), of the velocities `v + w x r` of its points r."""

import numpy as np

__all__ = ["ALL", "NONE", "common", "null_space", "plain_basis", "translations", "turns"]

ALL, NONE = np.eye(6), np.zeros((6, 0))
INDEPENDENT = 1e-9  # of directions of unit length


def translations(directions=ALL[:3, :3]):
    """Along some directions, shape (n, 3) or (3,), all of them by default."""
    directions = np.asarray(directions, float).reshape(-1, 3)
    return np.vstack([directions.T, np.zeros((3, len(directions)))])


def turns(point, axes=ALL[:3, :3]):
    """About axes through a point, shape (n, 3) or (3,), all of them by default."""
    axes = np.asarray(axes, float).reshape(-1, 3)
    return np.vstack([np.cross(point, axes).T, axes.T])


def null_space(a):
    """Orthonormal columns that the rows of a matrix are at right angles to."""
    a = np.atleast_2d(a)
    lengths = np.linalg.norm(a, axis=1, keepdims=True)
    _, s, v = np.linalg.svd(a / np.where(lengths > 0, lengths, 1.0))
    return v[np.count_nonzero(s > INDEPENDENT):].T


def common(spaces):
    """What several spaces of motions have in common, columns; None stands for none."""
    if any(space is None for space in spaces):
        return NONE
    across = [null_space(space.T).T for space in spaces if space.shape[1] < 6]
    return plain_basis(null_space(np.vstack(across))) if across else ALL


def plain_basis(a):
    """The space of some columns by a basis with as many zeros as elimination makes: reduced columns."""
    rows, first = np.array(a, float).T, 0
    for column in range(rows.shape[1]):
        if first == len(rows):
            break
        pivot = first + int(np.argmax(np.abs(rows[first:, column])))
        if np.abs(rows[pivot, column]) <= INDEPENDENT:
            rows[first:, column] = 0.0
            continue
        rows[[first, pivot]] = rows[[pivot, first]]
        rows[first] /= rows[first, column]
        for other in range(len(rows)):
            if other != first:
                rows[other] -= rows[other, column] * rows[first]
        first += 1
    rows = rows[:first]
    rows[np.abs(rows) <= INDEPENDENT] = 0.0
    return rows.T
