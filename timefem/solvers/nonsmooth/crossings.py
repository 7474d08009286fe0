"""Where functions become negative inside of an element, from what is known at its ends and between."""

from math import comb

import numpy as np

from ...late import Late

interpolate, optimize = Late("scipy.interpolate"), Late("scipy.optimize")

POWERS = np.vander(np.linspace(0, 1, 33), 6, increasing=True)
BERNSTEIN = np.array([[comb(i, j) / comb(5, j) for j in range(6)] for i in range(6)])  # from coefficients of powers


def quintic(h, f0, f1):
    """Coefficients, the lowest first, in theta = (t - t0) / h, of the quintic through value, rate and acceleration at
    both ends, `f0` and `f1`."""
    a, b, c = f0[0], h * f0[1], h * h * f0[2] / 2
    d, e, g = f1[0] - a - b - c, h * f1[1] - b - 2 * c, h * h * f1[2] - 2 * c
    return a, b, c, 10 * d - 4 * e + g / 2, -15 * d + 7 * e - g, 6 * d - 3 * e + g / 2


def cubic(h, f0, f1):
    """The same of the cubic through values and rates, with as many coefficients."""
    a, b = f0[0], h * f0[1]
    d, e = f1[0] - a - b, h * f1[1] - b
    return a, b, 3 * d - e, e - 2 * d, 0 * a, 0 * a


def margins(five, three):
    """How far quintics and cubics with coefficients (6, ...) are apart in an element."""
    difference = np.array([a - b for a, b in zip(five, three, strict=True)])
    return np.abs(np.tensordot(POWERS, difference, 1)).max(axis=0)


def clear(h, f0, f1):
    """Whether gaps, as in `Closing`, stay above the margin by their Bernstein coefficients; shapes (n,), (n, 3)."""
    ends = tuple(f0.T), tuple(f1.T)
    five = quintic(h, *ends)
    return (BERNSTEIN @ np.array(five)).min(axis=0) > margins(five, cubic(h, *ends))


class Closing:
    """What a gap does in an element.

    Attributes
    ----------
    crossing : float or None
        First theta at which it becomes negative.
    minimum : float or None
        Where it is least inside, below the margin, but not negative.

    Parameters
    ----------
    h : float
    f0, f1 : array_like, shape (3,)
        Gap, rate and acceleration at the ends.
    starts_at_zero : bool
        Whether it is zero at the start because it has just opened, or bounced.
    still : float
        Rate that is none.
    """

    def __init__(self, h, f0, f1, starts_at_zero, still=0.0):
        if starts_at_zero:
            f0 = np.array([0.0, f0[1] if abs(f0[1]) > still else 0.0, f0[2]])
        five = np.array(quintic(h, f0, f1))
        self.crossing = self.minimum = None
        margin = margins(five, cubic(h, f0, f1))
        power = 0
        while starts_at_zero and five[0] == 0 and power < 2:  # that root does not count: divide by theta
            five, power = np.append(five[1:], 0.0), power + 1
        size = np.abs(five).max()
        slope = np.polynomial.polynomial.polyder(five)
        roots = np.polynomial.polynomial.polyroots(np.trim_zeros(slope, "b")) if np.any(slope) else np.zeros(0)
        turning = np.sort(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0) & (roots.real < 1)])
        places = np.concatenate([[0.0], turning, [1.0]])
        values = np.polynomial.polynomial.polyval(places, five)
        below = np.flatnonzero(values < (-1e-9 * size if starts_at_zero else 0.0))
        if len(below) and below[0] > 0:
            low, high = places[below[0] - 1], places[below[0]]
            f = np.polynomial.Polynomial(five)
            self.crossing = optimize.brentq(f, low, high, xtol=1e-15) if f(low) > 0 else float(low)
            return
        if len(below):
            self.crossing = 0.0
            return
        undivided = values * places**power
        inner = [k for k in range(1, len(places) - 1) if values[k] <= values[k - 1] and values[k] <= values[k + 1]
                 and undivided[k] < margin]
        if inner:
            self.minimum = float(places[inner[0]])


def first_negative(theta, values, starts_at_zero):
    """First theta at which a function, of values at increasing theta from 0 to 1, becomes negative; None without.

    Where it `starts_at_zero`, that root does not count.
    """
    values = np.array(values, float)
    if starts_at_zero:
        inner = theta > 0
        theta, values = theta[inner], values[inner] / theta[inner]
    size = np.abs(values).max(initial=0.0)
    values[np.abs(values) <= 1e-9 * size] = 0.0
    below = np.flatnonzero(values < 0)
    if not len(below):
        return None
    k = int(below[0])
    if k == 0:
        return 0.0 if not starts_at_zero else float(theta[0])
    near = slice(max(0, k - 3), min(len(theta), k + 3))
    f = interpolate.BarycentricInterpolator(theta[near], values[near])
    low, high = theta[k - 1], theta[k]
    if not float(f(low)) > 0:
        return float(low)
    return float(optimize.brentq(f, low, high, xtol=1e-14))
