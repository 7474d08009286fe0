"""Estimation in the table of kinds."""

import numpy as np

from ..common.kind import Kind
from ..initial.global_driver import Global
from .problem import Estimation
from .solve import no_estimate, solve_estimation


def report_facts(problem, sol):
    """Fit, evidence, unknown numbers with their standard deviations, and outliers."""
    if not sol.success:
        return {}
    evidence = {} if problem.dynamics == "none" or sol.at_bounds else {"log_evidence": sol.log_evidence}
    fit, numbers = sol.fit, {}
    for unknown in problem.unknowns:
        value, deviation = sol.value(unknown.label), sol.std(unknown.label)
        numbers[unknown.label] = {"value": value.tolist(), "std": [None if np.isnan(x) else float(x) for x in
                                                                                deviation]}
    bodies = {}
    for body in problem.system.bodies:
        if not body.helper:
            own = sol.std(body)
            bodies[problem.system.label(body)] = {"largest_std": own.max(axis=0).tolist()}
    return {"chi2": fit.chi2, "degrees_of_freedom": fit.degrees_of_freedom, "verdict": fit.verdict,
            **evidence, "numbers": numbers, "at_bounds": sol.at_bounds, "bodies": bodies,
            "sensors": {own.name: {"n": own.n, "ratio": own.ratio} for own in fit.sensors},
            "outliers": [list(one) for one in fit.outliers], "undetermined": fit.undetermined,
            "constraints": float(np.abs(sol.system.constraints(sol.t, sol.z)).max(initial=0.0))}


ESTIMATION = Kind("estimation", Estimation, "an estimation problem", drivers=(Global,), solve=solve_estimation,
                  estimate=no_estimate, fits=lambda problem, element: problem.check_element(element),
                  mesh=lambda task: task.mesh_through(task.problem.kinks),
                  smooth=lambda problem: not (problem.system.rigid_contacts or problem.density.any()),  # noise is rough
                  facts=report_facts, files=f"{__package__}.files", updates=f"{__package__}.window")
