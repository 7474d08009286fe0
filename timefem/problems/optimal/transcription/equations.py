"""The optimality system of an optimal control problem on elements in time order."""

from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace

import casadi as ca
import numpy as np
import scipy

from ....assembly import Assembler
from ....elements.evaluation.plan import ElementPlan
from ....elements.extended import Functional
from ....errors import InputError
from ....kernels.compile import Buffered
from ....parallel import OverRanks
from ....solvers.equations.distributed import DistributedEquations, slab_ends
from ....solvers.equations.elements import ElementEquations
from ....solvers.equations.ends import EndBlock, Ends
from ....solvers.equations.nonlinear import SaddleEquations
from ....solvers.interior_point.block_ldl import BlockLDL
from ....solvers.linear.time_chain.lu import ChainLU
from ....solvers.nonlinear.saddle_point import SymmetricSolver
from ..options import OPTIONS
from .optimal_end import OptimalEnd, taking_part


class OptimalityRows:
    """What the optimality system has besides its equations, on one process or shared.

    Attributes
    ----------
    reaches : (bool, bool)
        Whether its elements reach the start and the end of the motion.

    Parameters
    ----------
    problem : OptimalControl
    plan : ElementPlan
        Of an `Optimality` element.
    mesh, scaling, linear
        As in `ElementEquations`.
    hold : bool
        Keep the unknown numbers (the final time) as they are.
    shared
        For `DistributedEquations`.
    """

    def __init__(self, problem, plan, mesh, scaling, linear=None, hold=False, **shared):
        self.problem, self._hold, self._held = problem, hold, problem.held
        self._fields = dict(zip(plan.element.trial, plan.columns.fields, strict=True))
        super().__init__(plan, mesh, scaling, ends_of(problem, plan, hold, scaling), linear, **shared)
        c, n_elements = self.plan.columns, self.last - self.first
        self._dual = np.zeros(c.n_node + n_elements * c.step, bool)
        for name, field in self._fields.items():
            if name.startswith("costate"):
                self._dual[c.step * np.arange(n_elements)[:, None, None] + field] = True
        dual = np.concatenate([self._dual[self.assembler.pattern.column_index],
                               np.ones(self.blocks[1].n_unknowns, bool)])
        self.dual = dual[self._own_columns]

    reaches = True, True

    def renew_for(self, problem, mesh, scaling):
        """`renew`, for a problem that differs in numbers, or the same one."""
        if mesh.n_elements != self.mesh.n_elements:
            return False
        same = problem is self.problem and problem.held is self._held  # which stands in the end block
        if same and np.array_equal(mesh.nodes, self.mesh.nodes) and scaling.objective == self.objective_size:
            self.forget()
            if "_functional" in self.__dict__:
                self._functional.plan.take(self.plan.system)
            return True
        same_cost = (problem.end_cost, problem.t_span) == (self.problem.end_cost, self.problem.t_span)
        ends = ends_of(problem, self.plan, self._hold, scaling, self.blocks[1] if same_cost else None)
        if not self.renew(mesh, scaling, ends):
            return False
        self.problem, self._held = problem, problem.held
        self.__dict__.pop("_end_cost", None)
        functional = self.__dict__.get("_functional")
        if functional is not None:
            functional.plan.take(self.plan.system)
            functional.scaling = scaling
            functional.place(mesh)
        return True

    def columns_of(self, name):
        """Numbers of the unknowns of a field, -1 where they do not take part: (n_elements, n_shapes, n_components)."""
        c, index = self.plan.columns, self.assembler.pattern.column_index
        number = np.full(c.n_node + (self.last - self.first) * c.step, -1)
        number[index] = np.arange(len(number[index]))
        return number[c.step * np.arange(self.mesh.n_elements)[:, None, None] + self._fields[name]]

    def columns_at_start(self):
        """Numbers of the unknowns that the state there is, with the velocities where nodes hold them as well."""
        return np.concatenate([self.columns_of(name)[0, 0] for name in ("state", "velocity") if name in self._fields])

    def running_sums(self, values):
        """Sums over the elements before and including each, of values of shape (n_elements, ...)."""
        return np.cumsum(values, axis=0)

    def with_costates(self, x, factor):
        """`x` with its costates multiplied."""
        if factor == 1:
            return x
        x = x.copy()
        _, dofs, end = self.split(x)
        dofs[self._dual] *= factor
        end *= factor
        return x

    def with_end_costates(self, x):
        """`x` with costates of the conditions at the end that leave the least gradient by the node there."""
        n = self.blocks[1].n_unknowns
        if not n:
            return x
        x = x.copy()
        self.split(x)[2][:] = 0
        gradient = self.evaluate(x)
        tangent, costates = TangentParts(self), np.arange(self.pattern.n_columns - n, self.pattern.n_columns)
        rows = tangent.rows_of(costates)
        found = np.linalg.lstsq(tangent.dense(rows, costates), -gradient[rows], rcond=None)[0]
        self.split(x)[2][:] = self.blocks[1].sizes * found
        return x

    def broken(self, x):
        """How far off those conditions are that no actuator was found to move."""
        if self.problem.held is None:
            return 0.0
        return OPTIONS.held_by * np.abs(self.problem.held.T @ (self.split(x)[2] / self.blocks[1].sizes)).max()

    def nodal(self, x, name):
        """Nodal values of a field at unknowns `x`, shape (n_elements, n_shapes, n_components)."""
        return self.split(x)[1][self.places_of(name)]

    def places_of(self, name):
        """Places of the nodal values of a field among the dofs of the elements, shaped as these."""
        return self.plan.columns.step * np.arange(self.last - self.first)[:, None, None] + self._fields[name]

    @property
    def has_linear_equations(self):
        """Whether formulas tell that the equations, those at the end included, are linear in all but costates."""
        end, element = self.blocks[1], self.plan.element
        dual = np.array([element.trial[name].dual for name, _ in element.slots])
        return (not end.n_unknowns or end.has_linear_conditions) and \
            all(_is_linear(kernel, dual) for kernel in self.plan.point_kernels)

    @cached_property
    def _inertia(self):
        """The entries of the lower triangle of the tangent, and `BlockLDL` of it with a block for each element."""
        p, n = self.pattern, self.n_unknowns
        rows = np.repeat(np.arange(n), np.diff(p.indptr))
        lower = np.flatnonzero(rows >= p.indices)
        dual = np.flatnonzero(self.dual)
        places = (np.concatenate([x[lower], dual]) for x in (rows, p.indices))
        blocks = self.joined[self.elements_of_unknowns()]
        return lower, BlockLDL(blocks, *places), np.full(len(dual), -OPTIONS.regular)

    @property
    def joined(self):
        """The block of factors that each element is in, rising from 0."""
        return np.arange(self.mesh.n_elements) // self.plan.element.elements_per_block

    def elements_of_unknowns(self):
        """The element that each unknown is eliminated with: that before a node, and the first and last at both ends;
        the one after a node for costates where the tests at the last node are left out, and not those at the first."""
        p, last = self.pattern, self.mesh.n_elements - 1
        elements = np.clip(np.searchsorted(p.column_starts, np.arange(self.n_unknowns), side="right") - 2, 0, last)
        if self.plan.element.drop == "end":
            for name, space in self.plan.element.trial.items():
                if name.startswith("costate") and space.continuous:
                    at_nodes = self.columns_of(name)[:-1, -1]
                    elements[at_nodes[at_nodes >= 0]] += 1
        return elements

    def excess(self):
        lower, ldl, regular = self._inertia
        if not ldl.factor(np.concatenate([self.data[lower], regular])):
            return None
        return ldl.negative - len(regular)

    @cached_property
    def _functional(self):
        plan = functional_of(self.plan)
        c, mesh = plan.columns, self.assembler.mesh
        everything = (np.ones(c.n_node, bool),) * 2
        return Assembler(plan, mesh, everything, (np.ones(plan.rows.n_node, bool),) * 2, self.assembler.scaling)

    @cached_property
    def _end_cost(self):
        return end_cost_of(self.problem, self.plan.system.n_z)

    @property
    def objective_size(self):
        """That of the objective in the sizes of costates."""
        return self.assembler.scaling.objective

    def size_of_objective(self, x):
        """What unknowns of size one change it by, to first or second order, at unknowns x."""
        residual, p = self.evaluate(self.with_costates(x, 0)), self.pattern
        rows = np.repeat(np.arange(p.n_rows), np.diff(p.indptr))
        own = (rows == p.indices) & ~self.dual[rows]
        size = self.objective_size * max(np.abs(residual[~self.dual]).sum(), np.abs(self.data[own]).sum() / 2)
        return float(size) if 0 < size < np.inf else 1.0

    def objective(self, x):
        """Integral of the cost and end cost."""
        own = self.integrals(x)
        return self.dot(own, np.ones(len(own))) + self.end_cost(x)

    def own_objective(self, x):
        """What the elements of this process add to the objective, and the last of them the end cost."""
        return self.objective(x)

    def integrals(self, x):
        """Integral of the cost over each element of the slab."""
        return self._functional.evaluate(self.split(x)[1])[0][self.slab[0] - self.first:self.slab[1] - self.first]

    def end_cost(self, x):
        if self.problem.end_cost is None:
            return 0.0
        return float(self._end_cost(self.end(self.split(x)[1])[:self.plan.system.n_z], self.numbers(x))[0][0])

    def numbers(self, x):
        """Unknown numbers of the problem, with free time the duration first."""
        if "constants" not in self._fields:
            return np.zeros(0)
        return self.end(self.split(x)[1])[self._fields["constants"][0]] * self.problem.units


class OptimalityEquations(OptimalityRows, ElementEquations, SaddleEquations):
    """Gradient of the Lagrangian `cost + costates . equations` by unknowns and costates, and its symmetric tangent.

    Its unknowns `x` are all dofs of the elements (states, multipliers, controls, constants, costates), then the
    costates of the conditions at the end. Rows and columns have the same numbers.

    Parameters
    ----------
    again : bool
        They serve several solves, so that symmetric factors, which take longer to prepare than an LU, pay.
    """

    def __init__(self, *arguments, again=False):
        self._again = again
        super().__init__(*arguments)

    def _make_linear(self, linear):
        made = super()._make_linear(linear)
        if self._again and made.name == "chain" and linear.order == "auto" and made.ordering == "time" and \
                SymmetricSolver.fits(self.pattern):
            return SymmetricSolver(self.pattern, self.joined[self.elements_of_unknowns()], made)
        return made

    def excess_of_factors(self):
        negative = getattr(self.linear, "negative", None)
        return None if negative is None else negative - np.count_nonzero(self.dual)

    def factor(self):
        super().factor()
        self.linear.solve_checked(np.ones(self.n_unknowns))  # for `solve` does not


def _is_linear(kernel, dual):
    """Whether no derivative of an equation, the row of a costate, by another unknown depends on such unknowns, for the
    point kernel of an optimality system and which of its slots are costates."""
    first = sum(kernel.n_rows)
    of_equations = [first + i for i, (test, slot, _, _) in enumerate(kernel.entries) if dual[test] and not dual[slot]
                    and np.isnan(kernel.constants[first + i])]
    if not of_equations:
        return True
    entries, inputs = kernel.kernel.function.jac_sparsity(0, 0).get_triplet()
    unknown = np.zeros(kernel.kernel.n_in, bool)
    unknown[:sum(kernel.n_inputs)] = np.repeat(~dual, kernel.n_inputs)
    return not (np.isin(entries, of_equations) & unknown[np.array(inputs, int)]).any()


def ends_of(problem, plan, hold, scaling, known=None):
    """Dofs that take part, and blocks, at the start and at the end; `known` is an `OptimalEnd` with the same end cost.
    """
    free = tuple(np.array(mask) for mask in taking_part(plan, hold, problem.free_start))
    conditions, held = problem.conditions, problem.held
    state = scaling.state * np.repeat(scaling.lifts, len(scaling.state) // 2)
    end = (known and known.of(conditions, held, state, scaling.objective)) or \
        OptimalEnd(plan, conditions, held, problem.terminal, problem.units, state, scaling.objective)
    return Ends(free, free, (EndBlock.none(plan.columns.n_node), end))


def functional_of(plan):
    """The plan of the integral of the cost, of that of an optimality system, kept with it for all meshes."""
    if "functional" not in plan.__dict__:
        plan.functional = ElementPlan(plan.system, Functional(plan.element))
    return plan.functional


def end_cost_of(problem, n_z):
    """The cost at the end as a function of the state there and the unknown numbers."""
    z, numbers = ca.SX.sym("z", n_z), ca.SX.sym("numbers", len(problem.guesses))
    return Buffered(ca.Function("end_cost", [z, numbers], [ca.densify(problem.terminal(z, numbers))]))


class TangentParts:
    """Parts of the tangent of the last evaluation."""

    def __init__(self, equations):
        self._pattern = p = equations.pattern
        self._rows, self._columns = np.repeat(np.arange(p.n_rows), np.diff(p.indptr)), p.indices
        self._values = equations.data

    def _part(self, rows, columns):
        """Places in these rows and columns, and values."""
        p = self._pattern
        row, column = np.full(p.n_rows, -1), np.full(p.n_columns, -1)
        row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
        row, column = row[self._rows], column[self._columns]
        here = (row >= 0) & (column >= 0)
        return row[here], column[here], self._values[here]

    def rows_of(self, columns):
        """Rows with entries in these columns, rising."""
        return np.unique(self._rows[np.isin(self._columns, columns)])

    def factors(self, rows, columns):
        """`ChainLU` of rising rows and columns."""
        i, j, values = self._part(rows, columns)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(rows)))])
        lu = ChainLU(indptr, j, np.searchsorted(columns, self._pattern.column_starts),
                     np.searchsorted(rows, self._pattern.row_starts))
        lu.factor(values)
        return lu

    def sparse(self, rows, columns):
        """Rows and columns, none of them twice, as a `csc_array`."""
        i, j, values = self._part(rows, columns)
        return scipy.sparse.csc_array((values, (i, j)), shape=(len(rows), len(columns)))

    def dense(self, rows, columns):
        """Rows and columns, none of them twice, as a dense matrix."""
        i, j, values = self._part(rows, columns)
        out = np.zeros((len(rows), len(columns)))
        out[i, j] = values
        return out

    def transposed_product(self, rows, columns, right):
        """Their transpose times dense columns, shapes (n_rows, k) -> (n_columns, k)."""
        i, j, values = self._part(rows, columns)
        return np.stack([np.bincount(j, values * b[i], len(columns)) for b in right.T], axis=1)


class DistributedOptimalityEquations(OptimalityRows, DistributedEquations, SaddleEquations):
    """`OptimalityEquations` over the ranks of a communicator; `dual` tells of the unknowns that this rank owns."""


class OptimalitySlab(OptimalityEquations):
    """`OptimalityEquations` on part of a mesh, for the program of a rank; nothing is factored here.

    Unknowns `x` are those of this part; `take` and `gather` turn all unknowns of the mesh into them and back.

    Parameters
    ----------
    whole : tuple
        Problem, plan, mesh and scaling of the whole mesh, as in `OptimalityEquations`.
    comm : mpi4py communicator
        Of the ranks that have parts of the mesh.
    own : (int, int), optional
        Elements that this rank answers for: first, and the one after the last; of phases there may be none besides
        those of the neighbours.

    Attributes
    ----------
    slab : (int, int)
        The elements of the part that this rank answers for: first, and the one after the last.
    first_own : int
        The first of them in the whole mesh.
    """

    def __init__(self, whole, comm, own=None):
        *asked, mesh, scaling = whole
        n, together = mesh.n_elements, asked[1].element.elements_per_block
        if own is None:
            if comm.size * together > n:
                raise InputError(f"{comm.size} ranks cannot share {n} elements: use fewer ranks or more elements")
            own = [min(together * end, n) for end in slab_ends(-(-n // together), comm.size)[comm.rank:comm.rank + 2]]
        self.first_own, last = own
        self._is_last = self.first_own < last == n
        self._part = max(0, self.first_own - 1), min(n, last + 1)
        self._slab = self.first_own - self._part[0], last - self._part[0]
        self.reaches, self._whole = (self._part[0] == 0, self._part[1] == n), mesh
        super().__init__(*asked, mesh.part(*self._part), scaling, "chain")
        self.comm = comm

    def _share(self, ends, linear):
        super()._share(ends, linear)  # how many unknowns the whole mesh has at its ends
        self.slab = self._slab
        inside = ends.inside(self.plan, *self.reaches)
        return replace(inside, kept=inside.free)  # rows of the outermost nodes are there, without what neighbours add

    def _surroundings(self, mesh):
        (first, last), n = self._part, self._whole.n_elements
        before, after = min(first, 1), min(n - last, 1)
        return self._whole.part(first - before, last + after), before, after

    def _make_linear(self, linear):
        return SimpleNamespace(ordering="time order", direct=False, facts={})

    def take(self, x):
        step, (a, b) = self.plan.columns.step, self._part
        dofs, end = np.split(x, [len(x) - self.n_after])
        return np.concatenate([dofs[a * step:b * step + self.plan.columns.n_node], end[:self.blocks[1].n_unknowns]])

    @property
    def joined(self):
        first, together = self._part[0], self.plan.element.elements_per_block
        return np.arange(first, self._part[1]) // together - first // together

    def own_unknowns(self, x):
        """Those of `x` that this rank answers for; of all ranks one behind the other they are all of the mesh."""
        _, dofs, end = self.split(x)
        own = self.own_part(dofs)[self.plan.columns.n_node * (self.first_own > 0 or self.slab[0] == self.slab[1]):]
        return np.concatenate([own, end[:len(end) * self._is_last]])

    def gather(self, x, root=None):
        return np.concatenate(self.comm.allgather(self.own_unknowns(x)))

    def running_sums(self, values):
        own = self.slab
        before = sum(self.comm.allgather(values[own[0]:own[1]].sum(axis=0))[:self.comm.rank])
        return np.cumsum(values, axis=0) - values[:own[0]].sum(axis=0) + before

    def own_objective(self, x):
        return self.integrals(x).sum() + (self.end_cost(x) if self._is_last else 0.0)

    def objective(self, x):
        return OverRanks(self.comm).total(self.own_objective(x))

    @property
    def n_unknowns_of_all(self):
        starts, (a, b) = self.pattern.column_starts, self.slab
        return int(OverRanks(self.comm).total(starts[b + 1] - starts[a + 1 if self.comm.rank else 0]))
