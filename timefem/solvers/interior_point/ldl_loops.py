"""Compiled loops of `block_ldl`: symmetric indefinite blocks in a chain, eliminated from first to last.

Block e is a front: its symmetric matrix S of order n, and below it one row for each of the last m unknowns, which the
next block is coupled to, with a one there (E^T), and the coupling C^T to the border. Columns are contiguous, of whole
vectors; what stands above the diagonal has no meaning. S is factored in place as P S P^T = L D L^T (Bunch & Kaufman,
Math. Comp. 31 (1977)), with interchanges inside the block only, so that the signs of D count the inertia (Haynsworth).
Columns come in panels of 8, and what is behind a panel takes it as a whole, as LAPACK's `dlasyf` does: the rows below
become `[E C]^T P^T L^-T D^-1`, and their own corner `-[E C]^T S^-1 [E C]`.
"""

import numpy as np

from ...kernels.lanes import LANES, aligned_zeros, clear_lane, find_lane, largest_lane, load, store
from ...kernels.loops import compiled
from ...kernels.record import Record
from ...kernels.runs import add_runs, clear_runs, combine_runs, copy_runs, dot_runs, take_eight_runs

ALPHA = (1 + 17**0.5) / 8  # bounds the growth of entries least


class Chain(Record):
    """Blocks of a matrix, where its entries belong, and its factors.

    Attributes
    ----------
    starts : (n_blocks + 1,) int
        First unknown of each block.
    held : (n_blocks,) int
        How many unknowns of each block, its last ones, are coupled to the next one.
    border : int
        How many unknowns before the first block, which are not eliminated, are coupled to it.
    own, own_sources, own_places : int arrays
        Per block first entry; places of entries in the values, and in the front of their block.
    coupled, coupled_sources, coupled_places : int arrays
        The same of entries of couplings.
    fronts, couplings : ndarray
        Factors; and coupling B^T, (m of the block before, n), both of whole vectors.
    order, d, off : arrays, shape (n,)
        Permutations inside blocks, the diagonal of D and what is beside it (zero for pivots of order 1).
    unknowns : (n,) int
        In the order of the blocks.
    """

    starts: np.ndarray
    held: np.ndarray
    border: int
    own: np.ndarray
    own_sources: np.ndarray
    own_places: np.ndarray
    coupled: np.ndarray
    coupled_sources: np.ndarray
    coupled_places: np.ndarray
    fronts: np.ndarray
    couplings: np.ndarray
    order: np.ndarray
    d: np.ndarray
    off: np.ndarray
    unknowns: np.ndarray


@compiled()
def whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled()
def most(counts):  # what NumPy has for this takes Numba longer to load than all loops here
    largest = 0
    for count in counts:
        largest = max(largest, count)
    return largest


@compiled()
def largest_block(starts):
    largest = 0
    for e in range(len(starts) - 1):
        largest = max(largest, starts[e + 1] - starts[e])
    return largest


@compiled(error_model="numpy")
def _exchange(x, i, j):
    one = load(x, i)
    store(x, i, load(x, j))
    store(x, j, one)


@compiled(error_model="numpy")
def _swap(a, n, stride, at, first, second):
    """Interchange rows and columns `first` < `second` of n rows, and rows of L before."""
    for j in range(first):
        _exchange(a, at + j * stride + first, at + j * stride + second)
    one, other = at + first * stride, at + second * stride
    for i in range(first + 1, second):
        _exchange(a, one + i, at + i * stride + second)
    for i in range(second + 1, n):
        _exchange(a, one + i, other + i)
    _exchange(a, one + first, other + second)


@compiled(error_model="numpy")
def copy_few(target, first, source, start, n):
    """Slices, without the check of their shapes, which takes Numba two seconds to compile."""
    for i in range(n):
        store(target, first + i, load(source, start + i))


@compiled(error_model="numpy")
def clear_few(x, first, n):
    for i in range(first, first + n):
        store(x, i, 0.0)


@compiled(error_model="numpy")
def _largest_of(x, first, n, eligible):
    """The largest magnitude of those that are eligible, and its place, -1 where all are zero."""
    largest, place = 0.0, -1
    for i in range(first, n, LANES):
        found = largest_lane(x, i, eligible, i)
        if found > largest:
            largest, place = found, i
    return largest, place if place < 0 else place + find_lane(x, place, eligible, place, largest)


@compiled(error_model="numpy")
def bunch_kaufman(chain, at, n, n_rows, first, scratch):
    """Factor the front at `at`, n columns of n_rows rows, in place; return how many eigenvalues of S are negative, -1
    where it is singular.

    From place `first` on order, d and off of the chain become what they are. The 8 columns behind those of the front
    are to be finite.
    """
    a, order, d, off, (u, v, eligible, panel) = chain.fronts, chain.order, chain.d, chain.off, scratch
    stride, negative, k = whole(n_rows), 0, 0
    for i in range(n):
        order[first + i] = i
        eligible[i] = 1.0
    clear_runs(v, 0, stride)
    while k < n:
        begin = at + k * stride
        clear_runs(panel, 0, LANES * stride)  # L D
        q = 0
        while k < n and q < LANES - 1:  # a pivot of order 2 has room
            left, column = k // LANES * LANES, at + k * stride
            high = stride - left
            copy_runs(u, left, a, column + left, high)
            take_eight_runs(u, left, high, a, (begin + left, stride), panel, (k, stride))
            clear_lane(eligible, left, k - left)
            pivot = abs(u[k])
            largest, other = _largest_of(u, left, n, eligible)
            if not (max(pivot, largest) > 0 and max(pivot, largest) < np.inf):
                return -1
            two, chosen = False, k
            if pivot < ALPHA * largest:
                copy_runs(v, left, a, at + other * stride + left, high)
                for j in range(k, other):
                    store(v, j, load(a, at + j * stride + other))
                take_eight_runs(v, left, high, a, (begin + left, stride), panel, (other, stride))
                own = v[other]
                clear_lane(v, other // LANES * LANES, other % LANES)
                in_row = max(largest, _largest_of(v, left, n, eligible)[0])
                v[other] = own
                if pivot * in_row < ALPHA * largest * largest:
                    chosen = other
                    two = abs(own) < ALPHA * in_row
            place = k + 1 if two else k
            if chosen != place:
                _swap(a, n_rows, stride, at, place, chosen)
                for j in range(q):
                    _exchange(panel, j * stride + place, j * stride + chosen)
                order[first + place], order[first + chosen] = order[first + chosen], order[first + place]
                _exchange(u, place, chosen)
                _exchange(v, place, chosen)
            if not two:
                if chosen != k:
                    copy_runs(u, left, v, left, high)
                value = u[k]
                d[first + k], off[first + k] = value, 0.0
                negative += value < 0
                combine_runs(a, u, u, (column + left, left, left), high, (1 / value, 0.0))
                clear_few(a, column + left, k + 1 - left)
                copy_runs(panel, q * stride + left, u, left, high)
                k, q = k + 1, q + 1
                continue
            x, y, z = u[k], u[k + 1], v[k + 1]
            determinant = x * z - y * y
            d[first + k], d[first + k + 1], off[first + k], off[first + k + 1] = x, z, y, 0.0
            negative += 1 if determinant < 0 else (2 if x < 0 else 0)
            x, y, z = x / determinant, y / determinant, z / determinant
            combine_runs(a, u, v, (column + left, left, left), high, (z, -y))
            combine_runs(a, u, v, (column + stride + left, left, left), high, (-y, x))
            clear_lane(eligible, (k + 1) // LANES * LANES, (k + 1) % LANES)
            clear_few(a, column + left, k + 2 - left)
            clear_few(a, column + stride + left, k + 2 - left)
            copy_runs(panel, q * stride + left, u, left, high)
            copy_runs(panel, (q + 1) * stride + left, v, left, high)
            k, q = k + 2, q + 2
        for j in range(k, n_rows):
            left = j // LANES * LANES
            take_eight_runs(a, at + j * stride + left, stride - left, a, (begin + left, stride), panel, (j, stride))
    return negative


@compiled(error_model="numpy")
def _take_left(chain, corner, before, at_b, work, at, n, n_rows):
    """Add `B X B^T` to a front and `B X` to its rows of the border, for the corner X of the front before."""
    border, couplings, fronts = chain.border, chain.couplings, chain.fronts
    width, stride, full = whole(before), whole(n), whole(n_rows)
    clear_runs(work, 0, (max(width, before + border)) * stride)
    for k in range(before + border):
        for chunk in range(0, width, LANES):
            take_eight_runs(work, k * stride, stride, couplings, (at_b + chunk * stride, stride), corner,
                            (k * width + chunk, 1))
    for k in range(border):
        for j in range(n):
            fronts[at + j * full + n_rows - border + k] = -work[(before + k) * stride + j]
            work[(before + k) * stride + j] = 0.0
    for j in range(n):
        left = j // LANES * LANES
        for chunk in range(0, width, LANES):
            take_eight_runs(fronts, at + j * full + left, stride - left, couplings,
                            (at_b + chunk * stride + left, stride), work, (chunk * stride + j, stride))


@compiled(error_model="numpy")
def factor(chain, values, ends):
    """Factor all blocks; return the number of negative eigenvalues and the first singular block, -1 without one.

    Parameters
    ----------
    chain : Chain
    values : ndarray
        Entries of the matrix.
    ends : ndarray, shape (border + m, border + m), m of the last block
        Becomes minus the inverse between border and what is held of the last block: `-[C E]^T A^-1 [C E]`.
    """
    starts, held, border, fronts, couplings = chain.starts, chain.held, chain.border, chain.fronts, chain.couplings
    n_blocks = len(held)
    largest, widest = largest_block(starts), max(border, most(held))
    highest = whole(largest + widest + border)
    scratch = (aligned_zeros(highest), aligned_zeros(highest), aligned_zeros(highest), aligned_zeros(LANES * highest))
    work, corner = aligned_zeros(whole(widest + border) * whole(largest)), np.zeros((widest + border) * whole(widest))
    square = np.zeros((border, border))
    negative, at, at_b, before = 0, 0, 0, border
    for e in range(n_blocks):
        first, n, m = starts[e], starts[e + 1] - starts[e], held[e]
        n_rows = n + m + border
        stride, full = whole(n), whole(n_rows)
        clear_runs(fronts, at, (n_rows + LANES) * full)
        for t in range(chain.own[e], chain.own[e + 1]):
            place = at + load(chain.own_places, t)
            store(fronts, place, load(fronts, place) + load(values, load(chain.own_sources, t)))
        for c in range(m):
            fronts[at + (n - m + c) * full + n + c] = 1.0
        clear_runs(couplings, at_b, whole(before) * stride)
        for t in range(chain.coupled[e], chain.coupled[e + 1]):
            place = at_b + load(chain.coupled_places, t)
            store(couplings, place, load(couplings, place) + load(values, load(chain.coupled_sources, t)))
        if e > 0:
            _take_left(chain, corner, before, at_b, work, at, n, n_rows)
            for j in range(border):
                for i in range(j, border):
                    fronts[at + (n + m + j) * full + n + m + i] = square[i, j]
        else:
            for k in range(border):
                for j in range(n):
                    fronts[at + j * full + n + m + k] = couplings[at_b + k * stride + j]
        count = bunch_kaufman(chain, at, n, n_rows, first, scratch)
        if count < 0:
            return negative, e
        negative += count
        clear_few(corner, 0, (m + border) * whole(m))
        for c in range(m):
            column = at + (n + c) * full + n
            for r in range(c, m + border):
                corner[r * whole(m) + c] = fronts[column + r]
            for r in range(c + 1, m):
                corner[c * whole(m) + r] = fronts[column + r]
        for j in range(border):
            for i in range(j, border):
                square[i, j] = fronts[at + (n + m + j) * full + n + m + i]
        at, at_b, before = at + n * full, at_b + whole(before) * stride, m
    for i in range(border):
        for j in range(i + 1):
            ends[i, j] = ends[j, i] = square[i, j]
        for j in range(before):
            ends[i, border + j] = ends[border + j, i] = corner[(before + i) * whole(before) + j]
    for i in range(before):
        for j in range(before):
            ends[border + i, border + j] = corner[i * whole(before) + j]
    return negative, -1


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
