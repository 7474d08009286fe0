"""Large systems; slow."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("element, t_end, n_elements, accuracy", [
    (tf.BubnovGalerkin(1), 50, 100_000, 3e-3), (tf.BubnovGalerkin(1, drop="end"), 50, 100_000, 3e-3),
    (tf.BubnovGalerkin(1, "continuous"), 5, 100_000, 1e-4),  # its errors grow too fast for 50 s
    (tf.BubnovGalerkin(3), 50, 20_000, 1e-8)], ids=str)
def test_many_elements_at_once(element, t_end, n_elements, accuracy):
    problem = spinning_box(t_end=t_end)
    together = tf.solve(problem, element, n_elements)
    assert together.success and together.statistics["newton_iterations"]["max"] <= 10
    assert together.statistics["backward_error"] < 1e-12
    fine = tf.solve(problem, tf.MixedGalerkin(3), n_elements)
    assert np.abs(together.z - fine.z).max() < accuracy * np.abs(fine.z).max()


def test_a_million_steps_without_drift():
    solution = tf.solve(spinning_box(t_end=10_000), tf.MixedGalerkin(1), 1_000_000)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-8 and max(errors["configuration"], errors["velocity"]) < 1e-9
