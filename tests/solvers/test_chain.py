"""The time-chain LU against dense and SuperLU solves."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from hypothesis import given, settings
from hypothesis import strategies as st

from timefem.errors import InputError, SolveError
from timefem.solvers.chain import ChainLU


def staircase(sizes, early, rng, density=1.0):
    """Random chain in which `early[e]` more rows have entered by the end of block e than there are columns.

    Rows that start in block e reach to the end of block e + 1 and may leave out entries; every diagonal place of the
    staircase is kept, so that the pattern is not singular.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n, last = starts[-1], len(sizes) - 1
    dense = np.zeros((n, n))
    row = 0
    for e in range(last + 1):
        end = n if e == last else starts[e + 1] + early[e]
        stop = starts[min(e + 2, last + 1)]
        for r in range(row, end):
            columns = np.arange(starts[e], stop)
            keep = rng.random(len(columns)) < density
            keep[np.clip(r - starts[e], 0, len(keep) - 1)] = True
            dense[r, columns[keep]] = rng.uniform(-1, 1, keep.sum())
        row = end
    return sp.csr_matrix(dense), starts


def blocks(pieces, sizes):
    """CSR matrix from {(e, f): block}."""
    grid = [[None] * len(sizes) for _ in range(max(e for e, _ in pieces) + 1)]
    for (e, f), block in pieces.items():
        grid[e][f] = sp.csr_matrix(block)
    return sp.bmat(grid, format="csr"), np.concatenate([[0], np.cumsum(sizes)])


def element_chain(n_blocks, n_interior, n_node, rng):
    """Interior rows see the node before and their block, node rows see their block and the next one."""
    pieces, size = {}, n_interior + n_node
    for e in range(n_blocks):
        pieces[e, e] = rng.uniform(-1, 1, (size, size))
        if e > 0:
            pieces[e, e - 1] = np.zeros((size, size))
            pieces[e, e - 1][:n_interior, n_interior:] = rng.uniform(-1, 1, (n_interior, n_node))
            pieces[e - 1, e] = np.zeros((size, size))
            pieces[e - 1, e][n_interior:] = rng.uniform(-1, 1, (n_node, size))
    return blocks(pieces, [size] * n_blocks)


def saddle_points(n_blocks, rng, m=3):
    """Symmetric blocks [[0, 0, B], [0, M, C], [B^T, C^T, 0]]; M is zero in every other block, which is singular.

    The first part of each block is tied to the second part of the block before.
    """
    pieces = {}
    for e in range(n_blocks):
        half = np.zeros((3 * m, 3 * m))
        half[:2 * m, 2 * m:] = rng.uniform(-1, 1, (2 * m, m))
        if e % 2:
            half[m:2 * m, m:2 * m] = rng.uniform(-1, 1, (m, m))
        pieces[e, e] = half + half.T
        if e > 0:
            tie = np.zeros((3 * m, 3 * m))
            tie[:m, m:2 * m] = rng.uniform(-1, 1, (m, m))
            pieces[e, e - 1], pieces[e - 1, e] = tie, tie.T
    return blocks(pieces, [3 * m] * n_blocks)


def conditions_at_both_ends(n_blocks, rng, size=8, at_start=3):
    """`at_start` conditions on block 0, couplings of neighbours, and the other conditions on the last block.

    The diagonal blocks are not even square: y[e+1] = T y[e], with growing and decaying parts fixed at the right ends.
    """
    basis = rng.uniform(-1, 1, (size, size)) + 2 * np.eye(size)
    step = basis @ np.diag(np.where(np.arange(size) < at_start, 0.5, 2.0)) @ np.linalg.inv(basis)
    ends = np.linalg.inv(basis)
    pieces = {(0, 0): ends[:at_start]}
    for e in range(n_blocks - 1):
        pieces[e + 1, e] = rng.uniform(-1, 1, (size, size))
        pieces[e + 1, e + 1] = -pieces[e + 1, e] @ np.linalg.inv(step)
    pieces[n_blocks, n_blocks - 1] = ends[at_start:]
    return blocks(pieces, [size] * n_blocks)


def bidiagonal(n_blocks, rng, size=10):
    """Marching: rows of block e see blocks e - 1 and e."""
    pieces = {(e, e): rng.uniform(-1, 1, (size, size)) + 3 * np.eye(size)[::-1] for e in range(n_blocks)}
    pieces |= {(e, e - 1): rng.uniform(-1, 1, (size, size)) for e in range(1, n_blocks)}
    return blocks(pieces, [size] * n_blocks)


CHAINS = {
    "one block": lambda rng: element_chain(1, 3, 4, rng),
    "one unknown": lambda rng: element_chain(1, 0, 1, rng),
    "two blocks": lambda rng: element_chain(2, 4, 5, rng),
    "uniform": lambda rng: element_chain(30, 6, 14, rng),
    "nodes only": lambda rng: element_chain(30, 0, 7, rng),
    "wide": lambda rng: element_chain(4, 20, 45, rng),
    "different sizes": lambda rng: staircase([3, 17, 1, 8, 9, 24, 2], [3, 1, 4, 0, 9, 2], rng),
    "with gaps": lambda rng: staircase([9] * 20, [4] * 19, rng, density=0.4),
    "saddle points": lambda rng: saddle_points(12, rng),
    "conditions at both ends": lambda rng: conditions_at_both_ends(60, rng),
    "bidiagonal": lambda rng: bidiagonal(40, rng),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def factored(matrix, starts):
    lu = ChainLU(matrix.indptr, matrix.indices, starts)
    lu.factor(matrix.data)
    return lu


def backward_error(matrix, x, b):
    scale = abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return np.abs(b - matrix @ x).max() / scale


@pytest.mark.parametrize("name", CHAINS)
def test_solves(name, rng):
    matrix, starts = CHAINS[name](rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    lu = factored(matrix, starts)
    assert backward_error(matrix, lu.solve(b), b) < 1e-14
    assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13
    assert (lu.n, lu.n_blocks) == (matrix.shape[0], len(starts) - 1)


@pytest.mark.parametrize("name", CHAINS)
def test_agrees_with_others(name, rng):
    matrix, starts = CHAINS[name](rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    lu, dense = factored(matrix, starts), matrix.toarray()
    tolerance = 1e-14 * np.linalg.cond(dense)
    for mine, others in ((lu.solve(b), (np.linalg.solve(dense, b), spla.splu(matrix.tocsc()).solve(b))),
                         (lu.solve_transposed(b), (np.linalg.solve(dense.T, b),))):
        for other in others:
            np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance * np.abs(other).max())


def test_several_right_hand_sides(rng):
    matrix, starts = element_chain(10, 3, 5, rng)
    b = rng.uniform(-1, 1, (matrix.shape[0], 3))
    kept = b.copy()
    lu = factored(matrix, starts)
    for solve in (lu.solve, lu.solve_transposed):
        x = solve(b)
        assert x.shape == b.shape
        for column, alone in zip(x.T, b.T):
            np.testing.assert_array_equal(column, solve(alone))
        assert solve(b[:, :0]).shape == (matrix.shape[0], 0)
    np.testing.assert_array_equal(b, kept)


def test_factors_again(rng):
    matrix, starts = element_chain(10, 3, 5, rng)
    b, fresh = rng.uniform(-1, 1, matrix.shape[0]), rng.uniform(-1, 1, matrix.nnz)
    lu = factored(matrix, starts)
    first = lu.solve(b)
    with pytest.raises(SolveError):
        lu.factor(np.zeros(matrix.nnz))
    with pytest.raises(SolveError, match="call factor"):
        lu.solve(b)
    lu.factor(fresh)
    other = sp.csr_matrix((fresh, matrix.indices, matrix.indptr))
    np.testing.assert_array_equal(lu.solve(b), factored(other, starts).solve(b))
    lu.factor(matrix.data)
    np.testing.assert_array_equal(lu.solve(b), first)


@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize("name", ["uniform", "different sizes", "with gaps", "bidiagonal"])
def test_bad_scaling(name, side, rng):
    matrix, starts = CHAINS[name](rng)
    scale = sp.diags(10.0 ** rng.choice([-8, 0, 8], matrix.shape[0]))
    scaled = sp.csr_matrix(scale @ matrix if side == "rows" else matrix @ scale)
    scaled.sort_indices()
    b = scaled @ rng.uniform(-1, 1, matrix.shape[0])
    assert backward_error(scaled, factored(scaled, starts).solve(b), b) < 1e-13


def test_memory(rng):
    """No more than two dense blocks of pivot rows and one of multipliers."""
    matrix, starts = element_chain(100, 8, 8, rng)
    lu = ChainLU(matrix.indptr, matrix.indices, starts)
    assert lu.fill < 100 * (16 * 32 + (16 + 8) * 16)


@pytest.mark.parametrize("factor", [1.0, 1e9, 1e-9])
def test_dependent_row(factor, rng):
    """The rows of later blocks stand in for a dependent one, so that a pivot is missing at the end only."""
    matrix, starts = bidiagonal(8, rng)
    dense = matrix.toarray()
    dense[47] = factor * (dense[43] + dense[45] / 3)
    with pytest.raises(SolveError, match=r"in block 7 of 8; left are rows 47 \(from block 3\)"):
        factored(sp.csr_matrix(dense), starts)


def test_dependent_column(rng):
    """Found where it is."""
    matrix, starts = bidiagonal(8, rng)
    dense = matrix.toarray()
    dense[:, 47] = dense[:, 43] + dense[:, 45] / 3
    with pytest.raises(SolveError, match="for column 47, in block 4 of 8"):
        factored(sp.csr_matrix(dense), starts)


@pytest.mark.parametrize("stored", [False, True])
def test_empty_column_and_row(stored, rng):
    matrix, starts = bidiagonal(8, rng)
    for zero, message in ((np.s_[:, 35], "for column 35, in block 3 of 8"),
                          (np.s_[35], "rows 35" if stored else "no row is left")):
        dense = matrix.toarray()
        dense[zero] = 0
        broken = sp.csr_matrix(dense)
        if stored:
            broken = sp.csr_matrix((dense[matrix.nonzero()], matrix.indices, matrix.indptr))
        with pytest.raises(SolveError, match=message):
            factored(broken, starts)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value, rng):
    matrix, starts = bidiagonal(8, rng)
    matrix.data[matrix.indptr[35] + 2] = value
    with pytest.raises(SolveError, match="not finite in row 35"):
        factored(matrix, starts)


def test_row_too_wide(rng):
    matrix, starts = bidiagonal(8, rng)
    wide = matrix.tolil()
    wide[35, 5] = 1.0
    wide = wide.tocsr()
    with pytest.raises(InputError, match="row 35 touches blocks 0 to 3"):
        ChainLU(wide.indptr, wide.indices, starts)


def test_wrong_input(rng):
    matrix, starts = bidiagonal(3, rng)
    indptr, indices = matrix.indptr, matrix.indices
    for wrong in ([0, 10, 20], [0, 10, 10, 30], [1, 10, 30], [0]):
        with pytest.raises(InputError, match="block_starts"):
            ChainLU(indptr, indices, wrong)
    with pytest.raises(InputError, match="row 2 must ascend"):
        ChainLU(indptr, np.concatenate([indices[:20], indices[29:19:-1], indices[30:]]), starts)
    with pytest.raises(InputError, match=r"row 29 must .* 29"):
        ChainLU(indptr, np.concatenate([indices[:-1], [30]]), starts)
    with pytest.raises(InputError, match="indptr"):
        ChainLU(indptr, indices[:-1], starts)
    lu = factored(matrix, starts)
    with pytest.raises(InputError, match="data"):
        lu.factor(matrix.data[1:])
    for wrong in (np.ones(29), np.ones((30, 1, 1)), 1.0):
        with pytest.raises(InputError, match="b must"):
            lu.solve(wrong)


@st.composite
def shapes(draw):
    sizes = draw(st.lists(st.integers(1, 19), min_size=1, max_size=7))
    early = [draw(st.integers(0, next_size)) for next_size in sizes[1:]]
    return sizes, early, draw(st.sampled_from([0.3, 0.7, 1.0])), draw(st.integers(0, 99))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(shapes())
def test_any_shape(shape):
    """Blocks of any size, and up to one block more rows than columns at any time."""
    sizes, early, density, seed = shape
    rng = np.random.default_rng(seed)
    matrix, starts = staircase(sizes, early, rng, density)
    b = rng.uniform(-1, 1, matrix.shape[0])
    try:
        lu = factored(matrix, starts)
    except SolveError:
        assert np.linalg.cond(matrix.toarray()) > 1e12
        return
    assert backward_error(matrix, lu.solve(b), b) < 1e-13
    assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13
