"""Run `timefem` under mpirun."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated"}
ROOT = Path(__file__).parents[2]  # where `tests` can be imported
TIME_LIMIT = 120


def mpirun(n_ranks, *arguments, time_limit=TIME_LIMIT, **variables):
    """`mpirun -n n_ranks python arguments`, as a CompletedProcess with text; skips where that cannot be done."""
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    for module in ("petsc4py", "mpi4py"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    command = ["mpirun", "-n", str(n_ranks), sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=time_limit, cwd=ROOT,
                          env={**os.environ, **SETTINGS, **variables})


def timefem(n_ranks, *arguments):
    """The command `timefem` under mpirun."""
    return mpirun(n_ranks, "-m", "timefem", *arguments)
