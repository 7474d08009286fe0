"""Nonlinear references: a pendulum, a four-bar linkage with two gyroscopes, and a tumbling body that sees stars."""

import numpy as np
import pytest

import timefem as tf

from .references import ROTATION, data, four_bar, pendulum, three_stars


def errors(name, sol, places):
    """Largest errors of means and covariances at the times of a reference."""
    found = np.zeros(2)
    for state in data(name)["states"]:
        i = int(np.argmin(np.abs(sol.t - state["t"])))
        n = len(places)
        mean, covariance = np.array(state["mean"])[:n], np.array(state["covariance"])[:n, :n]
        found = np.maximum(found, [np.abs(sol.z[i][places] - mean).max(),
                                   np.abs(sol.state_covariance(i)[np.ix_(places, places)] - covariance).max()])
    return found


def solved(problem, k, n):
    sol = tf.solve(problem, tf.MixedGalerkin(k), n, progress=False)
    assert sol.success, sol.status
    held = np.abs(sol.system.constraints(sol.t, sol.z)).max(initial=0.0) if sol.system.n_constraints else 0.0
    assert held < 1e-12
    return sol


CASES = {  # name -> problem, places, [(k, elements)], largest errors of the finest, evidence, and its error
    "pendulum": (pendulum, [0, 1], [(2, 10), (2, 20), (2, 40)], (3e-6, 3e-7), 22.2990609057, 3e-5),
    "three_stars": (three_stars, ROTATION, [(2, 12), (2, 24), (2, 48)], (6e-6, 5e-9), 638.8610403, 5e-5),
}


@pytest.mark.parametrize("name", CASES)
def test_order_and_digits(name):
    make, places, meshes, largest, evidence, off = CASES[name]
    found, last = [], None
    for k, n in meshes:
        last = solved(make(), k, n)
        found.append(errors(name, last, places))
    slopes = np.log2(np.array(found)[1:-1] / np.array(found)[2:])
    np.testing.assert_allclose(slopes, 4, rtol=0, atol=0.3)
    assert np.all(found[-1] < largest)
    assert abs(2 * last.log_evidence - evidence) < off


def test_digits_of_the_pendulum():
    sol = solved(pendulum(), 3, 80)
    deviations = [np.sqrt(np.diag(sol.state_covariance(i))) for i in (0, 80)]
    np.testing.assert_allclose(sol.z[[0, 80]], [[1.446986511356, -0.476629723278], [1.385987623050, 1.902283176961]],
                               rtol=0, atol=2e-10)
    np.testing.assert_allclose(deviations, [[0.061969633661, 0.301990119841], [0.027804110111, 0.257160052867]],
                               rtol=0, atol=2e-10)
    assert abs(2 * sol.log_evidence - 22.2990609057) < 1e-7


def test_four_bar_with_two_gyroscopes():
    """Biases and the angle are found: two rates of a loop have a ratio that depends on it."""
    sol = solved(four_bar(), 3, 120)
    np.testing.assert_allclose(sol.numbers, [0.05201016, -0.08609584], rtol=0, atol=2e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(sol.number_covariance)), [0.00998153, 0.00467039], rtol=0, atol=1e-6)
    np.testing.assert_allclose(sol.z[-1][:2], [-0.0909469022, 0.3379773084], rtol=0, atol=3e-6)
    assert abs(2 * sol.log_evidence - 35.474161) < 5e-4
    place = errors("four_bar", sol, list(range(8)))
    assert np.all(place < (5e-6, 1e-6))


def test_unknown_inertia_of_a_body_that_sees_stars():
    sol = solved(three_stars(unknown=True), 2, 48)
    np.testing.assert_allclose(sol.numbers, 0.30081135, rtol=0, atol=5e-7)
    np.testing.assert_allclose(np.sqrt(sol.number_covariance[0, 0]), 0.00386505, rtol=0, atol=1e-8)
    assert abs(2 * sol.log_evidence - 633.4488397) < 2e-4
