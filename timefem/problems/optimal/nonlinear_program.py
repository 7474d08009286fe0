"""Optimal control as a nonlinear program in scaled changes of the unknowns."""

import numpy as np

from ...solvers.nonlinear.program import NonlinearProgram, Row
from .equations import units
from .limit_rows import LimitRows

SHORTEST = 1e-6  # duration over its guess
EQUATIONS = {"state": "an equation of motion", "multipliers": "a constraint", "constants": "an unknown number's rate"}


class OptimalProgram(NonlinearProgram):
    """The nonlinear program in scaled changes of the unknowns from a first guess.

    Its equations, their Jacobian and the Hessian of the Lagrangian are blocks of the residual and of the tangent of the
    chain, so that nothing is differentiated again. Rows are the equations, in the order of their costates, then the
    limits, one after the other and point by point.

    Parameters
    ----------
    chain : OptimalityEquations
    x : ndarray
        Unknowns from which changes are counted.
    on_iteration : callable
    warm : bool
        Whether x is close to a solution, costates included.
    """

    def __init__(self, chain, x, on_iteration=lambda: None, warm=False):
        self.on_iteration = on_iteration
        self.chain, self.base, self._key, self._expected = chain, chain.with_costates(x, 0), None, None
        self.primal, self.dual = np.flatnonzero(~chain.dual), np.flatnonzero(chain.dual)
        self.n, self.n_equations = len(self.primal), len(self.dual)
        self.limits = [LimitRows(chain, limit) for limit in chain.problem.limits]
        self._limit_starts = np.cumsum([self.n_equations, *(limit.n_rows for limit in self.limits)]).tolist()
        self.n_rows = self._limit_starts[-1]
        self.start = np.zeros(self.n)
        if warm:
            self.start_multipliers = np.concatenate([chain.scaled(x)[self.dual],
                                                     np.zeros(self.n_rows - self.n_equations)])
        self._places()
        self._blocks()
        none = np.zeros(self.n_equations)
        self.row_bounds = tuple(np.concatenate([none, *bounds]) for bounds in (
            [limit.lower for limit in self.limits], [limit.upper for limit in self.limits]))
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
        if self.limits:
            self._places_of_limits(number)

    def _places_of_limits(self, number):
        places, first_row = [self.jacobian_places], self.n_equations
        keys = [self.hessian_places[0] * self.n + self.hessian_places[1]]
        for limit in self.limits:
            limit.number(number)
            rows, columns = limit.jacobian_places
            places.append((rows + first_row, columns))
            first_row += limit.n_rows
            keys.append(limit.hessian_places[0] * self.n + limit.hessian_places[1])
        self.jacobian_places = tuple(np.concatenate(x) for x in zip(*places, strict=True))
        of_limits = np.concatenate(keys[1:])
        keys = np.concatenate([keys[0], np.setdiff1d(of_limits, keys[0])])
        order = np.argsort(keys)
        self._limit_slots = order[np.searchsorted(keys, of_limits, sorter=order)]
        self.hessian_places = np.divmod(keys, self.n)

    def _blocks(self):
        """One block per element; the first has the first node as well, and the last the conditions at the end."""
        block = np.searchsorted(self.chain.pattern.column_starts, np.arange(self.chain.n_unknowns), side="right") - 2
        block = np.clip(block, 0, self.chain.mesh.n_elements - 1)
        self.variable_blocks, self.row_blocks = block[self.primal], block[self.dual]
        self.row_blocks = np.concatenate([self.row_blocks, *(limit.elements for limit in self.limits)])

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
        return np.concatenate([rows, *(limit.values(x) for limit in self.limits)]) if self.limits else rows

    def jacobian(self, v):
        x = self._at(v)
        values = self.data[self._of_jacobian]
        return np.concatenate([values, *(limit.jacobian(x) for limit in self.limits)]) if self.limits else values

    def hessian(self, v, factor, multipliers):
        y = multipliers[:self.n_equations]
        x = self._at(v, y / factor if factor else y)
        values = (factor or 1.0) * self.data[self._of_hessian]
        if not factor:  # without the cost, which the system always has
            self._at(v, np.zeros(self.n_equations))
            values -= self.data[self._of_hessian]
        if self.limits:
            values = np.concatenate([values, np.zeros(len(self.hessian_places[0]) - len(values))])
            added = [limit.hessian(x, multipliers[start:start + limit.n_rows])
                     for limit, start in zip(self.limits, self._limit_starts, strict=False)]
            values += np.bincount(self._limit_slots, np.concatenate(added), len(values))
        return values

    def describe(self, i):
        chain, problem, x = self.chain, self.chain.problem, self.x
        if i >= self.n_equations:
            k = int(np.searchsorted(self._limit_starts, i, side="right")) - 1
            element, t, name = self.limits[k].describe(i - self._limit_starts[k])
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
