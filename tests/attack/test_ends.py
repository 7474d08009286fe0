"""Kills, full disks, and ranks that do not fit: nothing is lost, nothing stays behind, nothing hangs."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.parallel.launch import SETTINGS, mpirun
from timefem.problems.initial.checkpoint import Checkpoint
from timefem.solution.output.atomic_write import replacing

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
RUNS = {"march": ["run", "spinning-box", "--n-elements", "100000", "--t-end", "1000"],
        "windows": ["run", "spinning-box", "--n-elements", "5000", "--t-end", "50", "--window", "50"],
        "global": ["run", "spinning-box", "--n-elements", "4000", "--t-end", "40", "--driver", "global"]}
SHARED = ["run", "spinning-box", "--n-elements", "2000", "--t-end", "20", "--driver", "windows", "--window", "50",
          "--backend", "petsc"]


def start(*arguments, n_ranks=1, limit=None):
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    launcher = [] if n_ranks == 1 else ["mpirun", "-n", str(n_ranks)]
    return subprocess.Popen([*launcher, sys.executable, "-m", "timefem", *map(str, arguments)], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **SETTINGS},
                            start_new_session=True, preexec_fn=limited)


def killed(arguments, folder, rng, n_ranks=1):
    """One run that is killed at a random moment after its first checkpoint: what is left."""
    path = folder / "checkpoint.h5"
    run = start(*arguments, "--checkpoint", path, "--checkpoint-every", "1it", n_ranks=n_ranks)
    try:
        deadline = time.monotonic() + 60
        while not path.exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.5))
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    if not path.exists():
        return "NO CHECKPOINT"
    try:
        Checkpoint(path)
    except tf.InputError:
        return "LOST"
    deadline = time.monotonic() + 20  # ranks end some time after their launcher, and may write meanwhile
    while True:
        with replacing(path) as again:  # the next writer removes what was left
            again.write_bytes(path.read_bytes())
        if os.listdir(folder) == ["checkpoint.h5"]:
            return "kept"
        if time.monotonic() > deadline:
            return "LEFTOVER"
        time.sleep(0.1)


@pytest.mark.parametrize("way", [*RUNS, "mpirun"])
def test_kills(way, scale, report, tmp_path):
    rng, outcomes, longest = np.random.default_rng(21), Counter(), 0.0
    for number in range(scale(25)):
        folder = tmp_path / str(number)
        folder.mkdir()
        began = time.monotonic()
        outcomes[killed(SHARED if way == "mpirun" else RUNS[way], folder, rng, 3 if way == "mpirun" else 1)] += 1
        longest = max(longest, time.monotonic() - began)
    report(f"kills, {way}", outcomes, longest)
    assert set(outcomes) == {"kept"}


def test_full_disks(scale, report, tmp_path):
    rng, outcomes, longest = np.random.default_rng(22), Counter(), 0.0
    for number in range(scale(30)):
        folder = tmp_path / str(number)
        folder.mkdir()
        limit = int(10 ** rng.uniform(1, 4.5))
        began = time.monotonic()
        run = start("run", "spinning-box", "--n-elements", "2000", "--t-end", "20", "-o", folder / "a.h5",
                    "--checkpoint", folder / "c.h5", "--checkpoint-every", "500it", limit=limit)
        out, err = run.communicate(timeout=120)
        longest = max(longest, time.monotonic() - began)
        fault = ("TRACEBACK" if "Traceback" in err else "CRASH" if run.returncode not in (0, 1) else
                 "LEFTOVER" if set(os.listdir(folder)) - {"a.h5", "c.h5"} else "NO NUMBERS" if "energy" not in out else
                 "SILENT" if run.returncode == 0 and not (folder / "a.h5").exists() else "told")
        outcomes[fault] += 1
    report("full disks", outcomes, longest)
    assert set(outcomes) == {"told"}


@pytest.mark.mpi
def test_mismatched_ranks(scale, report):
    outcomes, longest = Counter(), 0.0
    ways = ["compare", "raise", "serial", "leave"]
    for number in range(scale(28)):
        way, n_ranks = ways[number % 4], 2 + number % 3
        began = time.monotonic()
        try:
            run = mpirun(n_ranks, "-m", "tests.parallel.mismatch", way)
        except subprocess.TimeoutExpired:
            outcomes["HANG"] += 1
            continue
        longest = max(longest, time.monotonic() - began)
        fine = (run.returncode == 0) == (way == "compare") and ("refused" in run.stdout or "has ended" in run.stderr)
        outcomes["one message" if fine else "WRONG"] += 1
    report("mismatched ranks", outcomes, longest)
    assert set(outcomes) == {"one message"}
