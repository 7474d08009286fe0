"""Any number of ranks, method and driver gives the numbers of one process."""

import pytest

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
