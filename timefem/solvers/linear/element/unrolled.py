"""LU of the tangent of a small element, written out as two kernels: no loops, no search, no zeros.

As elements become short, their tangent becomes that of the rates alone, whose entries are known: rows with such a pivot
are eliminated by it, in the order of least work. What is left, of two unknowns at most, is inverted by its determinant.
A matrix whose pivots are far from those of short elements is for `fronts`.
"""

import functools

import casadi as ca
import numpy as np

from ....kernels import cached_kernel
from ....kernels.lanes import call_kernel
from ....kernels.loops import compiled
from ....kernels.record import Record
from ....kernels.store import digest, sources, store


class Unrolled(Record):
    """Addresses of the kernels, 0 where there are none; the unknowns and entries of the matrix."""

    factor: int
    solve: int
    n: int
    n_entries: int
    targets: np.ndarray  # place of each entry in the matrix of the `Fronts`


NOT_UNROLLED = Unrolled(0, 0, 0, 0, np.zeros(0, np.int64)), 0, ()


def unrolled(rows, columns, limits, targets, most=300):
    """The `Unrolled` of a square matrix, the number of its factors, and what holds the kernels.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (nnz,)
    limits : ndarray, shape (nnz,)
        Entries in short elements, zero for those that vanish there.
    targets : ndarray of int, shape (nnz,)
    most : int
        Entries: the code for more leaves the nearest cache, and fronts are as fast.
    """
    n, n_entries = int(rows.max(initial=-1)) + 1, len(rows)
    if not 0 < n_entries <= most:
        return NOT_UNROLLED
    name = digest("unrolled", rows.tobytes(), columns.tobytes(), limits.tobytes(), sources(
        "solvers/linear/element/unrolled.py"))

    @functools.cache
    def steps():
        return _order(rows, columns, limits, n)

    known = store().read(name)
    n_factors = int(known) if known else _count(steps())
    if not known:
        store().write(name, str(n_factors).encode())
    if not n_factors:
        return NOT_UNROLLED
    whole = n + n_entries + n_factors
    kernels = [cached_kernel((name, what), lambda number=number: _functions(rows, columns, limits, steps(), n)[number],
                             (digest(name, what), *sizes))
               for number, (what, sizes) in enumerate((("factor", (n_entries, n_factors)), ("solve", (whole, n))))]
    if any(kernel.backend != "llvm" for kernel in kernels):
        return NOT_UNROLLED
    return Unrolled(*(kernel.address for kernel in kernels), n, n_entries, targets.astype(np.int64)), n_factors, kernels


def _order(rows, columns, limits, n):
    """Pivots, list of (row, column, rows below, columns to the right), and the rows and columns that are left; None
    where these are too many."""
    there, short = np.zeros((n, n), bool), np.zeros((n, n))
    there[rows, columns], short[rows, columns] = True, limits
    rows_left, columns_left, steps = np.ones(n, bool), np.ones(n, bool), []
    while True:
        size = np.abs(short) * rows_left[:, None] * columns_left
        good = (size > 0.1 * size.max(axis=0, initial=0.0)) & (size > 0)
        if not good.any():
            break
        work = np.where(good, (there.sum(axis=0) - 1) * (there.sum(axis=1)[:, None] - 1), n * n)
        i, j = np.unravel_index(np.argmin(work), work.shape)
        below, right = (np.flatnonzero(line) for line in (there[:, j], there[i]))
        below, right = below[below != i], right[right != j]
        steps.append((int(i), int(j), below.tolist(), right.tolist()))
        there[np.ix_(below, right)] = True
        short[below] -= np.outer(short[below, j] / short[i, j], short[i])
        short[np.abs(short) < 1e-9] = 0.0  # rounding: rates come with weights of the order of one
        rows_left[i] = columns_left[j] = False
        there[i], there[:, j] = False, False
    rest = np.flatnonzero(rows_left).tolist(), np.flatnonzero(columns_left).tolist()
    return None if len(rest[0]) > 2 else (steps, *rest)


def _count(steps):
    """Number of factors by the steps of `_order`, 0 without any."""
    return 0 if steps is None else 1 + sum(1 + len(below) + len(right) for *_, below, right in steps[0]) + len(
        steps[1]) ** 2


def _functions(rows, columns, limits, steps, n):
    """The two functions: entries -> [how far pivots are off, factors], and [right-hand side, entries, factors] -> the
    solution."""
    steps, rows_left, columns_left = steps
    given, right_side = ca.SX.sym("a", len(rows)), ca.SX.sym("r", n)
    a = dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), ca.vertsplit(given), strict=True))
    short = np.zeros((n, n))
    short[rows, columns] = limits
    far, factors = ca.SX(0), []
    for i, j, below, right in steps:
        inverse, wanted = 1 / a[i, j], short[i, j]
        far += (a[i, j] / wanted - 1) ** 2
        multipliers = [a[r, j] * inverse for r in below]
        for r, multiplier in zip(below, multipliers, strict=True):
            for c in right:
                product = multiplier * a[i, c]
                a[r, c] = a[r, c] - product if (r, c) in a else -product
        short[below] -= np.outer(short[below, j] / wanted, short[i])
        factors += [inverse, *multipliers, *(a[i, c] for c in right)]
    rest = [[a.get((r, c), ca.SX(0)) for c in columns_left] for r in rows_left]
    if len(rest) == 1:
        factors.append(1 / rest[0][0])
        far += 0 * factors[-1] * factors[-1]
    elif rest:
        (p, q), (r, s) = rest
        determinant = p * s - q * r
        inverse = 1 / determinant
        factors += [s * inverse, -q * inverse, -r * inverse, p * inverse]
        far += 1e-20 * ((p * s) ** 2 + (q * r) ** 2) * inverse ** 2
    factor = ca.Function("factor", [given], [ca.densify(ca.vertcat(far, *factors))])
    symbols = ca.SX.sym("f", 1 + len(factors))
    at, y, x, back = 1, ca.vertsplit(right_side), [None] * n, []
    for i, j, below, right in steps:
        inverse, at = symbols[at], at + 1
        for r in below:
            y[r], at = y[r] - symbols[at] * y[i], at + 1
        back.append((i, j, inverse, [(c, symbols[at + k]) for k, c in enumerate(right)]))
        at += len(right)
    m = len(rows_left)
    for k, c in enumerate(columns_left):
        x[c] = sum(symbols[at + m * k + k2] * y[r] for k2, r in enumerate(rows_left))
    for i, j, inverse, right in reversed(back):
        value = y[i]
        for c, u in right:
            value -= u * x[c]
        x[j] = inverse * value
    solve = ca.Function("solve", [ca.vertcat(right_side, given, symbols)], [ca.densify(ca.vertcat(*x))])
    return factor, solve


@compiled(error_model="numpy", _nrt=False)
def factor_unrolled(plan, numbers):
    """Factors of the entries in `numbers`, [right-hand side, entries, factors]; whether they are good.

    By the sum of squares of what pivots are off by, relative to those of short elements, and of 1e-10 of the terms of a
    determinant over itself.
    """
    first = plan.n + plan.n_entries
    call_kernel(plan.factor, numbers, plan.n, numbers, first)
    return numbers[first] <= 0.5


@compiled(error_model="numpy", _nrt=False)
def solve_unrolled(plan, numbers, x):
    """Solution x for the right-hand side in `numbers`."""
    call_kernel(plan.solve, numbers, 0, x, 0)
