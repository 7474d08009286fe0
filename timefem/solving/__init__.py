"""`solve` for all kinds of problems: problem, element, mesh, solver and solution tied together."""

from .many_solutions import continuation, solve_all
from .restart import restart
from .solve import prepare, solve

__all__ = ["continuation", "prepare", "restart", "solve", "solve_all"]
