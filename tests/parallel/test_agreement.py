"""Any number of ranks, method and driver gives the numbers of one process."""

import os
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box
from tests.parallel import launch
from tests.parallel.launch import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.long]


SLOW = [(1, "quaternion"), (1, "directors"), (2, "directors"), (3, "quaternion"), (3, "directors"), (4, "quaternion")]


@pytest.mark.parametrize("n_ranks, rotation", [(2, "quaternion"), (4, "directors"),
                                               *(pytest.param(*way, marks=pytest.mark.slow) for way in SLOW)])
def test_ranks_methods_and_drivers_agree(n_ranks, rotation):
    run = mpirun(n_ranks, "-m", "tests.parallel.agreement", rotation)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "48 agree\n"


@pytest.mark.parametrize("n_ranks", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4))])
def test_problems_of_all_kinds_agree(n_ranks):
    run = mpirun(n_ranks, "-m", "tests.parallel.problems")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "9 agree\n"


@pytest.mark.parametrize("n_ranks, which", [
    (2, "kinds"), pytest.param(2, "many", marks=pytest.mark.slow),
    *(pytest.param(n, which, marks=pytest.mark.slow) for n in (3, 4) for which in ("kinds", "cases", "many"))])
def test_inequalities_agree(n_ranks, which):
    run = mpirun(n_ranks, "-m", "tests.parallel.inequalities", which)
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{ {'kinds': 10, 'cases': 7, 'many': 1}[which]} agree\n"


@pytest.mark.parametrize("n_ranks", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4))])
def test_phases_agree(n_ranks):
    run = mpirun(n_ranks, "-m", "tests.parallel.phases")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "6 agree\n"


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_guesses_and_ways_do_not_show_the_ranks(n_ranks):
    run = mpirun(n_ranks, "-W", "ignore", "-m", "tests.parallel.guesses")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "15 alike\n"


# ---- ranks with different problems get one message, and ranks that end do not leave the others waiting

def test_different_problems_are_refused():
    run = mpirun(2, "-m", "tests.parallel.mismatch", "compare")
    assert (run.returncode, run.stdout) == (0, "12 refused\n"), run.stderr


@pytest.mark.parametrize("way", ["raise", "serial", "leave"])
def test_a_rank_that_ends(way):
    run = mpirun(3, "-m", "tests.parallel.mismatch", way)
    assert run.returncode != 0
    assert "rank 1 has ended without taking part in this solve" in run.stderr


# ---- estimation over ranks, with and without dynamics: motion, covariance and evidence of one process

@pytest.mark.parametrize("n_ranks", [2, 5])
def test_motions_and_covariances(n_ranks):
    run = mpirun(n_ranks, "-m", "tests.parallel.estimation", time_limit=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("agree\n")


# ---- time-chain substructuring under mpirun: everything in one launch per number of ranks

CHECKS = Path(__file__).with_name("substructure_checks.py")


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_substructure(n_ranks, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(CHECKS.parents[2]), prepend=os.pathsep)
    run = launch.mpirun(n_ranks, CHECKS)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("passed") == 6


# ---- A distributed solve that is stopped goes on, with the same answer, on another number of ranks

@pytest.mark.parametrize("driver", ["global", "windows"])
def test_restart_on_other_numbers_of_ranks(driver, tmp_path):
    path = tmp_path / "run.h5"
    for n_ranks, action in ((3, "stop"), (2, "restart")):
        run = mpirun(n_ranks, "-m", "tests.parallel.stopping", driver, path, action)
        assert (run.returncode, run.stdout) == (0, f"{action} done\n"), run.stderr
    window = {"window": 7} if driver == "windows" else {}
    whole = tf.solve(spinning_box(t_end=1), tf.BubnovGalerkin(2, "continuous"), 31, driver=driver, **window)
    alone = tf.restart(path)
    size = np.abs(whole.nodal.state).max()
    np.testing.assert_allclose(alone.nodal.state, whole.nodal.state, rtol=0, atol=1e-9 * size)
