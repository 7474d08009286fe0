"""Nonlinear programs by fatrop, in CasADi's wheel, through the program's own entries.

fatrop (Vanroye et al., IROS 2023) needs stages `x_(k+1) = F(x_k, u_k)` with equations and inequalities of each stage on
its own. Stage k is block k: u_k are all its variables, x_k copies of those of block k - 1 that it touches, F the
selection of these, and the rows of the block are equations of the stage.

It takes no multipliers to start from, and its recursion along the stages adds z / s of active bounds to the Hessian:
when mu is small it finds the curvature of minima negative, by rounding, and takes hundreds of small steps. So it solves
to the tolerance `ROUGH` first, and once more from there in variables in which neither matters, see `Centred`.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ... import interrupts, validate
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...status import Reason, Status
from ..interior_point.barrier import inside
from .callbacks import Centred, called, guarded, refused_options, sparsity
from .options import OPTIONS, InteriorPointOptions
from .program import Answer, failed, not_finite, optimality_error, placed

if TYPE_CHECKING:
    from .program import NonlinearProgram


MU, MU_WARM = OPTIONS.fatrop_rough / 11, 1e-4  # slacks times multipliers at the end of that, and near a solution
INFEASIBLE = 3
ENDS = {1: "all iterations were used", 2: "stopped short of the tolerance", INFEASIBLE: "locally infeasible",
        4: "the line search found no step", 5: "no step could be computed"}  # its IpSolverReturnFlag


@frozen
class Fatrop(NamedArguments):
    """fatrop with its own linear algebra of stages, on one process.

    Parameters
    ----------
    tolerance : float
        Of the conditions of optimality, and relative to the objective where that is small.
    max_iterations : int
        Of each of its solves, and of all starts together.
    options : dict, optional
        Further options of fatrop.
    """

    tolerance: float = 1e-9
    max_iterations: int = 1000
    options: dict = field(default_factory=dict, hash=False)

    name, needs_chain, warm_starts, shared = "fatrop", True, False, False

    def __post_init__(self):
        validate.real("tolerance", self.tolerance, positive=True)
        validate.integer("max_iterations", self.max_iterations, minimum=1)

    def solve(self, program: NonlinearProgram) -> Answer:
        """The `Answer` for a `NonlinearProgram`, from its start.

        Raises
        ------
        InputError
            When rows touch a later block, or there is one block only.
        """
        warm, iterations = program.start_multipliers, 0
        if warm is not None:
            v = np.clip(program.start, *program.bounds)
            left = program.gradient_of_lagrangian(v, 1.0, warm)
            found = self._near(program, v, warm, left, MU_WARM * max(1.0, _size(program, v)))
            iterations += found.iterations
        if warm is None or not found.status.success:
            found = self._solve(program, max(self.tolerance, OPTIONS.fatrop_rough))
            iterations += found.iterations
            if found.status.success and self.tolerance < OPTIONS.fatrop_rough:
                found = self._near(program, found.v, found.multipliers, found.bound_multipliers,
                                   MU * max(1.0, _size(program, found.v)))
                iterations += found.iterations
                if not found.status.success:
                    found = self._checked(program, self._solve(program, self.tolerance))
                    iterations += found.iterations
        return replace(found, iterations=iterations)

    def _near(self, program, v, multipliers, bound_multipliers, mu):
        """The answer from near a solution, where products of slacks and multipliers are about mu."""
        near = Centred(program, v, multipliers, bound_multipliers, mu)
        tolerance = self.tolerance * min(1.0, _size(program, v)) * near.factor
        method = replace(self, max_iterations=min(self.max_iterations, OPTIONS.fatrop_near))
        found = method._solve(near, tolerance, mu_init=1.0, lam_max=1e20, constr_viol_tol=self.tolerance,
                              compl_inf_tol=tolerance)
        return self._checked(program, near.answer(found))

    def _checked(self, program, found):
        """The answer, a success only where the conditions of the program itself hold, relative to the objective where
        that is small, and always where they do."""
        if self.tolerance > OPTIONS.fatrop_acceptable:
            return found
        error = optimality_error(program, found.v, 1.0, found.multipliers)
        error /= max(1.0, np.abs(found.multipliers).mean() / 100)
        if found.status.success and not error <= OPTIONS.fatrop_unsolved:
            detail = f"fatrop stopped where the conditions of optimality are missed by {error:.1e}"
            return replace(found, status=failed(program, found.v, Reason.NOT_CONVERGED, [], detail))
        if not found.status.success and error <= OPTIONS.fatrop_acceptable * min(1.0, _size(program, found.v)):
            return replace(found, status=Status(True, message=f"converged to {OPTIONS.fatrop_acceptable:g} only"))
        return found

    def _solve(self, program, tolerance, **options):
        first = inside(program.start, *program.bounds, InteriorPointOptions.push)
        if not_finite(program, first) is not None:  # it would look for a step for ever
            status = failed(program, first, Reason.NOT_FINITE, [], "fatrop, at the first iterate")
            return Answer(first, np.zeros(program.n_rows), np.zeros(program.n), status, 0)
        stages = _Stages(program)
        x = ca.MX.sym("x", stages.n)
        f, g = stages.function(x)
        options = {"structure_detection": "manual", **stages.structure, "print_time": False, "error_on_fail": False,
                   "show_eval_warnings": False, "equality": stages.equality.tolist(),
                   "fatrop": {"print_level": 0, "tolerance": tolerance, "max_iter": self.max_iterations, **options,
                              **self.options}}
        solver = ca.nlpsol("timefem", "fatrop", {"x": x, "f": f, "g": g}, options)
        try:
            result = solver(**stages.arguments())
        except RuntimeError as error:
            if isinstance(stages.failure, interrupts.Interrupted):
                return stages.stopped()
            raise stages.failure or refused_options("Fatrop", self.options, error) from None
        stats = solver.stats()
        v = np.array(result["x"]).ravel()[stages.variables]
        y = np.array(result["lam_g"]).ravel()[stages.rows]
        z = np.array(result["lam_x"]).ravel()[stages.variables]
        if stats["success"]:
            status = Status(True)
        else:
            flag = stats["fatrop"]["return_flag"]
            status = failed(program, v, Reason.INFEASIBLE if flag == INFEASIBLE else Reason.NOT_CONVERGED, [],
                            f"fatrop: {ENDS.get(flag, 'stopped by an error')}")
        return Answer(v, y, -z, status, int(stats["iter_count"]))


def _size(program, v):
    """Of the objective, by its slopes where it is zero."""
    return max(abs(program.objective(v)), np.abs(program.gradient(v)).max(initial=0.0), 1 / OPTIONS.most_enlarged)


class _Stages:
    """A program in stages, with its derivatives as CasADi functions.

    Attributes
    ----------
    variables, rows : ndarray of int
        Place of each variable and row of the program in the stages.
    """

    def __init__(self, program):
        self.program, self.failure, self.iterations = program, None, 0
        self._last = np.clip(program.start, *program.bounds), np.zeros(program.n_rows)
        (rows, columns), (first, second) = program.jacobian_places, program.hessian_places
        blocks, of_rows = program.variable_blocks, program.row_blocks
        n_blocks = int(blocks.max()) + 1
        back = of_rows[rows] - blocks[columns]
        far = rows[(back < 0) | (back > 1)]
        if len(far) or n_blocks < 2:
            what = f"row {far[0]} touches further elements" if len(far) else "there is one element only"
            raise InputError(f"fatrop takes stages, each tied to the one before only, but {what}; take more elements "
                             "of MixedGalerkin, or another method")
        held = np.zeros(program.n, bool)
        held[columns[blocks[columns] < of_rows[rows]]] = True
        apart = blocks[first] != blocks[second]
        held[np.where(blocks[first] < blocks[second], first, second)[apart]] = True
        counts = np.bincount(blocks, minlength=n_blocks)
        states = np.concatenate([[0], np.bincount(blocks[held], minlength=n_blocks)[:-1]])
        n_rows = np.bincount(of_rows, minlength=n_blocks)
        following = np.append(states[1:], 0)
        starts = np.cumsum(np.concatenate([[0], states + counts]))
        row_starts = np.cumsum(np.concatenate([[0], following + n_rows]))
        self.n, self.n_rows = int(starts[-1]), int(row_starts[-1])
        self.variables = placed(blocks, starts + np.append(states, 0))
        self.rows = placed(of_rows, row_starts + np.append(following, 0))
        kept = np.flatnonzero(held & (blocks < n_blocks - 1))
        copies = np.full(program.n, -1)
        copies[kept] = placed(blocks[kept], starts[1:])
        self._copied, self._copies, self._ties = self.variables[kept], copies[kept], placed(blocks[kept], row_starts)
        self.structure = {"N": n_blocks - 1, "nx": states.tolist(), "nu": counts.tolist(), "ng": n_rows.tolist()}
        lower, upper = program.row_bounds
        self.equality = np.ones(self.n_rows, bool)
        self.equality[self.rows] = lower == upper
        self._derivatives(copies)

    def _derivatives(self, copies):
        p, ties = self.program, np.tile(self._ties, 2)
        rows, columns = p.jacobian_places
        before = p.variable_blocks[columns] < p.row_blocks[rows]
        at = np.where(before, copies[columns], self.variables[columns])
        self._jacobian, self._jacobian_order = sparsity(self.n_rows, self.n, (
            np.concatenate([self.rows[rows], ties]), np.concatenate([at, self._copies, self._copied])))
        self._tied = np.repeat([1.0, -1.0], len(self._ties))
        first, second = p.hessian_places
        a, b = (p.variable_blocks[x] for x in (first, second))
        i = np.where(a < b, copies[first], self.variables[first])
        j = np.where(b < a, copies[second], self.variables[second])
        self._beside = np.flatnonzero(first != second)
        self._hessian, self._hessian_order = sparsity(self.n, self.n, (
            np.concatenate([i, j[self._beside]]), np.concatenate([j, i[self._beside]])))

    def arguments(self):
        """Start and bounds."""
        p, x0, lbx, ubx = self.program, np.zeros(self.n), np.full(self.n, -np.inf), np.full(self.n, np.inf)
        x0[self.variables] = np.clip(p.start, *p.bounds)
        x0[self._copies] = x0[self._copied]
        lbx[self.variables], ubx[self.variables] = p.bounds
        lbg, ubg = np.zeros(self.n_rows), np.zeros(self.n_rows)
        lbg[self.rows], ubg[self.rows] = p.row_bounds
        return {"x0": x0, "lbx": lbx, "ubx": ubx, "lbg": lbg, "ubg": ubg}

    def stopped(self):
        """The answer where a signal asked to stop: the last iterate, since CasADi gives none."""
        interrupts.answer()
        v, multipliers = self._last
        status = failed(self.program, v, Reason.STOPPED, [], "at the last iterate of fatrop")
        return Answer(v, multipliers, np.zeros_like(v), status, self.iterations)

    # ---- values and derivatives at x

    def _values(self, x):
        rows = np.zeros(self.n_rows)
        rows[self._ties] = x[self._copies] - x[self._copied]
        rows[self.rows] = self.program.rows(x[self.variables])
        return [self.program.objective(x[self.variables]), rows]

    def _gradient(self, x):
        gradient = np.zeros(self.n)
        gradient[self.variables] = self.program.gradient(x[self.variables])
        return gradient

    def _matrix(self, x):
        entries = np.concatenate([self.program.jacobian(x[self.variables]), self._tied])
        return ca.DM(self._jacobian, entries[self._jacobian_order])

    def _curvature(self, x, factor, multipliers):
        v, y = self._last = x[self.variables], multipliers[self.rows]
        self.iterations += 1
        self.program.on_iteration(optimality_error(self.program, v, float(factor[0]), y))
        entries = self.program.hessian(v, float(factor[0]), y)
        return ca.DM(self._hessian, np.concatenate([entries, entries[self._beside]])[self._hessian_order])

    def function(self, x):
        """Objective and rows of CasADi symbols, with derivatives that ask the program."""
        v, f, g, none = ca.Sparsity.dense(self.n, 1), ca.Sparsity.dense(1, 1), ca.Sparsity.dense(self.n_rows, 1), \
            ca.Sparsity
        across = self._jacobian.T
        of_gradient = [self._hessian, none(self.n, 1), none(self.n, self.n_rows), v, across]

        def second(x, f, g, factor, y, out):
            return [self._curvature(x, factor, y), ca.DM(self.n, 1), ca.DM(self.n, self.n_rows), self._gradient(x),
                    self._matrix(x).T]

        def lagrangian(x, f, g, factor, y):
            return [factor[0] * self._gradient(x) + np.array(self._matrix(x).T @ ca.DM(y)).ravel()]

        def first(x, f, g):
            return [ca.DM(self._gradient(x)).T, self._matrix(x)]

        gradient = {"inputs": [v, f, g, f, g], "outputs": [v], "function": guarded(self, lagrangian), "jacobian": {
            "inputs": [v, f, g, f, g, v], "outputs": of_gradient, "function": guarded(self, second)}}
        return called({"inputs": [v], "outputs": [f, g], "function": guarded(self, self._values), "reverse": gradient,
                       "jacobian": {"inputs": [v, f, g], "outputs": [v.T, self._jacobian],
                                    "function": guarded(self, first)}}, "program", ["x"], ["f", "g"], self)(x)
