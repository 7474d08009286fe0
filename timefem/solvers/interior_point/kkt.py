"""Newton steps of a barrier problem: one block elimination of the system without slacks, with the right inertia."""

from itertools import pairwise

import numpy as np

from ..nonlinear.options import InteriorPointOptions
from . import bounds_loops as loops
from .block_ldl import BlockLDL, SharedLDL


class KktMatrix:
    """The matrix `[[H + D, J^T], [J, -E]]` of a scaled program, in the order of its blocks.

    Rows with a slack, E > 0, stay, too: where a limit is reached, E is small, and in `H + J^T E^-1 J` the digits of H
    would be lost, and the inertia with them.
    """

    of_loose = InteriorPointOptions.loose

    def __init__(self, scaled):
        program, n, m = scaled.program, scaled.n, scaled.m
        (first, second), (rows, columns) = program.hessian_places, program.jacobian_places
        rows, columns, diagonal = np.asarray(rows), np.asarray(columns), np.arange(n + m)
        counts = len(first), len(rows), n, m
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = [np.concatenate([second, n + rows, diagonal]),  # rows stand behind variables
                  np.concatenate([first, columns, diagonal])]
        self.n, self.n_rows = n, int(scaled.over.total(m))
        self._starts, self._own = starts, np.empty(starts[-1])  # a place for values, where they have none
        program.reserve(starts[-1] - starts[2])
        self._loose = np.asarray(program.loose, int)
        blocks = np.concatenate([program.variable_blocks[:n], program.row_blocks[:m]])
        of_factors = blocks if program.joined is None else program.joined[blocks]
        if program.comm is None:
            self._ldl = BlockLDL(of_factors, *places)
            return
        # unknowns of other ranks behind own variables and rows
        n_all = len(program.variable_blocks)
        every = np.concatenate([blocks, program.variable_blocks[n:], program.row_blocks[m:]])
        of_row = np.repeat([[False, True, False, True], [False, False, False, True]], counts, axis=1)
        rows, columns = (np.where(r, np.where(p < n + m, p, n_all - n + p), np.where(p < n, p, m + p))
                         for p, r in zip(places, of_row, strict=True))
        border = np.unique(np.concatenate([a[(every[a] < 0) & (b < n + m)] for a, b in ((rows, columns),
                                                                                       (columns, rows))]))
        new = np.full(len(every), -1)
        new[:n + m], new[border] = np.arange(n + m), n + m + np.arange(len(border))
        here = np.flatnonzero((new[rows] >= 0) & (new[columns] >= 0))
        last = program.held_by_the_next(border[border < m + n_all] - n - m, border[border >= m + n_all] - n_all - m)
        entries = new[rows[here]], new[columns[here]], here
        self._ldl = SharedLDL(program.comm, of_factors, entries, len(border), last, int(np.sum(border >= m + n_all)))

    @classmethod
    def of(cls, scaled):
        """That of an earlier solve of the same program, with its memory."""
        program = scaled.program
        program.kept_matrix = program.kept_matrix or cls(scaled)
        program.kept_matrix.of_loose = scaled.options.loose
        return program.kept_matrix

    def factor(self, hessian, jacobian, diagonal, of_rows):
        """Factor, with entries of H and J and the diagonals D and -E; whether no block is singular."""
        values = hessian.base
        if values is None or values is not jacobian.base or values.shape != self._own.shape:
            values = self._own
            values[:self._starts[1]], values[self._starts[1]:self._starts[2]] = hessian, jacobian
        of_v, of_r = (values[i:j] for i, j in pairwise(self._starts[2:]))
        of_v[:], of_r[:] = diagonal, of_rows
        of_v[self._loose] += self.of_loose
        return self._ldl.factor(values)

    @property
    def excess(self):
        """How many eigenvalues are negative beyond one per row, 0 where H is positive along the rows."""
        return self._ldl.negative - self.n_rows

    def solve(self, of_variables, of_rows):
        x = self._ldl.solve(np.concatenate([of_variables, of_rows]))
        return x[:self.n], x[self.n:]


class Regularisation:
    """How much was added to the Hessian, so that the inertia was right."""

    def __init__(self, options):
        self.last, self.now, self._options, self._shrinkage = 0.0, 0.0, options, options.shrinkage

    def first(self):
        """Nothing, unless it was needed in the last step; the longer it has been enough, the faster it falls."""
        kept = self.now / self._shrinkage
        return kept if kept >= self._options.smallest_regularisation else 0.0

    def next(self, tried):
        o = self._options
        if tried == 0:
            return max(self.last / o.shrinkage, o.smallest_regularisation) if self.last else o.first_regularisation
        return tried * (o.growth if self.last else o.growth_at_first)

    def took(self, value):
        self._shrinkage = self._options.shrinkage * (self._shrinkage if value < self.now else 1.0)
        self.now = value
        self.last = value or self.last


class SearchDirection:
    """Steps of a `Barrier` at one iterate."""

    def __init__(self, matrix, barrier):
        self.matrix, self.barrier, self.options = matrix, barrier, barrier.options
        self.regularisation = Regularisation(self.options)
        self._delta_c = 0.0
        wide = (barrier.upper - barrier.lower)[:barrier.n] / self.options.wide
        shares = 1 / np.where(np.isfinite(wide), np.maximum(1.0, wide), 1.0)**2
        self._damped = np.concatenate([shares, barrier.auxiliary.damped])

    def look(self, it):
        """Evaluate derivatives at an iterate."""
        barrier, scaled = self.barrier, self.barrier.scaled
        v = it.w[:barrier.n]
        self._hessian = scaled.evaluate_hessian(v, barrier.factor, it.y)
        self._jacobian = scaled.evaluate_jacobian(v)
        self.gradient = barrier.gradient(it.w)
        self.of_lagrangian = barrier.gradient_of_lagrangian(it.w, it.y)

    def factor(self, it):
        """Factor with as little regularisation as the inertia needs; whether there is one that will do."""
        barrier = self.barrier
        sigma = barrier.bounds.curvature(barrier.weights, it.slack, it.z)
        delta = self.regularisation.first()
        if self._delta_c:
            self._look_again(it)
        while delta <= self.options.largest_regularisation:
            regular = self._factor(sigma, delta)
            if regular and self.matrix.excess == 0:
                self.regularisation.took(delta)
                return True
            if not self._delta_c and (not regular or self.matrix.excess < 0):
                self._delta_c = self.options.delta_c / barrier.scaled.many**2
            else:
                delta = self.regularisation.next(delta)
        return False

    def is_saddle(self, it):
        """Whether the Hessian curves downwards along the rows, at an iterate whose derivatives are at hand; known
        already where the last step needed no help."""
        if not self.regularisation.now:
            return False
        self.regularisation.now = 0.0
        sigma = self.barrier.bounds.curvature(None, it.slack, it.z)
        return self._factor(sigma, self.options.flat) and self.matrix.excess > 0

    def _factor(self, sigma, delta, hessian=None):
        a, n = self.barrier.auxiliary, self.barrier.n
        self._diagonal, self._over, of_rows = loops.diagonals(sigma, delta, self._delta_c, self._damped, n,
                                                                   a.row, a.coefficient, self.barrier.m)
        hessian = self._hessian if hessian is None else hessian
        return self.matrix.factor(hessian, self._jacobian, self._diagonal[:n], of_rows)

    def step(self, it, mu, c, products=None):
        """Steps of w, y and the multipliers of bounds, for rows c.

        `products` are those of changes of slacks and multipliers by which `slack z` is expected to miss mu.
        """
        bounds = self.barrier.bounds
        self.of_barrier = bounds.gradient(it.slack, mu)
        gradient, more = self.of_lagrangian + self.of_barrier, 0.0
        if products is not None:
            more = products / it.slack
            bounds.add(gradient, more)
        dw, dy = self._refined(gradient, c)
        return dw, dy, bounds.change(it.slack, it.z, dw, mu) - more

    def towards_zero(self, it):
        """Step of w for mu = 0, not refined."""
        return self._solve(self.of_lagrangian, it.c)[0]

    def _refined(self, gradient, c):
        """Step of the system with slacks, after one of refinement where that is needed."""
        dw, dy = self._solve(gradient, c)
        of_w, of_rows = self._left(gradient, c, dw, dy)
        left, asked, left_of_rows, asked_of_rows = self.barrier.over.combined([
            *loops.squares(of_w, gradient), *loops.squares(of_rows, c)])
        least = self.options.precise**2
        if left <= least * max(1.0, asked) and left_of_rows <= least * max(1.0, asked_of_rows):
            return dw, dy
        more_w, more_y = self._solve(of_w, of_rows)
        return dw + more_w, dy + more_y

    def _left(self, of_w, of_rows, dw, dy):
        """What a step leaves of residuals."""
        barrier, a = self.barrier, self.barrier.auxiliary
        of_w, of_rows = of_w.copy(), of_rows.copy()
        barrier.scaled.add_hessian_and_rows(dw[:barrier.n], dy, of_w, of_rows)
        loops.add_diagonals(of_w, of_rows, self._diagonal, self._delta_c, a.row, a.coefficient, dw, dy)
        return of_w, of_rows

    def _solve(self, of_w, of_rows):
        """The step that takes residuals away."""
        row, over = self.barrier.auxiliary.row, self._over
        dv, dy = self.matrix.solve(*loops.without_auxiliary(of_w, of_rows, row, over))
        return loops.with_auxiliary(dv, dy, of_w, self._diagonal, row, over), dy

    def multipliers(self, it):
        """Multipliers y that leave the least gradient of the Lagrangian; zero where they would be too large.

        Also finds whether rows depend on each other, by the inertia of `[[1, J^T], [J, E]]` with a small E.
        """
        barrier = self.barrier
        gradient = self.gradient.copy()
        barrier.bounds.add(gradient, it.z, -1.0)
        self._delta_c = -self.options.dependent
        regular = self._factor(np.ones(len(it.w)), 0.0, np.zeros_like(self._hessian))
        dependent = not regular or self.matrix.excess < 0
        self._delta_c = self.options.delta_c / barrier.scaled.many**2 if dependent else 0.0
        y = np.zeros(barrier.m)
        if regular:
            y = self._solve(gradient, y)[1]
        fits = barrier.over.largest(np.abs(y).max(initial=0.0)) <= self.options.largest_multiplier
        return y if fits else np.zeros(barrier.m)

    def _look_again(self, it):
        """Rows that depend on each other in one place need not do so in the next, but leave large multipliers."""
        y = self.multipliers(it)
        if not self._delta_c:
            it.y = y
            self.look(it)
