"""Damaged models, solutions and checkpoints: refused or read as they were, without a traceback, and soon."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.attack.damage import mutate, spoil, spoil_sealed
from tests.example_systems import pendulum

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FAULTS = {"WRONG", "TRACEBACK", "HANG"}


class Worker:
    """A process that reads files; started again when it hangs or crashes."""

    def __init__(self, *arguments):
        self.arguments, self.process = arguments, None

    def ask(self, path):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-m", "tests.attack.worker", *map(str, self.arguments)],
                                            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL)
            assert self.process.stdout.readline() == "ready\n"
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:  # ended by its watchdog, or by a crash
            self.process.wait()
            self.process = None
            return "HANG or crash", ""
        return line.split(" ", 1)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def attack(worker, spoilt, n, keep):
    """Outcomes of n trials and the longest time; files with faults are kept in the folder `keep`."""
    outcomes, longest, faults = Counter(), 0.0, []
    for number in range(n):
        path = spoilt(number)
        start = time.monotonic()
        result, text = worker.ask(path)
        outcomes[result] += 1
        if number:  # the first one waits for the process
            longest = max(longest, time.monotonic() - start)
        if result not in ("read", "refused"):
            kept = Path(keep) / f"fault-{number}{path.suffix}"
            os.rename(path, kept)
            faults.append((str(kept), result, text))
    worker.close()
    return outcomes, longest, faults


def models():
    """Ending and bytes of model files."""
    return [(".toml", path.read_bytes()) for path in sorted((ROOT / "examples/models").glob("*.toml"))]


def robots():
    """Ending and bytes of robots' files."""
    found = ((kind, json.loads(path.read_text())) for folder, kind in (("robots", "urdf"), ("mjcf", "xml"))
             for path in sorted((ROOT / "tests/data" / folder).glob("*.json")))
    return [(f".{kind}", data[kind].encode()) for kind, data in found if kind in data]


@pytest.mark.parametrize("files, n", [(models, 2000), (robots, 500)])
def test_models(files, n, scale, report, tmp_path):
    rng, name, files = np.random.default_rng(11), files.__name__, files()

    def spoilt(number):
        ending, data = files[number % len(files)]
        path = tmp_path / f"a{ending}"
        path.write_bytes(spoil(data, rng))
        return path

    worker = Worker("model", "none")
    for ending, data in files:
        (tmp_path / f"whole{ending}").write_bytes(data)
        assert worker.ask(tmp_path / f"whole{ending}")[0] == "read"
    outcomes, longest, faults = attack(worker, spoilt, scale(n), tmp_path)
    report(f"damaged {name}", outcomes, longest)
    assert not faults


def test_robots(scale, report, tmp_path):
    """Robots with elements and attributes that are wrong: clear errors, and nothing outside their folder is opened."""
    rng, files, folder = np.random.default_rng(13), robots(), tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "outside.stl").write_text("solid out\nendsolid out\n")
    (tmp_path / "outside.xml").write_text("<mujoco/>")

    def mutated(number):
        ending, data = files[number % len(files)]
        path = folder / f"a{ending}"
        path.write_bytes(mutate(data, rng))
        return path

    outcomes, longest, faults = attack(Worker("robot", "none"), mutated, scale(1000), tmp_path)
    report("mutated robots", outcomes, longest)
    assert not faults


@pytest.mark.parametrize("kind", ["solution", "checkpoint"])
def test_results(kind, scale, report, tmp_path):
    rng = np.random.default_rng(12)
    solution, checkpoint = tmp_path / "solution.h5", tmp_path / "checkpoint.h5"
    problem = pendulum(t_end=0.5)
    tf.solve(problem, tf.MixedGalerkin(2), 40).save(solution)
    tf.solve(problem, tf.MixedGalerkin(2), 40, checkpoint=checkpoint, checkpoint_every="15it")
    original = solution if kind == "solution" else checkpoint
    data = original.read_bytes()

    def spoilt(number):
        path = tmp_path / "a.h5"
        if number % 2:
            spoil_sealed(original, path, rng)
        else:
            path.write_bytes(spoil(data, rng))
        return path

    worker = Worker(kind, solution)
    assert worker.ask(original)[0] == "read"
    outcomes, longest, faults = attack(worker, spoilt, scale(500), tmp_path)
    report(f"damaged {kind}s", outcomes, longest)
    assert not faults
