"""Elements with one quadrature point, for stepping: residual and tangent as flat lists of terms, without the unknowns
that one row gives as they are.

Of kinds with several parts one call stands for up to eight, each in a SIMD lane. With one point the sums over points
and shape functions are so short that the loops around them cost more than they do. What is known is gathered once per
element, and explicit unknowns, `x = f(the others)`, are left out until Newton's method is done; elements with more
points may declare some, too.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import LANES
from ...kernels.lanes import call_kernel
from ...kernels.loops import compiled
from ...kernels.record import Record
from .arrays import dtype


class Explicit(NamedTuple):
    """Explicit unknowns of an element, `coefficients x + (the row with x = 0) = 0`, and what is left: the core.

    Attributes
    ----------
    rows, columns : ndarray of int
        Row and dof of each explicit unknown.
    coefficients : ndarray
        Without the factor h that all rows have with one point.
    core_rows, core_columns : ndarray of int
        The other rows, and the other unknown dofs.
    """

    rows: np.ndarray
    columns: np.ndarray
    coefficients: np.ndarray
    core_rows: np.ndarray
    core_columns: np.ndarray


def explicit_unknowns(element_plan):
    """The `Explicit` of an `ElementPlan`.

    An unknown is explicit when it enters one row only, in all parts of a kind alike, with a constant coefficient, and
    when that row has no other explicit unknown. Elements with one point and constant tests are looked at; others
    declare them (see `TimeElement.explicit`).
    """
    if len(element_plan.arrays.points) > 1:
        return _declared(element_plan)
    plan, n_node, n_local = element_plan.arrays, element_plan.columns.n_node, element_plan.columns.n_local
    rows, columns = element_plan.tangent_rows, element_plan.tangent_columns
    coefficients = _coefficients(element_plan)
    candidate = np.isfinite(coefficients) & (coefficients != 0) & (columns >= n_node)
    candidate &= np.bincount(columns, minlength=n_local)[columns] == 1
    alone = np.bincount(rows[candidate], minlength=plan.n_rows)[rows] == 1
    explicit = candidate & alone
    changed = explicit.any()
    while changed:  # until all parts of each kind agree
        before = explicit.sum()
        for rows_seen, dofs_seen in _seen(element_plan):
            explicit &= ~np.isin(rows, _in_part(rows_seen, rows[explicit]))
            explicit &= ~np.isin(columns, _in_part(dofs_seen, columns[explicit]))
        changed = explicit.sum() < before
    return Explicit(rows[explicit], columns[explicit], coefficients[explicit],
                    np.setdiff1d(np.arange(plan.n_rows), rows[explicit]),
                    np.setdiff1d(np.arange(n_node, n_local), columns[explicit]))


def _declared(element_plan):
    """The `Explicit` of the momenta that the element names."""
    element, test, trial = element_plan.element, element_plan.rows, element_plan.columns
    of_test, of_trial = (dict(zip(names, numbering.fields, strict=True)) for names, numbering in
                         ((element.test, test), (element.trial, trial)))
    half, none = element_plan.system.n_q, [np.zeros(0, int)]
    rows = np.concatenate(none + [of_test[name][i] for name, i, _, _ in element.explicit])
    columns = np.concatenate(none + [of_trial[name][i][half:] for _, _, name, i in element.explicit])
    return Explicit(rows, columns, np.ones(len(rows)), np.setdiff1d(np.arange(test.n_local), rows),
                    np.setdiff1d(np.arange(trial.n_node, trial.n_local), columns))


def _coefficients(element_plan):
    """Value over h of each tangent entry that is constant and taken at one shape function; NaN of others."""
    plan = element_plan.arrays
    values = np.zeros(len(element_plan.tangent_rows))
    if len(plan.points) != 1 or np.any(plan.tests["n_shapes"] != 1) or np.any(plan.tests["rate"]):
        return np.full_like(values, np.nan)
    slots = plan.slots
    plain = (slots["n_shapes"] == 1) & (slots["rate"] == 0) & (plan.tables[slots["table"]] == 1)
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        for m, ((_, slot, _, _), constant) in enumerate(zip(kernel.entries, kernel.constants[sum(kernel.n_rows):],
                                                            strict=True)):
            blocks = plan.entry_targets[plan.parts["entries"][members] + m]
            for ij in range(slots["n_shapes"][slot]):
                values[blocks + ij] += constant if plain[slot] else np.nan
    return values


def short_tangent(element_plan):
    """Tangent entries of an element as its length goes to zero, as far as they are constant: those of rates."""
    plan, stride = element_plan.arrays, len(element_plan.arrays.points)
    values = np.zeros(len(element_plan.tangent_rows))
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        for m, ((test, slot, _, _), constant) in enumerate(zip(kernel.entries, kernel.constants[sum(kernel.n_rows):],
                                                               strict=True)):
            if not plan.slots["rate"][slot] or plan.tests["rate"][test] or not np.isfinite(constant):
                continue
            n = int(plan.tests["n_shapes"][test] * plan.slots["n_shapes"][slot])
            first = plan.pairs[test, slot]
            weights = plan.pair_tables[first:first + n * stride].reshape(n, stride).sum(axis=1)
            blocks = plan.entry_targets[plan.parts["entries"][members] + m]
            values[blocks[:, None] + np.arange(n)] += constant * weights
    return values


def _seen(element_plan):
    """Per kind of part: rows to which its parts add something, and dofs that they see, shapes (n_parts, n)."""
    plan = element_plan.arrays
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        nonzero = np.flatnonzero(np.array(kernel.constants[:sum(kernel.n_rows)]) != 0)
        n_dofs = int((np.array(kernel.n_inputs, int) * plan.slots["n_shapes"]).sum())
        yield (plan.row_targets[plan.parts["rows"][members][:, None] + nonzero],
               plan.gather[plan.parts["gather"][members][:, None] + np.arange(n_dofs)])


def _in_part(places, chosen):
    """Those of the chosen that stand in a column of `places` with others that are not chosen."""
    there = np.isin(places, chosen)
    partly = there.any(axis=0) & ~there.all(axis=0)
    return places[:, partly][there[:, partly]]


# Addresses of the core kernel, of its rows alone, and of the explicit kernel (0: nothing to compute); where their
# inputs start, and how many there are; the parts that they are called for, and the lanes in which these stand
CALL = dtype("core", "rows", "explicit", "inputs", "n_in", "first", "stop", "lanes")
# `target += weight h^power source`, the power -1, 0 or 1
TERM = np.dtype([("target", np.int64), ("source", np.int64), ("power", np.int64), ("weight", np.float64)])
# First term, and the one after the last, of the lists of a call: known dofs to kernel inputs; unknown ones, the first
# and the further ones of each input; kernel outputs to rows, and to tangent entries; those of the explicit kernel to
# explicit unknowns
LISTS = "known", "first", "more", "to_rows", "to_tangent", "to_explicit"
RANGES = dtype(*(name + end for name in LISTS for end in ("", "_stop")))


class OnePoint(Record):
    """Terms `target += weight h^power source` of every part.

    Attributes
    ----------
    calls, ranges : ndarray, shape (n_calls,)
        CALL and RANGES of each call of a kernel.
    terms : ndarray, shape (n,)
        TERM.
    explicit : ndarray of int
        Dofs that are explicit.
    n_in, n_out : int
        Inputs of all calls, and most outputs of one.
    """

    calls: np.ndarray
    ranges: np.ndarray
    terms: np.ndarray
    explicit: np.ndarray
    n_in: int
    n_out: int


def one_point(element_plan, kinds):
    """The `OnePoint` of an `ElementPlan`; None when it has more points.

    Parameters
    ----------
    element_plan : ElementPlan
    kinds : list of (members, sections, places)
        Per kind of part: its numbers, shape (n,); its rows of `Plan.sections`; and the places of all its tangent
        products in the order section, test function, trial function, entry, shape (n, n_products), -1 for those that
        are not needed.
    """
    plan, columns = element_plan.arrays, element_plan.columns
    if len(plan.points) > 1:
        return None
    explicit = element_plan.explicit
    calls, which_call = _calls(plan.parts, [members for members, _, _ in kinds])
    lists = _Lists(len(calls))
    row_places = np.full(plan.n_rows, -1)
    row_places[explicit.core_rows] = np.arange(len(explicit.core_rows))
    scale, unknown = np.zeros(plan.n_rows), np.zeros(columns.n_local, int)
    scale[explicit.rows] = -1 / explicit.coefficients
    column_of_row = np.full(plan.n_rows, -1)
    column_of_row[explicit.rows] = explicit.columns
    unknown[columns.n_node:], unknown[explicit.columns] = 1, 2
    slots, tests = plan.slots, plan.tests
    for (members, sections, places), kernel in zip(kinds, element_plan.point_kernels, strict=True):
        n_seen, n_tested = plan.n_seen[members[0]], plan.n_tested[members[0]]
        own, lane = which_call[members], (members - calls["first"][which_call[members]])[:, None]
        lanes = int(calls["lanes"][own[0]])
        gathered = [(slots[s], j) for s, n in enumerate(n_seen) for _ in range(n) for j in range(slots[s]["n_shapes"])]
        inputs = np.repeat(np.arange(n_seen.sum()), np.repeat(slots["n_shapes"], n_seen))
        dofs = plan.gather[plan.parts["gather"][members][:, None] + np.arange(len(gathered))]
        powers = np.array([-slot["rate"] for slot, _ in gathered], int)
        weight = np.array([plan.tables[slot["table"] + j] for slot, j in gathered])
        sort = unknown[dofs[0]] if len(gathered) else np.zeros(0, int)  # the same for all parts of the kind
        first = np.zeros(len(inputs), bool)
        first[np.flatnonzero(sort == 1)[np.unique(inputs[sort == 1], return_index=True)[1]]] = True
        for which, chosen in (("known", sort == 0), ("first", first), ("more", (sort == 1) & ~first)):
            lists.add(which, own, calls["inputs"][own][:, None] + inputs[chosen] * lanes + lane, dofs[:, chosen],
                      powers[chosen], weight[chosen])

        tested = [(tests[i], j) for i, n in enumerate(n_tested) for _ in range(n) for j in range(tests[i]["n_shapes"])]
        outputs = np.repeat(np.arange(n_tested.sum()), np.repeat(tests["n_shapes"], n_tested))
        rows = plan.row_targets[plan.parts["rows"][members][:, None] + np.arange(len(tested))]
        there = np.array([kernel.constants[m] != 0 for m in outputs], bool)
        in_core = there & (row_places[rows[0]] >= 0) if len(tested) else there
        derived = [(test, slot, ij, start + k) for test, slot, start, n in sections
                   for ij in range(tests["n_shapes"][test] * slots["n_shapes"][slot]) for k in range(n)]
        kept = (places >= 0).any(axis=0)
        used = np.unique([*outputs[in_core], *(d[3] for d, k in zip(derived, kept, strict=True) if k)]).astype(int)
        if len(used):
            calls["core"][own] = _address(kernel.shortened(used), lanes)
        if in_core.any():
            calls["rows"][own] = _address(kernel.shortened(np.unique(outputs[in_core])), lanes)
        place = np.zeros(plan.n_out, int)
        place[used] = np.arange(len(used))
        powers = np.array([1 - test["rate"] for test, _ in tested], int)
        weight = np.array([plan.test_tables[test["table"] + i] for test, i in tested])
        lists.add("to_rows", own, row_places[rows[:, in_core]], place[outputs[in_core]] * lanes + lane,
                  powers[in_core], weight[in_core])
        found = [d for d, k in zip(derived, kept, strict=True) if k]
        sources = np.array([d[3] for d in found], int)
        lists.add("to_tangent", own, places[:, kept], place[sources] * lanes + lane,
                  [1 - tests["rate"][t] - slots["rate"][s] for t, s, _, _ in found],
                  [plan.pair_tables[plan.pairs[t, s] + ij] for t, s, ij, _ in found])
        given = there & ~in_core
        if given.any():
            calls["explicit"][own] = _address(kernel.shortened(outputs[given], inputs[sort == 2]), lanes)
        lists.add("to_explicit", own, column_of_row[rows[:, given]], np.arange(given.sum()) * lanes + lane, 0,
                  scale[rows[:, given]])
    n_in, n_out = _room(calls["n_in"] * calls["lanes"])[-1], plan.n_out * int(calls["lanes"].max())
    return OnePoint(calls, *lists.arrays(), explicit.columns.astype(np.int64), n_in, n_out)


def _calls(parts, kinds):
    """CALL of each call of a kernel, without addresses, and the number of the call of each part.

    Parts of a kind stand in lanes where they fill half of them or more.
    """
    firsts = [(members[i], min(i + lanes, len(members)) - i, lanes) for members in kinds
              for lanes in (LANES if len(members) >= LANES // 2 else 1,) for i in range(0, len(members), lanes)]
    first, n, lanes = np.array(sorted(firsts), np.int64).T
    calls = np.zeros(len(firsts), CALL)
    calls["first"], calls["stop"], calls["lanes"], calls["n_in"] = first, first + n, lanes, parts["n_in"][first]
    calls["inputs"] = _room(calls["n_in"] * lanes)[:-1]
    return calls, np.repeat(np.arange(len(calls)), n)


def _room(sizes):
    """Where arrays of these sizes start, each at a whole vector, and where the last one ends."""
    return np.cumsum([0, *(-(-sizes // LANES) * LANES)]).tolist()


def _address(kernel, lanes):
    return kernel.address if lanes == 1 else kernel.address_lanes


class _Lists:
    """Terms of calls, list after list; those of a call follow one another."""

    def __init__(self, n_calls):
        self.ranges, self.terms, self.size = np.zeros(n_calls, RANGES), [np.zeros(0, TERM)], 0

    def add(self, which, calls, targets, sources, powers, weights):
        """Append terms of parts, of which each belongs to one of the calls: targets of shape (n_parts, n), the others
        the same or for all parts."""
        n, found = targets.shape[1], np.zeros(targets.shape, TERM)
        for name, values in (("target", targets), ("source", sources), ("power", powers), ("weight", weights)):
            found[name] = values
        self.terms.append(found.ravel())
        numbers, firsts, counts = np.unique(calls, return_index=True, return_counts=True)
        self.ranges[which][numbers] = self.size + n * firsts
        self.ranges[which + "_stop"][numbers] = self.size + n * (firsts + counts)
        self.size += targets.size

    def arrays(self):
        return self.ranges, np.concatenate(self.terms)


@compiled(error_model="numpy", _nrt=False)
def begin_one(plan, one, x, t, h, scratch):
    """As `begin_step`."""
    inverse_h, known = 1.0 / h, scratch.known
    for k in range(one.n_in):
        known[k] = 0.0
    for c in range(one.calls.shape[0]):
        call, ranges = one.calls[c], one.ranges[c]
        for k in range(ranges.known, ranges.known_stop):
            term = one.terms[k]
            weight = term.weight if term.power == 0 else inverse_h * term.weight
            known[term.target] += weight * x[term.source]
        for p in range(call.first, call.stop):
            part = plan.parts[p]
            place = call.inputs + (part.n_in - part.n_parameters - 3) * call.lanes + p - call.first
            known[place], known[place + call.lanes] = t + plan.points[0] * h, h
            known[place + 2 * call.lanes] = plan.points[0]
            for k in range(part.n_parameters):
                known[place + (k + 3) * call.lanes] = plan.parameters[part.parameters + k]
    for k in range(one.n_in):
        scratch.inputs[k] = known[k]


@compiled(error_model="numpy", _nrt=False)
def evaluate_one(one, x, h, scratch, residual, tangent, derived):
    """As `evaluate_step`."""
    inputs, known, outputs, inverse_h = scratch.inputs, scratch.known, scratch.outputs, 1.0 / h
    residual[:] = 0.0
    if derived:
        tangent[:] = 0.0
    for p in range(one.calls.shape[0]):
        call, ranges = one.calls[p], one.ranges[p]
        for k in range(ranges.first, ranges.first_stop):
            term = one.terms[k]
            weight = term.weight if term.power == 0 else inverse_h * term.weight
            inputs[term.target] = known[term.target] + weight * x[term.source]
        for k in range(ranges.more, ranges.more_stop):
            term = one.terms[k]
            weight = term.weight if term.power == 0 else inverse_h * term.weight
            inputs[term.target] += weight * x[term.source]
        address = call.core if derived else call.rows
        if address == 0:
            continue
        call_kernel(address, inputs, call.inputs, outputs, 0)
        for k in range(ranges.to_rows, ranges.to_rows_stop):
            term = one.terms[k]
            weight = term.weight if term.power == 0 else h * term.weight
            residual[term.target] += weight * outputs[term.source]
        if derived:
            for k in range(ranges.to_tangent, ranges.to_tangent_stop):
                term = one.terms[k]
                weight = h if term.power == 1 else (1.0 if term.power == 0 else inverse_h)
                tangent[term.target] += weight * term.weight * outputs[term.source]


@compiled(error_model="numpy", _nrt=False)
def finish_one(one, x, scratch):
    """As `finish_step`."""
    for k in range(one.explicit.shape[0]):
        x[one.explicit[k]] = 0.0
    for p in range(one.calls.shape[0] if one.explicit.shape[0] else 0):
        call = one.calls[p]
        if call.explicit != 0:
            call_kernel(call.explicit, scratch.inputs, call.inputs, scratch.outputs, 0)
            for k in range(one.ranges[p].to_explicit, one.ranges[p].to_explicit_stop):
                term = one.terms[k]
                x[term.target] += term.weight * scratch.outputs[term.source]
