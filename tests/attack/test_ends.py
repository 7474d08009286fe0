"""Kills, full disks, and ranks that do not fit: nothing is lost, nothing stays behind, nothing hangs."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.parallel.launch import SETTINGS, mpirun
from timefem.atomic_write import replacing
from timefem.problems.initial.checkpoint import Checkpoint

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
RUNS = {"march": ["run", "spinning-box", "--n-elements", "100000", "--t-end", "1000"],
        "windows": ["run", "spinning-box", "--n-elements", "5000", "--t-end", "50", "--window", "50"],
        "global": ["run", "spinning-box", "--n-elements", "20000", "--t-end", "200", "--driver", "global"]}
BOUNDED = ["run", "bryson-denham", "--n-elements", "200", "--method"]  # has no checkpoints
SHARED = ["run", "spinning-box", "--n-elements", "2000", "--t-end", "20", "--driver", "windows", "--window", "50",
          "--backend", "petsc"]
ENDED, FAILED = "rank 1 has ended without", "timefem: error: rank 1 ("
ASTRAY = {("mismatch", "compare"): "12 refused", ("failures", "nan", "global"): "not finite in element 10 at t = 0.5",
          ("mismatch", "raise"): ENDED, ("failures", "raise", "windows"): "RankError: rank 1 (",
          ("mismatch", "serial"): ENDED, ("failures", "factor", "global"): FAILED,
          ("mismatch", "leave"): ENDED, ("failures", "meet", "global"): FAILED}


def start(*arguments, n_ranks=1, limit=None):
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    launcher = [] if n_ranks == 1 else ["mpirun", "-n", str(n_ranks)]
    return subprocess.Popen([*launcher, sys.executable, "-m", "timefem", *map(str, arguments)], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **SETTINGS},
                            start_new_session=True, preexec_fn=limited)


def killed(arguments, folder, rng, n_ranks=1):
    """One run that is killed at a random moment after its first checkpoint: what is left, and when it is known."""
    path = folder / "checkpoint.h5"
    run = start(*arguments, "--checkpoint", path, "--checkpoint-every", "1it", n_ranks=n_ranks)
    try:
        deadline = time.monotonic() + 60
        while not path.exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.5))
    finally:
        end(run)
    began = time.monotonic()
    try:
        Checkpoint(path)
        found = what_is_left(path)
    except tf.InputError:
        found = "LOST"
    return found, time.monotonic() - began


def end(run):
    with suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(run.pid, signal.SIGKILL)
    run.communicate()


def what_is_left(path):
    deadline = time.monotonic() + 20  # ranks end some time after their launcher, and may write meanwhile
    while True:
        with replacing(path) as again:  # the next writer removes what was left
            again.write_bytes(path.read_bytes())
        if os.listdir(path.parent) == [path.name]:
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
        found, seconds = killed(SHARED if way == "mpirun" else RUNS[way], folder, rng, 3 if way == "mpirun" else 1)
        outcomes[found] += 1
        longest = max(longest, seconds)
    report(f"kills, {way}", outcomes, longest)
    assert set(outcomes) == {"kept"}


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
def test_kills_of_optimal_control(method, scale, report, tmp_path):
    """At random moments of the whole run, its last write included: the older file is there, or the new one."""
    path, rng, outcomes, longest = tmp_path / "a.h5", np.random.default_rng(23), Counter(), 0.0
    began = time.monotonic()
    assert start(*BOUNDED, method, "-o", path).wait(timeout=120) == 0
    usual = time.monotonic() - began
    for _ in range(scale(25)):
        run = start(*BOUNDED, method, "-o", path)
        try:
            time.sleep(usual * rng.uniform(0.3, 1.1))
        finally:
            end(run)
        began = time.monotonic()
        try:
            outcomes[what_is_left(path) if tf.load(path).success else "LOST"] += 1
        except tf.InputError:
            outcomes["LOST"] += 1
        longest = max(longest, time.monotonic() - began)
    report(f"kills, {method}", outcomes, longest)
    assert set(outcomes) == {"kept"}


def mount(folder, *options):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder], capture_output=True,
                          check=False).returncode == 0


def on_full_disk(folder, kind, rng):
    """One run onto a disk that takes few bytes, by a limit or by its size, or none at all."""
    path, limit, mounted = folder / "a.h5", int(10 ** rng.uniform(1, 4.5)), False
    if kind == "limit":
        path.write_text("older")
    else:
        mounted = mount(folder, f"size={max(limit, 4096) // 4096 * 4}k")  # by root alone
        path.write_text("older")
    if kind == "read-only":
        os.chmod(folder, 0o500)
        mounted = mounted and mount(folder, "remount", "ro")
    try:
        run = start("run", "spinning-box", "--n-elements", "2000", "--t-end", "20", "-o", path, "--checkpoint",
                    folder / "c.h5", "--checkpoint-every", "500it", limit=None if mounted else limit)
        out, err = run.communicate(timeout=120)
        if "Traceback" in err:
            return "TRACEBACK"
        if run.returncode not in (0, 1, 2):
            return "CRASH"
        if set(os.listdir(folder)) - {"a.h5", "c.h5"}:
            return "LEFTOVER"
        if run.returncode == 2:
            return "refused" if path.read_text() == "older" and "cannot write" in err and not out else "WRONG"
        if "energy" not in out:
            return "NO NUMBERS"
        if run.returncode == 1:
            return "told" if path.read_text() == "older" and "could not write" in err else "LOST"
        return "written" if tf.load(path).success else "LOST"
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


def test_full_disks(scale, report, tmp_path):
    rng, outcomes, longest = np.random.default_rng(22), Counter(), 0.0
    for number in range(scale(30)):
        folder = tmp_path / str(number)
        folder.mkdir()
        began = time.monotonic()
        outcomes[on_full_disk(folder, ("limit", "size", "read-only")[number % 3], rng)] += 1
        longest = max(longest, time.monotonic() - began)
    report("full disks", outcomes, longest)
    assert set(outcomes) <= {"told", "refused", "written"}


@pytest.mark.mpi
def test_mismatched_ranks(scale, report):
    """Ranks with other problems or without one, and ranks that fail on the way: one message, and all ranks end."""
    outcomes, longest = Counter(), 0.0
    for number in range(scale(40)):
        (module, *way), word = list(ASTRAY.items())[number % len(ASTRAY)]
        n_ranks, began = 2 + number % 3, time.monotonic()
        try:
            run = mpirun(n_ranks, "-m", f"tests.parallel.{module}", *way)
        except subprocess.TimeoutExpired:
            outcomes["HANG"] += 1
            continue
        longest = max(longest, time.monotonic() - began)
        # each rank that waits raises it
        told = 0 < (run.stdout + run.stderr).count(word) < (n_ranks if way[0] in ("raise", "serial", "leave") else 2)
        fine = told and (run.returncode == 0) == (way == ["compare"])
        outcomes["one message" if fine else "WRONG"] += 1
    report("mismatched ranks", outcomes, longest)
    assert set(outcomes) == {"one message"}
