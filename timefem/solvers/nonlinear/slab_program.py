"""A nonlinear program over ranks: each has the variables and rows of a slab of blocks."""

import numpy as np

from ...parallel import OverRanks, swap
from .program import NonlinearProgram


class SlabProgram(NonlinearProgram):
    """The share of one rank in a program over the ranks of a communicator.

    It has the variables and rows of this rank, and behind them, in the places of derivatives and in the blocks, those
    of neighbours that they touch: block -1 to the left, `n_blocks` to the right. Arguments and values are those of
    this rank; every rank calls every method.

    Parameters
    ----------
    program : NonlinearProgram
        Of the blocks of this rank and at least one block of each neighbour, which states the objective of this rank's
        blocks, but all other derivatives.
    own : (int, int)
        The blocks of the program that this rank has: first, and the one after the last.
    outside : ndarray of bool, shape (program.n,)
        Variables of the neighbours' neighbours.
    first_block : int
        Number of the first own block in the whole program.
    comm : mpi4py communicator
    """

    def __init__(self, program, own, outside, first_block, comm):
        self.program, self.comm, self.first_block, self._before = program, comm, first_block, own[0]
        (rows, columns), (first, second) = program.jacobian_places, program.hessian_places
        of_v, of_r = program.variable_blocks - own[0], program.row_blocks - own[0]
        n_blocks, seen = own[1] - own[0], ~outside[columns]
        touches = np.zeros((2, len(of_r)), bool)  # the block before, the block after
        for to, step in zip(touches, (-1, 1), strict=True):
            to[rows[seen & (of_v[columns] - of_r[rows] == step)]] = True
        self._columns = [np.flatnonzero(kept) for kept in (
            (of_v >= 0) & (of_v < n_blocks), (of_v == -1) & ~outside, of_v == n_blocks)]
        self._rows = [np.flatnonzero(kept) for kept in (
            (of_r >= 0) & (of_r < n_blocks), (of_r == -1) & touches[1], (of_r == n_blocks) & touches[0])]
        (self._v, self.n, self._sent_v), (self._r, self.n_rows, self._sent_r) = (
            (np.concatenate(kinds), len(kinds[0]), (np.flatnonzero((of[kinds[0]] == 0) & left),
                                                    np.flatnonzero((of[kinds[0]] == n_blocks - 1) & right)))
            for kinds, of, left, right in ((self._columns, of_v, True, True),
                                           (self._rows, of_r, touches[0][self._rows[0]], touches[1][self._rows[0]])))
        self.variable_blocks, self.row_blocks = of_v[self._v], of_r[self._r]
        if program.joined is not None:
            self.joined = program.joined[own[0]:own[1]] - program.joined[own[0]]
        at_v, at_r = np.full(program.n, -1), np.full(program.n_rows, -1)
        at_v[self._v], at_r[self._r] = np.arange(len(self._v)), np.arange(len(self._r))
        rows, columns = at_r[rows], at_v[columns]
        self._of_jacobian = np.flatnonzero((np.minimum(rows, columns) >= 0)
                                           & ((rows < self.n_rows) | (columns < self.n)))
        self.jacobian_places = rows[self._of_jacobian], columns[self._of_jacobian]
        first, second = at_v[first], at_v[second]
        lower = np.minimum(first, second)
        self._of_hessian = np.flatnonzero((lower >= 0) & (lower < self.n))
        self.hessian_places = first[self._of_hessian], second[self._of_hessian]
        own_v, own_r = self._v[:self.n], self._r[:self.n_rows]
        self.start, self.bounds = program.start[own_v], tuple(bound[own_v] for bound in program.bounds)
        if program.start_multipliers is not None:
            self.start_multipliers = program.start_multipliers[own_r]
        loose = at_v[np.asarray(program.loose, int)]
        self.loose, self._known = loose[(loose >= 0) & (loose < self.n)], {}

    @property
    def row_bounds(self):
        return tuple(bound[self._r[:self.n_rows]] for bound in self.program.row_bounds)

    @property
    def roles(self):
        return self.program.roles[self._r[:self.n_rows]]

    def soften(self, eps, attempt=0):
        self.program.soften(eps, attempt)

    def relax(self):
        return OverRanks(self.comm).total(int(self.program.relax())) > 0

    def state(self):
        self.program.state()

    def has_linear_rows(self):
        return OverRanks(self.comm).least(int(self.program.has_linear_rows())) > 0

    # ---- neighbours

    def with_neighbours(self, v):
        return self._exchanged(v)[0]

    def rows_with_neighbours(self, y):
        return self._exchanged(None, y)[1]

    def _exchanged(self, v=None, y=None):
        """Variables, rows, or both, with those of neighbours; asked again about the same memory it does not talk.

        All ranks run the same lines, so that it is the same memory on all of them or on none, as equal numbers, which
        one slab may have and another not, would not be.
        """
        given = {"v": (v, self._sent_v), "y": (y, self._sent_r)}
        new = [name for name, (x, _) in given.items() if x is not None and not self._knows(name, x)]
        if new:
            pieces = swap(self.comm, *([given[name][0][given[name][1][side]] for name in new] for side in (0, 1)))
            for i, name in enumerate(new):
                x = given[name][0]
                self._known[name] = x, np.concatenate([x, *(piece[i] for piece in pieces if piece is not None)])
        return [None if x is None else self._known[name][1] for name, (x, _) in given.items()]

    def _knows(self, name, x):
        known = self._known.get(name)  # kept, so that nothing else takes its place in memory
        return known is not None and known[0].ctypes.data == x.ctypes.data and len(known[0]) == len(x)

    def held_by_the_next(self, variables, rows):
        """Own variables, and rows behind them, that the next rank is coupled to.

        Given are those that this rank is coupled to, of the ones before it, as it counts what it gets from there.
        """
        _, wanted = swap(self.comm, (variables, rows), None)
        if wanted is None:
            return np.zeros(0, int)
        return np.concatenate([self._sent_v[1][wanted[0]], self.n + self._sent_r[1][wanted[1]]])

    # ---- values and derivatives

    def _all(self, v):
        return self.placed(v, None)[0]

    def placed(self, v, multipliers):
        """Variables and multipliers of the program, neighbours included."""
        return [None if x is None else _spread(x, at, n) for x, at, n in zip(
            self._exchanged(v, multipliers), (self._v, self._r), (self.program.n, self.program.n_rows), strict=True)]

    def objective(self, v):
        return self.program.objective(self._all(v))

    def rows(self, v):
        return self.program.rows(self._all(v))[self._r[:self.n_rows]]

    def divisors(self, v):
        return self.program.divisors(self._all(v))

    def gradient(self, v):
        return self.program.gradient(self._all(v))[self._v[:self.n]]

    def jacobian(self, v):
        return self.program.jacobian(self._all(v))[self._of_jacobian]

    def hessian(self, v, factor, multipliers):
        v, multipliers = self.placed(v, multipliers)
        return self.program.hessian(v, factor, multipliers)[self._of_hessian]

    def expect(self, v, factor, multipliers):
        v, multipliers = self.placed(v, multipliers)
        self.program.expect(v, factor, multipliers)

    def on_iteration(self, residual=None):
        self.program.on_iteration(residual)

    def describe_variable(self, i):
        return self._shifted(self.program.describe_variable(int(self._v[i])))

    def describe(self, i):
        return self._shifted(self.program.describe(int(self._r[i])))

    def describe_objective(self):
        return self._shifted(self.program.describe_objective())

    def _shifted(self, row):
        return row._replace(element=row.element + self.first_block - self._before)


def _spread(values, places, n):
    out = np.zeros(n)
    out[places] = values
    return out
