"""Compiled loops of `block_chain`."""

import numpy as np

from ....kernels.lanes import LANES, load, store, transpose_eight
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned
from ....kernels.runs import add_runs, clear_runs, copy_runs, take_eight_runs


class Blocks(Record):
    """A chain of `BlockChain`.

    Attributes
    ----------
    levels, n_dense, size : int
        Level l of unknown j < n_dense is place l (size / levels) + j of a block; those behind are coupled to the same
        unknown of the next block alone.
    diagonal : ndarray, shape (n, size, size)
    coupling : ndarray, shape (n - 1, levels n_dense, levels n_dense)
        Of the dense unknowns.
    apart : ndarray, shape (n - 1, levels, levels)
        Of each other one to itself.
    """

    levels: int
    n_dense: int
    size: int
    diagonal: np.ndarray
    coupling: np.ndarray
    apart: np.ndarray


def whole(n):
    """A number rounded up to whole vectors."""
    return -(-n // LANES) * LANES


def scratch(size, m):
    """Two blocks of rows `[S K b]`, each of them of whole vectors."""
    n = whole(size) * (2 * whole(size) + whole(m))
    return aligned(n), aligned(n)


@compiled(error_model="numpy", _nrt=False)
def _fill(blocks, i, b, m, work, stride, wide):
    """Rows of block i, its coupling to the next one, and right-hand sides."""
    size = blocks.size
    for r in range(size):
        row = r * stride
        for c in range(size):
            store(work, row + c, blocks.diagonal[i, r, c])
        for c in range(size, stride):
            store(work, row + c, 0.0)
        for c in range(m):
            store(work, row + 2 * wide + c, b[i, r, c])
    clear_runs(work, size * stride, (wide - size) * stride)
    if i + 1 < len(blocks.diagonal):
        _couple(blocks, i, work, stride, wide)


@compiled(error_model="numpy", _nrt=False)
def _couple(blocks, i, work, stride, first):
    """What is not zero of K_(i,i+1), in rows of some stride, from a place in them on."""
    d, n = blocks.n_dense, blocks.size // blocks.levels
    for a in range(blocks.levels):
        for other in range(blocks.levels):
            for j in range(d):
                row = (a * n + j) * stride + first + other * n
                for c in range(d):
                    store(work, row + c, blocks.coupling[i, a * d + j, other * d + c])
            for j in range(d, n):
                store(work, (a * n + j) * stride + first + other * n + j, blocks.apart[i, a, other])


@compiled(error_model="numpy", _nrt=False)
def expand(blocks, i, out):
    """K_(i,i+1), where it is not zero, instead of entries of `out`, shape (size, size)."""
    _couple(blocks, i, out, blocks.size, 0)


@compiled(error_model="numpy", _nrt=False)
def _take_before(work, before, stride, wide, size, n_right):
    """S -= W^T W and b -= W^T y, of the block before."""
    for first in range(0, size, LANES):
        for r in range(first, min(first + LANES, size)):
            for k in range(0, size, LANES):
                factors = k * stride + wide + r, stride
                take_eight_runs(work, r * stride + first, wide - first, before, (k * stride + wide + first, stride),
                                before, factors)
                take_eight_runs(work, r * stride + 2 * wide, n_right, before, (k * stride + 2 * wide, stride), before,
                                factors)


@compiled(error_model="numpy", _nrt=False)
def _eliminate(work, stride, size):
    """Rows become `U [1 W y]` with S = U^T U; the place of the first pivot that is not positive, or -1."""
    for first in range(0, size, LANES):
        width = stride - first
        for r in range(first, min(first + LANES, size)):
            row = r * stride
            for k in range(0, first, LANES):
                take_eight_runs(work, row + first, width, work, (k * stride + first, stride), work,
                                (k * stride + r, stride))
            for k in range(first, r):
                add_runs(work, row + first, -load(work, k * stride + r), work, k * stride + first, width)
            pivot = load(work, row + r)
            if not pivot > 0.0:
                return r
            root = 1.0 / np.sqrt(pivot)
            for c in range(first, stride):
                store(work, row + c, load(work, row + c) * root)
    return -1


@compiled(error_model="numpy", _nrt=False)
def factor(blocks, b, m, last, scratch):
    """Factors `U_i` instead of the diagonal blocks, above the diagonal, and `U^-T b` in that of right-hand sides.

    Returns the block and the place of the first pivot that is not positive, or -1, -1. `last` becomes the last block
    before its own elimination.
    """
    size, n = blocks.size, len(blocks.diagonal)
    wide, n_right = (size + LANES - 1) // LANES * LANES, (m + LANES - 1) // LANES * LANES
    stride = 2 * wide + n_right
    work, before = scratch
    for i in range(n):
        _fill(blocks, i, b, m, work, stride, wide)
        if i > 0:
            _take_before(work, before, stride, wide, size, n_right)
        if i == n - 1:
            for r in range(size):
                for c in range(size):
                    last[r, c] = load(work, r * stride + c)
        failed = _eliminate(work, stride, size)
        if failed >= 0:
            return i, failed
        for r in range(size):
            for c in range(r, size):
                blocks.diagonal[i, r, c] = load(work, r * stride + c)
            for c in range(m):
                b[i, r, c] = load(work, r * stride + 2 * wide + c)
        work, before = before, work
    return -1, -1


@compiled(error_model="numpy", _nrt=False, fastmath={"reassoc", "contract"})
def substitute(blocks, y, m, v):
    """`U^-1 (y_i - U^-T K x_(i+1))` from the last block on, instead of y."""
    size, levels, d, diagonal = blocks.size, blocks.levels, blocks.n_dense, blocks.diagonal
    n = size // levels
    for i in range(len(diagonal) - 1, -1, -1):
        for c in range(m):
            if i < len(diagonal) - 1:
                for a in range(levels):
                    for j in range(n):
                        value = 0.0
                        for other in range(levels):
                            if j < d:
                                for k in range(d):
                                    value += blocks.coupling[i, a * d + j, other * d + k] * y[i + 1, other * n + k, c]
                            else:
                                value += blocks.apart[i, a, other] * y[i + 1, other * n + j, c]
                        v[a * n + j] = value
                for k in range(size):
                    v[k] = value = v[k] / diagonal[i, k, k]
                    for j in range(k + 1, size):
                        v[j] -= value * diagonal[i, k, j]
                for k in range(size):
                    v[k] = y[i, k, c] - v[k]
            else:
                for k in range(size):
                    v[k] = y[i, k, c]
            for k in range(size - 1, -1, -1):
                value = v[k]
                for j in range(k + 1, size):
                    value -= diagonal[i, k, j] * v[j]
                v[k] = value / diagonal[i, k, k]
            for k in range(size):
                y[i, k, c] = v[k]


@compiled(error_model="numpy", _nrt=False)
def _times_coupling(blocks, i, x, out, wide):
    """K_(i,i+1) x, of rows of whole vectors."""
    d, n = blocks.n_dense, blocks.size // blocks.levels
    clear_runs(out, 0, wide * wide)
    for a in range(blocks.levels):
        for other in range(blocks.levels):
            for j in range(d):
                for c in range(d):
                    add_runs(out, (a * n + j) * wide, blocks.coupling[i, a * d + j, other * d + c], x,
                             (other * n + c) * wide, wide)
            for j in range(d, n):
                add_runs(out, (a * n + j) * wide, blocks.apart[i, a, other], x, (other * n + j) * wide, wide)


@compiled(error_model="numpy", _nrt=False)
def _invert(factor, size, wide, v, p):
    """`p = U^-1 U^-T`, of whole rows, by way of `v = U^-T`."""
    clear_runs(v, 0, wide * wide)
    clear_runs(p, 0, wide * wide)
    for r in range(size):
        first, row = r // LANES * LANES, r * wide
        store(v, row + r, 1.0)
        for k in range(first):
            add_runs(v, row, -factor[k, r], v, k * wide, (k // LANES + 1) * LANES)
        for k in range(first, r):
            add_runs(v, row, -factor[k, r], v, k * wide, first + LANES)
        root = 1.0 / factor[r, r]
        for c in range(r + 1):
            store(v, row + c, load(v, row + c) * root)
    for k in range(0, size, LANES):
        for i in range(min(k + LANES, size)):
            take_eight_runs(p, i * wide, k + LANES, v, (k * wide, wide), v, (k * wide + i, wide))
    for i in range(size):
        for c in range(wide):
            store(p, i * wide + c, -load(p, i * wide + c))


@compiled(error_model="numpy", _nrt=False)
def invert_blocks(blocks, z, beside, scratch):
    """Diagonal blocks Z_ii of the inverse, and those (i + 1, i) beside them unless `beside` is empty.

    `scratch` has six arrays for size rows, both rounded up to whole vectors.
    """
    v, p, last, t, x, b = scratch
    size, n = blocks.size, len(blocks.diagonal)
    wide = (size + LANES - 1) // LANES * LANES
    for i in range(n - 1, -1, -1):
        _invert(blocks.diagonal[i], size, wide, v, p)
        if i < n - 1:
            _times_coupling(blocks, i, last, t, wide)  # K Z
            if len(beside) > 0:
                for r in range(size):
                    clear_runs(b, r * wide, wide)
                    for k in range(0, size, LANES):
                        take_eight_runs(b, r * wide, wide, t, (k * wide, wide), p, (r * wide + k, 1))
                    for c in range(size):
                        beside[i, c, r] = load(b, r * wide + c)
            for r in range(0, wide, LANES):
                for c in range(0, wide, LANES):
                    transpose_eight(x, r * wide + c, wide, t, c * wide + r, wide)
            _times_coupling(blocks, i, x, t, wide)  # K Z K^T
            copy_runs(last, 0, p, 0, wide * wide)
            for r in range(size):
                clear_runs(b, 0, wide)
                for k in range(0, size, LANES):
                    take_eight_runs(b, 0, wide, t, (k * wide, wide), p, (r * wide + k, 1))
                first = r // LANES * LANES
                for k in range(0, size, LANES):
                    take_eight_runs(last, r * wide + first, wide - first, p, (k * wide + first, wide), b, (k, 1))
            for r in range(size):
                for c in range(r):
                    store(last, r * wide + c, load(last, c * wide + r))
        else:
            copy_runs(last, 0, p, 0, wide * wide)
        for r in range(size):
            for c in range(size):
                z[i, r, c] = load(last, r * wide + c)
