"""Lemke's method for the law of impact with faceted cones of friction: a start for the round ones."""

import numpy as np

from .options import LAW


def faceted(compliance, b, friction, facets, angles=None, work=None):
    """Impulses (3 n,) of the law with polygons of `facets` corners instead of discs, the first corner of each at
    its angle (n,), or at zero; None where Lemke's method ends on a ray, or `work` is done.

    Stewart & Trinkle (1996): unknowns L_N, beta >= 0 (one per direction), lambda >= 0 (speed of sliding).
    """
    n = len(friction)
    rubs = np.flatnonzero(friction > 0)
    m = len(rubs)
    turned = np.zeros(n) if angles is None else angles
    every = 2 * np.pi * np.arange(facets) / facets
    place = np.zeros((3 * n, n + facets * m))
    place[3 * np.arange(n), np.arange(n)] = 1.0
    share = np.zeros((m, facets * m))
    for i, c in enumerate(rubs):
        columns = n + facets * i + np.arange(facets)
        place[3 * c + 1:3 * c + 3, columns] = np.cos(turned[c] + every), np.sin(turned[c] + every)
        share[i, facets * i:facets * (i + 1)] = 1.0
    size = n + facets * m + m
    matrix, q = np.zeros((size, size)), np.zeros(size)
    matrix[:n + facets * m, :n + facets * m] = place.T @ compliance @ place
    matrix[n:n + facets * m, n + facets * m:] = share.T
    matrix[n + facets * m:, n:n + facets * m] = -share
    matrix[n + facets * m + np.arange(m), rubs] = friction[rubs]
    q[:n + facets * m] = place.T @ b
    found = lemke(matrix, q, work)
    return None if found is None else place @ found[:n + facets * m]


def lemke(matrix, q, work=None):
    """z >= 0 with `w = matrix z + q >= 0` and `w.z = 0`, or None; `work`, shape (1,), is how many entries of tables may
    still be changed, and lessened."""
    work = np.full(1, np.inf) if work is None else work
    n = len(q)
    if (q >= 0).all():
        return np.zeros(n)
    # columns: w (n), z (n), the artificial one, right-hand side; w - matrix z - d z0 = q, with d against ties
    cover = 1 + 1e-3 * np.cos(np.arange(n))
    table = np.hstack([np.eye(n), -matrix, -cover[:, None], q[:, None]])
    basis = np.arange(n)
    row = int(np.argmin(q / cover))
    entering = 2 * n
    for _ in range(LAW.pivots * n):
        work -= table.size
        if work[0] < 0:
            return None
        leaving = basis[row]
        table[row] /= table[row, entering]
        others = np.arange(n) != row
        table[others] -= table[others, entering][:, None] * table[row]
        basis[row] = entering
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = table[:, -1]
            return np.maximum(z[n:2 * n], 0.0)
        entering = leaving + n if leaving < n else leaving - n
        column = table[:, entering]
        rows = np.flatnonzero(column > LAW.pivot * np.abs(column).max())
        if not len(rows):
            return None
        ratios = table[rows, -1] / column[rows]
        near = rows[ratios <= ratios.min() + LAW.pivot * (1 + abs(ratios.min()))]
        artificial = near[basis[near] == 2 * n]
        row = int(artificial[0]) if len(artificial) else int(near[np.argmax(column[near])])
    return None
