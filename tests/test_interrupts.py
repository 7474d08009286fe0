"""SIGINT and SIGTERM: what runs stops, keeps what it has, and says by which signal it ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import timefem as tf
from timefem import interrupts
from timefem.problems.initial.checkpoint import Checkpoint

ROOT = Path(__file__).parents[1]
# a solve, sent the signal by itself once it is under way
RUN = """
import os, signal, sys, threading, time
from timefem.cli import main
number, delay, arguments = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
if delay:
    import timefem.problems.task as job
    visit, sent = job.DriverInput.visit, []
    def sending(self, *rest):
        if not sent:
            sent.append(os.kill(os.getpid(), number))
        return visit(self, *rest)
    job.DriverInput.visit = sending
else:
    threading.Timer(0.5, os.kill, (os.getpid(), number)).start()
sys.exit(main(arguments))
"""
WAYS = {"march": ["--n-elements", "200000", "--t-end", "2000"],
        "windows": ["--n-elements", "20000", "--t-end", "200", "--window", "50"],
        "global": ["--n-elements", "4000", "--t-end", "40", "--driver", "global"]}


def run(number, delay, *arguments):
    return subprocess.run([sys.executable, "-c", RUN, str(int(number)), str(delay), *map(str, arguments)], cwd=ROOT,
                          capture_output=True, text=True, timeout=60)


@pytest.mark.long
@pytest.mark.parametrize("way, number", [("march", signal.SIGINT), ("march", signal.SIGTERM),
                                         ("windows", signal.SIGINT), ("global", signal.SIGINT)])
def test_checkpoint_and_status(way, number, tmp_path):
    path, output = tmp_path / "checkpoint.h5", tmp_path / "solution.h5"
    ended = run(number, 1, "run", "spinning-box", *WAYS[way], "--checkpoint", path, "-o", output)
    assert ended.returncode == 128 + number and "Traceback" not in ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.h5", "solution.h5"]
    saved, kept = Checkpoint(path), tf.load(output)
    assert kept.status.reason == "stopped" and len(kept.t) - 1 == saved.n_solved
    assert (saved.n_solved > 0) == (way == "march")  # at the first visit no window is solved


@pytest.mark.long
def test_partial_solution_without_checkpoint(tmp_path):
    ended = run(signal.SIGTERM, 1, "run", "spinning-box", *WAYS["march"], "-o", tmp_path / "a.h5")
    assert ended.returncode == 143 and "what was solved is kept" in ended.stderr.replace("\n", " ")
    assert 0 < len(tf.load(tmp_path / "a.h5").t) - 1 < 200_000


LOOP = """
import ctypes, os, signal, sys, threading
from timefem.cli.process import Guard
from timefem.interrupts import stoppable
from llvmlite import binding
with stoppable(Guard.make):
    threading.Timer(0.2, os.kill, (os.getpid(), int(sys.argv[1]))).start()
    code = ("define void @spin() { br label %again\\nagain:\\n call void asm sideeffect \\"\\", \\"\\"()\\n"
            " br label %again }")
    engine = binding.create_mcjit_compiler(binding.parse_assembly(code),
                                           binding.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    ctypes.CFUNCTYPE(None)(engine.get_function_address("spin"))()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_compiled_code_that_never_returns(number):
    ended = subprocess.run([sys.executable, "-c", LOOP, str(int(number))], cwd=ROOT, capture_output=True, timeout=30)
    assert ended.returncode == 128 + number and not ended.stderr


LONG = """
import os, sys, timefem
from timefem.cli import main
from timefem.solvers.march import march, pilot
sent = []
def sending(original):
    def called(*arguments):
        found = original(*arguments)  # compiled by now
        if not sent:
            sent.append(os.kill(os.getpid(), int(sys.argv[1])))
        return found
    return called
module, name = {"pilot": (pilot, "adapt_elements"), "march": (march, "march_elements"),
                "sweep": (march, "march_run")}[sys.argv[2]]
setattr(module, name, sending(getattr(module, name)))
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.parametrize("number, place", [(signal.SIGINT, "pilot"),
                                           pytest.param(signal.SIGTERM, "march", marks=pytest.mark.long)])
def test_a_march_to_a_tolerance_keeps_what_it_has(number, place, tmp_path):
    ended = subprocess.run([sys.executable, "-c", LONG, str(int(number)), place, "run", "spinning-box", "--t-end",
                            "200", "--tolerance", "1e-9", "-o", tmp_path / "a.h5"], capture_output=True, text=True,
                           timeout=120, cwd=ROOT)
    assert ended.returncode == 128 + number and "what was solved is kept" in ended.stderr.replace("\n", " ")
    kept = tf.load(tmp_path / "a.h5")
    assert kept.status.reason == "stopped" and len(kept.t) > 1 and os.listdir(tmp_path) == ["a.h5"]


@pytest.mark.long
def test_a_sweep_keeps_the_runs_that_are_done(tmp_path):
    ended = subprocess.run([sys.executable, "-c", LONG, str(int(signal.SIGTERM)), "sweep", "sweep", "spinning-box",
                            "--parameter", "box.mass=1:2:100", "--n-elements", "5000", "--t-end", "50", "--csv",
                            tmp_path / "a.csv", "--workers", "1"], capture_output=True, text=True, timeout=120,
                           cwd=ROOT)
    assert ended.returncode == 143 and "Traceback" not in ended.stderr
    with open(tmp_path / "a.csv") as file:
        stopped = [line.count("stopped") for line in file][1:]
    assert len(stopped) == 100 and stopped == sorted(stopped) and (stopped[0], stopped[-1]) == (0, 1)


SWALLOWED = """
import os, sys, time
from timefem.cli import main, model_files
def text():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(30)
    except BaseException:
        raise RuntimeError("compiled code has lost it")
model_files.schemas.text = text
sys.exit(main(["schema"]))
"""
BUSY = """
import os, sys, time
from timefem.cli import main, model_files
def text():
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(30)
model_files.schemas.text = text
sys.exit(main(["schema"]))
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("code", ["BUSY", "SWALLOWED"])
def test_a_command_that_does_not_ask(code, number):
    ended = subprocess.run([sys.executable, "-c", globals()[code], str(int(number))], cwd=ROOT, capture_output=True,
                           text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (128 + number, "timefem: error: interrupted\n")


IMPORTED = """
import os, runpy, signal, sys
class Finder:
    def find_spec(name, path, target=None):
        if name == "timefem.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
runpy.run_module("timefem", run_name="__main__")
"""


@pytest.fixture
def heard():
    """SIGINT, which what a shell starts in the background ignores, and its children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_while_it_is_imported(heard):
    ended = subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_python_that_does_not_ask(number):
    with pytest.raises(interrupts.Interrupted) as error, interrupts.stoppable():
        os.kill(os.getpid(), number)
        assert interrupts.asked() == number
        time.sleep(30)
    assert error.value.status == 128 + number and not interrupts.active()


def test_handlers_are_given_back(heard):
    before = [signal.getsignal(n) for n in interrupts.SIGNALS]
    with interrupts.stoppable(), interrupts.stoppable():
        assert [signal.getsignal(n) for n in interrupts.SIGNALS] != before
    assert [signal.getsignal(n) for n in interrupts.SIGNALS] == before
    with pytest.raises(KeyboardInterrupt), interrupts.stoppable():  # nobody answers: it is delivered again
        os.kill(os.getpid(), signal.SIGINT)
    with interrupts.stoppable():
        os.kill(os.getpid(), signal.SIGINT)
        interrupts.answer()
