"""Mechanisms that pass positions where constraints repeat each other, and forces of joints are not determined."""

import numpy as np
import pytest

import timefem as tf
from timefem.solvers.equations.nonlinear import NonlinearEquations
from timefem.solvers.nonlinear.newton import PATIENCE, newton

pytestmark = pytest.mark.long


def rhombus(speed):
    """Three bars of 1 m and the ground, from a square; they lie on one line when they have fallen."""
    left, top, right = bars = [tf.RigidBody(1.0, (1e-3, 1 / 12, 1 / 12), "directors", name=name)
                               for name in ("left", "top", "right")]
    axis, a, b = dict(axis_a=(0, 0, 1), axis_b=(0, 0, 1)), (-0.5, 0, 0), (0.5, 0, 0)
    parts = [*bars, tf.Revolute(left, None, point_a=a, point_b=(0, 0, 0), **axis),
             tf.Revolute(top, left, point_a=a, point_b=b, **axis),
             tf.Revolute(right, None, point_a=a, point_b=(1, 0, 0), **axis),
             tf.Revolute(right, top, point_a=b, point_b=b, **axis)]
    up, spin = (np.sqrt(0.5), 0, 0, np.sqrt(0.5)), (0, 0, -speed)
    state = {left: tf.Pose((0, 0.5, 0), up, (speed / 2, 0, 0), spin), top: tf.Pose((0.5, 1, 0), velocity=(speed, 0, 0)),
             right: tf.Pose((1, 0.5, 0), up, (speed / 2, 0, 0), spin)}
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, -9.81, 0), redundant="drop"), state, (0, 2.0))


@pytest.mark.parametrize("speed, n", [(0.7859869193297992, 435), (1.0, 100), (1.0, 350)])
def test_four_bar_linkage_through_its_singular_position(speed, n):
    sol = tf.solve(rhombus(speed), tf.MixedGalerkin(3), n, progress=False)
    assert sol.success, sol.status.message
    energy = sol.energy(sol.t)
    assert np.ptp(energy) < 1e-11
    along = sol.rotation_matrix("left", sol.t)[:, :, 0]
    assert along[:, 1].min() < -0.5  # far beyond the line


class Settling(NonlinearEquations):
    """A state that converges, beside an unknown whose steps are `other`."""

    def __init__(self, states):
        self.state_unknowns, self.x = states, 1.0

    def evaluate(self, x):
        return np.array([x[0]**2 - 2, 1e-16])

    def linear_step(self, residual):
        step = (self.x**2 - 2) / (2 * self.x)
        self.x -= step
        return np.array([step, self.other()])


class Jumping(Settling):
    """Beside an unknown that is not determined: its steps are noise."""

    def __init__(self, states):
        super().__init__(states)
        self.rng = np.random.default_rng(0)

    def other(self):
        return self.rng.uniform(0.1, 1)


def test_newton_accepts_a_state_that_has_settled():
    x, status = newton(Jumping(np.array([1.0, 0.0])), np.array([1.0, 0.0]), tf.Newton(), 1.0)
    assert status.success and "singular position" in status.message and abs(x[0] - np.sqrt(2)) < 1e-12
    assert PATIENCE + 1 <= len(status.residual_history) <= PATIENCE + 4
    _, status = newton(Jumping(None), np.array([1.0, 0.0]), tf.Newton(), 1.0)
    assert not status.success


class Following(Settling):
    """Beside a multiplier that follows later, and is determined."""

    last = 10.0

    def other(self):
        self.last /= 20
        return self.last


def test_newton_waits_for_multipliers_that_still_converge():
    """A hinge that turned far on the way was reported to pass a singular position, where there is none."""
    _, status = newton(Following(np.array([1.0, 0.0])), np.array([1.0, 0.0]), tf.Newton(), 1.0)
    assert status.success and status.message == "converged"
