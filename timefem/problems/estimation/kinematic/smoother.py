"""Gauss-Newton on all frames of a motion, each with its state (q, v) or (q, v, a), and on unknown numbers."""

from copy import copy
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace

import numpy as np

from ....memory import Late
from ....parallel import OverRanks, swap
from ....solvers.equations.distributed import slab_ends
from ..options import DEFAULT
from .block_chain import BlockChain, SharedBlockChain, whole
from .frame_loops import add_squares, measured_rows
from .geometry import Tangents

scipy = Late("scipy")


@dataclass
class Iterate:
    """Where Gauss-Newton is.

    Attributes
    ----------
    x, c : ndarray, shapes (n_frames, levels, n_q), (n_numbers,)
    weights : list of ndarray
        Of the residuals of each `Measured`.
    """

    x: np.ndarray
    c: np.ndarray
    weights: list = field(default_factory=list)


@dataclass
class Gradients:
    """Right-hand sides of normal equations, and what unknown numbers add to them.

    Attributes
    ----------
    gradient, border : ndarray, shapes (n, size), (n, size, n_c)
    corner, pull : ndarray, shapes (n_c, n_c), (n_c,)
        Of the unknown numbers.
    cost : float
        Half the sum of squares.
    tangents : list of (slice, Tangents)
    """

    gradient: np.ndarray
    border: np.ndarray
    corner: np.ndarray
    pull: np.ndarray
    cost: float
    tangents: list = field(default_factory=list)


class Smoother:
    """All frames as one least-squares problem.

    Parameters
    ----------
    geometry : Geometry
    steps : Steps
    measured : list of Measured
    prior : tuple of ndarray
        Mean and inverse covariance of the unknown numbers.
    t : ndarray, shape (n_frames,)
        [s]
    limits : Limits or None
        Set by `fit`.
    bounds : ndarray, shape (2, n_c)
        Of unknown numbers; set by `fit`.
    held : dict
        Number of an unknown number at a bound -> 0 for the lower, 1 for the upper one.
    n_free : int
        Directions that constraints leave open to touched coordinates; the others are behind them in each level.
    comm : mpi4py communicator or None
        Of ranks that share the frames; each has a slab of them, `own`. States are whole on all ranks.
    """

    def __init__(self, geometry, steps, measured, prior, t, n_free, options=DEFAULT, comm=None):
        self.geometry, self.steps, self.measured, self.t = geometry, steps, measured, t
        self.mean, self.information = prior
        self.n_free, self.options, self.n_c, self.n_parts = n_free, options, len(self.mean), len(geometry.means)
        self.limits, self.held = None, {}
        self.bounds = np.full((2, self.n_c), [[-np.inf], [np.inf]])
        self.reduced = np.zeros((0, 0))
        self.n_apart = len(geometry.apart)
        self.n_open = n_free + self.n_apart
        self.size = geometry.levels * self.n_open
        self.comm = comm if comm is not None and len(t) >= 2 * comm.size else None
        self.own = slice(0, len(t))
        if self.comm is not None:
            self.own = slice(*slab_ends(len(t), comm.size)[comm.rank:comm.rank + 2])
            self.chain = SharedBlockChain(comm, len(t), self.size, self.own, geometry.levels, n_free)
        else:
            self.chain = BlockChain(len(t), self.size, geometry.levels, n_free)
        self.places = [np.full(len(t), -1) for _ in measured]
        for places, own in zip(self.places, measured, strict=True):
            places[own.frames] = np.arange(len(own.frames))

    # ---- one linearization

    def assemble(self, at):
        """Fill the chain with the normal equations at an `Iterate`.

        Returns
        -------
        Gradients
        """
        n, chain, end = len(at.x), self.chain, self.own.stop
        chain.diagonal[self.own.start] = 0.0
        pull = self.information @ (at.c - self.mean)
        once = float(self.own.start == 0)  # what does not belong to a frame counts there
        out = Gradients(np.zeros((n, self.size)), np.zeros((n, self.size, self.n_c)), once * self.information,
                        once * pull, once * 0.5 * float(pull @ (at.c - self.mean)))
        for first in range(self.own.start, end, self.options.piece):
            last = min(first + self.options.piece, end)
            with_next = slice(first, min(last + 1, n))
            chain.diagonal[first + 1:last + 1] = 0.0  # while it is in the caches
            own = Tangents(self.geometry, self.steps.root, at.x[with_next], self.t[with_next], self.n_free,
                           c=at.c[:self.n_parts])
            out.tangents.append((slice(first, last), own))
            for i, places in enumerate(self.places):
                local = np.flatnonzero(places[first:last] >= 0)
                if len(local):
                    self._measure(i, first, _as_slice(local), own, at, out)
            if self.limits is not None:
                self._limit(slice(first, last), own, at.x, out)
            if last - first + (last < n) > 1:
                self._step(at.x[with_next], own, slice(first, with_next.stop - 1), out)
        if self.comm is not None:
            before, _ = swap(self.comm, None, out.gradient[end:end + 1])
            if before is not None:
                out.gradient[self.own.start] += before[0]
        out.cost = OverRanks(self.comm).total(out.cost)
        return out

    def _sum(self, values):
        """Of arrays over the ranks."""
        return values if self.comm is None else np.sum(self.comm.allgather(values), axis=0)

    def gathered(self, rows):
        """Rows of the frames of this rank -> those of all frames."""
        return rows if self.comm is None else np.concatenate(self.comm.allgather(rows))

    def _measure(self, i, first, local, tangents, at, out):
        """What is measured at some frames of the piece that begins with `first`."""
        measured, frames = self.measured[i], _moved_by(first, local)
        rows = self.places[i][frames]
        values, slopes = measured.linearized(at.x[frames], at.c, rows)
        if at.weights[i] is not None:
            root = np.sqrt(at.weights[i][rows])
            values, slopes = values * root, [None if s is None else s * root[..., None] for s in slopes]
        out.cost += 0.5 * float((values**2).sum())
        p, geometry = self.geometry.levels, self.geometry
        seen = [level for level in range(p) if slopes[level] is not None]
        n_seen, m = max(seen) + 1 if seen else 0, len(values)
        used, by_numbers = n_seen * self.n_open, slopes[p]
        by_motion = np.zeros((m, whole(measured.n_values), whole(used + 1)))
        by_motion[:, :measured.n_values, used] = values
        for level in seen:
            measured_rows(slopes[level], *(np.ascontiguousarray(x[local, level])
                                           for x in (tangents.whole, tangents.shift)),
                          (geometry.touched, geometry.apart, self.steps.root_apart), level, by_motion, used)
            if self.n_parts and geometry.n_rows:
                more = np.zeros((m, measured.n_values, self.n_c))
                touched = slopes[level].take(geometry.touched, axis=2)
                more[:, :, :self.n_parts] = touched @ tangents.numbers[local, level]
                by_numbers = more if by_numbers is None else by_numbers + more
        add_squares(by_motion.ravel(), by_motion.shape[1:], used, np.arange(len(at.x))[frames], self.chain.diagonal,
                    out.gradient, np.empty(used * by_motion.shape[2]))
        if by_numbers is not None:
            flat, values = by_motion[:, :measured.n_values, :used], by_motion[:, :measured.n_values, used]
            out.border[frames, :used] += flat.swapaxes(1, 2) @ by_numbers
            out.corner += np.einsum("fmi,fmj->ij", by_numbers, by_numbers)
            out.pull = out.pull + np.einsum("fmi,fm->i", by_numbers, values)

    def _limit(self, piece, tangents, x, out):
        """The barrier of limits of coordinates."""
        geometry, places, d = self.geometry, self.limits.places, self.n_free
        curvature, slope = self.limits.terms(x, piece)
        rows, shift = np.zeros((len(curvature), len(places), self.n_open)), np.zeros(curvature.shape)
        for k, place in enumerate(places):
            if place in geometry.apart:
                j = int(np.searchsorted(geometry.apart, place))
                rows[:, k, d + j] = 1 / self.steps.root_apart[j]
            else:
                i = int(np.searchsorted(geometry.touched, place))
                rows[:, k, :d] = tangents.whole[:len(rows), 0, 0, i]
                shift[:, k] = tangents.shift[:len(rows), 0, i]
        weighted = rows * curvature[..., None]
        self.chain.diagonal[piece, :self.n_open, :self.n_open] += rows.swapaxes(1, 2) @ weighted
        out.gradient[piece, :self.n_open] += (slope[:, None] @ rows + shift[:, None] @ weighted)[:, 0]

    def _step(self, x, tangents, piece, out):
        d, behind, p = self.n_free, slice(piece.start + 1, piece.stop + 1), self.geometry.levels
        steps, shape = self.steps, (-1, p, self.n_open, p, self.n_open)
        cost, pull, push = steps.apart(x[:, :, self.geometry.apart], piece)
        out.cost += cost
        gradient = out.gradient.reshape(len(out.gradient), p, self.n_open)
        gradient[piece, :, d:] += pull
        gradient[behind, :, d:] += push
        targets = self.chain.diagonal[piece], self.chain.diagonal[behind]
        self.chain.apart[piece] = steps.coupled[piece]
        for target, weight in zip(targets, (steps.before[piece], steps.after[piece]), strict=True):
            diagonal = np.einsum("miajb->mijab", target.reshape(shape))[..., d:, d:]
            np.einsum("mijaa->mija", diagonal)[:] += weight[..., None]
        if d:
            both = slice(piece.start, piece.stop + 1)
            cost, by_numbers = steps.equations(x, tangents, piece, d, (self.chain.diagonal[both],
                                                                       self.chain.coupling[piece]), out.gradient[both])
            out.cost += cost
            if by_numbers is not None:
                border, k = out.border.reshape(len(out.border), p, self.n_open, self.n_c), self.n_parts
                border[piece, :, :d, :k] += by_numbers[0]
                border[behind, :, :d, :k] += by_numbers[1]
                out.corner[:k, :k] += by_numbers[2]
                out.pull[:k] += by_numbers[3]

    # ---- one step

    def step(self, at):
        """Gauss-Newton's step from an `Iterate`.

        Returns
        -------
        x, c : ndarray
            The next state.
        cost : float
            Of the state at hand.
        decrement : float
            Twice what the step gains to first order: the squared length of the step in standard deviations.

        Raises
        ------
        NotPositive
        """
        if self.comm is not None:
            self._last = Iterate(at.x, at.c, at.weights), copy(self.limits)
        here = self.assemble(at)
        self.tangents = here.tangents
        gradient, border = here.gradient[self.own], here.border[self.own]
        forwards = self.chain.factor(np.concatenate([gradient[..., None], border], axis=2))
        solved = self.chain.substituted(forwards)
        self.by_numbers = solved[..., 1:]
        change = np.zeros(0)
        if self.n_c:
            self.reduced = self._sum(here.corner - np.einsum("fdi,fdj->ij", border, solved[..., 1:]))
            rest = self._sum(here.pull - np.einsum("fdi,fd->i", border, solved[..., 0]))
            change = self._bounded(self.reduced, rest, at.c)
        motion = -solved[..., 0] - self.by_numbers @ change
        decrement = OverRanks(self.comm).total(-float((motion * gradient).sum() + change @ here.pull))
        return self._moved(at.x, motion, change, here.tangents), at.c + change, here.cost, decrement

    def _bounded(self, matrix, pull, c):
        """Least change of numbers by a matrix and a gradient that leaves them within their bounds."""
        self.held = {}
        if not np.isfinite(self.bounds).any():
            return -np.linalg.solve(matrix, pull)
        root = np.linalg.cholesky(matrix).T
        low, high = self.bounds - c
        found = scipy.optimize.lsq_linear(root, -np.linalg.solve(root.T, pull), (low, high), method="bvls")
        self.held = {int(k): int(found.active_mask[k] > 0) for k in np.flatnonzero(found.active_mask)}
        return np.clip(found.x, low, high)

    def _moved(self, x, motion, change, tangents):
        d, geometry, first = self.n_free, self.geometry, self.own.start
        steps = motion.reshape(len(motion), geometry.levels, self.n_open)
        x = x[self.own]
        out = np.empty_like(x)
        out[:, :, geometry.apart] = x[:, :, geometry.apart] + steps[:, :, d:] / self.steps.root_apart
        for piece, own in tangents:
            here = slice(piece.start - first, piece.stop - first)
            out[here, :, geometry.touched] = own.moved(x[here][:, :, geometry.touched], steps[here, :, :d],
                                                             change[:self.n_parts])
        return self.gathered(out)

    def weights(self, x, c):
        """Weights of the squares of residuals at a state, of each `Measured`; None of those without a loss."""
        found = []
        for own in self.measured:
            rows = np.flatnonzero((own.frames >= self.own.start) & (own.frames < self.own.stop))
            found.append(self.gathered(own.weights(own.residuals(x[own.frames[rows]], c, rows), rows)) if own.robust
                         else None)
        return found

    def _known_at(self, frames):
        """Places among some frames, those in the tangents of the last iteration that have them, and these tangents."""
        for piece, own in self.tangents:
            here = np.flatnonzero((frames >= piece.start) & (frames < piece.stop))
            if len(here):
                yield here, frames[here] - piece.start, own

    def wholes(self, piece):
        """Derivatives of the states of frames by their open motions, at the last iteration, (m, levels n_q, size)."""
        geometry, p, d = self.geometry, self.geometry.levels, self.n_free
        frames = np.arange(len(self.t))[piece]
        out = np.zeros((len(frames), p, geometry.n, p, self.n_open))
        for here, local, tangents in self._known_at(frames):
            whole = tangents.whole[local]
            for j in range(p):
                for k in range(j + 1):
                    places = np.ix_(here, [j], geometry.touched, [k], np.arange(d))
                    out[places] = whole[:, None, j, k][:, :, :, None]
        for level in range(p):
            out[:, level, geometry.apart, level, d + np.arange(self.n_apart)] = 1 / self.steps.root_apart
        return out.reshape(len(frames), p * geometry.n, self.size)

    def closed(self, x, c):
        """States whose constraints hold to rounding, with unknown numbers c."""
        if not self.geometry.n_rows:
            return x
        x, touched = x.copy(), self.geometry.touched
        best, going = np.full(len(x), np.inf), np.arange(len(x))[self.own]
        for _ in range(self.options.closing):
            left = []
            for frames in self._pieces(going):
                gap = self._tangents(x, frames, c, True).gap
                size = np.abs(gap).max(axis=1)
                better = size < best[frames] / 2
                best[frames] = np.minimum(best[frames], size)
                x[np.ix_(frames[better], [0], touched)] += gap[better, None]
                scale = np.maximum(np.abs(x[frames, 0]).max(axis=1), 1.0)
                left.append(frames[better & (size > self.options.near * scale)])  # else the next gap is rounding
            going = np.concatenate([np.zeros(0, int), *left])
        for frames in self._pieces(np.arange(len(x))[self.own]):
            x[np.ix_(frames, np.arange(1, x.shape[1]), touched)] += self._tangents(x, frames, c).shift[:, 1:]
        return self.gathered(x[self.own])

    def _pieces(self, frames):
        return [frames[first:first + self.options.piece] for first in range(0, len(frames), self.options.piece)]

    def _tangents(self, x, frames, c, positions=False):
        return Tangents(self.geometry, self.steps.root, x[frames], self.t[frames], self.n_free, positions,
                        c[:self.n_parts])

    # ---- covariance

    _known = _alone = None

    def leave_ranks(self):
        """Work out what ranks share, so that each can be asked by itself from then on."""
        if self.comm is None:
            return
        self._known = self.gathered(self.covariances())
        told = self.comm.allgather([(piece, own.whole[:piece.stop - piece.start],
                                     own.numbers[:piece.stop - piece.start]) for piece, own in self.tangents])
        self.tangents = [(piece, SimpleNamespace(whole=whole, numbers=numbers)) for one in told
                         for piece, whole, numbers in one]
        self.by_numbers, self.comm, self.own = self.gathered(self.by_numbers), None, slice(0, len(self.t))
        self._alone, self.chain = cache(self._by_itself), None

    def _by_itself(self):
        """The same with factors of all frames on this process."""
        at, limits = self._last
        other = Smoother(self.geometry, self.steps, self.measured, (self.mean, self.information), self.t, self.n_free,
                         self.options)
        other.limits, other.bounds = limits, self.bounds
        other.step(at)
        return other

    def covariances(self):
        """Posterior covariances of the open motions at each frame, shape (n, size, size), numbers' share included."""
        if self._known is None:
            self._known = self.chain.inverse_blocks()
            if self.n_c:
                self._known += self.by_numbers @ self.number_covariance() @ self.by_numbers.swapaxes(1, 2)
        return self._known

    def of_states(self, slopes, frames, by_numbers=None):
        """Posterior covariances, shape (m, k, k), of what depends on states, and on unknown numbers, by slopes.

        Shapes (m, k, levels n_q), and (m, k, n_numbers) or None.
        """
        known, piece = np.arange(len(self.t))[frames], self.options.piece
        if len(known) > piece:  # in the caches
            return np.concatenate([self.of_states(slopes[i:i + piece], known[i:i + piece], None if by_numbers is None
                                                  else by_numbers[i:i + piece]) for i in range(0, len(known), piece)])
        by_motion = slopes @ self.wholes(frames)
        out = by_motion @ self.covariances()[frames] @ by_motion.swapaxes(1, 2)
        if not self.n_c or (by_numbers is None and not self.n_parts):
            return out
        direct = slopes @ self._by_parts(frames)
        direct = direct if by_numbers is None else direct + by_numbers
        both = self.number_covariance() @ direct.swapaxes(1, 2)
        crossed = by_motion @ self.by_numbers[frames] @ both
        return out - crossed - crossed.swapaxes(1, 2) + direct @ both

    def _by_parts(self, frames):
        """Derivatives of the states of frames by unknown numbers, (m, levels n_q, n_numbers)."""
        geometry, p = self.geometry, self.geometry.levels
        frames = np.arange(len(self.t))[frames]
        out = np.zeros((len(frames), p, geometry.n, self.n_c))
        for here, local, own in self._known_at(frames):
            out[np.ix_(here, np.arange(p), geometry.touched, np.arange(self.n_parts))] = own.numbers[local]
        return out.reshape(len(out), p * geometry.n, self.n_c)

    def draw(self, x, c, rng):
        """States and unknown numbers of a draw from the posterior about x and c, linearized."""
        if self._alone is not None:
            return self._alone().draw(x, c, rng)
        motion = self.chain.substituted(rng.standard_normal((len(x), self.size, 1)))[..., 0]
        change = np.zeros(self.n_c)
        if self.n_c:
            free = np.setdiff1d(np.arange(self.n_c), list(self.held))
            root = np.linalg.cholesky(self.number_covariance()[np.ix_(free, free)])
            change[free] = root @ rng.standard_normal(len(free))
            motion -= self.by_numbers @ change
        states = (self.wholes(slice(None)) @ motion[..., None])[..., 0] + self._by_parts(slice(None)) @ change
        return x + states.reshape(x.shape), c + change

    def arrival(self, at):
        """What all frames of this smoother say of the last one, and of unknown numbers, at an `Iterate`.

        Returns
        -------
        root, start : ndarray, shapes (k, size + n_c), (k,)
            `1/2 |root m - start|^2` of changes m of its open motions and of the numbers.
        to_motion : ndarray, shape (size, levels n_q)
            Open motions of changes of its state.
        """
        here, n, m = self.assemble(at), self.size, 1 + self.n_c
        self.tangents, chain = here.tangents, self.chain.part(slice(0, -1))
        right = np.concatenate([here.gradient[..., None], here.border], axis=2)
        whole = np.concatenate([right[:-1], np.zeros((chain.n, n, n))], axis=2)
        whole[-1, :, m:] = self.chain.coupled(-1)
        y = chain.factor(whole)
        ends, before, last = y[-1, :, m:], y[:, :, :m].reshape(-1, m), self.chain.diagonal[-1]
        beside = right[-1] - ends.T @ y[-1, :, :m]
        information, pull = np.empty((n + self.n_c,) * 2), np.empty(n + self.n_c)
        information[:n, :n] = np.triu(last) + np.triu(last, 1).T - ends.T @ ends
        information[:n, n:], information[n:, :n] = beside[:, 1:], beside[:, 1:].T
        information[n:, n:] = here.corner - before[:, 1:].T @ before[:, 1:]
        pull[:n], pull[n:] = beside[:, 0], here.pull - before[:, 1:].T @ before[:, 0]
        scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(information / scale / scale[:, None])
        known = values > 8 * len(values) * np.finfo(float).eps * values[-1]  # all, once there are enough values
        root = np.sqrt(values[known])[:, None] * vectors[:, known].T
        mean = -(vectors[:, known].T @ (pull / scale)) / values[known]
        return root * scale, np.sqrt(values[known]) * mean, np.linalg.pinv(self.wholes(slice(-1, None))[0])

    def number_covariance(self):
        """Of the unknown numbers, zero of those at a bound."""
        free = np.setdiff1d(np.arange(self.n_c), list(self.held))
        out = np.zeros((self.n_c,) * 2)
        out[np.ix_(free, free)] = np.linalg.inv(self.reduced[np.ix_(free, free)])
        return out


def _as_slice(places):
    """Places in order, as a slice where they are beside each other: without copies of what they choose."""
    first, last = int(places[0]), int(places[-1]) + 1
    return slice(first, last) if last - first == len(places) else places


def _moved_by(first, places):
    return slice(places.start + first, places.stop + first) if isinstance(places, slice) else places + first
