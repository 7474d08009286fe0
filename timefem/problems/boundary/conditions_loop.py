"""Compiled loops of `BoundaryConditions`: a few small products, whose calls in Python would cost more than they do."""

import numpy as np

from ...kernels.loops import compiled


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def relative_to_terms(values, jacobian, wanted, y, size, out):
    """How far the last rows are from what is wanted, relative to the size of their terms, into `out` (n,).

    Parameters
    ----------
    values, jacobian : array, shapes (n_rows,), (n_rows * n_y,)
        Of constraints and conditions at `y`.
    wanted : array, shape (n,)
    y, size : array, shape (n_y,)
        Unknowns and their sizes.
    """
    n_y, first = y.shape[0], values.shape[0] - wanted.shape[0]
    for i in range(wanted.shape[0]):
        terms, square = 0.0, 0.0
        for j in range(n_y):
            entry = jacobian[(first + i) * n_y + j]
            terms += abs(entry * y[j])
            square += (entry * size[j]) ** 2
        largest = max(terms, np.sqrt(square)) if terms + square >= 0.0 else np.nan
        out[i] = abs(values[first + i] - wanted[i]) / (largest if largest != 0.0 else 1.0)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def step_of_known_rank(values, jacobian, wanted, size, kept, step):
    """A step of Newton's method by the pseudoinverse P of what rows keep of a Jacobian nearby.

    With what they keep of the Jacobian J here it is P (J P)^-1 times their values. Into `step` (n_y,), unless it fails.

    Parameters
    ----------
    values, jacobian, wanted, size
        As of `relative_to_terms`.
    kept : (keep, inverse, rows, matrix), shapes (k, n_rows), (n_y, k), (n_rows, k), (k, k + 1)
        Combinations of rows; P, of unknowns over their sizes; memory.

    Returns
    -------
    change, violation : float
        Square of the Frobenius norm of J P - 1, below 1 where ranks are full; largest value relative to the length of
        its gradient.
    """
    keep, inverse, rows, matrix = kept
    n_rows, n_y, k, violation, change = values.shape[0], size.shape[0], keep.shape[0], 0.0, 0.0
    first = n_rows - wanted.shape[0]
    for r in range(n_rows):
        for b in range(k):
            rows[r, b] = 0.0
        square = 0.0
        for j in range(n_y):
            entry = jacobian[r * n_y + j] * size[j]
            square += entry * entry
            if entry != 0.0:
                for b in range(k):
                    rows[r, b] += entry * inverse[j, b]
        relative = abs(values[r] - (wanted[r - first] if r >= first else 0.0)) / max(np.sqrt(square), 1e-300)
        if not relative <= violation:
            violation = relative
    for a in range(k):
        for b in range(k + 1):
            matrix[a, b] = 0.0
        for r in range(n_rows):
            by = keep[a, r]
            if by != 0.0:
                for b in range(k):
                    matrix[a, b] += by * rows[r, b]
                matrix[a, k] += by * (values[r] - (wanted[r - first] if r >= first else 0.0))
        for b in range(k):
            change += (matrix[a, b] - (1.0 if a == b else 0.0)) ** 2
    if not change < 1.0:
        return change, violation
    for c in range(k):  # the matrix is so near to one that no rows have to change places
        by = 1.0 / matrix[c, c]
        for a in range(k):
            factor = matrix[a, c] * by
            if a != c and factor != 0.0:
                for b in range(c, k + 1):
                    matrix[a, b] -= factor * matrix[c, b]
    for j in range(n_y):
        total = 0.0
        for b in range(k):
            total += inverse[j, b] * matrix[b, k] / matrix[b, b]
        step[j] = size[j] * total
    return change, violation
