"""Initial-value problems in the table of kinds."""

from ..kinds import FileFormat, Kind
from .contact import check_contacts
from .drivers import DRIVERS
from .problem import InitialValueProblem
from .solve import InitialErrors, mesh_of, solve_initial

FILES = FileFormat(make=lambda model: model.start, tables=("sensitivity",))


def warms(task, solution):
    """Where all elements are solved at once, over the same time."""
    return task.driver.name == "global" and task.tolerance is None and \
        tuple(solution.t[[0, -1]]) == tuple(task.problem.t_span)


INITIAL = Kind(
    "initial", InitialValueProblem, "an initial-value problem",
    drivers=(DRIVERS["march"], DRIVERS["global"], DRIVERS["windows"]), solve=solve_initial, estimate=InitialErrors,
    guesses=("march", "constant"), checkpoints=True, causal=True,
    has_derivatives=True, changes=("start", "t_span"), mesh=mesh_of,
    warms=warms, fits=check_contacts, usual=True,
    studies=("conservation", "convergence", "preconditioners"), files=__name__,
)
