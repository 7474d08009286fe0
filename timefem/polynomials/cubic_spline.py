"""Cubic splines through tables, of guesses."""

import numpy as np


class CubicSpline:
    """The interpolating cubic spline, twice continuously differentiable.

    As SciPy's with its "not-a-knot" or given derivatives at the ends: to import `scipy.interpolate` takes 0.4 s, more
    than most first solves that need no more than this.

    Parameters
    ----------
    times : array_like, shape (n,)
        Increasing, at least two.
    values : array_like, shape (n, m)
    rates : array_like, shape (2, m), optional
        Derivatives at both ends. Default: the third derivative is continuous at the second time and at the last but
        one; of up to three times the polynomial through all.
    """

    def __init__(self, times, values, rates=None):
        self.times, self.values = np.asarray(times, float), np.asarray(values, float)
        n, h = len(self.times), np.diff(self.times)
        slopes = np.diff(self.values, axis=0) / h[:, None]
        if rates is None and n < 4:
            power = np.polynomial.polynomial
            all_through = power.polyfit(self.times - self.times[0], self.values, n - 1)
            self.rates = power.polyval(self.times - self.times[0], power.polyder(all_through)).T
            return
        matrix, right, inner = np.zeros((n, n)), np.empty_like(self.values), np.arange(1, n - 1)
        matrix[inner, inner - 1], matrix[inner, inner + 1] = h[1:], h[:-1]
        matrix[inner, inner] = 2 * (h[:-1] + h[1:])
        right[1:-1] = 3 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])
        if rates is not None:
            matrix[0, 0] = matrix[-1, -1] = 1.0
            right[[0, -1]] = rates
        else:
            for end, (one, two), (first, second) in ((0, h[:2], slopes[:2]), (-1, h[:-3:-1], slopes[:-3:-1])):
                both = one + two
                matrix[end, [end, 1 if end == 0 else -2]] = two, both
                right[end] = ((one + 2 * both) * two * first + one**2 * second) / both
        self.rates = np.linalg.solve(matrix, right)

    def __call__(self, t, derivative=0):
        """Values, or first derivatives, at times (k,), shape (k, m); beyond the ends the polynomials there go on."""
        t = np.asarray(t, float)
        i = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, len(self.times) - 2)
        h = (self.times[i + 1] - self.times[i])[:, None]
        x, (a, b), (u, v) = (t - self.times[i])[:, None] / h, self.values[[i, i + 1]], self.rates[[i, i + 1]] * h
        if derivative:
            return (6 * x * (1 - x) * (b - a) + (1 - x) * (1 - 3 * x) * u + x * (3 * x - 2) * v) / h
        return a + x**2 * (3 - 2 * x) * (b - a) + x * (1 - x) * ((1 - x) * u - x * v)
