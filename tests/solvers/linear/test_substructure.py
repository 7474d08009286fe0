"""Slabs eliminated up to their ends, and time-chain substructuring on one process."""

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import spinning_box
from tests.solvers.linear.test_time_chain import starts_of
from timefem.assembly import Assembler, Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import SingularMatrix, SolveError
from timefem.solvers.linear.time_chain.lu import SlabLU

NODE = 4
ENDS = {  # columns and rows of the shared node on the left and on the right, and the rows of the nodes that are there
    "both": ((NODE, NODE), (NODE, NODE)),
    "right": ((0, 0), (NODE, NODE)),
    "left": ((NODE, NODE), (0, 0)),
    "none": ((0, 0), (0, 0)),
    "both, rows of the right node only": ((NODE, 0), (NODE, NODE)),
    "columns only": ((NODE, 0), (NODE, 0)),
}


def slab(n_elements, n_interior, left, right, singular, rng):
    """A chain of elements [node | interior | node] without the rows of shared nodes that are not there."""
    step = n_interior + NODE
    n = NODE + n_elements * step
    dense = np.zeros((n, n))
    for e in range(n_elements):
        part = slice(e * step, (e + 1) * step + NODE)
        dense[part, part] += rng.uniform(-1, 1, (step + NODE, step + NODE))
        if singular:
            inside = slice(e * step + NODE, (e + 1) * step)
            dense[inside, inside] = 0
    columns = starts_of([NODE + step] + [step] * (n_elements - 1))
    first, last = (NODE - end[1] if end[0] else 0 for end in (left, right))
    return dense[first:n - last], columns, np.clip(columns - first, 0, n - first - last)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("n_interior", [0, 3])
@pytest.mark.parametrize("n_elements", [1, 2, 9])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("by_panels", [False, True])
def test_slab(by_panels, ends, n_elements, n_interior, singular):
    """What is left over is the Schur complement, and holds all shared columns and rows; both solves go through it."""
    left, right = ENDS[ends]
    singular = singular and left[1] + right[1] >= NODE  # else pivots are nowhere
    rng = np.random.default_rng(5)
    dense, *starts = slab(n_elements, n_interior, left, right, singular, rng)
    matrix = sp.csr_matrix(dense)
    lu = SlabLU(matrix.indptr, matrix.indices, *starts, left, right)
    lu._by_panels = by_panels
    lu.factor(matrix.data)
    for numbers, n_first, n_last, n in ((lu.columns, left[0], right[0], dense.shape[1]),
                                        (lu.rows, left[1], right[1], dense.shape[0])):
        assert {*range(n_first), *range(n - n_last, n)} <= set(numbers)
    rows, columns = (np.setdiff1d(np.arange(n), kept) for n, kept in zip(dense.shape, (lu.rows, lu.columns)))
    assert len(rows) == len(columns) >= min(dense.shape) - 3 * NODE
    inside, condition = dense[np.ix_(rows, columns)], 1.0
    expected = dense[np.ix_(lu.rows, lu.columns)]
    if len(rows):
        condition = np.linalg.cond(inside)
        expected = expected - dense[np.ix_(lu.rows, columns)] @ np.linalg.solve(inside, dense[np.ix_(rows, lu.columns)])
    tolerance = dict(rtol=0, atol=1e-14 * condition * max(np.abs(expected).max(initial=1.0), 1.0))
    np.testing.assert_allclose(lu.left_over, expected, **tolerance)
    for a, left_over, kept, transposed in ((dense, lu.left_over, lu.columns, False),
                                           (dense.T, lu.left_over.T, lu.rows, True)):
        x = rng.uniform(-1, 1, a.shape[1])
        work, reduced = lu.eliminate(a @ x, transposed)
        np.testing.assert_allclose(reduced, left_over @ x[kept], rtol=0, atol=10 * tolerance["atol"])
        np.testing.assert_allclose(lu.recover(work, x[kept], transposed), x, rtol=0, atol=10 * tolerance["atol"])


@pytest.mark.long
@pytest.mark.parametrize("case, h, degree, sizes", [("heavy-top", 0.002, 2, (16, 64, 256)),
                                                    ("heavy-top", 0.002, 3, (16, 64)),
                                                    ("double-pendulum", 0.01, 2, (16, 64))])
def test_motions_that_grow_along_the_slab_leave_no_more_over(case, h, degree, sizes):
    """However long a slab is: the growing response to its left end, counted in the threshold, left a thousand columns.
    """
    for n in sizes:
        problem, element = find_case(case).make(t_end=h * n), tf.BubnovGalerkin(degree)
        sol = tf.solve(problem, element, n, driver="global")
        plan, mesh = ElementPlan(problem.system, element), tf.TimeMesh.uniform(problem.t_span, n)
        node = plan.columns.n_node
        every = (np.ones(node, bool),) * 2
        assembler = Assembler(plan, mesh, every, every,
                              Scaling.of("full", problem.system, element, 0.0, problem.z0))
        pattern = assembler.pattern
        matrix = sp.csr_matrix((assembler.evaluate(plan.pack(mesh, sol.nodal.state, sol.nodal.multipliers))[1],
                                pattern.indices, pattern.indptr), (pattern.n_rows, pattern.n_columns))
        starts = (np.delete(s, 1) for s in (pattern.column_starts, pattern.row_starts))  # the first has the node, too
        lu = SlabLU(pattern.indptr, pattern.indices, *starts, (node, node), (node, node))
        lu.factor(matrix.data)
        assert len(lu.columns) <= 4 * node
        # closed by any conditions between its ends
        rng = np.random.default_rng(0)
        ends = [np.r_[:node, n_lines - node:n_lines] for n_lines in matrix.shape]
        closing = sp.lil_matrix(matrix.shape)
        closing[np.ix_(*ends)] = rng.standard_normal((2 * node, 2 * node))
        matrix, interface = (matrix + closing).tocsr(), lu.left_over + closing[np.ix_(lu.rows, lu.columns)].toarray()
        b = rng.standard_normal(matrix.shape[0])
        x, residual = np.zeros(len(b)), b
        for bound in (1e-13, 1e-15):  # at once, and refined
            work, reduced = lu.eliminate(residual)
            x += lu.recover(work, np.linalg.solve(interface, reduced))
            residual = b - matrix @ x
            scale = np.abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
            assert np.abs(residual).max() <= bound * scale


def test_columns_that_have_little_beside_held_rows_wait():
    """Rounding errors of an inside that only both ends determine were pivots."""
    dense = np.array([[1.0, 2.0, 0.5, 3.0],  # held
                      [0.0, 1.0, 1e-10, 2.0],
                      [2.0, 0.0, 0.0, 1.0]])  # of the right end
    lu = SlabLU(np.arange(0, 13, 4), np.tile(np.arange(4), 3), np.array([0, 4]), np.array([0, 3]), (1, 1), (1, 1))
    lu.factor(dense.ravel())
    assert lu.columns.tolist() == [0, 2, 3] and lu.rows.tolist() == [0, 2]
    dense[1, 1] = 1e-10
    lu.factor(dense.ravel())
    assert len(lu.columns) == 4


def test_singular_slab():
    rng = np.random.default_rng(5)
    dense, *starts = slab(5, 3, (NODE, NODE), (NODE, NODE), False, rng)
    dense[:, starts[0][2] + 1] = 0
    matrix = sp.csr_matrix(dense)
    lu = SlabLU(matrix.indptr, matrix.indices, *starts, (NODE, NODE), (NODE, NODE))
    with pytest.raises(SingularMatrix, match="in block 2 of 5"):
        lu.factor(matrix.data)
    with pytest.raises(SolveError, match="call factor"):
        lu.eliminate(np.ones(len(dense)))


def solve(**options):
    pytest.importorskip("petsc4py", reason="PETSc is an extra")
    return tf.solve(spinning_box(t_end=1), tf.BubnovGalerkin(2), 20, **{"backend": "petsc", **options})


@pytest.mark.parametrize("options", [
    {"method": "chain"}, {"method": "chain", "driver": "windows", "window": 7}, {"method": "mumps"},
    {"petsc_options": {"pc_type": "python"}},
    {"method": "chain", "petsc_options": {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_chain_lag": 3}}])
def test_method(options):
    place = {key: options[key] for key in ("driver", "window") if key in options}
    reference, solution = solve(backend="chain", **place), solve(**options)
    assert solution.success, solution.status.message
    assert options.get("petsc_options", {}).get("ksp_type") or solution.statistics["backward_error"] < 1e-12
    np.testing.assert_allclose(solution.z, reference.z, rtol=0, atol=1e-9 * np.abs(reference.z).max())


def test_lag_needs_a_krylov_method():
    with pytest.raises(tf.InputError, match="pc_chain_lag 2 needs a Krylov method"):
        solve(method="chain", petsc_options={"pc_chain_lag": 2})


@pytest.mark.parametrize("options, message", [
    ({"method": "chain", "backend": "chain"}, "add backend='petsc'"),
    ({"method": "lu"}, "method must be"),
    ({"method": "chain", "petsc_options": {"-timefem_pc_type": "lu"}}, "either method or the PETSc option"),
    ({"method": "chain", "petsc_options": {"pc_chain_lag": "often"}}, "pc_chain_lag"),
    ({"method": "chain", "petsc_options": {"pc_chain_lag": 0}}, "pc_chain_lag"),
    ({"method": "mumps", "petsc_options": {"pc_chain_lag": 2}}, "did not use the option -timefem_pc_chain_lag")])
def test_wrong_options(options, message):
    with pytest.raises(tf.InputError, match=message):
        solve(**options)


def test_transposed():
    from types import SimpleNamespace

    pytest.importorskip("petsc4py", reason="PETSc is an extra")
    from tests.solvers.linear.test_time_chain import galerkin
    from timefem.solvers.linear.petsc import PETScSolver

    rng = np.random.default_rng(5)
    matrix, columns, rows = galerkin(6, 5, 4, rng)
    b = rng.uniform(-1, 1, matrix.shape[0])
    pattern = SimpleNamespace(indptr=matrix.indptr, indices=matrix.indices, column_starts=columns, row_starts=rows)
    for options in ({"pc_type": "python"}, {}):
        solver = PETScSolver(pattern, options)
        solver.factor(matrix.data)
        np.testing.assert_allclose(matrix.T @ solver.solve_transposed(b), b, rtol=0, atol=1e-10)


def test_needs_a_chain():
    from types import SimpleNamespace

    pytest.importorskip("petsc4py", reason="PETSc is an extra")
    from timefem.solvers.linear.petsc import PETScSolver

    pattern = SimpleNamespace(indptr=np.arange(4), indices=np.arange(3))
    with pytest.raises(tf.InputError, match="needs a matrix of a chain"):
        PETScSolver(pattern, {"pc_type": "python"})
