"""Loads with kinks: the mesh has nodes there, and methods keep their order."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum

PULSE = tf.TrianglePulse(0.1234, 0.37, 0.7071, 30)
FACTORS = {"triangle": PULSE, "step": tf.Step(0.456, 20), "ramp": tf.Ramp(0.111, 0.515, 0, 20),
           "table": tf.Table([0.05, 0.33, 0.61, 0.97], [0, 10, -20, 5]),
           "cubic": tf.Table([0.05, 0.33, 0.61, 0.97], [0, 10, -20, 5], "cubic"),
           "smooth": tf.Ramp(0.111, 0.515, 0, 20, "smooth")}


def driven(time):
    body = tf.RigidBody(2, [2, 3, 4], name="body")
    support = tf.FixedPoint(body, [0, 0, 1])
    force = tf.Force(body, [4, 0, 1], [0.1, 0.2, 0], time=time, frame="body")
    return tf.InitialValueProblem(tf.System([body, support, force], [0, 0, -9.81]), {body: tf.Pose([0, 0, -1])}, (0, 1))


def order(problem, element, sizes, exact, uniform):
    errors = []
    for n in sizes:
        mesh = {"mesh": tf.TimeMesh.uniform(problem.t_span, n)} if uniform else {"n_elements": n}
        sol = tf.solve(problem, element, progress=False, **mesh)
        errors.append(np.abs(sol.z[-1] - exact).max())
    return -np.polyfit(np.log(sizes), np.log(errors), 1)[0], errors[-1]


@pytest.mark.parametrize("name", ["triangle", "step", "table"])
def test_order_is_kept(name):
    """mG(2) has order 4; a mesh that misses the kinks loses it."""
    problem, element, sizes = driven(FACTORS[name]), tf.MixedGalerkin(2), [32, 48, 72, 108]
    exact = tf.solve(problem, tf.MixedGalerkin(4), 200, progress=False).z[-1]
    through, error = order(problem, element, sizes, exact, uniform=False)
    assert 3.6 < through < 4.6
    assert error < 3e-6
    missed, coarse = order(problem, element, sizes, exact, uniform=True)
    assert missed < 3.2
    assert coarse > 100 * error


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("n", [7, 8, 20, 101])
def test_nodes_at_the_kinks(name, n):
    problem = driven(FACTORS[name])
    sol = tf.solve(problem, tf.MixedGalerkin(1), n, progress=False)
    assert len(sol.t) == n + 1 and np.array_equal(sol.t[[0, -1]], [0, 1])
    assert problem.system.kinks.tolist() == list(FACTORS[name].kinks)
    assert set(problem.system.kinks) <= set(sol.t)
    lengths = np.diff(sol.t)
    assert lengths.max() <= 2 / n
    if n == 101:
        assert lengths.max() < 1.1 / n and lengths.min() > 0.7 / n


@pytest.mark.parametrize("t_span, n, kinks", [
    ((0, 1), 10, []), ((0, 1), 10, [0.3, 0.5, 0.9]), ((0, 1), 10, [0.1 + 0.2]), ((0, 1), 7, [-1, 0, 1, 2, 3 / 7]),
    ((0.1, 1.3), 12, [0.1 + 0.1 * i for i in range(12)]), ((1e4, 1e4 + 1), 1000, [1e4 + 0.123, 1e4 + 0.5])])
def test_kinks_at_nodes_leave_the_mesh_as_it_is(t_span, n, kinks):
    np.testing.assert_array_equal(tf.TimeMesh.uniform(t_span, n, through=kinks).nodes, np.linspace(*t_span, n + 1))


def test_equally_long_steps_between_times_are_not_told_apart_by_rounding():
    """Which of two takes an element more was another one in hours, or at a later start."""
    times = np.array([0.02, 0.1, 0.15])
    nodes = tf.TimeMesh.uniform((0, 0.25), 12, through=times).nodes
    for start, second in ((100.0, 1.0), (10.0, 1.0), (0.0, 1 / 3600), (0.0, 1e3), (-7.3, 0.1)):
        other = tf.TimeMesh.uniform((start, start + 0.25 * second), 12, through=start + times * second).nodes
        np.testing.assert_allclose((other - start) / second, nodes, rtol=0, atol=1e-12)


def test_meshes_through_times():
    rng = np.random.default_rng(3)
    for _ in range(200):
        start, length, n = rng.uniform(-5, 5), rng.uniform(0.1, 9), int(rng.integers(1, 80))
        times = np.unique(start + length * rng.uniform(size=int(rng.integers(0, n))))
        nodes = tf.TimeMesh.uniform((start, start + length), n, through=rng.permutation(times)).nodes
        assert len(nodes) == n + 1 and set(times) <= set(nodes)
        # no mesh through these times with as many elements has a shorter longest one
        ends, longest = np.array([start, *times, start + length]), np.diff(nodes).max()
        assert np.ceil(np.diff(ends) / (longest * (1 - 1e-9))).sum() > n or len(times) == 0
    np.testing.assert_allclose(tf.TimeMesh.uniform((0, 1), 3, through=[0.3, 0.3 + 1e-16, 0.3]).nodes,
                               [0, 0.3, 0.65, 1], rtol=0, atol=1e-15)
    with pytest.raises(tf.InputError, match="n_elements is 2, but 3 at least are needed"):
        tf.TimeMesh.uniform((0, 1), 2, through=[0.3, 0.4])
    with pytest.raises(tf.InputError, match="through must be finite"):
        tf.TimeMesh.uniform((0, 1), 2, through=[np.nan])


def test_more_kinks_than_elements():
    """A dense table: the mesh stays uniform rather than follow the table."""
    table = tf.Table(np.linspace(0, 0.3, 50) ** 1.5, np.zeros(50))
    for n in (10, 60):
        sol = tf.solve(driven(table), tf.MixedGalerkin(1), n, progress=False)
        np.testing.assert_array_equal(sol.t, np.linspace(0, 1, n + 1))


def test_without_loads_nothing_changes():
    sol = tf.solve(pendulum(t_end=0.3), tf.MixedGalerkin(1), 7, progress=False)
    np.testing.assert_array_equal(sol.t, np.linspace(0, 0.3, 8))
