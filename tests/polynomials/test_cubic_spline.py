"""Cubic splines of guesses against those of SciPy."""

import numpy as np
import pytest
from scipy import interpolate

from timefem.polynomials import CubicSpline


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
