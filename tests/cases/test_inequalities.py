"""Optimal control with bounds and limits: published values, and all methods to the same minimum."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES
from timefem.solvers.nonlinear.methods import METHODS

ELEMENT = tf.MixedGalerkin(2, n_points=2)


def solved(name, n, method="interior-point", **options):
    sol = tf.solve(CASES[name].make(), ELEMENT, n, method=method, **options)
    assert sol.success, sol.status.message
    return sol


@pytest.mark.parametrize("name, n, value, rtol", [
    ("cart-pole", 80, 58.80766746, 1e-5),
    ("cart-pole-limited", 80, 59.19211, 1e-5),
    ("bryson-denham", 60, 4.0, 2e-7),  # bounds are relaxed by 1e-8
    ("breakwell", 60, 4 / 9 / 0.1, 2e-7),
    ("speed-limit", 41, 2.05, 1e-7),  # nodes on the switches
    ("robot-arm-time", 100, 9.14094, 2e-5),
    ("two-link-arm-time", 60, 2.9823, 5e-5),
    pytest.param("container-crane", 200, 5.1505e-3, 1e-5, marks=pytest.mark.slow),
    pytest.param("cart-pole", 320, 58.80766746, 2e-8, marks=pytest.mark.slow),
])
def test_published_values(name, n, value, rtol):
    assert solved(name, n).objective == pytest.approx(value, rel=rtol)


@pytest.mark.parametrize("name, n", [("cart-pole-limited", 30), ("bryson-denham", 20), ("speed-limit", 20),
                                     ("robot-arm-time", 30)])
def test_methods_agree(name, n):
    found = {method: solved(name, n, method) for method in METHODS}
    own = found["interior-point"]
    for method, sol in found.items():
        assert sol.statistics["backend"] == method
        assert sol.objective == pytest.approx(own.objective, rel=1e-7)
        size = np.abs(own.z).max(axis=0) + 1e-9
        np.testing.assert_allclose(sol.z / size, own.z / size, rtol=0, atol=1e-5)
    most = 1.5 * found["ipopt"].statistics["newton_iterations"]["max"]
    assert own.statistics["newton_iterations"]["max"] <= most


def test_the_reorientation_about_one_axis_is_left():
    """34.31 s is stationary and no minimum: with true inertia the search goes on."""
    sol = solved("reorientation-time", 24)
    assert sol.objective < 30 and sol.status.message == "converged"
    turn = np.abs(sol.angular_velocity("body", sol.t))
    assert turn[:, 1:].max() > 0.01 * turn[:, 0].max()


@pytest.mark.slow
def test_the_least_time_of_the_reorientation():
    problem = CASES["reorientation-time"].make()
    start = tf.solve(problem, ELEMENT, 24, method="interior-point", guess=_off(problem, 0.3))
    assert start.success
    fine = tf.solve(problem, ELEMENT, 160, method="interior-point", guess=start)
    assert fine.success and fine.objective == pytest.approx(28.6304077, rel=2e-5)  # switches inside of elements


def _off(problem, share):
    """States on the way about x that swing off it."""
    body, = problem.system.bodies

    def states(t):
        s = t / 30
        angle = np.radians(75) * s**2 * (3 - 2 * s)
        q = np.stack([np.cos(angle), np.sin(angle), share * np.sin(np.pi * s), 0 * s], axis=1)
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        return np.array([np.concatenate(body.state(tf.Pose(orientation=x))) for x in q])

    return states


def test_bounded_controls_and_limits_hold():
    sol = solved("speed-limit", 20)
    t = np.linspace(0, sol.t[-1], 101)
    assert np.abs(sol.controls(t)).max() <= 1 + 1e-6
    assert sol.velocity("mass", sol.t)[:, 0].max() <= 0.8 + 1e-6


def test_what_fatrop_cannot_take():
    with pytest.raises(tf.InputError, match="touches a later element"):
        tf.solve(CASES["speed-limit"].make(), tf.BubnovGalerkin(2), 5, method="fatrop")
    with pytest.raises(tf.InputError, match="there is one element only"):
        tf.solve(CASES["bryson-denham"].make(), tf.MixedGalerkin(4), 1, method=tf.Fatrop())


def test_warm_starts_take_fewer_iterations():
    """From the solution on half as many elements, and after a change of a bound."""
    for name, n in (("cart-pole-limited", 30), ("speed-limit", 20), ("robot-arm-time", 30)):
        coarse = solved(name, n)
        cold, warm = solved(name, 2 * n), solved(name, 2 * n, guess=coarse)
        iterations = [sol.statistics["newton_iterations"]["max"] for sol in (cold, warm)]
        assert iterations[1] <= 0.7 * iterations[0], (name, iterations)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-7)


def test_many_elements_come_from_fewer():
    """Above 256 elements the own method starts on coarser meshes, and ends where IPOPT does on the mesh itself."""
    own, other = solved("speed-limit", 260), solved("speed-limit", 260, "ipopt")
    assert own.objective == pytest.approx(other.objective, rel=1e-7)
