"""Inverse dynamics in the table of kinds."""

import casadi as ca
import numpy as np

from ..common.kind import Kind
from ..common.statistics import largest_controls
from ..initial.global_driver import Global
from .problem import InverseDynamics
from .solve import InverseErrors, solve_inverse_dynamics


def report_facts(problem, sol):
    """Largest deviation of each output, largest controls, and the internal dynamics."""
    kept = {repr(output): float(np.abs(deviations(output, trajectory, sol)).max())
            for output, trajectory in problem.outputs}
    return {"outputs": kept, "controls": largest_controls(sol), "internal_dynamics": problem.internal,
            "unstable": problem.unstable}


def deviations(output, trajectory, sol):
    """By how much an output misses its trajectory at the ends of the elements, shape (n,)."""
    q = [ca.SX.sym("q", body.n_q) for body in output.bodies]
    target = ca.SX.sym("target")
    function = ca.Function("deviation", [target, *q], [ca.SX(output.deviation(target, *q))])
    places = [sol.z[:, sol.system.coordinates(body)].T for body in output.bodies]
    return np.array(function.map(len(sol.t))(np.reshape(trajectory(sol.t), (1, -1)), *places)).ravel()


INVERSE = Kind(
    "inverse", InverseDynamics, "inverse dynamics", drivers=(Global,), solve=solve_inverse_dynamics,
    estimate=InverseErrors, newton={"line_search": True}, facts=report_facts, elements=("mg",),
    changes=("start", "end", "t_span", "outputs"),
    files=f"{__package__}.files",
)
