"""What could be wrong with data that do not fit: degrees, a reversed axis, swapped markers, a clock that is off."""

from itertools import combinations

import numpy as np

from ..measurements.directions import OrientationSensor
from ..options import DEFAULTS

DEGREES = np.pi / 180


def suspicions(program, *points):
    """Sentences about sensors whose residuals are large, by what is expected of them at points v, the first that tells.

    Parameters
    ----------
    program : EstimationProgram
    *points : ndarray or callable
        Or `point(i)` -> the point by which sensor i is judged.
    """
    sensors, found = program.problem.measurements, []
    for point in points:
        seen = [_seen(sensor, term, point(i) if callable(point) else point)
                for i, (sensor, term) in enumerate(zip(sensors, program.sensors, strict=True))]
        bad = [own is not None and own[2] > DEFAULTS.bad for own in seen]
        for sensor, own, is_bad in zip(sensors, seen, bad, strict=True):
            if is_bad and len(sensor.times) >= DEFAULTS.least_times:
                found += _of_one(sensor, *own[:2])
        for (a, one, a_bad), (b, two, b_bad) in combinations(zip(sensors, seen, bad, strict=True), 2):
            if a_bad and b_bad and type(a) is type(b) and a.component_names == b.component_names:
                found += _swapped(a, b, one[0], two[0]) or _exchanged(a, b, one, two)
        if found:
            break
    return list(dict.fromkeys(found))


def _seen(sensor, term, v):
    """What was measured, what is expected, and the root of the mean square; None where these do not compare."""
    residual = term.values(v)
    if isinstance(sensor, OrientationSensor) or not np.isfinite(residual).all():
        return None
    y = np.where(sensor.measured, np.nan_to_num(sensor.values), 0.0)
    return y, y - np.where(sensor.measured, residual, 0.0), float(
        np.sqrt((term.lengths(v)**2).sum() / sensor.n_measured))


def _of_one(sensor, y, expected):
    squares, slope = (y**2).sum(), (y * expected).sum()
    if squares and abs(slope / squares / DEGREES - 1) < DEFAULTS.nearly:
        return [f"values of {sensor.title} look like degrees: radians are wanted"]
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
