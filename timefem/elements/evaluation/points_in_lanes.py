"""Residual and tangent of a single time element, for stepping: quadrature points in the SIMD lanes.

Where they leave room, those of several parts of one kind stand side by side, each in the lanes of its place: a kernel
takes as long for one part as for all of them. With one point only there are no lanes: see `one_point`.
"""

import numpy as np

from ...kernels.lanes import (
    FEW,
    LANES,
    add_lanes,
    call_kernel,
    eight_dots,
    eight_for_four,
    four_for_four,
    four_times_eight_dots,
    load,
    store,
    twice_eight_dots,
    two_for_four,
)
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ...kernels.runs import clear_runs, copy_runs
from .arrays import Plan
from .single_point import OnePoint, begin_one, evaluate_one, finish_one, one_point

# `inputs of the kernels += shape functions x (/ h for rates)`: where these are in `inputs`, the dof, the line in the
# tables
TERM = np.dtype([(name, np.int32) for name in ("target", "source", "table", "rate")])
# What is summed over the points: the first output of a kernel and how many follow; how many lines of weights each has,
# and where these start; the time derivatives in the product
SUMS = np.dtype([(name, np.int64) for name in ("first", "n", "n_lines", "weights", "rates")])


class Scratch(Record):
    """What the functions below work on: see `step_scratch`."""

    inputs: np.ndarray  # of the kernels of all packs
    outputs: np.ndarray  # of the kernel of a part
    sums: np.ndarray
    known: np.ndarray  # inputs that are known before an element is solved


class StepPlan(Record):
    """An element plan with what stepping needs besides.

    Rows of `plan` are counted anew: those of the core first, then those of the `explicit` dofs. `sums` are those of the
    rows per test slot, then those of the tangent per section, without products with the left node, which is known;
    `places` of the latter in a flat matrix, per part in the order section, entry, product. `starts` and `kernels` are
    shape (2, n_parts): first of the rows, in `plan.row_targets`, and of the places of each part, and addresses of the
    kernel of its rows alone, and of all; `n_sums` of the longest list of rows or entries that share their weights;
    `one` is what stands for all of these with one point, None with more. The functions below take it beside the plan,
    as the compiler leaves out what belongs to None. Parts `packs[i]`, ..., `packs[i + 1] - 1` are evaluated at once,
    each in `width` lanes; without packs each alone, which makes loops of their own. Its points are in the first `width`
    lanes then, or in all. `points`, and the `weights` of one line, are those of all lanes; weights of more lines follow
    lane by lane, four lines at once; `tables`, shape (2 places, size), are those of the lanes of each place in a pack,
    zero in the others, and then of these and all lanes behind them, which the last part of a pack fills; `masks` ones
    in the same way. For each 8 points of each pack `calls` have where its inputs start, the first of the terms of known
    dofs, the first of unknown ones, and where these end.
    """

    plan: Plan
    sums: np.ndarray  # SUMS
    weights: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    kernels: np.ndarray
    n_sums: int
    width: int
    packs: np.ndarray
    points: np.ndarray
    masks: np.ndarray
    tables: np.ndarray
    explicit: np.ndarray  # with more points than one
    calls: np.ndarray
    terms: np.ndarray
    n_inputs: int
    one: OnePoint


def step_plan(element_plan, targets):
    """The `StepPlan` of an `ElementPlan`.

    Parameters
    ----------
    element_plan : ElementPlan
    targets : ndarray of int, shape (n_tangent,)
        Place of each tangent entry in a flat matrix, dense or sparse, -1 for those of explicit rows; those of the left
        node are left out.
    """
    plan = element_plan.arrays
    targets = np.where(element_plan.tangent_columns >= element_plan.columns.n_node, targets, -1)
    several, n_parts = len(plan.points) > 1, len(plan.parts)
    width = _width(plan.n_points) if several else LANES
    beside = width < LANES and np.bincount(plan.parts["group"]).max() > 1
    packs, in_lanes = (_packs(plan.parts["group"], LANES // width), width) if beside else (None, LANES)
    bounds = packs if beside else np.arange(n_parts + 1)
    is_short = np.zeros(n_parts, bool)
    is_short[bounds[:-1]] = np.diff(bounds) * width <= FEW
    weights, starts, kernels = _Weights(plan, width, beside), np.zeros((2, n_parts), np.int64), np.zeros(
        (2, n_parts), np.int64)
    starts[0] = plan.parts["rows"]
    places, size, sums = [np.zeros(0, np.int64)], 0, np.zeros(len(plan.tests) + len(plan.sections), SUMS)
    for i, test in enumerate(plan.tests if several else ()):
        sums[i] = 0, 0, *weights.add(plan.test_tables, test["table"], np.ones(test["n_shapes"], bool)), test["rate"]
    # parts of one kind follow one another and share their sections
    found = []
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        rows_alone = several and any(kernel.n_rows) and kernel.shortened(range(sum(kernel.n_rows)))
        for line, chosen in enumerate((rows_alone, several and kernel.kernel)):
            if chosen:
                kernels[line, members] = np.where(is_short[members], chosen.address_first, chosen.address_lanes)
        section, n_sections = plan.parts[["section", "n_sections"]][members[0]].tolist()
        sections = plan.sections[section:section + n_sections]
        groups, own = [np.zeros((len(members), 0), np.int64)], [np.zeros((len(members), 0), np.int64)]
        for i, (test, slot, start, count) in enumerate(sections):
            entries = plan.parts["entries"][members][:, None] + start - sections["first"][0] + np.arange(count)
            products = np.arange(plan.tests["n_shapes"][test] * plan.slots["n_shapes"][slot])
            group = targets[plan.entry_targets[entries][:, None] + products[:, None]]
            groups.append(group.reshape(len(members), -1))
            if several:
                wanted = group[0, :, 0] >= 0
                own.append(group[:, wanted].swapaxes(1, 2).reshape(len(members), -1))
                rates = plan.tests["rate"][test] + plan.slots["rate"][slot]
                sums[len(plan.tests) + section + i] = (
                    start, count, *weights.add(plan.pair_tables, plan.pairs[test, slot], wanted), rates)
        found.append((members, sections, np.concatenate(groups, axis=1)))
        own = np.concatenate(own, axis=1)
        starts[1, members] = size + own.shape[1] * np.arange(len(members))
        places.append(own.ravel())
        size += own.size
    n_sums = -(-max(plan.n_tested.max(), plan.sections["n"].max(initial=0)) // LANES) * LANES
    explicit, order = element_plan.explicit, np.arange(plan.n_rows)
    order[np.concatenate([explicit.core_rows, explicit.rows])] = np.arange(plan.n_rows)
    masks, tables = _with_rest(np.ones(LANES), in_lanes), _with_rest(plan.tables, in_lanes)
    calls, terms, n_inputs = _terms(plan, packs, LANES // in_lanes, tables.shape[1], element_plan.columns.n_node) \
        if several else (np.zeros((0, 4), np.int64), np.zeros(0, TERM), 0)
    # all places of one type: `_add_sums` would be compiled once for each
    row_targets = order[plan.row_targets].astype(np.int32)
    return StepPlan(plan.replaced(row_targets=row_targets) if several else plan, sums, weights.all(),
                    np.concatenate(places).astype(np.int32), starts, kernels, int(n_sums), width, packs,
                    _side_by_side(plan.points, in_lanes).sum(axis=0), masks, tables,
                    explicit.columns[:len(order) * several].astype(np.int64), calls, terms, n_inputs,
                    one_point(element_plan, found))


class _Weights:
    """Collects `StepPlan.weights`, those of lines of a table."""

    def __init__(self, plan, width, beside):
        self._stride, self._width, self._beside = len(plan.points), width, beside
        self._found, self._size = [np.zeros(0)], 0

    def add(self, table, first, wanted):
        """Take the wanted lines from the first one on; their number, and where they start."""
        lines = table[first:first + len(wanted) * self._stride].reshape(-1, self._stride)[wanted]
        if len(lines) == 1 and (self._beside or self._width == LANES):
            found = _side_by_side(lines, self._width).sum(axis=0)
        else:
            whole = np.zeros((-(-len(lines) // FEW) * FEW, self._stride))
            whole[:len(lines)] = lines
            whole = whole[:, :self._width if self._width < LANES else self._stride]
            found = whole.reshape(-1, FEW, whole.shape[1]).swapaxes(1, 2).ravel()
        start, self._size = self._size, self._size + found.size
        self._found.append(found)
        return len(lines), start

    def all(self):
        return np.concatenate(self._found)


def _terms(plan, packs, places, size, n_node):
    """`StepPlan.calls` and `terms`, and how long the inputs of all packs are."""
    parts, slots, stride = plan.parts, plan.slots, len(plan.points)
    bounds = np.arange(len(parts) + 1) if packs is None else packs
    first = bounds[:-1]
    pack = np.repeat(np.arange(len(first)), np.diff(bounds))
    place = np.arange(len(parts)) - first[pack]
    place[bounds[1:] - 1] += places  # the last one fills the rest
    n_groups = stride // LANES
    areas = np.cumsum([0, *np.repeat(parts["n_in"][first], n_groups) * LANES])
    found, keys = [np.zeros(0, TERM)], [np.zeros(0, int)]
    for number in np.unique(parts["group"]):
        members = np.flatnonzero(parts["group"] == number)
        n_seen = plan.n_seen[members[0]]
        counts = np.repeat(slots["n_shapes"], n_seen)  # of each input
        n, slot = int(counts.sum()), np.repeat(np.repeat(np.arange(len(slots)), n_seen), counts)
        shape = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
        dofs = plan.gather[parts["gather"][members][:, None] + np.arange(n)]
        for g in range(n_groups):
            terms, call = np.zeros(dofs.shape, TERM), pack[members] * n_groups + g
            terms["target"] = areas[call][:, None] + np.repeat(np.arange(len(counts)), counts) * LANES
            terms["source"], terms["rate"] = dofs, slots["rate"][slot]
            terms["table"] = place[members][:, None] * size + slots["table"][slot] + shape * stride + g * LANES
            found.append(terms.ravel())
            keys.append((2 * call[:, None] + (dofs >= n_node)).ravel())
    keys, n_calls = np.concatenate(keys), len(areas) - 1
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=2 * n_calls)).reshape(n_calls, 2)
    calls = np.column_stack([areas[:-1], np.append(0, ends[:-1, 1]), ends])
    return calls.astype(np.int64), np.concatenate(found)[order], int(areas[-1])


def _width(n):
    """Lanes for n points: 2, 4 or 8, so that parts share a vector evenly."""
    return next((width for width in (2, 4) if n <= width), LANES)


def _packs(groups, most):
    """First parts of runs of up to `most` of the same group, and the number of parts."""
    firsts, counts = np.unique(groups, return_index=True, return_counts=True)[1:]
    runs = [first + np.arange(0, n, most) for first, n in zip(firsts.tolist(), counts.tolist(), strict=True)]
    return np.concatenate([*sorted(runs, key=lambda run: run[0]), [len(groups)]]).astype(np.int64)


def _side_by_side(table, width):
    """Lines of weights of points, once per place in a pack: in the lanes of that place, and zero in others."""
    places = LANES // width
    found = np.zeros((places, table.size))
    if table.size % LANES == 0:  # else there is one point, which has no lanes
        for j, lines in enumerate(found.reshape(places, -1, LANES)):
            lines[:, j * width:(j + 1) * width] = table.reshape(-1, LANES)[:, :width]
    return found


def _with_rest(table, width):
    """`_side_by_side`, and then once per place in its lanes and all behind them."""
    alone = _side_by_side(table, width)
    return np.concatenate([alone, np.cumsum(alone[::-1], axis=0)[::-1]])


def step_scratch(step):
    """The `Scratch` for a `StepPlan`."""
    plan, one = step.plan, step.one
    if one is not None:
        return Scratch(aligned(one.n_in), aligned(max(one.n_out, plan.n_out)), aligned(0), aligned(one.n_in))
    n_out = plan.n_out * len(plan.points) + LANES**2  # blocks of 8 may run over the end
    n_sums = max(step.n_sums * (LANES // step.width), FEW + int(step.sums["n_lines"].max()))
    return Scratch(aligned(step.n_inputs), aligned(n_out), aligned(n_sums), aligned(step.n_inputs))


@compiled(error_model="numpy", _nrt=False)
def begin_step(step, one, x, t, h, scratch):
    """To be called before an element is evaluated, with the dofs `x` of which the left node is known."""
    if one is not None:
        begin_one(step.plan, one, x, t, h, scratch)
    else:
        _begin_points(step, x, t, h, scratch)


@compiled(error_model="numpy", _nrt=False)
def finish_step(step, one, x, scratch, residual):
    """Set the explicit unknowns in `x`, from the others where the element was last evaluated."""
    if one is not None:
        finish_one(one, x, scratch)
    else:
        first = residual.shape[0] - step.explicit.shape[0]
        for i in range(step.explicit.shape[0]):
            x[step.explicit[i]] -= residual[first + i]


@compiled(error_model="numpy", _nrt=False)
def evaluate_step(step, one, x, span, scratch, residual, tangent, derived):
    """Residual of the element, with one point the rows that are not explicit, else those first, and its tangent if it
    is `derived`.

    Integrals carry the element length h, each rate divides by it: dt = h dxi, d/dt = d/dxi / h.

    Parameters
    ----------
    step, one : StepPlan, and its OnePoint or None
    x : (n_columns,) dofs
    span : (float, float), start time and length
    scratch : from `step_scratch`
    residual : (n_rows,) result
    tangent : flat matrix, result without the columns of the left node; untouched unless it is asked for
    derived : bool
    """
    if one is None:
        _evaluate_points(step, x, span, scratch, residual, tangent, derived)
    else:
        evaluate_one(one, x, span[1], scratch, residual, tangent, derived)


@compiled(error_model="numpy", _nrt=False)
def _begin_points(step, x, t, h, scratch):
    """Fill in what the kernels see that stays the same in an element."""
    plan, known, inputs = step.plan, scratch.known, scratch.inputs
    stride, inverse_h, places = plan.points.shape[0], 1.0 / h, LANES // _lanes(step.packs, step.width)
    for pack in range(_n_packs(step.packs, plan.parts.shape[0])):
        start, stop = _pack(step.packs, pack)
        part = plan.parts[start]
        n_seen = part.n_in - part.n_parameters - 3
        for g in range(0, stride, LANES):
            call = pack * (stride // LANES) + g // LANES
            area = step.calls[call, 0]
            clear_runs(known, area, n_seen * LANES)
            clear_runs(inputs, area + n_seen * LANES, (part.n_parameters + 3) * LANES)
            for k in range(step.calls[call, 1], step.calls[call, 2]):
                term = step.terms[k]
                value = load(x, np.int64(term.source))
                add_lanes(known, np.int64(term.target), inverse_h * value if term.rate == 1 else value,
                          step.tables, np.int64(term.table))
            place = area + n_seen * LANES
            for lane in range(LANES):
                inputs[place + lane] = t + step.points[g + lane] * h
                inputs[place + LANES + lane] = h
                inputs[place + 2 * LANES + lane] = step.points[g + lane]
            for p in range(start, stop):
                own, mask = plan.parts[p].parameters, (p - start + (places if p == stop - 1 else 0)) * LANES
                for c in range(part.n_parameters):
                    add_lanes(inputs, place + (c + 3) * LANES, plan.parameters[own + c], step.masks, mask)


@compiled(error_model="numpy", _nrt=False)
def _evaluate_points(step, x, span, scratch, residual, tangent, derived):
    h = span[1]
    plan, inputs, outputs = step.plan, scratch.inputs, scratch.outputs
    stride, inverse_h, n_tests = plan.points.shape[0], 1.0 / h, plan.tests.shape[0]
    residual[:] = 0.0
    if derived:
        tangent[:] = 0.0
    for pack in range(_n_packs(step.packs, plan.parts.shape[0])):
        start, stop = _pack(step.packs, pack)
        part = plan.parts[start]
        n_out = part.n_out
        if not derived:
            n_out = 0
            for i_test in range(n_tests):
                n_out += plan.n_tested[start, i_test]
            if n_out == 0:
                continue
        for g in range(0, stride, LANES):
            call = pack * (stride // LANES) + g // LANES
            first, at, end = step.calls[call, 0], step.calls[call, 2], step.calls[call, 3]
            copy_runs(inputs, first, scratch.known, first, (part.n_in - part.n_parameters - 3) * LANES)
            for k in range(at, end):
                term = step.terms[k]
                value = load(x, np.int64(term.source))
                add_lanes(inputs, np.int64(term.target), inverse_h * value if term.rate == 1 else value,
                          step.tables, np.int64(term.table))
            call_kernel(step.kernels[1 if derived else 0, start], inputs, first, outputs, g * n_out)
        row, offset = 0, 0
        for i_test in range(n_tests):
            test, n = step.sums[i_test], plan.n_tested[start, i_test]
            _add_sums(step, (start, stop, n_out), test, (0, row, n, offset), plan.row_targets, h, scratch, residual)
            row += n
            offset += n * test.n_lines
        offset = 0
        for i_section in range(part.section, part.section + (part.n_sections if derived else 0)):
            section = step.sums[n_tests + i_section]
            _add_sums(step, (start, stop, n_out), section, (1, section.first, section.n, offset), step.places, h,
                      scratch, tangent)
            offset += section.n * section.n_lines


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _add_sums(step, pack, one, outputs, targets, h, scratch, out):
    """Add what outputs of the parts of a pack are, summed over the points, to places of `out`.

    `pack` is the first part, the one behind, and how many outputs each has; `one` of SUMS; `outputs` are the line of
    `step.starts`, the first output, how many, and the first of their places behind those starts, in `targets`.
    """
    (start, stop, n_out), (kind, first, n, offset) = pack, outputs
    sums, numbers, width, m, stride = scratch.sums, scratch.outputs, step.width, one.n_lines, step.plan.points.shape[0]
    factor = h if one.rates == 0 else (1.0 if one.rates == 1 else 1.0 / h)
    if m == 1 and (step.packs is not None or width == LANES):
        _sum_points(step, _lanes(step.packs, width), one.weights, first * LANES, n_out, n, scratch)
        for p in range(start, stop):
            own, at = (p - start) * step.n_sums, step.starts[kind, p] + offset
            for k in range(n):
                place = np.int64(load(targets, at + k))
                store(out, place, load(out, place) + factor * load(sums, own + k))
        return
    for p in range(start, stop if m > 0 else start):
        at, number = step.starts[kind, p] + offset, first * LANES + (p - start) * width
        for _ in range(n):
            for line in range(0, m, FEW):
                at_weights = one.weights + line * (width if width < LANES else stride)
                if width == 2:
                    two_for_four(sums, numbers, step.weights, (line, number, at_weights), factor, 0)
                elif width == 4:
                    four_for_four(sums, numbers, step.weights, (line, number, at_weights), factor, 0)
                else:
                    for g in range(0, stride, LANES):
                        places = line, number + g * n_out, at_weights + g * FEW
                        eight_for_four(sums, numbers, step.weights, places, factor if g + LANES == stride else 1.0,
                                       min(g, 1))
            for i in range(m):
                place = np.int64(load(targets, at + i))
                store(out, place, load(out, place) + load(sums, i))
            at += m
            number += LANES


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _sum_points(step, width, weights, first, n_out, n, scratch):
    """sums[p * n_sums + k] = weighted sum over the points of output k behind `first` for the parts p of a pack, k < n,
    with one line of weights."""
    outputs, sums, table = scratch.outputs, scratch.sums, step.weights
    for k in range(0, n, LANES):
        if width == 8:
            for g in range(0, step.plan.points.shape[0], LANES):
                eight_dots(sums, k, outputs, first + g * n_out + k * LANES, table, weights + g, min(g, 1))
        elif width == 4:
            twice_eight_dots(sums, k, step.n_sums, outputs, first + k * LANES, table, weights)
        else:
            four_times_eight_dots(sums, k, step.n_sums, outputs, first + k * LANES, table, weights)


# of packs or None, by which the compiler knows that there is one part in each


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _n_packs(packs, n_parts):
    return n_parts if packs is None else packs.shape[0] - 1


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _pack(packs, i):
    """First part, and the one after the last."""
    if packs is None:
        return i, i + 1
    return packs[i], packs[i + 1]


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _lanes(packs, width):
    return LANES if packs is None else width
