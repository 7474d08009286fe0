"""A program that is solved again and again, each time from near the last answer, with what that left at hand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...solvers.interior_point.algorithm import Loop, _Solve
from ...solvers.interior_point.barrier_parameter import Errors
from ...solvers.interior_point.bounds import between, narrowed
from ...solvers.interior_point.line_search import Iterate

if TYPE_CHECKING:
    from ...solvers.interior_point.algorithm import InteriorPoint
    from ...solvers.nonlinear.program import NonlinearProgram

SOLVED = "solved", "acceptable"


class Resumed:
    """Iterations of the interior-point method on a program whose numbers change between solves.

    Scaling, pattern, factors and memory stay, and primal and dual variables go on from where they are.

    Parameters
    ----------
    method : InteriorPoint
    program : NonlinearProgram
        With `start_multipliers`: near a solution.

    Attributes
    ----------
    it : Iterate
        The best one of the last solve.
    error : float
        Of its scaled conditions of optimality.
    iterations : int
        Of the last solve.
    """

    def __init__(self, method: InteriorPoint, program: NonlinearProgram) -> None:
        self.method, self.program, self.iterations = method, program, 0
        self._solve = _Solve(method, program)
        self.it, self._mu = self._solve._start()
        self.error = np.inf
        a = self._solve.barrier.auxiliary
        self._slack_of_row = np.full(program.n_rows, -1)
        self._slack_of_row[a.row] = program.n + np.arange(a.n)
        options, barrier = method.options, self._solve.barrier
        self._inside = narrowed(barrier.lower, barrier.upper, options.push, options.mu_warm**0.5)

    @cached_property
    def _ahead(self):
        """For each variable and slack, each row and each bound where its number one element ahead comes from."""
        variables, rows = self.program.ahead
        a, bounds, first = self._solve.barrier.auxiliary, self._solve.barrier.bounds, self._solve.barrier.bounds.n_low
        bound_of = np.full((2, self.program.n + a.n), -1)  # of lower and upper ones
        bound_of[0, bounds.at[:first]] = np.arange(first)
        bound_of[1, bounds.at[first:]] = np.arange(first, len(bounds))
        slacks = self._slack_of_row[rows[a.row]]
        from_ = np.concatenate([variables, slacks])[bounds.at]
        of = np.concatenate([bound_of[0, from_[:first]], bound_of[1, from_[first:]]])
        scale = self._solve.scaled.row_scale
        return slacks, rows, scale[rows] / scale, np.where(of >= 0, of, np.arange(len(of)))

    @property
    def v(self) -> np.ndarray:
        """Variables of the program, shape (n,)."""
        return self.it.w[:self.program.n]

    @property
    def multipliers(self) -> np.ndarray:
        """Of its rows, shape (n_rows,)."""
        scaled = self._solve.scaled
        return self.it.y * scaled.row_scale / scaled.objective_scale

    def shift(self) -> None:
        """Go on from the motion one element ahead, with the multipliers there."""
        it, (slacks, rows, scales, bounds) = self.it, self._ahead
        it.w = np.concatenate([self.program.later(self.v), it.w[slacks]])
        it.y, it.z = it.y[rows] * scales, it.z[bounds]

    def step(self, iterations: int | None = None) -> str:
        """Iterate from the last variables and multipliers, and keep the best iterate.

        Parameters
        ----------
        iterations : int, optional
            At most; default: those of the method.

        Returns
        -------
        str
            How it ended, as of `Loop.run`.
        """
        solve, options = self._solve, self.method.options
        barrier, mu, program = solve.barrier, options.mu_warm, self.program
        w, n = between(self.it.w, *self._inside), program.n
        solve.scaled.expect(w[:n], 1.0, self.it.y)
        w[n:] = solve.scaled.values(w[:n])[1][barrier.auxiliary.row]
        between(w, *self._inside, out=w)
        it = Iterate.at(barrier, w, self.it.y, None)
        it.z = np.maximum(self.it.z, options.weak * mu / it.slack)
        best: list[object] = [it, np.inf]

        def keep(it, error):
            if error < best[1]:
                best[:] = it, error

        loop = Loop(self.method, program)
        loop.limit = loop.limit if iterations is None else iterations
        found, _, outcome = loop.run(barrier, solve.direction, it, mu, lambda it, mu, taken: (it, mu, "stuck"), keep)
        if outcome in SOLVED:
            best = [found, Errors(barrier, solve.direction, found).at(0.0)]
        self.it, self.error = best
        self.iterations = loop.count
        return outcome
