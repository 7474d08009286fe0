"""From a system and a time element to arrays that compiled loops can walk through.

The residual density of each kind of part becomes one *point kernel* (values and derivatives at a quadrature point);
what remains, the sums over points and shape functions, is the same for all kinds and is done in `evaluate`.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import LANES
from .numbering import number
from .point_kernel import point_kernel
from .quadrature import gauss_legendre


class Plan(NamedTuple):
    """Flat arrays for the compiled loops. `P` parts, `G` points padded to a multiple of 8 by weightless copies.

    Offsets run along flat arrays; a *block* is the set of tangent entries of one pair of components (test component,
    trial component): `n_i n_j` entries, for all pairs of shape functions.
    """

    points: np.ndarray  # (G,) in [0, 1]
    n_points: int  # without the padding
    slots: np.ndarray  # (3, 3) table offset, n_shapes, 1 if a time derivative
    tables: np.ndarray  # flat, per slot (n_shapes, G): trial functions or their derivatives
    tests: np.ndarray  # (2, 2) table offset, n_shapes
    test_tables: np.ndarray  # flat, per test field (n_shapes, G): test functions times weights
    pairs: np.ndarray  # (2, 3) offset of the products of test field and slot
    pair_tables: np.ndarray  # flat, per pair (n_i n_j, G): weight, test and trial function
    parts: np.ndarray  # (P, 15) see PART_*
    gather: np.ndarray  # local dof of each (slot, component, shape) of each part
    row_targets: np.ndarray  # local row of each (test field, row, shape) of each part
    sections: np.ndarray  # (S, 4) test field, slot, first output, number of entries
    entry_targets: np.ndarray  # start of the block of each Jacobian entry of each part
    parameters: np.ndarray
    n_columns: int
    n_rows: int
    n_tangent: int
    n_in: int  # largest kernel input and output
    n_out: int


# columns of Plan.parts: three slots (state, rate, multipliers) and two test fields (state, constraints) count their
# components from PART_SLOTS and PART_FIELDS on
(PART_ADDRESS, PART_IN, PART_OUT, PART_SLOTS, _, _, PART_FIELDS, _, PART_PARAMETERS, PART_N_PARAMETERS, PART_GATHER,
 PART_ROWS, PART_SECTION, PART_N_SECTIONS, PART_ENTRIES) = range(15)


class ElementPlan:
    """Everything that is known before numbers come in: kernels, index maps and the pattern of one element.

    Attributes
    ----------
    columns, rows : Numbering
        Trial dofs `[left node | interior | right node]` and test rows of one element.
    tangent_rows, tangent_columns : ndarray of int, shape (n_tangent,)
        Pattern of the element tangent, without repetition.
    arrays : Plan
    """

    def __init__(self, system, element):
        self.system, self.element = system, element
        sizes = (system.n_z, system.n_multipliers)
        trial = (element.state, element.multiplier)
        test = (element.state_test, element.multiplier_test)
        self.columns, self.rows = number(trial, sizes), number(test, sizes)
        slot_spaces = (trial[0], trial[0], trial[1])
        slot_fields = (0, 0, 1)

        xi, weights = gauss_legendre(element.n_points, np.longdouble)
        padding = -len(xi) % LANES
        xi, weights = np.append(xi, [xi[-1]] * padding), np.append(weights, [0.0] * padding)
        tables = [slot_spaces[0].basis.values(xi).T, slot_spaces[1].basis.derivatives(xi).T,
                  slot_spaces[2].basis.values(xi).T]
        weights = weights.astype(float)
        test_tables = [(space.basis.values(xi) * weights[:, None]).T for space in test]
        pair_tables = [[(a[:, None] * b[None]).reshape(-1, len(xi)) for b in tables] for a in test_tables]
        table_start = np.cumsum([0] + [t.size for t in tables])
        pair_start = np.cumsum([0] + [t.size for row in pair_tables for t in row])

        # per group: one row of numbers, or of indices, for each of its parts
        parts, gather, row_targets, sections, blocks, parameters, self.kernels = [], [], [], [], [], [], []
        n_z, n_multipliers = sizes
        n_gather = n_rows = n_entries = n_parameters = 0
        for group in system.groups:
            kernel = point_kernel(group.part, element)
            self.kernels.append(kernel.kernel)
            first_section = len(sections)
            first_output = sum(kernel.n_rows)
            for start, (field, slot, _, _) in enumerate(kernel.entries):
                if len(sections) == first_section or sections[-1][:2] != [field, slot]:
                    sections.append([field, slot, first_output + start, 0])
                sections[-1][3] += 1
            components = (group.state_index, group.state_index, group.multiplier_index)
            g = _by_part([self.columns.fields[slot_fields[s]][:, components[s][:, :n]]
                          for s, n in enumerate(kernel.n_inputs)])
            r = _by_part([self.rows.fields[f][:, components[2 * f]] for f in range(2) if kernel.n_rows[f]])
            # a block is known by its test field, component, trial field and component
            keys = np.zeros((len(g), len(kernel.entries)), np.int64)
            for m, (field, slot, row, column) in enumerate(kernel.entries):
                test_component = field * n_z + components[2 * field][:, row]
                trial_component = slot_fields[slot] * n_z + components[slot][:, column]
                keys[:, m] = test_component * (n_z + n_multipliers) + trial_component
            c = group.parameters
            fixed = [kernel.kernel.address_lanes, kernel.kernel.n_in, kernel.kernel.n_out, *kernel.n_inputs,
                     *kernel.n_rows, n_parameters, c.shape[1], n_gather, n_rows, first_section,
                     len(sections) - first_section, n_entries]
            part = np.array([fixed] * len(g), dtype=np.int64)
            for column, values in ((PART_PARAMETERS, c), (PART_GATHER, g), (PART_ROWS, r), (PART_ENTRIES, keys)):
                part[:, column] += np.arange(len(g)) * values.shape[1]
            for list_, values in ((parts, part), (gather, g), (row_targets, r), (blocks, keys), (parameters, c)):
                list_.append(values.ravel())
            n_gather += g.size
            n_rows += r.size
            n_entries += keys.size
            n_parameters += c.size
        parts = np.reshape(np.concatenate(parts), (-1, 15))
        entry_targets, self.tangent_rows, self.tangent_columns = self._blocks(np.concatenate(blocks), sizes)
        integers = [np.ascontiguousarray(a, dtype=np.int64) for a in (
            [[o, t.shape[0], d] for o, t, d in zip(table_start, tables, (0, 1, 0), strict=False)],
            [[o, t.shape[0]] for o, t in zip(np.cumsum([0, test_tables[0].size]), test_tables, strict=True)],
            np.reshape(pair_start[:-1], (2, 3)), parts, np.concatenate(gather), np.concatenate(row_targets),
            sections, entry_targets)]
        slots, tests, pairs, parts, gather, row_targets, sections, entry_targets = integers
        self.arrays = Plan(
            points=xi.astype(float), n_points=element.n_points, slots=slots,
            tables=np.concatenate([t.ravel() for t in tables]),
            tests=tests, test_tables=np.concatenate([t.ravel() for t in test_tables]),
            pairs=pairs, pair_tables=np.concatenate([t.ravel() for row in pair_tables for t in row]), parts=parts,
            gather=gather, row_targets=row_targets, sections=sections, entry_targets=entry_targets,
            parameters=np.concatenate(parameters), n_columns=self.columns.n_local, n_rows=self.rows.n_local,
            n_tangent=len(self.tangent_rows), n_in=max(k.n_in for k in self.kernels),
            n_out=max(k.n_out for k in self.kernels))

    def _blocks(self, keys, sizes):
        """First tangent entry of the block of each key, and rows and columns of all tangent entries."""
        n_z, n_multipliers = sizes
        blocks, first, block = np.unique(keys, return_index=True, return_inverse=True)
        test, trial = np.divmod(blocks, n_z + n_multipliers)
        test_field, trial_field = (test >= n_z).astype(int), (trial >= n_z).astype(int)
        n_tests, n_trials = (np.array([len(f) for f in numbering.fields]) for numbering in (self.rows, self.columns))
        size = n_tests[test_field] * n_trials[trial_field]
        order = np.argsort(first)  # blocks in the order of the parts, so that memory is walked through in order
        starts = np.empty(len(blocks), np.int64)
        starts[order] = np.cumsum(size[order]) - size[order]
        rows, columns = np.empty(size.sum(), np.int64), np.empty(size.sum(), np.int64)
        for a in range(2):
            for b in range(2):
                here = (test_field == a) & (trial_field == b)
                i = self.rows.fields[a][:, test[here] - a * n_z].T[:, :, None]
                j = self.columns.fields[b][:, trial[here] - b * n_z].T[:, None, :]
                places = starts[here][:, None, None] + np.arange(n_tests[a] * n_trials[b]).reshape(n_tests[a], -1)
                rows[places], columns[places] = i, j
        return starts[block.ravel()], rows, columns


def _by_part(values):
    """Join arrays of shape (n_shapes, n_parts, n_components) to (n_parts, all components and shapes)."""
    return np.concatenate([v.transpose(1, 2, 0).reshape(v.shape[1], -1) for v in values], axis=1)
