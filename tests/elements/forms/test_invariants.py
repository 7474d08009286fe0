"""What the forms keep, to round-off."""

import numpy as np
import pytest
import scipy

import timefem as tf
from tests.elements.forms.form_systems import (
    double_pendulum,
    double_pendulum_rate,
    mass_spring,
    point_pendulum,
    step_derivative,
    symplectic_error,
)
from tests.example_systems import pendulum, spinning_box


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("make", [lambda: pendulum("directors", 2.0), lambda: mass_spring(10.0)])
def test_energy_form_keeps_the_energy(make, k):
    """Of constant mass matrices, singular or not."""
    problem = make()
    sol = tf.solve(problem, tf.MixedGalerkin(k, form="energy"), 40, progress=False)
    energy = sol.energy()
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=1e-12 * 5000 if len(problem.z0) > 20 else 1e-13)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_lagrange_form_is_symplectic_with_k_points(k):
    problem = double_pendulum()
    errors = [symplectic_error(np.eye(4), step_derivative(problem, tf.MixedGalerkin(k, n, form="lagrange"), 0.1)[1])
              for n in (k, k + 1)]
    assert errors[0] < 2e-14 and errors[1] > 1e-9


def tangents(system, z):
    """Vectors tangent to the states that hold the constraints, columns; for constraints at most quadratic."""
    n, v = system.n_q, system.velocity(0, z)
    gradient = system.derivatives(0, z)[1][:system.n_constraints, :n].toarray

    def at(q):
        return system.derivatives(0, np.concatenate([q, z[n:]]))[1][:system.n_constraints, :n].toarray()

    def rate(q, v):
        return at(q) @ v

    def momentum(q, v):
        return system.momentum(0, np.concatenate([q, z[n:]]), v)

    eye = np.eye(n)  # central differences are exact for quadratic functions
    of_q = np.stack([(rate(z[:n] + e, v) - rate(z[:n] - e, v)) / 2 for e in eye], axis=1)
    both = scipy.linalg.null_space(np.block([[gradient(), np.zeros_like(of_q)], [of_q, gradient()]]))
    mass = np.stack([momentum(z[:n], e) for e in eye], axis=1)
    mass_of_q = np.stack([(momentum(z[:n] + e, v) - momentum(z[:n] - e, v)) / 2 for e in eye], axis=1)
    return np.concatenate([both[:n], mass_of_q @ both[:n] + mass @ both[n:]])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("make", [point_pendulum, mass_spring, lambda: pendulum("quaternion")])
def test_impulse_form_is_symplectic_with_k_points(make, k):
    """On the states that hold the constraints, also of singular mass matrices."""
    problem = make()
    start = tangents(problem.system, problem.z0)
    scale = np.abs(start).max()**2
    _, step = step_derivative(problem, tf.MixedGalerkin(k, form="impulse"), 0.1)
    assert symplectic_error(start, step @ start) < 2e-13 * scale
    if k == 2:
        _, step = step_derivative(problem, tf.MixedGalerkin(k, k + 1, form="impulse"), 0.1)
        assert symplectic_error(start, step @ start) > 1e-12 * scale


@pytest.mark.parametrize("form, rotation, k, n_points", [
    ("impulse", "quaternion", 1, 1), ("impulse", "quaternion", 2, 2), ("impulse", "quaternion", 3, 3),
    ("impulse", "quaternion", 1, 2), ("impulse", "directors", 2, 2), ("impulse", "directors", 3, 3),
    ("energy", "directors", 1, 2), ("energy", "directors", 2, 2), ("energy", "directors", 3, 3)])
def test_angular_momentum_of_a_free_body(form, rotation, k, n_points):
    sol = tf.solve(spinning_box(rotation, 1.0), tf.MixedGalerkin(k, n_points, form=form), 20, progress=False)
    momentum = sol.angular_momentum()
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0, atol=5e-12)


def test_energy_form_does_not_keep_the_angular_momentum_of_quaternions():
    sol = tf.solve(spinning_box("quaternion", 1.0), tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    momentum = sol.angular_momentum()
    assert 1e-8 < np.abs(momentum - momentum[0]).max() < 0.1


# ---- equivalences

@pytest.mark.parametrize("k", [1, 2, 3])
def test_energy_form_is_mg_for_constant_mass(k):
    for make, atol in ((point_pendulum, 4e-14), (lambda: pendulum("directors", 1.0), 1e-9)):
        problem = make()
        ours, mg = (tf.solve(problem, tf.MixedGalerkin(k, form=form), 20, progress=False)
                    for form in ("energy", "hamilton"))
        np.testing.assert_allclose(ours.z, mg.z, rtol=0, atol=atol)


def gauss_collocation(rate, q, p, h, n, k):
    """n steps of the Gauss method with k stages, by fixed-point iteration."""
    x, w = np.polynomial.legendre.leggauss(k)
    x, shapes = (x + 1) / 2, np.polynomial.Polynomial
    array = np.array([[shapes(c).integ()(xi) for c in np.linalg.inv(np.vander(x, increasing=True)).T] for xi in x])
    for _ in range(n):
        stages = np.zeros((k, 2, len(q)))
        for _ in range(200):
            stages = np.array([rate(q + h * a @ stages[:, 0], p + h * a @ stages[:, 1]) for a in array])
        q, p = q + h * w / 2 @ stages[:, 0], p + h * w / 2 @ stages[:, 1]
    return np.concatenate([q, p])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_lagrange_form_is_gauss_collocation(k):
    problem = double_pendulum(0.5)
    sol = tf.solve(problem, tf.MixedGalerkin(k, form="lagrange"), 10, progress=False)
    exact = gauss_collocation(double_pendulum_rate, *np.split(problem.z0, 2), 0.05, 10, k)
    np.testing.assert_allclose(sol.z[-1], exact, rtol=0, atol=2e-14)


@pytest.mark.parametrize("k", [1, 2])
def test_impulse_form_without_constraints_is_the_lagrange_form(k):
    problem = double_pendulum(0.5)
    ours, other = (tf.solve(problem, tf.MixedGalerkin(k, form=form), 10, progress=False)
                   for form in ("impulse", "lagrange"))
    np.testing.assert_allclose(ours.z, other.z, rtol=0, atol=1e-13)
