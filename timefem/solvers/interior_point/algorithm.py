"""The primal-dual interior-point method with a filter line search, on programs in time order.

A. Waechter, L. T. Biegler: On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming. Math. Program. 106 (2006) 25-57. Different here: steps come from a block elimination in time
order that counts the inertia, slacks are eliminated within their rows, the regularisation of the Hessian begins with
what the last step needed, that of the rows lasts while they depend on each other, the violation may grow less, a
restoration that finds no way is done again with bounds that count more, and where mu may fall again but the curvature
is not that of a minimum, the search goes on from a random point, and where rows are nearly met and the Hessian needs no
regularisation mu is predicted, and steps are corrected where products of slacks and multipliers are far from it; no
step leads across a pole of formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import interrupts, validate
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...status import Reason, Status
from ..nonlinear.options import InteriorPointOptions
from ..nonlinear.program import Answer, failed, not_finite, placed
from . import bounds_loops as loops
from .barrier import Barrier, BarrierParameter, Errors, Scaled, inside
from .kkt import KktMatrix, SearchDirection
from .line_search import ROUNDING, Filter, Iterate, LineSearch, Restoration

if TYPE_CHECKING:
    from ..nonlinear.program import NonlinearProgram

DEFAULTS = InteriorPointOptions()
NO_MINIMUM = "converged to a stationary point that is not a minimum"


@frozen
class InteriorPoint(NamedArguments):
    """timefem's own interior-point method: one block elimination in time order per iteration.

    Parameters
    ----------
    tolerance : float
        Of the scaled conditions of optimality.
    max_iterations : int
        Of a whole solve, all starts and strategies together; of one start those of the options at most.
    pushes : int
        How often to continue from a random point near a saddle point, of the objective or of the violation.
    options : InteriorPointOptions
        All its thresholds, or a dict of some.
    """

    tolerance: float = 1e-9
    max_iterations: int = 4000
    pushes: int = 5
    options: InteriorPointOptions = DEFAULTS

    name, warm_starts, shared = "interior-point", True, True

    def __post_init__(self):
        validate.real("tolerance", self.tolerance, positive=True)
        validate.integer("max_iterations", self.max_iterations, minimum=1)
        validate.integer("pushes", self.pushes, minimum=0)
        object.__setattr__(self, "options", InteriorPointOptions.of(self.options))
        if not isinstance(self.options, InteriorPointOptions):
            raise InputError(f"options must be InteriorPointOptions or a dict, not {self.options!r}")

    def solve(self, program: NonlinearProgram) -> Answer:
        """The `Answer` for a `NonlinearProgram`, from its start."""
        with np.errstate(divide="ignore", invalid="ignore"):  # of starts where the model gives no numbers
            return _Solve(self, program).answer()


class Loop:
    """Iterations of a `Barrier` problem.

    Attributes
    ----------
    count : int
        Iterations so far, those of restorations included.
    limit : int
        After how many to stop.
    history : list of float
        Largest violation of the scaled rows in each.
    """

    def __init__(self, settings, program):
        self.settings, self.program, self.count, self.history = settings, program, 0, []
        self.limit = self.most = min(settings.max_iterations, settings.options.start_iterations)

    def run(self, barrier, direction, it, mu, restore=None, leave=lambda it, error: None, leaves=False):
        """Iterate from `it`.

        Parameters
        ----------
        restore : callable, optional
            `restore(it, mu, taken)` -> (iterate or None, mu, what happened), when no step will do.
        leave : callable
            Told each iterate and its error; the outcome where to stop there.
        leaves : bool
            Whether to stop where the curvature is not that of a minimum and mu may fall again, or, in a restoration,
            has not for long.

        Returns
        -------
        it : Iterate
        mu : float
        outcome : str
            "solved", "left", "saddle", "acceptable", "stuck", a `Reason`, or what `restore` says.
        """
        o, search, acceptable = self.settings.options, LineSearch(barrier, direction), 0
        taken = Filter(it.theta, o.most_violation * barrier.scaled.many if restore else o.most_violation_restoring, o)
        least, since = self.settings.tolerance / (o.sufficient + 1), self.count
        parameter = BarrierParameter(barrier, direction, least, restore is not None)
        while True:
            direction.look(it)
            errors = Errors(barrier, direction, it)
            error = errors.at(0.0)
            self.history.append(errors.rows)
            if error <= self.settings.tolerance:
                final = restore is not None and self.settings.tolerance <= o.acceptable  # not of rough solves
                return self._settled(barrier, direction, it, mu) if final else it, mu, "solved"
            acceptable = acceptable + 1 if error <= o.acceptable else 0
            if acceptable == o.accepted_after:
                return it, mu, "acceptable"
            if outcome := leave(it, error):
                return it, mu, outcome
            if restore is not None and it.f < o.fallen and barrier.over.largest(np.abs(it.w).max(initial=0.0)) > o.far:
                return it, mu, Reason.UNBOUNDED
            if self.count >= self.limit:
                return it, mu, Reason.NOT_CONVERGED
            if barrier.over.largest(interrupts.asked() or 0):
                return it, mu, Reason.STOPPED
            self.count += 1
            self.program.on_iteration(error)
            sure = errors.at(mu) <= o.sufficient * mu or (parameter.predicted and error <= o.close_error)
            if restore is not None and errors.rows <= o.nearly and sure and \
                    (factor := barrier.scaled.enlarge(it.f, direction.gradient)) != 1:
                mu *= factor
                it.enlarge(factor)
                direction.look(it)
                errors = Errors(barrier, direction, it)
            done = restore is not None and least < mu < o.mu_start and errors.at(mu) <= o.sufficient_in_valley * mu
            creeps = restore is None and self.count == since + o.patience and errors.rows <= o.nearly
            if leaves and (done or creeps) and direction.is_saddle(it):
                return it, mu, "saddle"
            regular, before, found = direction.factor(it), mu, None
            mu, products = parameter.next(it, mu, errors) if regular else (mu, None)
            if mu != before:
                taken.entries, since = [], self.count
            if regular:
                found = search(it, mu, taken, products)
            if found is None and products is not None:
                found = search(it, mu, taken)
            if found is None and error <= o.acceptable:
                return it, mu, "acceptable"
            if found is None and restore is None:
                return it, mu, "stuck"
            if found is None:
                taken.add(it.theta, it.phi(mu))
                found, mu, outcome = restore(it, mu, taken)
                if outcome != "left":
                    return found, mu, outcome
            it = found

    def _settled(self, barrier, direction, it, mu):
        it, steps = FinalSteps(barrier, direction, self.settings.tolerance)(it, mu, self.count > 0)
        self.count += steps
        return it


class _Solve:
    """One solve of a program."""

    def __init__(self, settings, program):
        self.settings, self.program, self.options = settings, program, settings.options
        self.scaled = Scaled(program, np.clip(program.start, *program.bounds), self.options)
        self.barrier = Barrier(self.scaled, self.scaled.slacks)
        self.matrix = KktMatrix.of(self.scaled)
        self.direction = SearchDirection(self.matrix, self.barrier)
        self.loop = Loop(settings, program)
        self.restoration = Restoration(self.barrier, self.direction, self.loop)

    def answer(self):
        it, mu = self._start()
        if not_finite(self.program, it.w[:self.scaled.n]) is not None:
            return self._told(it, Reason.NOT_FINITE, "")
        rng, pushes, best, note = np.random.default_rng(0), self.settings.pushes, None, "converged"
        left, direct = None, self.program.start_multipliers is not None  # a start close to a solution is not left
        unmet = None  # a saddle point of the violation
        while True:
            self.restoration.leaves = early = pushes > 0 and not direct
            it, mu, outcome = self.loop.run(self.barrier, self.direction, it, mu, self.restoration, leaves=early)
            if outcome == Reason.UNBOUNDED:
                return self._told(it, outcome, "")
            solved = outcome in ("solved", "acceptable")
            minimum = solved and not self.direction.is_saddle(it)
            if solved and (best is None or it.f < best.f):
                best, note = it, NO_MINIMUM
                if minimum:
                    note = "converged" if outcome == "solved" else f"converged to {self.options.acceptable:g} only"
            away = outcome in ("saddle", "symmetric") or (solved and not minimum)
            if minimum or outcome == Reason.STOPPED or not (left or away or (unmet and not direct)):
                break
            unmet = unmet or ((it.w, mu) if outcome == "symmetric" else None)
            if not (away or direct):  # the push led nowhere: the way without it
                before = left or unmet
                it, mu, left, direct = self._at(*before), before[1], None, True
            elif pushes:
                if outcome != "symmetric":
                    left = left or (it.w, mu)
                w = it.w if away else left[0]
                mu, pushes = max(mu, self.options.mu_pushed), pushes - 1
                it = self._at(self._pushed(w, rng), mu)
            else:
                break
            most = self.loop.most
            self.loop.limit = most if direct else min(self.loop.count + self.options.push_iterations, most)
        return self._told(best or it, outcome if best is None else "solved", note)

    def _told(self, it, outcome, note):
        scale = self.scaled.objective_scale
        v, y = it.w[:self.scaled.n], it.y * self.scaled.row_scale / scale
        z = np.zeros(len(it.w))
        self.barrier.bounds.add(z, it.z)
        if outcome == "solved":
            status = Status(True, message=note, residual_history=self.loop.history)
        else:
            if outcome == Reason.STOPPED:
                interrupts.answer()
            reason = Reason.NOT_CONVERGED if outcome == "stuck" else outcome
            where = {Reason.NOT_FINITE: "interior point, at the first iterate",
                     Reason.UNBOUNDED: f"interior point; the objective falls without end, to {it.f / scale:.1e} so far"}
            status = failed(self.program, v, reason, self.loop.history, where.get(reason, "interior point"),
                            it.y if reason == Reason.INFEASIBLE else None)
        return Answer(v, y, z[:self.scaled.n] / scale, status, self.loop.count)

    def _start(self):
        """The first iterate, and mu."""
        warm = self.program.start_multipliers is not None
        mu = self.options.mu_warm if warm else self.options.mu_start
        w = np.concatenate([self.program.start, np.zeros(self.barrier.auxiliary.n)])
        push = self.options.push
        room = mu**0.5 if warm else push
        n = self.scaled.n
        w[:n] = inside(w[:n], self.scaled.lower, self.scaled.upper, push, room)
        a = self.barrier.auxiliary
        w[n:] = self.scaled.values(w[:n])[1][a.row]
        w = inside(w, self.barrier.lower, self.barrier.upper, push, room)
        return self._iterate(w, self._near(w, mu) if warm else np.ones(self.barrier.bounds.at.shape)), mu

    def _near(self, w, mu):
        """Multipliers of bounds near a solution: what its multipliers of rows leave of the gradient."""
        b, y = self.barrier, self.program.start_multipliers * self.scaled.objective_scale / self.scaled.row_scale
        it = Iterate(w, y, None, *b.values(w))
        at, near = b.bounds.at, mu / it.slack
        it.z = near
        self.direction.look(it)
        left = b.bounds.sign * self.direction.of_lagrangian[at]
        return np.where(at < b.n, np.maximum(left, self.options.weak * near), near)

    def _iterate(self, w, z):
        """With multipliers of the rows that are estimated."""
        it = Iterate(w, np.zeros(self.barrier.m), z, *self.barrier.values(w))
        self.direction.look(it)
        it.y = self.direction.multipliers(it)
        return it

    def _at(self, w, mu):
        return self._iterate(w, mu / self.barrier.bounds.slacks_and_well(w)[0])

    def _pushed(self, w, rng):
        span = self.barrier.upper - self.barrier.lower
        span = np.where(np.isfinite(span), span, np.maximum(1.0, np.abs(w)))
        length, direction = self.options.push_length, span * self._random(rng)
        while True:
            pushed = inside(w + length * direction, self.barrier.lower, self.barrier.upper, self.options.push)
            _, _, theta, *_ = self.barrier.values(pushed)
            if np.isfinite(theta) or length < ROUNDING:
                return pushed
            length /= 2

    def _random(self, rng):
        """A number from -1 to 1 for each variable and slack, told by its place in its block: so they are the same on
        any number of ranks."""
        program, rows = self.program, self.barrier.auxiliary.row
        blocks = np.concatenate([program.variable_blocks[:program.n], program.row_blocks[rows]])
        places = placed(blocks, np.zeros(int(blocks.max()) + 1, int))
        numbers = rng.uniform(-1, 1, (self.scaled.n_blocks, int(self.barrier.over.largest(places.max() + 1))))
        return numbers[program.first_block + blocks, places]


# ---- Newton steps of a barrier problem at its end, until the step itself is small and not its residual alone. Where
# the objective is flat, as along a height that a motion may have anywhere within its limits, an error of the variables
# is the residual over a small curvature, or that of the barrier alone, which is mu over the square of a slack

class FinalSteps:
    """Steps of a `Barrier` at the last mu, of an iterate whose derivatives are at hand.

    Parameters
    ----------
    barrier : Barrier
    direction : SearchDirection
    tolerance : float
        Of the conditions of optimality.
    """

    def __init__(self, barrier, direction, tolerance):
        self.barrier, self.direction, self.tolerance = barrier, direction, tolerance

    def __call__(self, it, mu, factored):
        """The last iterate, whose derivatives are at hand, and how many steps it took.

        `factored` tells whether there are factors of the iterate before: by these a small step, the rule, costs little.
        """
        o, last, known = self.barrier.options, np.inf, factored and not self.direction.regularisation.now
        least = (o.large_step if self.direction.regularisation.last else o.large_step_convex) * self.tolerance
        if known and self._size(self.direction.step(it, mu, it.c)[0], it) <= least / o.shorter:
            return it, 0
        for count in range(o.final_steps):
            if not self.direction.factor(it) or self.direction.regularisation.now:
                return it, count
            dw, dy, dz = self.direction.step(it, mu, it.c)
            size = self._size(dw, it)
            if not least < size <= o.final_falls * last:
                return it, count
            new = self._moved(it, dw, dy, dz, mu)
            self.direction.look(new)
            if not Errors(self.barrier, self.direction, new).at(0.0) <= self.tolerance:
                self.direction.look(it)
                return it, count
            it = new
            if last < np.inf and size * size <= o.small_step * self.tolerance * last:  # the next one is small enough
                return it, count + 1
            last, least = size, o.small_step * self.tolerance
        return it, o.final_steps

    def _size(self, dw, it):
        return self.barrier.over.largest(np.abs(dw / (1 + np.abs(it.w))).max(initial=0.0))

    def _moved(self, it, dw, dy, dz, mu):
        barrier, tau = self.barrier, max(0.99, 1 - mu)
        alpha = barrier.over.least(barrier.bounds.longest(it.slack, dw, tau))
        new = Iterate.at(barrier, it.w + alpha * dw, it.y + alpha * dy)
        alpha = barrier.over.least(loops.longest(it.z, dz, tau))
        new.z = barrier.bounds.moved(it.z, dz, alpha, mu, new.slack)
        return new
