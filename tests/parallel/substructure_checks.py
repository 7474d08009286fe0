"""Checks of time-chain substructuring that run under mpirun; prints "passed" on rank 0."""

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from mpi4py import MPI

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from tests.parallel.elements import ELEMENTS
from tests.solvers.linear.test_time_chain import backward_error, bidiagonal, galerkin, many_delays
from timefem.assembly import Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import SingularMatrix
from timefem.solvers.equations.distributed import OTHER_WORK, DistributedEquations
from timefem.solvers.linear.petsc import PETScSolver

COMM = MPI.COMM_WORLD
CHAIN = {"pc_type": "python"}


def elements_of(n_elements):
    """First and last element of this rank's slab: uneven ones, and some of a single element."""
    inner = np.sort(np.random.default_rng(n_elements).permutation(np.arange(1, n_elements))[:COMM.size - 1])
    ends = np.concatenate([[0], inner, [n_elements]])
    return ends[COMM.rank], ends[COMM.rank + 1]


def distributed(matrix, column_starts, row_starts, n_node, n_elements):
    """This rank's pattern of a chain, and its values. Starts have one block more than elements if node 0 is one."""
    start, stop = elements_of(n_elements)
    extra = len(column_starts) - 1 - n_elements
    blocks = slice(start + extra if start else 0, stop + extra + 1)
    own = column_starts[blocks][[0, -1]]
    rows = matrix[own[0]:own[1]]
    rows.sort_indices()
    pattern = SimpleNamespace(indptr=rows.indptr, indices=rows.indices, column_starts=column_starts[blocks].copy(),
                              row_starts=row_starts[blocks].copy(), n_node=n_node)
    return pattern, rows.data, slice(*own)


def gathered(x):
    return np.concatenate(COMM.allgather(x))


def singular_interiors(rng, **ends):
    """Elements whose interior unknowns have no equations of their own."""
    matrix, column_starts, row_starts = galerkin(9, 3, 4, rng, **ends)
    dense = matrix.toarray()
    for r, c in zip(row_starts[1:-1], column_starts[1:-1], strict=True):
        dense[r:r + 3, c:c + 3] = 0
    return sp.csr_matrix(dense), column_starts, row_starts


def chains(rng):
    """Name -> chain, columns and rows of a node, number of elements."""
    yield "Galerkin", galerkin(11, 6, 4, rng), (4, 4), 11
    yield "tests left out at the end", galerkin(7, 6, 4, rng, rows_out=0), (4, 4), 7
    yield "conditions at both ends", galerkin(9, 6, 4, rng, columns_out=2, rows_out=1), (4, 4), 9
    yield "more columns than rows at the start", galerkin(9, 6, 4, rng, columns_out=1, rows_out=3), (4, 4), 9
    yield "nodes only", galerkin(6, 0, 5, rng), (5, 5), 6
    yield "single elements", galerkin(COMM.size, 5, 3, rng), (3, 3), COMM.size
    yield "bidiagonal", bidiagonal(8, rng), (10, 0), 8
    yield "many delays", many_delays(10, rng), (9, 9), 10
    yield "singular interiors", singular_interiors(rng), (4, 4), 9
    yield "singular interiors, tests left out at the end", singular_interiors(rng, rows_out=0), (4, 4), 9


def check_random_chains():
    for name, (matrix, *starts), n_node, n_elements in chains(np.random.default_rng(3)):
        pattern, data, own = distributed(matrix, *starts, n_node, n_elements)
        b = np.random.default_rng(4).uniform(-1, 1, matrix.shape[0])
        tolerance = 1e-14 * np.linalg.cond(matrix.toarray())
        for options in (CHAIN, {**CHAIN, "ksp_type": "gmres", "ksp_rtol": 1e-14}):
            solver = PETScSolver(pattern, options, COMM)
            solver.factor(data)
            x, error = solver.solve_checked(b[own])
            whole = gathered(x)
            assert error < 1e-14 and backward_error(matrix, whole, b) < 1e-14, name
            expected = spla.splu(matrix.tocsc()).solve(b)
            np.testing.assert_allclose(whole, expected, rtol=0, atol=tolerance * np.abs(expected).max(), err_msg=name)
            n = sum(COMM.allgather(solver.slabs.lu.fill))
            assert solver.factor_size == n > matrix.shape[0]
            columns, rows = abs(matrix).sum(axis=0).max(), abs(matrix).sum(axis=1).max()
            np.testing.assert_allclose((solver.norm(True), solver.norm()), (columns, rows), rtol=1e-13, err_msg=name)
            whole = gathered(solver.solve_transposed(b[own]))
            assert backward_error(matrix.T, whole, b) < 1e-13, name
            product = solver.A.createVecLeft()
            solver.x.array[:] = expected[own]
            solver.A.multTranspose(solver.x, product)
            np.testing.assert_allclose(gathered(product.array), matrix.T @ expected, rtol=0,
                                       atol=1e-12 * np.abs(expected).max(), err_msg=name)


def check_singular():
    """On every rank, wherever it is: inside of a slab, or between them."""
    rng = np.random.default_rng(6)
    for place in ("column", "row", "dependent"):
        for element in range(4):
            matrix, *starts = galerkin(4, 6, 4, rng)
            dense = matrix.toarray()
            last = starts[0][element + 2] - 1  # of a node, which two slabs share on some number of ranks
            if place == "column":
                dense[:, last] = 0
            elif place == "row":
                dense[last] = 0
            else:
                dense[:, last] = dense[:, last - 1] / 3
            pattern, data, _ = distributed(sp.csr_matrix(dense), *starts, (4, 4), 4)
            solver = PETScSolver(pattern, CHAIN, COMM)
            try:
                solver.factor(data)
            except SingularMatrix as error:
                messages = COMM.allgather(str(error))
                assert len(set(messages)) == 1 and "singular matrix" in messages[0], messages
            else:
                raise AssertionError(f"{place} {element}: not noticed")


def check_lag():
    """Old factors serve GMRES; when they serve no longer, the matrix is factored again."""
    matrix, *starts = galerkin(9, 6, 4, rng := np.random.default_rng(7))
    pattern, _, own = distributed(matrix, *starts, (4, 4), 9)
    b = np.random.default_rng(8).uniform(-1, 1, matrix.shape[0])
    options = {**CHAIN, "ksp_type": "gmres", "pc_chain_lag": 3, "ksp_rtol": 1e-13, "ksp_max_it": 20}
    solver = PETScSolver(pattern, options, COMM)
    n_factored = 0
    for call in range(5):
        moved = matrix.copy()
        moved.data = matrix.data * (1 + 1e-4 * rng.uniform(-1, 1, matrix.nnz)) * (100 if call == 4 else 1)
        if call == 4:
            moved = sp.csr_matrix(moved + sp.diags(np.full(matrix.shape[0], 50.0)))
            moved = moved.multiply(matrix != 0).tocsr()
        whole = np.zeros(matrix.nnz)
        dense = moved.toarray()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        whole[:] = dense[rows, matrix.indices]
        entries = slice(matrix.indptr[own.start], matrix.indptr[own.stop])
        solver.factor(whole[entries])
        x = gathered(solver.solve_checked(b[own])[0])
        n_factored += solver.slabs.current
        assert backward_error(sp.csr_matrix((whole, matrix.indices, matrix.indptr)), x, b) < 1e-13, call
    assert n_factored == 3, n_factored  # calls 0, 3 and, when 20 iterations did not do, 4


def check_motions():
    """The same numbers as the embedded solver; also when each slab is one element."""
    for number, element in enumerate(ELEMENTS):
        one = (spinning_box, pendulum)[number % 2], ROTATIONS[number // 2 % 2]
        for model, rotation in dict.fromkeys([one, (pendulum, "quaternion")]):
            for n_elements in (7, COMM.size):
                problem = model(rotation, t_end=0.03 * n_elements)
                expected = tf.solve(problem, element, n_elements, driver="global")
                solution = tf.solve(problem, element, n_elements, driver="global", backend="petsc", method="chain")
                what = f"{model.__name__} {rotation} {element} {n_elements}: {solution.status.message}"
                assert solution.success and solution.statistics["n_ranks"] == COMM.size, what
                assert solution.statistics["backward_error"] < 1e-12, what
                np.testing.assert_allclose(solution.z, expected.z, rtol=0, atol=1e-9 * np.abs(expected.z).max(),
                                           err_msg=what)


OPTIONS = [
    {},
    {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "python", "pc_chain_lag": 3},
    {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_factor_mat_solver_type": "superlu_dist",
     "mat_superlu_dist_replacetinypivot": True},
    {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "bjacobi", "sub_pc_type": "lu",
     "sub_pc_factor_mat_solver_type": "mumps"},
    {"ksp_type": "gmres", "ksp_rtol": 1e-12, "pc_type": "asm", "pc_asm_overlap": 4, "sub_pc_type": "lu",
     "sub_pc_factor_mat_solver_type": "mumps"},
]


def check_options():
    """Every solver that the documentation names for several ranks comes to the same."""
    if COMM.size > 3:  # iterations of ranks that share a core take minutes
        return
    problem, element = spinning_box(t_end=0.5), tf.BubnovGalerkin(2)
    expected = tf.solve(problem, element, 20)
    for options in OPTIONS:
        solution = tf.solve(problem, element, 20, driver="global", backend="petsc", petsc_options=options)
        assert solution.success, f"{options}: {solution.status.message}"
        np.testing.assert_allclose(solution.z, expected.z, rtol=0, atol=1e-9 * np.abs(expected.z).max(),
                                   err_msg=str(options))


def check_shares():
    """Slabs are of equal work, though their elements are not: by that of the slabs that there are."""
    for element in (tf.MixedGalerkin(1), tf.BubnovGalerkin(2)):
        problem = spinning_box(t_end=1)
        plan, mesh = ElementPlan(problem.system, element), tf.TimeMesh.uniform((0, 1), 400)
        scaling = Scaling.of("full", problem.system, element, 0.0, problem.z0)
        equations = DistributedEquations(plan, mesh, scaling, linear=tf.PETSc(method="substructuring"), comm=COMM)
        n = np.diff(equations.slab)[0]
        work = COMM.allgather(equations.linear.slabs.lu.work + n * OTHER_WORK * plan.columns.step**2)
        assert max(work) < 1.03 * min(work), (element, work)


CHECKS = check_random_chains, check_singular, check_lag, check_motions, check_shares, check_options

if __name__ == "__main__":
    for check in CHECKS:
        check()
        if COMM.rank == 0:
            print("passed", check.__name__, flush=True)
