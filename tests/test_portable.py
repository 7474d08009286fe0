"""Nothing in the package depends on Linux or on x86: what only POSIX has is asked for, and there is another way."""

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import timefem

PACKAGE = Path(timefem.__file__).parent
MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog", "posix"}  # of POSIX only
NAMES = {module: set(names.split()) for module, names in {
    "os": "fork forkpty pread pwrite preadv pwritev fchmod fchown chown lchown kill killpg getuid geteuid getgid "
          "getpgid setsid pathconf sysconf sched_getaffinity sched_setaffinity mkfifo mknod nice uname "
          "statvfs wait waitpid getloadavg set_blocking O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_DIRECTORY",
    "signal": "SIGALRM SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD alarm setitimer pthread_kill "
              "pthread_sigmask siginterrupt sigwait pause",
    "time": "tzset clock_gettime pthread_getcpuclockid"}.items()}
# where these are, each with another way beside it that the run below takes
GUARDED = {("interrupts", "signal.pthread_kill"), ("atomic_write", "os.pathconf"), ("atomic_write", "os.kill"),
           *(("validate.__init__", name) for name in (
               "resource", "os.sysconf", "/proc/meminfo", "/proc/self/statm", "/sys/fs/cgroup")),
           ("kernels.store", "fcntl"),
           ("solving.many_runs", "os.sched_getaffinity"), ("cli.process", "signal.SIGALRM"),
           ("cli.process", "signal.alarm")}
PLACES = "/proc", "/sys", "/dev", "/tmp", "/usr", "/etc", "/var", "/home", "/opt", "/run", "C:\\"
READERS = {"open", "read_text", "write_text"}


def _of_posix(tree):
    """Modules, names of modules, and places of the file system that not every machine has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            yield from MODULES.intersection(names)
            if isinstance(node, ast.ImportFrom) and not node.level:
                yield from (f"{node.module}.{a.name}" for a in node.names if a.name in NAMES.get(node.module, ()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            if node.value.startswith(PLACES):
                yield node.value


def _without_encoding(tree):
    """Lines that open a text in the encoding of the machine."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(k.arg in ("encoding", "buffering") for k in node.keywords):
            continue
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name not in READERS or (name == "open" and not isinstance(function, ast.Name)):
            continue  # `os.open` and the like have no encoding
        if isinstance(function, ast.Name) and name != "open":
            continue  # the package's own `write_text`
        modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
        if not any("b" in mode for mode in modes):
            yield node.lineno


@functools.cache
def _trees():
    """Syntax trees by names of modules, of files in which a first look finds something."""
    things = *MODULES, *(name for names in NAMES.values() for name in names), *READERS
    suspect = re.compile(rf"\b({'|'.join(things)})\b|['\"]({'|'.join(map(re.escape, PLACES))})")
    texts = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path.read_text(encoding="utf-8")
             for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: ast.parse(text) for name, text in texts.items() if suspect.search(text)}


def test_what_only_posix_has_is_guarded():
    found = {(name, thing) for name, tree in _trees().items() for thing in _of_posix(tree)}
    assert found == GUARDED


def test_texts_are_opened_in_an_encoding():
    assert [f"{name}:{line}" for name, tree in _trees().items() for line in _without_encoding(tree)] == []


HIDDEN = """
import os, signal, sys, time
import casadi, h5py, numba, numpy, scipy.sparse.linalg, typer, rich.console, shutil, subprocess, tempfile, zipfile
from concurrent import futures

for module in {modules}:
    sys.modules[module] = None  # its import fails
for module, names in {names}.items():
    for name in names:
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
import builtins
first_open = builtins.open
def open_here(path, *arguments, **options):
    if str(path).startswith({places}):
        raise FileNotFoundError(2, "there is no such place", path)
    return first_open(path, *arguments, **options)
builtins.open = open_here
sys.platform = "win32"
import timefem.kernels.machine
timefem.kernels.machine.has_assembly = lambda: False  # as on all other processors
"""

RUN = """
import numpy as np
import timefem as tf
from timefem.cli import main
from timefem.interrupts import stoppable
from timefem.kernels.store import fcntl
from timefem.validate import free_memory, peak_memory

assert fcntl is None and not hasattr(os, "pread") and not hasattr(signal, "alarm")
arm = tf.RigidBody(2.0, [0.1, 0.2, 0.3])
system = tf.System([arm, tf.FixedPoint(arm, [0.5, 0, 0])], gravity=[0, 0, -9.81])
problem = tf.InitialValueProblem(system, {arm: tf.Pose(position=[-0.5, 0, 0])}, (0, 0.2))
marched = tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False)
at_once = tf.solve(problem, tf.MixedGalerkin(2), 8, driver="global", progress=False)
np.testing.assert_allclose(marched.z, at_once.z, rtol=0, atol=1e-10 * abs(marched.z).max())
marched.save("arm.h5")
marched.save("arm.h5")  # over the earlier one
np.testing.assert_array_equal(tf.load("arm.h5").z, marched.z)
marched.save("arm.csv")
assert free_memory() == 2**32 and peak_memory() == 0
came = []
signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
with stoppable():
    signal.raise_signal(signal.SIGTERM)
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < 10:
            time.sleep(0.01)
    except KeyboardInterrupt as stopped:
        came.append(stopped.status)
assert came == [143], came
assert main(["run", "spinning-box", "--n-elements", "5", "-o", "box.h5", "--json"]) == 0
print("end", marched.z[-1].tolist())
"""


@pytest.mark.long
@pytest.mark.parametrize("kernels", ["llvm", "vm"])
def test_runs_where_there_is_nothing_of_posix(tmp_path, kernels):
    """With the modules and names of POSIX hidden, without x86's own code: motions, files, a command, a signal."""
    hidden = HIDDEN.format(modules=sorted(MODULES), names={k: sorted(v) for k, v in NAMES.items()}, places=PLACES[:1])
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "TIMEFEM_KERNELS": kernels}
    run = subprocess.run([sys.executable, "-c", hidden + RUN], cwd=tmp_path, env=environment, text=True,
                         capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("end ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arm.csv", "arm.h5", "box.h5"]
