"""Compiled loops over frames: null spaces of constraints, what is measured, and steps between frames."""

import numpy as np

from ....kernels.lanes import LANES, load
from ....kernels.loops import compiled
from ....kernels.runs import clear_runs, take_eight_runs

OPTIONS = {"error_model": "numpy", "_nrt": False, "fastmath": {"reassoc", "contract"}}


@compiled(error_model="numpy", _nrt=False)
def spread(lanes, places, out):
    """Values of kernels, shape (n_calls, n_values, 8), to places in rows, shape (m, n); negative ones are left out.
    """
    width = lanes.shape[2]
    for f in range(len(out)):
        call, lane = f // width, f % width
        for k in range(len(places)):
            if places[k] >= 0:
                out[f, places[k]] = lanes[call, k, lane]


@compiled(**OPTIONS)
def _reflect(rows, first, v, k, scale):
    """Reflect rows from `first` on, shape (m, n), by `1 - scale v v^T`, v zero before its entry k."""
    m, n = rows.shape
    for i in range(first, m):
        dot = 0.0
        for j in range(k, n):
            dot += rows[i, j] * v[j]
        dot *= scale
        for j in range(k, n):
            rows[i, j] -= dot * v[j]


@compiled(**OPTIONS)
def null_spaces(rows, q, inverse, pivots, v):
    """By Householder's reflections of the transposes of rows, shape (m, n_rows, n), n_rows < n + 1.

    Parameters
    ----------
    q : ndarray, shape (m, n, n)
        Becomes orthogonal; behind the first n_rows columns is the null space.
    inverse : ndarray, shape (m, n, n_rows)
        Becomes the pseudo-inverse.
    pivots : ndarray, shape (m, n_rows)
        Magnitudes on the diagonal of R; where one is zero the frame is left unfinished.
    v : ndarray, shape (n,)
        Scratch.
    """
    m, n_rows, n = rows.shape
    for f in range(m):
        a, own, out = rows[f], q[f], inverse[f]  # rows of a become reflectors, R^T stands before them
        for i in range(n):
            for j in range(n):
                own[i, j] = 1.0 if i == j else 0.0
        whole = True
        for k in range(n_rows):
            square = 0.0
            for j in range(k, n):
                square += a[k, j] * a[k, j]
            length = np.sqrt(square)
            pivots[f, k] = length
            if not length > 0.0:
                whole = False
                break
            pivot = -length if a[k, k] > 0.0 else length
            for j in range(k, n):
                v[j] = a[k, j]
            v[k] -= pivot
            scale = 1.0 / (length * (length + abs(a[k, k])))  # 2 / |v|^2
            _reflect(a, k + 1, v, k, scale)
            _reflect(own, 0, v, k, scale)
            a[k, k] = pivot
        if whole:  # Q_1 R^-T, by columns from the last one
            for k in range(n_rows - 1, -1, -1):
                for i in range(n):
                    value = own[i, k]
                    for j in range(k + 1, n_rows):
                        value -= out[i, j] * a[j, k]
                    out[i, k] = value / a[k, k]


@compiled(**OPTIONS)
def measured_rows(slopes, whole, shift, places, level, rows, last):
    """Add what a level of states contributes to rows of least squares.

    Parameters
    ----------
    slopes : ndarray, shape (m, n_values, n_q)
    whole, shift : ndarray, shapes (m, levels, n_touched, n_free), (m, n_touched)
        Of the level: see `Tangents`.
    places : (ndarray, ndarray, ndarray)
        Touched coordinates, those apart, and by what slopes of the latter are divided.
    rows : ndarray, shape (m, n, width)
        By open motions, level by level; then, at `last`, the values.
    """
    touched, apart, scale = places
    n_free = whole.shape[3]
    n_open = n_free + len(apart)
    for f in range(len(slopes)):
        for r in range(slopes.shape[1]):
            row = rows[f, r]
            for j in range(len(touched)):
                slope = slopes[f, r, touched[j]]
                if slope != 0.0:
                    row[last] += slope * shift[f, j]
                    for k in range(level + 1):
                        for c in range(n_free):
                            row[k * n_open + c] += slope * whole[f, k, j, c]
            for j in range(len(apart)):
                row[level * n_open + n_free + j] = slopes[f, r, apart[j]] / scale[j]


@compiled(error_model="numpy", _nrt=False)
def _squares(rows, at, n, shape, out):
    """Minus the products of the first n columns of a matrix of some shape, in whole vectors, with all of them, from the
    diagonal on."""
    n_rows, width = shape
    clear_runs(out, 0, n * width)
    for r in range(0, n_rows, LANES):
        for i in range(n):
            first = i // LANES * LANES
            take_eight_runs(out, i * width + first, width - first, rows, (at + r * width + first, width), rows,
                            (at + r * width + i, width))


@compiled(error_model="numpy", _nrt=False)
def add_squares(rows, shape, n, first, diagonal, gradient, out):
    """Add rows^T rows, above the diagonal, and rows^T values to matrices and gradients of frames.

    Parameters
    ----------
    rows : ndarray, shape (m n_rows width,)
        Matrices of a `shape` (n_rows, width) in whole vectors, values in column n.
    n : int
    first : ndarray of int, shape (m,)
        Frames.
    diagonal, gradient : ndarray, shapes (n_frames, size, size), (n_frames, size)
    out : ndarray, shape (n width,)
        Scratch.
    """
    n_rows, width = shape
    for f in range(len(first)):
        _squares(rows, f * n_rows * width, n, shape, out)
        own, pull = diagonal[first[f]], gradient[first[f]]
        for i in range(n):
            pull[i] -= load(out, i * width + n)
            for j in range(i, n):
                own[i, j] -= load(out, i * width + j)


@compiled(**OPTIONS)
def _turned(u, own, x, y, turn):
    """`X (15 - 10 Y + 3 Y^2) / 8`, X = u^T own, Y = X^T X; u and own of shape (n, d)."""
    n, d = own.shape
    for i in range(d):
        for j in range(d):
            x[i, j] = y[i, j] = 0.0
    for k in range(n):
        for i in range(d):
            factor = u[k, i]
            for j in range(d):
                x[i, j] += factor * own[k, j]
    for k in range(d):
        for i in range(d):
            factor = x[k, i]
            for j in range(d):
                y[i, j] += factor * x[k, j]
    for i in range(d):  # turn = 15 - 10 Y + 3 Y^2
        for j in range(d):
            turn[i, j] = (15.0 if i == j else 0.0) - 10.0 * y[i, j]
        for k in range(d):
            factor = 3.0 * y[i, k]
            for j in range(d):
                turn[i, j] += factor * y[k, j]
    for i in range(d):
        for j in range(d):
            y[i, j], turn[i, j] = turn[i, j], 0.0
    for i in range(d):
        for k in range(d):
            factor = x[i, k] / 8.0
            for j in range(d):
                turn[i, j] += factor * y[k, j]


@compiled(**OPTIONS)
def compared(ends, middle, turns, rows, scratch):
    """What compares increments and rates of steps: see `steps`.

    Parameters
    ----------
    ends : ndarray, shape (m + 1, n, d)
        U of the frames.
    middle : ndarray, shape (m, n, d)
        U between them.
    turns : ndarray, shape (2, m, d, d)
        Becomes R of the frames before and behind.
    rows : ndarray, shape (m, d, n)
        Becomes the rows that compare increments.
    scratch : ndarray, shape (2, d, d)
    """
    m, n, d = middle.shape
    for f in range(m):
        u = middle[f]
        for i in range(d):
            for k in range(n):
                rows[f, i, k] = 4.0 / 3.0 * u[k, i]
        for end in range(2):
            own, turn = ends[f + end], turns[end, f]
            _turned(u, own, scratch[0], scratch[1], turn)
            for k in range(n):
                for i in range(d):
                    value = 0.0
                    for j in range(d):
                        value += turn[i, j] * own[k, j]
                    rows[f, i, k] -= value / 6.0


@compiled(**OPTIONS)
def add_steps(stacked, shape, deviation, weights, blocks, gradients, scratch):
    """Normal equations of the steps of a piece.

    Parameters
    ----------
    stacked : ndarray, shape (m n_rows width,)
        Matrices of a `shape` (n_rows, width) in whole vectors, of which (d, 4 d) turn open motions of the frame before,
        of position and rates, and of that behind into deviations.
    deviation : ndarray, shape (m, levels, d)
    weights : tuple of ndarray, shape (m, levels, levels)
        `before`, `after`, `coupled` and `ahead` of `Steps`.
    blocks : (diagonal, coupling)
        Of the frames of the piece and the one behind, and between them, shapes (m + 1, size, size), (m, levels d,
        levels d); open motions of a level are the first d of size / levels.
    gradients : ndarray, shape (m + 1, size)
    scratch : ndarray, shapes (4 d width,), (levels, d), (levels, d)
    """
    before, after, coupled, ahead = weights
    diagonal, coupling = blocks
    gram, weighted, pulled = scratch
    m, p, d = deviation.shape
    n_rows, width = shape
    n = diagonal.shape[1] // p
    for f in range(m):
        at = f * n_rows * width
        _squares(stacked, at, 4 * d, shape, gram)
        for i in range(p):
            for c in range(d):
                value = 0.0
                for j in range(p):
                    value += after[f, i, j] * deviation[f, j, c]
                weighted[i, c] = value
        for i in range(p):
            for c in range(d):
                value = 0.0
                for j in range(p):
                    value += ahead[f, j, i] * weighted[j, c]
                pulled[i, c] = value
        for i in range(p):
            one = min(i, 1) * d
            for c in range(d):
                row = at + c * width + one
                for j in range(d):
                    gradients[f, i * n + j] -= pulled[i, c] * load(stacked, row + j)
                    gradients[f + 1, i * n + j] += weighted[i, c] * load(stacked, row + 2 * d + j)
            for k in range(p):
                other, weight = min(k, 1) * d, coupled[f, i, k]
                for c in range(d):
                    row = (one + c) * width + 2 * d + other
                    for j in range(d):
                        coupling[f, i * d + c, k * d + j] = -weight * load(gram, row + j)
            for k in range(i, p):
                other, own, next_one = min(k, 1) * d, before[f, i, k], after[f, i, k]
                for c in range(d):
                    row = (one + c) * width + other
                    behind = (2 * d + one + c) * width + 2 * d + other
                    for j in range(c if k == i else 0, d):
                        if other > one or j >= c:
                            a, b = load(gram, row + j), load(gram, behind + j)
                        else:
                            a = load(gram, (one + j) * width + other + c)
                            b = load(gram, (2 * d + one + j) * width + 2 * d + other + c)
                        diagonal[f, i * n + c, k * n + j] -= own * a
                        diagonal[f + 1, i * n + c, k * n + j] -= next_one * b
