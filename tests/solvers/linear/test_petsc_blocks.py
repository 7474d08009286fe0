"""Blocks in time, and states and multipliers, as preconditioners of PETSc: counts of iterations that theory gives."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.cli import main
from timefem.solvers.linear.petsc_matrix import of_slabs, rows_beside
from timefem.studies import preconditioners

pytest.importorskip("petsc4py", reason="PETSc is an extra")


def solve(problem, element, options=None, method=None, n=24):
    return tf.solve(problem, element, n, driver=tf.Global(tf.PETSc(options or {}, method=method)))


def iterations(sol):
    return sol.statistics["per_rank"]["krylov_iterations"][0]


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("make", [spinning_box, pendulum])
@pytest.mark.parametrize(("method", "n_slabs", "expected"), [
    ("block-jacobi", 3, 3), ("block-jacobi", 6, 6), ("gauss-seidel", 6, 1), ("schwarz", 4, 4)])
def test_slabs_of_initial_values_take_as_many_iterations_as_slabs(make, degree, method, n_slabs, expected):
    """The inverse of a block triangular matrix of S blocks is a polynomial of degree S - 1 in its blocks; forwards in
    time one block after the other is the march."""
    problem, element = make(t_end=0.6), tf.MixedGalerkin(degree)
    reference = tf.solve(problem, element, 24)
    sol = solve(problem, element, {"pc_time_slabs": n_slabs}, method)
    assert sol.success, sol.status.message
    np.testing.assert_allclose(sol.z, reference.z, rtol=0, atol=1e-9 * np.abs(reference.z).max())
    assert iterations(sol) <= expected if method == "schwarz" else iterations(sol) == expected


def test_schur_complement_of_the_multipliers():
    problem = pendulum(t_end=0.3)
    reference = tf.solve(problem, tf.MixedGalerkin(1), 12)
    sol = solve(problem, tf.MixedGalerkin(1), method="schur", n=12)
    assert sol.success and 1 < iterations(sol) < 200
    np.testing.assert_allclose(sol.z, reference.z, rtol=0, atol=1e-9 * np.abs(reference.z).max())


def test_options_choose_the_same_blocks(capfd):
    """What a user of PETSc types; the view of the solver names the blocks."""
    sol = solve(spinning_box(t_end=0.6), tf.MixedGalerkin(1), {
        "ksp_type": "gmres", "pc_type": "fieldsplit", "pc_fieldsplit_type": "multiplicative", "pc_time_slabs": 3,
        "ksp_pc_side": "right", "ksp_rtol": 1e-11, "ksp_view": None})
    assert sol.success and iterations(sol) == 1
    out, err = capfd.readouterr()
    assert all(f"slab{k}" in out + err for k in range(3)) and "slab3" not in out + err


@pytest.mark.parametrize(("options", "method", "message"), [
    ({"pc_time_slabs": 0}, "block-jacobi", "pc_time_slabs"),
    ({"pc_time_slabs": "many"}, "gauss-seidel", "must be an integer"),
    ({"ksp_type": "gmres", "pc_type": "fieldsplit", "pc_fieldsplit_sets": "fields"}, None,
     "slabs or states, not 'fields'"),
    ({"ksp_type": "gmres", "pc_type": "asm", "pc_asm_sets": "states"}, None, "slabs, not 'states'"),
    ({"pc_type": "asm"}, "block-jacobi", "either method or the PETSc option 'pc_type'")])
def test_blocks_that_cannot_be_are_refused(options, method, message):
    with pytest.raises(tf.InputError, match=message):
        solve(spinning_box(t_end=0.6), tf.MixedGalerkin(1), options, method)


def test_who_stagnates_is_told_what_works():
    sol = solve(spinning_box(t_end=0.6), tf.MixedGalerkin(1), {"ksp_max_it": 2, "pc_time_slabs": 6}, "block-jacobi")
    assert not sol.success and "take method='substructuring'" in sol.status.message


def test_rows_beside_multipliers():
    multipliers, constraints = np.array([0, 0, 1, 0, 1], bool), np.array([1, 0, 0, 0, 1], bool)
    assert rows_beside(multipliers, constraints).tolist() == [2, 0, 1, 3, 4]
    with pytest.raises(tf.InputError, match="2 multipliers and 1 rows of constraints"):
        rows_beside(multipliers, np.array([1, 0, 0, 0, 0], bool))


def test_slabs_end_where_elements_do():
    starts = np.array([0, 3, 8, 13, 18, 21])
    assert of_slabs(starts, 2).tolist() == [0, 8, 21]
    assert of_slabs(starts, 5).tolist() == of_slabs(starts, 7).tolist() == starts.tolist()


def test_study_counts_and_says_why(capsys):
    problem = spinning_box(t_end=0.5)
    found = preconditioners(problem, [tf.MixedGalerkin(1), tf.BubnovGalerkin(1)], [16], [4],
                            ["block-jacobi", "gauss-seidel"])
    assert [(s.element, s.method, s.n_slabs) for s in found] == [
        ("mG(1)", "block-jacobi", 4), ("mG(1)", "gauss-seidel", 4), ("BG(1)", "block-jacobi", 4),
        ("BG(1)", "gauss-seidel", 4)]
    assert [s.iterations for s in found[:2]] == [4, 1]
    assert all(s.condition > 1 for s in found) and all((s.iterations is None) == bool(s.failure) for s in found)
    arguments = "study preconditioners reorientation --degree 1 --elements 16 --slabs 4 --method block-jacobi --json"
    assert main(arguments.split()) == 0
    study, = json.loads(capsys.readouterr().out)["studies"]
    assert study["kind"] == "BoundaryValueProblem" and study["iterations"] > 4 and study["condition"] is None


def test_study_refuses_what_it_cannot_count():
    problem = SimpleNamespace(make=lambda: spinning_box(t_end=0.5))
    with pytest.raises(tf.InputError, match="16 slabs of 8 elements"):
        preconditioners(problem, tf.MixedGalerkin(1), [8], [16])
    with pytest.raises(tf.InputError, match="method"):
        preconditioners(problem, tf.MixedGalerkin(1), methods=["ilu"])
