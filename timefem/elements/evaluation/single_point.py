"""Residual and tangent of an element with one quadrature point, for stepping: flat lists of terms.

With one point the sums over points and shape functions are so short that the loops around them cost more than they do.
What is known is gathered once per element, and explicit unknowns are left out until Newton's method is done.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ...kernels.call import call_kernel
from .arrays import PART_GATHER, PART_IN, PART_N_PARAMETERS, PART_PARAMETERS, PART_ROWS, PART_SLOTS

# lists of terms: known dofs to kernel inputs; unknown ones, the first and the further ones of each input; kernel
# outputs to rows, and to tangent entries; those of the explicit kernel to explicit unknowns
KNOWN, FIRST, MORE, TO_ROWS, TO_TANGENT, TO_EXPLICIT = range(6)


class OnePoint(NamedTuple):
    """Terms `target += weight h^power source` of every part.

    Attributes
    ----------
    calls : ndarray of int, shape (n_parts, 4)
        Addresses of the core kernel and of the explicit kernel (0: nothing to compute), where the inputs and the
        outputs of the part start.
    ranges : ndarray of int, shape (n_parts, 6, 2)
        First and last terms of each part in each list.
    terms : ndarray of int, shape (n, 3)
        Target, source, power of h (-1, 0 or 1).
    weights : ndarray, shape (n,)
    explicit : ndarray of int
        Dofs that are explicit.
    n_in, n_out : int
        Inputs and outputs of all parts.
    """

    calls: np.ndarray
    ranges: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    explicit: np.ndarray
    n_in: int
    n_out: int


def one_point(element_plan, kinds):
    """The `OnePoint` of an `ElementPlan`; without terms when it has more points.

    Parameters
    ----------
    element_plan : ElementPlan
    kinds : list of (members, sections, places)
        Per kind of part: its numbers, shape (n,); its rows of `Plan.sections`; and the places of all its tangent
        products in the order section, test function, trial function, entry, shape (n, n_products), -1 for those that
        are not needed.
    """
    plan, columns = element_plan.arrays, element_plan.columns
    lists = _Lists(len(plan.parts))
    if len(plan.points) > 1:
        return OnePoint(np.zeros((0, 4), np.int64), *lists.arrays(), np.zeros(0, np.int64), 0, 0)
    explicit = element_plan.explicit
    calls = np.zeros((len(plan.parts), 4), np.int64)
    calls[:, 2] = np.cumsum(plan.parts[:, PART_IN]) - plan.parts[:, PART_IN]
    row_places = np.full(plan.n_rows, -1)
    row_places[explicit.core_rows] = np.arange(len(explicit.core_rows))
    scale, unknown = np.zeros(plan.n_rows), np.zeros(columns.n_local, int)
    scale[explicit.rows] = -1 / explicit.coefficients
    column_of_row = np.full(plan.n_rows, -1)
    column_of_row[explicit.rows] = explicit.columns
    unknown[columns.n_node:], unknown[explicit.columns] = 1, 2
    slots, tests, n_slots, n_out = plan.slots, plan.tests, len(plan.slots), 0
    for (members, sections, places), kernel in zip(kinds, element_plan.point_kernels, strict=True):
        counts = plan.parts[members[0], PART_SLOTS:]
        gathered = [(slot, j) for slot, n in enumerate(counts[:n_slots]) for _ in range(n)
                    for j in range(slots[slot, 1])]
        inputs = np.repeat(np.arange(counts[:n_slots].sum()), np.repeat(slots[:, 1], counts[:n_slots]))
        dofs = plan.gather[plan.parts[members, PART_GATHER][:, None] + np.arange(len(gathered))]
        powers = np.array([-slots[s, 2] for s, _ in gathered], int)
        weight = np.array([plan.tables[slots[s, 0] + j] for s, j in gathered])
        sort = unknown[dofs[0]] if len(gathered) else np.zeros(0, int)  # the same for all parts of the kind
        first = np.zeros(len(inputs), bool)
        first[np.flatnonzero(sort == 1)[np.unique(inputs[sort == 1], return_index=True)[1]]] = True
        for which, chosen in ((KNOWN, sort == 0), (FIRST, first), (MORE, (sort == 1) & ~first)):
            lists.add(which, members, calls[members, 2][:, None] + inputs[chosen], dofs[:, chosen], powers[chosen],
                      weight[chosen])

        tested = [(test, i) for test, n in enumerate(counts[n_slots:]) for _ in range(n) for i in range(tests[test, 1])]
        outputs = np.repeat(np.arange(counts[n_slots:].sum()), np.repeat(tests[:, 1], counts[n_slots:]))
        rows = plan.row_targets[plan.parts[members, PART_ROWS][:, None] + np.arange(len(tested))]
        there = np.array([kernel.constants[m] != 0 for m in outputs], bool)
        in_core = there & (row_places[rows[0]] >= 0) if len(tested) else there
        derived = [(test, slot, ij, start + k) for test, slot, start, n in sections
                   for ij in range(tests[test, 1] * slots[slot, 1]) for k in range(n)]
        kept = (places >= 0).any(axis=0)
        used = np.unique([*outputs[in_core], *(d[3] for d, k in zip(derived, kept, strict=True) if k)]).astype(int)
        if len(used):
            calls[members, 0] = kernel.shortened(used).address
        calls[members, 3] = n_out + len(used) * np.arange(len(members))
        n_out += len(used) * len(members)
        place = {int(m): i for i, m in enumerate(used)}
        powers = np.array([1 - tests[t, 2] for t, _ in tested], int)
        weight = np.array([plan.test_tables[tests[t, 0] + i] for t, i in tested])
        lists.add(TO_ROWS, members, row_places[rows[:, in_core]], [place[m] for m in outputs[in_core]],
                  powers[in_core], weight[in_core])
        found = [d for d, k in zip(derived, kept, strict=True) if k]
        lists.add(TO_TANGENT, members, places[:, kept], [place[d[3]] for d in found],
                  [1 - tests[t, 2] - slots[s, 2] for t, s, _, _ in found],
                  [plan.pair_tables[plan.pairs[t, s] + ij] for t, s, ij, _ in found])
        given = there & ~in_core
        if given.any():
            calls[members, 1] = kernel.shortened(outputs[given], inputs[sort == 2]).address
        lists.add(TO_EXPLICIT, members, column_of_row[rows[:, given]], np.arange(given.sum()), 0,
                  scale[rows[:, given]])
    size = max(n_out, max(k.kernel.n_out for k in element_plan.point_kernels))
    return OnePoint(calls, *lists.arrays(), explicit.columns.astype(np.int64), int(plan.parts[:, PART_IN].sum()), size)


class _Lists:
    def __init__(self, n_parts):
        self.ranges, self.size = np.zeros((n_parts, 6, 2), np.int64), 0
        self.terms, self.weights = [np.zeros((0, 3), np.int64)], [np.zeros(0)]

    def add(self, which, members, targets, sources, powers, weights):
        """Append terms of the parts `members`: targets of shape (n_parts, n), the others the same or for all parts."""
        n = targets.shape[1]
        found = np.stack([targets, *(np.broadcast_to(np.asarray(v, int), targets.shape) for v in (sources, powers))],
                         axis=2)
        self.terms.append(found.reshape(-1, 3))
        self.weights.append(np.broadcast_to(np.asarray(weights, float), targets.shape).ravel())
        self.ranges[members, which, 0] = self.size + n * np.arange(len(members))
        self.ranges[members, which, 1] = self.ranges[members, which, 0] + n
        self.size += targets.size

    def arrays(self):
        return self.ranges, np.ascontiguousarray(np.concatenate(self.terms), np.int64), np.concatenate(self.weights)


@njit(cache=True, error_model="numpy", _nrt=False)
def begin_one(plan, one, x, t, h, inputs, known):
    """As `begin_step`."""
    inverse_h, parts = 1.0 / h, plan.parts
    for k in range(one.n_in):
        known[k] = 0.0
    for p in range(parts.shape[0]):
        for k in range(one.ranges[p, KNOWN, 0], one.ranges[p, KNOWN, 1]):
            weight = one.weights[k] if one.terms[k, 2] == 0 else inverse_h * one.weights[k]
            known[one.terms[k, 0]] += weight * x[one.terms[k, 1]]
        first = one.calls[p, 2] + parts[p, PART_IN] - parts[p, PART_N_PARAMETERS]
        known[first - 3], known[first - 2], known[first - 1] = t + plan.points[0] * h, h, plan.points[0]
        for k in range(parts[p, PART_N_PARAMETERS]):
            known[first + k] = plan.parameters[parts[p, PART_PARAMETERS] + k]
    for k in range(one.n_in):
        inputs[k] = known[k]


@njit(cache=True, error_model="numpy", _nrt=False)
def evaluate_one(one, x, h, inputs, known, outputs, residual, tangent):
    """As `evaluate_step`."""
    keep, inverse_h, (calls, ranges, terms, weights, _, _, _) = tangent.shape[0] == 0, 1.0 / h, one
    residual[:] = 0.0
    if not keep:
        tangent[:] = 0.0
    for p in range(calls.shape[0]):
        for k in range(ranges[p, FIRST, 0], ranges[p, FIRST, 1]):
            weight = weights[k] if terms[k, 2] == 0 else inverse_h * weights[k]
            inputs[terms[k, 0]] = known[terms[k, 0]] + weight * x[terms[k, 1]]
        for k in range(ranges[p, MORE, 0], ranges[p, MORE, 1]):
            weight = weights[k] if terms[k, 2] == 0 else inverse_h * weights[k]
            inputs[terms[k, 0]] += weight * x[terms[k, 1]]
        if calls[p, 0] == 0:
            continue
        base = calls[p, 3] if keep else 0
        call_kernel(calls[p, 0], inputs, calls[p, 2], outputs, base)
        for k in range(ranges[p, TO_ROWS, 0], ranges[p, TO_ROWS, 1]):
            weight = weights[k] if terms[k, 2] == 0 else h * weights[k]
            residual[terms[k, 0]] += weight * outputs[base + terms[k, 1]]
        if not keep:
            _add_part(one, p, 0, h, outputs, tangent)


@njit(cache=True, error_model="numpy", _nrt=False)
def add_one(one, h, outputs, matrix):
    """As `add_tangent`."""
    for p in range(one.calls.shape[0]):
        _add_part(one, p, one.calls[p, 3], h, outputs, matrix)


@njit(cache=True, error_model="numpy", forceinline=True, _nrt=False)
def _add_part(one, p, base, h, outputs, matrix):
    inverse_h, terms, weights = 1.0 / h, one.terms, one.weights
    for k in range(one.ranges[p, TO_TANGENT, 0], one.ranges[p, TO_TANGENT, 1]):
        power = terms[k, 2]
        weight = h if power == 1 else (1.0 if power == 0 else inverse_h)
        matrix[terms[k, 0]] += weight * weights[k] * outputs[base + terms[k, 1]]


@njit(cache=True, error_model="numpy", _nrt=False)
def finish_one(one, x, inputs, outputs):
    """As `finish_step`."""
    calls, ranges, terms, weights, explicit, _, _ = one
    for k in range(explicit.shape[0]):
        x[explicit[k]] = 0.0
    for p in range(calls.shape[0] if explicit.shape[0] else 0):
        if calls[p, 1] != 0:
            call_kernel(calls[p, 1], inputs, calls[p, 2], outputs, 0)
            for k in range(ranges[p, TO_EXPLICIT, 0], ranges[p, TO_EXPLICIT, 1]):
                x[terms[k, 0]] += weights[k] * outputs[terms[k, 1]]
