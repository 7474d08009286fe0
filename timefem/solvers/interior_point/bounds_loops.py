"""Compiled loops of `bounds`: each is one pass over what would take many short operations on arrays.

`at` are the places of variables with a lower bound, then those with an upper one, from `first_high` on; `sign` is 1 and
-1 there. Slacks and multipliers z of bounds are in the same order.
"""

import numpy as np

from ...kernels.loops import compiled

CENTRAL = 0.1, 10.0  # products of slacks and multipliers, over mu, that are near it


@compiled(error_model="numpy")
def slacks_and_well(w, at, sign, value, one_sided, weight):
    """`slack = sign (w - value)`; `weight one_sided . slack - sum of log(slack)`, infinite outside of the bounds."""
    out, inside, linear, logarithms, product = np.empty(len(at)), True, 0.0, 0.0, 1.0
    for k in range(len(at)):
        slack = sign[k] * (w[at[k]] - value[k])
        out[k] = slack
        inside = inside and slack > 0
        linear += one_sided[k] * slack
        product *= slack
        if not 1e-100 < product < 1e100:  # one logarithm for many slacks
            logarithms += np.log(product)
            product = 1.0
    return out, weight * linear - logarithms - np.log(product) if inside else np.inf


@compiled(error_model="numpy")
def gradient(n, at, sign, one_sided, slack, mu, weight):
    """Gradient of mu times the well, shape (n,)."""
    out = np.zeros(n)
    for k in range(len(at)):
        out[at[k]] += sign[k] * mu * (weight * one_sided[k] - 1 / slack[k])
    return out


@compiled(error_model="numpy")
def add(out, at, values, sign):
    """Add `sign values` at the places `at`."""
    for k in range(len(at)):
        out[at[k]] += sign[k] * values[k]


@compiled(error_model="numpy")
def add_and_sum(out, at, sign, w, first):
    """Add `sign w` of the w from `first` on at the places `at`; the sum of the magnitudes of all."""
    for k in range(len(at)):
        out[at[k]] += sign[k] * w[first + k]
    total = 0.0
    for i in range(len(out)):
        total += abs(out[i])
    return total


@compiled(error_model="numpy")
def diagonals(sigma, delta, delta_c, damped, n, row, coefficient, m):
    """The diagonal of w, regularised, coefficients of the variables behind the first n over it, and the diagonal of the
    m rows, from which these are eliminated."""
    of_w, over, of_rows = np.empty(len(sigma)), np.empty(len(row)), np.full(m, -delta_c)
    for i in range(n):
        of_w[i] = sigma[i] + delta * damped[i]
    for k in range(len(row)):
        of_w[n + k] = sigma[n + k] + delta * damped[n + k]
        over[k] = coefficient[k] / of_w[n + k]
        of_rows[row[k]] -= over[k] * coefficient[k]
    return of_w, over, of_rows


@compiled(error_model="numpy")
def without_auxiliary(of_w, of_rows, row, over):
    """The right-hand side that takes residuals away, once the variables that stand in one row each are eliminated."""
    n = len(of_w) - len(row)
    of_v, left = np.empty(n), -of_rows
    for i in range(n):
        of_v[i] = -of_w[i]
    for k in range(len(row)):
        left[row[k]] += over[k] * of_w[n + k]
    return of_v, left


@compiled(error_model="numpy")
def with_auxiliary(v, y, of_w, diagonal, row, over):
    """Steps of all variables, by those v of the others and those y of multipliers."""
    n = len(v)
    out = np.empty(n + len(row))
    for i in range(n):
        out[i] = v[i]
    for k in range(len(row)):
        out[n + k] = -of_w[n + k] / diagonal[n + k] - over[k] * y[row[k]]
    return out


@compiled(error_model="numpy")
def add_diagonals(of_w, of_rows, diagonal, delta_c, row, coefficient, dw, dy):
    """Add to residuals what the diagonals and the coefficients of auxiliary variables make of steps."""
    n = len(of_w) - len(row)
    for i in range(len(of_w)):
        of_w[i] += diagonal[i] * dw[i]
    for i in range(len(of_rows)):
        of_rows[i] -= delta_c * dy[i]
    for k in range(len(row)):
        of_w[n + k] += coefficient[k] * dy[row[k]]
        of_rows[row[k]] += coefficient[k] * dw[n + k]


@compiled(error_model="numpy")
def squares(x, y):
    """`x . x` and `y . y`."""
    a, b = 0.0, 0.0
    for i in range(len(x)):
        a += x[i] * x[i]
        b += y[i] * y[i]
    return a, b


@compiled(error_model="numpy")
def curvature(weights, at, slack, z):
    """`weights` and `z / slack` at their places."""
    out = weights.copy()
    for k in range(len(at)):
        out[at[k]] += z[k] / slack[k]
    return out


@compiled(error_model="numpy")
def change(at, sign, slack, z, dw, mu):
    """Steps of z that belong to those of w: `z dslack + slack dz = mu - slack z`."""
    out = np.empty(len(at))
    for k in range(len(at)):
        out[k] = mu / slack[k] - z[k] - z[k] / slack[k] * sign[k] * dw[at[k]]
    return out


@compiled(error_model="numpy")
def to_zero(at, sign, slack, z, dw):
    """What a step of w for mu = 0 makes of `slack . z`, a and b being the longest steps of both to their bounds.

    Products of the changes ds and dz; `slack . z`, `ds . z`, `slack . dz` and `ds . dz`; a and b.
    """
    out, now, by_slack, by_z, by_both, a, b = np.empty(len(at)), 0.0, 0.0, 0.0, 0.0, 1.0, 1.0
    for k in range(len(at)):
        ds = sign[k] * dw[at[k]]
        dz = -z[k] - z[k] / slack[k] * ds
        out[k] = ds * dz
        now += slack[k] * z[k]
        by_slack += ds * z[k]
        by_z += slack[k] * dz
        by_both += ds * dz
        if ds < 0 and -slack[k] > a * ds:
            a = -slack[k] / ds
        if dz < 0 and -z[k] > b * dz:
            b = -z[k] / dz
    return out, now, by_slack, by_z, by_both, a, b


@compiled(error_model="numpy")
def closer_to_mu(at, sign, slack, z, steps, lengths, mu, products):
    """`products` that also move those of `slack z` after steps (dw, dz) of these lengths, where far from mu, towards
    it."""
    out, (dw, dz), (a, b) = np.empty(len(at)), steps, lengths
    for k in range(len(at)):
        after = (slack[k] + a * sign[k] * dw[at[k]]) * (z[k] + b * dz[k])
        near = min(max(after, CENTRAL[0] * mu), CENTRAL[1] * mu)
        out[k] = products[k] - max(near - after, -CENTRAL[1] * mu)
    return out


@compiled(error_model="numpy")
def longest(values, step, tau):
    """The longest step, 1 at most, that takes no more than the share tau of positive values."""
    out = 1.0
    for k in range(len(values)):
        if step[k] < 0 and -tau * values[k] > out * step[k]:
            out = -tau * values[k] / step[k]
    return out


@compiled(error_model="numpy")
def longest_along(slack, at, sign, dw, tau):
    """`longest` of the slacks, for a step of w."""
    out = 1.0
    for k in range(len(slack)):
        step = sign[k] * dw[at[k]]
        if step < 0 and -tau * slack[k] > out * step:
            out = -tau * slack[k] / step
    return out


@compiled(error_model="numpy")
def moved(z, dz, alpha, mu, slack, factor):
    """`z + alpha dz`, kept within a factor of `mu / slack`."""
    out = np.empty(len(z))
    for k in range(len(z)):
        central = mu / slack[k]
        out[k] = min(max(z[k] + alpha * dz[k], central / factor), central * factor)
    return out


@compiled(error_model="numpy")
def _largest(x):
    """Largest magnitude; NaN where one is."""
    out, missing = 0.0, False
    for i in range(len(x)):
        out = max(out, abs(x[i]))
        missing = missing or np.isnan(x[i])
    return np.nan if missing else out


@compiled(error_model="numpy")
def errors(of_lagrangian, y, c, at, sign, slack, z):
    """Sums of |y| and z, the largest entry of `grad L - z` and of c, the largest and the least product `slack z`."""
    dual, sum_y, sum_z, most, least = of_lagrangian.copy(), 0.0, 0.0, -np.inf, np.inf
    for k in range(len(at)):
        product = slack[k] * z[k]
        dual[at[k]] -= sign[k] * z[k]
        sum_z += z[k]
        most, least = max(most, product), min(least, product)
    for i in range(len(y)):
        sum_y += abs(y[i])
    return sum_y, sum_z, _largest(dual), _largest(c), most, least


@compiled(error_model="numpy")
def slope_and_size(gradient, of_barrier, dw, w):
    """`(gradient + of_barrier) . dw`, and the largest `|dw| / (1 + |w|)`."""
    slope, size = 0.0, 0.0
    for i in range(len(dw)):
        slope += (gradient[i] + of_barrier[i]) * dw[i]
        size = max(size, abs(dw[i]) / (1 + abs(w[i])))
    return slope, size
