"""Residuals of a motion without dynamics: sensors at its frames, and white noise of the steps between them."""

from itertools import pairwise
from math import factorial

import casadi as ca
import numpy as np

from ....errors import InputError
from ..loads import Moment
from ..options import DEFAULT
from .block_chain import whole
from .frame_loops import add_steps, compared
from .geometry import Batched, Tangents
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


# What white noise makes of a step: deviations from constant rates, whitened, along what constraints leave open.
# Of `q'' = w` (and `q''' = w`) with the spectral density Q of w, increments and rates of a step of length h deviate
# from those of constant rates (accelerations) by a covariance of `Q (x) C(h)`, exactly. On constraints these are
# vectors of tangent spaces, U_a^T r of the frame before, U_b^T r of that behind, U_m^T r of the middle, where they are
# compared:
#     rates turned by R = X (15 - 10 Y + 3 Y^2) / 8, X = U_m^T U, Y = X^T X
#     increments by (4 U_m^T - (R_a U_a^T + R_b U_b^T) / 2) / 3
# so that lengths along curves are right to the fifth power of the angle by which they turn, and what is normal to the
# constraints costs nothing. These matrices are those of the last iteration.

class Steps:
    """Between frames.

    Parameters
    ----------
    geometry : Geometry
    of_increments, of_apart : ndarray
        Spectral densities, see `Geometry.densities`.
    t : ndarray, shape (n + 1,)
        Times of the frames [s].
    """

    def __init__(self, geometry, of_increments, of_apart, t):
        self.geometry, self.t, self.h = geometry, t, np.diff(t)
        self.root, self.root_apart = 1 / np.sqrt(of_increments), 1 / np.sqrt(of_apart)
        p = geometry.levels
        powers = self.h[:, None] ** (p - np.arange(p) - 0.5)  # of the standard deviation of each level
        covariance = np.array([[1 / (factorial(i) * factorial(j) * (i + j + 1)) for j in range(p - 1, -1, -1)]
                               for i in range(p - 1, -1, -1)])  # of a step of length one
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)) / powers[:, None, :]
        ahead = np.zeros((len(self.h), p, p))  # of rates, in the increments of each level
        for k in range(p):
            for j in range(k, p):
                ahead[:, k, j] = self.h ** (j - k) / factorial(j - k)
        self.ahead, self.whitening, self.after = ahead, whitening, whitening.swapaxes(1, 2) @ whitening
        both = whitening @ ahead
        self.before, self.coupled = both.swapaxes(1, 2) @ both, -both.swapaxes(1, 2) @ whitening
        self.log_determinant = 2 * float(np.log(powers).sum()) + len(self.h) * np.linalg.slogdet(covariance)[1]

    def apart(self, x, piece):
        """Half the sum of squares, and gradients by both frames, of the coordinates apart; x (m + 1, levels, n_apart).
        """
        scaled = x * self.root_apart
        deviation = scaled[1:] - self.ahead[piece] @ scaled[:-1]
        weighted = self.after[piece] @ deviation
        return (0.5 * float((deviation * weighted).sum()), -(self.ahead[piece].swapaxes(1, 2) @ weighted), weighted)

    def increments(self, q):
        """`Q^-1/2` times the increments between frames, and times their derivatives by coordinates of turns.

        Shapes (m, n_increments), twice (m, 3 n_turns, n_touched) or None.
        """
        geometry, a, b = self.geometry, q[:-1], q[1:]
        plain, k = geometry.touched[geometry.plain], len(geometry.plain)
        out, slopes = np.empty((len(a), geometry.n_increments)), None
        out[:, :k] = b[:, plain] - a[:, plain]
        if geometry.turns:
            values, *slopes = geometry.turning(a, b)
            out[:, k:] = values[..., 0]
            slopes = [one * self.root[k:, None] for one in slopes]
        return out * self.root, slopes

    def _compared(self, tangents, q, piece, n_free):
        """Rows that compare increments, shape (m, n_free, n_increments), and R of both frames."""
        geometry, u_a, u_b = self.geometry, tangents.vectors[:-1], tangents.vectors[1:]
        if geometry.n_increments == n_free:
            return None, u_a, u_b
        middle = np.zeros((len(u_a), geometry.levels, geometry.n))
        middle[:, 0] = (q[1:] + q[:-1]) / 2
        times = self.t[piece] + self.h[piece] / 2
        u = Tangents(geometry, self.root, middle, times, n_free, True, tangents.c).vectors
        turns, rows = np.empty((2, len(u), n_free, n_free)), np.empty((len(u), n_free, u.shape[1]))
        compared(tangents.vectors, u, turns, rows, np.empty((2, n_free, n_free)))
        return rows, *turns

    def equations(self, x, tangents, piece, n_free, blocks, gradients):
        """Deviations of touched coordinates in a piece of steps; adds normal equations, see `add_steps`.

        Returns
        -------
        cost : float
            Half the sum of squares at the states themselves.
        by_numbers : tuple
            What changes of numbers of parts add: borders of the frames before and behind, (m, levels, n_free, n_c), and
            their own matrix and gradient.
        """
        geometry, p, q = self.geometry, self.geometry.levels, x[:, 0]
        rows, turn_a, turn_b = self._compared(tangents, q, piece, n_free)
        increments, slopes = self.increments(q)
        k = len(geometry.plain)
        by_motion, shifted, by_c = [], np.zeros_like(increments), 0.0
        for end, sign in ((0, -1), (1, 1)):
            frames = slice(end, len(x) - 1 + end)
            basis, shift = tangents.basis[frames], tangents.shift[frames, 0]
            own = np.empty((len(increments), geometry.n_increments, n_free))
            own[:, :k] = sign * self.root[:k, None] * basis[:, geometry.plain]
            shifted[:, :k] += sign * self.root[:k] * shift[:, geometry.plain]
            if slopes is not None:
                own[:, k:] = slopes[end] @ basis
                shifted[:, k:] += (slopes[end] @ shift[..., None])[..., 0]
            by_motion.append(own if rows is None else rows @ own)
            if len(tangents.c):
                numbers = np.empty((*increments.shape, len(tangents.c)))
                numbers[:, :k] = sign * self.root[:k, None] * tangents.numbers[frames, 0][:, geometry.plain]
                if slopes is not None:
                    numbers[:, k:] = slopes[end] @ tangents.numbers[frames, 0]
                by_c = by_c + (numbers if rows is None else rows @ numbers)
        both = np.stack([increments, increments + shifted], axis=2)
        both = both if rows is None else rows @ both
        m = len(both)
        deviation, rates = np.zeros((m, p, n_free)), tangents.rates
        levels = np.concatenate([turn_b @ rates[1:].swapaxes(1, 2), turn_a @ rates[:-1].swapaxes(1, 2)], axis=2)
        for level in range(1, p):
            deviation[:, level] = levels[:, :, level - 1]
        for level in range(p):
            for j in range(max(level, 1), p):
                deviation[:, level] -= self.ahead[piece, level, j, None] * levels[:, :, p - 2 + j]
        deviation[:, 0] += both[:, :, 0]
        cost = 0.5 * float(((self.whitening[piece] @ deviation) ** 2).sum())
        deviation[:, 0] += both[:, :, 1] - both[:, :, 0]
        # by motions of both frames, of positions and of rates: -ahead (-B_a, R_a), (B_b, R_b)
        shape = whole(n_free), whole(4 * n_free)
        stacked = np.zeros((m, *shape))
        for i, one in enumerate((-by_motion[0], turn_a, by_motion[1], turn_b)):
            stacked[:, :n_free, i * n_free:(i + 1) * n_free] = one
        weights = tuple(one[piece] for one in (self.before, self.after, self.coupled, self.ahead))
        add_steps(stacked.ravel(), shape, deviation, weights, blocks, gradients,
                  (np.empty(4 * n_free * shape[1]), *np.empty((2, p, n_free))))
        weighted = self.after[piece] @ deviation
        return cost, self._by_numbers(by_motion, (turn_a, turn_b), by_c, weighted, piece) if len(tangents.c) else None

    def _by_numbers(self, by_motion, turns, by_c, weighted, piece):
        """What numbers of parts add, which change the first deviations alone."""
        p, ahead, after = self.geometry.levels, self.ahead[piece], self.after[piece]
        pulled = ahead.swapaxes(1, 2) @ after[:, :, :1]
        before, behind = ([weight[:, i, :, None] * (sign * (of_q, of_rates)[min(i, 1)].swapaxes(1, 2) @ by_c)
                           for i in range(p)] for weight, sign, of_q, of_rates in (
            (pulled, -1.0, -by_motion[0], turns[0]), (after[:, :, :1], 1.0, by_motion[1], turns[1])))
        matrix = np.einsum("m,mia,mib->ab", after[:, 0, 0], by_c, by_c)
        return np.stack(before, axis=1), np.stack(behind, axis=1), matrix, np.einsum("mi,mia->a", weighted[:, 0], by_c)
