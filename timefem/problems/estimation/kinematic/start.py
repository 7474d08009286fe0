"""Where Gauss-Newton on all frames starts: each frame by itself, from a posture, then from its neighbours."""

import numpy as np
import scipy

from .geometry import Tangents


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
