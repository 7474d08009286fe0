"""What compiled loops walk through: the arrays of an element and the columns of its parts, and the tables of shape
functions that densities see and test with."""

from typing import NamedTuple

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ...polynomials import LagrangeBasis


def dtype(*names):
    """Structured dtype of integers."""
    return np.dtype([(name, np.int64) for name in names])


# One part: address of its kernel, number of its group, inputs and outputs of the kernel; where its parameters, local
# dofs, rows and tangent entries start; its sections
PART = dtype("address", "group", "n_in", "n_out", "parameters", "n_parameters", "gather", "rows", "section",
             "n_sections", "entries")
# What a density sees, or is tested with: where its table starts, shape functions, 1 if a time derivative
SLOT = dtype("table", "n_shapes", "rate")
# Neighbouring outputs of a kernel that are derivatives of the rows of one test slot by one slot
SECTION = dtype("test", "slot", "first", "n")


class Plan(Record):
    """Flat arrays for the compiled loops. `P` parts, `G` points; two or more are padded to a multiple of 8 by
    weightless copies.

    Offsets run along flat arrays; a *block* is the set of tangent entries of one pair of components (test component,
    trial component): `n_i n_j` entries, for all pairs of shape functions.
    """

    points: np.ndarray  # (G,) in [0, 1]
    n_points: int  # without the padding
    slots: np.ndarray  # SLOT (n_slots,)
    tables: np.ndarray  # flat, per slot (n_shapes, G): trial functions or their derivatives
    tests: np.ndarray  # SLOT (n_tests,)
    test_tables: np.ndarray  # flat, per test slot (n_shapes, G): test functions times weights
    pairs: np.ndarray  # (n_tests, n_slots) offset of the products of test slot and slot
    pair_tables: np.ndarray  # flat, per pair (n_i n_j, G): weight, test and trial function
    parts: np.ndarray  # PART (P,)
    n_seen: np.ndarray  # (P, n_slots) components of each part per slot
    n_tested: np.ndarray  # (P, n_tests) rows of each part per test slot
    gather: np.ndarray  # local dof of each (slot, component, shape) of each part
    row_targets: np.ndarray  # local row of each (test slot, row, shape) of each part
    sections: np.ndarray  # SECTION (S,)
    entry_targets: np.ndarray  # start of the block of each Jacobian entry of each part
    parameters: np.ndarray
    n_columns: int
    n_rows: int
    n_tangent: int
    n_in: int  # largest kernel input and output
    n_out: int


def without_blocks(plan, used):
    """A `Plan` without the blocks in which no tangent entry is `used`, shape (n_tangent,), and which entries it has.

    Parts of a group have the same sections: a block that one of them needs all have.
    """
    parts, sections, kept = plan.parts.copy(), [], np.zeros(plan.n_tangent, bool)
    before, n_rows = np.concatenate([[0], np.cumsum(used)]), plan.n_tested.sum(axis=1)
    for group in np.unique(parts["group"]):
        own = parts["group"] == group
        first, n, begin = plan.parts["section"][own][0], plan.parts["n_sections"][own][0], len(sections)
        for test, slot, start, length in plan.sections[first:first + n].tolist():
            size = plan.tests["n_shapes"][test] * plan.slots["n_shapes"][slot]
            at = plan.entry_targets[(parts["entries"] - n_rows)[own][:, None] + np.arange(start, start + length)]
            here = np.any(before[at + size] > before[at], axis=0)
            kept[at[:, here][..., None] + np.arange(size)] = True
            runs = np.flatnonzero(np.diff(here.astype(int), prepend=0, append=0)).reshape(-1, 2)
            sections += [(test, slot, start + a, b - a) for a, b in runs.tolist()]
        parts["section"][own], parts["n_sections"][own] = begin, len(sections) - begin
    numbers = np.maximum(np.cumsum(kept) - 1, 0)
    given = {name: getattr(plan, name) for name in plan.fields} | {
        "parts": parts, "sections": np.array(sections, SECTION), "n_tangent": int(kept.sum()),
        "entry_targets": numbers[plan.entry_targets] if len(numbers) else plan.entry_targets}
    return Plan(**given), kept


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def take_joined(places, a, b, c, d, out):
    """`np.concatenate([a, b, c, d]).take(places, out=out)`, in a fifth of the time for short ones."""
    for i in range(len(places)):
        place, first, second, third = places[i], len(a), len(a) + len(b), len(a) + len(b) + len(c)
        if place < first:
            out[i] = a[place]
        elif place < second:
            out[i] = b[place - first]
        elif place < third:
            out[i] = c[place - second]
        else:
            out[i] = d[place - third]


class Slot(NamedTuple):
    """What a density sees of a field, or tests with: the shape functions `shapes` of a field, and their table."""

    field: int
    shapes: tuple
    table: np.ndarray  # (n_shapes, G)
    rate: bool

    @classmethod
    def of(cls, spaces, name, where, xi):
        field, basis = list(spaces).index(name), spaces[name].basis
        if where in ("left", "right"):
            if not spaces[name].continuous:
                raise ValueError(f"{name} has no value at the {where} end: it is not continuous")
            where = 0 if where == "left" else basis.n_shapes - 1
        if isinstance(where, int):
            return cls(field, (where,), np.ones((1, len(xi))), False)
        if where == "projected":  # on polynomials of a degree less, through the values at Gauss points
            lower = LagrangeBasis(basis.n_shapes - 2, "gauss")
            table = lower.values(xi) @ basis.values(lower.points)
        else:
            table = basis.derivatives(xi) if where == "rate" else basis.values(xi)
        return cls(field, tuple(range(basis.n_shapes)), table.T, where == "rate")


class Side:
    """All slots of the trial or of the test functions of an element.

    Slots with the same shape functions of the same field are one *set*, and the components of all sets are counted
    through.

    Parameters
    ----------
    spaces : dict
        `element.trial` or `element.test`.
    slots : sequence of (name, where)
    numbering : Numbering
        Dofs of the element on this side.
    components : dict
        `Components` by name.
    xi : ndarray
        Points in [0, 1].
    weights : float or ndarray
        Taken into the tables.

    Attributes
    ----------
    slots : list of Slot
    n_components : int
        Of all sets.
    """

    def __init__(self, spaces, slots, numbering, components, xi, weights=1.0):
        named = [Slot.of(spaces, *slot, xi) for slot in slots]
        self.slots = [slot._replace(table=slot.table * weights) for slot in named]
        sets = list(dict.fromkeys((s.field, s.shapes) for s in named))
        self._dofs = [numbering.fields[field][list(shapes)] for field, shapes in sets]  # (n_shapes, n_components)
        self._set = [sets.index((s.field, s.shapes)) for s in named]
        *self._first, self.n_components = np.cumsum([0] + [dofs.shape[1] for dofs in self._dofs])
        self._places = [components[spaces[name].components].places for name, _ in slots]

    def seen(self, group, counts):
        """Components that the parts of a group see in each slot, counted in its field: (n_parts, counts[slot])."""
        return [places[group][:, :n] for places, n in zip(self._places, counts, strict=True)]

    def dofs(self, seen):
        """Dofs of each part by slot, component and shape function: (n_parts, all of these)."""
        found = [self._dofs[i][:, c].transpose(1, 2, 0) for i, c in zip(self._set, seen, strict=True)]
        return np.concatenate([x.reshape(len(x), -1) for x in found], axis=1)

    def component(self, slot, seen):
        """Numbers, over all sets, of components that are seen in a slot."""
        return self._first[self._set[slot]] + seen

    def by_component(self):
        """Dofs of each component of each set, padded with -1: (n_components, most shapes)."""
        most = max(map(len, self._dofs))
        return np.concatenate([np.pad(dofs, ((0, most - len(dofs)), (0, 0)), constant_values=-1).T
                               for dofs in self._dofs])

    @property
    def tables(self):
        """All tables, flat."""
        return _flat([slot.table for slot in self.slots])

    @property
    def records(self):
        """The slots as SLOT."""
        starts = _starts([slot.table for slot in self.slots])
        return np.array([(start, len(s.shapes), s.rate) for start, s in zip(starts, self.slots, strict=True)], SLOT)


def products(test, trial):
    """Products of test and trial functions at the points, flat, and where those of each pair of slots start."""
    tables = [(a.table[:, None] * b.table[None]).reshape(-1, a.table.shape[1]) for a in test.slots for b in trial.slots]
    return _flat(tables), _starts(tables).reshape(len(test.slots), len(trial.slots))


def _starts(tables):
    return np.cumsum([0] + [table.size for table in tables])[:-1]


def _flat(tables):
    return np.concatenate([table.ravel() for table in tables])
