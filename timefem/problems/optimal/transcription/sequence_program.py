"""Nonlinear programs in a row, tied together: phases, and both ends of a motion."""

from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ....solvers.nonlinear.program import CARRIER, NonlinearProgram, Row
from .point_rows import AddedRows, PointRows, View


class Closing(NamedTuple):
    """What ties the first start and the last end of a sequence together.

    Attributes
    ----------
    couplings : list of Coupling
    ends : tuple
        Of the first start and the last end: an `End`, and its symbols.
    comm : mpi4py communicator, optional
        Where each rank has a part of the sequence.
    here : (bool, bool)
        Whether the first program is that of the first phase, and the last one that of the last phase.
    """

    couplings: Any
    ends: Any
    comm: Any = None
    here: Any = (True, True)


class SequenceProgram(NonlinearProgram):
    """Programs of phases in the order of time, with couplings of neighbours, and of the first start and the last end.

    What the last end needs of the first start is carried along all blocks, so that each is tied to its neighbours only.

    Parameters
    ----------
    programs : list of OptimalProgram
    links : list of list of Coupling
        Of the end of each phase and the start of the next one.
    closing : Closing, optional
    on_iteration : callable
    names : sequence of str, optional
        Of the programs, for reports.
    """

    def __init__(self, programs, links=(), closing=None, on_iteration=lambda residual=None: None, names=()):
        self.programs, self.on_iteration, self._names = programs, on_iteration, names
        counts = [[p.n for p in programs], [p.n_rows for p in programs],
                  [int(p.variable_blocks.max()) + 1 for p in programs]]
        self._columns, self._rows, self._blocks = (np.concatenate([[0], np.cumsum(c)]) for c in counts)
        self.n = int(self._columns[-1])
        sets, carried = [], []
        for k, couplings in enumerate(links):
            views = self._end(k), self._start(k + 1)
            ends = programs[k].symbols_at(1), programs[k + 1].symbols_at(0)
            sets += [coupling.at(*ends, views, self._blocks[k + 1], programs[k + 1].chain.mesh.nodes[0])
                     for coupling in couplings]
        if closing is not None and closing.couplings:
            sets, carried = self._close(closing, sets)
        places = [[(a + i, b + j) for (a, b), i, j in zip([getattr(p, name) for p in programs], first, second,
                                                          strict=False)]
                  for name, first, second in (("jacobian_places", self._rows, self._columns),
                                              ("hessian_places", self._columns, self._columns))]
        places = [tuple(np.concatenate(x) for x in zip(*kind, strict=True)) for kind in places]
        self._added = AddedRows(sets, self.n, int(self._rows[-1]), *places)
        self.jacobian_places, self.hessian_places = self._added.jacobian_places, self._added.hessian_places
        self.n_rows, further = self._added.n_rows, np.zeros(self.n - self._columns[-1])
        self.variable_blocks = np.concatenate([*self._by_block("variable_blocks"), *carried])
        self.outside = np.concatenate([*(p.outside for p in programs), further > 0])
        self.row_blocks = np.concatenate([*self._by_block("row_blocks"), self._added.blocks])
        starts = np.cumsum([0, *(p.joined[-1] + 1 for p in programs)])
        self.joined = np.concatenate([p.joined + n for p, n in zip(programs, starts, strict=False)])
        self.start = np.concatenate([*(p.start for p in programs), further])
        self.bounds = tuple(np.concatenate([*(p.bounds[i] for p in programs), further + s * np.inf])
                            for i, s in ((0, -1), (1, 1)))
        self.loose = np.concatenate([p.loose + n for p, n in zip(programs, self._columns, strict=False)])
        if all(p.start_multipliers is not None for p in programs):
            self.start_multipliers = np.concatenate([*(p.start_multipliers for p in programs),
                                                     np.zeros(self.n_rows - self._rows[-1])])

    @property
    def row_bounds(self):
        return tuple(np.concatenate([*(p.row_bounds[i] for p in self.programs), self._added.bounds[i]])
                     for i in (0, 1))

    @property
    def row_sizes(self):
        """As `OptimalProgram.row_sizes`."""
        return np.concatenate([*(p.row_sizes for p in self.programs), self._added.sizes])

    @property
    def variable_sizes(self):
        """As `OptimalProgram.variable_sizes`."""
        return np.concatenate([*(p.variable_sizes for p in self.programs), np.ones(self.n - self._columns[-1])])

    @property
    def roles(self):
        return np.concatenate([*(p.roles for p in self.programs), self._added.roles])

    def soften(self, eps, attempt=0):
        """As `OptimalProgram.soften`."""
        for program in self.programs:
            program.soften(eps, attempt)

    def has_linear_rows(self):
        return self._added.are_linear and all(program.has_linear_rows() for program in self.programs)

    def relax(self):
        """As `OptimalProgram.relax`."""
        return any([program.relax() for program in self.programs])

    def state(self):
        """As `OptimalProgram.state`."""
        for program in self.programs:
            program.state()

    def marched(self, v):
        """As `OptimalProgram.marched`, each phase with contacts from its own start."""
        parts = [p.marched(x) if p.has_contacts else x
                 for p, x in zip(self.programs, self._split(v, self._columns), strict=True)]
        return None if any(x is None for x in parts) else np.concatenate([*parts, v[self._columns[-1]:]])

    def _by_block(self, name):
        return [getattr(p, name) + n for p, n in zip(self.programs, self._blocks, strict=False)]

    def _start(self, k):
        return self.programs[k].at_start().shifted(self._columns[k])

    def _end(self, k):
        return self.programs[k].at_end().shifted(self._columns[k])

    def _close(self, closing, sets):
        """Sets of rows with those that carry components of the first start to the last block, and tie it there."""
        first, last, n_blocks, known = self.programs[0], self.programs[-1], int(self._blocks[-1]), None
        starts, stops = closing.here[0] and first.chain.reaches[0], closing.here[1] and last.chain.reaches[1]
        if starts:
            view = self._start(0)
            needed = np.any([coupling.used(*closing.ends) for coupling in closing.couplings], axis=0)
            known = (np.flatnonzero(needed & (view.columns[0] >= 0).any(axis=1)),
                     np.abs(view.factors[0]).max(axis=1), view.start)
        carried, size, start = known if closing.comm is None else closing.comm.bcast(known)
        columns = self.n + np.arange(n_blocks * len(carried)).reshape(n_blocks, len(carried))
        self.n += columns.size
        if starts and len(carried):
            own = View(*(x[:, carried] for x in view))
            own = View(0 * own.start, own.columns, own.factors / size[carried, None])
            sets = [*sets, _ties(View.variables(columns[:1]).minus(own), np.array([0]))]
        if len(carried) and n_blocks > 1:
            sets = [*sets, _ties(View.variables(columns[1:]).minus(View.variables(columns[:-1])),
                                 np.arange(1, n_blocks))]
        if stops:
            copies = View(start, np.full((*start.shape, 1), -1), np.zeros((*start.shape, 1)))
            copies.columns[0, carried, 0], copies.factors[0, carried, 0] = columns[-1], size[carried]
            views = copies, self._end(len(self.programs) - 1)
            sets = sets + [coupling.at(*closing.ends, views, n_blocks - 1, last.chain.mesh.nodes[-1])
                           for coupling in closing.couplings]
        return sets, [np.repeat(np.arange(n_blocks), len(carried))]

    # ---- values and derivatives

    def _split(self, v, at):
        return [v[i:j] for i, j in pairwise(at)]

    def placed(self, v, multipliers):
        """All unknowns of each phase."""
        return [p.place(x, y) for p, x, y in zip(self.programs, self._split(v, self._columns),
                                                 self._split(multipliers, self._rows), strict=True)]

    def _of_programs(self, name, v):
        return [getattr(p, name)(x) for p, x in zip(self.programs, self._split(v, self._columns), strict=True)]

    def objective(self, v):
        return sum(self._of_programs("objective", v))

    def gradient(self, v):
        return np.concatenate([*self._of_programs("gradient", v), np.zeros(self.n - self._columns[-1])])

    def rows(self, v):
        out = np.concatenate([*self._of_programs("rows", v), np.zeros(self.n_rows - self._rows[-1])])
        self._added.put_values(v, out[self._rows[-1]:])
        return out

    def divisors(self, v):
        return [found for of_program in self._of_programs("divisors", v) for found in of_program]

    def beyond_poles(self, v):
        return next(filter(None, self._of_programs("beyond_poles", v)), "")

    def jacobian(self, v):
        known = np.concatenate(self._of_programs("jacobian", v))
        out = np.append(known, np.zeros(len(self.jacobian_places[0]) - len(known)))
        self._added.put_jacobian(v, out[len(known):])
        return out

    def hessian(self, v, factor, multipliers):
        known = [p.hessian(x, factor, y) for p, x, y in zip(self.programs, self._split(v, self._columns),
                                                            self._split(multipliers, self._rows), strict=True)]
        further = np.zeros(len(self.hessian_places[0]) - sum(map(len, known)))
        out = np.concatenate([*known, further])
        self._added.add_hessian(v, multipliers, out)
        return out

    def expect(self, v, factor, multipliers):
        for p, x, y in zip(self.programs, self._split(v, self._columns), self._split(multipliers, self._rows),
                           strict=True):
            p.expect(x, factor, y)
        self._added.expect(multipliers)

    def describe(self, i):
        k = int(np.searchsorted(self._rows, i, side="right")) - 1
        if k < len(self.programs):
            return self._of(k, self.programs[k].describe(i - self._rows[k]))
        block, time, name = self._added.describe(i)
        return Row(name, block, time)

    def describe_variable(self, i):
        k = min(int(np.searchsorted(self._columns, i, side="right")) - 1, len(self.programs) - 1)
        return self._of(k, self.programs[k].describe_variable(i - self._columns[k]))

    def describe_objective(self):
        return next(self._of(k, p.describe_objective()) for k, p in enumerate(self.programs)
                    if not np.isfinite(p.chain.own_objective(p.x)))

    def _of(self, k, row):
        name = f"{self._names[k]}: {row.name}" if self._names else row.name
        return row._replace(name=name, element=row.element + int(self._blocks[k]))


def _ties(view, blocks):
    """Rows that components of a view are zero."""
    w = ca.SX.sym("w", view.start.shape[1])
    rows = PointRows("the start as it is known later", (w, ca.SX(0, 1)), w, (0.0, 0.0), view, blocks,
                     np.zeros(len(blocks)))
    rows.role = CARRIER
    return rows
