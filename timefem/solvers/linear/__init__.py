"""Linear solvers: options beside solvers, one per file, and the table of them."""

from .base import LinearOptions, LinearSolver
from .cholmod import Cholmod
from .petsc.solver import PETSc
from .superlu import SuperLU
from .table import LINEAR_SOLVERS, linear_options
from .time_chain.solver import TimeChain

__all__ = ["LINEAR_SOLVERS", "Cholmod", "LinearOptions", "LinearSolver", "PETSc", "SuperLU", "TimeChain",
           "linear_options"]
