"""The time-chain LU against dense and SuperLU solves."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from hypothesis import given, settings
from hypothesis import strategies as st

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import InputError, SingularMatrix, SolveError
from timefem.problems.initial.global_driver import Global
from timefem.problems.initial.guess import first_iterate
from timefem.problems.task import DriverInput
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear.time_chain.lu import ChainLU

# Chains are (CSR matrix, column starts, row starts).


def starts_of(sizes):
    return np.concatenate([[0], np.cumsum(sizes)]).astype(int)


def staircase(sizes, early, rng, density=1.0):
    """Random chain in which `early[e]` more rows have entered by the end of block e than there are columns.

    Rows that start in block e reach to the end of block e + 1 and may leave out entries; every diagonal place of the
    staircase is kept, so that the pattern is not singular.
    """
    starts = starts_of(sizes)
    n, last = starts[-1], len(sizes) - 1
    dense, row_starts = np.zeros((n, n)), np.append(starts[:-1] + [0, *early], n)
    for e in range(last + 1):
        stop = starts[min(e + 2, last + 1)]
        for r in range(row_starts[e], row_starts[e + 1]):
            columns = np.arange(starts[e], stop)
            keep = rng.random(len(columns)) < density
            keep[np.clip(r - starts[e], 0, len(keep) - 1)] = True
            dense[r, columns[keep]] = rng.uniform(-1, 1, keep.sum())
    return sp.csr_matrix(dense), starts, row_starts


def three_blocks(column_starts, row_starts, rng, density=1.0):
    """Random chain in which rows see their own and both neighbouring blocks; no diagonal place is left out."""
    column_starts, row_starts = np.asarray(column_starts), np.asarray(row_starts)
    n, n_blocks = column_starts[-1], len(column_starts) - 1
    dense = np.zeros((n, n))
    for e in range(n_blocks):
        low, high = column_starts[max(e - 1, 0)], column_starts[min(e + 2, n_blocks)]
        shape = row_starts[e + 1] - row_starts[e], high - low
        dense[row_starts[e]:row_starts[e + 1], low:high] = rng.uniform(-1, 1, shape) * (rng.random(shape) < density)
    np.fill_diagonal(dense, rng.uniform(0.5, 1, n))
    return sp.csr_matrix(dense), column_starts, row_starts


def blocks(pieces, sizes, row_starts=None):
    """Chain from {(e, f): block}; the rows of block e are those of the pieces (e, f)."""
    grid = [[None] * len(sizes) for _ in range(max(e for e, _ in pieces) + 1)]
    for (e, f), block in pieces.items():
        grid[e][f] = sp.csr_matrix(block)
    starts = starts_of(sizes)
    return sp.bmat(grid, format="csr"), starts, starts if row_starts is None else row_starts


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
    rows = [at_start] + [size] * (n_blocks - 2) + [2 * size - at_start]
    return blocks(pieces, [size] * n_blocks, starts_of(rows))


def bidiagonal(n_blocks, rng, size=10):
    """Marching: rows of block e see blocks e - 1 and e."""
    pieces = {(e, e): rng.uniform(-1, 1, (size, size)) + 3 * np.eye(size)[::-1] for e in range(n_blocks)}
    pieces |= {(e, e - 1): rng.uniform(-1, 1, (size, size)) for e in range(1, n_blocks)}
    return blocks(pieces, [size] * n_blocks)


def galerkin(n_blocks, n_interior, n_node, rng, columns_out=None, rows_out=None):
    """As assembled from overlapping elements `[node | interior | node]`: node rows see both elements around.

    As many columns as a node has are left out: the first `columns_out` (all) of the first node, and the other ones of
    the last node; and rows likewise. The first block of either may become empty.
    """
    step, n_full = n_interior + n_node, n_node + n_blocks * (n_interior + n_node)
    dense = np.zeros((n_full, n_full))
    for e in range(n_blocks):
        part = slice(e * step, (e + 1) * step + n_node)
        dense[part, part] += rng.uniform(-1, 1, (step + n_node, step + n_node))
    starts, n = np.append(0, n_node + np.arange(n_blocks + 1) * step), n_blocks * step
    c, r = (n_node if out is None else out for out in (columns_out, rows_out))
    return sp.csr_matrix(dense[r:r + n, c:c + n]), np.clip(starts - c, 0, n), np.clip(starts - r, 0, n)


def many_delays(n_blocks, rng, size=9):
    """Diagonal blocks are tiny or, in every third block, zero: pivots come from the neighbours."""
    pieces = {}
    for e in range(n_blocks):
        pieces[e, e] = 1e-3 * rng.uniform(-1, 1, (size, size)) * (e % 3 > 0)
        if e > 0:
            pieces[e, e - 1], pieces[e - 1, e] = rng.uniform(-1, 1, (2, size, size))
    return blocks(pieces, [size] * n_blocks)


CHAINS = {
    "one block": lambda rng: element_chain(1, 3, 4, rng),
    "one unknown": lambda rng: element_chain(1, 0, 1, rng),
    "two blocks": lambda rng: element_chain(2, 4, 5, rng),
    "uniform": lambda rng: element_chain(30, 6, 14, rng),
    "nodes only": lambda rng: element_chain(8, 0, 7, rng),
    "wide": lambda rng: element_chain(4, 20, 45, rng),
    "different sizes": lambda rng: staircase([3, 17, 1, 8, 9, 24, 2], [3, 1, 4, 0, 9, 2], rng),
    "with gaps": lambda rng: staircase([9] * 20, [4] * 19, rng, density=0.4),
    "saddle points": lambda rng: saddle_points(6, rng),
    "conditions at both ends": lambda rng: conditions_at_both_ends(60, rng),
    "bidiagonal": lambda rng: bidiagonal(40, rng),
    "Galerkin": lambda rng: galerkin(30, 8, 14, rng),
    "Galerkin, one element": lambda rng: galerkin(1, 8, 14, rng),
    "Galerkin, two elements": lambda rng: galerkin(2, 8, 14, rng),
    "Galerkin, nodes only": lambda rng: galerkin(30, 0, 5, rng),
    "Galerkin, tests left out at the end": lambda rng: galerkin(6, 6, 4, rng, rows_out=0),
    "Galerkin, conditions at both ends": lambda rng: galerkin(30, 6, 4, rng, columns_out=2, rows_out=1),
    "three blocks": lambda rng: three_blocks([0, 4, 13, 20, 21, 40, 47], [0, 6, 12, 21, 28, 39, 47], rng),
    "three blocks, gaps": lambda rng: three_blocks(np.arange(0, 201, 10), np.arange(0, 201, 10), rng, density=0.2),
    "empty blocks": lambda rng: three_blocks([0, 0, 5, 5, 12, 12, 12, 20], [0, 3, 5, 9, 9, 12, 12, 20], rng),
    "many delays": lambda rng: many_delays(30, rng),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def factored(matrix, column_starts, row_starts):
    lu = ChainLU(matrix.indptr, matrix.indices, column_starts, row_starts)
    lu.factor(matrix.data)
    return lu


def backward_error(matrix, x, b):
    scale = abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return np.abs(b - matrix @ x).max() / scale


@pytest.mark.parametrize("name", CHAINS)
def test_solves(name, rng):
    matrix, *starts = CHAINS[name](rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    lu = factored(matrix, *starts)
    assert backward_error(matrix, lu.solve(b), b) < 1e-14
    assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13
    assert (lu.n, lu.n_blocks) == (matrix.shape[0], len(starts[0]) - 1)


@pytest.mark.parametrize("name", CHAINS)
def test_agrees_with_others(name, rng):
    matrix, *starts = CHAINS[name](rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    lu, dense = factored(matrix, *starts), matrix.toarray()
    tolerance = 1e-14 * np.linalg.cond(dense)
    for mine, others in ((lu.solve(b), (np.linalg.solve(dense, b), spla.splu(matrix.tocsc()).solve(b))),
                         (lu.solve_transposed(b), (np.linalg.solve(dense.T, b),))):
        for other in others:
            np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance * np.abs(other).max())


def test_several_right_hand_sides(rng):
    matrix, *starts = element_chain(10, 3, 5, rng)
    b = rng.uniform(-1, 1, (matrix.shape[0], 3))
    kept = b.copy()
    lu = factored(matrix, *starts)
    for solve in (lu.solve, lu.solve_transposed):
        x = solve(b)
        assert x.shape == b.shape
        for column, alone in zip(x.T, b.T):
            np.testing.assert_array_equal(column, solve(alone))
        assert solve(b[:, :0]).shape == (matrix.shape[0], 0)
    np.testing.assert_array_equal(b, kept)


def test_factors_again(rng):
    matrix, *starts = element_chain(10, 3, 5, rng)
    b, fresh = rng.uniform(-1, 1, matrix.shape[0]), rng.uniform(-1, 1, matrix.nnz)
    lu = factored(matrix, *starts)
    first = lu.solve(b)
    with pytest.raises(SingularMatrix):
        lu.factor(np.zeros(matrix.nnz))
    with pytest.raises(SolveError, match="call factor"):
        lu.solve(b)
    lu.factor(fresh)
    other = sp.csr_matrix((fresh, matrix.indices, matrix.indptr))
    np.testing.assert_array_equal(lu.solve(b), factored(other, *starts).solve(b))
    lu.factor(matrix.data)
    np.testing.assert_array_equal(lu.solve(b), first)


@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize("name", ["uniform", "different sizes", "with gaps", "bidiagonal"])
def test_bad_scaling(name, side, rng):
    matrix, *starts = CHAINS[name](rng)
    scale = sp.diags(10.0 ** rng.choice([-8, 0, 8], matrix.shape[0]))
    scaled = sp.csr_matrix(scale @ matrix if side == "rows" else matrix @ scale)
    scaled.sort_indices()
    b = scaled @ rng.uniform(-1, 1, matrix.shape[0])
    assert backward_error(scaled, factored(scaled, *starts).solve(b), b) < 1e-13


def test_memory(rng):
    """No more than two dense blocks of pivot rows and of multipliers."""
    matrix, *starts = element_chain(100, 8, 8, rng)
    assert 0 < factored(matrix, *starts).fill < 100 * 2 * 16 * 32


@pytest.mark.parametrize("name", ["Galerkin", "many delays", "one block"])
def test_more_room(name, rng):
    """When a front and store that start small turn out so, both grow."""
    matrix, *starts = CHAINS[name](rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    lu = ChainLU(matrix.indptr, matrix.indices, *starts)
    lu._capacity = lu._store = 1
    lu.factor(matrix.data)
    np.testing.assert_array_equal(lu.solve(b), factored(matrix, *starts).solve(b))


def turned_round(matrix, column_starts, row_starts):
    """The same chain from its end to its start."""
    turned = sp.csr_matrix(matrix.toarray()[::-1, ::-1])
    return turned, *(starts[-1] - starts[::-1] for starts in (column_starts, row_starts))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["Galerkin", "bidiagonal", "different sizes", "conditions at both ends"])
def test_direction(name, turned, rng):
    """Either solves."""
    matrix, *starts = CHAINS[name](rng)
    if turned:
        matrix, *starts = turned_round(matrix, *starts)
    lu = factored(matrix, *starts)
    b = rng.uniform(-1, 1, matrix.shape[0])
    assert backward_error(matrix, lu.solve(b), b) < 1e-14
    assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13


@pytest.mark.parametrize("name, backwards",
                         [("Galerkin", True), ("bidiagonal", True), ("conditions at both ends", False)])
def test_cheaper_direction(name, backwards, rng):
    """Backwards from the free end of an initial-value problem."""
    matrix, *starts = CHAINS[name](rng)
    assert factored(matrix, *starts).backwards == backwards


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["Galerkin", "bidiagonal"])
@pytest.mark.parametrize("factor", [1.0, 1e9, 1e-9])
def test_dependent_row(factor, name, turned, rng):
    """Found where it is, although rows of other blocks could stand in for it up to the last one."""
    matrix, *starts = CHAINS[name](rng)
    if turned:
        matrix, *starts = turned_round(matrix, *starts)
    dense, e = matrix.toarray(), 4
    row = starts[1][e] + 1
    dense[row] = factor * (dense[row + 1] + dense[row + 3] / 3)
    with pytest.raises(SingularMatrix, match=rf"in block {e} of .*: (row|no pivot for column) \d"):
        factored(sp.csr_matrix(dense), *starts)


@pytest.mark.parametrize("turned", [False, True])
def test_dependent_column(turned, rng):
    """Found where it is."""
    matrix, *starts = bidiagonal(8, rng)
    if turned:
        matrix, *starts = turned_round(matrix, *starts)
    dense = matrix.toarray()
    dense[:, 47] = dense[:, 43] + dense[:, 45] / 3
    with pytest.raises(SingularMatrix, match=r"in block 4 of 8.*: no pivot for column 4[357]"):
        factored(sp.csr_matrix(dense), *starts)


def test_dependent_columns_of_many_chains(rng):
    """Rounding errors, which grow with the multipliers, do not hide them, and are not taken for them."""
    for _ in range(150):
        matrix, *starts = galerkin(rng.integers(2, 12), rng.integers(1, 7), rng.integers(2, 6), rng)
        factored(matrix, *starts)
        dense, last = matrix.toarray(), starts[0][rng.integers(1, len(starts[0]))] - 1
        dense[:, last] = dense[:, last - 1] / 3
        with pytest.raises(SingularMatrix):
            factored(sp.csr_matrix(dense), *starts)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_empty_column_and_row(stored, turned, rng):
    matrix, *starts = galerkin(8, 6, 4, rng)
    if turned:
        matrix, *starts = turned_round(matrix, *starts)
    row, column = (s[3] + 1 for s in reversed(starts))
    for zero, message in ((np.s_[:, column], f"in block 3 of 9.*: no pivot for column {column};"),
                          (np.s_[row], f"in block 3 of 9.*: row {row} depends")):
        dense = matrix.toarray()
        dense[zero] = 0
        broken = sp.csr_matrix(dense)
        if stored:
            broken = sp.csr_matrix((dense[matrix.nonzero()], matrix.indices, matrix.indptr))
        with pytest.raises(SingularMatrix, match=message):
            factored(broken, *starts)


@pytest.mark.parametrize("name", ["uniform", "with gaps", "Galerkin", "three blocks", "saddle points", "many delays"])
@pytest.mark.parametrize("side", ["row", "column"])
def test_never_garbage(name, side, rng):
    """A row or column that depends on others nearby is refused, or at least the solution solves the system."""
    matrix, *starts = CHAINS[name](rng)
    n, b = matrix.shape[0], rng.uniform(-1, 1, matrix.shape[0])
    for place in rng.integers(0, n - 4, 20):
        dense = matrix.T.toarray() if side == "column" else matrix.toarray()
        dense[place] = dense[place + 1] + dense[place + 3] / 3
        broken = sp.csr_matrix(dense.T if side == "column" else dense)
        try:
            lu = factored(broken, *starts)
        except (InputError, SolveError):
            continue
        assert backward_error(broken, lu.solve(b), b) < 1e-12


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value, rng):
    matrix, *starts = bidiagonal(8, rng)
    matrix.data[matrix.indptr[35] + 2] = value
    with pytest.raises(SolveError, match="not finite in row 35"):
        factored(matrix, *starts)


def test_row_too_wide(rng):
    matrix, *starts = bidiagonal(8, rng)
    wide = matrix.tolil()
    wide[35, 5] = 1.0
    wide = wide.tocsr()
    with pytest.raises(InputError, match="row 35 of block 3 touches blocks 0 to 3"):
        ChainLU(wide.indptr, wide.indices, *starts)


def test_wrong_input(rng):
    matrix, *starts = bidiagonal(3, rng)
    indptr, indices = matrix.indptr, matrix.indices
    good = starts[0]
    for wrong in ([0, 10, 20, 20], [0, 20, 10, 30], [1, 10, 20, 30], [0], []):
        with pytest.raises(InputError, match="column_starts must rise"):
            ChainLU(indptr, indices, wrong, good)
        with pytest.raises(InputError, match="row_starts must rise"):
            ChainLU(indptr, indices, good, wrong)
    with pytest.raises(InputError, match="row_starts must rise"):
        ChainLU(indptr, indices, good, [0, 30])
    with pytest.raises(InputError, match="row 2 must ascend"):
        ChainLU(indptr, np.concatenate([indices[:20], indices[29:19:-1], indices[30:]]), *starts)
    with pytest.raises(InputError, match=r"row 29 must .* 29"):
        ChainLU(indptr, np.concatenate([indices[:-1], [30]]), *starts)
    with pytest.raises(InputError, match="indptr"):
        ChainLU(indptr, indices[:-1], *starts)
    with pytest.raises(InputError, match="indptr"):
        ChainLU(np.concatenate([[0, 20, 10], indptr[3:]]), indices, *starts)
    lu = ChainLU(indptr, indices, *starts)
    for solve in (lu.solve, lu.solve_transposed):
        with pytest.raises(SolveError, match="call factor"):
            solve(np.ones(30))
    lu.factor(matrix.data)
    with pytest.raises(InputError, match="data"):
        lu.factor(matrix.data[1:])
    for wrong in (np.ones(29), np.ones((30, 1, 1)), 1.0):
        with pytest.raises(InputError, match="b must"):
            lu.solve(wrong)


@st.composite
def shapes(draw):
    """Sizes of blocks, how far rows are ahead of columns, share of entries that are there, seed."""
    sizes = draw(st.lists(st.integers(0, 19), min_size=1, max_size=7).filter(any))
    ahead = [draw(st.integers(-size, next_size)) for size, next_size in pairwise(sizes)]
    return sizes, ahead, draw(st.sampled_from([0.1, 0.3, 0.7, 1.0])), draw(st.integers(0, 99))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(shapes())
def test_any_shape(shape):
    """Blocks of any size, also empty ones, and up to one block more rows than columns, or fewer, at any time."""
    sizes, ahead, density, seed = shape
    rng = np.random.default_rng(seed)
    starts = starts_of(sizes)
    rows = np.maximum.accumulate(starts + [0, *ahead, 0])
    matrix, *starts = three_blocks(starts, rows, rng, density)
    b = rng.uniform(-1, 1, matrix.shape[0])
    try:
        lu = factored(matrix, *starts)
    except SingularMatrix:
        assert np.linalg.cond(matrix.toarray()) > 1e12
        return
    assert backward_error(matrix, lu.solve(b), b) < 1e-13
    assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13


ELEMENTS = [tf.MixedGalerkin(1), tf.BubnovGalerkin(1), tf.BubnovGalerkin(2, "continuous"),
            tf.BubnovGalerkin(2, drop="end")]


@pytest.mark.parametrize("model", [spinning_box, pendulum])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_tangents(model, rotation, element, rng):
    """Of the first iteration of Newton's method."""
    problem = model(rotation)
    plan = ElementPlan(problem.system, element)
    for n_elements in (1, 2, 40):
        mesh = tf.TimeMesh.uniform((0, 0.0125 * n_elements), n_elements)
        job = DriverInput(plan, mesh, problem.z0, Global(), show=False)
        chain = ElementEquations(plan, mesh, job.scale)
        chain.evaluate(first_iterate(job, chain, mesh, problem.z0)[0])
        pattern = chain.assembler.pattern
        matrix = sp.csr_matrix((chain.data, pattern.indices, pattern.indptr))
        b = rng.uniform(-1, 1, matrix.shape[0])
        lu = factored(matrix, pattern.column_starts, pattern.row_starts)
        assert backward_error(matrix, lu.solve(b), b) < 1e-14
        assert backward_error(matrix.T, lu.solve_transposed(b), b) < 1e-13


def large(size, rng):
    return galerkin(8, size - size // 2, size // 2, rng)


@pytest.mark.parametrize("name", [*CHAINS, "large"])
def test_panels_give_the_same_factors(name, rng):
    """Bit by bit, columns that wait included."""
    matrix, *starts = large(37, rng) if name == "large" else CHAINS[name](rng)
    found = []
    for by_panels in (False, True):
        lu = ChainLU(matrix.indptr, matrix.indices, *starts)
        lu._by_panels = by_panels
        lu.factor(matrix.data)
        found.append([array.copy() for array in lu._factors])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


SIZES = [(20, 1.0, False), (44, 1.0, True), (60, 1.0, True), (60, 0.03, False)]


@pytest.mark.parametrize("size, density, by_panels", SIZES)
def test_panels_are_for_large_dense_blocks(size, density, by_panels, rng):
    matrix, *starts = large(size, rng)
    if density < 1.0:
        matrix.data *= rng.uniform(size=matrix.nnz) < density
        matrix = (matrix + sp.eye_array(matrix.shape[0])).tocsr()
    lu = factored(matrix, *starts)
    assert lu._by_panels == by_panels


def test_panels_tell_what_is_singular(rng):
    matrix, *starts = large(44, rng)
    lu = factored(matrix, *starts)
    dense = matrix.toarray()
    dense[:, starts[0][3] + 2] = 0.0
    data = dense[np.repeat(np.arange(len(dense)), np.diff(matrix.indptr)), matrix.indices]
    with pytest.raises(SingularMatrix, match="block 3 of"):
        lu.factor(data)
    lu.factor(matrix.data)
