"""Feedback in discrete time: against the exact motion between samples."""

import os
import signal

import casadi
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.problems.initial.checkpoint import Checkpoint, Recorder


def cart(period, delay):
    body = tf.RigidBody(2.0, (1, 1, 1), name="cart")
    rail = tf.Prismatic(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    digital = tf.SampledController([rail], lambda x, v, t, c: -c[0] * x - c[1] * v, period, delay, parameters=[18, 4],
                                   name="digital")
    return tf.System([body, rail, digital]), rail


@pytest.mark.parametrize("delay", [0, 3, 14], ids=lambda n: f"{n}/100 s")  # less and more than a period of 10/100 s
def test_hold_and_delay(delay):
    """Piecewise constant accelerations, in steps of 1/100 s."""
    system, rail = cart(0.1, delay / 100)
    sol = tf.solve(tf.InitialValueProblem(system, {rail: 1.0}, (0, 0.6)), tf.MixedGalerkin(2), 40, progress=False)
    x, v, u, places, waiting = 1.0, 0.0, 0.0, [1.0], []
    for i in range(60):
        if i % 10 == 0:
            waiting.append((i + delay, -18 * x - 4 * v))
        if waiting and waiting[0][0] == i:
            u = waiting.pop(0)[1]
        x, v = x + v / 100 + u / 2 * 1e-4 / 2, v + u / 2 / 100
        places.append(x)
    assert sol.success
    np.testing.assert_allclose(sol.joint(rail).displacement(np.arange(61) / 100), places, rtol=0, atol=1e-12)
    assert np.abs(sol.energy.balance()).max() < 1e-12
    first = sol.joint(rail).drive([0.004, delay / 100 + 0.004])
    np.testing.assert_allclose(first, (-18 if not delay else 0, -18), rtol=0, atol=1e-9)


@pytest.mark.parametrize("stop", [None, 0.4], ids=["free", "end stop"])
def test_tolerance(stop):
    """A pendulum, swung and held by samples; against many elements, also where it strikes a rigid stop."""
    arm = tf.RigidBody(2.0, (1, 1, 1), name="arm")
    hinge = tf.Revolute(arm, point_a=(0, 0, 1), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0), name="hinge")
    digital = tf.SampledController([hinge], lambda x, v, t, c: -40 * x - 4 * v, 0.15, 0.02)
    parts = [] if stop is None else [tf.EndStop(hinge, lowest=-stop, highest=stop, restitution=0.5)]
    system = tf.System([arm, hinge, digital, *parts], gravity=(0, 0, -9.81))
    problem = tf.InitialValueProblem(system, {hinge: (0.3, -2.0)}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-7, progress=False)
    fine = tf.solve(problem, tf.MixedGalerkin(4), 200, progress=False)
    assert sol.success and sol.statistics["estimated_error"] <= 1e-7
    assert [event.kind for event in sol.events] == [event.kind for event in fine.events]
    assert bool(sol.events) == (stop is not None)
    t = np.intersect1d(sol.t, fine.t)  # nodes of both
    assert len(t) > 6
    np.testing.assert_allclose(sol.joint(hinge).angle(t), fine.joint(hinge).angle(t), rtol=0, atol=1e-7)


def test_what_does_not_fit_is_refused():
    system, rail = cart(0.1, 0.03)
    problem = tf.InitialValueProblem(system, {rail: 1.0}, (0, 0.6))
    with pytest.raises(tf.InputError, match="elements"):
        tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False)
    with pytest.raises(tf.InputError, match="sampled in time, which is for driver='march'"):
        tf.solve(problem, tf.MixedGalerkin(2), 40, driver="global", progress=False)
    with pytest.raises(tf.InputError, match="must be a number here"):
        tf.solve(problem, tf.MixedGalerkin(2), tolerance=tf.StepControl(1e-6), progress=False)
    with pytest.raises(tf.InputError, match=r"no node at t = 0\.03"):
        tf.solve(problem, tf.MixedGalerkin(2), mesh=tf.TimeMesh.uniform((0, 0.6), 12), progress=False)
    drive = tf.JointControl(rail, name="drive")
    control = tf.OptimalControl(tf.System([*system.parts, drive]), system.state({rail: 1.0}), {}, (0, 1),
                                [tf.Effort(drive)])
    with pytest.raises(tf.InputError, match="feedback in discrete time"):
        tf.solve(control, tf.MixedGalerkin(1), 4, progress=False)
    with pytest.raises(tf.InputError, match="period must be positive"):
        tf.SampledController([rail], lambda x, v, t, c: 0, 0.0)


@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
def test_elements_that_fail_are_halved():
    """23 turns in a second, as without feedback; each element lies between two changes of the forces."""
    problem = top_by_samples()
    failed = tf.solve(problem, tf.MixedGalerkin(3), 400, newton=tf.Newton(max_iterations=1))
    assert failed.status.element == 0 and "its halves fail as well" in failed.status.message
    found, fine = (tf.solve(problem, tf.MixedGalerkin(3), n) for n in (24, 400))
    assert "24 of 24 elements were halved" in found.status.message and fine.status.message == "converged"
    assert found.statistics["n_elements"] == len(found.t) - 1 == 48
    np.testing.assert_allclose(found.z[-1, :3], fine.z[-1, :3], rtol=0, atol=1e-3)


def test_the_element_that_fails_is_counted_from_the_start():
    system, rail = cart(0.1, 0.0)
    push = tf.Force(system["cart"], lambda t: (casadi.sqrt(0.35 - t), 0, 0))
    problem = tf.InitialValueProblem(tf.System([*system.parts, push]), {rail: 1.0}, (0, 0.6))
    status = tf.solve(problem, tf.MixedGalerkin(1), 12, progress=False).status
    assert not status.success and status.element == 7 and "in element 7 at t = 0.35" in status.message


def top_by_samples():
    """It turns too fast for its elements, which are halved."""
    top = find_case("heavy-top").make()
    body = top.system.bodies[0]
    digital = tf.SampledController([tf.ControlTorque(body)], lambda x, v, t, c: [-x[0], 0, 0], 0.25,
                                   inputs=[tf.PositionOutput(body, "z")])
    start = {body: tf.CanonicalState(top.z0[:7], top.z0[7:])}
    return tf.InitialValueProblem(tf.System([*top.system.parts, digital]), start, (0, 1))


@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
@pytest.mark.parametrize("make, degree, n, visits", [(lambda: by_rail(0.14), 2, 40, (3, 10, 25)),
                                                     (top_by_samples, 3, 24, (2, 20, 30))], ids=["cart", "halved"])
def test_halves_by_restart_are_the_whole(make, degree, n, visits, tmp_path, monkeypatch):
    """Stopped inside of a piece and at its end, with a delay longer than a period."""
    problem, element, path = make(), tf.MixedGalerkin(degree), tmp_path / "run.h5"
    whole, visited = tf.solve(problem, element, n), Recorder.visit
    for last in visits:
        count = 0

        def stops(self, *given, last=last):
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGTERM)
            return visited(self, *given)

        monkeypatch.setattr(Recorder, "visit", stops)
        stopped = tf.solve(problem, element, n, checkpoint=tf.Checkpoint(path, "1it"))
        assert stopped.status.reason == "stopped" and str(path) in stopped.status.message
        assert 1 < len(stopped.t) < len(whole.t) and len(stopped.t) == Checkpoint(path).n_solved + 1
        monkeypatch.setattr(Recorder, "visit", visited)
        again = tf.solve(problem, element, n, checkpoint=tf.Checkpoint(restart=path))
        assert again.success and np.array_equal(again.t, whole.t)
        np.testing.assert_allclose(again.nodal.state, whole.nodal.state, rtol=0,
                                   atol=1e-12 * np.abs(whole.nodal.state).max())
        work = whole.energy.work()
        np.testing.assert_allclose(again.energy.work(), work, rtol=0, atol=1e-12 * np.abs(work).max())


def by_rail(delay):
    system, rail = cart(0.1, delay)
    return tf.InitialValueProblem(system, {rail: 1.0}, (0, 0.6))
