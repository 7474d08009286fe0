"""A whole motion fitted to measurements, without dynamics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ....errors import InputError
from ....mechanics.system import coordinate_names
from ....memory import Late
from ..options import DEFAULT, KinematicOptions
from .block_chain import NotPositive
from .geometry import Geometry, Tangents
from .measured import Formulas, Steps, measured_at
from .smoother import Iterate, Smoother
from .statement import Limits, PartNumbers, places_among

scipy = Late("scipy")


def postures(smoother, q, c):
    """Coordinates that fit what was measured at each frame, shape (n_frames, n_q), by damped steps from a posture.

    What a frame does not settle stays as it was.
    """
    geometry, t, options = smoother.geometry, smoother.t, smoother.options
    measured = [own for own in smoother.measured if own.of_places]
    x = np.tile(q, (len(t), 1))
    if not measured:
        return x
    problem = _Frames(smoother, measured, c)
    first = problem.solve(x[:1].copy(), np.array([problem.fullest]))[0]
    some = problem.anchors(options.stride)
    x[some], misfit = problem.solve(np.tile(first, (len(some), 1)), some)
    limit = options.worse * max(np.median(misfit), 1.0)
    _from_neighbours(problem, x, misfit, some, limit)
    x[some] = continuous(geometry, x[some])
    if len(some) > 1:
        others = np.setdiff1d(np.arange(len(t)), some)
        x[others] = scipy.interpolate.CubicSpline(t[some], x[some])(t[others])
    misfit, limit = problem.misfits(x), limit * options.between  # smooth paths begin better than frames by themselves
    bad = np.flatnonzero(misfit > limit)
    if len(bad):
        x[bad], misfit[bad] = problem.solve(x[bad], bad)
    _from_neighbours(problem, x, misfit, np.arange(len(t)), limit)
    return continuous(geometry, x)


def continuous(geometry, q):
    """The same postures with the turns and signs that make the path continuous, shape (n_frames, n_q)."""
    q = q.copy()
    angles = geometry.angles()
    q[:, angles] = np.unwrap(q[:, angles], axis=0)
    for _, local in geometry.turns:
        places = geometry.touched[local]
        if len(places) == 4:
            against = np.einsum("fi,fi->f", q[1:, places], q[:-1, places]) < 0
            q[1:, places] *= np.where(np.cumsum(against) % 2, -1.0, 1.0)[:, None]
    return q


def _from_neighbours(problem, x, misfit, some, limit):
    """Try again, from what is beside them, those of some frames whose misfit is above a limit."""
    tried = np.zeros((2, len(some)), bool)
    for _ in range(2 * len(some)):
        bad = misfit > limit
        again = np.zeros(len(some), int)
        for side in (0, 1):
            step = (1, -1)[side]
            beside = np.roll(~bad, step)
            beside[0 if step == 1 else -1] = False
            take = bad & beside & ~tried[side] & (again == 0)
            again[take], tried[side, take] = step, True
        frames = np.flatnonzero(again)
        if not len(frames):
            return
        found, own = problem.solve(x[some[frames - again[frames]]].copy(), some[frames])
        better = own < misfit[frames]
        x[some[frames[better]]], misfit[frames[better]] = found[better], own[better]


class _Frames:
    """Frames on their own."""

    def __init__(self, smoother, measured, c):
        self.geometry, self.root, self.n_free = smoother.geometry, smoother.steps.root, smoother.n_free
        t, self.measured, self.c, self.options, self._comm = smoother.t, measured, c, smoother.options, smoother.comm
        self.t = t
        self.places = np.full((len(measured), len(t)), -1)
        self.counts = np.zeros(len(t))
        for places, own in zip(self.places, measured, strict=True):
            places[own.frames] = np.arange(len(own.frames))
            self.counts[own.frames] += sum(sensor.measured.sum(axis=1) for sensor in own.sensors)
        self.fullest = int(np.argmax(self.counts))

    def anchors(self, stride):
        """Frames at about this distance from each other, those at which most was measured, and both ends."""
        starts = np.arange(0, len(self.t), stride)
        best = [start + int(np.argmax(self.counts[start:start + stride])) for start in starts]
        return np.unique([0, *best, len(self.t) - 1])

    def misfits(self, q):
        """Of all frames, per number."""
        out, p = np.zeros(len(q)), self.geometry.levels
        for own in self.measured:
            states = np.zeros((len(own.frames), p, self.geometry.n))
            states[:, 0] = q[own.frames]
            out[own.frames] += (own.residuals(states, self.c)**2).sum(axis=1)
        return out / np.maximum(self.counts, 1.0)

    def _equations(self, q, frames, robust):
        n, p = self.geometry.n, self.geometry.levels
        matrix, pull, cost = np.zeros((len(q), n, n)), np.zeros((len(q), n)), np.zeros(len(q))
        states = np.concatenate([q[:, None], np.zeros((len(q), p - 1, n))], axis=1)
        for places, own in zip(self.places, self.measured, strict=True):
            here = np.flatnonzero(places[frames] >= 0)
            if not len(here) or not own.seen[0]:
                continue
            values, slopes = own.linearized(states[here], self.c, places[frames[here]])
            slopes = slopes[0]
            if robust and own.robust:
                root = np.sqrt(own.weights(values, places[frames[here]]))
                values, slopes = values * root, slopes * root[..., None]
            matrix[here] += slopes.swapaxes(1, 2) @ slopes
            pull[here] += (values[:, None] @ slopes)[:, 0]
            cost[here] += (values**2).sum(axis=1)
        return matrix, pull, cost, states

    def solve(self, q, frames):
        """Coordinates of some frames, from given ones, and their misfits per number; ranks share them."""
        if self._comm is None or len(frames) < self._comm.size:
            return self._solve(q, frames)
        own = np.array_split(np.arange(len(frames)), self._comm.size)[self._comm.rank]
        told = self._comm.allgather(self._solve(q[own], frames[own]))
        return tuple(np.concatenate(parts) for parts in zip(*told, strict=True))

    def _solve(self, q, frames):
        damping, active = np.full(len(q), 1e-3), np.arange(len(q))
        matrix, pull, cost, states = self._equations(q, frames, False)
        best, robust = cost.copy(), any(own.robust for own in self.measured)
        for iteration in range(self.options.frame_iterations):
            own = Tangents(self.geometry, self.root, states, self.t[frames[active]], self.n_free, True,
                           self.c[:len(self.geometry.means)])
            basis, shift = self._whole(own)
            pull = pull + (matrix @ shift[..., None])[..., 0]
            matrix, pull = basis.swapaxes(1, 2) @ matrix @ basis, (pull[:, None] @ basis)[:, 0]
            d = matrix.shape[1]
            size = np.einsum("fii->f", matrix) / d
            scale = np.einsum("fii->fi", matrix) + 1e-9 * size[:, None] + np.finfo(float).tiny
            damped = matrix.copy()
            damped[:, np.arange(d), np.arange(d)] += damping[active, None] * scale + 1e-9 * size[:, None] + 1e-300
            step = -np.linalg.solve(damped, pull[..., None])[..., 0]
            length = np.sqrt(np.abs((step * pull).sum(axis=1)))
            motion = (basis @ step[..., None])[..., 0] + shift
            most = self.options.largest * np.maximum(1.0, np.abs(q[active]).max(axis=1))
            motion *= np.minimum(1.0, most / np.maximum(np.abs(motion).max(axis=1), 1e-300))[:, None]
            new = q[active] + motion
            matrix, pull, cost, states = self._equations(new, frames[active], robust and iteration > 2)
            open_ones = np.abs(shift).max(axis=1, initial=0.0) > 1e-6
            better = (cost <= best[active]) | open_ones | (robust and iteration < 5)
            taken = active[better]
            q[taken], best[taken] = new[better], cost[better]
            damping[taken] = np.maximum(damping[taken] * 0.1, 1e-9)
            damping[active[~better]] *= 10
            going = (length > self.options.frame_tolerance) & (damping[active] < 1e8)
            if not going.any():
                break
            back = ~better[going]
            active = active[going]
            matrix, pull, cost, states = matrix[going], pull[going], cost[going], states[going]
            if back.any():  # of frames that did not move
                again = self._equations(q[active[back]], frames[active[back]], robust and iteration > 2)
                matrix[back], pull[back], cost[back], states[back] = again
        return q, best / np.maximum(self.counts[frames], 1.0)

    def _whole(self, tangents):
        """Basis and shift of all coordinates."""
        geometry, m = self.geometry, len(tangents.basis)
        d, n_apart = tangents.n_free, len(geometry.apart)
        basis, shift = np.zeros((m, geometry.n, d + n_apart)), np.zeros((m, geometry.n))
        basis[:, geometry.touched, :d] = tangents.basis
        basis[:, geometry.apart, d + np.arange(n_apart)] = 1.0
        shift[:, geometry.touched] = tangents.gap
        return basis, shift


@dataclass
class Fit:
    """The most likely motion.

    Attributes
    ----------
    x : ndarray, shape (n, levels, n_q)
        Coordinates, velocities and, of order 3, accelerations at the frames.
    c : ndarray
        Unknown numbers.
    cost : float
        Half the sum of squares, of robust losses with their last weights.
    iterations : int
    converged : bool
    message : str
        Where it is not.
    weights : list of ndarray or None
        Of residuals, of each of `measured`.
    smoother : Smoother
        With the factors of the last iteration.
    again : callable
        `again(sensors)` -> the `Fit` of other sensors at the same frames.
    n_ranks : int
        How many shared the frames.
    located : dict
        Sensor whose clock is unknown -> the same with the offset that was found.
    fitter : Fitter
        Of the same sensors with other values.
    """

    x: np.ndarray
    c: np.ndarray
    cost: float
    iterations: int
    converged: bool
    message: str
    weights: list
    smoother: Smoother
    again: Callable = field(default=None, repr=False)
    n_ranks: int = 1
    located: dict = field(default_factory=dict)
    fitter: "Fitter | None" = field(default=None, repr=False)

    def residuals(self, sensor):
        """What a sensor gave less what is expected, shape (n_times, n)."""
        measured, part, _ = self._place(sensor)
        return measured.residuals(self.x[measured.frames], self.c, white=False)[:, part]

    @property
    def objective(self):
        """The least cost, where losses are robust of their own functions."""
        return self.cost + sum(own.excess(own.residuals(self.x[own.frames], self.c)) for own in self.smoother.measured
                               if own.robust)

    def weights_of(self, sensor):
        """By its loss, shape (n_times,)."""
        _, part, weights = self._place(sensor)
        return np.ones(len(sensor.times)) if weights is None else weights[:, part.start]

    def _place(self, sensor):
        sensor = self.located.get(sensor, sensor)
        for measured, weights in zip(self.smoother.measured, self.weights, strict=True):
            if sensor in measured.sensors:
                return measured, measured.parts[measured.sensors.index(sensor)], weights
        raise KeyError(sensor)


class Asked(NamedTuple):
    """How a motion is fitted.

    Attributes
    ----------
    order : {2, 3}
    t_span : sequence of float
        Times that are frames though nothing is measured there.
    options : KinematicOptions
    limits : Limits or None
    comm : mpi4py communicator or None
        Of ranks that share the frames.
    parts : PartNumbers or None
    bounds : ndarray, shape (2, n_numbers), or None
        Of unknown numbers.
    """

    order: int
    t_span: Sequence = ()
    options: KinematicOptions = DEFAULT
    limits: Limits | None = None
    comm: Any = None
    parts: PartNumbers | None = None
    bounds: np.ndarray | None = None


def fit(system, sensors, densities, start, asked):
    """Fit a motion.

    Parameters
    ----------
    system : System
    sensors : dict
        Sensor -> its loss, or None.
    densities : callable
        `densities(geometry)` -> spectral densities of coordinates and of turns.
    start : (ndarray, callable or None)
        A posture, shape (n_q,), from which the search begins; or `guess(t)` -> coordinates (n, n_q), instead of
        postures frame by frame.
    asked : Asked

    Raises
    ------
    InputError
        Where measurements leave something undetermined; names it.
    """
    (q, guess), limits = start, asked.limits
    fitter = Fitter(system, list(sensors), densities, asked)
    smoother = fitter.smoother(sensors, q)
    mean, t = smoother.mean, smoother.t
    places = postures(smoother, q, mean) if guess is None else continuous(smoother.geometry, guess(t))
    x = np.zeros((len(t), asked.order, smoother.geometry.n))
    x[:, 0], x[:, 1] = places, np.gradient(places, t, axis=0)
    if limits is not None:
        _step(smoother, Iterate(x, mean, [None] * len(smoother.measured)))  # or an error: limits determine nothing
    found = _with_clocks(fitter, sensors, q, go_on(smoother, x, mean, limits))
    found.fitter, t = fitter, found.smoother.t
    found.again = lambda others: fit(system, others, densities, start, asked._replace(t_span=t, comm=None))
    return found


def _with_clocks(fitter, sensors, q, found):
    """The fit whose frames are where unknown clocks put them, from one whose frames are where they were thought to be.

    Gauss-Newton in the time offsets: with frames at their places, states of the best motion with these go on from there
    by its rates. A step that turns back is at most half as long as the one before, and one that goes on twice as long.
    """
    options, limits, clocks = fitter.asked.options, fitter.asked.limits, fitter.clocks
    if not clocks:
        return found
    places, iterations = list(clocks.values()), found.iterations
    now, located = found.smoother.mean[places], {}
    reach, before = np.full(len(places), np.inf), np.zeros(len(places))

    def smoother_at(located, ahead=None):
        return fitter.smoother({located.get(sensor, sensor): loss for sensor, loss in sensors.items()}, q, ahead=ahead)

    for _ in range(options.iterations):
        smoother = smoother_at(located, _rates_along(found.smoother.t, found.x))
        smoother.bounds = smoother.bounds.copy()
        smoother.bounds[0, places] = np.maximum(smoother.bounds[0, places], now - reach)
        smoother.bounds[1, places] = np.minimum(smoother.bounds[1, places], now + reach)
        c = found.c.copy()
        c[places] = now
        step = go_on(smoother, found.x, c, limits)
        change, deviations = step.c[places] - now, np.sqrt(np.diag(np.linalg.inv(step.smoother.reduced)))[places]
        iterations += step.iterations
        step.located, step.iterations = located, iterations
        far = np.abs(change) > 0.99 * reach
        if not step.converged or not np.any(far | (np.abs(change) > options.tolerance * deviations)):
            return step
        reach, before = np.where(change * before < 0, np.abs(before) / 2, np.where(far, 2 * reach, reach)), change
        now = step.c[places]
        located = {sensor: sensor.with_offset(float(one)) for sensor, one in zip(clocks, now, strict=True)}
        smoother = smoother_at(located)
        found = go_on(smoother, _along(step.smoother.t, step.x, smoother.t), step.c, limits)
        iterations += found.iterations
        if not found.converged:
            return found
    step.converged = False
    step.message = f"time offsets still change after {options.iterations} rounds: give narrower priors of them"
    return step


def _along(t, x, times):
    """States at other times."""
    path = scipy.interpolate.CubicHermiteSpline(t, x[:, 0], x[:, 1])
    out = np.empty((len(times), *x.shape[1:]))
    out[:, 0], out[:, 1] = path(times), path(times, 1)
    if x.shape[1] > 2:
        out[:, 2] = scipy.interpolate.make_interp_spline(t, x[:, 2], 1)(times)
    return out


def _rates_along(t, x):
    """Their rates at frames, as a function of times; of the last level by differences."""
    rates = np.concatenate([x[:, 1:], np.gradient(x[:, -1:], t, axis=0)], axis=1)
    return lambda times: rates[places_among(t, times)]


def go_on(smoother, x, c, limits=None):
    """The `Fit` from states and numbers, by steps on all frames."""
    if limits is not None:
        smoother.limits, x = limits, limits.inside(x)
    found = _iterate(smoother, x, c.copy())
    found.n_ranks = 1 if smoother.comm is None else smoother.comm.size
    smoother.leave_ranks()
    return found


class Fitter:
    """What fits of the same sensors with other values share: formulas of constraints and of sensors.

    Parameters
    ----------
    system : System
    sensors : list of Sensor
    densities, asked
        As of `fit`.
    """

    def __init__(self, system, sensors, densities, asked):
        self.asked, self.geometry = asked, Geometry(system, asked.order, asked.parts)
        self._formulas = Formulas(system, asked.order, sensors, asked.parts)
        self.clocks = self._formulas.stated.clocks()
        self._densities = self.geometry.densities(*densities(self.geometry))
        self._n_free = None

    def smoother(self, sensors, q, t_span=None, prior=None, numbers=None, ahead=None):
        """The `Smoother` of a dict of sensors, as of `fit`; q is a posture, shape (n_q,).

        Parameters
        ----------
        t_span : sequence of float, optional
            In the place of that which was asked for.
        prior : Arrival, optional
            Of the first frame and of numbers, instead of the priors of these.
        numbers : sequence of int, optional
            Of the sensors among those of the fitter, where these are not the same.
        ahead : callable, optional
            As of `measured_at`.
        """
        asked, geometry = self.asked, self.geometry
        t, measured = measured_at(self._formulas, sensors, asked.t_span if t_span is None else t_span, numbers,
                                  ahead)
        steps = Steps(geometry, *self._densities, t)
        mean, information = self._formulas.stated.prior()
        if prior is not None:
            measured, information = [*measured, prior], 0 * information
        if self._n_free is None:
            first = np.zeros((1, asked.order, geometry.n))
            first[0, 0] = q
            self._n_free = Tangents(geometry, steps.root, first, t[:1]).n_free
        found = Smoother(geometry, steps, measured, (mean, information), t, self._n_free, asked.options, asked.comm)
        if asked.bounds is not None and asked.bounds.shape[1] == len(mean):  # not of fits that leave sensors out
            found.bounds = asked.bounds
        return found


def _iterate(smoother, x, c):
    """Gauss-Newton's steps, halved where they lead astray."""
    options, robust = smoother.options, any(own.robust for own in smoother.measured)
    weights = [np.ones((len(own.frames), own.n_values)) if own.robust else None for own in smoother.measured]
    n, before, rest, cost = len(x) * smoother.size + len(c), (np.inf, 0), np.inf, np.inf
    for iteration in range(options.iterations):
        new_x, new_c, cost, decrement = _step(smoother, Iterate(x, c, weights))
        if not np.isfinite(decrement):
            return Fit(x, c, cost, iteration, False, "residuals are not finite", weights, smoother)
        worse = cost > before[0] if iteration > options.patient and not robust and smoother.limits is None else \
            cost > 4 * before[0] + n
        if worse and before[1] < options.halvings:
            x, c = (before[2] + x) / 2, (before[3] + c) / 2
            before = before[0], before[1] + 1, *before[2:]
            continue
        change, whole = 0.0, True
        if smoother.limits is not None:
            settled, share = smoother.limits.settled, smoother.limits.taken(x, new_x)
            new_x, new_c, whole = x + share * (new_x - x), c + share * (new_c - c), settled and share == 1.0
        if robust:
            fresh = smoother.weights(new_x, new_c)
            change = max(float(np.abs(a - b).max()) for a, b in zip(fresh, weights, strict=True) if a is not None)
            weights = fresh
        before = cost, 0, x, c
        x, c, last, rest = new_x, new_c, rest, np.sqrt(max(decrement, 0.0) / n)
        left = rest * min(1.0, rest / last) if iteration else rest  # as steps have become shorter
        if whole and left <= options.tolerance and change <= options.weights:
            return Fit(smoother.closed(x, c), c, cost - decrement / 2, iteration + 1, True, "", weights, smoother)
    ratio, worst = max((own.ratio_of(x, c) for own in smoother.measured), key=lambda pair: pair[0])
    message = (f"steps of {rest:.2g} standard deviations are left after {options.iterations} iterations; residuals are "
               f"largest for {worst}, {ratio:.3g} times its sigma: check that it measures what the model says, or give "
               "a guess")
    return Fit(smoother.closed(x, c), c, cost, options.iterations, False, message, weights, smoother)


def _step(smoother, at):
    try:
        return smoother.step(at)
    except NotPositive as error:
        told = _undetermined(smoother, error)
        if smoother.comm is not None:
            told = next(one for one in smoother.comm.allgather(told) if one)
        raise InputError(told) from None


def _undetermined(smoother, error):
    """Which coordinates nothing measured determines; nothing where another rank has the frame."""
    if not smoother.own.start <= error.index < smoother.own.stop:
        return ""
    geometry = smoother.geometry
    d, motion = smoother.n_free, np.zeros(geometry.n)
    ways = error.direction.reshape(geometry.levels, smoother.n_open)
    level = int(np.argmax((ways**2).sum(axis=1)))
    piece, own = next(pair for pair in smoother.tangents if pair[0].start <= error.index < pair[0].stop)
    motion[geometry.touched] = own.basis[error.index - piece.start] @ ways[level, :d]
    motion[geometry.apart] = ways[level, d:] / smoother.steps.root_apart
    largest = np.argsort(-np.abs(motion))[:smoother.options.shown]
    known = coordinate_names(geometry.system)
    names = [known[i] for i in largest if np.abs(motion[i]) > 0.1 * np.abs(motion).max()]
    what = ("the position", "the rate", "the acceleration")[level]
    return (f"the measurements leave {what} of {', '.join(names)} undetermined; measure it, give a prior of it, or "
            "hold it by a constraint")
