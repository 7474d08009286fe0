"""What compiled loops walk through: the arrays of an element and the columns of its parts."""

from typing import NamedTuple

import numpy as np

# columns of Plan.parts; from PART_SLOTS on the numbers of components per slot, then the numbers of rows per test slot
(PART_ADDRESS, PART_GROUP, PART_IN, PART_OUT, PART_PARAMETERS, PART_N_PARAMETERS, PART_GATHER, PART_ROWS,
 PART_SECTION, PART_N_SECTIONS, PART_ENTRIES, PART_SLOTS) = range(12)


class Plan(NamedTuple):
    """Flat arrays for the compiled loops. `P` parts, `G` points; two or more are padded to a multiple of 8 by
    weightless copies.

    Offsets run along flat arrays; a *block* is the set of tangent entries of one pair of components (test component,
    trial component): `n_i n_j` entries, for all pairs of shape functions.
    """

    points: np.ndarray  # (G,) in [0, 1]
    n_points: int  # without the padding
    slots: np.ndarray  # (n_slots, 3) table offset, n_shapes, 1 if a time derivative
    tables: np.ndarray  # flat, per slot (n_shapes, G): trial functions or their derivatives
    tests: np.ndarray  # (n_tests, 3) table offset, n_shapes, 1 if a time derivative
    test_tables: np.ndarray  # flat, per test slot (n_shapes, G): test functions times weights
    pairs: np.ndarray  # (n_tests, n_slots) offset of the products of test slot and slot
    pair_tables: np.ndarray  # flat, per pair (n_i n_j, G): weight, test and trial function
    parts: np.ndarray  # (P, PART_SLOTS + n_slots + n_tests) see PART_*
    gather: np.ndarray  # local dof of each (slot, component, shape) of each part
    row_targets: np.ndarray  # local row of each (test slot, row, shape) of each part
    sections: np.ndarray  # (S, 4) test slot, slot, first output, number of entries
    entry_targets: np.ndarray  # start of the block of each Jacobian entry of each part
    parameters: np.ndarray
    n_columns: int
    n_rows: int
    n_tangent: int
    n_in: int  # largest kernel input and output
    n_out: int
