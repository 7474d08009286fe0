"""Where functions become negative inside of an element, from what is known at its ends and between."""

from math import comb

import numpy as np

from ...kernels.loops import compiled
from .options import CONTACT

BERNSTEIN = np.array([[comb(i, j) / comb(5, j) for j in range(6)] for i in range(6)])  # from coefficients of powers
ROUNDING = CONTACT.at_start


def quintic(h, f0, f1):
    """Coefficients, the lowest first, in theta = (t - t0) / h, of the quintic through value, rate and acceleration at
    both ends, `f0` and `f1`."""
    a, b, c = f0[0], h * f0[1], h * h * f0[2] / 2
    d, e, g = f1[0] - a - b - c, h * f1[1] - b - 2 * c, h * h * f1[2] - 2 * c
    return a, b, c, 10 * d - 4 * e + g / 2, -15 * d + 7 * e - g, 6 * d - 3 * e + g / 2


_quintic = compiled(interpreted=True, error_model="numpy", _nrt=False)(quintic)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _coefficients(h, f0, f1, five):
    """`quintic`, and the largest distance of it in the element from the cubic through values and rates; of that over
    the square of theta, too."""
    five[0], five[1], five[2], five[3], five[4], five[5] = _quintic(h, f0, f1)
    d, e, margin, curved = f1[0] - five[0] - five[1], h * f1[1] - five[1], 0.0, 0.0
    second, third = five[2] - (3 * d - e), five[3] - (e - 2 * d)
    for i in range(33):
        x = i / 32
        apart = abs(second + x * (third + x * (five[4] + x * five[5])))
        margin, curved = max(margin, x * x * apart), max(curved, apart)
    return margin, curved


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _at(f, x):
    value = 0.0
    for i in range(f.shape[0] - 1, -1, -1):
        value = value * x + f[i]
    return value


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _root(f, low, high):
    """A root of a polynomial between places where it has other signs, by regula falsi (Illinois) and bisection."""
    below, above, side = _at(f, low), _at(f, high), 0
    x = low
    for k in range(200):
        x = (low * above - high * below) / (above - below) if k % 4 < 3 else 0.5 * (low + high)
        if not low < x < high:
            x = 0.5 * (low + high)
        if not low < x < high or high - low <= 1e-15:
            break
        value = _at(f, x)
        if value == 0.0:
            break
        if (value > 0.0) == (below > 0.0):
            low, below = x, value
            if side == 1:
                above *= 0.5
            side = 1
        else:
            high, above = x, value
            if side == 2:
                below *= 0.5
            side = 2
    return x


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _turning(f, slopes, places):
    """Where a quintic turns inside of (0, 1), in places[1:]; their number. Between roots of the derivative of a
    polynomial there is at most one of its own, and it changes its sign there."""
    n = 0
    for degree in range(1, 5):  # of the derivatives, the highest first
        slope = slopes[:degree + 1]
        for i in range(degree + 1):
            slope[i] = f[i + 5 - degree]
            for j in range(5 - degree):
                slope[i] *= i + 5 - degree - j
        places[0], places[n + 1], found = 0.0, 1.0, 0
        low, below = 0.0, _at(slope, 0.0)
        for i in range(1, n + 2):
            high = places[i]
            above = _at(slope, high)
            if below * above < 0.0 or (above == 0.0 and below != 0.0 and high < 1.0):
                found += 1
                places[found] = high if above == 0.0 else _root(slope, low, high)
            low, below = high, above
        n = found
    places[n + 1] = 1.0
    return n


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def closings(h, f0, f1, at_zero, still, scratch, found):
    """What gaps do in elements.

    Parameters
    ----------
    h : ndarray, shape (n,)
    f0, f1 : ndarray, shape (n, 3)
        Gap, rate and acceleration at the ends.
    at_zero : ndarray of bool, shape (n,)
        Whether it is zero at the start because it has just opened, or bounced, or is side by side without a force.
    still : ndarray, shape (n,)
        Rates that are none.
    scratch : ndarray, shape (5, 6)
    found : ndarray, shape (n, 3)
        Of each the first theta at which it becomes negative; where it is least inside, below the margin, but not
        negative; NaN where there is none. Then whether it stays above the margin by its Bernstein coefficients.
    """
    five, slopes, places, start = scratch[0], scratch[1], scratch[2], scratch[3, :3]
    for k in range(h.shape[0]):
        found[k, 0] = found[k, 1] = np.nan
        (margin, _), power = _coefficients(h[k], f0[k], f1[k], five), 0
        least = np.inf
        for i in range(6):
            value = 0.0
            for j in range(i + 1):
                value += BERNSTEIN[i, j] * five[j]
            least = min(least, value)
        found[k, 2] = 1.0 if least > margin else 0.0
        if found[k, 2] and not at_zero[k]:
            continue
        if at_zero[k]:
            start[0], start[1], start[2] = 0.0, f0[k, 1] if abs(f0[k, 1]) > still[k] else 0.0, f0[k, 2]
            _, margin = _coefficients(h[k], start, f1[k], five)  # near the start there is hardly any distance
            while five[0] == 0.0 and power < 2:  # that root does not count: divide by theta
                for i in range(5):
                    five[i] = five[i + 1]
                five[5], power = 0.0, power + 1
        size = 0.0
        for i in range(6):
            size = max(size, abs(five[i]))
        n, bound = _turning(five, slopes, places), -ROUNDING * size if at_zero[k] else 0.0
        places[0] = 0.0
        before = _at(five, 0.0)
        if before < bound:
            found[k, 0] = 0.0
            continue
        for i in range(1, n + 2):
            value = _at(five, places[i])
            if value < bound:
                found[k, 0] = _root(five, places[i - 1], places[i]) if before > 0.0 else places[i - 1]
                found[k, 1] = np.nan
                break
            if i <= n and np.isnan(found[k, 1]) and value <= before and value <= _at(five, places[i + 1]) and \
                    value * places[i]**power < margin * (places[i]**2 if at_zero[k] else 1.0):
                found[k, 1] = places[i]
            before = value


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
    f = _polynomial(theta[near], values[near])
    low, high = theta[k - 1], theta[k]
    if not float(f(low)) > 0:
        return float(low)
    return _crossing(f, float(low), float(high))


def _polynomial(x, y):
    """The function that is a polynomial through a few points, by barycentric weights."""
    apart = x[:, None] - x
    np.fill_diagonal(apart, 1.0)
    weights = 1 / apart.prod(axis=1)

    def value(at):
        left = at - x
        if not left.all():
            return float(y[left == 0][0])
        shares = weights / left
        return float(shares @ y / shares.sum())

    return value


def _crossing(f, low, high):
    """Where a function falls through zero between two places, by false position that halves what stays."""
    above, below, last = f(low), f(high), low
    for _ in range(100):
        at = (low * below - high * above) / (below - above)
        value = f(at)
        if value == 0 or abs(at - last) <= 1e-14:
            break
        if value > 0:
            below = below / 2 if last == low else below
            low, above = at, value
        else:
            above = above / 2 if last == high else above
            high, below = at, value
        last = at
    return at
