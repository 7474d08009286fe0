"""The elements of an estimation problem: equations, places of fields among the variables, Gauss-Newton steps."""

from functools import cached_property

import numpy as np

from ....assembly import Assembler, Scaling
from ....elements.augmented.extended import Controlled
from ....elements.augmented.part_numbers import WithConstants
from ....errors import SolveError
from ....parallel import OverRanks, swap
from ....solvers.equations.distributed import slab_ends
from ....solvers.interior_point.block_ldl.factors import SharedLDL
from ....solvers.nonlinear import products
from ...common.parameters import parts_with_unknowns
from .gauss_newton import SINGULAR
from .terms import Sum


def element_of(problem, element):
    """The element with controls and constants, and the system that it needs."""
    problem.check_element(element)
    element, system, n = Controlled(element), problem.system, problem.n_constants
    if n:
        element = WithConstants(element, n)
        whole, system = system, system.of_parts(parts_with_unknowns(system, problem.part_numbers, n))
        system.complete, system.kept, system.dropped = whole.complete, whole.kept, whole.dropped
    return element, system


class EstimationChain:
    """Elements in time order, all of whose unknowns take part.

    It offers what `ChainView` asks of a chain.

    Attributes
    ----------
    scaling : Scaling
        Given to a part of a longer chain, which is scaled as the whole.
    pattern : ChainPattern
        Rows: tests of the elements; columns: all dofs.
    sizes : ndarray
        Of the unknowns, by which they are scaled.
    """

    def __init__(self, problem, plan, mesh, name="full", scaling=None):
        self.problem, self.plan, self.mesh = problem, plan, mesh
        self._fields = dict(zip(plan.element.trial, plan.columns.fields, strict=True))
        every = (np.ones(plan.columns.n_node, bool),) * 2, (np.ones(plan.rows.n_node, bool),) * 2
        self.scaling = self._scaling(name) if scaling is None else scaling
        self.assembler = Assembler(plan, mesh, *every, self.scaling)
        self.pattern, self.sizes = self.assembler.pattern, self.assembler.column_scale

    def _scaling(self, name):
        problem, plan = self.problem, self.plan
        scale = Scaling.of(name, plan.system, plan.element, self.mesh.nodes[0], problem.z0)
        if name == "full" and problem.n_controls:
            scale.controls = np.sqrt(np.diag(problem.density) / self.mesh.lengths.mean())
        if name == "full" and problem.n_constants:
            scale.constants = np.concatenate([np.sqrt(np.diag(u.covariance)) for u in problem.unknowns])
        return scale

    def columns_of(self, name):
        """Numbers of the unknowns of a field, shape (n_elements, n_shapes, n_components)."""
        return self.plan.columns.step * np.arange(self.mesh.n_elements)[:, None, None] + self._fields[name]

    def places_of(self, name):
        """Places of the same among all dofs, which all take part."""
        return self.columns_of(name)

    def nodal(self, x, name):
        """Nodal values of a field, in the same shape."""
        return x[self.columns_of(name)]

    def has(self, name):
        """Whether there is a field of this name, with components."""
        return name in self._fields and self._fields[name].size > 0

    @cached_property
    def elements_of_unknowns(self):
        """The element that each unknown is eliminated with: that before a node, and the first at the start."""
        n, c = len(self.sizes), self.plan.columns
        return np.maximum((np.arange(n) - c.n_node) // c.step, 0)

    @cached_property
    def elements_of_rows(self):
        starts = self.pattern.row_starts
        return np.clip(np.searchsorted(starts, np.arange(self.pattern.n_rows), side="right") - 2, 0, None)

    def evaluate(self, x):
        """Scaled rows, and entries of their Jacobian by scaled unknowns, which the next call overwrites."""
        return self.assembler.evaluate(x)

    @property
    def places(self):
        """Rows and columns of these entries."""
        p = self.pattern
        return np.repeat(np.arange(p.n_rows), np.diff(p.indptr)), p.indices.astype(int)


# ---- Gauss-Newton steps over ranks: each evaluates and eliminates the elements of a slab

def can_share(program, comm):
    """Whether ranks may share a program: they have two elements each, whose rows are their own."""
    return comm is not None and program.chain.mesh.n_elements >= 2 * comm.size and not program.chain.plan.rows.n_node


class SlabKkt:
    """What `Kkt` is, of which each rank has the blocks of a slab of elements; all ranks call all methods.

    Arguments and values are those of the whole program, on all ranks.

    Parameters
    ----------
    program : EstimationProgram
        The whole, of which only a part is evaluated here.
    comm : mpi4py communicator

    Attributes
    ----------
    own : (int, int)
        Elements of this rank: first, and the one after the last.
    border : ndarray of int
        Variables of the element before these that they are coupled to.
    last : ndarray of int
        Those of this rank that the next one is coupled to, by their numbers here.
    """

    def __init__(self, program, comm):
        self.program, self.comm, self.over = program, comm, OverRanks(comm)
        chain, n_node, step = program.chain, program.chain.plan.columns.n_node, program.chain.plan.columns.step
        a, b = self.own = tuple(slab_ends(chain.mesh.n_elements, comm.size)[comm.rank:comm.rank + 2])
        self.variables = slice(a * step + n_node * (a > 0), b * step + n_node)
        rows = np.flatnonzero((program.row_blocks >= a) & (program.row_blocks < b))
        self.rows = slice(int(rows[0]), int(rows[-1]) + 1)
        self._chain = EstimationChain(chain.problem, chain.plan, chain.mesh.part(a, b), scaling=chain.scaling)
        self._dofs = slice(a * step, b * step + n_node)
        of_terms = [_blocks_of(term, program.variable_blocks) for term in program.sum.terms]
        self._seen = [np.flatnonzero((of >= a) & (of <= b)) for of in of_terms]
        self._answered = [np.flatnonzero(of[seen] < b) for of, seen in zip(of_terms, self._seen, strict=True)]
        self.terms = [term.restricted(seen) for term, seen in zip(program.sum.terms, self._seen, strict=True)]
        self.sum = Sum([term for term, seen in zip(self.terms, self._seen, strict=True) if len(seen)], program.n)
        self._key = self._known = None
        self._number()

    def _number(self):
        program, (a, b) = self.program, self.own
        first, second = self.sum.places
        of_entries = program.variable_blocks[second], program.variable_blocks[first]
        self._of_hessian = np.flatnonzero((np.maximum(*of_entries) >= a) & (np.maximum(*of_entries) < b))
        first, second = first[self._of_hessian], second[self._of_hessian]
        self._hessian_places = first, second
        rows, columns = self._chain.places
        n_start = program.n_start if a == 0 else 0
        rows, columns = rows + n_start, columns + a * program.chain.plan.columns.step
        if n_start:
            own, places = program.start_places
            rows, columns = np.concatenate([own, rows]), np.concatenate([places, columns])
        outside = np.concatenate([x[x < self.variables.start] for x in (first, second, columns)])
        self.border = np.unique(outside)
        self.n = self.variables.stop - self.variables.start
        self.n_own = self.n + self.rows.stop - self.rows.start
        here = np.full(program.n, -1)
        here[self.variables], here[self.border] = np.arange(self.n), self.n_own + np.arange(len(self.border))
        self.entry_rows = np.concatenate([here[second], self.n + rows])
        self.entry_columns = np.concatenate([here[first], here[columns]])
        self.blocks = np.concatenate([program.variable_blocks[self.variables], program.row_blocks[self.rows]]) - a
        borders = [*self.comm.allgather(self.border), np.zeros(0, int)]
        self.last = here[borders[self.comm.rank + 1]]
        entries = self.entry_rows, self.entry_columns, None
        self._ldl = SharedLDL(self.comm, self.blocks, entries, len(self.border), self.last)
        self._off = self.entry_rows != self.entry_columns

    # ---- values

    def values(self, v):
        """Entries of this rank, at `entry_rows` and `entry_columns` of its numbers."""
        return np.concatenate([self.sum.hessian(v)[self._of_hessian], self._rows_at(v)[1]])

    def _rows_at(self, v):
        """Rows of this rank and entries of their Jacobian, kept until they are asked for elsewhere."""
        key = v.tobytes()
        if self._key != key:
            self._known = self._chain.evaluate(self.program.place(v)[self._dofs])
            if self.own[0] == 0:
                self._known = [np.concatenate(pair) for pair in zip(self.program.start_at(v), self._known, strict=True)]
            self._key = key
        return self._known

    def lengths(self, i, v):
        """As `SensorTerm.lengths` of sensor i."""
        own = self.terms[i].lengths(v)[self._answered[i]] if len(self._seen[i]) else np.zeros(0)
        return np.concatenate(self.comm.allgather(own))

    def violation(self, v):
        """The largest of the rows."""
        return self.over.largest(float(np.abs(self._rows_at(v)[0]).max(initial=0.0)))

    def length(self, step):
        """As in `Kkt`."""
        first, second = self._hessian_places
        squares = np.dot(self._values[:len(first)] * step[first], step[second] * np.where(first != second, 2.0, 1.0))
        return float(np.sqrt(max(self.over.total(float(squares)), 0.0)))

    # ---- steps

    def factor(self, v):
        """As in `Kkt`."""
        self._values = self.values(v)
        if not self._ldl.factor(self._values):
            raise SolveError(SINGULAR)

    def step(self, v):
        """As in `Kkt`."""
        self.factor(v)
        return self._solved(np.concatenate([-self.sum.gradient(v)[self.variables], -self._rows_at(v)[0]]))

    def solve(self, of_variables, of_rows):
        """As in `Kkt`, of variables alone."""
        return self._solved(np.concatenate([of_variables[self.variables], of_rows[self.rows]]))

    def variance(self, column):
        """As in `Kkt`; all ranks ask for it."""
        one = np.zeros(self.program.n)
        one[column] = 1.0
        return float(self.solve(one, np.zeros(self.program.n_rows))[column])

    def _solved(self, b):
        x = self._ldl.solve(b)
        x = x + self._ldl.solve(b - self._times(x))
        return np.concatenate(self.comm.allgather(x[:self.n]))

    def _times(self, x):
        before, _ = swap(self.comm, None, x[self.last])
        every, out = np.concatenate([x, np.zeros(0) if before is None else before]), \
            np.zeros(self.n_own + len(self.border))
        products.add_product(self.entry_rows, self.entry_columns, self._values, every, 1.0, out)
        products.add_product(self.entry_columns, self.entry_rows, self._values * self._off, every, 1.0, out)
        _, behind = swap(self.comm, out[self.n_own:], None)
        if behind is not None:
            out[self.last] += behind
        return out[:self.n_own]


def _blocks_of(term, variable_blocks):
    """The block that each point of a term belongs to: the last that it sees."""
    return np.where(term.columns >= 0, variable_blocks[term.columns], 0).max(axis=1, initial=0)
