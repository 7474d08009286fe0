"""The filter line search of Waechter & Biegler (Math. Program. 106 (2006), Sect. 2.3 to 2.4)."""

from dataclasses import dataclass, replace

import numpy as np

from ...status import Reason
from ..nonlinear.program import signs_of
from . import bounds_loops as loops
from .barrier import Auxiliary, Barrier
from .bounds_loops import longest
from .kkt import SearchDirection

ROUNDING = 10 * np.finfo(float).eps


@dataclass
class Iterate:
    """Variables, multipliers of rows and of bounds, and `Barrier.values` there."""

    w: np.ndarray
    y: np.ndarray
    z: np.ndarray
    f: float
    c: np.ndarray
    theta: float
    well: float
    slack: np.ndarray

    @classmethod
    def at(cls, barrier, w, y, z=None):
        """Where derivatives may be asked for next."""
        barrier.scaled.expect(w[:barrier.n], barrier.factor, y)
        return cls(w, y, z, *barrier.values(w))

    def phi(self, mu):
        """The barrier function."""
        return self.f + mu * self.well

    def enlarge(self, factor):
        """Take the objective that many times as large, and so multipliers."""
        self.f, self.y, self.z = factor * self.f, factor * self.y, factor * self.z


class Filter:
    """Pairs of violation and barrier function that a new point must improve on.

    Parameters
    ----------
    theta : float
        Violation at the start, to which those that are small, and those that are too large, are relative.
    most : float
        The largest violation over max(1, theta).
    options : InteriorPointOptions
    """

    def __init__(self, theta, most, options):
        self.entries, self._options = [], options
        self.least, self.most = 1e-4 * max(1.0, theta), most * max(1.0, theta)

    def add(self, theta, phi):
        new = (1 - self._options.gamma_theta) * theta, phi - self._options.gamma_phi * theta
        self.entries = [e for e in self.entries if e[0] < new[0] or e[1] < new[1]] + [new]

    def takes(self, theta, phi):
        return bool(np.isfinite(phi) and theta <= self.most and
                    all(theta < t or phi <= p + ROUNDING * abs(p) for t, p in self.entries))


class LineSearch:
    """Looks for a step of a `Barrier` that the filter takes."""

    def __init__(self, barrier, direction):
        self.barrier, self.direction, self.over, self.options = barrier, direction, barrier.over, barrier.options
        self._centred = CentralityCorrection(barrier, direction)
        self._restores = barrier.factor and barrier.scaled.program.start_multipliers is None
        self._crawled = self._jammed = self._emptied = 0

    def __call__(self, it, mu, taken, products=None):
        """The next iterate, None where no step will do; `taken` is the filter, `products` as of `SearchDirection`."""
        self.it, self.mu, self.taken, self.products, self._refused = it, mu, taken, products, False
        if self._crawled >= self.options.crawling_steps and it.theta > taken.least:
            self._crawled = 0 if products is None else self._crawled
            return None
        self.tau = max(0.99, 1 - mu)
        self.phi = it.phi(mu)
        dw, dy, dz = self.direction.step(it, mu, it.c, products)
        if products is not None:
            (dw, dy, dz), self.products = self._centred(it, mu, self.tau, (dw, dy, dz), products)
        slope, size = loops.slope_and_size(self.direction.gradient, self.direction.of_barrier, dw, it.w)
        self.slope, size, alpha = self.over.combined((slope,), (size,), (self._longest_here(dw),))
        alpha = self._before_poles(dw, alpha)
        largest = alpha
        if size < ROUNDING:
            return self._accepted(self._trial(dw, dy, alpha), dz, alpha)
        shortest = max(self._shortest(), 0.0 if products is None else self.options.shortest_predicted)
        while alpha >= shortest:
            trial = self._trial(dw, dy, alpha)
            if self._good(trial, alpha):
                return self._accepted(trial, dz, alpha)
            if alpha == largest and trial.theta >= it.theta:
                corrected = self._corrected(trial, alpha)
                if corrected is not None:
                    return self._accepted(corrected, dz, alpha)
            alpha /= 2
        return None

    def _longest_here(self, dw):
        """The longest step of this rank."""
        return self.barrier.bounds.longest(self.it.slack, dw, self.tau)

    def _before_poles(self, dw, alpha):
        """The length of a step, alpha at most, that leaves the share `1 - tau` of each divisor of formulas that has one
        sign all along: of what is beyond its zero derivatives know nothing."""
        program, w, n = self.barrier.scaled.program, self.it.w, self.barrier.n
        divisors = program.divisors(w[:n])
        if not divisors:
            return alpha
        signs = signs_of(divisors, self.over)

        def left(alpha):
            new = program.divisors((w + alpha * dw)[:n])
            shares = [sign * (x - (1 - self.tau) * y) for sign, x, y in zip(signs, new, divisors, strict=True) if sign]
            return self.over.least(min((share.min(initial=np.inf) for share in shares), default=np.inf))

        while alpha > ROUNDING and not left(alpha) >= 0:
            alpha /= 2
        return alpha

    def _shortest(self):
        o, theta, slope = self.options, max(self.it.theta, ROUNDING), self.slope
        share = o.gamma_theta
        if slope < 0:
            share = min(share, o.gamma_phi * theta / -slope)
            if theta <= self.taken.least:
                share = min(share, theta**o.s_theta / (-slope)**o.s_phi)
        return o.shortest_step * share

    def _trial(self, dw, dy, alpha):
        return Iterate.at(self.barrier, self.it.w + alpha * dw, self.it.y + alpha * dy, self.it.z)

    def _good(self, trial, alpha):
        o, theta, phi = self.options, trial.theta, trial.phi(self.mu)
        if not np.isfinite(theta):
            return False
        if not self.taken.takes(theta, phi):
            self._refused = True
            return False
        gain = phi - self.phi - ROUNDING * abs(self.phi)
        by_cost = self.slope < 0 and alpha * (-self.slope)**o.s_phi > self.it.theta**o.s_theta
        if by_cost and self.it.theta <= self.taken.least:
            return gain <= o.eta * alpha * self.slope
        if theta > (1 - o.gamma_theta) * self.it.theta and gain > -o.gamma_phi * self.it.theta:
            return False
        if not by_cost or gain > o.eta * alpha * self.slope:
            self.taken.add(self.it.theta, self.phi)
        return True

    def _corrected(self, trial, alpha):
        """A point after second-order corrections, by the factors at hand; None where they do not help."""
        c, last = alpha * self.it.c + trial.c, trial.theta
        for _ in range(self.options.corrections):
            if not np.isfinite(trial.theta):
                return None
            dw, dy, _ = self.direction.step(self.it, self.mu, c, self.products)
            alpha_c = self._before_poles(dw, self.over.least(self._longest_here(dw)))
            trial = self._trial(dw, dy, alpha_c)
            if self._good(trial, alpha_c):
                return trial
            if trial.theta > self.options.correction_falls * last:
                return None
            last, c = trial.theta, alpha_c * c + trial.c
        return None

    def _accepted(self, trial, dz, alpha):
        o, theta = self.options, self.it.theta
        short = alpha < o.crawling_length
        crawls = short and self._restores and o.crawling_violation * theta < trial.theta <= theta
        self._crawled = self._crawled + 1 if crawls else 0
        self._jammed = self._jammed + 1 if short and self._refused else 0
        if self._jammed == o.crawling_steps and self._emptied < o.emptied:
            self.taken.entries, self._jammed, self._emptied = [], 0, self._emptied + 1
            self.taken.most *= o.wider
        alpha = self.over.least(loops.longest(self.it.z, dz, self.tau))
        trial.z = self.barrier.bounds.moved(self.it.z, dz, alpha, self.mu, trial.slack)
        return trial


class CentralityCorrection:
    """Corrects steps of a `Barrier` by what is known at an iterate.

    Parameters
    ----------
    barrier : Barrier
    direction : SearchDirection
    """

    def __init__(self, barrier, direction):
        self.barrier, self.direction = barrier, direction

    def __call__(self, it, mu, tau, step, products):
        """The step (dw, dy, dz) for mu and `products`, as of `SearchDirection`, or a longer one, with its products."""
        o, (a, b) = self.barrier.options, self._lengths(it, tau, step)
        if mu <= o.corrected_above or min(a, b) >= o.corrected_below:
            return step, products
        bounds, (dw, _, dz) = self.barrier.bounds, step
        lengths = min(1.0, a + o.longer), min(1.0, b + o.longer)
        closer = loops.closer_to_mu(bounds.at, bounds.sign, it.slack, it.z, (dw, dz), lengths, mu, products)
        corrected = self.direction.step(it, mu, it.c, closer)
        if sum(self._lengths(it, tau, corrected)) < a + b + o.gain * o.longer:
            return step, products
        return corrected, closer

    def _lengths(self, it, tau, step):
        """The longest steps of variables and of the multipliers of bounds."""
        dw, _, dz = step
        return self.barrier.over.combined((), (), (self.barrier.bounds.longest(it.slack, dw, tau),
                                                   loops.longest(it.z, dz, tau)))


# ---- the restoration phase: rows made less violated where the line search finds no step.
#
# Minimise `rho sum(p + n) + zeta/2 |D (w - w_R)|^2` with `c(w) - p + n = 0` and `p, n >= 0` (Waechter & Biegler, Math.
# Program. 106 (2006), Sect. 3.3), by the same iterations. The elastic variables p and n are eliminated within their
# rows, so that the pattern stays.

class Restoration:
    """Finds an iterate that the filter takes and that violates the rows less.

    Parameters
    ----------
    barrier : Barrier
        Of the program.
    direction : SearchDirection
    loop : Loop

    Attributes
    ----------
    leaves : bool
        Whether to end at saddle points of the violation, with "symmetric".
    """

    leaves = False

    def __init__(self, barrier, direction, loop):
        self.barrier, self.direction, self.loop, self.options = barrier, direction, loop, barrier.options
        self._left, self._weight, self._first = self.options.restored, 1.0, None

    def __call__(self, it, mu, taken):
        """The next iterate, mu and "left", or the last one and why there is none.

        Where no way leads on from the corner of bounds that restorations came to, the first of them is done again, with
        bounds that count beside the violation, and so are kept away from. Where that does not help either, and what
        holds iterates near the first one leaves violation, as where rows are many, another restoration begins where the
        last one ended, and is held less.
        """
        self._first = self._first or (it, mu)
        o, begun, held = self.options, it.theta, 1.0
        found, outcome, pull = self._restored(it, mu, taken, begun)
        if outcome == Reason.INFEASIBLE and self._weight == 1 and self.barrier.n_bounds:
            it, first = self._first
            it = Iterate(it.w, it.y, it.z, *self.barrier.values(it.w))
            self._left, self._weight, taken.entries = o.restored, o.centred, []
            again, way, _ = self._restored(it, first, taken, it.theta)
            if way in ("left", "symmetric"):
                return again, first, way
        while outcome == Reason.INFEASIBLE and pull > o.pulled * found.theta:
            it, held = replace(found, z=np.minimum(mu / found.slack, o.largest_of_bounds)), held * o.let_go
            found, outcome, pull = self._restored(it, mu, taken, begun, held)
        return found, mu, outcome

    def _restored(self, it, mu, taken, begun, held=1.0):
        """An iterate, the outcome, and the violation that is worth what holds it near the first one."""
        main, n, o = self.barrier, len(it.w), self.options
        rows = np.arange(main.m)
        elastic = [Auxiliary(rows, sign, o.rho, 0.0, np.inf, 0.0) for sign in (-1.0, 1.0)]
        weights = np.zeros(n + 2 * main.m)
        weights[:n] = held * np.sqrt(mu) * np.minimum(1.0, 1.0 / np.maximum(np.abs(it.w), 1e-300))**2
        barrier = Barrier(main.scaled, main.auxiliary.joined(elastic[0]).joined(elastic[1]), 0.0,
                          np.concatenate([it.w, np.zeros(2 * main.m)]), weights)

        def leave(now, error):
            """Where the program's own filter takes the point, or no step will leave less violation."""
            f, c, theta, well, _ = main.values(now.w[:n])
            if theta <= self._left * begun and taken.takes(theta, f + mu * well):
                return "left"
            if error <= o.rho * self.loop.settings.tolerance and violation(c) > o.violated:
                return "solved"
            return None

        def violation(c):
            return main.over.largest(np.abs(c).max(initial=0.0))

        start, mu_start = self._start(barrier, it, mu)
        direction = SearchDirection(self.direction.matrix, barrier)
        found, _, outcome = self.loop.run(barrier, direction, start, mu_start, leave=leave, leaves=self.leaves)
        if outcome == "left":
            self._left *= o.restored_again
            return self._back(it, found.w[:n], mu), "left", 0.0
        now = Iterate(found.w[:n], found.y / o.rho, it.z, *main.values(found.w[:n]))
        if outcome == "stuck" and not now.theta <= begun:
            return it, Reason.NOT_CONVERGED, 0.0  # it led astray, and shows nothing
        if outcome == "stuck" and violation(now.c) > o.violated:
            outcome = "solved"  # no step leaves less violation
        if outcome == Reason.STOPPED:
            return now, outcome, 0.0
        if outcome == "saddle":
            return now, "symmetric", 0.0
        missed = outcome not in (Reason.NOT_CONVERGED, "stuck") and violation(now.c) > self.loop.settings.tolerance
        (pull,) = main.over.combined(sums=(weights[:n] @ (now.w - it.w)**2 / 2,))
        return now, Reason.INFEASIBLE if missed else Reason.NOT_CONVERGED, pull / o.rho

    def _start(self, barrier, it, mu):
        rho, mu = self.options.rho, self._weight * max(mu, barrier.over.largest(np.abs(it.c).max(initial=0.0)))
        half = (mu - rho * it.c) / (2 * rho)
        n = half + np.sqrt(half**2 + mu * it.c / (2 * rho))
        p = it.c + n
        low, high = np.split(np.minimum(rho, it.z), [self.barrier.bounds.n_low])
        w = np.concatenate([it.w, p, n])
        z = np.concatenate([low, mu / p, mu / n, high])
        return Iterate(w, np.zeros(barrier.m), z, *barrier.values(w)), mu

    def _back(self, it, w, mu):
        """An iterate of the program at w, with multipliers that a step there would have given."""
        main = self.barrier
        dz = main.bounds.change(it.slack, it.z, w - it.w, mu)
        z = it.z + main.over.least(longest(it.z, dz, max(0.99, 1 - mu))) * dz
        if main.over.largest(z.max(initial=0.0)) > self.options.largest_of_bounds:
            z = np.ones_like(z)
        new = Iterate(w, np.zeros(main.m), z, *main.values(w))
        self.direction.look(new)
        new.y = self.direction.multipliers(new)
        return new
