"""`timefem run` under mpirun: the same numbers on any number of ranks, one JSON object, errors that end all ranks."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.parallel.launch import mpirun, timefem

pytestmark = pytest.mark.mpi

SHARED = ("--driver", "global", "--backend", "petsc", "--json")
CASES = {  # ranks, and the arguments; elements that the ranks do not divide
    "BG(1)": ((2,), ["spinning-box", "--element", "bg", "--degree", "1", "--n-elements", "7", "--t-end", "0.2"]),
    "BG(2) continuous": ((1, 3), ["physical-pendulum", "--element", "bg", "--degree", "2", "--multipliers",
                                  "continuous", "--n-elements", "7", "--t-end", "0.7"]),
    "BG(3)": ((2, 3), ["spinning-box", "--element", "bg", "--degree", "3", "--n-elements", "7", "--t-end", "0.35"]),
    "BG(3) directors": ((3,), ["spinning-box", "--rotation", "directors", "--element", "bg", "--degree", "3",
                               "--n-elements", "3", "--t-end", "0.15"]),
    "BG(2) drop end": ((2, 3), ["spinning-box", "--element", "bg", "--degree", "2", "--drop", "end", "--n-elements",
                                "7", "--t-end", "0.35"]),
    "mG(2)": ((3,), ["spinning-box", "--element", "mg", "--degree", "2", "--n-elements", "7", "--t-end", "0.35"]),
    "mG(2) directors": ((2,), ["physical-pendulum", "--rotation", "directors", "--element", "mg", "--n-elements", "3",
                               "--t-end", "0.3"]),
}
QUICK = "BG(3)", "mG(2)"  # beside which the others differ little


def one_json(run):
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_equal_motion(a, b):
    assert a["final"].keys() == b["final"].keys()
    for body, state in a["final"].items():
        for quantity, value in state.items():
            np.testing.assert_allclose(value, b["final"][body][quantity], rtol=0, atol=1e-9, err_msg=quantity)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in CASES])
def test_any_number_of_ranks_gives_the_same(name, capfd):
    from timefem.cli import main

    counts, arguments = CASES[name]
    assert main(["run", *arguments, "--driver", "global", "--backend", "superlu", "--json"]) == 0
    serial = json.loads(capfd.readouterr().out)
    for n_ranks in counts:
        r = one_json(timefem(n_ranks, "run", *arguments, *SHARED))
        assert (r["n_ranks"], r["backend"], r["n_unknowns"]) == (n_ranks, "petsc", serial["n_unknowns"])
        assert_equal_motion(r, serial)


@pytest.mark.long
def test_petsc_options_are_used(tmp_path):
    arguments = CASES["BG(3)"][1]
    run = timefem(2, "run", *arguments, *SHARED, "-o", tmp_path / "box.h5", "-timefem_ksp_type", "gmres",
                  "-timefem_pc_type", "bjacobi", "-timefem_sub_pc_type", "lu",
                  "-timefem_sub_pc_factor_mat_solver_type", "mumps", "-timefem_ksp_rtol", "1e-12", "-timefem_ksp_view")
    r = one_json(run)  # what -ksp_view prints goes to standard error
    assert "type: gmres" in run.stderr and "type: bjacobi" in run.stderr
    sol = tf.solution.load(tmp_path / "box.h5")
    assert sol.success and sol.t[-1] == 0.35
    np.testing.assert_allclose(sol.quaternion("box", 0.35), r["final"]["box"]["quaternion"], rtol=0, atol=1e-12)


@pytest.mark.long
def test_more_ranks_than_elements():
    run = timefem(3, "run", "spinning-box", "--element", "bg", "--n-elements", "2", *SHARED)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("timefem: error: 3 ranks cannot share 2 elements") == 1


@pytest.mark.long
def test_failed_solve():
    run = timefem(2, "run", *CASES["BG(3)"][1], *SHARED, "--max-iterations", "1")
    assert run.returncode == 1
    r = json.loads(run.stdout)
    assert r["status"] == "failed" and r["reason"] == "not converged" and r["t_final"] == 0


@pytest.mark.long
def test_ranks_that_repeat_the_work_say_so():
    run = timefem(2, "run", "spinning-box", "--n-elements", "10", "--t-end", "0.2", "--json")
    assert one_json(run)["n_ranks"] == 1
    assert run.stderr.count("ranks repeat the same work") == 1


def test_inequalities_are_shared():
    arguments = "run", "cart-pole-limited", "--n-elements", "65", "--backend", "petsc", "--json"
    shared = timefem(2, *arguments)
    r = one_json(shared)
    assert (r["n_ranks"], r["backend"]) == (2, "interior-point") and "repeat the same work" not in shared.stderr
    serial = one_json(timefem(1, *arguments))
    assert serial["n_ranks"] == 1 and r["objective"] == pytest.approx(serial["objective"], rel=1e-10)
    assert r["newton_iterations"] == serial["newton_iterations"]


@pytest.mark.long
@pytest.mark.parametrize("arguments, message", [
    (["--method", "ipopt"], "method='ipopt' runs on one process"),
    (["--method", "mumps"], "leave out methods and options of PETSc"),
    (["-timefem_ksp_type", "gmres"], "leave out methods and options of PETSc"),
])
def test_what_inequalities_cannot_share(arguments, message):
    run = timefem(2, "run", "cart-pole-limited", "--n-elements", "65", "--backend", "petsc", *arguments)
    assert (run.returncode, run.stdout) == (2, "") and run.stderr.count(message) == 1


def test_error_on_one_rank_ends_all():
    code = ("from mpi4py import MPI; from timefem import cli; from timefem.solving import solve as module\n"
            "solve = module.solve\n"
            "module.solve = lambda *a, **k: 1 / 0 if MPI.COMM_WORLD.rank else solve(*a, **k)\n"
            f"cli.main(['run', *{CASES['BG(3)'][1]!r}, *{SHARED!r}])")
    run = mpirun(2, "-c", code)
    assert run.returncode != 0 and "ZeroDivisionError" in run.stderr


@pytest.mark.long
def test_demo(tmp_path):
    demo = Path(__file__).parents[2] / "examples" / "demo.py"
    run = mpirun(2, demo, "--output", tmp_path, "-timefem_ksp_type", "fgmres")
    assert run.returncode == 0, run.stderr
    assert "global, petsc" in run.stdout and (tmp_path / "demo.png").exists()
