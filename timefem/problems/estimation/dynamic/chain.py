"""The elements of an estimation problem: equations, places of fields among the variables, Gauss-Newton steps."""

from functools import cached_property

import numpy as np

from .... import sparse
from ....assembly import Assembler, Scaling
from ....elements.extended import Controlled
from ....elements.part_numbers import WithConstants
from ....errors import SolveError
from ....mechanics.numbers.records import made_of
from ....parallel import OverRanks, swap
from ....solvers.equations.distributed import slab_ends
from ....solvers.interior_point.block_ldl import BlockLDL, SharedLDL
from ....status import Reason, Status
from ...parameters import parts_with_unknowns
from ..options import DEFAULTS
from .terms import Sum

SINGULAR = "the matrix of the least squares is singular: something has neither a prior nor a measurement"


def refined(solve, times, b, n, largest=float):
    """Solution x of `times(x) = b` by factors, refined while changes of its first n entries, the variables, fall by
    half: sharp readings beside short elements leave few digits. `largest` is that of all ranks."""
    x, before = solve(b), np.inf
    while before > 0:
        change = solve(b - times(x))
        now = largest(np.abs(change[:n]).max(initial=0.0))
        if not now <= before / 2:
            break
        x, before = x + change, now
    return x


class Kkt:
    """The matrix `[H, A^T; A, 0]` of a program's Gauss-Newton steps, with the memory of its factors.

    Parameters
    ----------
    program : EstimationProgram
    """

    def __init__(self, program):
        (first, second), (rows, columns) = program.hessian_places, program.jacobian_places
        self.program, self.n, self._ldl = program, program.n, None
        self.rows = np.concatenate([second, program.n + rows])
        self.columns = np.concatenate([first, columns])
        self.blocks = program.joined[np.concatenate([program.variable_blocks, program.row_blocks])]
        self._off = self.rows != self.columns

    def values(self, v):
        """Entries at a point, at `rows` and `columns` of the lower triangle."""
        return np.concatenate([self.program.sum.hessian(v), self.program.jacobian(v)])

    def factor(self, v, damping=None):
        """Factor at a point, with what damps added to the Hessian's entries.

        Raises
        ------
        SolveError
            Where the matrix is singular.
        """
        if self._ldl is None:
            self._ldl = BlockLDL(self.blocks, self.rows, self.columns)
        self._values = self.values(v)
        if damping is not None:
            self._values[:len(damping)] += damping
        if not self._ldl.factor(self._values):
            raise SolveError(SINGULAR)

    def step(self, v):
        """The step of the variables from a point, at which it factors."""
        self.factor(v)
        return self.solve(-self.program.gradient(v), -self.program.rows(v))

    def violation(self, v):
        """The largest of the rows at a point."""
        return float(np.abs(self.program.rows(v)).max(initial=0.0))

    def lengths(self, i, v):
        """Lengths of the residuals of sensor i at a point, see `SensorTerm.lengths`."""
        return self.program.sensors[i].lengths(v)

    def solve(self, of_variables, of_rows):
        """Solution of the last matrix, refined, of the variables."""
        return self._refined(np.concatenate([of_variables, of_rows]))[:self.n]

    def _refined(self, b):
        return refined(self._ldl.solve, self._times, b, self.n)

    def variance(self, column):
        """Of a variable by the last matrix."""
        one = np.zeros(self.program.n)
        one[column] = 1.0
        return float(self.solve(one, np.zeros(self.program.n_rows))[column])

    def _times(self, x):
        out = np.zeros(len(x))
        sparse.add_product(self.rows, self.columns, self._values, x, 1.0, out)
        sparse.add_product(self.columns, self.rows, self._values * self._off, x, 1.0, out)
        return out

    def length(self, step, values=None):
        """Length of a step of the variables in posterior standard deviations, `sqrt(s.H s)`."""
        n = len(self.program.hessian_places[0])
        rows, columns, off = self.rows[:n], self.columns[:n], self._off[:n]
        values = self._values[:n] if values is None else values
        return float(np.sqrt(max(np.dot(values * step[rows], step[columns] * np.where(off, 2.0, 1.0)), 0.0)))


class Leading(Kkt):
    """The same of the first blocks alone: of what is measured in them.

    Parameters
    ----------
    program : EstimationProgram
    last : int
        Number of the last block.
    """

    def __init__(self, program, last):
        super().__init__(program)
        here = self.blocks <= last
        self._entries, number = here[self.rows] & here[self.columns], np.cumsum(here) - 1
        self.rows, self.columns = number[self.rows[self._entries]], number[self.columns[self._entries]]
        self._off, self._members, self.blocks = self.rows != self.columns, np.flatnonzero(here), self.blocks[here]

    def values(self, v):
        return super().values(v)[self._entries]

    def solve(self, of_variables, of_rows):
        out = np.zeros(self.n + self.program.n_rows)
        out[self._members] = self._refined(np.concatenate([of_variables, of_rows])[self._members])
        return out[:self.n]


def gauss_newton(program, kkt, v, *, near):
    """Variables, status and number of full steps from v, which end where the next one is shorter than `near`, in
    posterior standard deviations, or where they grow."""
    lengths, violations, growing = [], [], 0
    for n in range(1, DEFAULTS.most_steps + 1):
        try:
            with np.errstate(all="ignore"):
                step = kkt.step(v)
        except SolveError as error:
            return v, Status.failure(Reason.SINGULAR_TANGENT, 0, 0.0, lengths, str(error)), n
        if not np.isfinite(step).all():
            return v, Status.failure(Reason.NOT_FINITE, 0, 0.0, lengths, "a step is not finite"), n
        v, changed = program.within_bounds(v + step, kkt)
        lengths.append(kkt.length(step))
        with np.errstate(all="ignore"):
            violations.append(kkt.violation(v))
        program.on_iteration(lengths[-1])
        if not np.isfinite(violations[-1]):
            return v, Status.failure(Reason.NOT_FINITE, 0, 0.0, lengths, "an equation is not finite"), n
        growing = growing + (len(lengths) > 1 and lengths[-1] > lengths[-2])
        if (lengths[-1] <= near or rests(lengths)) and not changed:
            size = program.size(v)
            still = len(violations) > 1 and violations[-1] > violations[-2] / 2
            if (still or violations[-1] <= DEFAULTS.held * size) and violations[-1] <= DEFAULTS.holds * size:
                return v, Status(True, residual_history=lengths), n
        elif growing > DEFAULTS.forgiven:
            break
    text = f"{n} Gauss-Newton steps made no progress"
    return v, Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, text), n


def rests(lengths):
    """Whether steps are short and no longer shrink: they are rounding, as where readings are very sharp."""
    return len(lengths) > 1 and lengths[-1] <= DEFAULTS.rests and lengths[-1] > DEFAULTS.steady * lengths[-2]


def element_of(problem, element):
    """The element with controls and constants, and the system that it needs."""
    problem.check_element(element)
    element, system, n = Controlled(element), problem.system, problem.n_constants
    if n:
        element = WithConstants(element, n)
        whole, system = system, made_of(system, parts_with_unknowns(system, problem.part_numbers, n))
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
        if name == "full":
            scale.lifts = self._lifts(scale)
        if name == "full" and problem.n_controls:
            scale.controls = np.sqrt(np.diag(problem.density) / self.mesh.lengths.mean())
        if name == "full" and problem.n_constants:
            scale.constants = np.concatenate([np.sqrt(np.diag(u.covariance)) for u in problem.unknowns])
        return scale

    def _lifts(self, scale):
        """How large places and momenta are by the start, a time of the whole span, so that all units are alike."""
        span, z = self.mesh.nodes[-1] - self.mesh.nodes[0], np.abs(self.problem.z0) / scale.state
        places, momenta = z.reshape(2, -1).max(axis=1)
        way = max(places, momenta * span) or 1.0
        return way, way / span

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
        x = refined(self._ldl.solve, self._times, b, self.n, self.over.largest)
        return np.concatenate(self.comm.allgather(x[:self.n]))

    def _times(self, x):
        before, _ = swap(self.comm, None, x[self.last])
        every, out = np.concatenate([x, np.zeros(0) if before is None else before]), \
            np.zeros(self.n_own + len(self.border))
        sparse.add_product(self.entry_rows, self.entry_columns, self._values, every, 1.0, out)
        sparse.add_product(self.entry_columns, self.entry_rows, self._values * self._off, every, 1.0, out)
        _, behind = swap(self.comm, out[self.n_own:], None)
        if behind is not None:
            out[self.last] += behind
        return out[:self.n_own]


def _blocks_of(term, variable_blocks):
    """The block that each point of a term belongs to: the last that it sees."""
    return np.where(term.columns >= 0, variable_blocks[term.columns], 0).max(axis=1, initial=0)
