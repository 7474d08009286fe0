"""Nonlinear programs by the interior-point method IPOPT, in CasADi's wheel, through the program's own entries.

Nothing is differentiated again: IPOPT asks the program for its entries by callbacks.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ... import interrupts, validate
from ...errors import NamedArguments
from ...parallel import OverRanks
from ...records import frozen
from ...status import Reason, Status
from .callbacks import called, guarded, refused_options, solved_enlarged, sparsity
from .program import Answer, failed, optimality_error, signs_of

if TYPE_CHECKING:
    from .program import NonlinearProgram


REASONS = {"Infeasible_Problem_Detected": Reason.INFEASIBLE, "Diverging_Iterates": Reason.UNBOUNDED,
           "Maximum_Iterations_Exceeded": Reason.NOT_CONVERGED, "Restoration_Failed": Reason.INFEASIBLE,
           "Invalid_Number_Detected": Reason.NOT_FINITE}

# Near a solution, as the own method starts there: else each stage of a path of problems leaves it again
WARM = {"warm_start_init_point": "yes", "mu_init": 1e-4, "warm_start_bound_push": 1e-2, "warm_start_bound_frac": 1e-2,
        "warm_start_slack_bound_push": 1e-2, "warm_start_slack_bound_frac": 1e-2, "warm_start_mult_bound_push": 1e-6}


@frozen
class Ipopt(NamedArguments):
    """IPOPT (Waechter & Biegler, Math. Program. 106 (2006)) with its own sparse linear solver, on one process.

    Parameters
    ----------
    tolerance : float
        `tol` of IPOPT: of the scaled conditions of optimality.
    max_iterations : int
    options : dict, optional
        Further options of IPOPT, such as `{"mu_strategy": "adaptive"}`.
    """

    tolerance: float = 1e-9
    max_iterations: int = 1000
    options: dict = field(default_factory=dict, hash=False)

    name, warm_starts, shared = "ipopt", False, False

    def __post_init__(self):
        validate.real("tolerance", self.tolerance, positive=True)
        validate.integer("max_iterations", self.max_iterations, minimum=1)

    def solve(self, program: NonlinearProgram) -> Answer:
        """The `Answer` for a `NonlinearProgram`, from its start."""
        return solved_enlarged(self._solve, program)

    def _solve(self, program):
        callbacks, warm = _Callbacks(program), program.start_multipliers
        functions = callbacks.functions()
        options = {name: functions[name] for name in ("grad_f", "jac_g", "hess_lag")}
        options |= {"ipopt": {"print_level": 0, "sb": "yes", "tol": self.tolerance, "max_iter": self.max_iterations,
                              **(WARM if warm is not None else {}), **self.options},
                    "print_time": False, "no_nlp_grad": True, "calc_lam_p": False, "error_on_fail": False,
                    "show_eval_warnings": False}
        try:
            solver = ca.nlpsol("timefem", "ipopt", functions["nlp"], options)
        except RuntimeError as error:
            raise refused_options("Ipopt", self.options, error) from None
        (lower, upper), (row_lower, row_upper) = program.bounds, program.row_bounds
        near = {} if warm is None else {
            "lam_g0": warm, "lam_x0": -program.gradient_of_lagrangian(program.start, 1.0, warm)}
        result = solver(x0=np.clip(program.start, lower, upper), lbx=lower, ubx=upper, lbg=row_lower, ubg=row_upper,
                        **near)
        stopped = isinstance(callbacks.failure, interrupts.Interrupted)
        if callbacks.failure is not None and not stopped:
            raise callbacks.failure
        v, multipliers, at_bounds = (np.array(result[name]).ravel() for name in ("x", "lam_g", "lam_x"))
        stats = solver.stats()
        history = [float(value) for value in stats.get("iterations", {}).get("inf_pr", [])]
        if stopped:
            interrupts.answer()
            status = failed(program, v, Reason.STOPPED, history, "at the last iterate of IPOPT")
        elif stats["return_status"] in ("Solve_Succeeded", "Solved_To_Acceptable_Level"):
            status = Status(True, residual_history=history)
        else:
            reason = REASONS.get(stats["return_status"], Reason.NOT_CONVERGED)
            if reason == Reason.UNBOUNDED and not program.objective(v) < program.objective(program.start):
                reason = Reason.NOT_CONVERGED  # iterates grew, and the cost did not fall
            status = failed(program, v, reason, history, f"IPOPT: {stats['return_status'].replace('_', ' ').lower()}",
                            multipliers if reason == Reason.INFEASIBLE else None)
        return Answer(v, multipliers, -at_bounds, status, stats["iter_count"])


class _Callbacks:
    """CasADi functions of a program, by the names that `nlpsol` gives them."""

    def __init__(self, program):
        self.program, self.failure = program, None
        self.hessian, self._hessian_order = sparsity(program.n, program.n, program.hessian_places)
        self.jacobian, self._jacobian_order = sparsity(program.n_rows, program.n, program.jacobian_places)
        self._signs = signs_of(program.divisors(program.start), OverRanks(program.comm))

    def _rows(self, v):
        """Rows at v; no numbers beyond a pole of formulas, of which derivatives know nothing, so that the step is cut.
        """
        beyond = any((sign * d <= 0).any() for sign, d in zip(self._signs, self.program.divisors(v), strict=True)
                     if sign)
        return np.full(self.program.n_rows, np.nan) if beyond else self.program.rows(v)

    def functions(self):
        p, scalar, none = self.program, ca.Sparsity.dense(1, 1), ca.Sparsity(0, 0)
        v, rows = ca.Sparsity.dense(p.n, 1), ca.Sparsity.dense(p.n_rows, 1)
        at, names = [v, none], (["x", "p"], ["x", "p", "lam_f", "lam_g"])
        return {
            "nlp": self._make("nlp", at, names[0], [scalar, rows], ["f", "g"],
                              lambda v, _: [p.objective(v), self._rows(v)]),
            "grad_f": self._make("grad_f", at, names[0], [scalar, v], ["f", "grad_f_x"],
                                 lambda v, _: [p.objective(v), p.gradient(v)]),
            "jac_g": self._make("jac_g", at, names[0], [rows, self.jacobian], ["g", "jac_g_x"],
                                lambda v, _: [p.rows(v), ca.DM(self.jacobian, p.jacobian(v)[self._jacobian_order])]),
            "hess_lag": self._make("hess_lag", [*at, scalar, rows], names[1], [self.hessian], ["triu_hess_gamma_x_x"],
                                   self._hessian),
        }

    def _hessian(self, v, _, factor, multipliers):  # once in each iteration
        self.program.on_iteration(optimality_error(self.program, v, float(factor[0]), multipliers))
        values = self.program.hessian(v, float(factor[0]), multipliers)
        return [ca.DM(self.hessian, values[self._hessian_order])]

    def _make(self, name, inputs, input_names, outputs, output_names, function):
        spec = {"inputs": inputs, "outputs": outputs, "function": guarded(self, function)}
        return called(spec, name, input_names, output_names, self)
