

import numpy as np
import pytest
from scipy import interpolate

import timefem as tf
from timefem.polynomials import CubicSpline

BASES = [tf.LagrangeBasis(k, nodes) for k in range(9) for nodes in ("equidistant", "lobatto")]
XI = np.linspace(-0.1, 1.1, 23)


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_nodality(basis):
    np.testing.assert_allclose(basis.values(basis.points), np.eye(basis.n_shapes), rtol=0, atol=1e-13)


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_partition_of_unity(basis):
    np.testing.assert_allclose(basis.values(XI).sum(axis=1), 1, rtol=0, atol=1e-11)
    np.testing.assert_allclose(basis.derivatives(XI).sum(axis=1), 0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_derivatives_against_differences(basis):
    step = 1e-6
    difference = (basis.values(XI + step) - basis.values(XI - step)) / (2 * step)
    scale = np.abs(basis.derivatives(XI)).max() + 1
    np.testing.assert_allclose(basis.derivatives(XI), difference, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_polynomials_are_reproduced_up_to_the_degree_and_not_beyond(basis):
    for power in range(basis.degree + 1):
        np.testing.assert_allclose(basis.values(XI) @ basis.points**power, XI**power, rtol=0, atol=1e-11)
    beyond = basis.values(XI) @ basis.points ** (basis.degree + 1) - XI ** (basis.degree + 1)
    assert np.abs(beyond).max() > 1e-6


def test_paper_table_1_cubic():
    xi = 0.37
    expected = [-4.5 * (xi - 1 / 3) * (xi - 2 / 3) * (xi - 1), 13.5 * (xi - 2 / 3) * (xi - 1) * xi,
                -13.5 * (xi - 1 / 3) * (xi - 1) * xi, 4.5 * (xi - 1 / 3) * (xi - 2 / 3) * xi]
    np.testing.assert_allclose(tf.LagrangeBasis(3).values([xi])[0], expected, rtol=0, atol=1e-15)


def test_lobatto_nodes():
    np.testing.assert_allclose(tf.LagrangeBasis(3, "lobatto").points, [0, (1 - 5**-0.5) / 2, (1 + 5**-0.5) / 2, 1],
                               rtol=0, atol=1e-15)


@pytest.mark.parametrize("arguments", [(-1,), (1.5,), (True,), (2, "chebyshev"), (np.nan,)])
def test_bad_input(arguments):
    with pytest.raises(tf.InputError):
        tf.LagrangeBasis(*arguments)


# ---- cubic splines of guesses against those of SciPy

@pytest.mark.parametrize("n", [2, 3, 4, 5, 17])
@pytest.mark.parametrize("clamped", [False, True])
def test_splines_are_those_of_scipy(n, clamped):
    rng = np.random.default_rng(n)
    times, values, rates = np.sort(rng.uniform(-3, 4, n)), rng.normal(size=(n, 3)), rng.normal(size=(2, 3))
    own = CubicSpline(times, values, rates if clamped else None)
    other = interpolate.CubicSpline(times, values, bc_type=[(1, rate) for rate in rates] if clamped else "not-a-knot")
    t = np.concatenate([times, rng.uniform(times[0], times[-1], 50), [times[0] - 0.1, times[-1] + 0.1]])
    size = np.abs(other(t)).max()
    np.testing.assert_allclose(own(t), other(t), rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(own(t, 1), other(t, 1), rtol=0, atol=1e-10 * np.abs(other(t, 1)).max())


def test_cubics_are_exact():
    times = np.array([0.0, 0.3, 1.0, 1.5, 2.0])
    spline = CubicSpline(times, np.stack([times**3 - times, 2 - times**2], axis=1))
    t = np.linspace(0, 2, 31)
    np.testing.assert_allclose(spline(t), np.stack([t**3 - t, 2 - t**2], axis=1), rtol=0, atol=1e-13)
    np.testing.assert_allclose(spline(t, 1), np.stack([3 * t**2 - 1, -2 * t], axis=1), rtol=0, atol=1e-12)
