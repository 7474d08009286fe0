"""Contacts marched: the motion that given controls make, element by element, as a start of optimal control."""

import numpy as np

from ...late import Late
from .options import OPTIONS

scipy = Late("scipy")



class ContactMarch:
    """States and forces of contacts of an `OptimalProgram`, all other controls, start and constants as they are.

    The equations of motion and the smoothed rows of contacts are as many as states and forces of contacts, and those of
    an element join it to earlier ones only. They are solved by Newton's method over windows of elements, which grow in
    free flight and shrink down to one element at an impact: there the rows grow with the force, and steps from any
    force lead to the root. Newton's method over all elements does not: when eps changes, an impact comes in another
    step.

    Parameters
    ----------
    program : OptimalProgram
    rows, columns : ndarray of int
        Of the program: those of contacts and of motion, and what they determine.
    """

    def __init__(self, program, rows, columns):
        self._program, n = program, int(program.joined[-1]) + 1
        self._rows, ends_of_rows = _in_order(rows, program.joined[program.row_blocks], n)
        self._columns, self._ends = _in_order(columns, program.joined[program.variable_blocks], n)
        self.determined = np.array_equal(ends_of_rows, self._ends)
        i, j = (np.full(m, -1) for m in (program.n_rows, program.n))
        i[self._rows], j[self._columns] = np.arange(len(rows)), np.arange(len(columns))
        i, j = i[program.jacobian_places[0]], j[program.jacobian_places[1]]
        self._kept = np.flatnonzero((i >= 0) & (j >= 0))
        self._places = i[self._kept], j[self._kept]

    def __call__(self, v):
        """The variables after a march; None where Newton's method fails."""
        first, width, n = 0, OPTIONS.march_window, len(self._ends) - 1
        while first < n:
            last = min(n, first + width)
            found, steps = self._window(v, first, last, OPTIONS.march_few if width > 1 else OPTIONS.march_most)
            if found is not None:
                v, first, width = found, last, width * OPTIONS.march_longer if steps <= OPTIONS.march_quick else width
            elif width == 1:
                return None
            else:
                width = max(1, width // OPTIONS.march_shorter)
        return self._window(v, 0, n, OPTIONS.march_most)[0]  # rows may see the element after them, as with shared tests

    def _window(self, v, first, last, most):
        """The variables with elements first, ..., last - 1 solved, or None, and how many steps it took."""
        program, (a, b), (i, j) = self._program, self._ends[[first, last]], self._places
        rows, columns = self._rows[a:b], self._columns[a:b]
        inside = np.flatnonzero((i >= a) & (i < b) & (j >= a) & (j < b))
        middle = sum(bound[rows] for bound in program.row_bounds) / 2
        v = v.copy()
        for step in range(most + 1):
            residual = program.rows(v)[rows] - middle
            if not np.isfinite(residual).all():
                return None, step
            if np.abs(residual).max() <= OPTIONS.march_tolerance:
                return v, step
            entries = program.jacobian(v)[self._kept[inside]]
            tangent = scipy.sparse.csc_matrix((entries, (i[inside] - a, j[inside] - a)), (b - a, b - a))
            try:
                v[columns] -= scipy.sparse.linalg.splu(tangent, "NATURAL").solve(residual)
            except RuntimeError:  # singular
                return None, step
        return None, most


def _in_order(numbers, blocks, n):
    """Rows or variables in the order of their blocks, and where those of each of n blocks begin, and the end."""
    numbers = numbers[np.argsort(blocks[numbers], kind="stable")]
    return numbers, np.searchsorted(blocks[numbers], np.arange(n + 1))
