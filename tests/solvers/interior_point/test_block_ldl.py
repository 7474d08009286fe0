"""Block elimination with the inertia: against dense eigenvalues and solutions."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from timefem.solvers.interior_point import ldl_inside
from timefem.solvers.interior_point.block_ldl import BlockLDL, SharedLDL


def chain(rng, n_blocks=6, n_states=3, n_controls=2, curvature=1.0):
    """A saddle point matrix of a chain x_(e+1) = A x_e + B u_e with blocks (multiplier, control, state)."""
    n, m = n_states, n_controls
    size = 2 * n + m
    matrix, blocks = np.zeros((n_blocks * size,) * 2), np.repeat(np.arange(n_blocks), size)
    for e in range(n_blocks):
        y, w = e * size + np.arange(n), e * size + np.arange(n, size)
        h = rng.standard_normal((m + n, m + n))
        matrix[np.ix_(w, w)] = h + h.T + curvature * np.eye(m + n)
        matrix[np.ix_(y, w)] = np.hstack([rng.standard_normal((n, m)), -np.eye(n)])
        matrix[np.ix_(w, y)] = matrix[np.ix_(y, w)].T
        matrix[y, y] = -1e-9
        if e:
            before = (e - 1) * size + np.arange(n + m, size)
            for rows in (y, w):
                coupling = rng.standard_normal((len(rows), n))
                matrix[np.ix_(rows, before)] = coupling
                matrix[np.ix_(before, rows)] = coupling.T
    order = rng.permutation(len(matrix))
    return matrix[np.ix_(order, order)], blocks[order]


@pytest.mark.parametrize("curvature", [-1.0, 0.0, 2.0, 10.0, 1e8])
def test_solution_and_inertia(curvature):
    rng = np.random.default_rng(0)
    for _ in range(20):
        matrix, blocks = chain(rng, curvature=curvature)
        rows, columns = np.nonzero(np.tril(matrix))
        ldl = BlockLDL(blocks, rows, columns)
        assert ldl.factor(matrix[rows, columns])
        size = np.sqrt(np.abs(matrix).max(axis=1))  # scaled, which keeps the signs: dense eigenvalues are not so exact
        assert ldl.negative == np.sum(np.linalg.eigvalsh(matrix / np.outer(size, size)) < 0)
        x = rng.standard_normal(len(matrix))
        b = matrix @ x
        found = ldl.solve(b)
        found += ldl.solve(b - matrix @ found)
        residual = np.abs(b - matrix @ found).max()
        assert residual <= 1e-14 * (np.abs(matrix).sum(axis=1).max() * np.abs(found).max() + np.abs(b).max())


def test_entries_that_come_twice_are_added():
    ldl = BlockLDL(np.zeros(2, int), np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1]))
    assert ldl.factor(np.array([1.0, 1.0, 1.0, 2.0, 3.0])) and ldl.negative == 0
    np.testing.assert_allclose(ldl.solve(np.array([1.0, 0.0])), [5, -2], rtol=1e-14, atol=0)


def test_pivots_of_order_two_count_one_of_each_sign():
    ldl = BlockLDL(np.zeros(2, int), np.array([1]), np.array([0]))
    assert ldl.factor(np.array([3.0])) and ldl.negative == 1


def test_singular_and_not_finite_blocks():
    ldl = BlockLDL(np.array([0, 1]), np.array([0, 1]), np.array([0, 1]))
    assert not ldl.factor(np.array([1.0, 0.0])) and ldl.negative == -1
    assert not ldl.factor(np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="blocks 0 and 2 are coupled"):
        BlockLDL(np.array([0, 1, 2]), np.array([0]), np.array([2]))


class Threads:
    """What `SharedLDL` asks of a communicator, for threads instead of ranks."""

    def __init__(self, size):
        self.size, self.slots, self.barrier = size, [None] * size, Barrier(size, timeout=60)

    def of(self, rank):
        comm = object.__new__(Threads)
        comm.__dict__ = self.__dict__ | {"rank": rank}
        return comm

    def allgather(self, value):
        self.slots[self.rank] = value
        self.barrier.wait()
        values = list(self.slots)
        self.barrier.wait()
        return values


def slab(matrix, blocks, first, stop):
    """Unknowns of a slab, blocks, places, values, border and what the next slab is coupled to."""
    own = np.flatnonzero((blocks >= first) & (blocks < stop))
    before, after = (np.flatnonzero(matrix[:, blocks == b].any(axis=1) & (blocks == c))
                     for b, c in ((first, first - 1), (stop, stop - 1)))
    part = matrix[np.ix_(np.concatenate([own, before]), np.concatenate([own, before]))].copy()
    part[len(own):, len(own):] = 0.0  # belongs to the slab before
    places = np.nonzero(np.tril(part))
    return own, (blocks[own] - first, (*places, None), len(before), np.searchsorted(own, after)), part[places]


@pytest.mark.parametrize("cuts", [[3], [1], [2, 4], [1, 2, 3, 4, 5]])
def test_slabs_give_the_solution_and_the_inertia_of_the_whole(cuts):
    rng, ends = np.random.default_rng(3), [0, *cuts, 6]
    threads = Threads(len(cuts) + 1)
    for curvature in (-1.0, 2.0, 1e6):
        matrix, blocks = chain(rng, curvature=curvature)
        rows, columns = np.nonzero(np.tril(matrix))
        whole = BlockLDL(blocks, rows, columns)
        assert whole.factor(matrix[rows, columns])
        x = rng.standard_normal(len(matrix))
        b = matrix @ x

        def work(rank, matrix=matrix, blocks=blocks, b=b):
            own, structure, values = slab(matrix, blocks, ends[rank], ends[rank + 1])
            ldl = SharedLDL(threads.of(rank), *structure)
            assert ldl.factor(values) and not ldl.factor(np.nan * values) and ldl.negative == -1
            assert ldl.factor(values)
            return own, ldl.negative, ldl.solve(b[own])

        with ThreadPoolExecutor(threads.size) as pool:
            found = list(pool.map(work, range(threads.size)))
        y = np.empty(len(matrix))
        for own, negative, part in found:
            assert negative == whole.negative
            y[own] = part
        for solution in (whole.solve(b), y):  # solutions differ by the condition, 4e12 with a curvature of 1e6
            backward_error = np.abs(b - matrix @ solution) / (np.abs(matrix) @ np.abs(solution) + np.abs(b))
            assert backward_error.max() <= 1e-13


def long_chain(rng, n_blocks, size):
    """`chain` with entries that change along it a little, in time order."""
    matrix, blocks = np.zeros((n_blocks * size, n_blocks * size)), np.repeat(np.arange(n_blocks), size)
    n, m = (size - 2) // 2, 2
    first, h = np.arange(n), rng.standard_normal((m + n, m + n))
    a, b, c = rng.standard_normal((n, m + n)), rng.standard_normal((m + n, n)), rng.standard_normal((n, n))
    for e in range(n_blocks):
        y, w = e * size + first, e * size + np.arange(n, size)
        matrix[np.ix_(w, w)] = (h + h.T) * (1 + 0.1 * np.sin(e)) + 3 * np.eye(m + n)
        matrix[np.ix_(y, w)] = a * (1 + 0.1 * np.cos(e)) + 3 * np.eye(n, m + n)
        matrix[np.ix_(w, y)] = matrix[np.ix_(y, w)].T
        matrix[y, y] = -1e-6
        if e:
            before = (e - 1) * size + np.arange(size - n, size)
            for rows, coupling in ((y, c), (w, b)):
                matrix[np.ix_(rows, before)] = coupling
                matrix[np.ix_(before, rows)] = coupling.T
    return matrix, blocks


class TestInsideFirst:
    """What is inside of blocks first, against the chain of blocks."""

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        monkeypatch.setattr(ldl_inside, "LIMITS", ldl_inside.Limits(least_blocks=1, least_inside=0.1))

    def both(self, matrix, blocks, border=0, last=()):
        n = len(blocks)
        rows, columns = np.nonzero(np.tril(matrix))
        with_it, without = (BlockLDL(blocks, rows, columns, None, border, last, condenses=condenses)
                            for condenses in (True, False))
        values = matrix[rows, columns]
        for one in (with_it, with_it, without):
            assert one.factor(values)
        assert with_it._by is not None
        assert with_it.negative == without.negative
        return with_it, without, n

    @pytest.mark.parametrize("n_blocks, together", [(12, 1), (21, 2), (30, 2), (37, 4), (70, 4)])
    def test_solution_inertia_and_least_pivot(self, n_blocks, together):
        rng = np.random.default_rng(n_blocks)
        for _ in range(10 if n_blocks < 70 else 3):
            matrix, blocks = long_chain(rng, n_blocks, 8)
            with_it, _, n = self.both(matrix, blocks)
            assert with_it._inside._alike.together == together
            assert together < 4 or with_it._by.plan.n_inside > 8 * (together - 1)
            assert with_it.negative == np.sum(np.linalg.eigvalsh(matrix) < 0)
            assert 0 < with_it.least_pivot < np.inf
            b = rng.standard_normal(n)
            x = with_it.solve(b)
            x += with_it.solve(b - matrix @ x)
            assert np.abs(b - matrix @ x).max() <= 1e-13 * np.abs(matrix).max() * np.abs(x).max() * n

    def test_border_and_last_unknowns(self):
        rng = np.random.default_rng(3)
        matrix, blocks = long_chain(rng, 20, 8)
        n, border, last = len(blocks), 3, np.arange(157, 160)
        whole = np.zeros((n + border,) * 2)
        whole[:n, :n] = matrix
        whole[n:, :8] = rng.standard_normal((border, 8))
        with_it, without, _ = self.both(whole, blocks, border, last)
        np.testing.assert_allclose(with_it.ends, without.ends, rtol=1e-9, atol=1e-9 * np.abs(without.ends).max())
        b, ends = rng.standard_normal(n), rng.standard_normal(border + len(last))
        (work, left), (other, other_left) = with_it.eliminate(b), without.eliminate(b)
        np.testing.assert_allclose(left, other_left, rtol=1e-9, atol=1e-9 * np.abs(other_left).max())
        x, y = with_it.recover(work, ends), without.recover(other, ends)
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8 * np.abs(y).max())

    def test_pivots_are_chosen_again_where_they_would_not_do(self):
        rng = np.random.default_rng(5)
        matrix, blocks = long_chain(rng, 20, 8)
        rows, columns = np.nonzero(np.tril(matrix))
        ldl = BlockLDL(blocks, rows, columns)
        for _ in range(2):
            assert ldl.factor(matrix[rows, columns])
        before, weak = ldl._by, matrix.copy()
        for pivot, _ in before.order:  # in one block they are next to nothing
            weak[72 + pivot[0], 72 + pivot[-1]] *= 1e-9
            weak[72 + pivot[-1], 72 + pivot[0]] = weak[72 + pivot[0], 72 + pivot[-1]]
        assert ldl.factor(weak[rows, columns])
        assert ldl._by is not before
        assert ldl.negative == np.sum(np.linalg.eigvalsh(weak) < 0)

    def test_singular_and_not_finite(self):
        matrix, blocks = long_chain(np.random.default_rng(1), 20, 8)
        rows, columns = np.nonzero(np.tril(matrix))
        values, ldl = matrix[rows, columns], BlockLDL(blocks, rows, columns)
        assert ldl.factor(values) and ldl.factor(values) and ldl._by is not None
        bad = values.copy()
        bad[len(bad) // 2] = np.nan
        assert not ldl.factor(bad) and ldl.negative == -1
        assert not ldl.factor(0 * values)
        assert ldl.factor(values)

    @pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
    def test_unknowns_that_nothing_is_coupled_to(self, value):
        """Their pivots have no multipliers that would tell."""
        matrix, blocks = long_chain(np.random.default_rng(1), 20, 8)
        alone = np.arange(20) * 8  # the first unknown of each block, inside of it
        matrix[alone] = matrix[:, alone] = 0.0
        matrix[alone, alone] = 2.0
        rows, columns = np.nonzero(np.tril(matrix))
        values, ldl = matrix[rows, columns], BlockLDL(blocks, rows, columns)
        assert ldl.factor(values) and ldl.factor(values)
        before = ldl._by
        assert before is not None and ((0,), ()) in [(pivot, tuple(taking)) for pivot, taking in before.order]
        bad = values.copy()
        bad[(rows == 40) & (columns == 40)] = value
        assert not ldl.factor(bad) and ldl.negative == -1
        assert ldl.factor(values) and ldl.negative == np.sum(np.linalg.eigvalsh(matrix) < 0)


def test_pivots_of_fewest_multiplications_are_looked_at_first(monkeypatch):
    """Of all that are good in all samples. Each candidate was looked at in every step, which took as long as all else
    of a solve on 1000 elements."""
    rng, n, n_inside, tried = np.random.default_rng(4), 24, 18, []
    present = np.tril(rng.uniform(size=(n, n)) < 0.3)
    present |= present.T
    samples = np.where(present, rng.standard_normal((5, n, n)), 0.0)
    samples += samples.transpose(0, 2, 1)
    largest = ldl_inside._largest_multiplier

    def looked_at(*given):
        tried.append(given[1])
        return largest(*given)

    monkeypatch.setattr(ldl_inside, "_largest_multiplier", looked_at)
    order = ldl_inside.choose_pivots(samples.copy(), present.copy(), n_inside, 20.0)
    left, here = set(range(n_inside)), np.ones(n, bool)
    assert len(order) > 3
    for pivot, taking in order:
        candidates = [(k,) for k in left if present[k, k]] + [(k, m) for k in left for m in left
                                                              if m > k and present[m, k]]
        fewer = []
        for other in candidates:
            rows = here & present[:, list(other)].any(axis=1)
            rows[list(other)] = False
            if rows.sum() < len(taking) and largest(samples, list(other), np.flatnonzero(rows)) <= 20.0:
                fewer.append(other)
        assert not fewer
        own = samples[:, taking[:, None], pivot] @ np.linalg.inv(samples[:, np.array(pivot)[:, None], pivot])
        assert np.abs(own).max() <= 20.0
        samples[:, taking[:, None], taking] -= own @ samples[:, np.array(pivot)[:, None], taking]
        present[np.ix_(taking, taking)] = True
        left, here[list(pivot)] = left - set(pivot), False
    assert len(tried) < 4 * len(order)
