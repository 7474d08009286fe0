"""Marches with rigid contact that are stopped go on from their checkpoints as if nothing had happened."""

from contextlib import nullcontext

import numpy as np
import pytest

import timefem as tf
from tests import contact_systems as systems
from timefem.kernels.loops import nothing_interpreted
from timefem.solvers.nonsmooth.flight import flight


def problem_of(sol):
    return tf.InitialValueProblem(sol.system, sol.z[0], (sol.t[0], sol.t[-1]))


def sliding_box():
    """A box that lands flat, and slides and turns on its corners."""
    box = tf.RigidBody(1.0, (0.02, 0.03, 0.04), name="box")
    floor = tf.BoxContact(box, size=(0.4, 0.3, 0.2), restitution=0.0, friction=0.4, name="floor")
    state = {box: tf.Pose((0, 0, 0.105), velocity=(1.0, 0.2, 0), angular_velocity=(0, 0, 2.0))}
    return tf.InitialValueProblem(tf.System([box, floor], (0, 0, -9.81)), state, (0, 0.25))


def many_bounces():
    """A ball that bounces to rest slowly: the fallback takes a part of it."""
    ball = tf.PointMass(1.0, name="ball")
    floor = tf.PlaneContact(ball, restitution=0.95, name="floor")
    return tf.InitialValueProblem(tf.System([ball, floor], (0, 0, -9.81)), {ball: tf.Pose((0, 0, 0.02))}, (0, 3.0))


CASES = {
    "flies": (lambda: problem_of(systems.ball(2, 20)[0]), 2, 100, (0.5, 1.0)),  # a flight ends after 20 elements
    "sticks and slips": (lambda: problem_of(systems.bar(2, 60)[0]), 2, 60, (0.4, 0.8, 1.2)),
    "slides in space": (lambda: problem_of(systems.spinning_ball(2, 20)[0]), 2, 20, (1.0, 1.5, 1.9)),
    "leaves": (lambda: problem_of(systems.off_circle(2, 50)[0]), 2, 50, (0.3, 1.0)),
    "box": (sliding_box, 2, 25, (0.1, 0.2)),
    "fallback": (many_bounces, 1, 6, (1.0, 2.4)),
}


@pytest.mark.parametrize(("case", "compiled"), [
    pytest.param(case, compiled, marks=pytest.mark.long if compiled or case in ("box", "fallback") else ())
    for compiled in (False, True) for case in CASES])
def test_halves_are_the_whole(case, compiled, stop, tmp_path, monkeypatch):
    """Without the compiled loop of open contacts, or with it: it goes on to the end where no contact closes any more,
    and when it is made would depend on the time that the process has taken."""
    if not compiled:
        monkeypatch.setattr(flight, "can_fly", lambda *given: False)
    with nothing_interpreted() if compiled else nullcontext():
        halves_are_the_whole(case, stop, tmp_path, at_end=compiled)


def halves_are_the_whole(case, stop, tmp_path, at_end):
    make, degree, n, times = CASES[case]
    problem, element, path = make(), tf.MixedGalerkin(degree), tmp_path / "run.h5"
    whole = tf.solve(problem, element, n)
    assert whole.success and whole.events, whole.status.message
    before, arguments = 0, {}
    for time in times:
        stop(time)
        stopped = tf.solve(problem, element, n, checkpoint=tf.Checkpoint(path, "1it", **arguments))
        assert stopped.status.reason == "stopped" and str(path) in stopped.status.message
        assert time <= stopped.t[-1] < whole.t[-1] or (at_end and stopped.t[-1] == whole.t[-1])
        assert len(stopped.t) > before
        before, arguments = len(stopped.t), {"restart": path}
    stop(np.inf)
    runs = [tf.solve(problem, element, n, checkpoint=tf.Checkpoint(restart=path))]
    if case in ("slides in space", "leaves"):  # contacts by formulas
        with pytest.raises(tf.InputError, match="has parts that no file can hold"):
            tf.restart(path)
    else:
        runs.append(tf.restart(path))
    for again in runs:
        assert again.success and again.status.message == whole.status.message
        assert again.statistics["contact_events"] == whole.statistics["contact_events"]
        np.testing.assert_allclose(again.t, whole.t, rtol=0, atol=1e-12 * whole.t[-1])
        for found, expected in ((again.nodal.state, whole.nodal.state),
                                (again.nodal_contact_forces, whole.nodal_contact_forces)):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        for one, other in zip(again.events, whole.events, strict=True):
            assert (one.kind, one.contacts, one.statuses, one.node) == (
                other.kind, other.contacts, other.statuses, other.node)
        np.testing.assert_array_equal(again.contact_modes, whole.contact_modes)
        assert again.located == whole.located


def test_checkpoints_of_other_contacts_are_refused(stop, tmp_path):
    path, element = tmp_path / "run.h5", tf.MixedGalerkin(2)

    def problem(restitution):
        ball = tf.PointMass(1.0, name="ball")
        floor = tf.PlaneContact(ball, restitution=restitution, name="floor")
        return tf.InitialValueProblem(tf.System([ball, floor], (0, 0, -9.81)), {ball: tf.Pose((0, 0, 0.5))}, (0, 2.0))

    stop(1.0)
    tf.solve(problem(0.8), element, 40, checkpoint=path)
    with pytest.raises(tf.InputError, match=r"run\.h5 belongs to another solve: system differs.*0\.8 there, 0\.7 here"):
        tf.solve(problem(0.7), element, 40, restart=path)
    with pytest.raises(tf.InputError, match="the mesh has 40 elements there, 20 here"):
        tf.solve(problem(0.8), element, 20, restart=path)
