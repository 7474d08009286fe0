"""How well a model and its errors explain what was measured: a verdict, outliers, and what the data leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display import digits
from ...memory import Late
from ...records import frozen
from .noise import of_normal_errors
from .options import DEFAULTS
from .sensors import JointSensor, Marker, OrientationSensor

if TYPE_CHECKING:
    from .sensor import Sensor


DEGREES = np.pi / 180


def suspicions(program, *points):
    """Sentences about sensors whose residuals are large, by what is expected of them at points v, the first that tells.

    Parameters
    ----------
    program : EstimationProgram
    *points : ndarray or callable
        Or `point(i)` -> the point by which sensor i is judged, None where there is none.
    """
    sensors = program.problem.measurements
    if found := _exchanged_on_bodies(sensors):
        return found
    every = []
    for point in points:
        seen = [_seen(*own, point(i) if callable(point) else point) for i, own in
                enumerate(zip(sensors, program.sensors, program.problem.losses(), strict=True))]
        bad = [own is not None and own[2] > DEFAULTS.bad for own in seen]
        every.append((seen, bad, [(sensor, *own[:2]) for sensor, own, is_bad in zip(sensors, seen, bad, strict=True)
                                  if is_bad and len(sensor.times) >= DEFAULTS.least_times]))
        if wrong := [one[0].title for one in every[-1][2] if _in_degrees(*one)]:  # the others follow these
            return [f"values of {title} look like degrees: radians are expected" for title in wrong]
    for seen, bad, worse in every:
        for one in worse:
            found += _of_one(*one)
        for (a, one, a_bad), (b, two, b_bad) in combinations(zip(sensors, seen, bad, strict=True), 2):
            if a_bad and b_bad and type(a) is type(b) and a.component_names == b.component_names:
                found += _swapped(a, b, one[0], two[0]) or _exchanged(a, b, one, two)
        if found:
            break
    return list(dict.fromkeys(found))


def _seen(sensor, term, loss, v):
    """What was measured, what is expected, and the root of the mean square; None where these do not compare."""
    if v is None:
        return None
    residual = term.values(v)
    if isinstance(sensor, OrientationSensor) or not np.isfinite(residual).all():
        return None
    y = np.where(sensor.measured, np.nan_to_num(sensor.values), 0.0)
    return y, y - np.where(sensor.measured, residual, 0.0), misfit(sensor, term.lengths(v), loss)


def misfit(sensor, lengths, loss):
    """Root of the mean square of residuals, in standard deviations; of the median where outliers count little."""
    if loss is None:
        return float(np.sqrt((lengths**2).sum() / sensor.n_measured))
    counts = sensor.measured.sum(axis=1)
    return float(np.sqrt(np.median(lengths[counts > 0]**2 / counts[counts > 0])))


def _in_degrees(sensor, y, expected):
    """Whether values are so many times as large as expected."""
    a, b = y, expected
    if isinstance(sensor, JointSensor) and not sensor.rate:  # angles are expected up to whole turns
        seen = sensor.measured[:, 0]
        a, b = y[seen] - y[seen].mean(), np.unwrap(expected[seen], axis=0)
        b = b - b.mean()
    squares, slope = (a**2).sum(), (a * b).sum()
    return squares > 0 and abs(slope / squares / DEGREES - 1) < DEFAULTS.nearly


def _of_one(sensor, y, expected):
    found, names = [], sensor.component_names
    for i, name in enumerate(names):
        a, b = y[:, i], expected[:, i]
        if a @ b < -DEFAULTS.alike * np.sqrt((a @ a) * (b @ b)) < 0:
            found.append(f"the sign of {sensor.title}{f', component {name},' * bool(name)} looks reversed")
    if found:
        return found
    rate = np.gradient(expected, sensor.times, axis=0) * sensor.measured
    residual, total = y - expected, (rate**2).sum()
    late = (residual * rate).sum() / total if total else 0.0
    left = ((residual - late * rate)**2).sum()
    if late and left < (1 - DEFAULTS.explains) * (residual**2).sum():
        return [f"the clock of {sensor.title} looks off by {late:.3g} s: give it a time_offset"]
    return []


def _exchanged_on_bodies(sensors):
    """Markers that sit on one body, each where another one should be, by their distances from each other.

    Of what explains these, no exchange at all included, the exchange of the fewest; of many markers such of two alone.
    """
    groups, told = {}, []
    for sensor in sensors:
        if type(sensor) is Marker and len(sensor.component_names) == 3 and list(sensor.own_numbers) == ["point"] and \
                not sensor.unknowns and sensor.number("scale", {}) is None:
            body = getattr(sensor.body, "name", sensor.body)
            groups.setdefault((body, sensor.times.tobytes(), sensor.measured.tobytes()), []).append(sensor)
    for group in groups.values():
        n, rows = len(group), group[0].measured.all(axis=1)
        if n < 3 or not rows.any():  # two look alike
            continue
        places = np.stack([sensor.values[rows] for sensor in group])
        points = np.array([np.ravel(sensor.number("point", {})) for sensor in group])
        seen = np.median(np.linalg.norm(places[:, None] - places[None], axis=3), axis=2)
        known = np.linalg.norm(points[:, None] - points[None], axis=2)
        sigma = np.sqrt(np.mean([np.trace(sensor.covariances.mean(axis=0)) / 3 for sensor in group]))
        orders = permutations(range(n)) if n <= DEFAULTS.looked_at + 2 else \
            (tuple({i: j, j: i}.get(k, k) for k in range(n)) for i, j in ((0, 0), *combinations(range(n), 2)))
        for order in sorted(orders, key=lambda order: sum(i != j for i, j in enumerate(order))):
            if np.abs(seen[np.ix_(order, order)] - known).max() < DEFAULTS.bad * sigma:
                told += _cycles(group, {i: j for i, j in enumerate(order) if i != j})
                break
    return told


def _cycles(sensors, order):
    """A sentence for each ring of sensors that have the values of the next one."""
    told, left = [], dict(order)
    while left:
        i, ring = next(iter(left)), []
        while i in left:
            ring.append(i)
            i = left.pop(i)
        names = [sensors[k].title for k in sorted(ring)]
        told.append(f"{', '.join(names[:-1])} and {names[-1]} look swapped: each is where "
                    + ("the other" if len(names) == 2 else "another") + " should be")
    return told


def _together(a, b):
    """Rows of two sensors at times at which both measured everything."""
    _, i, j = np.intersect1d(a.times, b.times, return_indices=True)
    both = a.measured[i].all(axis=1) & b.measured[j].all(axis=1)
    return i[both], j[both]


def _swapped(a, b, y, z):
    """Of two sensors of the same kind: times at which each goes on where the other one was."""
    i, j = _together(a, b)
    times, y, z = a.times[i], y[i], z[j]
    stays = ((y[1:] - y[:-1])**2 + (z[1:] - z[:-1])**2).sum(axis=1)
    changes = ((y[1:] - z[:-1])**2 + (z[1:] - y[:-1])**2).sum(axis=1)
    at = times[1:][changes < DEFAULTS.swapped * stays]
    if not len(at):
        return []
    shown = ", ".join(f"{t:.4g}" for t in at[:DEFAULTS.least_times]) + ", ..." * (len(at) > DEFAULTS.least_times)
    return [f"{a.title} and {b.title} look swapped from t = {shown} s on"]


def _exchanged(a, b, one, two):
    """Of two sensors of the same kind: whether each measured what the other should have, most of the time."""
    i, j = _together(a, b)
    (y, h), (z, g) = (x[i] for x in one[:2]), (x[j] for x in two[:2])
    if not len(y):
        return []
    own, other = (sum(np.median(np.linalg.norm(x, axis=1)) for x in pair) for pair in ((y - h, z - g), (y - g, z - h)))
    if not other < DEFAULTS.exchanged * own:
        return []
    return [f"{a.title} and {b.title} look swapped: each is where the other should be"]


scipy = Late("scipy")


@frozen
class SensorFit:
    """Residuals of one measurement, in standard deviations of its errors.

    Attributes
    ----------
    name : str
    squares : float
        Sum of squares.
    n : int
        Numbers measured.
    outliers : tuple of (float, float)
        Times [s], and lengths of residuals that are too large for normal errors.
    mean : ndarray, shape (n,)
        Of each component.
    """

    name: str
    squares: float
    n: int
    outliers: tuple[tuple[float, float], ...]
    mean: np.ndarray

    @classmethod
    def of(cls, sensor: Sensor, whitened: np.ndarray, n: int) -> SensorFit:
        """Of a sensor's residuals in standard deviations, shape (n_times, n), among n numbers of all measurements."""
        lengths, counts = np.linalg.norm(whitened, axis=1), sensor.measured.sum(axis=1)
        far = np.flatnonzero(lengths**2 > scipy.special.chdtri(np.maximum(counts, 1), DEFAULTS.outlier / max(n, 1)))
        seen = np.where(sensor.measured, whitened, np.nan)
        with np.errstate(invalid="ignore"):
            mean = np.array([np.nanmean(x) if np.isfinite(x).any() else 0.0 for x in seen.T])
        return cls(sensor.title, float((lengths**2).sum()), sensor.n_measured,
                   tuple((float(sensor.times[i]), float(lengths[i])) for i in far), mean)

    @property
    def ratio(self) -> float:
        """Root of the mean square: one where errors are as large as was said."""
        return float(np.sqrt(self.squares / self.n))


@frozen
class Fit:
    """How well model and errors explain what was measured.

    Attributes
    ----------
    chi2 : float
        Twice the least cost: for normal errors of the sizes given, a sum of squares of that many standard normal
        numbers.
    degrees_of_freedom : float
        Numbers measured, less what a wide prior leaves to them; of robust losses what normal errors cost on average.
    sensors : list of SensorFit
    undetermined : list of str
        What neither data nor priors determine.
    suspicions : list of str
        What could be wrong with data that do not fit.
    at_bounds : list of str
        Unknown numbers at a bound, which have no standard deviation.
    of_model : dict
        Where the rest of chi2 comes from: unknown forces and priors, in words -> sum of squares.
    """

    chi2: float
    degrees_of_freedom: float
    sensors: list[SensorFit]
    undetermined: list[str]
    suspicions: list[str]
    at_bounds: list[str] = field(default_factory=list)
    of_model: dict[str, float] = field(default_factory=dict)
    variance: float | None = None

    @property
    def deviations(self) -> float:
        """By how many standard deviations chi2 is off its mean."""
        variance = 2 * self.degrees_of_freedom if self.variance is None else self.variance
        return (self.chi2 - self.degrees_of_freedom) / float(np.sqrt(max(variance, 2.0)))

    @property
    def good(self) -> bool:
        """Whether errors explain the residuals, without outliers, and everything is determined."""
        return abs(self.deviations) <= DEFAULTS.fits and not self.outliers and not self.undetermined

    @property
    def outliers(self) -> list[tuple[str, float, float]]:
        """Measurement, time [s] and residual in standard deviations, the largest first."""
        found = [(own.name, t, size) for own in self.sensors for t, size in own.outliers]
        return sorted(found, key=lambda entry: -entry[2])

    @property
    def verdict(self) -> str:
        """The same in a sentence or a few."""
        told = []
        off = self.deviations
        if abs(off) <= DEFAULTS.fits:
            told.append(f"errors explain the residuals (chi2 = {self.chi2:.4g} for {self.degrees_of_freedom:.4g}, "
                        f"{off:+.1f} sigma)")
        elif off < 0:
            told.append(f"residuals are smaller than errors should be (chi2 = {self.chi2:.4g} for "
                        f"{self.degrees_of_freedom:.4g}, {off:+.1f} sigma): standard deviations, or densities of "
                        "noise, are too large")
        else:
            worst = max(self.sensors, key=lambda own: own.ratio)
            others = max(self.of_model, key=lambda name: self.of_model[name], default=None)
            if others is not None and worst.ratio < DEFAULTS.good and self.of_model[others] > worst.squares - worst.n:
                told.append(f"the motion is more unlikely than it should be (chi2 = {self.chi2:.4g} for "
                            f"{self.degrees_of_freedom:.4g}, {off:+.1f} sigma), most by {others}")
            else:
                told.append(f"residuals are larger than errors explain (chi2 = {self.chi2:.4g} for "
                            f"{self.degrees_of_freedom:.4g}, {off:+.1f} sigma), most those of {worst.name}, "
                            f"{worst.ratio:.3g} times its sigma")
        told += self.suspicions + self.at_bounds
        if self.outliers:
            shown = ", ".join(f"{name} at t = {t:.4g} s ({size:.3g} sigma)" for name, t, size in
                              self.outliers[:DEFAULTS.told])
            more = len(self.outliers) - DEFAULTS.told
            told.append(f"outliers: {shown}" + (f" and {more} more" if more > 0 else ""))
        if self.undetermined:
            told.append("not determined: " + "; ".join(self.undetermined[:DEFAULTS.told]))
        return "; ".join(told)

    def __str__(self):
        return self.verdict


def fit_of(solution: Any) -> Fit:
    """The `Fit` of an `Estimate`."""
    found, problem = solution._found, solution.problem
    program, v = found.program, found.v
    n = sum(sensor.n_measured for sensor in problem.measurements)
    sensors = [SensorFit.of(sensor, term.whitened(v), n)
               for sensor, term in zip(problem.measurements, program.sensors, strict=True)]
    settled, open_ones = _freedom(solution)
    mean, variance = of_normal_errors([sensor.measured for sensor in problem.measurements], problem.losses())
    return Fit(2 * found.cost, mean - settled, sensors, open_ones, _suspicions(found), told_bounds(solution),
               _of_model(solution), variance - 2 * settled)


def _of_model(solution):
    """Squares of unknown forces, of priors of the start and of those of numbers, in words."""
    found, problem = solution._found, solution.problem
    squares, narrow = {}, iter(problem.start_sensors[0])
    for term in found.program.sum.terms:
        residual = term.evaluate(found.v)[0]
        if term.role == "noise":
            own = (residual.reshape(-1, problem.n_controls)**2).sum(axis=0)
            for key, places in problem._levels.items():
                name = key if isinstance(key, str) else problem.system.label(key)
                squares[f"the unknown force of {name}, whose spectral density is too small unless the model is "
                        "wrong"] = float(own[places].sum())
        elif term.role in ("prior", "number"):
            sensor = next(narrow, None) if term.role == "prior" else None
            name = "priors of unknown numbers" if term.role == "number" else \
                "the prior of the start" if sensor is None else f"the {sensor.title}"
            squares[name] = squares.get(name, 0.0) + float((residual**2).sum())
    return squares


def told_bounds(solution: Any) -> list[str]:
    """A sentence about each unknown number that ended at a bound."""
    bounds, names = solution.problem.number_bounds, solution.problem.unknown_names
    return [f"{name} is at its {side} bound, {bounds[int(side == 'upper'), names.index(name)]:g}: it has no standard "
            "deviation, and those of the others hold it there" for name, side in solution.at_bounds.items()]


def looked_at(ratios: Sequence[float]) -> list[int]:
    """Numbers of the sensors that fit worst, of those that do not fit; none where residuals are not finite."""
    if not np.max(ratios) > DEFAULTS.bad:
        return []
    worst = np.argsort(-np.asarray(ratios))[:DEFAULTS.looked_at].tolist()
    return [i for i in worst if ratios[i] > DEFAULTS.bad]


def _suspicions(found):
    """By the motion of the other sensors alone for each that does not fit, where that explains most of the misfit, by
    that of those alone which do not fit for each that does, and by the guess: small residuals are also those of the one
    that rules the others."""
    return _of_others(found, found.v, found.v, (1 - DEFAULTS.explains) * found.squares)


def suspicions_of_failure(found: Any) -> list[str]:
    """The same where the search got lost: by motions from the guess, or by the guess alone."""
    return _of_others(found, found.guess, None, np.inf)


def _of_others(found, at, v, most):
    program, problem = found.program, found.program.problem
    ratios = [misfit(sensor, term.lengths(at), loss) for sensor, term, loss in
              zip(problem.measurements, program.sensors, problem.losses(), strict=True)]
    worst, fitting = looked_at(ratios), [i for i, x in enumerate(ratios) if x <= DEFAULTS.bad]
    if not worst:
        return []

    def without(left_out, most):
        other = found.without(left_out)
        return v if other is None or other[1] > most else other[0]

    points = []
    if len(ratios) > 1:
        n = sum(sensor.n_measured for i, sensor in enumerate(problem.measurements) if i not in fitting)
        of_worst = without(fitting, DEFAULTS.bad**2 * n) if fitting else v
        points.append(lambda i: without([i], most) if i in worst else of_worst)
    return suspicions(program, *points, *([] if v is None else [v]), found.guess)


def _freedom(solution):
    """How many combinations of wide priors the data settle, and names of those that they do not."""
    found, problem = solution._found, solution.problem
    posterior, settled, told = solution._posterior, 0.0, []
    wide = [term for term in found.program.sum.terms if term.role == "wide"]
    sensors = problem.start_sensors[1]
    if wide:
        jacobian = np.concatenate([found.program.dense_jacobian(term, found.v) for term in wide])
        used = np.flatnonzero(np.abs(jacobian).sum(axis=0) > 0)
        covariance = posterior.scaled(used)
        before = _inverse(found.program.start_matrix(found.v))[np.ix_(used, used)]  # by priors alone
        jacobian = jacobian[:, used]
        after, prior = jacobian @ covariance @ jacobian.T, jacobian @ before @ jacobian.T
        settled = float(np.trace(prior) - np.trace(after))
        first = 0
        for sensor, term in zip(sensors, wide, strict=True):
            n = term.evaluate(found.v)[0].shape[1]
            told += _open(solution, sensor, after[first:first + n, first:first + n])
            first += n
    return settled, told


def _inverse(matrix):
    """A generalized inverse of `[H, A^T; A, 0]`, with unknowns in units by H and constraints by A."""
    size = np.sqrt(np.diag(matrix))
    unit = np.where(size > 0, size, 1.0)
    unit = np.where(size > 0, unit, np.maximum(np.linalg.norm(matrix / unit, axis=1), 1e-300))
    return np.linalg.pinv(matrix / np.outer(unit, unit)) / np.outer(unit, unit)


def _open(solution, sensor, covariance):
    """A sentence about what a wide prior of the start leaves open, by the covariance in its units, or none."""
    name, n = sensor.title.removeprefix("prior of "), len(covariance)
    if getattr(sensor, "what", None) == "rotation":
        turn = solution.rotation_matrix(sensor.body, sensor.times[:1])[0]
        by_turn = np.concatenate([np.cross(column, np.eye(3)).T for column in turn.T], axis=1) / 2**0.5
        squares, axes = np.linalg.eigh(by_turn @ covariance @ by_turn.T)
        free = [axis for square, axis in zip(squares, axes.T, strict=True) if square > DEFAULTS.open**2]
        which = [f", turns about {_shown(axis)} in space" for axis in free]
        n = 3
    else:
        free = np.flatnonzero(np.diag(covariance) > DEFAULTS.open**2)
        which = [f" [{'xyz'[i] if n == 3 else i}]" for i in free]
    if not len(free):
        return []
    return [f"the {name} at the start{''.join(which) * (len(free) < n)}: give a StatePrior, or a measurement of it"]


def _shown(axis):
    """A direction, its largest entry positive."""
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return f"({', '.join(digits(x) for x in np.round(axis, 3) + 0.0)})"
