"""The compiled loops of `evaluate` and `at_start`, and of the audit of solutions."""

import numpy as np

from ...kernels.lanes import call_kernel
from ...kernels.loops import compiled
from .measures import ALIKE_IN_STEPS, LEAST, OF_LARGEST, TINY, largest_of, measure


@compiled(error_model="numpy", _nrt=False)
def along(tables, t, x, out):
    """Add the values of all parts, by the kernels of their kinds, at states (n, length) to `out`, shape (n, n_values).
    """
    groups, inputs, values = tables.groups, tables.inputs, tables.values
    for k in range(x.shape[0]):
        for g in range(groups.shape[0]):
            address, n_parts, n_in = groups[g, 0], groups[g, 1], groups[g, 2]
            n_numbers, n_out = groups[g, 3], groups[g, 4]
            first, number, target = groups[g, 5], groups[g, 6], groups[g, 7]
            inputs[n_in] = t[k]
            for _ in range(n_parts):
                for i in range(n_in):
                    inputs[i] = x[k, tables.index[first + i]]
                for i in range(n_numbers):
                    inputs[n_in + 1 + i] = tables.parameters[number + i]
                call_kernel(address, inputs, 0, values, 0)
                for i in range(n_out):
                    out[k, tables.targets[target + i]] += values[i]
                first, number, target = first + n_in, number + n_numbers, target + n_out


# ---- Compiled loops of `at_start`

FINITE, VIOLATION, REFERENCE, CONDITION, EMPHASIZED = range(5)  # of `facts`
_largest_of = compiled(interpreted=True, error_model="numpy", _nrt=False)(largest_of)
_measure = compiled(interpreted=True, error_model="numpy", _nrt=False)(measure)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def assess(z, gradient, data, columns, starts, rate, theta, scales):
    """What follows from the derivatives of a system at a state, with the Jacobian in compressed rows; see `AtStart`."""
    facts, state_scale, total, violation = scales.facts, scales.state_scale, 0.0, 0.0
    n, m = z.shape[0] // 2, rate.shape[0] // 2
    way, speed = _largest_of(z, gradient, state_scale)
    for i in range(z.shape[0]):
        total += abs(gradient[i])
    for r in range(rate.shape[0]):
        total += abs(rate[r])
        largest, beside, size = 0.0, 0.0, TINY
        for k in range(starts[r], starts[r + 1]):
            entry, i = abs(data[k]), columns[k]
            total += entry
            least = OF_LARGEST * (way if i < n else speed) * state_scale[i]
            size += entry * (abs(z[i]) + least)
            if r < m or i >= n:
                largest = max(largest, entry * state_scale[i])
            else:  # by how much rates change with coordinates has another unit of time
                beside = max(beside, entry * state_scale[i])
        largest = largest if largest > 0.0 else beside
        scales.unit[r] = 1.0 / largest if largest > 0.0 else 1.0
        scales.size[r] = size
        relative = abs(theta[r]) / scales.size[r]
        if not relative <= violation:
            violation = relative
    reference = 0.0
    for i in range(z.shape[0]):
        reference = max(reference, abs(z[i] / state_scale[i]))
    facts[FINITE], facts[VIOLATION] = 1.0 if np.isfinite(total) else 0.0, violation
    facts[REFERENCE] = reference if reference != 0.0 else 1.0
    facts[EMPHASIZED] = _emphasize(z, scales)
    facts[CONDITION] = _multipliers(gradient, data, columns, starts, rate, scales) if scales.matrix.shape[0] else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _emphasize(z, scales):
    """Factors by which changes of coordinates count, from the sizes of motions, weighted by the masses; whether bodies
    count apart.

    What has hardly a motion is taken to move with the part `LEAST` of the largest of its kind, unweighted.
    """
    roots, scratch, n = scales.roots, scales.scratch, scales.roots.shape[0]
    largest_0, largest_1, n_blocks = 0.0, 0.0, scales.kinds.shape[0]
    for b in range(n_blocks):
        scratch[b] = 0.0
    for i in range(n):
        size = max(abs(z[i] / scales.state_scale[i]), abs(z[n + i] / scales.state_scale[n + i]))
        if scales.kinds[scales.blocks[i]]:
            largest_1 = max(largest_1, size / roots[i])
        else:
            largest_0 = max(largest_0, size / roots[i])
    common = 0.0
    for i in range(n):
        b = scales.blocks[i]
        size = max(abs(z[i] / scales.state_scale[i]), abs(z[n + i] / scales.state_scale[n + i]))
        size = max(size, LEAST * roots[i] * (largest_1 if scales.kinds[b] else largest_0))
        scratch[b] = max(scratch[b], size)
        common = max(common, size)
    most = 1.0
    for i in range(n):
        own = scratch[scales.blocks[i]]
        scales.emphasis[i] = common / _measure(own, common, ALIKE_IN_STEPS) if own != 0.0 else 1.0
        most = max(most, scales.emphasis[i])
    return 1.0 if most > 1.0 else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _multipliers(gradient, data, columns, starts, rate, scales):
    """Consistent multipliers by the inverse of the scaled `grad Theta J grad Theta^T`, and its condition number.

    Gauss and Jordan's elimination with the largest pivot of a column, and one correction.
    """
    a, jacobian, m, n = scales.matrix, scales.rows, rate.shape[0], scales.roots.shape[0]
    scratch, values, norm = scales.scratch, scales.multipliers, 0.0  # scale, right side, rest of it
    for r in range(m):
        for i in range(2 * n):
            jacobian[r, i] = 0.0
        for k in range(starts[r], starts[r + 1]):
            jacobian[r, columns[k]] = data[k]
        square, right = 0.0, rate[r]
        for i in range(n):
            square += jacobian[r, i] ** 2 + jacobian[r, n + i] ** 2
            right += jacobian[r, i] * gradient[n + i] - jacobian[r, n + i] * gradient[i]
        scratch[r] = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        scratch[m + r] = scratch[2 * m + r] = scratch[r] * right
    for r in range(m):
        for s in range(m):
            entry = 0.0
            for i in range(n):
                entry += jacobian[r, i] * jacobian[s, n + i] - jacobian[r, n + i] * jacobian[s, i]
            a[r, s] = a[r, 2 * m + s] = entry * scratch[r] * scratch[s]
            a[r, m + s] = 1.0 if r == s else 0.0
    for s in range(m):
        column = 0.0
        for r in range(m):
            column += abs(a[r, s])
        norm = max(norm, column)
    for c in range(m):
        pivot = c
        for r in range(c + 1, m):
            if abs(a[r, c]) > abs(a[pivot, c]):
                pivot = r
        if not abs(a[pivot, c]) > 0.0:
            return np.inf
        if pivot != c:
            for s in range(2 * m):
                a[c, s], a[pivot, s] = a[pivot, s], a[c, s]
        by = 1.0 / a[c, c]
        for s in range(2 * m):
            a[c, s] *= by
        for r in range(m):
            factor = a[r, c]
            if r != c and factor != 0.0:
                for s in range(2 * m):
                    a[r, s] -= factor * a[c, s]
    inverse = 0.0
    for s in range(m):
        column, values[s] = 0.0, 0.0
        for r in range(m):
            column += abs(a[r, m + s])
        inverse = max(inverse, column)
    for _ in range(2):
        for r in range(m):
            for s in range(m):
                values[r] -= a[r, m + s] * scratch[2 * m + s]
        for r in range(m):  # what is left of the equations
            scratch[2 * m + r] = scratch[m + r]
            for s in range(m):
                scratch[2 * m + r] += a[r, 2 * m + s] * values[s]
    for r in range(m):
        values[r] *= scratch[r]
    return norm * inverse


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def largest_squares(z, places, out):
    """Largest squared lengths of ranges of components of states, first and last `places` (n_ranges, 2), along motions
    (n_motions, n, n_z): to `out`, shape (n_motions, n_ranges)."""
    for m in range(z.shape[0]):
        for r in range(places.shape[0]):
            for k in range(z.shape[1]):
                square = 0.0
                for i in range(places[r, 0], places[r, 1]):
                    square += z[m, k, i] ** 2
                out[m, r] = max(out[m, r], square)
