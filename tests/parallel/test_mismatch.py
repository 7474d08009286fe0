"""Ranks with different problems get one message, and ranks that end do not leave the others waiting."""

import pytest

from tests.parallel.launch import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.long]


def test_different_problems_are_refused():
    run = mpirun(2, "-m", "tests.parallel.mismatch", "compare")
    assert (run.returncode, run.stdout) == (0, "12 refused\n"), run.stderr


@pytest.mark.parametrize("way", ["raise", "serial", "leave"])
def test_a_rank_that_ends(way):
    run = mpirun(3, "-m", "tests.parallel.mismatch", way)
    assert run.returncode != 0
    assert "rank 1 has ended without taking part in this solve" in run.stderr
