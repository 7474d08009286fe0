"""Residual and tangent of an element with one quadrature point, for stepping: flat lists of terms.

With one point the sums over points and shape functions are so short that the loops around them cost more than they do.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..kernels.intrinsic import call_kernel
from .plan import (
    PART_ADDRESS_ONE,
    PART_GATHER,
    PART_IN,
    PART_N_PARAMETERS,
    PART_OUT,
    PART_PARAMETERS,
    PART_ROWS,
    PART_SLOTS,
)


class OnePoint(NamedTuple):
    """Terms `target += weight h^power source` of every part.

    Attributes
    ----------
    ranges : ndarray of int, shape (n_parts, 3, 2)
        First and last terms of each part: dofs to kernel inputs, kernel outputs to rows, and to tangent entries.
    terms : ndarray of int, shape (n, 3)
        Target, source, power of h (-1, 0 or 1); inputs and outputs are counted from the first of the part.
    weights : ndarray, shape (n,)
    """

    ranges: np.ndarray
    terms: np.ndarray
    weights: np.ndarray


def one_point(plan, kinds):
    """The `OnePoint` of a `Plan`; without terms when it has more points.

    Parameters
    ----------
    plan : Plan
    kinds : list of (members, sections, places)
        Per kind of part: its numbers, shape (n,); its rows of `Plan.sections`; and the places of all its tangent
        products in the order section, test function, trial function, entry, shape (n, n_products), -1 for columns that
        are known.
    """
    terms, weights, size = [np.zeros((0, 3), np.int64)], [np.zeros(0)], 0
    ranges = np.zeros((len(plan.parts), 3, 2), np.int64)
    slots, tests, n_slots = plan.slots, plan.tests, len(plan.slots)
    for members, sections, places in kinds if len(plan.points) == 1 else ():
        counts = plan.parts[members[0], PART_SLOTS:]
        gathered = [(slot, j) for slot, n in enumerate(counts[:n_slots]) for _ in range(n)
                    for j in range(slots[slot, 1])]
        tested = [(test, i) for test, n in enumerate(counts[n_slots:]) for _ in range(n) for i in range(tests[test, 1])]
        inputs = np.repeat(np.arange(counts[:n_slots].sum()), np.repeat(slots[:, 1], counts[:n_slots]))
        outputs = np.repeat(np.arange(counts[n_slots:].sum()), np.repeat(tests[:, 1], counts[n_slots:]))
        derived = [(test, slot, ij, start + k) for test, slot, start, n in sections
                   for ij in range(tests[test, 1] * slots[slot, 1]) for k in range(n)]
        dofs = plan.gather[plan.parts[members, PART_GATHER][:, None] + np.arange(len(gathered))]
        rows = plan.row_targets[plan.parts[members, PART_ROWS][:, None] + np.arange(len(tested))]
        lists = [(np.broadcast_to(inputs, dofs.shape), dofs, [-slots[s, 2] for s, _ in gathered],
                  [plan.tables[slots[s, 0] + j] for s, j in gathered]),
                 (rows, np.broadcast_to(outputs, rows.shape), [1 - tests[t, 2] for t, _ in tested],
                  [plan.test_tables[tests[t, 0] + i] for t, i in tested]),
                 (places, np.broadcast_to([d[3] for d in derived], places.shape),
                  [1 - tests[t, 2] - slots[s, 2] for t, s, _, _ in derived],
                  [plan.pair_tables[plan.pairs[t, s] + ij] for t, s, ij, _ in derived])]
        for which, (targets, sources, powers, weight) in enumerate(lists):
            kept = targets[0] >= 0
            n, shape = int(kept.sum()), targets.shape
            found = np.stack([targets, sources, np.broadcast_to(np.array(powers, int), shape)], axis=2)[:, kept]
            terms.append(found.reshape(-1, 3))
            weights.append(np.broadcast_to(np.array(weight, float), shape)[:, kept].ravel())
            ranges[members, which, 0] = size + n * np.arange(len(members))
            ranges[members, which, 1] = ranges[members, which, 0] + n
            size += n * len(members)
    return OnePoint(ranges, np.ascontiguousarray(np.concatenate(terms), np.int64), np.concatenate(weights))


@njit(cache=True, error_model="numpy", _nrt=False)
def evaluate_one(plan, one, x, t, h, inputs, outputs, residual, tangent):
    """As `evaluate_step`."""
    keep, base, inverse_h = tangent.shape[0] == 0, 0, 1.0 / h
    parts, parameters, (ranges, terms, weights) = plan.parts, plan.parameters, one
    residual[:] = 0.0
    if not keep:
        tangent[:] = 0.0
    for p in range(parts.shape[0]):
        first = parts[p, PART_IN] - parts[p, PART_N_PARAMETERS]
        for k in range(first - 2):
            inputs[k] = 0.0
        for k in range(ranges[p, 0, 0], ranges[p, 0, 1]):
            weight = weights[k] if terms[k, 2] == 0 else inverse_h * weights[k]
            inputs[terms[k, 0]] += weight * x[terms[k, 1]]
        inputs[first - 2], inputs[first - 1] = t + plan.points[0] * h, h
        for k in range(parts[p, PART_N_PARAMETERS]):
            inputs[first + k] = parameters[parts[p, PART_PARAMETERS] + k]
        call_kernel(parts[p, PART_ADDRESS_ONE], inputs, 0, outputs, base)
        for k in range(ranges[p, 1, 0], ranges[p, 1, 1]):
            weight = weights[k] if terms[k, 2] == 0 else h * weights[k]
            residual[terms[k, 0]] += weight * outputs[base + terms[k, 1]]
        if keep:
            base += parts[p, PART_OUT]
        else:
            _add_part(one, p, 0, h, outputs, tangent)


@njit(cache=True, error_model="numpy", _nrt=False)
def add_one(plan, one, h, outputs, matrix):
    """As `add_tangent`."""
    base = 0
    for p in range(plan.parts.shape[0]):
        _add_part(one, p, base, h, outputs, matrix)
        base += plan.parts[p, PART_OUT]


@njit(cache=True, error_model="numpy", forceinline=True, _nrt=False)
def _add_part(one, p, base, h, outputs, matrix):
    inverse_h, (ranges, terms, weights) = 1.0 / h, one
    for k in range(ranges[p, 2, 0], ranges[p, 2, 1]):
        power = terms[k, 2]
        weight = h if power == 1 else (1.0 if power == 0 else inverse_h)
        matrix[terms[k, 0]] += weight * weights[k] * outputs[base + terms[k, 1]]
