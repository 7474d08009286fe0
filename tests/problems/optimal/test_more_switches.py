"""More switches than conditions: an oscillator brought to rest in least time, half a period between its switches."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import timefem as tf
from timefem.assembly import TimeMesh
from timefem.problems.optimal.strategies.switching_nodes import settled, switch_step

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)


def oscillator(x, v, unit=1.0, guess=8):
    """`x'' + x = u` with u between -1 and 1, to rest; lengths in another unit."""
    bead = tf.PointMass(1.0, dimension=1, name="bead")
    spring = tf.FormulaForce(bead, "[-f[0].position[0], 0, 0]", name="spring")
    push = tf.ControlForce(bead, [(1, 0, 0)], name="push")
    return tf.OptimalControl(
        tf.System([bead, spring, push]), {bead: tf.Pose((unit * x, 0, 0), velocity=(unit * v, 0, 0))},
        {bead: tf.Pose()}, (0, guess), end_cost="end.t", free_time=True,
        bounds={push: (-unit, unit), "duration": (0.1, 30)})


def least_time(x, v, n_arcs):
    """With u = -1 first: turns about -1 by a, about 1 and -1 in turns by pi, and by b into rest."""

    def first(a):
        z = -1 + (x + 1 + 1j * v) * np.exp(-1j * a)  # x + i v turns clockwise
        for i in range(n_arcs):
            z = 2 * (-1.0)**i - z
        return z, (-1.0)**n_arcs

    def off(a):
        z, u = first(a)
        return abs(z - u) - 1

    grid = np.linspace(1e-3, np.pi, 400)
    times = []
    for low, high in pairwise(grid):
        if off(low) * off(high) < 0:
            a = brentq(off, low, high, xtol=1e-14)
            z, u = first(a)
            times.append(a + n_arcs * np.pi + np.angle((z - u) / -u) % (2 * np.pi))
    return min(times)


@pytest.mark.parametrize(("start", "n_arcs", "unit"), [((3.3, 0.4), 1, 1.0), ((3.3, 0.4), 1, 1e3),
                                                      ((5.0, 1.0), 2, 1.0)])
def test_tolerance_is_met(start, n_arcs, unit):
    sol = tf.solve(oscillator(*start, unit), ELEMENT, tolerance=1e-6, progress=False)
    exact = least_time(*start, n_arcs)
    assert sol.success and abs(sol.objective - exact) < 1e-6 * exact
    assert sol.statistics["n_elements"] <= 120


@pytest.mark.parametrize("start, exact, above", [
    (5.0, 7.937411720585, 3e-3), (6.0, 3 * np.pi, 2e-2), (7.0, 11.058115049361, 3e-3)])
@pytest.mark.parametrize("guess", [6, 8, 9])
def test_times_that_are_held_first(start, exact, above, guess):
    """From most guesses a search ends where the end does not depend on the time to first order; IPOPT does from all.
    From 6 to -4 to 2 to 0, each in half a turn: elements in
    which controls switch miss there by the root of what they miss elsewhere."""
    sol = tf.solve(oscillator(start, 0.0, guess=guess), ELEMENT, 42, progress=False)
    assert sol.success and exact * (1 - 1e-4) < sol.objective < exact * (1 + above)
    assert sol.statistics["newton_iterations"]["max"] <= 500


def test_gain_of_better_switches():
    """Nodes at the means of the controls hold a motion that is not the best: by what the step tells."""
    problem = oscillator(3.3, 0.4)
    mesh = TimeMesh.uniform(problem.t_span, 47)
    coarse = tf.solve(problem, ELEMENT, 47, progress=False)
    mesh, sol, _ = settled(problem.bounds, mesh, coarse, lambda mesh, guess: tf.solve(
        problem, ELEMENT, mesh=mesh, guess=guess, progress=False))
    step = switch_step(problem, ELEMENT, mesh, sol)
    excess = sol.objective - least_time(3.3, 0.4, 1)
    assert excess > 1e-5 and abs(step.gain - excess) < 0.1 * excess
    spacing = np.diff(step.better)[0] * sol.objective / problem.t_span[1]
    assert abs(spacing - np.pi) < 0.1 * abs(np.diff(step.times)[0] * sol.objective / problem.t_span[1] - np.pi)


def test_no_gain_where_conditions_fix_the_switches():
    bead = tf.PointMass(1.0, dimension=1, name="bead")
    push = tf.ControlForce(bead, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(tf.System([bead, push]), {bead: tf.Pose()}, {bead: tf.Pose((1, 0, 0))}, (0, 1.5),
                                end_cost="end.t", free_time=True, bounds={push: (-1, 2), "duration": (0.1, 9)})
    sol = tf.solve(problem, ELEMENT, tolerance=1e-6, progress=False)
    mesh = TimeMesh(sol.t * problem.t_span[1] / sol.t[-1])
    step = switch_step(problem, ELEMENT, mesh, sol)
    assert len(step.times) == 1 and abs(step.gain) < 1e-12 and abs(sol.objective - np.sqrt(3)) < 1e-7


def test_farthest_at_a_given_time():
    """Nothing is asked at the end: u has the sign of sin(T - t), and x(T) is the integral of its magnitude."""
    problem = oscillator(0.0, 0.0)
    bead = problem.system.find("bead")
    problem = tf.OptimalControl(problem.system, {bead: tf.Pose()}, {}, (0, 10), end_cost="-end.position('bead')[0]",
                                bounds={"push": (-1, 1)})
    sol = tf.solve(problem, ELEMENT, tolerance=1e-6, progress=False)
    exact = 6 + 1 - np.cos(10 - 3 * np.pi)
    assert sol.success and abs(sol.objective + exact) < 1e-6 * exact
    assert sol.statistics["n_elements"] <= 200
