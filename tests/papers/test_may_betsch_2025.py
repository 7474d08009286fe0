"""Claims of May & Betsch (2025), as corrected and measured in numerics.md section 1."""

import functools

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, end_error, pendulum, slope, spinning_box

MULTIPLIERS = ("discontinuous", "continuous")
MODELS = {"box": spinning_box, "pendulum": pendulum}


@functools.lru_cache
def fine(model, rotation):
    problem = MODELS[model](rotation)
    return tf.solve(problem, tf.MixedGalerkin(4), 2000).z[-1]


def error(model, rotation, element, n_elements):
    problem = MODELS[model](rotation)
    solution = tf.solve(problem, element, n_elements)
    assert solution.success, solution.status.message
    return end_error(problem, solution, fine(model, rotation)), solution


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("degree, n_elements, cap", [
    (1, (200, 400, 800), 2.1e-3), (2, (100, 200, 400), 3.0e-6), (3, (40, 80, 160), 8e-8), (4, (25, 35, 50), 3e-7)])
@pytest.mark.parametrize("extra_points", [0, 1])
def test_mixed_galerkin_has_order_2k(rotation, degree, n_elements, cap, extra_points):
    element = tf.MixedGalerkin(degree, n_points=degree + extra_points)
    errors = [error("box", rotation, element, n)[0] for n in n_elements]
    assert -slope(n_elements, errors) == pytest.approx(2 * degree, abs=0.35 if degree == 4 else 0.25)
    assert errors[-1] < cap * (4 if rotation == "directors" else 1.1)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("degree, n_elements, cap", [(1, (100, 200, 400), 2e-4), (2, (25, 50, 100), 6e-6),
                                                     (3, (15, 30, 60), 4e-7)])
def test_mixed_galerkin_pendulum_has_order_2k(rotation, degree, n_elements, cap):
    results = [error("pendulum", rotation, tf.MixedGalerkin(degree), n) for n in n_elements]
    assert -slope(n_elements, [e for e, _ in results]) == pytest.approx(2 * degree, abs=0.3)
    assert results[-1][0] < cap
    errors = results[-1][1].errors()
    assert max(errors["configuration"], errors["velocity"]) <= 1e-11


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("multipliers", MULTIPLIERS)
@pytest.mark.parametrize("degree, order", [(1, 2), (2, 2), (3, 4)])
def test_bubnov_galerkin_orders(model, rotation, multipliers, degree, order):
    n_elements = (100, 200, 400) if degree == 3 else (400, 800, 1600)
    if model == "pendulum":
        n_elements = tuple(n // 2 for n in n_elements)
    element = tf.BubnovGalerkin(degree, multipliers)
    results = [error(model, rotation, element, n) for n in n_elements]
    errors = [e for e, _ in results]
    assert -slope(n_elements, errors) == pytest.approx(order, abs=0.45)
    assert errors[-1] < {1: 8e-3, 2: 2e-3, 3: 1e-6}[degree]
    assert results[-1][1].statistics["newton_iterations"]["max"] <= 6


@pytest.mark.parametrize("degree, multipliers, n_elements, quoted", [
    (1, "discontinuous", 400, 2.8e-3), (1, "continuous", 400, 7.0e-3),
    (3, "discontinuous", 100, 7.7e-6), (3, "continuous", 100, 1.3e-6)])
def test_bubnov_galerkin_quoted_errors(degree, multipliers, n_elements, quoted):
    measured, _ = error("box", "quaternion", tf.BubnovGalerkin(degree, multipliers), n_elements)
    assert measured == pytest.approx(quoted, rel=0.1)


@pytest.mark.parametrize("n_elements, energy, momentum",
                         [(50, 4.5e-2, 5e-3), (100, 2.7e-3, 3e-4), (200, 1.6e-4, 1.9e-5)])
def test_bubnov_galerkin_quoted_drifts(n_elements, energy, momentum):
    solution = tf.solve(spinning_box(), tf.BubnovGalerkin(3), n_elements)
    assert solution.errors()["energy"] == pytest.approx(energy, rel=0.1)
    assert np.abs(solution.angular_momentum()[:, 1] - 130).max() == pytest.approx(momentum, rel=0.1)


@pytest.mark.parametrize("degree", [1, 3])
def test_dropping_the_end_tests_is_more_accurate_and_stable(degree):
    n = 400 if degree == 1 else 100
    start, _ = error("box", "directors", tf.BubnovGalerkin(degree), n)
    end, _ = error("box", "directors", tf.BubnovGalerkin(degree, drop="end"), n)
    assert end < start / 4
    long = tf.solve(spinning_box(t_end=20), tf.BubnovGalerkin(1, drop="end"), 1600)
    assert long.success and long.errors()["energy"] < 0.5


@pytest.mark.parametrize("n_points, energy, tolerance", [(1, 1.1, 0.06), (2, 0, 5e-12), (4, 0, 5e-12)])
def test_energy_of_quaternion_mg1_polynomial(n_points, energy, tolerance):
    solution = tf.solve(spinning_box(), tf.MixedGalerkin(1, n_points), 100)
    assert solution.errors()["energy"] == pytest.approx(energy, abs=tolerance)


@pytest.mark.parametrize("n_points, energy", [(1, 1.2), (2, 5e-3), (3, 1.3e-5), (4, 2.9e-8), (5, 6e-11), (6, 0)])
def test_energy_of_quaternion_mg1_exact_inverse(n_points, energy):
    solution = tf.solve(spinning_box(inverse_mass="exact"), tf.MixedGalerkin(1, n_points), 100)
    assert solution.errors()["energy"] == pytest.approx(energy, rel=0.2, abs=5e-12)


@pytest.mark.parametrize("n_points, momentum", [(1, 0), (2, 7e-2), (4, 7e-2)])
def test_momentum_of_quaternion_mg1(n_points, momentum):
    solution = tf.solve(spinning_box(), tf.MixedGalerkin(1, n_points), 100)
    drift = np.abs(solution.angular_momentum()[:, 1] - 130).max()
    assert drift == pytest.approx(momentum, rel=0.1, abs=2e-12)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_momentum_needs_k_points(degree, rotation):
    exact = tf.solve(spinning_box(rotation), tf.MixedGalerkin(degree, degree), 50)
    more = tf.solve(spinning_box(rotation), tf.MixedGalerkin(degree, degree + 1), 50)
    assert exact.errors()["angular_momentum"] <= 5e-12
    assert more.errors()["angular_momentum"] > 1e-7


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_directors_keep_energy_with_k_points_or_more(degree):
    for n_points in (degree, degree + 2):
        solution = tf.solve(spinning_box("directors"), tf.MixedGalerkin(degree, n_points), 100)
        assert solution.errors()["energy"] <= 5e-12
        if degree == 1:
            assert solution.errors()["angular_momentum"] <= 2e-12


@pytest.mark.parametrize("n_points, energy, tolerance", [(1, 1.2, 0.1), (2, 0, 2e-11), (4, 0, 2e-11)])
def test_pendulum_mg1(n_points, energy, tolerance):
    solution = tf.solve(pendulum(), tf.MixedGalerkin(1, n_points), 50)
    errors = solution.errors()
    assert errors["energy"] == pytest.approx(energy, abs=tolerance)
    if n_points > 1:
        assert max(errors["configuration"], errors["velocity"]) <= 1e-11


@pytest.mark.parametrize("problem, expected", [
    (spinning_box("quaternion"), [0, 0]), (spinning_box("directors"), [650, 4, 25, 0, 0, -8, *[0] * 6])])
def test_consistent_multipliers(problem, expected):
    measured = problem.system.consistent_multipliers(0, problem.z0)
    np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_consistent_joint_force(rotation):
    problem = pendulum(rotation)
    names = problem.system.constraint_names
    measured = problem.system.consistent_multipliers(0, problem.z0)[names.index("support: fixed point, z")]
    assert measured == pytest.approx(247.0847880299, abs=1e-9)


def test_zero_initial_multipliers_would_lose_two_orders():
    """With lambda(t0) = 0 in place of the consistent value, k = 3 directors fall from order 4 to about 2."""
    problem = spinning_box("directors")
    sound = [error("box", "directors", tf.BubnovGalerkin(3, "continuous"), n)[0] for n in (50, 100)]
    problem.system.consistent_multipliers = lambda t, z: np.zeros(problem.system.n_multipliers)
    spoilt = [end_error(problem, tf.solve(problem, tf.BubnovGalerkin(3, "continuous"), n), fine("box", "directors"))
              for n in (50, 100, 200)]
    assert -slope((50, 100, 200), spoilt) < 3
    assert spoilt[1] > 3 * sound[1]
