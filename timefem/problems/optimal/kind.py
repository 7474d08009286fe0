"""Optimal control in the table of kinds."""

import numpy as np

from ...memory import Late
from ..initial.global_driver import Global
from ..kinds import Kind
from ..statistics import largest_controls, worst
from .options import OPTIONS
from .problem import OptimalControl
from .solve import UNUSED, solve_optimal_control
from .strategies.strategy import named_strategies
from .transcription.sizes import has_contacts

errors = Late(f"{__package__}.errors")


def check_fits(problem, element):
    """Refuse numbers that nothing depends on, and elements that cannot solve a problem."""
    problem.check_numbers()
    problem.check_element(element)


def report_facts(problem, sol):
    """Objective, violations of the conditions by name, the numbers found and the largest controls."""
    found = sol.statistics  # of the last iterate, where the solve failed: the report says so
    numbers = [found["parameters"][name] for name in problem.unknown_names]
    unmet = np.abs(problem.conditions.values(sol.z[-1], numbers))
    return {"objective": float(found["objective"]), "conditions": worst(problem.conditions.names, unmet),
            "parameters": {name: float(value) for name, value in found["parameters"].items()},
            "controls": largest_controls(sol)}


OPTIMAL = Kind(
    "optimal", OptimalControl, "optimal control", drivers=(Global,), solve=solve_optimal_control,
    estimate=lambda problem, element: errors.error_estimate(problem, element), facts=report_facts,
    newton={"line_search": True, "max_iterations": OPTIONS.iterations},
    unused=lambda problem: (UNUSED * problem.bounded,
                            "where controls have bounds, with which an interior-point method deals"),
    changes=("start", "end", "t_span", "bounds"), fits=check_fits,
    files=f"{__package__}.files", strategies=named_strategies,
    smooth=lambda problem: not has_contacts(problem), several=f"{__package__}.solve",
)
