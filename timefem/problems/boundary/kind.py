"""Boundary-value problems in the table of kinds."""

import numpy as np

from ..common.kind import Kind
from ..common.statistics import worst
from ..initial.global_driver import Global
from .problem import BoundaryValueProblem
from .solver import GUESSES, BoundaryErrors, solve_boundary


def report_facts(problem, sol):
    """Violations of the conditions by name, and the numbers found."""
    c = problem.conditions_at_ends
    numbers = np.array([sol.parameters[name] for name in problem.unknown_names])
    return {"conditions": worst(c.formulas.names, c.residual(sol.z[0], sol.z[-1], numbers)),
            "parameters": {name: float(value) for name, value in sol.parameters.items()}}


BOUNDARY = Kind(
    "boundary", BoundaryValueProblem, "a boundary-value problem", drivers=(Global,), solve=solve_boundary,
    estimate=BoundaryErrors, guesses=GUESSES, newton={"line_search": True}, facts=report_facts,
    changes=("start", "end", "t_span"),
    files=f"{__package__}.files", follows=True, studies=("preconditioners",), several=f"{__package__}.several",
)
