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


EVIDENCE = {"pendulum": 22.2990609057, "three_stars": 638.8610403, "three_stars_inertia": 633.4488397,
            "four_bar": 35.474161}
CASES = [  # name, k, elements of the finest of three meshes, largest errors there of mean, covariance and evidence
    ("pendulum", 1, 80, (2e-3, 1.1e-4, 2e-2)), ("pendulum", 2, 40, (3e-6, 3e-7, 3e-5)),
    ("pendulum", 3, 40, (1.5e-9, 7e-11, 1.5e-8)),
    ("three_stars", 1, 96, (2.8e-3, 2e-6, 4e-2)), ("three_stars", 2, 48, (6e-6, 5e-9, 5e-5)),
    ("three_stars", 3, 48, (1.7e-9, 2e-12, 1e-7)),
    ("three_stars_inertia", 1, 96, (2.4e-3, 2e-6, 8e-3)), ("three_stars_inertia", 2, 48, (5e-6, 5e-9, 1e-4)),
    ("three_stars_inertia", 3, 48, (2e-9, 3e-12, 1e-7)),
    ("four_bar", 1, 480, (4e-4, 5e-5, 8e-2)), ("four_bar", 2, 240, (6e-6, 4e-7, 2.2e-3)),
    ("four_bar", 3, 240, (1.6e-8, 7e-10, 3e-6)),
]
QUICK = ("pendulum", 2), ("three_stars", 2)


@pytest.mark.parametrize(("name", "k", "n", "largest"), [
    pytest.param(*case, marks=() if case[:2] in QUICK else pytest.mark.long, id=f"{case[0]}-{case[1]}")
    for case in CASES])
def test_order_and_digits(name, k, n, largest):
    """Means and covariances at the times of the references have order 2k."""
    make = {"pendulum": pendulum, "four_bar": four_bar}.get(name, lambda: three_stars(unknown=name != "three_stars"))
    places = {"pendulum": [0, 1], "four_bar": list(range(8))}.get(name, ROTATION)
    found = []
    for elements in (n // 4, n // 2, n):
        last = solved(make(), k, elements)
        found.append(errors(name, last, places))
    slopes = np.log2(found[1] / found[2])
    np.testing.assert_allclose(slopes, 2 * k, rtol=0, atol=0.3)
    assert np.all(found[2] < largest[:2])
    assert abs(2 * last.log_evidence - EVIDENCE[name]) < largest[2]


def test_digits_of_the_pendulum():
    sol = solved(pendulum(), 3, 80)
    deviations = [np.sqrt(np.diag(sol.state_covariance(i))) for i in (0, 80)]
    np.testing.assert_allclose(sol.z[[0, 80]], [[1.446986511356, -0.476629723278], [1.385987623050, 1.902283176961]],
                               rtol=0, atol=2e-10)
    np.testing.assert_allclose(deviations, [[0.061969633661, 0.301990119841], [0.027804110111, 0.257160052867]],
                               rtol=0, atol=2e-10)
    assert abs(2 * sol.log_evidence - 22.2990609057) < 1e-7


@pytest.mark.long
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
