"""Compiled loops of `block_ldl`: symmetric indefinite blocks in a chain, eliminated from first to last.

Block e holds a dense symmetric matrix S of order n, lower triangle row by row, and its coupling B to the last m
unknowns of block e - 1, column by column. S is factored in place as P S P^T = L D L^T (Bunch & Kaufman, Math. Comp. 31
(1977)), with row interchanges inside the block only, so that the signs of D count the inertia (Haynsworth). Rows are of
whole vectors: what stands above the diagonal of S has no meaning, what stands behind other rows is zero.
"""

import numpy as np

from ...kernels.lanes import LANES, add_lanes
from ...kernels.loops import compiled

ALPHA = (1 + 17**0.5) / 8  # bounds the growth of entries least


@compiled()
def whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled()
def _most(counts):  # what NumPy has for this takes Numba longer to load than all loops here
    most = 0
    for count in counts:
        most = max(most, count)
    return most


@compiled()
def _largest(starts):
    largest = 0
    for e in range(len(starts) - 1):
        largest = max(largest, starts[e + 1] - starts[e])
    return largest


@compiled(error_model="numpy")
def _swap(a, n, stride, at, k, first, second, two):
    """Interchange rows and columns `first` < `second` of what is left from column k on, and rows of L before."""
    row, other = at + first * stride, at + second * stride
    for j in range(k):
        a[row + j], a[other + j] = a[other + j], a[row + j]
    for i in range(second + 1, n):
        p = at + i * stride
        a[p + first], a[p + second] = a[p + second], a[p + first]
    for i in range(first + 1, second):
        p = at + i * stride + first
        a[p], a[other + i] = a[other + i], a[p]
    a[row + first], a[other + second] = a[other + second], a[row + first]
    if two:
        a[row + k], a[other + k] = a[other + k], a[row + k]


@compiled(error_model="numpy")
def _copy(target, first, source, start, n):
    """Slices, without the check of their shapes, which takes Numba two seconds to compile."""
    for i in range(n):
        target[first + i] = source[start + i]


@compiled(error_model="numpy")
def bunch_kaufman(a, at, n, stride, order, d, off, u, v):
    """Factor the block at `at` in place; return the number of negative eigenvalues, -1 where it is singular.

    `order` becomes the permutation, `d` the diagonal of D and `off` what is beside it (zero for pivots of order 1).
    """
    negative, k = 0, 0
    for i in range(n):
        order[i] = i
    u[n:stride], v[n:stride] = 0.0, 0.0
    while k < n:
        pivot, largest, other = abs(a[at + k * stride + k]), 0.0, k
        for i in range(k + 1, n):
            u[i] = a[at + i * stride + k]
            if abs(u[i]) > largest:
                largest, other = abs(u[i]), i
        if not (max(pivot, largest) > 0 and max(pivot, largest) < np.inf):
            return -1
        two, chosen = False, k
        if pivot < ALPHA * largest:
            in_row = 0.0
            for j in range(k, other):
                in_row = max(in_row, abs(a[at + other * stride + j]))
            for i in range(other + 1, n):
                in_row = max(in_row, abs(a[at + i * stride + other]))
            if pivot * in_row < ALPHA * largest * largest:
                chosen = other
                two = abs(a[at + other * stride + other]) < ALPHA * in_row
        place = k + 1 if two else k
        if chosen != place:
            _swap(a, n, stride, at, k, place, chosen, two)
            order[place], order[chosen] = order[chosen], order[place]
        if not two:
            value = a[at + k * stride + k]
            d[k], off[k] = value, 0.0
            negative += value < 0
            left = (k + 1) // LANES * LANES  # from here on in whole vectors
            u[left:k + 1] = 0.0
            for i in range(k + 1, n):
                u[i] = a[at + i * stride + k]
            for i in range(k + 1, n):
                if u[i] != 0.0:
                    factor, row = u[i] / value, at + i * stride
                    for j in range(left, i + 1, LANES):
                        add_lanes(a, row + j, -factor, u, j)
                    a[row + k] = factor
            k += 1
            continue
        x, y, z = a[at + k * stride + k], a[at + (k + 1) * stride + k], a[at + (k + 1) * stride + k + 1]
        determinant = x * z - y * y
        d[k], d[k + 1], off[k], off[k + 1] = x, z, y, 0.0
        negative += 1 if determinant < 0 else (2 if x < 0 else 0)
        a[at + (k + 1) * stride + k] = 0.0
        left = (k + 2) // LANES * LANES
        u[left:k + 2], v[left:k + 2] = 0.0, 0.0
        for i in range(k + 2, n):
            u[i], v[i] = a[at + i * stride + k], a[at + i * stride + k + 1]
        for i in range(k + 2, n):
            if u[i] != 0.0 or v[i] != 0.0:
                first, second = (z * u[i] - y * v[i]) / determinant, (x * v[i] - y * u[i]) / determinant
                row = at + i * stride
                for j in range(left, i + 1, LANES):
                    add_lanes(a, row + j, -first, u, j)
                    add_lanes(a, row + j, -second, v, j)
                a[row + k], a[row + k + 1] = first, second
        k += 2
    return negative


@compiled(error_model="numpy")
def _divide(d, off, n, x, at, stride, count):
    """Rows of x, `stride` apart, each of `count` numbers, divided by D."""
    k = 0
    while k < n:
        p = at + k * stride
        if off[k] == 0.0:
            for c in range(count):
                x[p + c] /= d[k]
            k += 1
            continue
        determinant = d[k] * d[k + 1] - off[k] * off[k]
        for c in range(count):
            first, second = x[p + c], x[p + stride + c]
            x[p + c] = (d[k + 1] * first - off[k] * second) / determinant
            x[p + stride + c] = (d[k] * second - off[k] * first) / determinant
        k += 2


@compiled(error_model="numpy")
def _forward(blocks, at, stride, x, at_x, width, n):
    """Rows of x, each of `width` numbers, whole vectors, multiplied by L^-1."""
    for i in range(n):
        row = at_x + i * width
        for j in range(i):
            weight, source = blocks[at + i * stride + j], at_x + j * width
            if weight != 0.0:
                for c in range(0, width, LANES):
                    add_lanes(x, row + c, -weight, x, source + c)


@compiled(error_model="numpy")
def _product(a, at_a, height, count, b, at_b, width, n, out, at, sign):
    """Add `sign A^T B`, of the first `count` of the `height` columns of A, with rows of `width` numbers of B."""
    for i in range(n):
        for k in range(count):
            weight = sign * a[at_a + i * height + k]
            if weight != 0.0:
                row, source = at + k * width, at_b + i * width
                for c in range(0, width, LANES):
                    add_lanes(out, row + c, weight, b, source + c)


@compiled(error_model="numpy")
def _take_away(reduced, before, couplings, at_b, product, blocks, at, n):
    """Subtract `B R B^T` from a block, of what the block before leaves."""
    stride, width = whole(n), whole(before)
    for k in range(before):
        product[k * stride:(k + 1) * stride] = 0.0
        for j in range(before):
            weight, source = reduced[k * width + j], at_b + j * stride
            if weight != 0.0:
                for i in range(0, stride, LANES):
                    add_lanes(product, k * stride + i, weight, couplings, source + i)
    for i in range(n):
        row = at + i * stride
        for k in range(before):
            weight, source = product[k * stride + i], at_b + k * stride
            if weight != 0.0:
                for j in range(0, i + 1, LANES):
                    add_lanes(blocks, row + j, -weight, couplings, source + j)


@compiled(error_model="numpy")
def factor(starts, held, border, own, coupled, values, blocks, couplings, inverses, spikes, order, d, off, ends):
    """Factor all blocks; return the number of negative eigenvalues and the first singular block, -1 without one.

    Parameters
    ----------
    starts : (n_blocks + 1,) int
        First unknown of each block.
    held : (n_blocks,) int
        How many unknowns of each block, its last ones, are coupled to the next one.
    border : int
        How many unknowns before the first block, which are not eliminated, are coupled to it.
    own, coupled : (starts, sources, places)
        Per block, entries of `values` and their places in its matrix, and in its coupling.
    blocks, couplings, inverses, spikes : ndarray
        Factors; coupling B^T, (m of the block before, n); L^-1 P E, (n, m), with the columns E of held unknowns; and
        the same of the coupling to the border, with fill, (n, border). Rows are of whole vectors.
    ends : ndarray, shape (border + m, border + m), m of the last block
        Becomes minus the inverse between border and what is held of the last block: `-[C E]^T A^-1 [C E]`.
    """
    n_blocks, wide = len(held), whole(border)
    largest, widest = whole(_largest(starts)), whole(max(1, border, _most(held)))
    u, v, product, reduced = np.zeros(largest), np.zeros(largest), np.empty(largest * widest), np.zeros(widest * widest)
    divided, across, square = np.zeros(largest * widest), np.zeros(border * widest), np.zeros(border * wide)
    negative, at, at_b, at_v, at_s, before = 0, 0, 0, 0, 0, border
    for e in range(n_blocks):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        stride, width = whole(n), whole(m)
        blocks[at:at + n * stride] = 0.0
        for t in range(own[0][e], own[0][e + 1]):
            blocks[at + own[2][t]] += values[own[1][t]]
        couplings[at_b:at_b + before * stride] = 0.0
        for t in range(coupled[0][e], coupled[0][e + 1]):
            couplings[at_b + coupled[2][t]] += values[coupled[1][t]]
        if e > 0:
            _take_away(reduced, before, couplings, at_b, product, blocks, at, n)
        count = bunch_kaufman(blocks, at, n, stride, order[first:first + n], d[first:first + n], off[first:first + n],
                              u, v)
        if count < 0:
            return negative, e
        negative += count
        inverses[at_v:at_v + n * width] = 0.0
        for i in range(n):
            c = order[first + i] - (n - m)
            if c >= 0:
                inverses[at_v + i * width + c] = 1.0
        _forward(blocks, at, stride, inverses, at_v, width, n)
        if border > 0:
            spikes[at_s:at_s + n * wide] = 0.0
            for i in range(n):
                row, source = at_s + i * wide, at_b + order[first + i]
                if e == 0:
                    for k in range(border):
                        spikes[row + k] = couplings[source + k * stride]
                else:
                    for k in range(border):
                        value = 0.0
                        for j in range(before):
                            value -= across[k * whole(before) + j] * couplings[source + j * stride]
                        spikes[row + k] = value
            _forward(blocks, at, stride, spikes, at_s, wide, n)
            _copy(divided, 0, spikes, at_s, n * wide)
            _divide(d[first:first + n], off[first:first + n], n, divided, 0, wide, border)
            across[:border * width] = 0.0
            _product(divided, 0, wide, border, spikes, at_s, wide, n, square, 0, -1.0)
            _product(divided, 0, wide, border, inverses, at_v, width, n, across, 0, 1.0)
        _copy(divided, 0, inverses, at_v, n * width)
        _divide(d[first:first + n], off[first:first + n], n, divided, 0, width, m)
        reduced[:m * width] = 0.0
        _product(inverses, at_v, width, m, divided, 0, width, n, reduced, 0, 1.0)
        at, at_b, at_v, at_s, before = at + n * stride, at_b + before * stride, at_v + n * width, at_s + n * wide, m
    width = whole(before)
    for i in range(border):
        for j in range(border):
            ends[i, j] = square[i * wide + j]
        for j in range(before):
            ends[i, border + j] = ends[border + j, i] = -across[i * width + j]
    for i in range(before):
        for j in range(before):
            ends[border + i, border + j] = -reduced[i * width + j]
    return negative, -1


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def forward(starts, held, border, blocks, couplings, inverses, spikes, order, d, off, x, ends):
    """First half of a solve, in place, for the right-hand side x in the order of the blocks.

    `ends` becomes what it leaves to the border and to what is held of the last block: `-[C E]^T A^-1 b`.
    """
    n_blocks, wide = len(held), whole(border)
    largest, widest = _largest(starts), max(1, _most(held))
    work, passed = np.empty(largest), np.zeros(widest)
    at, at_b, at_v, at_s, before = 0, 0, 0, 0, border
    ends[:] = 0.0
    for e in range(n_blocks):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        stride, width = whole(n), whole(m)
        if e > 0:
            for k in range(before):
                weight, source = passed[k], at_b + k * stride
                for i in range(n):
                    x[first + i] -= weight * couplings[source + i]
        for i in range(n):
            value, row = x[first + order[first + i]], at + i * stride
            for j in range(i):
                value -= blocks[row + j] * work[j]
            work[i] = value
        _copy(x, first, work, 0, n)
        _divide(d[first:first + n], off[first:first + n], n, work, 0, 1, 1)
        passed[:m] = 0.0
        for i in range(n):
            for c in range(m):
                passed[c] += inverses[at_v + i * width + c] * work[i]
            for k in range(border):
                ends[k] -= spikes[at_s + i * wide + k] * work[i]
        at, at_b, at_v, at_s, before = at + n * stride, at_b + before * stride, at_v + n * width, at_s + n * wide, m
    for c in range(before):
        ends[border + c] = -passed[c]


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def backward(starts, held, border, blocks, couplings, inverses, spikes, order, d, off, x, ends):
    """Second half of a solve, in place, with the unknowns of the border and the multipliers of what is held of the
    last block in `ends`."""
    n_blocks, wide = len(held), whole(border)
    largest, widest = _largest(starts), max(1, _most(held))
    work, passed = np.empty(largest), np.zeros(widest)
    at, at_b, at_v, at_s = len(blocks), len(couplings), len(inverses), len(spikes)
    _copy(passed, 0, ends, border, held[n_blocks - 1])
    for e in range(n_blocks - 1, -1, -1):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        stride, width = whole(n), whole(m)
        at, at_v, at_s = at - n * stride, at_v - n * width, at_s - n * wide
        for i in range(n):
            value = x[first + i]
            for c in range(m):
                value -= inverses[at_v + i * width + c] * passed[c]
            for k in range(border):
                value -= spikes[at_s + i * wide + k] * ends[k]
            work[i] = value
        _divide(d[first:first + n], off[first:first + n], n, work, 0, 1, 1)
        for i in range(n - 1, -1, -1):
            value, row, vectors = work[i], at + i * stride, i // LANES * LANES
            for j in range(0, vectors, LANES):
                add_lanes(work, j, -value, blocks, row + j)
            for j in range(vectors, i):
                work[j] -= blocks[row + j] * value
        for i in range(n):
            x[first + order[first + i]] = work[i]
        before = held[e - 1] if e > 0 else border
        at_b -= before * stride
        if e > 0:
            for k in range(before):
                value, source = 0.0, at_b + k * stride
                for i in range(n):
                    value += couplings[source + i] * x[first + i]
                passed[k] = value
