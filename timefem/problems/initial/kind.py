"""Initial-value problems in the table of kinds."""

from ..common.kind import FileFormat, Kind
from .drivers import DRIVERS
from .errors import InitialErrors
from .problem import InitialValueProblem
from .solve import solve_initial

INITIAL = Kind(
    "initial", InitialValueProblem, "an initial-value problem",
    drivers=(DRIVERS["march"], DRIVERS["global"], DRIVERS["windows"]), solve=solve_initial, estimate=InitialErrors,
    guesses=("mg1", "constant"), checkpoints=True,
    in_files=FileFormat(make=lambda model: model.start, tables=("sensitivity",)),
)
