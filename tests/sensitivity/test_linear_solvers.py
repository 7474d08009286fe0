"""Gradients and sensitivities by every linear solver are the same numbers."""

import importlib.util

import numpy as np
import pytest

import timefem as tf
from tests.parallel.launch import mpirun
from tests.parallel.linear_algebra import FUNCTIONALS, SUPERLU_DIST, hinged, parameters
from timefem.solvers.linear import LINEAR_SOLVERS

pytestmark = pytest.mark.long

PETSC = importlib.util.find_spec("petsc4py") is not None
SOLVERS = [name for name, options in LINEAR_SOLVERS.items() if all(map(importlib.util.find_spec, options.needs))]
SOLVERS += [tf.PETSc(method="substructuring"),
            tf.PETSc({"-timefem_ksp_type": "gmres", "-timefem_ksp_rtol": 1e-13, "pc_factor_mat_solver_type": "umfpack"})
            ] * PETSC


@pytest.fixture(scope="module")
def solved():
    problem = hinged()
    solution = tf.solve(problem, tf.MixedGalerkin(2), 15)
    at, chosen = tf.Linearization(solution), parameters(problem)
    return solution, chosen, tf.gradient(at, FUNCTIONALS[0], chosen), tf.sensitivities(at, FUNCTIONALS, chosen)


@pytest.mark.parametrize("linear", SOLVERS, ids=str)
def test_the_same_numbers(solved, linear):
    solution, chosen, gradient, sensitivities = solved
    at = tf.Linearization(solution, linear)
    np.testing.assert_allclose(tf.gradient(at, FUNCTIONALS[0], chosen), gradient, rtol=1e-8, atol=0)
    np.testing.assert_allclose(tf.sensitivities(solution, FUNCTIONALS, chosen, linear=linear), sensitivities, rtol=1e-8,
                               atol=1e-12 * np.abs(sensitivities).max())
    assert np.abs(gradient).min() > 1e-6


@pytest.mark.skipif(not PETSC, reason="PETSc is an extra")
def test_without_transposed_solves(solved):
    solution, chosen, *_ = solved
    at = tf.Linearization(solution, tf.PETSc(SUPERLU_DIST))
    with pytest.raises(tf.InputError, match="PETSc's superlu_dist has no transposed solves"):
        tf.gradient(at, FUNCTIONALS[0], chosen)


def test_a_linearization_has_its_solver(solved):
    solution, chosen, *_ = solved
    with pytest.raises(tf.InputError, match="linear is given, but the Linearization has its own"):
        tf.gradient(tf.Linearization(solution), FUNCTIONALS[0], chosen, linear="superlu")
    with pytest.raises(tf.InputError, match="did you mean 'superlu'"):
        tf.Linearization(solution, "superlo")


@pytest.mark.mpi
@pytest.mark.parametrize("n_ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_on_several_ranks(n_ranks):
    run = mpirun(n_ranks, "-m", "tests.parallel.linear_algebra")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "9 agree\n"
