"""Both ends of the optimality system: which dofs take part there, and what the end of the time span adds."""

from copy import copy

import casadi as ca
import numpy as np

from .... import sparse
from ....kernels.compile import Buffered
from ....solvers.equations.ends import EndBlock
from ..options import OPTIONS


class OptimalEnd(EndBlock):
    """Conditions at the end with their costates, and the gradient of end cost and conditions by the node.

    The conditions are combinations C of formulas c, so that `y . C c = (C^T y) . c`: one function serves all problems
    whose C, and what is wanted in c, differ in numbers only.

    Parameters
    ----------
    plan : ElementPlan
    conditions : EndConditions
    held : ndarray or None
        Combinations of the conditions that no actuator moves.
    terminal : callable
        `terminal(z, numbers)` -> the end cost in symbols.
    units : ndarray
        Of the unknown numbers.
    state : ndarray, shape (n_z,)
        Sizes of the state: by states of these sizes rows have gradients of one.
    objective : float
        Its size, by which costates are larger.
    """

    def __init__(self, plan, conditions, held, terminal, units, state, objective=1.0):
        n = plan.columns.n_node
        places = constants_of(plan)
        self._formulas = conditions.formulas
        node, costates = ca.SX.sym("node", n), ca.SX.sym("costates", len(self._formulas.names))
        wanted = ca.SX.sym("wanted", self._formulas.n_wanted)
        z, numbers = node[:plan.system.n_z], (node[places] if places else ca.SX(0, 1)) * units
        rows = self._formulas.function(z, numbers, wanted)
        total, x = terminal(z, numbers) + ca.dot(costates, rows), ca.vertcat(node, costates)
        values = ca.densify(ca.vertcat(ca.gradient(ca.SX(total), node), rows))
        jacobian = ca.jacobian(values, x)
        self._function = Buffered(ca.Function("end", [x, wanted], [ca.vertcat(values, *jacobian.nonzeros())]))
        self._state, self._objective = state, objective
        self._places, self.n_node_rows = [np.array(i, int) for i in jacobian.sparsity().get_triplet()], n
        self._take(conditions, held)

    def of(self, conditions, held, state, objective):
        """The block for other conditions, None where these differ in more than numbers."""
        if conditions.formulas is not self._formulas:
            return None
        other = copy(self)
        other._state, other._objective = state, objective
        other._take(conditions, held)
        return other

    def _take(self, conditions, held):
        c = conditions
        self._wanted = c.wanted
        self._combinations = c.combinations.reshape(len(c.combinations), len(c.names))
        self.n_unknowns = self.n_rows = len(self._combinations)
        gradient = c.formulas.with_gradient(c.state, c.numbers, c.wanted)[1][:, :len(c.state)]
        lengths = np.linalg.norm(self._combinations @ (gradient * self._state), axis=1)
        self.weights = 1 / np.where(lengths > 0, lengths, 1.0)
        self.sizes = self._objective * self.weights
        # nothing else determines these
        self._held = None if held is None else OPTIONS.held_by * (held @ held.T) / np.outer(self.weights, self.sizes)
        self._spread = self._of_function()

    @property
    def has_linear_conditions(self):
        """Whether those formulas are linear in state and numbers that the conditions combine."""
        *unknowns, wanted = self._formulas.function.sx_in()
        curved = ca.which_depends(self._formulas.function(*unknowns, wanted), ca.vertcat(*unknowns), 2, True)
        return not self._combinations[:, np.array(curved, bool)].any()

    def _of_function(self):
        """Rows and Jacobian without the function, and where its results go, from where, with which factors: rows are
        P values, and the Jacobian is P jacobian P^T, where P leaves rows of the node and combines conditions."""
        n, m, k = self.n_node_rows, *self._combinations.shape
        combined = np.zeros((n + m, n + k))
        combined[:n, :n], combined[n:, n:] = np.eye(n), self._combinations
        rows, columns = self._places
        slots, sources = np.nonzero(combined)
        entry, i = np.nonzero(combined[:, rows].T)
        pair, j = np.nonzero(combined[:, columns[entry]].T)
        entry, i = entry[pair], i[pair]
        start = np.zeros((1 + n + m, n + m))
        start[1 + n:, n:] = 0.0 if self._held is None else -self._held
        return (start, np.concatenate([slots, (1 + i) * (n + m) + j]), np.concatenate([sources, n + k + entry]),
                np.concatenate([combined[slots, sources], combined[i, rows[entry]] * combined[j, columns[entry]]]))

    def __call__(self, x):
        n, (start, *places) = self.n_node_rows, self._spread
        values, = self._function(np.concatenate([x[:n], x[n:] @ self._combinations]), self._wanted)
        out = start.copy()
        sparse.add_spread(*places, values, out.ravel())
        if self._held is not None:
            out[0, n:] -= self._held @ x[n:]
        return out[0], out[1:]


def constants_of(plan):
    """Places of the constants in the dofs of a node."""
    names = list(plan.element.trial)
    return plan.columns.fields[names.index("constants")][0].tolist() if "constants" in names else []


def taking_part(plan, hold, free_start):
    """Dofs, and rows, of the first and the last node that take part.

    At the start all fields of the motion are prescribed, unless the state is free there; tests there are left out, with
    their costates; with `drop="end"` those at the end instead. Constants are free.
    """
    free = np.zeros(plan.columns.n_node, bool), np.ones(plan.columns.n_node, bool)
    at_end = plan.element.drop == "end"
    for (name, space), field in zip(plan.element.trial.items(), plan.columns.fields, strict=True):
        if not space.continuous:
            continue
        if name == "constants":
            free[0][field[0]] = not hold
        elif name in ("state", "velocity"):
            free[0][field[0]] = free_start
        elif name.startswith("costate") and at_end:
            free[0][field[0]], free[1][field[0]] = True, False
    return free
