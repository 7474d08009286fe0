"""The optimality system of an optimal control problem on elements in time order."""

from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from ...assembly import Assembler
from ...elements.augmented.optimality import Functional
from ...elements.evaluation.plan import ElementPlan
from ...solvers.equations.distributed import DistributedEquations
from ...solvers.equations.elements import ElementEquations
from ...solvers.equations.ends import EndBlock, Ends
from ...solvers.equations.nonlinear import SaddleEquations


class _OptimalityRows:
    """What the optimality system has besides its equations, on one process or shared.

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
        self.problem, self._hold = problem, hold
        super().__init__(plan, mesh, scaling, _ends(problem, plan, hold), linear, **shared)
        c, n_elements = self.plan.columns, self.last - self.first
        self._dual = np.zeros(c.n_node + n_elements * c.step, bool)
        self._fields = dict(zip(self.plan.element.trial, c.fields, strict=True))
        for name, field in self._fields.items():
            if name.startswith("costate"):
                self._dual[c.step * np.arange(n_elements)[:, None, None] + field] = True
        dual = np.concatenate([self._dual[self.assembler.pattern.column_index],
                               np.ones(self.blocks[1].n_unknowns, bool)])
        self.dual = dual[self._own_columns]

    def renew_for(self, problem, mesh, scaling):
        """`renew`, for a problem that differs in numbers."""
        if not self.renew(mesh, scaling, _ends(problem, self.plan, self._hold)):
            return False
        self.problem = problem
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
        number = np.full(len(self._dual), -1)
        number[index] = np.arange(len(number[index]))
        return number[c.step * np.arange(self.mesh.n_elements)[:, None, None] + self._fields[name]]

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
        by_costates = self.matrix()[:, -n:].tocsr()
        rows = np.flatnonzero(np.diff(by_costates.indptr))
        self.split(x)[2][:] = np.linalg.lstsq(by_costates[rows].toarray(), -gradient[rows], rcond=None)[0]
        return x

    def nodal(self, x, name):
        """Nodal values of a field at unknowns `x`, shape (n_elements, n_shapes, n_components)."""
        return self.split(x)[1][self.places_of(name)]

    def places_of(self, name):
        """Places of the nodal values of a field among the dofs of the elements, shaped as these."""
        return self.plan.columns.step * np.arange(self.last - self.first)[:, None, None] + self._fields[name]

    def matrix(self):
        """The tangent of the last evaluation, CSR."""
        p = self.pattern
        return scipy.sparse.csr_matrix((self.data, p.indices, p.indptr), shape=(p.n_rows, p.n_columns))

    @cached_property
    def _functional(self):
        plan = self.plan.__dict__.get("functional") or ElementPlan(self.plan.system, Functional(self.plan.element))
        self.plan.functional = plan  # as good for other meshes
        c, mesh = plan.columns, self.assembler.mesh
        everything = (np.ones(c.n_node, bool),) * 2
        return Assembler(plan, mesh, everything, (np.ones(plan.rows.n_node, bool),) * 2, self.assembler.scaling)

    @cached_property
    def _end_cost(self):
        z, numbers = ca.SX.sym("z", self.plan.system.n_z), ca.SX.sym("numbers", len(self.problem.guesses))
        return ca.Function("end_cost", [z, numbers], [self.problem.terminal(z, numbers)])

    def objective(self, x):
        """Integral of the cost and end cost."""
        dofs = self.split(x)[1]
        own = self._functional.evaluate(dofs)[0][self.slab[0] - self.first:self.slab[1] - self.first]
        z = self.end(dofs)[:self.plan.system.n_z]
        return self.dot(own, np.ones(len(own))) + float(self._end_cost(z, self.numbers(x)))

    def numbers(self, x):
        """Unknown numbers of the problem, with free time the duration first."""
        if "constants" not in self._fields:
            return np.zeros(0)
        return self.end(self.split(x)[1])[self._fields["constants"][0]] * self.problem.units


class OptimalityEquations(_OptimalityRows, ElementEquations, SaddleEquations):
    """Gradient of the Lagrangian `cost + costates . equations` by unknowns and costates, and its symmetric tangent.

    Its unknowns `x` are all dofs of the elements (states, multipliers, controls, constants, costates), then the
    costates of the conditions at the end. Rows and columns have the same numbers.
    """


class DistributedOptimalityEquations(_OptimalityRows, DistributedEquations, SaddleEquations):
    """`OptimalityEquations` over the ranks of a communicator; `dual` tells of the unknowns that this rank owns."""


def _ends(problem, plan, hold):
    """Dofs that take part, and blocks, at the start and at the end."""
    free = tuple(np.array(mask) for mask in _free(plan, hold, problem.free_start))
    return Ends(free, free, (EndBlock.none(plan.columns.n_node), _end_block(problem, plan)))


def _free(plan, hold, free_start):
    """Dofs, and rows, of the first and the last node that take part.

    At the start all fields of the motion are prescribed, unless the state is free there; tests there are left out, with
    their costates; with `drop="end"` those at the end instead. Constants are free.
    """
    free = np.zeros(plan.columns.n_node, bool), np.ones(plan.columns.n_node, bool)
    at_end = getattr(plan.element, "drop", "start") == "end"
    for (name, space), field in zip(plan.element.trial.items(), plan.columns.fields, strict=True):
        if not space.continuous:
            continue
        if name == "constants":
            free[0][field[0]] = not hold
        elif name == "state":
            free[0][field[0]] = free_start
        elif name.startswith("costate") and at_end:
            free[0][field[0]], free[1][field[0]] = True, False
    return free


def _constants(plan):
    """Places of the constants in the dofs of a node."""
    names = list(plan.element.trial)
    return plan.columns.fields[names.index("constants")][0].tolist() if "constants" in names else []


def _end_block(problem, plan):
    """Conditions at the end with their costates, and the gradient of end cost and conditions by the node."""
    node = ca.SX.sym("node", plan.columns.n_node)
    places = _constants(plan)
    numbers = (node[places] if places else ca.SX(0, 1)) * problem.units
    z = node[:plan.system.n_z]
    rows = problem.conditions(z, numbers)
    costates = ca.SX.sym("costates", rows.numel())
    total = problem.terminal(z, numbers) + ca.dot(costates, rows)
    return EndBlock(node, costates, rows, ca.gradient(ca.SX(total), node),
                    weights=np.ones(rows.numel()))  # conditions have rows of unit gradient already
