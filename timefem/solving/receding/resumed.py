"""A program that is solved again and again, each time from near the last answer, with what that left at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...solvers.interior_point.algorithm import Loop, _Solve
from ...solvers.interior_point.barrier_parameter import Errors
from ...solvers.interior_point.bounds import inside
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
        a, bounds = self._solve.barrier.auxiliary, self._solve.barrier.bounds
        self._slack_of_row = np.full(program.n_rows, -1)
        self._slack_of_row[a.row] = program.n + np.arange(a.n)
        self._bound_of = np.full((2, program.n + a.n), -1)  # of lower and upper ones
        first = bounds.n_low
        self._bound_of[0, bounds.at[:first]] = np.arange(first)
        self._bound_of[1, bounds.at[first:]] = np.arange(first, len(bounds))

    @property
    def v(self) -> np.ndarray:
        """Variables of the program, shape (n,)."""
        return self.it.w[:self.program.n]

    @property
    def multipliers(self) -> np.ndarray:
        """Of its rows, shape (n_rows,)."""
        scaled = self._solve.scaled
        return self.it.y * scaled.row_scale / scaled.objective_scale

    def shift(self, v: np.ndarray, variables: np.ndarray, rows: np.ndarray) -> None:
        """Go on from variables v, with multipliers, and those of bounds, from elsewhere.

        Parameters
        ----------
        v : ndarray, shape (n,)
        variables, rows : ndarray of int, shape (n,), (n_rows,)
            For each the number of that where its multipliers come from.
        """
        barrier, it, scaled = self._solve.barrier, self.it, self._solve.scaled
        a, bounds = barrier.auxiliary, barrier.bounds
        it.w = np.concatenate([v, it.w[self._slack_of_row[rows[a.row]]]])
        it.y = it.y[rows] * (scaled.row_scale[rows] / scaled.row_scale)
        from_ = np.concatenate([variables, self._slack_of_row[rows[a.row]]])[bounds.at]
        n = bounds.n_low
        of = np.concatenate([self._bound_of[0, from_[:n]], self._bound_of[1, from_[n:]]])
        it.z = np.where(of >= 0, it.z[of], it.z)

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
        w, n, a = self.it.w.copy(), program.n, barrier.auxiliary
        room = mu**0.5
        w[:n] = inside(w[:n], solve.scaled.lower, solve.scaled.upper, options.push, room)
        solve.scaled.expect(w[:n], 1.0, self.it.y)
        w[n:] = solve.scaled.values(w[:n])[1][a.row]
        w = inside(w, barrier.lower, barrier.upper, options.push, room)
        it = Iterate.at(barrier, w, self.it.y, None)
        it.z = np.maximum(self.it.z, options.weak * mu / it.slack)
        best: list[object] = [it, np.inf]

        def keep(it, error):
            if error < best[1]:
                best[:] = it, error

        loop = Loop(self.method, program)
        loop.limit = loop.limit if iterations is None else iterations
        found, _, outcome = loop.run(barrier, solve.direction, it, mu, lambda it, mu, taken: (it, "stuck"), keep)
        if outcome in SOLVED:
            best = [found, Errors(barrier, solve.direction, found).at(0.0)]
        self.it, self.error = best
        self.iterations = loop.count
        return outcome
