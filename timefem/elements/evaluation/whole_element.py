"""The density of one kind of part at all quadrature points of an element at once, summed over them.

What the points have in common is evaluated once: lifted gradients see the same places of the element from each of its
points. Each shape function is a slot of its own, and the element has one point.
"""

import itertools

import casadi as ca
import numpy as np

from ...polynomials import gauss_legendre
from .sides import Slot


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
