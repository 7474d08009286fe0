"""Code blocks of the documentation's pages, run one after another as a reader would."""

import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import timefem

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(`{3,})(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^\1$", re.M | re.S)
SHOWN = "toml", "text"  # not run here
SKIPPED = "make", ".", "export"  # commands that set up the machine
PARALLEL = bool(shutil.which("mpirun") and importlib.util.find_spec("petsc4py") and importlib.util.find_spec("mpi4py"))

# What pages speak of as the reader's own.
PROBLEM = """
import timefem as tf
box = tf.RigidBody(mass=12, inertia=[5, 26, 29], name="box")
problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=(0, 5, 1))}, (0, 1))
element, n_elements = tf.BubnovGalerkin(2), 50
"""
SLOW = ("how-to/conditioning.md",)
NEEDS = {"tutorial/optimal-control.md": "OptimalControl"}  # pages about what is not public yet
CRATE = """
import numpy as np
import timefem as tf
crate = tf.RigidBody(2.0, [0.3, 0.4, 0.5], name="crate")
joint = tf.Spherical(crate, point_a=(0, 0, 0.5), point_b=(0, 0, 0), name="joint")
spring = tf.Spring(crate, point_a=(0, 0, -0.5), point_b=(1, 0, -1), stiffness=20, length=0.5, name="spring")
force = tf.Force(crate, (0, 1, 0), time=tf.Sine(2.0, 1.0), name="force")
system = tf.System([crate, joint, spring, force], gravity=(0, 0, -9.81))
start = {crate: tf.Pose(position=(0, 0, -0.5))}
problem = tf.InitialValueProblem(system, start, (0, 1))
marker, times = (0.0, 0.1, -0.5), np.linspace(0.1, 1, 10)
guess, low, high = [0.3, 0.1], [0.05, 0.0], [1.0, 1.0]
def build(values):
    body = tf.RigidBody(2.0, [values[0], 0.4, 0.5], name="crate")
    held = tf.Spherical(body, point_a=(0, 0, 0.5), point_b=(0, 0, 0))
    drag = tf.RayleighDissipation(body, angular=values[1])
    pose = tf.Pose(position=(0, 0.5, 0), orientation=(0.5**0.5, 0.5**0.5, 0, 0))
    return tf.InitialValueProblem(tf.System([body, held, drag], gravity=(0, 0, -9.81)), {body: pose}, (0, 1))
true = tf.solve(build([0.35, 0.2]), tf.MixedGalerkin(2), 60)
values = true.position("crate", times) + true.rotation_matrix("crate", times) @ marker
"""
BEFORE = {"how-to/conditioning.md": PROBLEM, "how-to/petsc-options.md": PROBLEM, "how-to/sensitivities.md": CRATE}


def pages():
    return sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def blocks(page):
    """Language, title and text of each fenced block; those without a language hold commands, or are only shown."""
    text = (DOCS / page).read_text()
    fences = len(re.findall(r"^ *```", text, re.M))
    found = [match.group(2, 3, 4) for match in FENCE.finditer(text)]
    if fences != 2 * len(found):
        raise ValueError(f"{page}: {fences} fences, but {len(found)} blocks: one is indented, or not closed")
    return found


def marks(page):
    """Marks of a page's test: whether it launches mpirun, takes long, or needs what is not there."""
    text = "".join(text for language, _, text in blocks(page) if language in ("python", "sh", ""))
    found = [pytest.mark.mpi] * ("mpirun" in text) + [pytest.mark.slow] * (page in SLOW)
    missing = page in NEEDS and not hasattr(timefem, NEEDS[page])
    found += [pytest.mark.skipif(missing, reason=f"needs timefem.{NEEDS.get(page)}")]
    return found + [pytest.mark.skipif(not PARALLEL, reason="needs PETSc and MPI")] * ("petsc" in text)


def run_page(page):
    """Run all blocks of a page in the current folder; returns how many were run."""
    names, done = {"__name__": "__page__"}, 0
    exec(BEFORE.get(page, ""), names)
    for text in [text for language, _, text in blocks(page) if language == "toml"][:1]:
        Path("model.toml").write_text(text)
    for language, title, text in blocks(page):
        if title:
            Path(title).write_text(text)
        if language == "python":
            exec(compile(text, page, "exec"), names)
            done += 1
        elif language in ("sh", ""):
            done += sum(run_command(page, line) for line in commands(text))
        elif language not in SHOWN:
            raise ValueError(f"{page}: a block in {language!r} is neither run nor known as shown only")
    return done


def commands(text):
    """Lines of a shell block, joined where they end with a backslash, without comments."""
    return [line for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.replace("\\\n", " ").split("\n"))
            if line]


def run_command(page, line):
    """Run one command; returns whether it was one to be run."""
    words = shlex.split(line.replace(".venv/bin/", ""))
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    if words[0] == "timefem":
        from timefem.cli import main

        status = main(words[1:])
        if status:
            raise AssertionError(f"{page}: {line!r} ended with status {status}")
    elif words[0] == "mpirun":
        run_parallel(page, words)
    elif words[0] == "python":
        with redirect_stdout(StringIO()):
            runpy.run_path(words[1], run_name="__main__")
    elif words[0] not in SKIPPED:
        if shutil.which(words[0]):  # a program, not printed text
            raise ValueError(f"{page}: the command {line!r} is not run by the tests")
        return False
    return words[0] not in SKIPPED


def run_parallel(page, words):
    place = words.index("timefem") if "timefem" in words else words.index("python")
    program = [sys.executable, "-m", "timefem"] if words[place] == "timefem" else [sys.executable]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated",
                        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run([*words[:place], *program, *words[place + 1:]], env=env, capture_output=True, text=True,
                         timeout=300)
    if run.returncode:
        raise AssertionError(f"{page}: {' '.join(words)} failed:\n{run.stdout[-1000:]}\n{run.stderr[-2000:]}")


def quiet():
    """No windows, and only errors that are errors."""
    import matplotlib

    matplotlib.use("Agg", force=True)
    warnings.filterwarnings("ignore", message="Animation was deleted", category=UserWarning)
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive", category=UserWarning)
