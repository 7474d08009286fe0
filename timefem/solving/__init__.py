"""`solve` for all kinds of problems: problem, element, mesh, solver and solution tied together."""

from .dispatch import solve
from .restarting import restart
from .several import continuation, solve_all

__all__ = ["continuation", "restart", "solve", "solve_all"]
