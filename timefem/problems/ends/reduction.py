"""Conditions with redundant rows: a point that satisfies them, and the combinations that are independent."""

from dataclasses import dataclass

import numpy as np

from ...validate.records import Options, documented, option

TOLERANCE = 1e-10  # of conditions and constraints at the end, against their size
INDEPENDENT = 1e-8  # smallest singular value of conditions that do not repeat others


@documented
@dataclass(frozen=True)
class SearchOptions(Options):
    """Thresholds of the search for states that satisfy conditions."""

    rounding: float = option(1e-8, "violation where steps that go on halve nothing: rounding of high derivatives")
    steps: int = option(100, "steps at most")
    as_expected: float = option(
        0.75, "share of what a cut step should take away, from which on the next may be longer")
    least_terms: float = option(
        1e-6, "terms of a condition, over the largest component of x / size, that none falls below")


OPTIONS = SearchOptions()


def search(evaluate, x, size, most, finely=False):
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
    finely : bool
        Whether to go on until steps no longer halve what is left, or it is rounding of terms of size one at least.

    Returns
    -------
    x : ndarray, shape (n,)
    violated : (int, float) or None
        The row that stays violated most, and by how much; None when all hold.
    evaluated : tuple
        What `evaluate` gave last: at x, where all hold.
    """
    longer, last, taken, worst = 1.0, np.inf, 1.0, np.inf
    for _ in range(OPTIONS.steps):
        evaluated = values, jacobian, *_ = evaluate(x)
        weight = _weights(jacobian)
        bad = np.abs(values) * weight
        scaled = np.abs(x / size)
        least = scaled.max(initial=1.0) if finely else OPTIONS.least_terms * scaled.max(initial=0.0)
        terms = np.maximum((np.abs(jacobian) @ scaled) * weight, least)
        if finely:
            before, worst = worst, (bad / terms).max(initial=0.0)
            done = worst <= np.finfo(float).eps or before / 2 <= worst <= OPTIONS.rounding
        else:
            done = not np.any(bad > TOLERANCE * terms)
        if done:
            return x, None, evaluated
        if not np.all(np.isfinite(jacobian)):
            break
        left = np.linalg.norm(bad)
        as_expected = left <= (1 - OPTIONS.as_expected * taken) * last
        longer = 1.0 if not as_expected else 2 * longer if taken < 1 else longer
        step = np.linalg.lstsq(jacobian * weight[:, None], values * weight, rcond=INDEPENDENT)[0]
        last, taken = left, min(1.0, longer * most(x) / max(np.abs(step).max(), 1e-300))
        x = x - size * step * taken
    worst = int(np.argmax(np.where(np.isfinite(bad), bad, np.inf)))
    return x, (worst, abs(values[worst])), evaluated


def _weights(jacobian):
    lengths = lengths_of_rows(jacobian)
    return 1 / np.maximum(lengths, 1e-12 * lengths.max(initial=0.0) or 1.0)


def reduced(rows, constraints, tangents, groups):
    """Combinations of conditions that are independent along the motions that the constraints leave open.

    Those are kept that are left singular vectors of the gradients there: group by group, and of the last group what the
    others do not settle already.

    Parameters
    ----------
    rows, constraints : ndarray, shapes (n, n_x), (m, n_x)
        Gradients of the conditions and of the constraints, by the scaled states at the ends, and by numbers.
    tangents : list of ndarray
        Directions of the state at each end that its constraints leave open, columns.
    groups : list of ndarray
        Numbers of conditions.

    Returns
    -------
    combinations : list of ndarray, shapes (n_kept, n_rows)
        Of the conditions of each group.
    along : ndarray, shape (n, n_free)
        Gradients of the conditions, of unit length, in the directions that the constraints leave open.
    """
    lengths = np.maximum(lengths_of_rows(rows), 1e-300)
    along, found = _along(rows / lengths[:, None], constraints, tangents), []
    for group in groups:
        block = along[group]
        if group is groups[-1] and len(group):
            settled = _spanned(along[np.concatenate([*groups[:-1], group[:0]])])
            block = block - (block @ settled.T) @ settled
        found.append(independent_combinations(block) / lengths[group])
    return found, along


def _along(rows, constraints, tangents):
    """Rows in the directions that the constraints leave open: of the states at the ends, then of the numbers."""
    stops = np.cumsum([len(tangent) for tangent in tangents])
    if constraints[:, stops[-1]:].any():  # what they imply for one value of a number only is asked for still
        return rows @ null_space(unit_rows(constraints))
    at_ends = [rows[:, stop - len(tangent):stop] @ tangent for stop, tangent in zip(stops, tangents, strict=True)]
    return np.hstack([*at_ends, rows[:, stops[-1]:]])


def lengths_of_rows(matrix):
    """Their Euclidean norms, shape (n,): as `numpy.linalg.norm`, in a third of its time."""
    return np.sqrt(np.add.reduce(matrix * matrix, axis=1))


def unit_rows(matrix):
    """Rows over their lengths; zeros stay."""
    return matrix / np.maximum(lengths_of_rows(matrix)[:, None], 1e-300)


def null_space(gradients):
    """Orthonormal directions, columns, that none of the rows sees, shape (n, n - rank)."""
    if not len(gradients):
        return np.eye(gradients.shape[1])
    _, s, v = np.linalg.svd(gradients)
    return v[int((s > INDEPENDENT * s.max(initial=0.0)).sum()):].T


def independent_combinations(gradients):
    """Combinations of rows that are independent: left singular vectors, shape (rank, n); the rows if all are."""
    if not len(gradients):
        return np.zeros((0, 0))
    u, s, _ = np.linalg.svd(gradients, full_matrices=False)
    rank, n = int((s > INDEPENDENT).sum()), len(gradients)
    return u[:, :rank].T if rank < n else np.eye(n)


def _spanned(matrix):
    """Orthonormal rows that span the rows of a matrix."""
    if not len(matrix):
        return matrix
    _, s, v = np.linalg.svd(matrix, full_matrices=False)
    return v[:int((s > INDEPENDENT).sum())]
