"""Motions of frames that constraints leave open.

Of constraints Phi(q, t) = 0 with Jacobian G the coordinates move by `dq = N eta - G^+ Phi`, and each rate by what its
own constraint requires and a motion of its own, `dv = N xi + D eta - ...`. N is orthonormal in the metric of the
noise, in which increments and rates rho = S v are vectors `U^T Q^-1/2 rho` with `U = Q^-1/2 S N`; D is such that these
change by xi alone.
"""

import numpy as np

from .frame_loops import null_spaces
from .options import DEFAULT


class Tangents:
    """At some frames, of the touched coordinates of a geometry.

    Parameters
    ----------
    geometry : Geometry
    root : ndarray, shape (n_increments,)
        Q^-1/2.
    x : ndarray, shape (n, levels, n_q)
        States of the frames.
    t : ndarray, shape (n,)
    n_free : int, optional
        Directions that are open; found unless given.
    positions : bool
        Whether N, U and the gap alone are wanted.
    c : ndarray, shape (n_numbers,), optional
        Unknown numbers of parts; the means of their priors unless given.

    Attributes
    ----------
    basis, vectors : ndarray, shapes (n, n_touched, n_free), (n, n_increments, n_free)
        N and U.
    whole : ndarray, shape (n, levels, levels, n_touched, n_free)
        Derivative of the state, level by level, by the open motions of each level.
    shift : ndarray, shape (n, levels, n_touched)
        Motion that closes constraints to first order.
    numbers : ndarray, shape (n, levels, n_touched, n_numbers)
        The same by unknown numbers of parts.
    gap : ndarray, shape (n, n_touched)
        The shift of positions.
    rates : ndarray, shape (n, levels - 1, n_free)
        `U^T Q^-1/2 rho` of each level.
    """

    def __init__(self, geometry, root, x, t, n_free=None, positions=False, c=None):
        self.geometry, self.root, self.n = geometry, root, len(geometry.touched)
        self.c = geometry.means if c is None else c
        held = geometry.held
        values = held(*x.swapaxes(0, 1), t, np.broadcast_to(self.c, (len(x), len(self.c)))) if geometry.n_rows else None
        jacobian = values[1] if geometry.n_rows else np.zeros((len(x), 0, self.n))
        self._null_space(jacobian, geometry.spread(root), n_free)
        self._turns = geometry.spins(*x.swapaxes(0, 1)) if geometry.turns else None
        self.vectors = self._increments(self.basis)
        if geometry.turns:
            self._make_orthonormal()
        if not positions:
            self._levels(values, x[:, :, geometry.touched])
        else:
            self.gap = np.zeros((len(x), self.n)) if values is None else -self._inverse(values[0])[..., 0]

    def _null_space(self, jacobian, scale, n_free):
        """Sets the basis, and the pseudo-inverse of the Jacobian as a function of right-hand sides (n, rows, m)."""
        own = jacobian / scale
        size = np.linalg.norm(own, axis=2)
        size = np.where(size > 0, size, 1.0)
        own = own / size[:, :, None]
        rank, null, inner = _by_reflections(own.copy()) if n_free in (None, self.n - own.shape[1]) else (None,) * 3
        if rank is None:
            rank, null, inner = _by_singular_values(own, None if n_free is None else self.n - n_free)
        self.n_free, self.basis = self.n - rank, null / scale[:, None]
        self._inverse = lambda b: (inner @ (b / size[:, :, None])) / scale[:, None]

    def _increments(self, motions, level=0):
        """`Q^-1/2` times the change of increments or rates by motions of coordinates, shape (n, n_increments, m)."""
        plain = self.geometry.plain
        out = np.empty((len(motions), self.geometry.n_increments, motions.shape[2]))
        out[:, :len(plain)] = motions[:, plain]
        if self._turns is not None:
            out[:, len(plain):] = self._turns[2] @ motions
        return out * self.root[:, None]

    def _make_orthonormal(self):
        """Once more, where noise about axes of bodies differs."""
        gram = self.vectors.swapaxes(1, 2) @ self.vectors
        if np.abs(gram - np.eye(self.n_free)).max(initial=0.0) > 1e-9:
            change = np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(1, 2)
            self.basis, self.vectors = self.basis @ change, self.vectors @ change

    def _levels(self, values, x):
        geometry, n = self.geometry, len(self.basis)
        p = geometry.levels
        self.whole = np.zeros((n, p, p, self.n, self.n_free))
        k_c = len(self.c)
        self.shift, self.numbers, at = np.zeros((n, p, self.n)), np.zeros((n, p, self.n, k_c)), 0
        rates, plain = np.zeros((n, p - 1, geometry.n_increments)), geometry.plain
        for level in range(p):
            if values is not None:
                rest, slopes = values[at], values[at + 1:at + 2 + level]
                at += 2 + level
                moved = [np.zeros((n, geometry.n_rows, self.n_free)) for _ in range(level)]
                by_numbers = values[len(values) - p + level]
                for k in range(level):
                    rest = rest + slopes[k] @ self.shift[:, k, :, None]
                    by_numbers = by_numbers + slopes[k] @ self.numbers[:, k]
                    for j in range(k + 1):
                        moved[j] = moved[j] + slopes[k] @ self.whole[:, k, j]
                found = self._inverse(np.concatenate([rest, *moved, by_numbers], axis=2))
                self.shift[:, level] = -found[:, :, 0]
                self.numbers[:, level] = -found[:, :, found.shape[2] - k_c:]
                for j in range(level):
                    first = 1 + j * self.n_free
                    self.whole[:, level, j] = -found[:, :, first:first + self.n_free]
            self.whole[:, level, level] = self.basis
            if level:
                rates[:, level - 1, :len(plain)] = x[:, level, plain]
                if self._turns is not None:
                    self._keep_rates(level, rates)
        self.rates = (rates * self.root) @ self.vectors

    def _keep_rates(self, level, rates):
        """Let rates of a level change by its own motion alone: takes out what others do along the tangents.

        Of differences of coordinates nothing is to be taken out: the pseudo-inverse is that in the metric of noise.
        """
        others = [np.concatenate([self.shift[:, j, :, None], *(self.whole[:, j, k] for k in range(level)),
                                  self.numbers[:, j]], axis=2) for j in range(level + 1)]
        changes, first, k = self._increments(others[level]), 3 * (level > 1), len(self.geometry.plain)
        rates[:, level - 1, k:] = self._turns[first][..., 0]
        for j in range(level):
            changes[:, k:] += self.root[k:, None] * (self._turns[first + 1 + j] @ others[j])
        out = self.basis @ (self.vectors.swapaxes(1, 2) @ changes)
        self.shift[:, level] -= out[:, :, 0]
        for k in range(level):
            self.whole[:, level, k] -= out[:, :, 1 + k * self.n_free:1 + (k + 1) * self.n_free]
        self.numbers[:, level] -= out[:, :, 1 + level * self.n_free:]

    def moved(self, x, steps, change):
        """States of touched coordinates of the first m frames after open motions, and changes of numbers of parts.

        Shapes (m, levels, n_touched), (m, levels, n_free), (n_numbers,).
        """
        m = len(x)
        out = x + self.shift[:m] + self.numbers[:m] @ change
        for level in range(x.shape[1]):
            for k in range(level + 1):
                out[:, level] += (self.whole[:m, level, k] @ steps[:, k, :, None])[..., 0]
        return out


def _by_reflections(rows):
    """Rank, null space and pseudo-inverse of rows of unit length that do not depend on each other; else None of each.
    """
    m, n_rows, n = rows.shape
    if n_rows > n:
        return None, None, None
    q, inverse, pivots = np.empty((m, n, n)), np.empty((m, n, n_rows)), np.zeros((m, n_rows))
    null_spaces(rows, q, inverse, pivots, np.empty(n))
    if n_rows and not np.all(pivots.min(axis=1) > DEFAULT.close * pivots.max(axis=1)):
        return None, None, None
    return n_rows, q[:, :, n_rows:], inverse


def _by_singular_values(rows, rank):
    """The same of any rows, of the rank that most of the frames have unless it is given."""
    u, s, v = np.linalg.svd(rows)
    if rank is None:
        rank = int(np.median((s > DEFAULT.dependent * s[:, :1]).sum(axis=1)))
    u, kept, own = u[:, :, :rank], s[:, :rank, None], v[:, :rank].swapaxes(1, 2)
    kept = np.where(kept <= DEFAULT.dependent * s[:, :1, None], np.inf, kept)  # at singular positions
    return rank, v[:, rank:].swapaxes(1, 2), own @ (u.swapaxes(1, 2) / kept)
