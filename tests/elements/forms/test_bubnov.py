"""Bubnov-Galerkin in Livens' form."""

import numpy as np
import pytest

import timefem as tf
from tests.elements.forms.form_systems import (
    double_pendulum,
    double_pendulum_state,
    mass_spring,
    point_pendulum,
    point_pendulum_position,
)
from tests.example_systems import assert_tangent_is_derivative, slope
from timefem.cases import find_case
from timefem.elements.evaluation.elements_in_lanes import ElementBatch

pytestmark = pytest.mark.long

N_ELEMENTS = {1: (40, 80, 160), 2: (20, 40, 80), 3: (10, 20, 40)}


@pytest.mark.parametrize("k, order, cap", [(1, 2, 3.6e-6), (2, 2, 2.5e-5), (3, 4, 5.7e-8)])
def test_order(k, order, cap):
    problem, errors = double_pendulum(0.5), []
    exact = double_pendulum_state(problem.z0, 0.5)
    for n in N_ELEMENTS[k]:
        sol = tf.solve(problem, tf.BubnovGalerkin(k, form="impulse"), n, progress=False)
        assert sol.success
        errors.append(np.abs(sol.z[-1] - exact).max())
    assert slope(1 / np.array(N_ELEMENTS[k]), errors) == pytest.approx(order, abs=0.2) and errors[-1] < cap


@pytest.mark.parametrize("k, order, cap", [(1, 2, 5.8e-4), (2, 2, 4.1e-4), (3, 4, 5.4e-7)])
def test_constraints(k, order, cap):
    """Coordinates and momenta of the motion, which do not grow; the momenta of the action do."""
    problem, errors = point_pendulum(1.0), []
    fine = tf.solve(problem, tf.MixedGalerkin(4), 80, progress=False).z[-1]
    np.testing.assert_allclose(fine[:2], point_pendulum_position(1.0), rtol=0, atol=1e-12)
    for n in N_ELEMENTS[k]:
        sol = tf.solve(problem, tf.BubnovGalerkin(k, form="impulse"), n, progress=False)
        assert sol.success
        errors.append(np.abs(sol.z[-1] - fine).max())
    assert slope(1 / np.array(N_ELEMENTS[k]), errors) == pytest.approx(order, abs=0.2) and errors[-1] < cap
    assert np.abs(sol.field("momenta of the action")).max() > 2 * np.abs(sol.z[:, 2:]).max()
    assert sol.errors()["velocity"] < 1e-12


def test_tangent_and_windows():
    for problem in (point_pendulum(0.5), mass_spring(0.5)):
        element = tf.BubnovGalerkin(2, form="impulse")
        assert_tangent_is_derivative(ElementBatch(problem.system, element), 0.1, 0.3, step=1e-6, atol=1e-8)
        assert tf.solve(problem, element, 10, progress=False).success


def test_what_is_refused():
    with pytest.raises(tf.InputError, match="form='hamilton' or form='impulse', not 'energy'"):
        tf.BubnovGalerkin(2, form="energy")
    with pytest.raises(tf.InputError, match="needs multipliers='discontinuous' and drop='start'"):
        tf.BubnovGalerkin(2, form="impulse", drop="end")
    with pytest.raises(tf.InputError, match="momenta of the action at the nodes, which boundary values do not"):
        tf.solve(find_case("pendulum-boundary").make(), tf.BubnovGalerkin(2, form="impulse"), 5)
