"""Estimation over ranks, with and without dynamics: motion, covariance and evidence of one process."""

import pytest

from tests.parallel.launch import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.long]


@pytest.mark.parametrize("n_ranks", [2, 5])
def test_motions_and_covariances(n_ranks):
    run = mpirun(n_ranks, "-m", "tests.parallel.estimation", time_limit=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("agree\n")
