"""A linear oscillator: the motion, its covariance and the evidence against Rauch, Tung and Striebel's smoother."""

import numpy as np
import pytest
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss

import timefem as tf

from .references import data, dense_covariance, oscillator


def step(matrix, b, q, k, h):
    """Transition and noise of one element mG(k) of `z' = A z + B w` with w in P^(k-1), cov(c_i) = Q / h."""
    x, weights = leggauss(2 * k)
    n, m = matrix.shape[0], b.shape[1]
    tests = [np.sqrt(2 * i + 1) * Legendre.basis(i)(x) for i in range(k)]
    # z = z0 + sum_i s_i int T_i: z' = sum_i s_i T_i / h
    integrals = [np.sqrt(2 * i + 1) * Legendre.basis(i).integ(lbnd=-1)(x) / 2 for i in range(k)]
    left, right, noise = np.zeros((n * k, n * k)), np.zeros((n * k, n)), np.zeros((n * k, m * k))
    for i, t in enumerate(tests):
        for j in range(k):
            left[i * n:(i + 1) * n, j * n:(j + 1) * n] = np.sum(weights / 2 * t * tests[j]) * np.eye(n) / h \
                - np.sum(weights / 2 * t * integrals[j]) * matrix
        right[i * n:(i + 1) * n] = np.sum(weights / 2 * t) * matrix
        noise[i * n:(i + 1) * n, i * m:(i + 1) * m] = b
    ends = np.zeros((n, n * k))
    ends[:, :n] = np.eye(n)  # int T_0 = 1 at the end, of others 0
    by_start, by_noise = ends @ np.linalg.solve(left, right), ends @ np.linalg.solve(left, noise)
    return np.eye(n) + by_start, by_noise @ np.kron(np.eye(k), q / h) @ by_noise.T


def smoother(d, k, n):
    """Means and covariances at all nodes, and log p(y), of n elements."""
    w2, damping = d["omega"]**2, 2 * d["zeta"] * d["omega"]
    phi, q = step(np.array([[0, 1], [-w2, -damping]]), np.array([[0.0], [1.0]]), np.array([[d["Q"]]]), k, 4.0 / n)
    z, p, h = np.array(d["prior_mean"]), np.array(d["prior_covariance"]), np.array([[1.0, 0.0]])
    measured = {round(t * n / 4.0): y for t, y in zip(d["times"], d["measurements"], strict=True)}
    filtered, predicted, log = [(z, p)], [], 0.0
    for i in range(1, n + 1):
        z, p = phi @ z, phi @ p @ phi.T + q
        predicted.append((z, p))
        if i in measured:
            s = (h @ p @ h.T).item() + d["R"]
            e, gain = measured[i] - (h @ z).item(), (p @ h.T)[:, 0] / s
            z, p = z + gain * e, p - np.outer(gain, gain) * s
            log -= (np.log(2 * np.pi * s) + e**2 / s) / 2
        filtered.append((z, p))
    found = [filtered[-1]]
    for (z, p), (z1, p1) in zip(filtered[-2::-1], predicted[::-1], strict=True):
        gain = p @ phi.T @ np.linalg.inv(p1)
        zs, ps = found[-1]
        found.append((z + gain @ (zs - z1), p + gain @ (ps - p1) @ gain.T))
    means, covariances = zip(*found[::-1], strict=True)
    return np.array(means), np.array(covariances), log


def solved(k, n):
    sol = tf.solve(oscillator(), tf.MixedGalerkin(k), n, progress=False)
    assert sol.success
    return sol


@pytest.mark.parametrize("k", [1, 2, 3])
def test_against_the_smoother_of_the_same_elements(k):
    sol, n = solved(k, 16), 16
    means, covariances, log = smoother(data("oscillator"), k, n)
    np.testing.assert_allclose(sol.z, means, rtol=0, atol=1e-12)
    found = np.array([sol.state_covariance(i) for i in range(n + 1)])
    np.testing.assert_allclose(found, covariances, rtol=0, atol=1e-12)
    assert abs(sol.log_evidence - log) < 1e-12


def test_selected_inverse_is_that_of_the_dense_matrix():
    sol = solved(2, 8)
    posterior, chain, dense = sol._posterior, sol._found.chain, dense_covariance(sol)
    for e in range(8):
        own = np.concatenate([chain.columns_of("state")[e].ravel(), chain.columns_of("controls")[e].ravel()])
        np.testing.assert_allclose(posterior.covariance(own), dense[np.ix_(own, own)], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("k", "largest"), [(1, (5.5e-3, 3.5e-4)), (2, (1.3e-6, 1.5e-7)), (3, (1.6e-10, 2.6e-11))])
def test_order_to_the_continuous_smoother(k, largest):
    """Order 2k of means and covariances at the nodes, over 2, 4 and 8 elements for each measurement."""
    errors, d = [], data("oscillator")
    for n in (16, 32, 64):
        sol = solved(k, n)
        at = [round(state["t"] * n / 4.0) for state in d["states"]]
        errors.append([max(np.abs(sol.z[i] - s["mean"]).max() for i, s in zip(at, d["states"], strict=True)),
                       max(np.abs(sol.state_covariance(i) - s["covariance"]).max()
                           for i, s in zip(at, d["states"], strict=True))])
    slopes = np.log2(np.array(errors)[:-1] / np.array(errors)[1:]).mean(axis=0)
    np.testing.assert_allclose(slopes, 2 * k, rtol=0, atol=0.1)
    assert np.all(errors[-1] < np.array(largest))
