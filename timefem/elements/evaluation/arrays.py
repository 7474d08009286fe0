"""What compiled loops walk through: the arrays of an element and the columns of its parts."""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record


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
