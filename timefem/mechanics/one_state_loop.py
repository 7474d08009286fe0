"""Compiled loops of `one_state`."""

import numpy as np

from ..kernels.loops import compiled
from .measures import ALIKE_IN_STEPS, LEAST, measure

FINITE, VIOLATION, REFERENCE, CONDITION, EMPHASIZED = range(5)  # of `facts`
_measure = compiled(interpreted=True, error_model="numpy", _nrt=False)(measure)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def spread(tables, z):
    """Local states of all parts from a state."""
    for i in range(tables.state_index.shape[0]):
        tables.inputs[i] = z[tables.state_index[i]]
    for i in range(z.shape[0]):
        tables.z[i] = z[i]


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def assess(tables):
    """Derivatives of the system from those of all parts, and what follows from them."""
    gradient, jacobian, rate, theta = tables.gradient, tables.jacobian, tables.rate, tables.theta
    z, facts, state_scale = tables.z, tables.facts, tables.state_scale
    for i in range(z.shape[0]):
        gradient[i] = 0.0
        for r in range(rate.shape[0]):
            jacobian[r, i] = 0.0
    for g in range(tables.groups.shape[0]):
        n_parts, width, m = tables.groups[g, 0], tables.groups[g, 1], tables.groups[g, 2]
        first_in, at, first_row = tables.groups[g, 3], tables.groups[g, 4], tables.groups[g, 5]
        for part in range(n_parts):
            states, rows = first_in + part * width, first_row + part * m
            for i in range(width):
                gradient[tables.state_index[states + i]] += tables.outputs[at + i]
            at += width
            for i in range(width):  # column by column
                for r in range(m):
                    jacobian[tables.row_index[rows + r], tables.state_index[states + i]] += tables.outputs[at + r]
                at += m
            for r in range(m):
                rate[tables.row_index[rows + r]] = tables.outputs[at + r]
                theta[tables.row_index[rows + r]] = tables.outputs[at + m + r]
            at += 2 * m
    total = 0.0
    for i in range(gradient.shape[0]):
        total += gradient[i]
    violation, n_z = 0.0, z.shape[0]
    for r in range(rate.shape[0]):
        total += rate[r]
        largest, size = 0.0, 0.0
        for i in range(n_z):
            entry = abs(jacobian[r, i])
            total += entry
            largest, size = max(largest, entry * state_scale[i]), size + entry * abs(z[i])
        tables.unit[r] = 1.0 / largest if largest > 0.0 else 1.0
        tables.size[r] = max(1.0, size)
        relative = abs(theta[r]) / tables.size[r]
        if not relative <= violation:
            violation = relative
    reference = 0.0
    for i in range(n_z):
        reference = max(reference, abs(z[i] / state_scale[i]))
    facts[FINITE], facts[VIOLATION] = 1.0 if np.isfinite(total) else 0.0, violation
    facts[REFERENCE] = reference if reference != 0.0 else 1.0
    facts[EMPHASIZED] = _emphasize(tables)
    facts[CONDITION] = _multipliers(tables) if tables.matrix.shape[0] else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _emphasize(tables):
    """`measures.emphasis` of the state; whether bodies count apart."""
    z, roots, scratch, n = tables.z, tables.roots, tables.scratch, tables.roots.shape[0]
    largest_0, largest_1, n_blocks = 0.0, 0.0, tables.kinds.shape[0]
    for b in range(n_blocks):
        scratch[b] = 0.0
    for i in range(n):
        size = max(abs(z[i] / tables.state_scale[i]), abs(z[n + i] / tables.state_scale[n + i]))
        if tables.kinds[tables.blocks[i]]:
            largest_1 = max(largest_1, size / roots[i])
        else:
            largest_0 = max(largest_0, size / roots[i])
    common = 0.0
    for i in range(n):
        b = tables.blocks[i]
        size = max(abs(z[i] / tables.state_scale[i]), abs(z[n + i] / tables.state_scale[n + i]))
        size = max(size, LEAST * roots[i] * (largest_1 if tables.kinds[b] else largest_0))
        scratch[b] = max(scratch[b], size)
        common = max(common, size)
    most = 1.0
    for i in range(n):
        own = scratch[tables.blocks[i]]
        tables.emphasis[i] = common / _measure(own, common, ALIKE_IN_STEPS) if own != 0.0 else 1.0
        most = max(most, tables.emphasis[i])
    return 1.0 if most > 1.0 else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _multipliers(tables):
    """Consistent multipliers by the inverse of the scaled `grad Theta J grad Theta^T`, and its condition number.

    Gauss and Jordan's elimination with the largest pivot of a column, and one correction.
    """
    a, jacobian, m, n = tables.matrix, tables.jacobian, tables.theta.shape[0], tables.roots.shape[0]
    scratch, values, norm = tables.scratch, tables.multipliers, 0.0  # scale, right side, rest of it
    for r in range(m):
        square, right = 0.0, tables.rate[r]
        for i in range(n):
            square += jacobian[r, i] ** 2 + jacobian[r, n + i] ** 2
            right += jacobian[r, i] * tables.gradient[n + i] - jacobian[r, n + i] * tables.gradient[i]
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
