"""Every linear solver of the table: solves, transposed solves, norms and backward errors against dense numbers."""

import dataclasses
import gc
import importlib.util
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy

import timefem as tf
from tests.solvers.linear.test_time_chain import galerkin
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear import LINEAR_SOLVERS, LinearSolver, PETSc, linear_options
from timefem.solvers.linear.time_chain import lu as memory
from timefem.sparse import CompressedRows

PETSC = importlib.util.find_spec("petsc4py") is not None
GMRES = {"ksp_type": "gmres", "pc_type": "ilu", "pc_factor_levels": 2, "pc_factor_shift_type": "nonzero",
         "ksp_rtol": 1e-14, "ksp_max_it": 300}
SOLVERS = [options() for options in LINEAR_SOLVERS.values() if all(map(importlib.util.find_spec, options.needs))]
SOLVERS += [PETSc(method="substructuring"), PETSc(GMRES)] * PETSC


def label(options):
    return f"{options.name}-{getattr(options, 'method', None) or len(getattr(options, 'options', ()))}"


def chain(seed=5):
    matrix, columns, rows = galerkin(6, 5, 4, np.random.default_rng(seed))
    return matrix, SimpleNamespace(indptr=matrix.indptr, indices=matrix.indices, column_starts=columns, row_starts=rows)


@pytest.mark.parametrize("options", SOLVERS, ids=label)
def test_solves(options):
    matrix, pattern = chain()
    solver, dense = options.make(pattern), matrix.toarray()
    rng = np.random.default_rng(0)
    for scale in (1.0, 3.0):  # the second time on what is there
        b, v = rng.uniform(-1, 1, (2, len(dense)))
        solver.factor(scale * matrix.data)
        for transposed, a in ((False, scale * dense), (True, scale * dense.T)):
            tolerance = 1e-14 * np.linalg.cond(a)
            expected = np.linalg.solve(a, b)
            x, error = solver.solve_checked(b, transposed)
            np.testing.assert_allclose(x, expected, rtol=0, atol=tolerance * np.abs(expected).max())
            size = np.abs(a).sum(axis=1).max()
            assert solver.norm(transposed) == pytest.approx(size, rel=1e-13)
            np.testing.assert_allclose((solver.multiply_transposed if transposed else solver.multiply)(v), a @ v,
                                       rtol=0, atol=1e-13 * size)
            wrong, residual = solver.backward_error(2 * x, b, transposed)
            assert error <= 1e-13 and wrong == pytest.approx(
                np.abs(b).max() / (2 * size * np.abs(x).max() + np.abs(b).max()), rel=1e-8)
            np.testing.assert_allclose(residual, -b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("options", SOLVERS, ids=label)
def test_size_of_the_factors(options):
    matrix, pattern = chain()
    solver = options.make(pattern)
    solver.factor(matrix.data)
    if options == PETSc(GMRES):
        assert solver.factor_size is None and not solver.direct
    else:
        n = matrix.shape[0]
        assert solver.direct and n <= solver.factor_size <= n * (n + 1)


@pytest.mark.parametrize("options", SOLVERS, ids=label)
def test_singular_matrices_are_refused(options):
    matrix, pattern = chain()
    data = matrix.data.copy()
    data[matrix.indptr[7]:matrix.indptr[8]] = 0
    solver = options.make(pattern)
    with pytest.raises(tf.SolveError), np.errstate(all="ignore"):
        solver.factor(data)
        solver.solve_checked(np.ones(matrix.shape[0]))


@pytest.mark.parametrize("options", SOLVERS, ids=label)
def test_options_are_values(options):
    again = dataclasses.replace(options)
    assert again == options and hash(again) == hash(options) and pickle.loads(pickle.dumps(options)) == options
    assert linear_options(options) is options
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.name = "other"


def test_shorthands():
    assert [linear_options(name) for name in ("chain", "superlu")] == [tf.TimeChain(), tf.SuperLU()]
    assert linear_options() == tf.TimeChain()
    with pytest.raises(tf.InputError, match="did you mean 'superlu'"):
        linear_options("superlo")
    with pytest.raises(tf.InputError, match=r"SuperLU\(\), not the class itself"):
        linear_options(tf.SuperLU)
    with pytest.raises(tf.InputError, match="method is given, but the backend is 'superlu': add backend='petsc'"):
        linear_options("superlu", method="mumps")


@pytest.mark.skipif(not PETSC, reason="PETSc is an extra")
def test_shorthands_of_petsc():
    assert linear_options("petsc", method="chain") == tf.PETSc(method="substructuring")
    assert linear_options("petsc", options={"ksp_type": "gmres"}) == tf.PETSc({"ksp_type": "gmres"})
    with pytest.raises(tf.InputError, match="petsc_options are given beside PETSc"):
        linear_options(tf.PETSc(), options={"ksp_type": "gmres"})
    assert tf.PETSc(method="chain").by_slabs and tf.PETSc({"-timefem_pc_type": "python"}).by_slabs
    assert not tf.PETSc().by_slabs


@pytest.mark.parametrize("arguments, message", [
    ({"method": "lu"}, "method must be one of 'mumps', 'substructuring'"),
    ({"method": "chain", "options": {"-timefem_pc_type": "lu"}}, "give either method or the PETSc option"),
    ({"options": "gmres"}, "options must be a dict"), ({"options": {1: "gmres"}}, "not 1"),
    ({"options": {"ksp_type": ["gmres"]}}, "'ksp_type' must be text, a number or a bool")])
def test_wrong_options_of_petsc(arguments, message):
    with pytest.raises(tf.InputError, match=message):
        tf.PETSc(**arguments)


@pytest.mark.skipif(not PETSC, reason="PETSc is an extra")
def test_superlu_dist_has_no_transposed_solves():
    """It solves with A where A^T is asked for, and says nothing."""
    matrix, pattern = chain()
    solver = tf.PETSc({"pc_factor_mat_solver_type": "superlu_dist", "mat_superlu_dist_replacetinypivot": True}).make(
        pattern)
    solver.factor(matrix.data)
    b = np.ones(matrix.shape[0])
    np.testing.assert_allclose(matrix @ solver.solve_checked(b)[0], b, rtol=0, atol=1e-9)
    for solve in (solver.solve_transposed, lambda b: solver.solve_checked(b, transposed=True)):
        with pytest.raises(tf.InputError, match="PETSc's superlu_dist has no transposed solves; backend 'chain'"):
            solve(b)


def test_newton_steps_are_refined_only_where_they_leave_much(monkeypatch):
    """Below a backward error of 1e-12 the next step refines; solves whose answers are final are refined from 1e-14."""
    matrix, pattern = chain()
    solver = linear_options("chain").make(pattern)
    exact, asked, rounding = solver.solve, [], []

    def rounded(b):
        asked.append(b)
        x = exact(b)
        return x + rounding[-1] * np.abs(x).max() * np.resize([1.0, -1.0], len(x))

    monkeypatch.setattr(solver, "solve", rounded)
    solver.factor(matrix.data)
    equations = SimpleNamespace(linear=solver, data=matrix.data, seconds={"solve": 0.0}, backward_error=0.0,
                                condition_known=True)
    b = np.random.default_rng(1).uniform(-1, 1, matrix.shape[0])
    for size, in_newton, final in ((1e-13, 1, 2), (1e-9, 2, 2)):
        rounding.append(size)
        asked.clear()
        ElementEquations.linear_step(equations, b)
        assert len(asked) == in_newton and equations.backward_error < 1e-12
        asked.clear()
        assert solver.solve_checked(b)[1] < 1e-14 and len(asked) == final


class InPlace(LinearSolver):
    """One that works in `b` and in what it answered before; `answer` is what it makes of that."""

    name, factor_of_error, answer = "in place", 0.0, staticmethod(lambda x: x)

    def _factor(self, matrix):
        self._inverse, self._x = np.linalg.inv(matrix.toarray()), np.zeros(matrix.shape[0])

    def solve(self, b):
        b[:] = self._inverse @ b
        self._x[:] = (1 + self.factor_of_error) * b
        return self.answer(self._x)

    def solve_transposed(self, b):
        b[:] = self._inverse.T @ b
        return b


def in_place():
    matrix, pattern = chain()
    solver = InPlace(pattern)
    solver.factor(matrix.data)
    return solver, matrix.toarray(), np.random.default_rng(0).uniform(-1, 1, (2, matrix.shape[0]))


def test_answers_are_checked_against_what_was_asked():
    """Also of a solver that overwrites the right-hand side: b and what it answered before stay as they are."""
    solver, a, (b, c) = in_place()
    asked = b.copy()
    x, _ = solver.solve_checked(b)
    solver.solve_checked(c)
    np.testing.assert_array_equal(b, asked)
    np.testing.assert_allclose(a @ x, b, rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.T @ solver.solve_checked(b, transposed=True)[0], b, rtol=0, atol=1e-10)
    solver.factor_of_error = 1e-4  # one step of refinement, from the same buffer
    np.testing.assert_allclose(a @ solver.solve_checked(b)[0], b, rtol=0, atol=1e-5)
    solver.factor_of_error = 2.0
    with pytest.raises(tf.SolveError, match="gave no solution"):
        solver.solve_checked(b)


@pytest.mark.parametrize("answer", [lambda x: None, list, lambda x: x[:-1], lambda x: x[:, None]])
def test_answers_of_another_kind(answer):
    solver, _, (b, _) = in_place()
    solver.answer = answer
    with pytest.raises(tf.SolveError, match=r"'in place' must answer by an array of shape \(\d+,\), not "):
        solver.solve_checked(b)


# ---- products with compressed rows against those of SciPy

def test_products_are_those_of_scipy():
    rng = np.random.default_rng(0)
    a = scipy.sparse.random_array((40, 40), density=0.2, rng=rng, format="csr")
    own, x = CompressedRows(a.indptr, a.indices, a.data), rng.normal(size=40)
    np.testing.assert_allclose(own @ x, a @ x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(own.T @ x, a.T @ x, rtol=0, atol=1e-14)
    own.data = 2 * a.data
    np.testing.assert_allclose(own @ x, 2 * (a @ x), rtol=0, atol=1e-14)


# ---- memory for factors is used again once its owner is gone, and only then

class Owner:
    pass


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory, "_kept", [])


def test_taken_again_after_its_owner():
    owner, other = Owner(), Owner()
    place = memory.borrow(owner, 1000).ctypes.data
    assert place % 64 == 0
    assert memory.borrow(other, 1000).ctypes.data != place  # still in use
    del owner
    gc.collect()
    assert memory.borrow(other, 100).ctypes.data != place  # far too large
    assert memory.borrow(other, 2000).ctypes.data != place  # too small
    assert memory.borrow(other, 600).ctypes.data == place
    assert memory.borrow(other, 600).ctypes.data != place


@pytest.mark.long
def test_not_more_is_kept_than_the_limit(monkeypatch):
    gc.collect()  # what other tests left is given back before
    monkeypatch.setattr(memory, "MOST_KEPT", 20_000)
    monkeypatch.setattr(memory, "_kept", [])
    owners = [Owner() for _ in range(5)]
    for i, owner in enumerate(owners):
        memory.borrow(owner, 1000 + i)
    memory.borrow(owners[0], 3000)  # alone above the limit
    owners.clear()
    del owner
    gc.collect()
    assert 0 < sum(a.nbytes for a in memory._kept) <= 20_000
    assert all(np.shape(a) for a in memory._kept)
