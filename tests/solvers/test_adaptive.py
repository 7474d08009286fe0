"""Step-size control: the tolerance is met, and the result is an ordinary solution on its mesh."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.schemes import EML, NewmarkSO3, Zupan3
from timefem.solvers.step_control import StepControl


def relative_error(sol, exact):
    """Largest error of a solution at its nodes, relative to the size of the motion as `StepControl` defines it."""
    system, n = sol.system, sol.system.n_q
    root = np.sqrt(system.mass_scale)
    turns = np.concatenate([(np.arange(b.n_q) >= 3) & (b.n_q > 3) for b in system.bodies])
    velocity = exact[:, n:] / root
    change = np.abs(velocity - velocity[0])
    rate = np.abs(np.diff(velocity, axis=0)) / np.diff(sol.t)[:, None]
    v, a = (np.array([x[:, turns == b].max(initial=0) for b in (False, True)]) for x in (change, rate))
    v, a = np.maximum(v, 1e-3 * v.max()), np.maximum(a, 1e-3 * a.max())
    path, speed, d = (v**2 / a)[turns.astype(int)], v[turns.astype(int)], np.abs(sol.z - exact)
    return max((d[:, :n] * root / path).max(), (d[:, n:] / root / speed).max())


def reference(problem, sol, degree=4):
    """State at the nodes of a solution, on a mesh twice as fine."""
    middles = (sol.t[1:] + sol.t[:-1]) / 2
    return tf.solve(problem, tf.MixedGalerkin(degree), mesh=np.sort(np.concatenate([sol.t, middles]))).z[::2]


@pytest.mark.parametrize("name", ["spinning-box", "free-body", "physical-pendulum", "heavy-top", "nutating-top",
                                  "mass-spring", "spring-pendulum", "four-bar", "double-pendulum", "slider-crank",
                                  "rotation-ii"])
@pytest.mark.parametrize("degree, tolerance", [(2, 1e-4), (3, 1e-7)])
def test_tolerance_is_met(name, degree, tolerance):
    problem = find_case(name).make()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=tolerance)
    assert sol.success and sol.t[-1] == problem.t_span[1]
    assert relative_error(sol, reference(problem, sol)) < 10 * tolerance
    assert sol.statistics["n_elements"] == len(sol.t) - 1
    errors = sol.errors()
    assert max(errors["configuration"], errors["velocity"]) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["closed-chain-4", "closed-chain", "bricard", "andrews-squeezer"])
def test_tolerance_is_met_by_mechanisms(name):
    problem = find_case(name).make()
    sol = tf.solve(problem, tf.MixedGalerkin(3), tolerance=1e-6)
    assert sol.success and relative_error(sol, reference(problem, sol)) < 1e-5


@pytest.mark.parametrize("element, tolerance", [(Zupan3(), 1e-3), (Zupan3(), 1e-5), (NewmarkSO3(), 1e-2)])
def test_one_step_schemes(element, tolerance):
    problem = find_case("rotation-ii").make()
    sol = tf.solve(problem, element, tolerance=tolerance)
    error = relative_error(sol, reference(problem, sol))
    assert sol.success and tolerance / 100 < error < 10 * tolerance


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), Zupan3()])
def test_equals_a_march_on_its_mesh(element):
    problem = find_case("rotation-ii").make(t_end=5.0)
    sol = tf.solve(problem, element, tolerance=1e-4)
    again = tf.solve(problem, element, mesh=sol.t)
    np.testing.assert_allclose(sol.z, again.z, rtol=0, atol=1e-10)
    lengths = np.diff(sol.t)
    np.testing.assert_allclose(lengths[::2], lengths[1::2], rtol=1e-9, atol=0)
    assert lengths.max() > 1.5 * lengths.min()


def drifting(velocity, position):
    body = tf.RigidBody(1, (6, 8, 3))
    state = {body: tf.Pose(position=position, velocity=velocity, angular_velocity=(1, 2, 2))}
    return tf.InitialValueProblem(tf.System([body]), state, (0, 5))


def test_drift_changes_no_step():
    at_rest, far_away = (tf.solve(drifting(v, x), tf.MixedGalerkin(2), tolerance=1e-6)
                         for v, x in (((0, 0, 0), (0, 0, 0)), ((100, 0, 0), (1e6, 0, 0))))
    assert len(at_rest.t) == pytest.approx(len(far_away.t), rel=0.1)
    rotations = [sol.z[-1, 3:7] for sol in (at_rest, far_away)]
    np.testing.assert_allclose(*rotations, rtol=0, atol=1e-5)


def test_nodes_at_kinks():
    body = tf.RigidBody(2, (5, 4, 2))
    system = tf.System([body, tf.Torque(body, (1, 2, 0), time=tf.TrianglePulse(0.71, 1.03, 1.37, 30.0))])
    problem = tf.InitialValueProblem(system, {body: tf.Pose()}, (0, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(3), tolerance=1e-8)
    assert sol.success and set(system.kinks) <= set(sol.t)
    assert relative_error(sol, reference(problem, sol)) < 1e-7
    assert sol.statistics["rejected"]["error"] > 0  # the body is at rest before the pulse


def test_limits_of_the_step():
    problem = find_case("free-body").make()
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=StepControl(1e-3, max_step=0.004))
    assert sol.success and np.diff(sol.t).max() < 0.004 * (1 + 1e-9)
    failed = tf.solve(problem, tf.MixedGalerkin(1), tolerance=StepControl(1e-8, min_step=0.02))
    assert not failed.success and failed.status.reason == "step too small"
    assert "would be needed" in failed.status.message and len(failed.t) == failed.status.element + 1


@pytest.mark.parametrize("arguments, message", [
    ({"tolerance": 1e-6, "n_elements": 5}, "n_elements is given"), ({"tolerance": -1.0}, "tolerance"),
    ({"tolerance": 1e-15}, "between"), ({"tolerance": 1e-6, "driver": "windows"}, "driver is given")])
def test_input_is_checked(arguments, message):
    with pytest.raises(tf.InputError, match=message):
        tf.solve(find_case("free-body").make(), tf.MixedGalerkin(2), **arguments)


def test_elements_without_an_estimate():
    with pytest.raises(tf.InputError, match="cannot be marched"):
        tf.solve(find_case("free-body").make(), tf.BubnovGalerkin(3), tolerance=1e-6)
    with pytest.raises(tf.InputError, match="local error is not known"):
        tf.solve(find_case("heavy-top").make(), EML(), tolerance=1e-3)
    with pytest.raises(tf.InputError, match="larger than max_step"):
        StepControl(1e-6, min_step=1.0, max_step=0.1)
