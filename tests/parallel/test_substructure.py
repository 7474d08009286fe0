"""Time-chain substructuring under mpirun: everything in one launch per number of ranks."""

import os
from pathlib import Path

import pytest

from tests.parallel import launch

pytestmark = [pytest.mark.mpi, pytest.mark.long]
CHECKS = Path(__file__).with_name("substructure_checks.py")


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_substructure(n_ranks, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(CHECKS.parents[2]), prepend=os.pathsep)
    run = launch.mpirun(n_ranks, CHECKS)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("passed") == 6
