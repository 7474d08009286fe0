"""Nodes on the switches of controls: the two-link arm in least time, whose switches DOP853 tells (see the cases)."""

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import TimeMesh
from timefem.cases import CASES
from timefem.problems.optimal.strategies.switching_nodes import settled, switch_times, with_nodes_at

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, n_points=2)
LEAST, SWITCHES = 2.98227994, [0.94314035, 1.49113997, 2.62754507]


@pytest.fixture(scope="module")
def near():
    """The problem, and a solution near the better one of its two minima."""
    problem = CASES["two-link-arm-time"].make()
    found = tf.solve(problem, ELEMENT, 60, progress=False)
    if found.objective > 3:
        found = tf.solve_all(problem, ELEMENT, 40, n_starts=4, processes=1, progress=False)[0]
    return problem, found


def test_switches_of_given_controls():
    """Jumps at 0.33 within an element and at 0.5 between two; a control that only touches its bound has none."""
    mesh, basis = TimeMesh(np.linspace(0, 1, 11)), tf.LagrangeBasis(1)
    first = np.ones((10, 2))
    first[3], first[4:] = -0.4, -1  # mean of the element from 0.3 to 0.4: 30 % at the upper bound
    second = np.where(np.arange(10)[:, None] < 5, -2.0, 4.0) * np.ones((10, 2))
    third = np.full((10, 2), 0.3)
    third[2] = 1
    found = switch_times(mesh, np.stack([first, second, third], axis=2), basis, np.array([[-1, -2, -1], [1, 4, 1.0]]))
    np.testing.assert_allclose(found, [0.33, 0.5], rtol=0, atol=1e-12)
    moved, most = with_nodes_at(mesh, found)
    np.testing.assert_allclose(moved.nodes, [0, 0.1, 0.2, 0.33, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1], rtol=0, atol=1e-12)
    assert most == pytest.approx(0.3)


def test_nodes_on_switches_bring_the_order_back(near):
    problem, start = near
    mesh = TimeMesh.uniform(problem.t_span, 30)
    uniform = tf.solve(problem, ELEMENT, 30, guess=start, progress=False)
    mesh, sol, times = settled(problem.bounds, mesh, uniform, lambda mesh, guess: tf.solve(
        problem, ELEMENT, mesh=mesh, guess=guess, progress=False))
    assert uniform.objective - LEAST > 3e-4 and abs(sol.objective - LEAST) < 3e-6
    switches = switch_times(mesh, sol.fields["controls"], sol.element.trial["controls"].basis, problem.bounds)
    np.testing.assert_allclose(switches * sol.objective / problem.t_span[1], SWITCHES, rtol=0, atol=1e-4)
    assert 1 <= len(times) <= 3


def test_a_tolerance_is_met_with_few_elements(near):
    problem, start = near
    sol = tf.solve(problem, ELEMENT, guess=start, tolerance=1e-5, progress=False)
    assert sol.success and abs(sol.objective - LEAST) < 1e-5 * LEAST
    assert sol.statistics["n_elements"] <= 100  # equal ones err by 1e-4 with 60
