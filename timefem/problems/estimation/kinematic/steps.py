"""What white noise makes of a step: deviations from constant rates, whitened, along what constraints leave open.

Of `q'' = w` (and `q''' = w`) with the spectral density Q of w, increments and rates of a step of length h deviate from
those of constant rates (accelerations) by a covariance of `Q (x) C(h)`, exactly. On constraints these are vectors of
tangent spaces, U_a^T r of the frame before, U_b^T r of that behind, U_m^T r of the middle, where they are compared:

    rates turned by R = X (15 - 10 Y + 3 Y^2) / 8, X = U_m^T U, Y = X^T X
    increments by (4 U_m^T - (R_a U_a^T + R_b U_b^T) / 2) / 3

so that lengths along curves are right to the fifth power of the angle by which they turn, and what is normal to the
constraints costs nothing. These matrices are those of the last iteration.
"""

from math import factorial

import numpy as np

from .chain_loops import whole
from .frame_loops import add_steps, compared
from .geometry import Tangents


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
