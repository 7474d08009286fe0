"""A fault on one rank ends all ranks within seconds, with one message that names rank, elements and reason."""

import time

import pytest

from tests.parallel.launch import mpirun

pytestmark = pytest.mark.mpi
SLAB = "elements 6 to 12"


@pytest.mark.parametrize("fault, driver, words", [
    ("nan", "global", ["not finite in element 10 at t = 0.5, on rank 1 (elements 6 to 12)"]),
    ("raise", "windows", [f"RankError: rank 1 ({SLAB}, t = 0.3 to 0.65): ValueError: boom"]),
    ("factor", "global", [f"rank 1 ({SLAB}, t = 0.3 to 0.65): SolveError: no pivot"]),
    ("meet", "global", [f"rank 1 ({SLAB}, t = 0.3 to 0.65): ValueError: boom"])])
def test_fault_on_one_rank(fault, driver, words):
    start = time.monotonic()
    run = mpirun(3, "-m", "tests.parallel.failures", fault, driver)
    assert run.returncode != 0 and time.monotonic() - start < 60
    for word in words:
        assert run.stderr.count(word) == 1, run.stderr
    for rank in (0, 2):
        assert f"rank {rank} (" not in run.stderr


def test_command_line_tells_once():
    code = ("from mpi4py import MPI; from timefem import cli; from timefem.assembly import Assembler\n"
            "if MPI.COMM_WORLD.rank == 1: Assembler.evaluate = lambda *a: 1 / 0\n"
            "raise SystemExit(cli.main('run spinning-box --element bg --n-elements 8 --driver global --backend petsc "
            "--json'.split()))")
    run = mpirun(2, "-c", code)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.count("timefem: error: rank 1 (elements 4 to 7, t = ") == 1
    assert run.stderr.count("ZeroDivisionError: division by zero\n") == 2  # in the message, and at the end of its trace
