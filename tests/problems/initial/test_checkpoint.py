"""Checkpoints: restarts give the same answer, kills leave readable files, foreign files are refused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import casadi as ca
import h5py
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.problems.initial.checkpoint import Checkpoint, Recorder, parse_every
from timefem.solution.output import hdf5

WAYS = [(tf.MixedGalerkin(2), {"driver": "march"}), (tf.BubnovGalerkin(2), {"driver": "global"}),
        (tf.BubnovGalerkin(2, "continuous"), {"driver": "windows", "window": 6}),
        (tf.BubnovGalerkin(3), {"driver": "windows", "window": "auto"}),
        (tf.BubnovGalerkin(1, drop="end"), {"driver": "windows", "window": 6}),
        (tf.MixedGalerkin(1), {"driver": "global"})]


@pytest.fixture
def stop(monkeypatch):
    """Send SIGTERM to this process at a visit of the recorder."""
    visit, count = Recorder.visit, 0

    def at(number):
        def visits(self, *arguments):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGTERM)
            return visit(self, *arguments)

        monkeypatch.setattr(Recorder, "visit", visits)

    return at


@pytest.mark.parametrize("element, arguments", WAYS, ids=str)
@pytest.mark.parametrize("problem", [spinning_box, pendulum])
def test_stop_and_restart(element, arguments, problem, stop, tmp_path):
    path, p, n = tmp_path / "run.h5", problem(t_end=1.5), 40 if arguments["driver"] != "windows" else 100
    whole = tf.solve(p, element, n, **arguments)
    before = signal.getsignal(signal.SIGTERM)
    stop({"march": 7, "global": 3, "windows": 11 if arguments.get("window") == 6 else 4}[arguments["driver"]])
    stopped = tf.solve(p, element, n, **arguments, checkpoint=path, checkpoint_every="2it")
    assert signal.getsignal(signal.SIGTERM) == before
    assert not stopped.success and stopped.status.reason == "stopped" and str(path) in stopped.status.message
    saved = Checkpoint(path)
    assert saved.n_solved == len(stopped.t) - 1 < n
    assert (saved.n_solved > 0) == (arguments["driver"] != "global")
    size = np.abs(whole.nodal.state).max()
    np.testing.assert_allclose(stopped.z, whole.z[:len(stopped.z)], rtol=0, atol=1e-12 * size)
    for again in (tf.solve(p, element, n, **arguments, restart=path), tf.restart(path)):
        assert again.success
        np.testing.assert_allclose(again.nodal.state, whole.nodal.state, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(again.nodal.multipliers, whole.nodal.multipliers, rtol=0,
                                   atol=1e-7 * (1 + np.abs(whole.nodal.multipliers).max()))
    if arguments["driver"] == "global":  # the iterate is the guess
        assert again.statistics["newton_iterations"]["max"] < whole.statistics["newton_iterations"]["max"]


def test_a_tree_is_restarted_before_its_first_element(stop, tmp_path):
    """A global solve that stops has solved none, and a tree without constraints has no multipliers."""
    links = [tf.Link("base"), tf.Link("arm", mass=1, centre=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))]
    tree = tf.Tree(links, [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0))], name="tree")
    problem = tf.InitialValueProblem(tf.System([tree], (0, 0, -9.81)), {"hinge": 1.0}, (0, 1))
    arguments = tf.MixedGalerkin(2, form="lagrange"), 40
    whole, path = tf.solve(problem, *arguments, driver=tf.Global()), tmp_path / "run.h5"
    stop(2)
    assert len(tf.solve(problem, *arguments, driver=tf.Global(), checkpoint=tf.Checkpoint(path, "1it")).t) == 1
    np.testing.assert_allclose(tf.restart(path).z, whole.z, rtol=0, atol=1e-12)


RUN = """
import sys, timefem as tf
from pathlib import Path
from tests.example_systems import spinning_box
path, arguments = Path(sys.argv[1]), dict(driver="windows", window=10, checkpoint=sys.argv[1], checkpoint_every=1)
problem = spinning_box(t_end=20)
print("ready", flush=True)
tf.solve(problem, tf.BubnovGalerkin(2), 1000, **arguments, restart=path if path.exists() else None)
print("done", flush=True)
"""


@pytest.mark.long
def test_killed_at_any_moment(tmp_path):
    """Each run goes on from what the killed one before left behind."""
    path, rng, progress = tmp_path / "run.h5", np.random.default_rng(4), []
    for _ in range(5):
        run = subprocess.Popen([sys.executable, "-c", RUN, path], cwd=Path(__file__).parents[3], text=True,
                               stdout=subprocess.PIPE)
        assert run.stdout.readline() == "ready\n"
        while not path.exists():
            time.sleep(0.01)
        time.sleep(rng.uniform(0.05, 0.6))
        run.kill()
        assert run.communicate()[0] == "", "the run is too short for this test"
        progress.append(Checkpoint(path).n_solved)
    assert progress == sorted(progress) and 0 < progress[-1] < 1000
    whole = tf.solve(spinning_box(t_end=20), tf.BubnovGalerkin(2), 1000, driver="windows", window=10)
    np.testing.assert_allclose(tf.restart(path).z, whole.z, rtol=0, atol=1e-9 * np.abs(whole.z).max())


def test_a_checkpoint_of_a_longer_march_is_refused(tmp_path):
    """Its mesh has all nodes of the shorter one, as if elements had been halved."""
    path = tmp_path / "run.h5"
    tf.solve(spinning_box(t_end=2), tf.MixedGalerkin(2), 40, checkpoint=path, checkpoint_every=1)
    with pytest.raises(tf.InputError, match="h5 belongs to another solve: the mesh has 40 elements there, 20 here"):
        tf.solve(spinning_box(t_end=1), tf.MixedGalerkin(2), 20, restart=path)


@pytest.mark.parametrize("change, message", [
    ({"problem": spinning_box(t_end=2)}, "the mesh differs"), ({"n": 11}, "the mesh has 10 elements there, 11 here"),
    ({"element": tf.MixedGalerkin(3)}, "element differs in degree"),
    ({"element": tf.BubnovGalerkin(2)}, "element differs in class"),
    ({"problem": spinning_box("directors", t_end=1)}, "system differs in .*'box' class"),
    ({"problem": spinning_box(inverse_mass="exact", t_end=1)}, "system differs in .*'box' inverse_mass"),
    ({"driver": "windows", "window": 10}, "driver differs"), ({"scaling": "none"}, "scaling differs")])
def test_a_foreign_checkpoint_is_refused(change, message, tmp_path):
    path, p, element = tmp_path / "run.h5", spinning_box(t_end=1), tf.MixedGalerkin(2)
    tf.solve(p, element, 10, driver="global", checkpoint=path, checkpoint_every=1)
    arguments = {"problem": p, "element": element, "n": 10, "driver": "global"} | change
    problem, element, n = (arguments.pop(name) for name in ("problem", "element", "n"))
    with pytest.raises(tf.InputError, match=f"run.h5 belongs to another solve: {message}"):
        tf.solve(problem, element, n, **arguments, restart=path)


def test_a_system_by_formulas(tmp_path):
    """Their text stands in the checkpoint, and tells them apart."""
    def problem(stiffness):
        body = tf.PointMass(2.0, name="mass")
        force = tf.Force(body, [1, 0, 0], time=tf.Formula(lambda t: stiffness * ca.exp(t)))
        return tf.InitialValueProblem(tf.System([body, force]), {}, (0, 1))

    path, element = tmp_path / "run.h5", tf.MixedGalerkin(1)
    whole = tf.solve(problem(1.0), element, 10, checkpoint=path, checkpoint_every="3it")
    assert 0 < Checkpoint(path).n_solved < 10
    np.testing.assert_array_equal(tf.solve(problem(1.0), element, 10, restart=path).z, whole.z)
    np.testing.assert_allclose(tf.restart(path).z, whole.z, rtol=0, atol=1e-14)
    with pytest.raises(tf.InputError, match=r"system differs in .* time text"):
        tf.solve(problem(1.5), element, 10, restart=path)


def test_files_that_are_no_checkpoint(tmp_path):
    path = tmp_path / "run.h5"
    with pytest.raises(tf.InputError, match="there is no file"):
        tf.restart(path)
    path.write_bytes(b"something else")
    with pytest.raises(tf.InputError, match="cannot be read as a timefem checkpoint"):
        tf.restart(path)
    tf.solve(spinning_box(t_end=1), tf.MixedGalerkin(1), 10).save(path)
    with pytest.raises(tf.InputError, match="is not a timefem checkpoint"):
        tf.restart(path)


def test_a_shorter_mesh_is_refused(tmp_path):
    """Sealed anew, it would give the motion over a shorter time."""
    path = tmp_path / "run.h5"
    tf.solve(spinning_box(t_end=1), tf.MixedGalerkin(1), 10, checkpoint=path, checkpoint_every="3it")
    with h5py.File(path, "a") as file:
        t = file["t"][:-1]
        del file["t"]
        file["t"] = t
    hdf5.seal(path)
    with pytest.raises(tf.InputError, match="it says that its mesh has 10 elements, and holds 9"):
        tf.restart(path)


@pytest.mark.parametrize("every, parsed", [("60s", (60.0, None)), ("0.5 s", (0.5, None)), ("5it", (None, 5)),
                                           (3, (None, 3))])
def test_when_to_write(every, parsed):
    assert parse_every(every) == parsed


@pytest.mark.parametrize("arguments, message", [
    ({"checkpoint_every": "5 minutes"}, "like '60s' or '5it'"), ({"checkpoint_every": "0it"}, "at least 1"),
    ({"checkpoint_every": "1.5it"}, "whole number"), ({"checkpoint_every": 2.5}, "integer"),
    ({"checkpoint_every": "0s"}, "positive"), ({"checkpoint": "/nowhere/run.h5"}, "no folder /nowhere"),
    ({"checkpoint": None, "checkpoint_every": 3}, "without checkpoint")])
def test_bad_options(arguments, message, tmp_path):
    with pytest.raises(tf.InputError, match=message):
        tf.solve(spinning_box(), tf.MixedGalerkin(1), 10, **({"checkpoint": tmp_path / "run.h5"} | arguments))


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_solve(monkeypatch, tmp_path):
    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="could not be written: no space left"):
        assert tf.solve(spinning_box(t_end=1), tf.MixedGalerkin(1), 10, checkpoint=tmp_path / "run.h5",
                        checkpoint_every="5it").success
