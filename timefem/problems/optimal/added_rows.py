"""Sets of rows behind those that a nonlinear program has already."""

import numpy as np


class AddedRows:
    """Sets of `PointRows` behind the rows that a program has already.

    Parameters
    ----------
    sets : list of PointRows
    n : int
        Variables.
    first : int
        Number of the first row.
    jacobian_places, hessian_places
        Of what is there already.

    Attributes
    ----------
    jacobian_places, hessian_places
        Of all.
    starts : list of int
        First row of each set, and the end.
    """

    def __init__(self, sets, n, first, jacobian_places, hessian_places):
        self.sets, self.starts = sets, np.cumsum([first, *(rows.n_rows for rows in sets)]).tolist()
        self.jacobian_places, self.hessian_places, self._slots = jacobian_places, hessian_places, ()
        if not sets:
            return
        own = [(rows.jacobian_places[0] + start, rows.jacobian_places[1])
               for rows, start in zip(sets, self.starts, strict=False)]
        self.jacobian_places = tuple(np.concatenate(x) for x in zip(jacobian_places, *own, strict=True))
        keys = hessian_places[0] * n + hessian_places[1]
        ends = np.cumsum([len(rows.hessian_places[0]) for rows in sets])
        added = np.concatenate([rows.hessian_places[0] * n + rows.hessian_places[1] for rows in sets])
        keys = np.concatenate([keys, np.setdiff1d(added, keys)])
        order = np.argsort(keys)
        self._slots = np.split(order[np.searchsorted(keys, added, sorter=order)], ends[:-1])
        self.hessian_places = np.divmod(keys, n)

    @property
    def n_rows(self):
        return self.starts[-1]

    @property
    def bounds(self):
        none = np.zeros(0)
        return tuple(np.concatenate([none, *b]) for b in ([s.lower for s in self.sets], [s.upper for s in self.sets]))

    @property
    def sizes(self):
        """What the rows added are over, see `PointRows.over_sizes`."""
        return np.concatenate([np.zeros(0), *(rows.sizes for rows in self.sets)])

    @property
    def roles(self):
        return np.concatenate([np.zeros(0, int), *(np.full(rows.n_rows, rows.role) for rows in self.sets)])

    @property
    def blocks(self):
        return np.concatenate([np.zeros(0, int), *(rows.elements for rows in self.sets)])

    def move_start(self, change):
        """Change the dofs of the first node, which is given."""
        for rows in self.sets:
            rows.move_start(change)

    def expect(self, multipliers):
        """Told those of all rows with which the Hessian may be asked for next."""
        for rows, start in zip(self.sets, self.starts, strict=False):
            rows.expect(multipliers[start:start + rows.n_rows])

    def values(self, known, v):
        """Rows that are known, and those added."""
        return np.concatenate([known, *(rows.values(v) for rows in self.sets)]) if self.sets else known

    def jacobian(self, known, v):
        return np.concatenate([known, *(rows.jacobian(v) for rows in self.sets)]) if self.sets else known

    def add_hessian(self, v, multipliers, out):
        """Add what they have to the entries at `hessian_places`."""
        for rows, slots, start in zip(self.sets, self._slots, self.starts, strict=False):
            rows.add_hessian(v, multipliers[start:start + rows.n_rows], slots, out)

    def describe(self, i):
        """Block, time on the mesh [s] and name of row i."""
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return self.sets[k].describe(i - self.starts[k])
