"""Rigid motions of space: columns (v, w), shape (6, k), of the velocities `v + w x r` of its points r."""

import numpy as np

__all__ = ["ALL", "NONE", "common", "lever", "null_space", "plain_basis", "translations", "turns"]

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


def lever(spaces):
    """How far from the origin axes of several spaces of motions are, at most; one where none is elsewhere.

    By it translations compare with turns whatever the unit of lengths: (v, w) as (v / lever, w).
    """
    motions = np.hstack([NONE, *(space for space in spaces if space is not None)])
    v, w = (np.linalg.norm(part, axis=0) for part in (motions[:3], motions[3:]))
    return float(np.max(v[w > 0] / w[w > 0], initial=0.0)) or 1.0


def _weights(length):
    return np.repeat([length, 1.0], 3)[:, None]


def common(spaces):
    """What several spaces of motions have in common, columns; None stands for none."""
    if any(space is None for space in spaces):
        return NONE
    length = lever(spaces)
    across = [null_space((space / _weights(length)).T).T for space in spaces if space.shape[1] < 6]
    return plain_basis(_weights(length) * null_space(np.vstack(across)), length) if across else ALL


def plain_basis(a, length=1.0):
    """The space of some columns by a basis with as many zeros as elimination makes: reduced columns.

    Of motions, six rows, `length` is their `lever`: by so much translations alone move, too.
    """
    weights = _weights(length) if len(a) == 6 else np.ones((len(a), 1))
    rows, first = (np.array(a, float) / weights).T, 0
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
    return rows.T * weights
