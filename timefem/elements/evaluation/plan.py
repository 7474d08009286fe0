"""From a system and a time element to arrays that compiled loops can walk through.

The residual density of each kind of part becomes one *point kernel* (values and derivatives at a quadrature point);
what remains, the sums over points and shape functions, is the same for all kinds and is done in `evaluate`.
"""

import functools
from typing import NamedTuple

import numpy as np

from ...kernels import LANES
from ...polynomials import gauss_legendre
from ...progress import counted
from ..components import components
from .arrays import PART, SECTION, SLOT, Plan
from .explicit_unknowns import explicit_unknowns
from .numbering import number
from .point_kernel import point_kernel


class _Slot(NamedTuple):
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
        table = basis.derivatives(xi) if where == "rate" else basis.values(xi)
        return cls(field, tuple(range(basis.n_shapes)), table.T, where == "rate")


class ElementPlan:
    """Everything that is known before numbers come in: kernels, index maps and the pattern of one element.

    Attributes
    ----------
    columns, rows : Numbering
        Trial dofs `[left node | interior | right node]` and test rows of one element.
    tangent_rows, tangent_columns : ndarray of int, shape (n_tangent,)
        Pattern of the element tangent, without repetition.
    arrays : Plan
    point_kernels : list of PointKernel
        Per group of parts.
    """

    def __init__(self, system, element):
        self.system, self.element = system, element
        spaces = {**element.trial, **{("test", name): space for name, space in element.test.items()}}
        self.components = components(system, [space.components for space in spaces.values()])
        self.columns, self.rows = (number(list(s.values()), [self.components[x.components].size for x in s.values()])
                                   for s in (element.trial, element.test))

        xi, weights = gauss_legendre(element.n_points, np.longdouble)
        padding = -len(xi) % LANES if len(xi) > 1 else 0
        xi, weights = np.append(xi, [xi[-1]] * padding), np.append(weights, [0.0] * padding)
        slots = [_Slot.of(element.trial, *slot, xi) for slot in element.slots]
        tests = [_Slot.of(element.test, *slot, xi) for slot in element.test_slots]
        tests = [t._replace(table=t.table * weights.astype(float)) for t in tests]
        pairs = [(a.table[:, None] * b.table[None]).reshape(-1, len(xi)) for a in tests for b in slots]
        trial_places = [self.components[element.trial[name].components].places for name, _ in element.slots]
        test_places = [self.components[element.test[name].components].places for name, _ in element.test_slots]
        column_sets, slot_set, column_of = _shape_sets(slots, self.columns)
        row_sets, test_set, row_of = _shape_sets(tests, self.rows)

        # per group: one row of numbers, or of indices, for each of its parts
        parts, gather, row_targets, sections, blocks, parameters, self.point_kernels = [], [], [], [], [], [], []
        n_seen, n_tested = [], []
        n_gather = n_rows = n_entries = n_parameters = 0
        for number_of_group, group in enumerate(counted("set-up", system.groups)):
            sizes = {name: c.places[number_of_group].shape[1] for name, c in self.components.items()}
            kernel = point_kernel(group.part, element, sizes)
            self.point_kernels.append(kernel)
            first_section = len(sections)
            first_output = sum(kernel.n_rows)
            for start, (test, slot, _, _) in enumerate(kernel.entries):
                if len(sections) == first_section or sections[-1][:2] != [test, slot]:
                    sections.append([test, slot, first_output + start, 0])
                sections[-1][3] += 1
            seen = [places[number_of_group][:, :n] for places, n in zip(trial_places, kernel.n_inputs, strict=True)]
            tested = [places[number_of_group][:, :n] for places, n in zip(test_places, kernel.n_rows, strict=True)]
            g = _by_part([column_sets[i][:, c] for i, c in zip(slot_set, seen, strict=True)])
            r = _by_part([row_sets[i][:, c] for i, c in zip(test_set, tested, strict=True)])
            # a block is known by its test and trial components, numbered over all sets of shape functions
            keys = np.zeros((len(g), len(kernel.entries)), np.int64)
            for m, (test, slot, row, column) in enumerate(kernel.entries):
                keys[:, m] = ((row_of[test_set[test]] + tested[test][:, row]) * column_of[-1]
                              + column_of[slot_set[slot]] + seen[slot][:, column])
            c = group.parameters
            compiled = kernel.kernel
            part, member = np.zeros(len(g), PART), np.arange(len(g))
            part["address"], part["group"] = compiled.address_lanes, number_of_group
            part["n_in"], part["n_out"], part["n_parameters"] = compiled.n_in, compiled.n_out, c.shape[1]
            part["section"], part["n_sections"] = first_section, len(sections) - first_section
            for field, start, values in (("parameters", n_parameters, c), ("gather", n_gather, g),
                                         ("rows", n_rows, r), ("entries", n_entries, keys)):
                part[field] = start + member * values.shape[1]
            parts.append(part)
            n_seen.append(np.tile(np.array(kernel.n_inputs, int), (len(g), 1)))
            n_tested.append(np.tile(np.array(kernel.n_rows, int), (len(g), 1)))
            for list_, values in ((gather, g), (row_targets, r), (blocks, keys), (parameters, c)):
                list_.append(values.ravel())
            n_gather += g.size
            n_rows += r.size
            n_entries += keys.size
            n_parameters += c.size
        entry_targets, self.tangent_rows, self.tangent_columns = _blocks(
            np.concatenate(blocks), column_of[-1], _by_component(row_sets), _by_component(column_sets))

        def whole(values, shape=-1):
            return np.ascontiguousarray(values, dtype=np.int64).reshape(shape)

        def starts(tables):
            return np.cumsum([0] + [t.size for t in tables])[:-1]

        def flat(tables):
            return np.concatenate([t.ravel() for t in tables])

        def table(slots):
            rows = [(start, len(s.shapes), s.rate)
                    for start, s in zip(starts([s.table for s in slots]), slots, strict=True)]
            return np.array(rows, SLOT)

        self.arrays = Plan(
            points=xi.astype(float), n_points=element.n_points, slots=table(slots),
            tables=flat([s.table for s in slots]), tests=table(tests), test_tables=flat([s.table for s in tests]),
            pairs=whole(starts(pairs), (len(tests), len(slots))), pair_tables=flat(pairs), parts=np.concatenate(parts),
            n_seen=whole(np.concatenate(n_seen), (-1, len(slots))),
            n_tested=whole(np.concatenate(n_tested), (-1, len(tests))), gather=whole(np.concatenate(gather)),
            row_targets=whole(np.concatenate(row_targets)), sections=np.array(list(map(tuple, sections)), SECTION),
            entry_targets=whole(entry_targets), parameters=np.concatenate(parameters), n_columns=self.columns.n_local,
            n_rows=self.rows.n_local, n_tangent=len(self.tangent_rows),
            n_in=max(k.kernel.n_in for k in self.point_kernels),
            n_out=max(k.kernel.n_out for k in self.point_kernels))

    @functools.cached_property
    def explicit(self):
        """`Explicit` unknowns."""
        return explicit_unknowns(self)

    def take(self, system):
        """Take the numbers of another system; False where its structure is another one, and nothing is taken."""
        if system is self.system:
            return True
        if system.structure is not self.system.structure and not _alike(system, self.system):
            return False
        self.system = system
        self.arrays.parameters[:] = np.concatenate([group.parameters.ravel() for group in system.groups])
        return True

    # ---- nodal values of all fields

    def pack(self, mesh, state, multipliers):
        """All dofs of a mesh from nodal values of the state and of the multipliers `(gamma, mu)`.

        Parameters
        ----------
        mesh : TimeMesh
        state, multipliers : ndarray, shapes (n_elements, n_shapes, n_z), (n_elements, n, n_multipliers)
        """
        times = mesh.points(self.element.state.basis)
        return self.columns.pack(*self.element.nodal_values(self.system, times, state, multipliers))

    def first_element(self, mesh, z, multipliers):
        """All dofs of the first element of a mesh where states and multipliers stay as they are at the start.

        Shapes (n, n_z), (n, n_multipliers) -> (n, n_local); or without n.
        """
        sources, further = self._constant
        x = np.concatenate((z, multipliers), axis=-1).take(sources, axis=-1)
        if further:
            basis, others, n = self.element.state.basis, self.element.multiplier.basis, z.size // z.shape[-1]
            times = (mesh.nodes[0] + mesh.lengths[0] * basis.points)[None].repeat(n, axis=0)
            state = z.reshape(n, 1, -1).repeat(basis.n_shapes, axis=1)
            every = multipliers.reshape(n, 1, multipliers.shape[-1]).repeat(others.n_shapes, axis=1)
            values = self.element.nodal_values(self.system, times, state, every)
            for i in further:
                x[..., self.columns.fields[i]] = values[i].reshape(*z.shape[:-1], *values[i].shape[1:]) if \
                    i < len(values) else 0.0
        return x

    @functools.cached_property
    def _constant(self):
        """Where the dofs of an element come from in (z, multipliers) that stay as they are, and the fields that follow
        from these."""
        state, multipliers, *others = self.columns.fields
        sources, n_z = np.zeros(self.columns.n_local, int), self.system.n_z
        kept = np.arange(self.system.n_multipliers)
        if multipliers.shape[1] < len(kept):
            kept = kept[self.element.kept_multipliers(self.system)]
        sources[state], sources[multipliers] = np.arange(n_z), n_z + kept
        return sources, [i for i, field in enumerate(others, 2) if field.size]

    def unpack(self, x):
        """Nodal values of the state and of the multipliers `(gamma, mu)`, and a dict of those of all other fields, as
        far as the system has components of them."""
        state, every, *others = self.columns.unpack(x)
        if every.shape[2] < self.system.n_multipliers:
            every, multipliers = np.zeros((*every.shape[:2], self.system.n_multipliers)), every
            every[..., self.element.kept_multipliers(self.system)] = multipliers
        names = list(self.element.trial)[2:] if others else ()
        return state, every, {name: v for name, v in zip(names, others, strict=True) if v.shape[2]}


def _alike(a, b):
    """Whether two systems have parts of the same kinds in the same places."""
    if len(a.parts) != len(b.parts) or any(p.kind != q.kind for p, q in zip(a.parts, b.parts, strict=True)):
        return False
    indices = "state_index", "multiplier_index", "nonholonomic_index"
    return all(np.array_equal(getattr(g, i), getattr(h, i)) for g, h in zip(a.groups, b.groups, strict=True)
               for i in indices)


def _shape_sets(slots, numbering):
    """The different sets of shape functions of the slots.

    Returns the dofs per set, shape (n_shapes, n_components), the set of each slot, and where the components of each set
    start when those of all sets are counted through (and the end).
    """
    sets = list(dict.fromkeys((s.field, s.shapes) for s in slots))
    dofs = [numbering.fields[field][list(shapes)] for field, shapes in sets]
    return (dofs, [sets.index((s.field, s.shapes)) for s in slots],
            np.cumsum([0] + [d.shape[1] for d in dofs]))


def _by_component(sets):
    """Dofs of each component of each set, padded with -1: shape (n_components of all sets, most shapes)."""
    most = max(len(dofs) for dofs in sets)
    return np.concatenate([np.pad(dofs, ((0, most - len(dofs)), (0, 0)), constant_values=-1).T for dofs in sets])


def _blocks(keys, n_trial, rows_of, columns_of):
    """First tangent entry of the block of each key, and rows and columns of all tangent entries."""
    blocks, first, block = np.unique(keys, return_index=True, return_inverse=True)
    test, trial = np.divmod(blocks, n_trial)
    order = np.argsort(first)  # blocks in the order of the parts, so that memory is walked through in order
    i, j = rows_of[test[order]][:, :, None], columns_of[trial[order]][:, None, :]
    there = (i >= 0) & (j >= 0)
    size = there.sum(axis=(1, 2))
    starts = np.empty(len(blocks), np.int64)
    starts[order] = np.cumsum(size) - size
    i, j = np.broadcast_arrays(i, j)
    return starts[block.ravel()], i[there], j[there]


def _by_part(values):
    """Join arrays of shape (n_shapes, n_parts, n_components) to (n_parts, all components and shapes)."""
    return np.concatenate([v.transpose(1, 2, 0).reshape(v.shape[1], -1) for v in values], axis=1)
