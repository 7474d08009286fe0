"""Optimal control as a nonlinear program in scaled changes of the unknowns."""

import casadi as ca
import numpy as np

from ...solvers.nonlinear.ipopt import callback
from .equations import units
from .path_inequalities import PathRows

SHORTEST = 1e-6  # duration over its guess


class OptimalProgram:
    """The nonlinear program in scaled changes of the unknowns from a first guess."""

    def __init__(self, chain, x, on_iteration=lambda: None):
        self.on_iteration = on_iteration
        self.chain, self.base, self.failure, self._key = chain, chain.with_costates(x, 0), None, None
        self.primal, self.dual = np.flatnonzero(~chain.dual), np.flatnonzero(chain.dual)
        self.n, self.path = len(self.primal), PathRows(chain) if chain.problem.path is not None else None
        n_path = self.path.n_rows if self.path else 0
        self.n_rows = len(self.dual) + n_path
        self.lowest = np.concatenate([np.zeros(len(self.dual)), np.full(n_path, -np.inf)])
        self._patterns(x)

    def _patterns(self, x):
        p, number = self.chain.pattern, np.full(self.chain.n_unknowns, -1)
        number[self.primal] = np.arange(self.n)
        rows = np.repeat(np.arange(p.n_rows), np.diff(p.indptr))
        row, column = number[rows], number[p.indices]
        equation = np.full(self.chain.n_unknowns, -1)
        equation[self.dual] = np.arange(len(self.dual))
        self._of_hessian = np.flatnonzero((row >= 0) & (column >= row))
        self._of_jacobian = np.flatnonzero((equation[rows] >= 0) & (column >= 0))
        hessian = [(row[self._of_hessian], column[self._of_hessian])]
        jacobian = [(equation[rows[self._of_jacobian]], column[self._of_jacobian])]
        if self.path:
            self.path.number(number)
            hessian.append(self.path.hessian_places)
            rows, columns = self.path.jacobian_places
            jacobian.append((rows + len(self.dual), columns))
        self.hessian, self._hessian_slots = _pattern(self.n, self.n, hessian)
        self.jacobian, self._jacobian_slots = _pattern(self.n_rows, self.n, jacobian)

    @property
    def bounds(self):
        """Bounds of the changes, of controls and of the final time."""
        problem, chain = self.chain.problem, self.chain
        lower, upper = np.full(chain.n_unknowns, -np.inf), np.full(chain.n_unknowns, np.inf)
        at = chain.columns_of("controls")
        now, size = chain.scaled(self.base), chain.sizes
        for bound, values in ((lower, problem.bounds[0]), (upper, problem.bounds[1])):
            bound[at] = values / size[at] - now[at]
        if problem.unknown_names:
            at = chain.columns_of("constants")
            limits = problem.number_bounds / units(problem)
            if problem.free_time:
                limits[0, 0] = max(limits[0, 0], SHORTEST)
            lower[at], upper[at] = limits[0] - now[at], limits[1] - now[at]
        return lower[self.primal], upper[self.primal]

    def place(self, change, costates):
        """All unknowns after changes, with scaled costates."""
        step = np.zeros(self.chain.n_unknowns)
        step[self.primal] = change
        step[self.dual] = costates[:len(self.dual)]
        return self.chain.moved(self.base, step, 1.0)

    def _at(self, change, costates):
        """The optimality system at a point, kept for the next question about the same point."""
        key = change.tobytes(), costates.tobytes()
        if self._key != key:
            self.x = self.place(change, costates)
            self.residual, self._key = self.chain.evaluate(self.x), key
            self.data = self.chain.data.copy()
        return self.x

    # ---- what IPOPT asks for

    def _objective(self, v):
        return self.chain.objective(self._at(v, np.zeros(len(self.dual))))

    def _gradient(self, v):
        self._at(v, np.zeros(len(self.dual)))
        return self.residual[self.primal]

    def _rows(self, v):
        x = self._at(v, np.zeros(len(self.dual)))
        rows = self.residual[self.dual]
        return np.concatenate([rows, self.path.values(x)]) if self.path else rows

    def _jacobian(self, v):
        x = self._at(v, np.zeros(len(self.dual)))
        values = [self.data[self._of_jacobian]]
        if self.path:
            values.append(self.path.jacobian(x))
        return np.bincount(self._jacobian_slots, np.concatenate(values), self.jacobian.nnz())

    def _hessian(self, v, factor, costates):  # once in each iteration
        self.on_iteration()
        y, of_path = costates[:len(self.dual)], costates[len(self.dual):]
        x = self._at(v, y / factor if factor else y)
        values = (factor or 1.0) * self.data[self._of_hessian]
        if not factor:  # without the cost, which the system always has
            self._at(v, np.zeros(len(self.dual)))
            values -= self.data[self._of_hessian]
        values = [values]
        if self.path:
            values.append(self.path.hessian(x, of_path))
        return np.bincount(self._hessian_slots, np.concatenate(values), self.hessian.nnz())

    def callbacks(self):
        """CasADi functions of the program, by the names that `nlpsol` gives them."""
        scalar, none = ca.Sparsity.dense(1, 1), ca.Sparsity(0, 0)
        v, rows = ca.Sparsity.dense(self.n, 1), ca.Sparsity.dense(self.n_rows, 1)
        at = [v, none]
        multiplied = [*at, scalar, rows]

        def guarded(function):
            def run(*arguments):
                try:
                    return function(*(np.array(a).ravel() for a in arguments))
                except Exception as error:  # CasADi would turn it into text
                    self.failure = error
                    raise
            return run

        def make(name, inputs, names, outputs, function):
            return callback(name, inputs, names[0], outputs, names[1], guarded(function))

        names = ["x", "p"], ["x", "p", "lam_f", "lam_g"]
        return {
            "nlp": make("nlp", at, (names[0], ["f", "g"]), [scalar, rows],
                        lambda v, p: [self._objective(v), self._rows(v)]),
            "grad_f": make("grad_f", at, (names[0], ["f", "grad_f_x"]), [scalar, v],
                           lambda v, p: [self._objective(v), self._gradient(v)]),
            "jac_g": make("jac_g", at, (names[0], ["g", "jac_g_x"]), [rows, self.jacobian],
                          lambda v, p: [self._rows(v), ca.DM(self.jacobian, self._jacobian(v))]),
            "hess_lag": make("hess_lag", multiplied, (names[1], ["triu_hess_gamma_x_x"]), [self.hessian],
                             lambda v, p, f, g: [ca.DM(self.hessian, self._hessian(v, float(f[0]), g))]),
        }


def _pattern(n_rows, n_columns, places):
    """CasADi sparsity of entries (rows, columns) with repetitions, and the slot of each."""
    rows, columns = (np.concatenate(x).astype(np.int64) for x in zip(*places, strict=True))
    keys, slots = np.unique(columns * n_rows + rows, return_inverse=True)
    columns, rows = np.divmod(keys, n_rows)
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n_columns))])
    return ca.Sparsity(n_rows, n_columns, starts.tolist(), rows.tolist()), slots.ravel()
