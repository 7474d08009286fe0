"""Conditions with redundant rows: a point that holds them, and the combinations that are independent."""

import numpy as np

from .end_state import INDEPENDENT, TOLERANCE

STEPS = 100


def least_norm_search(evaluate, x, size, most):
    """A point near x that satisfies conditions b(x) = 0, by Gauss-Newton steps of least norm.

    Parameters
    ----------
    evaluate : callable
        `evaluate(x)` -> b, its Jacobian by x / size, and whatever else is wanted.
    x, size : ndarray, shape (n,)
        Where the search starts from, and how large its components are.
    most : callable
        `most(x)` -> longest step of a component of x / size.

    Returns
    -------
    x : ndarray, shape (n,)
    violated : (int, float) or None
        The row that stays violated most, and by how much; None when all hold.
    evaluated : tuple
        What `evaluate` gave last: at x, where all hold.
    """
    for _ in range(STEPS):
        evaluated = values, jacobian, *_ = evaluate(x)
        weight = _weights(jacobian)
        bad = np.abs(values) * weight
        if not np.any(bad > TOLERANCE):
            return x, None, evaluated
        if not np.all(np.isfinite(jacobian)):
            break
        step = np.linalg.lstsq(jacobian * weight[:, None], values * weight, rcond=INDEPENDENT)[0]
        x = x - size * step * min(1.0, most(x) / max(np.abs(step).max(), 1e-300))
    worst = int(np.argmax(np.where(np.isfinite(bad), bad, np.inf)))
    return x, (worst, abs(values[worst])), evaluated


def violations(values, jacobian):
    """Of conditions, relative to the lengths of their gradients, shape (n,)."""
    return np.abs(values) * _weights(jacobian)


def _weights(jacobian):
    return 1 / np.maximum(lengths_of_rows(jacobian), 1e-12)


def lengths_of_rows(matrix):
    """Their Euclidean norms, shape (n,): as `numpy.linalg.norm`, in a third of its time."""
    return np.sqrt(np.add.reduce(matrix * matrix, axis=1))


def directions_left(gradients):
    """Orthonormal directions, columns, that none of the rows sees, shape (n, n - rank)."""
    if not len(gradients):
        return np.eye(gradients.shape[1])
    _, s, v = np.linalg.svd(gradients)
    return v[int((s > INDEPENDENT * s.max(initial=0.0)).sum()):].T


def independent_combinations(gradients):
    """Combinations of rows that are independent: left singular vectors, shape (rank, n); the rows if all are."""
    u, s, _ = np.linalg.svd(gradients, full_matrices=False)
    rank, n = int((s > INDEPENDENT).sum()), len(gradients)
    return u[:, :rank].T if rank < n else np.eye(n)


def rows_of(matrix):
    """Orthonormal rows that span the rows of a matrix."""
    if not len(matrix):
        return matrix
    _, s, v = np.linalg.svd(matrix, full_matrices=False)
    return v[:int((s > INDEPENDENT).sum())]
