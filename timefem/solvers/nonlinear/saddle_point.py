"""Gauss-Newton and Newton steps for the optimality system of a problem with equations as side conditions."""

from functools import cached_property

import numpy as np
import scipy

from ...errors import SingularMatrix, SolveError
from ...status import Reason, Status
from ..interior_point.block_ldl import BlockLDL
from ..linear.base import REFINE_ABOVE, LinearSolver
from .options import OPTIONS


class SymmetricSolver(LinearSolver):
    """`BlockLDL` in time order, half the work of an LU, whose pivots are not chosen across elements.

    So it leaves to the LU, which does, matrices with a small pivot, and those of which one step of refinement gives no
    solution as accurate as asked for. That also tells which matrices are singular.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`, of symmetric matrices.
    blocks : ndarray of int, shape (n,)
        Block of each unknown, as of `BlockLDL`.
    lu : LinearSolver
        The other one.
    """

    name = "chain"
    needs_numbers_only = True

    def __init__(self, pattern, blocks, lu):
        super().__init__(pattern)
        self._blocks, self._lu, self._by_lu, self.ordering = blocks, lu, False, lu.ordering

    @staticmethod
    def fits(pattern):
        """Whether the places of the entries are worth their memory."""
        return len(pattern.indices) <= 2 * OPTIONS.most_entries

    @cached_property
    def _ldl(self):
        rows, columns = np.repeat(np.arange(len(self._blocks)), np.diff(self.pattern.indptr)), self.pattern.indices
        lower = np.flatnonzero(rows >= columns)
        return BlockLDL(self._blocks, rows[lower], columns[lower], lower)

    def _factor(self, matrix):
        self._by_lu = not (self._ldl.factor(matrix.data) and self._ldl.least_pivot > OPTIONS.small_pivot * self.norm())
        if self._by_lu:
            self._lu.factor(matrix.data)

    @property
    def negative(self):
        """Negative eigenvalues of the last matrix, None where the LU took over."""
        return None if self._by_lu else self._ldl.negative

    def solve(self, b):
        return self._lu.solve(b) if self._by_lu else self._ldl.solve(b)

    def solve_transposed(self, b):
        return self.solve(b)

    def solve_checked(self, b, transposed=False, refine_above=REFINE_ABOVE):
        if not self._by_lu:
            x = self.solve(b)
            error, residual = self.backward_error(x, b)
            if error > refine_above:
                x = x + self.solve(residual)
                error, _ = self.backward_error(x, b)
            if error <= refine_above:
                return x, error
            self._by_lu = True
            self._lu.factor(self._matrix.data)
        return self._lu.solve_checked(b, transposed, refine_above)


# ---- Gauss-Newton and Newton steps for the optimality system of a problem with equations as side conditions

SMALL = 1e-12  # residual, relative to the sizes of unknowns and costates, of a solution


def solve_saddle(equations, x, settings, on_iteration=lambda iteration, norm, x: None, small=SMALL):
    """Find a stationary point of the Lagrangian, `J(x) + y . c(x)`, by steps that lead downhill.

    The linearisation takes a share of the costates y. None is Gauss-Newton: only the cost curves the Lagrangian, so
    that its Hessian W is as definite as that of the cost, and the step gives new costates. All is Newton's method,
    which takes over close to the solution, and from a start with costates. A step s is taken only where the Lagrangian
    curves upwards along its primal part, `s.W s > 0` (the test of Chiang & Zavala, Comput. Optim. Appl. 64 (2016),
    which needs no inertia), or along all that the equations allow, where factors tell their inertia; else it leads
    uphill, to a saddle point, and the way back is taken if that leads downhill, or the step is repeated with half the
    share. A line search demands that the merit function
    `J + sum_i w_i |c_i|` falls, with weights w_i above |y_i| as by Powell (1978), under which such steps go downhill; a
    full Newton step is taken as well when it halves the residual, and a step that fails is tried once more with a
    second-order correction.

    Parameters
    ----------
    equations : SaddleEquations
    x : ndarray
        Where to start.
    settings : Newton
        `tol_increment`, relative to the size of the scaled unknowns, and the number of iterations.
    on_iteration : callable
        Told the iteration, its residual norm and the iterate; what it returns, if true, stops the iteration.
    small : float
        Residual, relative to the sizes of unknowns and costates, of a solution.

    Returns
    -------
    x : ndarray
    status : Status
    """
    dual, history, increment, weights = equations.dual, [], np.inf, np.zeros(equations.dual.sum())
    share = 1.0 if equations.norm(equations.scaled(x)[dual]) else 0.0
    point = _Point(equations, x, share)
    for iteration in range(settings.max_iterations + 1):
        norm = point.norm
        history.append(norm)
        if not np.isfinite(norm):
            return x, Status.failure(Reason.NOT_FINITE, history=history, **equations.worst(point.residual, point.x))
        settled = norm <= small or (norm <= OPTIONS.saddle_rounding and norm >= 0.5 * history[max(iteration - 1, 0)])
        # the next step would be shorter by the factor by which the residual fell
        last = max(history[max(iteration - 1, 0)], 1e-300)
        if iteration and share == 1 and settled and increment * min(1.0, norm / last) <= settings.tol_increment:
            return point.x, Status(True, residual_history=history)
        if on_iteration(iteration, norm, point.x):
            return point.x, Status.failure(Reason.STOPPED, history=history, **equations.start)
        if iteration == settings.max_iterations:
            break
        try:
            while True:
                step = -equations.linear_step(point.residual)
                primal = np.where(dual, 0.0, step)
                uphill = False
                if equations.excess_of_factors() != 0:
                    curvature = equations.dot(primal, equations.multiply(primal))
                    uphill = curvature < -1e-12 * abs(equations.dot(step, point.residual))
                found = _reversed(equations, point, primal, curvature, weights, share) if uphill else None
                if found is None and (not uphill or not share):
                    found, weights = _line_search(equations, point, step, weights, share)
                if found or not share:
                    break
                share = share / 2 if share > 2 * OPTIONS.saddle_share else 0.0
                point = _Point(equations, point.x, share)
        except SolveError as error:
            return point.x, Status.failure(_reason_of(error), history=history, detail=str(error),
                                           **equations.worst(point.residual))
        if not found:
            return point.x, Status.failure(Reason.NOT_CONVERGED, history=history, detail="no descent along the step",
                                           **equations.worst(point.residual))
        point, length = found
        increment = length * equations.norm(primal) / point.size
        if length == 1 and (share or increment <= OPTIONS.saddle_close) and share < 1:
            share = 1.0 if increment <= OPTIONS.saddle_close and share in (0, 0.5) else 2 * share
            point = _Point(equations, point.x, share)
    return point.x, Status.failure(Reason.NOT_CONVERGED, history=history, **equations.worst(point.residual))


def _reason_of(error):
    return Reason.SINGULAR_TANGENT if isinstance(error, SingularMatrix) else Reason.LINEAR_SOLVER_FAILED


class _Point:
    """The optimality system at unknowns `x`, linearised with a share of their costates."""

    def __init__(self, equations, x, share):
        self.equations, self.x, self.base = equations, x, equations.with_costates(x, share)
        self.residual = equations.evaluate(self.base)
        self.defects = self.residual[equations.dual].copy()
        self.cost = equations.objective(x) / equations.objective_size
        values = equations.scaled(x)
        self.size = max(1.0, equations.norm(values[~equations.dual]))
        self.norm = equations.norm(self.defects) / self.size
        if share == 1:
            costates = max(1.0, equations.norm(values[equations.dual]))
            self.norm = max(self.norm, equations.norm(self.residual[~equations.dual]) / costates)

    def violation(self, weights):
        return self.equations.dot(weights, np.abs(self.defects))

    def merit(self, weights):
        return self.cost + self.violation(weights)


def _line_search(equations, point, step, weights, share):
    """The point after the step, and its length (None when no length will do), and new weights."""
    dual = equations.dual
    y = equations.scaled(point.base)[dual]
    wanted = np.abs(y + step[dual])
    weights = np.maximum(wanted, (weights + wanted) / 2)
    merit = point.merit(weights)
    dot = equations.dot
    slope = dot(point.residual[~dual], step[~dual]) + dot(y, point.defects) - point.violation(weights)
    noise, length = 1e-12 * (abs(point.cost) + point.violation(weights)), 1.0
    while length >= OPTIONS.saddle_shortest:
        move = np.where(dual, length if share == 1 else 1.0, length) * step
        trial = _Point(equations, equations.moved(point.base, move, 1.0), share)
        enough = merit + 1e-4 * length * slope + noise
        if trial.merit(weights) <= enough:
            return (trial, length), weights
        if share == 1 and length == 1 and trial.norm <= 0.5 * point.norm:
            return (trial, length), weights
        trial = _corrected(equations, trial, share)
        if trial.merit(weights) <= enough:
            return (trial, length), weights
        length /= 2
    return None, weights


def _corrected(equations, trial, share):
    """The point after a second-order correction, which takes the defects away by the factors at hand."""
    step = equations.solve(np.where(equations.dual, trial.residual, 0.0))
    return _Point(equations, equations.moved(trial.x, np.where(equations.dual, 0.0, step), -1.0), share)


def _reversed(equations, point, primal, curvature, weights, share):
    """The point against an uphill step, and the length, None where the merit does not fall."""
    merit, best = point.merit(weights), None
    for length in (1.0, 2.0, 4.0, 8.0, 16.0):
        trial = _corrected(equations, _Point(equations, equations.moved(point.x, -length * primal, 1.0), share), share)
        if not trial.merit(weights) <= (best[0].merit(weights) if best else merit) + 1e-2 * length * curvature:
            break
        best = trial, length
    return best and (_Point(equations, best[0].x, share), best[1])  # with its tangent, not that of the last trial


def solve_minimum(equations, x, settings, on_iteration=lambda iteration, norm, x: None, small=SMALL):
    """As `solve_saddle`, but leaves stationary points that are not minima; for meshes that are not fine.

    The block of the inverse tangent that belongs to the unknowns is `Z (Z^T W Z)^-1 Z^T` with a basis Z of what the
    equations allow: its negative eigenvalues are those of the reduced Hessian, and their vectors lead downhill.
    """
    history = []
    for attempt in range(OPTIONS.saddle_escapes + 1):
        x, status = solve_saddle(equations, x, settings, on_iteration, small)
        history += status.residual_history
        try:
            direction = _downwards(equations, x) if status.success else None
        except SolveError as error:  # a residual has values where its tangent has none
            status = Status.failure(_reason_of(error), history=history, detail=str(error), **equations.start)
            break
        if direction is None:
            break
        if attempt == OPTIONS.saddle_escapes:
            status = Status.failure(Reason.NOT_CONVERGED, history=history, detail="a stationary point, no minimum",
                                    **equations.start)
            break
        size = max(1.0, np.abs(equations.scaled(x)[~equations.dual]).max())
        x = equations.moved(equations.with_costates(x, 0), OPTIONS.saddle_escape * size * direction, 1.0)
    status.residual_history = history
    return x, status


def _downwards(equations, x):
    """A direction of largest entry 1 along which the Lagrangian curves downwards, or None."""
    equations.evaluate(x)
    primal = np.flatnonzero(~equations.dual)
    if equations.excess() == 0 or 2 * len(primal) <= len(equations.dual):  # as many equations as unknowns: one point
        return None
    equations.factor()

    def inverse(v):
        b = np.zeros(len(equations.dual))
        b[primal] = np.ravel(v)
        return equations.solve(b)[primal]

    found = _lowest(inverse, len(primal))
    if found is None or found[0] >= -1e-6 * found[2]:
        return None
    direction = np.zeros(len(equations.dual))
    direction[primal] = found[1] / np.abs(found[1]).max()
    return direction


def _lowest(multiply, n):
    """The lowest eigenvalue of a symmetric matrix, its vector, and the largest magnitude of all; None where unknown."""
    if n <= OPTIONS.dense_eigenvalues:
        values, vectors = np.linalg.eigh(np.column_stack([multiply(e) for e in np.eye(n)]))
        return values[0], vectors[:, 0], np.abs(values).max()
    operator, rng = scipy.sparse.linalg.LinearOperator((n, n), multiply, dtype=float), np.random.default_rng(0)

    def extreme(which, tol, **arguments):
        return scipy.sparse.linalg.eigsh(operator, 1, which=which, v0=multiply(rng.standard_normal(n)), tol=tol,
                                         **arguments)

    try:
        values, vectors = extreme("SA", 1e-2, maxiter=20)
        return values[0], vectors[:, 0], abs(extreme("LM", 1e-1, return_eigenvectors=False)[0])
    except scipy.sparse.linalg.ArpackError:  # no convergence, or no direction that the equations leave
        return None
