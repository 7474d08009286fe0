"""Bounds and path inequalities: the interior-point method IPOPT, in CasADi's wheel, on the optimality system's entries.

Nothing is differentiated again: equations, their Jacobian and the Hessian of the Lagrangian are blocks of the residual
and of the tangent of `OptimalChain`, evaluated by the same element kernels, with the same sparsity.
"""

import casadi as ca
import numpy as np

from ...status import Status

ITERATIONS = 1000
TOLERANCE = 1e-9
REASONS = {"Infeasible_Problem_Detected": "infeasible", "Maximum_Iterations_Exceeded": "not converged",
           "Restoration_Failed": "infeasible"}


def solve_bounded(nlp, max_iterations=None):
    """Solve an `OptimalControl` problem with inequalities from the guess `x`.

    Parameters
    ----------
    chain : OptimalChain
    x : ndarray
        Where to start; the costates do not count.
    max_iterations : int, optional
    on_iteration : callable
        Called in each iteration.

    Returns
    -------
    x : ndarray
        With the costates of the equations.
    status : Status
    iterations : int
    """
    callbacks = nlp.callbacks()
    options = {name: callbacks[name] for name in ("grad_f", "jac_g", "hess_lag")}
    options |= {"ipopt": {"print_level": 0, "sb": "yes", "tol": TOLERANCE, "max_iter": max_iterations or ITERATIONS},
                "print_time": False, "no_nlp_grad": True, "calc_lam_p": False, "error_on_fail": False,
                "show_eval_warnings": False}
    solver = ca.nlpsol("optimal_control", "ipopt", callbacks["nlp"], options)
    lower, upper = nlp.bounds
    start = np.clip(np.zeros(nlp.n), lower, upper)
    result = solver(x0=start, lbx=lower, ubx=upper, lbg=nlp.lowest, ubg=0)
    stats = solver.stats()
    if nlp.failure is not None:
        raise nlp.failure
    x = nlp.place(np.array(result["x"]).ravel(), np.array(result["lam_g"]).ravel())
    history = [float(v) for v in stats.get("iterations", {}).get("inf_pr", [])]
    if stats["return_status"] in ("Solve_Succeeded", "Solved_To_Acceptable_Level"):
        return x, Status(True, residual_history=history), stats["iter_count"]
    residual = nlp.chain.evaluate(x)
    reason = REASONS.get(stats["return_status"], "not converged")
    detail = f"IPOPT: {stats['return_status'].replace('_', ' ').lower()}"
    return x, Status.failure(reason, history=history, detail=detail, **nlp.chain.worst(residual)), stats["iter_count"]






def callback(name, inputs, input_names, outputs, output_names, function):
    class Called(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self):
            return len(inputs)

        def get_n_out(self):
            return len(outputs)

        def get_sparsity_in(self, i):
            return inputs[i]

        def get_sparsity_out(self, i):
            return outputs[i]

        def get_name_in(self, i):
            return input_names[i]

        def get_name_out(self, i):
            return output_names[i]

        def eval(self, arguments):
            return function(*arguments)

    return Called()
