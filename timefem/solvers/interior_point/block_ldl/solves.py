"""Compiled solves by the factors of `block_ldl_loops`."""

import numpy as np

from ....kernels.lanes import LANES, aligned_zeros, load, store
from ....kernels.loops import compiled
from ....kernels.runs import add_runs, clear_runs, dot_runs
from .loops import clear_few, copy_few, largest_block, most, whole


@compiled(error_model="numpy")
def _divide(d, off, first, n, x):
    """n numbers divided by D."""
    k = 0
    while k < n:
        p = first + k
        if off[p] == 0.0:
            x[k] /= d[p]
            k += 1
            continue
        determinant, one, other = d[p] * d[p + 1] - off[p] * off[p], x[k], x[k + 1]
        x[k] = (d[p + 1] * one - off[p] * other) / determinant
        x[k + 1] = (d[p] * other - off[p] * one) / determinant
        k += 2


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def forward(chain, b, x, ends):
    """First half of a solve, for the right-hand side b: x, in the order of the blocks.

    `ends` becomes what it leaves to the border and to what is held of the last block: `-[C E]^T A^-1 b`.
    """
    starts, held, border, fronts, couplings = chain.starts, chain.held, chain.border, chain.fronts, chain.couplings
    n_blocks, largest, widest = len(held), largest_block(starts), most(held)
    work, own, passed = aligned_zeros(whole(largest + widest + border)), aligned_zeros(whole(largest)), np.zeros(widest)
    at, at_b, before = 0, 0, border
    ends[:] = 0.0
    for e in range(n_blocks):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        stride, full = whole(n), whole(n + m + border)
        for i in range(n):
            store(own, i, load(b, load(chain.unknowns, first + i)))
        if e > 0:
            for k in range(before):
                add_runs(own, 0, passed[k], couplings, at_b + k * stride, stride)
        for i in range(n):
            store(work, i, load(own, load(chain.order, first + i)))
        clear_few(work, n, full - n)
        for j in range(n):
            left = j // LANES * LANES
            add_runs(work, left, -load(work, j), fronts, at + j * full + left, full - left)
        copy_few(x, first, work, 0, n)
        copy_few(passed, 0, work, n, m)
        for k in range(border):
            ends[k] += work[n + m + k]
        at, at_b, before = at + n * full, at_b + whole(before) * stride, m
    for c in range(before):
        ends[border + c] = passed[c]


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def backward(chain, x, ends, out):
    """Second half of a solve, from x of `forward`, with the unknowns of the border and the multipliers of what is held
    of the last block in `ends`; in the order of the matrix."""
    starts, held, border, fronts, couplings = chain.starts, chain.held, chain.border, chain.fronts, chain.couplings
    n_blocks, largest, widest = len(held), largest_block(starts), most(held)
    work, own, passed = aligned_zeros(whole(largest + widest + border)), aligned_zeros(whole(largest)), np.zeros(widest)
    at, at_b = 0, 0
    for e in range(n_blocks):
        n = starts[e + 1] - starts[e]
        at += n * whole(n + held[e] + border)
        at_b += whole(held[e - 1] if e > 0 else border) * whole(n)
    copy_few(passed, 0, ends, border, held[n_blocks - 1])
    for e in range(n_blocks - 1, -1, -1):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        stride, full = whole(n), whole(n + m + border)
        at -= n * full
        clear_runs(own, stride - LANES, LANES)
        copy_few(work, 0, x, first, n)
        _divide(chain.d, chain.off, first, n, work)
        copy_few(work, n, passed, 0, m)
        copy_few(work, n + m, ends, 0, border)
        clear_few(work, n + m + border, full - n - m - border)
        for top in range((n - 1) // LANES * LANES, -1, -LANES):
            below = top + LANES
            for j in range(min(n, below) - 1, top - 1, -1):
                column = at + j * full
                value = load(work, j) - dot_runs(fronts, column + below, work, below, full - below)
                for i in range(j + 1, below):
                    value -= load(fronts, column + i) * load(work, i)
                store(work, j, value)
        for i in range(n):
            store(own, load(chain.order, first + i), load(work, i))
        for i in range(n):
            store(out, load(chain.unknowns, first + i), load(own, i))
        before = held[e - 1] if e > 0 else border
        at_b -= whole(before) * stride
        if e > 0:
            for k in range(before):
                passed[k] = dot_runs(couplings, at_b + k * stride, own, 0, stride)
