"""Residuals of sensors at the frames of a motion without dynamics."""

from itertools import pairwise

import casadi as ca
import numpy as np

from ....errors import InputError
from ..loads import Moment
from ..options import DEFAULT
from .geometry import Batched
from .statement import frames, places_among


class Measured:
    """Sensors that measure at the same times.

    Parameters
    ----------
    sensors : dict
        Sensor -> its loss, or None.
    formulas : Formulas
    numbers : tuple of int
        Those of the sensors among those of the formulas.
    frames : ndarray of int
        Those at which they measure.
    t : ndarray, optional
        Times of these [s], those of the first sensor unless given.
    ahead : ndarray, shape (n_frames, levels, n_q), optional
        Rates of the state there, by which it goes on until a clock that is not known; zero unless given.

    Attributes
    ----------
    parts : list of slice
        Where the numbers of each sensor are among all.
    of_places : bool
        Whether they see coordinates alone.
    """

    def __init__(self, sensors, formulas, numbers, frames, t=None, ahead=None):
        self.losses, sensors = list(sensors.values()), list(sensors)
        self.sensors, self.frames, self.t = sensors, frames, sensors[0].times_of_motion if t is None else t
        stops = np.cumsum([0, *(sensor.n for sensor in sensors)]).tolist()
        self.parts = [slice(*ends) for ends in pairwise(stops)]
        self.n_values = stops[-1]
        whitening = [sensor.whitening for sensor in sensors]
        self._diagonal = all(not np.any(w - np.einsum("jab,ab->jab", w, np.eye(w.shape[1]))) for w in whitening)
        self._whitening = np.concatenate([np.einsum("jaa->ja", w) for w in whitening], axis=1) if self._diagonal else \
            whitening
        self._scale = self._whitening[0] if self._diagonal and np.all(self._whitening == self._whitening[0]) and \
            np.all(self._whitening[0] > 0) else None
        self._residuals, self._slopes, self.seen = formulas.of(numbers, self._scale)
        self.of_places = not any(formulas.see_rates[i] for i in numbers)
        ahead = np.zeros((len(frames), formulas.stated.n_ahead)) if ahead is None else ahead.reshape(len(frames), -1)
        self.given = np.nan_to_num(np.concatenate(
            [np.column_stack([s.values, s.times - self.t, ahead]) if s.is_late else s.values for s in sensors], axis=1))
        self.robust = any(loss is not None for loss in self.losses)

    def _white(self, values, rows):
        """Whitened values, shape (m, n_values, ...)."""
        if self._scale is not None:
            return values
        if self._diagonal:
            values *= self._whitening[rows].reshape(*values.shape[:2], *(1,) * (values.ndim - 2))
            return values
        out = np.empty_like(values)
        for part, w in zip(self.parts, self._whitening, strict=True):
            out[:, part] = np.einsum("jab,jb...->ja...", w[rows], values[:, part])
        return out

    def residuals(self, x, c, rows=slice(None), white=True):
        """Residuals at states (m, levels, n_q) of some of the frames, whitened or not, shape (m, n_values)."""
        values = self._residuals(*self._given(x, c, rows))[0][..., 0]
        if white:
            return self._white(values, rows)
        return values if self._scale is None else values / self._scale

    def ratio_of(self, x, c):
        """Root mean square of the residuals of the sensor that fits worst, in standard deviations, and its title."""
        squares = (self.residuals(x[self.frames], c)**2).sum(axis=0)
        found = [(float(np.sqrt(squares[part].sum() / sensor.n_measured)), sensor.title)
                 for sensor, part in zip(self.sensors, self.parts, strict=True)]
        return max(found)

    def linearized(self, x, c, rows):
        """Whitened residuals, and their derivatives by each level of the state and by the numbers, None where zero."""
        values, *slopes = self._slopes(*self._given(x, c, rows))
        left = iter(slopes)
        return self._white(values[..., 0], rows), [self._white(next(left), rows) if seen else None
                                                   for seen in self.seen]

    def _given(self, x, c, rows):
        m = len(x)
        return x.reshape(m, -1), np.broadcast_to(c, (m, len(c))), self.t[rows], self.given[rows]

    def weights(self, residuals, rows=slice(None)):
        """Weights of squares by the losses, shape (m, n_values), of whitened residuals."""
        out = np.ones_like(residuals)
        for sensor, loss, part in zip(self.sensors, self.losses, self.parts, strict=True):
            if loss is not None:
                length = np.linalg.norm(residuals[:, part], axis=1)
                out[:, part] = loss.weights(length, sensor.measured[rows].sum(axis=1))[:, None]
        return out

    def excess(self, residuals):
        """`Loss.excess` of all sensors with a loss, of all whitened residuals."""
        return sum(loss.excess(np.linalg.norm(residuals[:, part], axis=1), own.measured.sum(axis=1))
                   for own, loss, part in zip(self.sensors, self.losses, self.parts, strict=True) if loss is not None)


class Stated:
    """Symbols of a frame, in which sensors state their residuals.

    Parameters
    ----------
    system : System
    n_levels : int
        How many of coordinates, velocities and accelerations are the state.
    sensors : list of Sensor
    parts : PartNumbers, optional
        Unknown numbers of parts, which are before those of sensors.

    Attributes
    ----------
    levels : list of SX
    numbers, t : SX
    of_sensors : dict
        Sensor -> {name: SX}, its unknown numbers.
    values : dict
        Sensor -> SX, what it measured, and of those whose clock is unknown their time less that of the frame, and rates
        of the state there: those that are known, since free ones would follow the errors.
    n_ahead : int
        How many rates these are.
    """

    def __init__(self, system, n_levels, sensors, parts=None):
        self.levels = [ca.SX.sym(name, system.n_q) for name in "qva"[:n_levels]]
        self.t, self._momenta = ca.SX.sym("t"), ca.SX.sym("p", system.n_q)
        self.of_sensors = {sensor: {name: ca.SX.sym(name, n) for name, n in sensor.sizes.items()}
                           for sensor in sensors}
        self._parts, of_parts = parts, ca.SX.sym("c", 0 if parts is None else len(parts.mean))
        self.numbers = ca.vertcat(of_parts, *(x for own in self.of_sensors.values() for x in own.values()))
        self.n_ahead = n_levels * system.n_q
        self.values = {sensor: ca.SX.sym("y", sensor.values.shape[1] + sensor.is_late * (1 + self.n_ahead))
                       for sensor in sensors}
        self._system, self._of_parts = system, of_parts
        self._now = self._moment(self.levels, self.t)

    def _moment(self, levels, t):
        """A time with given coordinates, velocities and accelerations."""
        z = ca.vertcat(levels[0], self._momenta)
        others = {"v": levels[1], "a": levels[2] if len(levels) > 2 else None}
        return Moment(self._system, t, z, **others) if self._parts is None else \
            self._parts.moment(t, z, self._of_parts, **others)

    def clocks(self):
        """Sensor -> place of its unknown time offset among the numbers."""
        found, first = {}, self._of_parts.numel()
        for sensor, own in self.of_sensors.items():
            for name, x in own.items():
                if name == "time_offset":
                    found[sensor] = first
                first += x.numel()
        return found

    def residual(self, sensor, clock=True):
        """SX (n,), not whitened; or as if its clock were that of the frame.

        Raises
        ------
        InputError
            For what a motion without dynamics does not have.
        """
        own, given = self.of_sensors[sensor], self.values[sensor]
        n = sensor.values.shape[1]
        try:
            value = ca.SX(sensor.residual(self._now, own, given[:n]))
        except InputError as error:
            hint = "; take noise of order 3" if len(self.levels) < 3 and "accelerations" in str(error) else ""
            raise InputError(f"{sensor.title}: {error}{hint}") from None
        if ca.depends_on(value, self._momenta):
            raise InputError(f"{sensor.title}: it depends on masses, which dynamics='none' leaves out; estimate with "
                             "dynamics")
        if sensor.is_late and clock:
            late, state = own["time_offset"] + given[n], ca.vertcat(*self.levels)
            value = ca.substitute(value, ca.vertcat(state, self.t), ca.vertcat(state + late * given[n + 1:],
                                                                               self.t + late))
        return value

    def prior(self):
        """Mean and inverse covariance of the unknown numbers."""
        pairs = [prior.of_size(f"{sensor.title}: {name}", sensor.sizes[name])
                 for sensor in self.of_sensors for name, prior in sensor.unknowns.items()]
        pairs = pairs if self._parts is None else [(self._parts.mean, self._parts.covariance), *pairs]
        n = self.numbers.numel()
        mean, information, first = np.zeros(n), np.zeros((n, n)), 0
        for values, covariance in pairs:
            own = slice(first, first + len(values))
            mean[own], information[own, own] = values, np.linalg.inv(covariance)
            first += len(values)
        return mean, information


class Formulas:
    """What sensors are expected to give, as functions for many frames, which are made when they are first asked for.

    Parameters
    ----------
    system, n_levels, sensors, parts
        As of `Stated`.

    Attributes
    ----------
    stated : Stated
    """

    def __init__(self, system, n_levels, sensors, parts=None):
        self.stated = stated = Stated(system, n_levels, sensors, parts)
        self._residuals, rates = [stated.residual(sensor) for sensor in sensors], ca.vertcat(*stated.levels[1:])
        self._values = [stated.values[sensor] for sensor in sensors]
        self.see_rates = [ca.depends_on(stated.residual(sensor, False) if sensor.is_late else residual, rates)
                          for sensor, residual in zip(sensors, self._residuals, strict=True)]
        self._known = {}

    def of(self, numbers, scale):
        """Residuals of some sensors, times a scale if it is not None; the same with slopes; and which slopes are seen.
        """
        key = numbers, None if scale is None else scale.tobytes()
        if key not in self._known:
            stated = self.stated
            values = ca.cse(ca.vertcat(*(self._residuals[i] for i in numbers)))  # links share chains that carry them
            y = ca.vertcat(*(self._values[i] for i in numbers))
            if scale is not None:  # the same at all times: part of the formulas
                values = values * ca.DM(scale)
            slopes = [ca.jacobian(values, x) for x in (*stated.levels, stated.numbers)]
            seen, inputs = [bool(x.nnz()) for x in slopes], [*stated.levels, stated.numbers, stated.t, y]
            self._known[key] = Batched(inputs, [values]), Batched(inputs, [values, *(
                x for x, own in zip(slopes, seen, strict=True) if own)]), seen
        return self._known[key]


def measured_at(formulas, sensors, others=(), numbers=None, ahead=None):
    """Times of all frames, of `others` too, and the `Measured` of sensors with the same times.

    Sensors are a dict from each to its loss, or None; `numbers` are those that they have among the formulas, if these
    are not the same. Those whose clock is unknown have frames of their own where there is none beside them: frames that
    are much closer to each other than others would leave too few digits; `ahead(t)` gives rates of the state at frames,
    shape (n, levels, n_q), by which it goes on from there.
    """
    groups = {}
    for i, sensor in zip(range(len(sensors)) if numbers is None else numbers, sensors, strict=True):
        key = sensor.times_of_motion.tobytes(), formulas.see_rates[i], i if sensor.is_late else None
        groups.setdefault(key, []).append((i, sensor))
    t = frames([sensor.times_of_motion for sensor in sensors if not sensor.is_late], others)
    late = np.unique(np.concatenate([t[:0], *(sensor.times_of_motion for sensor in sensors if sensor.is_late)]))
    if len(late):
        both = np.append(t, late)
        room = DEFAULT.beside * (both.max() - both.min()) / len(both)
        late = late[np.abs(late - t[_nearest(t, late)]) > room]
        t = np.sort(np.append(t, late[np.diff(late, prepend=-np.inf) > room]))
    measured = []
    for group in groups.values():
        numbers, own = zip(*group, strict=True)
        times = own[0].times_of_motion
        at = _nearest(t, times) if own[0].is_late else places_among(t, times)
        rates = ahead(t[at]) if own[0].is_late and ahead is not None else None
        measured.append(Measured({sensor: sensors[sensor] for sensor in own}, formulas, numbers, at, t[at], rates))
    return t, measured


def _nearest(t, times):
    """Places of the frames that are nearest to some times."""
    after = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    return after - (times - t[after - 1] < t[after] - times)
