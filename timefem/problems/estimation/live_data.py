"""What live data do to an estimation problem: further values, and a later start."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from .measurements.base import Sensor
from .options import DEFAULTS


class LiveData:
    """What windows that move do to a problem."""

    @staticmethod
    def extended(problem: Any, sensors: list[Sensor]) -> Any:
        """The problem with further values, until the last of them."""
        known = {s.title: i for i, s in enumerate(problem.measurements)}
        if len(known) < len(problem.measurements):
            title = next(s.title for i, s in enumerate(problem.measurements) if known[s.title] != i)
            raise InputError(f"update finds sensors by their names, and two are called {title!r}: give each a name")
        other, end = problem.copied(), problem.t_span[1]
        other.measurements, other.silent = list(problem.measurements), dict(problem.silent)
        for sensor in sensors:
            title = sensor.title if isinstance(sensor, Sensor) else None
            if title in other.silent:
                silent, own = other.silent.pop(title)
                known[title] = len(other.measurements)
                other.measurements.append(silent.followed_by(sensor, problem.t_span[1]).of_times(
                    np.arange(len(silent.times) + len(sensor.times)) >= len(silent.times)))
                other.unknowns = [u._replace(sensor=known[title]) if u.label in own else u for u in other.unknowns]
            elif title in known:
                i = known[title]
                other.measurements[i] = other.measurements[i].followed_by(sensor, problem.t_span[1])
            else:
                raise InputError(f"update takes further values of sensors of the problem, "
                                 f"{', '.join([*known, *problem.silent])}, by their names, not {sensor!r}")
            end = max(end, float(sensor.times[-1] + sensor.offset))
        other.t_span, other.nodes = (problem.t_span[0], end), other.measurements
        return other

    @staticmethod
    def known_clocks(problem: Any) -> None:
        """InputError for sensors whose clock is to be found."""
        late = next((sensor for sensor in problem.measurements if sensor.is_late), None)
        if late is not None:
            raise InputError(f"{late.title}: a window that moves takes sensors whose clock is known; find its "
                             "time_offset from all data first, and give it as a number")

    @staticmethod
    def after(problem: Any, t: float, window: float) -> Any:
        """The problem from a time on, without what was known of its start; sensors without values there are `silent`
        until they have some again."""
        span = problem.t_span
        room = DEFAULTS.same_time * (span[1] - span[0])
        kept = [sensor.times_of_motion > t + room for sensor in problem.measurements]
        found = [sensor.of_times(own) if own.any() else None
                 for sensor, own in zip(problem.measurements, kept, strict=True)]
        if not any(found):
            raise InputError(f"no measurement has values in the last {window:g} s; take a longer window")
        other = problem.with_measurements(found)
        labels = [{u.label for u in problem.unknowns if u.sensor == i} for i in range(len(found))]
        other.silent = problem.silent | {sensor.title: (sensor, own) for sensor, own, values in zip(
            problem.measurements, labels, found, strict=True) if values is None}
        other.ambient, other.start_sensors, other.t_span = None, ([], []), (t, span[1])
        return other
