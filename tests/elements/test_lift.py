"""Lifted gradients: energy, momenta and constraints, to round-off with k points."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative, slope
from timefem.elements.evaluation.batch import ElementBatch
from timefem.mechanics.part import Part


class Bar(Part):
    """Bar between two point masses with Green strain e = (l^2 - l0^2) / (2 l0^2) and energy EA l0 e^2 / 2."""

    def __init__(self, a, b, length, stiffness):
        self.bodies, self.own_parameters = (a, b), np.array([length, stiffness])

    kind = "test bar with Green strain"

    def strains(self, s):
        return (ca.sumsqr(s.q[1] - s.q[0]) / s.own[0]**2 - 1) / 2

    def stored_energy(self, s, e):
        return s.own[1] * s.own[0] * e[0]**2 / 2


def net(t_end=2.0):
    """Four masses, not in a plane, with six bars, thrown and spinning."""
    places = np.array([[0, 0, 0], [1, 0, 0], [0.2, 1.1, 0], [0.3, 0.2, 0.9]])
    masses = [tf.PointMass(1.0 + 0.3 * i, name=f"m{i}") for i in range(4)]
    bars = [Bar(masses[i], masses[j], 1.05 * np.linalg.norm(places[i] - places[j]), 40.0)
            for i in range(4) for j in range(i)]
    spin = np.array([0.7, -1.1, 2.0])
    state = {m: tf.Pose(position=x, velocity=np.cross(spin, x) + [0.4, 0, 0.1 * i])
             for i, (m, x) in enumerate(zip(masses, places, strict=True))}
    return tf.InitialValueProblem(tf.System([*masses, *bars]), state, (0, t_end))


def drifts(problem, element, n=40):
    sol = tf.solve(problem, element, n, progress=False)
    assert sol.success
    energy, momentum = sol.energy(), sol.angular_momentum()
    return np.abs(energy - energy[0]).max(), np.abs(momentum - momentum[0]).max(), energy[0]


@pytest.mark.parametrize("form", ["hamilton", "energy"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_energy_and_angular_momentum(form, k):
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, form=form, keep="all"))
    assert energy < 2e-14 * size and momentum < 2e-14 * size


@pytest.mark.parametrize("k", [1, 2])
def test_neither_number_of_points_keeps_both_without(k):
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, k))
    assert momentum < 2e-14 * size and energy > 1e-6 * size
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, 2 * k))
    assert energy < 2e-14 * size and momentum > 1e-7 * size


@pytest.mark.parametrize("form", ["hamilton", "lagrange", "impulse", "energy"])
@pytest.mark.parametrize("k, n_elements, cap", [(1, (40, 80, 160), 2.3e-4), (2, (20, 40, 80), 7.2e-8),
                                                (3, (10, 20, 40), 1.8e-10)])
def test_order(form, k, n_elements, cap):
    problem = net(0.5)
    exact = tf.solve(problem, tf.MixedGalerkin(4), 60, progress=False).z[-1]
    element = tf.MixedGalerkin(k, form=form, keep="all")
    errors = [np.abs(tf.solve(problem, element, n, progress=False).z[-1] - exact).max() for n in n_elements]
    assert slope(1 / np.array(n_elements), errors) == pytest.approx(2 * k, abs=0.2) and errors[-1] < cap


@pytest.mark.parametrize("form", ["hamilton", "impulse"])
def test_tangent_and_drivers(form):
    problem, element = net(0.5), tf.MixedGalerkin(2, form=form, keep="all")
    assert_tangent_is_derivative(ElementBatch(problem.system, element), 0.1, step=1e-6, atol=1e-8)
    z = [tf.solve(problem, element, 10, driver=driver, progress=False).z for driver in ("march", "global")]
    np.testing.assert_allclose(z[1], z[0], rtol=0, atol=1e-12)
