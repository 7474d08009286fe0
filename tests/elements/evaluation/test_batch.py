"""Element residuals and tangents on their own, against an independent NumPy form and its complex-step tangent."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, assert_tangent_is_derivative, pendulum, spinning_box
from timefem.mechanics.bodies import rotations

ELEMENTS = [tf.MixedGalerkin(1, 1), tf.MixedGalerkin(2), tf.MixedGalerkin(3, 9), tf.MixedGalerkin(2, nodes="lobatto"),
            tf.BubnovGalerkin(1), tf.BubnovGalerkin(2, "continuous"), tf.BubnovGalerkin(3, n_points=4, nodes="lobatto")]


def left(q):
    """Ql(q): q o p = Ql(q) p, May & Betsch (43)."""
    a, b, c, d = q
    return np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]])


def numpy_residual(element, x, h, columns, rows, mass=12.0, inertia=(5.0, 26.0, 29.0)):
    """Residual of the free quaternion body, written for one element and complex numbers from (14), (24), (69), (70)."""
    metric = np.diag(1 / np.array([sum(inertia) / 2, *inertia]))
    xi, weights = tf.gauss_legendre(element.n_points)
    trial, rates = element.state.basis.values(xi), element.state.basis.derivatives(xi)
    multiplier = element.multiplier.basis.values(xi)
    tests = element.test["state"].basis.values(xi), element.test["multipliers"].basis.values(xi)
    z, lam = x[columns.fields[0]], x[columns.fields[1]]
    out = np.zeros(rows.n_local, dtype=x.dtype)
    for g, w in enumerate(weights):
        state, rate, (gamma, mu) = trial[g] @ z, rates[g] @ z / h, multiplier[g] @ lam
        q, p = state[3:7], state[10:14]
        gradient = np.concatenate([np.zeros(3), left(p) @ metric @ left(p).T @ q / 4 + gamma * q + mu * p,
                                   state[7:10] / mass, left(q) @ metric @ left(q).T @ p / 4 + mu * q])
        motion = np.concatenate([-rate[7:], rate[:7]]) - gradient
        if isinstance(element, tf.MixedGalerkin):
            constraint = np.array([q @ rate[3:7], p @ rate[3:7] + q @ rate[10:14]])
        else:
            constraint = -np.array([(q @ q - 1) / 2, q @ p])
        for field, density in zip(rows.fields, (motion, constraint, np.zeros(0)), strict=True):
            test = tests[0] if density is motion else tests[1]
            for i, place in enumerate(field):
                out[place] += w * h * test[g, i] * density
    return out


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_against_numpy_and_complex_step(element):
    batch = tf.ElementBatch(spinning_box().system, element)
    x = np.random.default_rng(3).normal(size=(9, batch.n_columns))
    h = np.linspace(0.05, 0.2, 9)
    residual, entries = batch(x, h)
    tangent = batch.dense(entries)
    for e in (0, 8):
        expected = numpy_residual(element, x[e], h[e], batch.columns, batch.rows)
        np.testing.assert_allclose(residual[e], expected, rtol=0, atol=1e-13)
        columns = []
        for c in range(batch.n_columns):
            perturbed = x[e].astype(complex)
            perturbed[c] += 1e-30j
            columns.append(numpy_residual(element, perturbed, h[e], batch.columns, batch.rows).imag / 1e-30)
        np.testing.assert_allclose(tangent[e], np.stack(columns, axis=1), rtol=0, atol=1e-12)  # outside the pattern too


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("problem", [spinning_box, pendulum])
def test_tangent_against_differences(element, rotation, problem):
    batch = tf.ElementBatch(problem(rotation).system, element)
    assert_tangent_is_derivative(batch, 0.1, step=1e-6, atol=2e-8)


@pytest.mark.parametrize("rotation, inverse_mass", [("quaternion", "polynomial"), ("quaternion", "exact"),
                                                    ("directors", "polynomial")])
def test_full_inertia_matrix_against_turned_axes(rotation, inverse_mass):
    """A body described in turned axes has the same residual of translation and the same energy."""
    turn = rotations.matrix_from_quaternion(np.array([0.5, 0.5, -0.5, 0.5]))
    c, s = np.cos(0.3), np.sin(0.3)
    turn = turn @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    principal = np.array([5.0, 26, 29])
    a = tf.RigidBody(12, principal, rotation, inverse_mass)
    b = tf.RigidBody(12, turn @ np.diag(principal) @ turn.T, rotation, inverse_mass)
    omega = np.array([0.3, 5.0, 1.0])
    pa = tf.InitialValueProblem(tf.System([a]), {a: tf.Pose(angular_velocity=omega)}, (0, 0.5))
    turned = tf.Pose(orientation=turn.T, angular_velocity=turn @ omega)
    pb = tf.InitialValueProblem(tf.System([b]), {b: turned}, (0, 0.5))
    assert pa.system.hamiltonian(0, pa.z0) == pytest.approx(pb.system.hamiltonian(0, pb.z0), rel=1e-13)
    element = tf.MixedGalerkin(3)
    ra = tf.solve(pa, element, 20).rotation_matrix(a, 0.5)
    rb = tf.solve(pb, element, 20).rotation_matrix(b, 0.5)
    np.testing.assert_allclose(rb @ turn, ra, rtol=0, atol=1e-10 if inverse_mass == "polynomial" else 1e-8)


@pytest.mark.parametrize("multipliers", ["continuous", "discontinuous"])
def test_bubnov_galerkin_tangent_is_symmetric(multipliers):
    """Its residual is the gradient of the discrete action, apart from the boundary terms of the first and last node."""
    batch = tf.ElementBatch(pendulum().system, tf.BubnovGalerkin(2, multipliers))
    x = np.random.default_rng(5).normal(size=(1, batch.n_columns))
    tangent = batch.dense(batch(x, 0.1)[1])[0]
    inner = slice(batch.columns.n_node, -batch.columns.n_node)
    np.testing.assert_allclose(tangent[inner, inner], tangent[inner, inner].T, rtol=0, atol=1e-12)
    assert np.abs(tangent - tangent.T).max() > 0.1


def test_time_enters_at_the_quadrature_points():
    batch = tf.ElementBatch(spinning_box().system, tf.MixedGalerkin(1))
    x = np.ones((2, batch.n_columns))
    np.testing.assert_array_equal(batch(x, 0.1, t=0.0)[0], batch(x, 0.1, t=[5.0, 7.0])[0])  # autonomous


def test_batches_do_not_depend_on_their_size():
    batch = tf.ElementBatch(pendulum().system, tf.MixedGalerkin(2))
    x = np.random.default_rng(6).normal(size=(19, batch.n_columns))
    residual, tangent = batch(x, 0.1)
    for e in (0, 7, 8, 18):
        one = batch(x[e:e + 1], 0.1)
        np.testing.assert_array_equal(one[0][0], residual[e])
        np.testing.assert_array_equal(one[1][0], tangent[e])


def test_bad_input():
    batch = tf.ElementBatch(spinning_box().system, tf.MixedGalerkin(1))
    with pytest.raises(tf.InputError, match="shape"):
        batch(np.zeros((2, 3)), 0.1)
    with pytest.raises(tf.InputError, match="h must be positive"):
        batch(np.zeros((2, batch.n_columns)), [0.1, 0])
    with pytest.raises(tf.InputError, match="finite"):
        batch(np.full((2, batch.n_columns), np.nan), 0.1)
