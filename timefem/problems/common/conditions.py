"""Conditions with redundant rows: a point that holds them, and the combinations that are independent."""

import numpy as np

from .end_state import INDEPENDENT, TOLERANCE

STEPS = 100
AS_EXPECTED = 0.75  # share of what a cut step should take away, from which on the next may be longer
LEAST_TERMS = 1e-6  # terms of a condition, over the largest component of x / size, that none falls below


def least_norm_search(evaluate, x, size, most):
    """A point near x that satisfies conditions b(x) = 0, by Gauss-Newton steps of least norm.

    A condition holds where its violation is small beside its terms, |db/dx| |x|. Steps become twice as long each time
    that one which was cut takes away what it should.

    Parameters
    ----------
    evaluate : callable
        `evaluate(x)` -> b, its Jacobian by x / size, and whatever else is wanted.
    x, size : ndarray, shape (n,)
        Where the search starts from, and how large its components are.
    most : callable
        `most(x)` -> longest step of a component of x / size at first.

    Returns
    -------
    x : ndarray, shape (n,)
    violated : (int, float) or None
        The row that stays violated most, and by how much; None when all hold.
    evaluated : tuple
        What `evaluate` gave last: at x, where all hold.
    """
    longer, last, taken = 1.0, np.inf, 1.0
    for _ in range(STEPS):
        evaluated = values, jacobian, *_ = evaluate(x)
        weight = _weights(jacobian)
        bad = np.abs(values) * weight
        scaled = np.abs(x / size)
        terms = np.maximum((np.abs(jacobian) @ scaled) * weight, LEAST_TERMS * scaled.max(initial=0.0))
        if not np.any(bad > TOLERANCE * terms):
            return x, None, evaluated
        if not np.all(np.isfinite(jacobian)):
            break
        left = np.linalg.norm(bad)
        as_expected = left <= (1 - AS_EXPECTED * taken) * last
        longer = 1.0 if not as_expected else 2 * longer if taken < 1 else longer
        step = np.linalg.lstsq(jacobian * weight[:, None], values * weight, rcond=INDEPENDENT)[0]
        last, taken = left, min(1.0, longer * most(x) / max(np.abs(step).max(), 1e-300))
        x = x - size * step * taken
    worst = int(np.argmax(np.where(np.isfinite(bad), bad, np.inf)))
    return x, (worst, abs(values[worst])), evaluated


def violations(values, jacobian):
    """Of conditions, relative to the lengths of their gradients, shape (n,)."""
    return np.abs(values) * _weights(jacobian)


def _weights(jacobian):
    lengths = lengths_of_rows(jacobian)
    return 1 / np.maximum(lengths, 1e-12 * lengths.max(initial=0.0) or 1.0)


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
