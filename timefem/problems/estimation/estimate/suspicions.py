"""What could be wrong with data that do not fit: degrees, a reversed axis, swapped markers, a clock that is off."""

from itertools import combinations, permutations

import numpy as np

from ..measurements.joints import JointSensor
from ..measurements.points import Marker, OrientationSensor
from ..options import DEFAULTS

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
