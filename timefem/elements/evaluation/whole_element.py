"""A whole element as one kernel, no sums left to loops: one kind of part, or all parts of a small system.

What the points have in common is evaluated once: lifted gradients see the same places of the element from each of its
points. Each shape function is a slot of its own, and the element has one point. Integrals of polynomials take as many
points as they need: of a density that is a polynomial along the element, fewer Gauss points than are asked for can give
the same sums.
"""

import itertools
import json
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...kernels import cached_kernel
from ...kernels.operations import Instructions, check_function
from ...kernels.record import Record
from ...kernels.store import digest, sources, store
from ...polynomials import gauss_legendre
from .arrays import Plan, Side, Slot


def single_shapes(spaces):
    """All shape functions of fields, as slots of (name, number): what kernels of whole elements see, and test with."""
    return [(name, j) for name, space in spaces.items() for j in range(space.basis.n_shapes)]


def whole_element(element, point, n_inputs, n_rows, entries):
    """Sums over the points of an element, over its length: a function and its description, as those of a density.

    Parameters
    ----------
    element : TimeElement
    point : casadi.Function
        The density and its derivatives, `[slots, t, h, xi, parameters]` -> `[rows, entries]`. The sums have single
        shapes instead of the slots, and the time at the start of the element.
    n_inputs, n_rows, entries
        As `PointKernel` has them.
    """
    xi, weights = gauss_legendre(element.n_points, np.longdouble)
    trial = _Side(element.trial, element.slots, xi, n_inputs)
    test = _Side(element.test, element.test_slots, xi, n_rows)
    x = {spot: ca.SX.sym("x", n) for spot, n in trial.sizes.items()}
    t, h, start, parameters = (ca.SX.sym("c", n) for n in (1, 1, 1, point.numel_in(0) - sum(n_inputs) - 3))
    rows = {spot: ca.SX.zeros(n) for spot, n in test.sizes.items()}
    blocks = {}
    for g, weight in enumerate(weights):
        values = [_sum(slot.table[:, g], [x[name, j][:n] for j in slot.shapes]) / (h if slot.rate else 1)
                  for (name, slot), n in zip(trial.slots, n_inputs, strict=True)]
        found = point(ca.vertcat(*values, t + float(xi[g]) * h, h, float(xi[g]), parameters))
        derivatives = _derivatives(found, trial, n_inputs, n_rows, entries, h, g)
        for (name, slot), values, by_spot in zip(test.slots, ca.vertsplit(found[:sum(n_rows)], _starts(n_rows)),
                                                 derivatives, strict=True):
            for i, factor in _there(slot, g, weight):
                factor = factor / h if slot.rate else factor
                rows[name, i] += factor * values
                for spot, block in by_spot.items():
                    blocks[(name, i), spot] = blocks.get(((name, i), spot), 0) + factor * block
    tests, trials = list(rows), list(x)
    outputs, found = list(rows.values()), []
    for (a, b), block in sorted(((tests.index(a), trials.index(b)), block) for (a, b), block in blocks.items()):
        outputs += block.nonzeros()
        found += [(a, b, r, c) for r, c in zip(*block.sparsity().get_triplet(), strict=True)]
    inputs = ca.vertcat(*x.values(), t, h, start, parameters)
    function = ca.Function("whole", [inputs], [ca.cse(ca.densify(ca.vertcat(*outputs)))])
    return function, tuple(trial.sizes.values()), tuple(test.sizes.values()), found


class _Side:
    """Slots of fields, `(name, Slot)`, and how many components of each shape function they see."""

    def __init__(self, spaces, slots, xi, counts):
        self.slots = [(name, Slot.of(spaces, name, where, xi)) for name, where in slots]
        self.sizes = dict.fromkeys(single_shapes(spaces), 0)
        for (name, slot), n in zip(self.slots, counts, strict=True):
            self.sizes |= {(name, j): max(n, self.sizes[name, j]) for j in slot.shapes}


def _derivatives(found, trial, n_inputs, n_rows, entries, h, g):
    """Derivatives of the rows of each test slot at a point by the values of single shapes: list of dict."""
    derivatives, first = [{} for _ in n_rows], sum(n_rows)
    for (a, b), group in itertools.groupby(entries, lambda entry: entry[:2]):
        (name, slot), (_, _, r, c) = trial.slots[b], map(list, zip(*group, strict=True))
        block = ca.SX.triplet(r, c, found[first:first + len(r)], n_rows[a], n_inputs[b])
        block, first = block / h if slot.rate else block, first + len(r)
        for j, factor in _there(slot, g):
            derivatives[a][name, j] = derivatives[a].get((name, j), 0) + factor * block
    return derivatives


def _there(slot, g, weight=1.0):
    """Numbers of the shape functions of a slot that are not zero at point g, and their weighted values there."""
    values = (weight * slot.table[:, g]).astype(float)
    smallest = np.finfo(float).eps * np.abs(values).max()
    return [(i, value) for i, value in zip(slot.shapes, values.tolist(), strict=True) if abs(value) > smallest]


def _sum(weights, values):
    return sum(w * v for w, v in zip(weights.astype(float).tolist(), values, strict=True))


def _starts(counts):
    return np.cumsum([0, *counts]).tolist()


class WholeSystem(Record):
    """Addresses of the kernels of the residual, and of it and the tangent; 0 where there are none.

    Inputs are the dofs of an element, its start, its length, and the parameters of all parts.
    """

    residual: int
    both: int
    n_parameters: int


NO_WHOLE = WholeSystem(0, 0, 0), ()


class _Layout(NamedTuple):
    """What functions are made of: kernels, which outlive an `ElementPlan`, are not to keep it and its system."""

    arrays: Plan
    element: Any
    columns: Any
    rows: Any
    components: dict
    point_kernels: list


def whole_system(element_plan, entries):
    """The `WholeSystem` of an `ElementPlan`, and what holds its kernels.

    Parameters
    ----------
    element_plan : ElementPlan
    entries : ndarray of int
        Those of the tangent that are wanted.
    """
    plan = element_plan.arrays
    if len(plan.points) == 1 or len(element_plan.explicit.rows):
        return NO_WHOLE
    kernels = element_plan.point_kernels
    n = int(plan.parameters.size)
    key = (element_plan.element, plan.n_points, *(a.tobytes() for a in (
        plan.gather, plan.row_targets, plan.entry_targets, plan.parts["group"], entries)))
    name = None
    if all(kernel.name for kernel in kernels):
        name = digest("whole system", *(kernel.name for kernel in kernels), *key, sources("elements", "polynomials"))
    known = store().read(name) if name else None
    n_points = json.loads(known) if known else _points(element_plan)
    if name and not known:
        store().write(name, json.dumps(n_points).encode())
    if not n_points:
        return NO_WHOLE
    n_in, n_rows = plan.n_columns + 2 + n, plan.n_rows
    layout = _Layout(*(getattr(element_plan, field) for field in _Layout._fields))
    key = (*(kernel.key for kernel in kernels), *key)
    found = [cached_kernel((what, key), lambda entries=wanted: _function(layout, entries, n_points),
                           (digest(name, what), n_in, n_rows + len(wanted)) if name else None)
             for what, wanted in (("residual", entries[:0]), ("both", entries))]
    if any(kernel.backend != "llvm" for kernel in found):
        return NO_WHOLE
    return WholeSystem(*(kernel.address for kernel in found), n), found


def _points(element_plan, most=2500):
    """Gauss points that the sums need; 0 where these have more instructions than `most`: lanes are faster then."""
    plan, element = element_plan.arrays, element_plan.element
    count = np.bincount(plan.parts["group"])
    trial, test = (_degrees(spaces, slots) for spaces, slots in
                   ((element.trial, element.slots), (element.test, element.test_slots)))
    needed, length = 1, 0
    for number, kernel in enumerate(element_plan.point_kernels):
        function = kernel.kernel.function
        inputs = [d for d, n in zip(trial, kernel.n_inputs, strict=True) for _ in range(n)]
        inputs += [1, 0, 1] + [0] * (function.nnz_in(0) - len(inputs) - 3)
        degrees = _degrees_of_outputs(function, inputs)
        tested = [(d, 0) for d, n in zip(test, kernel.n_rows, strict=True) for _ in range(n)]
        tested += [(test[i], trial[j]) for i, j, _, _ in kernel.entries]
        needed = max([needed, *(d + a + b for d, (a, b) in zip(degrees, tested, strict=True))])
        length += int(count[number]) * function.n_instructions()
    n_points = int(min(plan.n_points, np.ceil((needed + 1) / 2)))
    return n_points if n_points * length <= most else 0


def _degrees(spaces, slots):
    """Of what slots see, as polynomials along the element."""
    return [0 if isinstance(where, int) or where in ("left", "right") else
            max(spaces[name].basis.n_shapes - (2 if where in ("rate", "projected") else 1), 0) for name, where in slots]


def _degrees_of_outputs(function, inputs):
    """Degrees of the outputs of a function as polynomials, by those of the inputs; infinite where they are none."""
    code = Instructions(function, check_function(function))
    degrees, outputs = [], [0] * function.nnz_out(0)
    for name, operands, given in zip(code.operations, code.operands, code.given, strict=True):
        of = [degrees[k] for k in operands]
        if name == "INPUT":
            degree = inputs[given]
        elif name == "MUL":
            degree = sum(of)
        elif name == "SQ":
            degree = 2 * of[0]
        elif name in ("ADD", "SUB", "NEG", "TWICE") or (name == "DIV" and not of[1]):
            degree = max(of[:1] if name == "DIV" else of)
        else:
            degree = np.inf if any(of) and name != "OUTPUT" else max(of, default=0)
        if name == "OUTPUT":
            outputs[given] = degree
        degrees.append(degree)
    return outputs


def _function(element_plan, entries, n_points):
    """The residual and these entries of the tangent as one function, of a `_Layout`."""
    plan, element = element_plan.arrays, element_plan.element
    xi, weights = (a.astype(float) for a in gauss_legendre(n_points, np.longdouble))
    trial = Side(element.trial, element.slots, element_plan.columns, element_plan.components, xi).slots
    test = Side(element.test, element.test_slots, element_plan.rows, element_plan.components, xi, weights).slots
    x, t, h, p = (ca.SX.sym("x", n) for n in (plan.n_columns, 1, 1, plan.parameters.size))
    rows, tangent, numbers = [ca.SX(0)] * plan.n_rows, [ca.SX(0)] * plan.n_tangent, p.elements()
    for part in plan.parts:
        kernel = element_plan.point_kernels[part["group"]]
        own = numbers[part["parameters"]:part["parameters"] + part["n_parameters"]]
        for g in range(n_points):
            inputs, at = [], part["gather"]
            for slot, n in zip(trial, kernel.n_inputs, strict=True):
                for _ in range(n):
                    value = sum(float(weight) * x[int(plan.gather[at + i])] for i, weight in enumerate(slot.table[:, g])
                                if weight)
                    inputs.append(value / h if slot.rate else value)
                    at += len(slot.shapes)
            inputs += [t + float(xi[g]) * h, h, float(xi[g]), *own]
            found = ca.vertsplit(kernel.kernel.function(ca.vertcat(*inputs)))
            at, output = part["rows"], 0
            for slot, n in zip(test, kernel.n_rows, strict=True):
                for _ in range(n):
                    for i, weight in enumerate(slot.table[:, g].tolist()):
                        rows[plan.row_targets[at + i]] += weight * found[output] * (1 if slot.rate else h)
                    at, output = at + len(slot.shapes), output + 1
            for k, (i_test, i_slot, _, _) in enumerate(kernel.entries if len(entries) else ()):
                a, b = test[i_test], trial[i_slot]
                factor = h ** (1 - a.rate - b.rate)
                products = np.outer(a.table[:, g], b.table[:, g]).ravel().tolist()
                for ij, weight in enumerate(products):
                    tangent[plan.entry_targets[part["entries"] + k] + ij] += weight * factor * found[output + k]
    values = ca.vertcat(*rows, *(tangent[k] for k in entries))
    return ca.Function("whole", [ca.vertcat(x, t, h, p)], [ca.cse(ca.densify(values))])
