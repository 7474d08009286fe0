"""Optimal control as a nonlinear program in scaled changes of the unknowns."""

import numpy as np

from ...solvers.nonlinear.program import NonlinearProgram, Row
from .equations import units
from .path_inequalities import PathRows

SHORTEST = 1e-6  # duration over its guess
EQUATIONS = {"state": "an equation of motion", "multipliers": "a constraint", "constants": "an unknown number's rate"}


class OptimalProgram(NonlinearProgram):
    """The nonlinear program in scaled changes of the unknowns from a first guess.

    Its equations, their Jacobian and the Hessian of the Lagrangian are blocks of the residual and of the tangent of the
    chain, so that nothing is differentiated again. Rows are the equations, in the order of their costates, then the
    path inequalities, point by point.

    Parameters
    ----------
    chain : OptimalChain
    x : ndarray
        Unknowns from which changes are counted; the costates do not count.
    on_iteration : callable
    """

    def __init__(self, chain, x, on_iteration=lambda: None):
        self.on_iteration = on_iteration
        self.chain, self.base, self._key, self._expected = chain, chain.with_costates(x, 0), None, None
        self.primal, self.dual = np.flatnonzero(~chain.dual), np.flatnonzero(chain.dual)
        self.n, self.n_equations = len(self.primal), len(self.dual)
        self.path = PathRows(chain) if chain.problem.path is not None else None
        self.n_rows = self.n_equations + (self.path.n_rows if self.path else 0)
        self.start = np.zeros(self.n)
        self._places()
        self._blocks()
        self.row_bounds = np.zeros(self.n_rows), np.zeros(self.n_rows)
        self.row_bounds[0][self.n_equations:] = -np.inf
        self.bounds = self._bounds()

    def _places(self):
        p, number = self.chain.pattern, np.full(self.chain.n_unknowns, -1)
        number[self.primal] = np.arange(self.n)
        rows = np.repeat(np.arange(p.n_rows), np.diff(p.indptr))
        row, column = number[rows], number[p.indices]
        equation = np.full(self.chain.n_unknowns, -1)
        equation[self.dual] = np.arange(self.n_equations)
        self._of_hessian = np.flatnonzero((row >= 0) & (column >= row))
        self._of_jacobian = np.flatnonzero((equation[rows] >= 0) & (column >= 0))
        self.hessian_places = row[self._of_hessian], column[self._of_hessian]
        self.jacobian_places = equation[rows[self._of_jacobian]], column[self._of_jacobian]
        if self.path:
            self.path.number(number)
            rows, columns = self.path.jacobian_places
            self.jacobian_places = tuple(np.concatenate(pair) for pair in zip(
                self.jacobian_places, (rows + self.n_equations, columns), strict=True))
            keys = [first * self.n + second for first, second in (self.hessian_places, self.path.hessian_places)]
            added = np.setdiff1d(keys[1], keys[0])
            keys[0] = np.concatenate([keys[0], added])
            order = np.argsort(keys[0])
            self._path_slots = order[np.searchsorted(keys[0], keys[1], sorter=order)]
            self.hessian_places = np.divmod(keys[0], self.n)

    def _blocks(self):
        """One block per element; the first has the first node as well, and the last the conditions at the end."""
        block = np.searchsorted(self.chain.pattern.column_starts, np.arange(self.chain.n_unknowns), side="right") - 2
        block = np.clip(block, 0, self.chain.mesh.n_elements - 1)
        self.variable_blocks, self.row_blocks = block[self.primal], block[self.dual]
        if self.path:
            self.row_blocks = np.concatenate([self.row_blocks, self.path.elements])

    def _bounds(self):
        """Bounds of the changes, of controls and of unknown numbers, which have them at the first node only."""
        problem, chain = self.chain.problem, self.chain
        lower, upper = np.full(chain.n_unknowns, -np.inf), np.full(chain.n_unknowns, np.inf)
        at = chain.columns_of("controls")
        now, size = chain.scaled(self.base), chain.sizes
        for bound, values in ((lower, problem.bounds[0]), (upper, problem.bounds[1])):
            bound[at] = values / size[at] - now[at]
        if problem.unknown_names:
            at = chain.columns_of("constants")[0, 0]
            limits = problem.number_bounds / units(problem)
            if problem.free_time:
                limits[0, 0] = max(limits[0, 0], SHORTEST)
            lower[at], upper[at] = limits / size[at] - now[at]
        return lower[self.primal], upper[self.primal]

    def place(self, change, costates):
        """All unknowns after changes, with scaled costates."""
        step = np.zeros(self.chain.n_unknowns)
        step[self.primal] = change
        step[self.dual] = costates[:self.n_equations]
        return self.chain.moved(self.base, step, 1.0)

    def _at(self, v, costates=None):
        """The optimality system at v, kept for the next question; with any costates unless they are given."""
        key = v.tobytes()
        if costates is None and self._key is not None and key == self._key[0]:
            return self.x
        if costates is None:
            expected, self._expected = self._expected, None
            costates = expected[1] if expected and expected[0] == key else np.zeros(self.n_equations)
        key = key, costates.tobytes()
        if self._key != key:
            self.x, self._costates = self.place(v, costates), costates
            self.residual, self._key = self.chain.evaluate(self.x), key
            self.data = self.chain.data
        return self.x

    def expect(self, v, factor, multipliers):
        y = multipliers[:self.n_equations]
        self._expected = v.tobytes(), y / factor if factor else y.copy()

    def objective(self, v):
        return self.chain.objective(self._at(v))

    def gradient(self, v):
        self._at(v)
        gradient = self.residual[self.primal]
        if self._costates.any():  # the residual is the gradient of the Lagrangian
            rows, columns = (places[:len(self._of_jacobian)] for places in self.jacobian_places)
            weights = self.data[self._of_jacobian] * self._costates[rows]
            gradient = gradient - np.bincount(columns, weights, self.n)
        return gradient

    def rows(self, v):
        x = self._at(v)
        rows = self.residual[self.dual]
        return np.concatenate([rows, self.path.values(x)]) if self.path else rows

    def jacobian(self, v):
        x = self._at(v)
        values = self.data[self._of_jacobian]
        return np.concatenate([values, self.path.jacobian(x)]) if self.path else values

    def hessian(self, v, factor, multipliers):
        y, of_path = multipliers[:self.n_equations], multipliers[self.n_equations:]
        x = self._at(v, y / factor if factor else y)
        values = (factor or 1.0) * self.data[self._of_hessian]
        if not factor:  # without the cost, which the system always has
            self._at(v, np.zeros(self.n_equations))
            values -= self.data[self._of_hessian]
        if self.path:
            values = np.concatenate([values, np.zeros(len(self.hessian_places[0]) - len(values))])
            values += np.bincount(self._path_slots, self.path.hessian(x, of_path), len(values))
        return values

    def describe(self, i):
        chain, problem, x = self.chain, self.chain.problem, self.x
        if i >= self.n_equations:
            element, t, name = self.path.describe(i - self.n_equations)
        else:
            element, name = int(self.row_blocks[i]), "an equation"
            t = chain.mesh.nodes[element]
            of_end = i - (self.n_equations - chain.blocks[1].n_unknowns)
            if of_end >= 0:
                t = chain.mesh.nodes[-1]
                combination = np.abs(problem.conditions.combinations[of_end])
                name = f"the {problem.conditions.names[int(np.argmax(combination))]} at the end"
            for field, told in EQUATIONS.items():
                costate = f"costate of {field}"
                if costate in chain.plan.element.trial and np.any(chain.columns_of(costate) == self.dual[i]):
                    name = told
        t0, t1 = problem.t_span
        stretch = chain.numbers(x)[0] / (t1 - t0) if problem.free_time else 1.0
        return Row(name, element, float(t0 + (t - t0) * stretch))
