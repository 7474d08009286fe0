"""Small objectives taken as many times as large, as tolerances are absolute: those of an objective of order one."""

from dataclasses import replace

import numpy as np

from .options import OPTIONS


def enlargement(f, steepest):
    """The factor for an objective that is f near the end, where no entry of its gradient is larger than `steepest`."""
    size = max(abs(f), steepest)
    return 1.0 if size >= OPTIONS.small_objective else 1 / max(size, 1 / OPTIONS.most_enlarged)


def solved_enlarged(solve, program):
    """The answer of a method that has no such factor: where the objective turns out to be small, of a second solve.

    Parameters
    ----------
    solve : callable
        Of a program -> its `Answer`.
    program : NonlinearProgram
    """
    first = solve(program)
    factor = 1.0
    if first.status.success:
        factor = enlargement(program.objective(first.v), np.abs(program.gradient(first.v)).max(initial=0.0))
    if factor == 1:
        return first
    found = solve(_Enlarged(program, factor, first))
    if not found.status.success:
        return replace(first, iterations=first.iterations + found.iterations)
    return replace(found, multipliers=found.multipliers / factor, bound_multipliers=found.bound_multipliers / factor,
                   iterations=first.iterations + found.iterations)


class _Enlarged:
    """A program with its objective times a factor, from an answer without that."""

    def __init__(self, program, factor, answer):
        self._program, self._factor = program, factor
        self.start, self.start_multipliers = answer.v, factor * answer.multipliers

    def __getattr__(self, name):
        return getattr(self._program, name)

    def objective(self, v):
        return self._factor * self._program.objective(v)

    def gradient(self, v):
        return self._factor * self._program.gradient(v)

    def hessian(self, v, factor, multipliers):
        return self._program.hessian(v, self._factor * factor, multipliers)
