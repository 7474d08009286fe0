"""`solve` for all kinds of problems: problem, element, mesh, solver and solution tied together."""

from .restart import restart
from .several import continuation, solve_all
from .solve import solve

__all__ = ["continuation", "restart", "solve", "solve_all"]
