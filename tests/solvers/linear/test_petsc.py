"""Options and troubles of the PETSc backend, on one process."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.cli import main
from timefem.solvers.linear.petsc_matrix import check_numpy

pytest.importorskip("petsc4py", reason="PETSc is an extra")


def solve(options, problem=spinning_box, element=None):
    return tf.solve(problem(t_end=1), element or tf.BubnovGalerkin(2), 20, backend="petsc", petsc_options=options)


@pytest.mark.parametrize("options", [
    {"ksp_type": "gmres", "pc_type": "bjacobi", "sub_pc_type": "lu", "sub_pc_factor_mat_solver_type": "mumps"},
    {"-timefem_pc_factor_mat_solver_type": "superlu_dist", "mat_superlu_dist_replacetinypivot": True},
    {"ksp_type": "gmres", "pc_factor_mat_solver_type": "petsc", "pc_factor_shift_type": "nonzero"},
    {"ksp_type": "gmres", "pc_type": "ilu", "pc_factor_levels": 3, "pc_factor_shift_type": "nonzero",
     "ksp_rtol": 1e-12, "ksp_max_it": 500},
    {"ksp_type": "gmres", "pc_type": "asm", "pc_asm_overlap": 2, "sub_pc_type": "lu",
     "sub_pc_factor_mat_solver_type": "mumps"},
    {"ksp_type": "gmres", "pc_type": "python", "pc_chain_lag": 3, "ksp_rtol": 1e-12},
    {"pc_factor_mat_solver_type": "umfpack"}, {"mat_mumps_icntl_14": 300}])
def test_options_reach_petsc(options):
    reference = tf.solve(spinning_box(t_end=1), tf.BubnovGalerkin(2), 20)
    solution = solve(options)
    assert solution.success, solution.status.message
    np.testing.assert_allclose(solution.z, reference.z, rtol=0, atol=1e-8 * np.abs(reference.z).max())


def test_options_do_not_leak_into_the_next_solve():
    weak = {"ksp_type": "richardson", "pc_type": "none", "ksp_max_it": 1}
    assert not solve(weak).success
    assert solve(None).success


@pytest.mark.parametrize("options", [{"ksp_typ": "gmres"}, {"pc_factor_levels": 3}])
def test_unused_options_are_refused(options):
    with pytest.raises(tf.InputError, match=f"did not use the option -timefem_{next(iter(options))}"):
        solve(options)


def test_wrong_values_are_named():
    with pytest.raises(tf.InputError, match="ksp_type"):
        solve({"ksp_type": "magic"})


def test_iterations_that_do_not_converge_are_reported():
    solution = solve({"ksp_type": "gmres", "pc_type": "none", "ksp_max_it": 3})
    assert not solution.success and solution.status.reason == "linear solver failed"
    assert "KSP stopped with" in solution.status.message


def test_static_pivots_that_do_not_do_are_reported():
    """PETSc's own LU takes pivots from the diagonal, which has zeros here."""
    solution = solve({"pc_factor_mat_solver_type": "petsc"})
    assert not solution.success and "DIVERGED_PCSETUP_FAILED" in solution.status.message


def test_mumps_gets_more_workspace_when_it_asks():
    """This pattern delays so many pivots that 20 % more workspace, the default of MUMPS, does not do."""
    solution = solve(None, pendulum, tf.BubnovGalerkin(1))
    assert solution.success and solution.statistics["backward_error"] < 1e-12


KEPT = """
import numpy as np
from types import SimpleNamespace
from timefem.solvers.linear.petsc import PETScSolver

n = 6
pattern = SimpleNamespace(indptr=np.arange(n + 1), indices=np.arange(n), column_starts=np.array([0, 3, n]),
                          row_starts=np.array([0, 3, n]), n_node=(0, 0))
solver = PETScSolver(pattern, {"pc_type": "python"})
solver.factor(np.ones(n))
solver.solve(np.ones(n))
"""


@pytest.mark.long
def test_a_solver_alive_at_the_end_of_the_process():
    """PETSc's end would call Python objects that are gone."""
    run = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# ---- A NumPy that petsc4py was not compiled for is reported in one line, with what to do

ROOT = Path(__file__).parents[3]


@pytest.fixture
def newer_numpy(monkeypatch, tmp_path):
    """`newer_numpy(content)`: NumPy 2 beside a petsc4py whose library has that content."""
    def make(content):
        (tmp_path / "PETSc.so").write_bytes(content)
        find_spec = util.find_spec
        monkeypatch.setattr(np, "__version__", "2.1.0")
        monkeypatch.setattr(util, "find_spec", lambda name, *more: SimpleNamespace(
            submodule_search_locations=[str(tmp_path)]) if name == "petsc4py" else find_spec(name, *more))

    return make


def test_compiled_for_numpy_1(newer_numpy):
    newer_numpy(b"...numpy.core._multiarray_umath...")
    with pytest.raises(tf.MissingBackend, match=r"compiled for NumPy 1 and does not load with NumPy 2\.1\.0: pip"):
        check_numpy()


def test_compiled_for_numpy_2(newer_numpy):
    newer_numpy(b"...numpy._core._multiarray_umath...numpy.core...")
    assert check_numpy() is None


def test_info_and_run(newer_numpy, capsys):
    newer_numpy(b"numpy.core")
    assert main(["info"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "compiled for NumPy 1" in shown
    assert main(["run", "spinning-box", "--n-elements", "4", "--driver", "global", "--backend", "petsc"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "numpy<2" in error


@pytest.mark.long
def test_a_library_that_does_not_load(tmp_path):
    package = tmp_path / "petsc4py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "PETSc.py").write_text("raise ValueError('numpy.dtype size changed, Expected 96 from C header')")
    run = subprocess.run([sys.executable, "-m", "timefem", "run", "spinning-box", "--n-elements", "4", "--driver",
                          "global", "--backend", "petsc"], text=True, capture_output=True, cwd=ROOT,
                         env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}, timeout=120)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert "petsc4py does not load with NumPy" in run.stderr and "numpy<2" in run.stderr
