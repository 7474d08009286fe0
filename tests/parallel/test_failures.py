"""A fault on one rank ends all ranks within seconds, with one message that names rank, elements and reason."""

import time

import pytest

from tests.parallel.launch import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.long]
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


COMPILING = """
import time
from mpi4py import MPI
from timefem import parallel
from timefem.errors import RankError
from timefem.kernels.store import store
parallel.PATIENCE, comm = 0.5, MPI.COMM_WORLD
parallel.own_world()
if comm.rank == 0:
    with store().lock("loops"), store().lock("0"):
        time.sleep(1.5)  # as long as it may take to compile
try:
    parallel.agree(comm, ValueError("boom") if comm.rank else None, "here")
except RankError as error:
    print(str(error).splitlines()[0])
"""


def test_ranks_that_compile_are_waited_for(tmp_path):
    run = mpirun(2, "-c", COMPILING, TIMEFEM_CACHE_DIR=str(tmp_path))
    assert (run.returncode, run.stdout.count("rank 1 (here): ValueError: boom")) == (0, 2), run.stderr


SLABS = """
import timefem as tf
from mpi4py import MPI
z = [0, 0, 1]
body = tf.RigidBody(1, [1, 1, 1], name="rotor")
hinge = tf.Revolute(body, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=z, axis_b=z)
# the second one parts from the first on the last rank only
drives = [tf.PrescribedAngle(body, angle=angle, axis_b=z, direction_a=[1, 0, 0], direction_b=[1, 0, 0], name=name)
          for name, angle in (("drive", "2 * t"), ("other", "2 * t + max(t - 0.55, 0)**2"))]
system = tf.System([body, hinge, *drives], redundant="drop")
problem = tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=[0, 0, 2.0])}, (0, 1))
sol = tf.solve(problem, tf.MixedGalerkin(2), 10, driver=tf.Global(linear=tf.PETSc(), gather=False), progress=False)
assert type(sol).__name__ == "SlabSolution"
texts = sol.comm.gather(f"{sol.success} {sol.status.message}")
if sol.comm.rank == 0:  # lines of two ranks may come in pieces
    print(*texts, sep=chr(10))
"""


def test_constraints_that_do_not_hold_on_one_slab():
    run = mpirun(2, "-c", SLABS)
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and len(lines) == 2 and lines[0] == lines[1], run.stdout + run.stderr
    assert lines[0].startswith("False constraints not redundant in element ") and "other: angle" in lines[0]
    assert int(lines[0].split("element ")[1].split()[0]) >= 5  # on the second rank
