"""Motions that go straight through their constraints in one element, and guesses that end where limits allow."""

import numpy as np
import pytest

import timefem as tf
from tests.problems.optimal.test_reduced_again import LEAST, STILL, UP, phase
from timefem.solution.audit import jump_of

HANGING = tf.Pose((0, -1, 0))
pytestmark = [pytest.mark.filterwarnings("ignore:control . of push"), pytest.mark.long]


@pytest.mark.parametrize("element, error", [(tf.MixedGalerkin(1), 2e-3), (tf.BubnovGalerkin(2), 5e-4),
                                            (tf.BubnovGalerkin(3), 2e-4), (tf.MixedGalerkin(2), 1e-6)])
def test_a_bob_is_thrown_up(element, error):
    """By mG(1) it hung until the last element and was up after it, at no cost; by BG(2) there was no solution."""
    sol = tf.solve(phase(HANGING, STILL, 1.0, UP), element, 40, progress=False)
    assert sol.success and sol.objective == pytest.approx(LEAST, rel=error) and jump_of(sol) is None
    assert np.abs(np.linalg.norm(sol.position("bob", np.linspace(0, 1, 301)), axis=1) - 1).max() < 1e-3
    assert sol.statistics["newton_iterations"]["max"] < 60


def test_a_bar_on_a_hinge_is_thrown_up():
    """By BG(2) it took 24 s to report that there is no solution."""
    bar = tf.RigidBody(1, [0.08, 0.01, 0.08], name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    problem = tf.OptimalControl(
        tf.System([bar, hinge]), {bar: tf.Pose((0, 0, -0.5))},
        {bar: tf.EndState(velocity=[0, 0, 0], angular_velocity=[0, 0, 0])}, (0, 1),
        tf.Effort(tf.ControlTorque(bar, [(1, 0, 0)])), limits=tf.Limit("now.position('bar')[2]", 0.45, None, at="end"))
    exact = 6 * (0.33 * np.arccos(-0.9))**2
    for element, error in ((tf.MixedGalerkin(2), 1e-3), (tf.BubnovGalerkin(2), 2e-3)):  # of orders 4 and 2
        sol = tf.solve(problem, element, 20, progress=False)
        assert sol.success and sol.objective == pytest.approx(exact, rel=error)


def test_a_jump_is_told():
    """From a guess that hangs all the time."""
    guess = tf.Guess(np.tile([0.0, -1, 0, 0], (2, 1)))
    sol = tf.solve(phase(HANGING, STILL, 1.0, UP), tf.MixedGalerkin(1), 40, guess=guess, progress=False)
    assert sol.status.reason in ("constraints violated", "not converged")  # by rounding
    assert "goes straight through 'rod: distance'" in sol.status.message and "more elements" in sol.status.message
    assert np.abs(np.linalg.norm(sol.z[:, :2], axis=1) - 1).max() < 1e-5  # at the nodes it holds


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("away", [0.0, 50.0])
def test_sizes_do_not_matter(length, away):
    """A bob on a rod, in halves of a turn, thirds and twelfths of it, far from the origin or around it."""
    bob = tf.PointMass(1.0, dimension=2, name="bob")
    place = np.array([away * length, 0, 0])
    system = tf.System([bob, tf.RigidDistance(bob, length=length, point_b=place, name="rod")])
    for parts, jumps in ((2, True), (3, True), (5, False), (12, False)):
        angle = 2 * np.pi * np.arange(parts + 1) / parts
        start = tf.Pose(place + [length, 0, 0], velocity=(0, length, 0))
        sol = tf.solve(tf.InitialValueProblem(system, {bob: start}, (0, 1)), tf.MixedGalerkin(1), parts, progress=False)
        sol.nodal.state[:, :, 0] = place[0] + length * np.cos(np.stack([angle[:-1], angle[1:]], axis=1))
        sol.nodal.state[:, :, 1] = length * np.sin(np.stack([angle[:-1], angle[1:]], axis=1))
        assert (jump_of(sol) is not None) == jumps
