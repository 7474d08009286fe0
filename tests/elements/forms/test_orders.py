"""Orders 2k of q and p at the nodes, with errors as of prototypes in other equations."""

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
from tests.example_systems import reference, slope

N_ELEMENTS = {1: (40, 80, 160), 2: (20, 40, 80), 3: (10, 20, 40)}


def assert_order(solve, error, k, cap, ratio=1.5):
    """Slope 2k over three meshes, and an error of about `cap` on the last."""
    errors = [error(solve(n)) for n in N_ELEMENTS[k]]
    assert slope(1 / np.array(N_ELEMENTS[k]), errors) == pytest.approx(2 * k, abs=0.15)
    assert cap / ratio < errors[-1] < cap * ratio


@pytest.mark.parametrize("form", ["impulse", "energy"])
@pytest.mark.parametrize("k, cap", [(1, 1.1e-4), (2, 2.2e-8), (3, 6.0e-11)])
def test_singular_mass_matrix(form, k, cap):
    exact = next(s for s in reference("mass_spring")["states"] if s["t"] == 2.0)
    problem, element = mass_spring(2.0), tf.MixedGalerkin(k, 2 * k, form=form)
    assert_order(lambda n: tf.solve(problem, element, n, progress=False).z[-1],
                 lambda z: np.abs(z - [*exact["q"], *exact["p"]])[:3].max(), k, cap)
    end = tf.solve(problem, element, N_ELEMENTS[k][-1], progress=False).z[-1]
    assert np.abs(end[3:] - exact["p"]).max() < 1.5 * cap


@pytest.mark.parametrize("form, k, cap", [("lagrange", 1, 3.4e-5), ("lagrange", 2, 1.7e-9), ("lagrange", 3, 6.6e-12),
                                          ("energy", 1, 3.6e-5), ("energy", 2, 4.6e-9), ("energy", 3, 1.6e-11)])
def test_varying_mass_matrix(form, k, cap):
    problem, element = double_pendulum(0.5), tf.MixedGalerkin(k, 2 * k, form=form)
    exact = double_pendulum_state(problem.z0, 0.5)
    assert_order(lambda n: tf.solve(problem, element, n, progress=False).z[-1], lambda z: np.abs(z - exact).max(), k,
                 cap)


@pytest.mark.parametrize("form, k, caps", [
    ("impulse", 1, (7.7e-5, 7.7e-5)), ("impulse", 2, (5.3e-8, 1.6e-8)), ("impulse", 3, (3.5e-10, 1.0e-10)),
    ("energy", 1, (7.4e-5, 7.4e-5)), ("energy", 2, (3.2e-8, 4.2e-8)), ("energy", 3, (1.5e-10, 2.5e-10))])
@pytest.mark.parametrize("per_degree", [1, 2])
def test_constraints(form, k, caps, per_degree):
    problem, element = point_pendulum(1.0), tf.MixedGalerkin(k, per_degree * k, form=form)
    exact = point_pendulum_position(1.0)
    assert_order(lambda n: tf.solve(problem, element, n, progress=False), lambda s: np.abs(s.z[-1, :2] - exact).max(),
                 k, caps[per_degree - 1])
    errors = tf.solve(problem, element, 20, progress=False).errors()
    assert errors["configuration"] < 1e-14 and errors["velocity"] < 2e-14


@pytest.mark.parametrize("form", ["impulse", "energy"])
def test_forces_of_constraints(form):
    """The tension of the rod: of order 2k by the multipliers that belong to the states at the nodes; of the element at
    its Gauss points."""
    problem, errors = point_pendulum(1.0), []
    fine = tf.solve(problem, tf.MixedGalerkin(4), 80, progress=False)
    consistent = problem.system.consistent_multipliers
    for n in (10, 20, 40):
        sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), n, progress=False)
        gauss = sol.t[:-1, None] + np.diff(sol.t)[:, None] * [0.5 - 3**-0.5 / 2, 0.5 + 3**-0.5 / 2]
        errors.append([abs(consistent(1.0, sol.z[-1])[0] - consistent(1.0, fine.z[-1])[0]),
                       np.abs(sol.multipliers(gauss, kind="element")[..., 0]
                              - fine.multipliers(gauss)[..., 0]).max()])
    nodes, points = np.array(errors).T
    assert slope(1 / np.array([10, 20, 40]), nodes) == pytest.approx(4, abs=0.2) and nodes[-1] < 5e-5
    assert slope(1 / np.array([10, 20, 40]), points) > 3.3 and points[-1] < 5e-4


@pytest.mark.parametrize("form", ["lagrange", "impulse", "energy"])
def test_momenta_between_the_nodes(form):
    """Dense output of order k + 1."""
    problem, errors = double_pendulum(0.5), []
    fine, t = tf.solve(problem, tf.MixedGalerkin(4), 80, progress=False), np.linspace(0.1, 0.5, 77)
    for n in (10, 20, 40):
        sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), n, progress=False)
        errors.append(np.abs(sol(t) - fine(t)).max())
    assert slope(1 / np.array([10, 20, 40]), errors) == pytest.approx(3, abs=0.3) and errors[-1] < 2e-5
