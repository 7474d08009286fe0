"""From changes of all coordinates to minimal ones: independent displacements and their rates, on the constraints."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from ..errors import InputError
from ..mechanics.values.equations_of_motion import EquationsOfMotion
from .chart import Chart, components
from .options import OPTIONS


@dataclass(eq=False)
class Reduction:
    """Linear equations of a system at one state in minimal coordinates x = (y, s).

    y are independent displacements, s independent ones of their rates, in a frame that turns with `omega`. States of
    first order are among y, and their rates follow.

    Parameters
    ----------
    at : EquationsOfMotion
    chosen : (ndarray of int, ndarray of int), optional
        Displacements y, and which of them have independent rates s; default: what the constraints suggest.
    turning : bool
        Whether to look for a frame that turns.

    Attributes
    ----------
    a, b : ndarray, shapes (n, n), (n, n_controls)
        `xdot = A x + B u`.
    terms : ndarray, shape (n, n)
        Sums of the absolute values of the terms of A.
    dq, dv : ndarray, shape (n_q, n)
        Changes of coordinates and velocities with x.
    displacements : ndarray, shape (n_displacements, n)
        Those of all bodies with x.
    """

    at: EquationsOfMotion
    chosen: tuple | None = None
    turning: bool = True

    def __post_init__(self):
        at = self.at
        self.chart = Chart(at.system, at.q, at.v, at.acceleration)
        self.omega, self.steady = self._frame() if self.turning else (np.zeros(3), False)
        first, second = self.chart.rotating(self.omega)
        gradient, by_q = at.levels
        if self.chosen is None:
            self.chosen = self._independent(gradient)
        y, s = self.chosen
        # displacements: G dq = 0, Y_y dq = y
        eye, chart = np.eye(len(y) + len(s)), self.chart
        none = np.zeros((len(at.counters) + len(chart.lengths), len(eye)))
        rows = np.concatenate([gradient[:at.m], chart.y[y], at.counters, chart.lengths])
        right = np.concatenate([np.zeros((at.m, len(eye))), eye[:len(y)], none])
        self.dq = self._solved(rows, right)
        none[len(at.counters):] = -(chart.length_rates @ self.dq)
        rows = np.concatenate([gradient, chart.y[s], at.counters, chart.lengths, chart.y[chart.flows]])
        efforts = at.efforts_by_state @ self.dq
        right = np.concatenate([-(by_q @ self.dq), eye[len(y):] - first[s] @ self.dq, none, efforts])
        self.dv = self._solved(rows, right)
        (self.da, size), self.by_controls = at.tangent(self.dq, self.dv), at.by_controls()
        rates, of_rates = self.dv.copy(), np.abs(self.dv)
        rates[at.flows], of_rates[at.flows] = self.da[at.flows], size[at.flows]
        of_q, of_v = np.abs(self.dq), np.abs(self.dv)
        rows = ((chart.y[y], rates, of_rates, 1), (first[y], self.dq, of_q, 1), (chart.y[s], self.da, size, 1),
                (first[s], self.dv, of_v, 2), (second[s], self.dq, of_q, 1))
        terms = [factor * (a @ b) for a, b, _, factor in rows]
        sizes = [np.abs(a) @ of_b for a, _, of_b, _ in rows]
        value, size = (np.concatenate([x[0] + x[1], x[2] + x[3] + x[4]]) for x in (terms, sizes))
        # rounding among exact zeros would spread eigenvalues that are zero
        self.a, self.terms = np.where(np.abs(value) > OPTIONS.rounding * size, value, 0.0), size
        self.b = np.concatenate([chart.y[y][:, at.flows] @ self.by_controls[at.flows], chart.y[s] @ self.by_controls])
        self.displacements = chart.y @ self.dq

    def _solved(self, rows, right):
        scale = 1 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        try:
            return np.linalg.solve(scale * rows, scale * right)
        except np.linalg.LinAlgError:
            raise InputError("the constraints are singular at this state, or the chosen coordinates are not "
                             "independent there") from None

    @property
    def names(self):
        """Names of x, list of str."""
        names, (y, s) = components(self.at.system), self.chosen
        return [names[i] for i in y] + [f"rate of {names[i]}" for i in s]

    @cached_property
    def mass(self):
        """Mass matrix in the displacements of all bodies; of states of first order 1."""
        return self.chart.p.T @ self.at.inertia @ self.chart.p

    def stays(self):
        """Whether the matrix A stays as it is while the motion goes on: by invariants of it, a little later."""
        at, a = self.at, self.a
        if not self.chart.rates.any() and not at.timed:
            return True
        if not (at.timed or self.omega.any()) and self._stretches():
            return False
        rate, size = self._fastest()
        step = OPTIONS.moved / (rate or 1.0)  # where nothing has a rate as yet, any change counts, at any time
        b = Reduction(self._later(step), self.chosen, bool(self.omega.any())).a
        powers = a, b
        for k in range(1, 5):
            if abs(np.trace(powers[0]) - np.trace(powers[1])) > 10 * OPTIONS.moved**2 * size**k:
                return False
            powers = powers[0] @ a, powers[1] @ b
        return True

    def _fastest(self):
        """The fastest rate in A and of the motion [1/s], and the size of A with displacements in units in which they
        and their rates have energies alike."""
        (y, s), root, chart = self.chosen, np.sqrt(np.maximum(self.mass.diagonal(), 0)), self.chart
        speed = np.linalg.norm(root * chart.velocity)
        rate = max(self._turns(), np.linalg.norm(root * chart.acceleration) / speed if speed else 0.0)
        root = np.where(root > 0, root, root.max(initial=0.0) or 1.0)
        unit, first = np.concatenate([root[y], root[s]]), np.arange(len(y) + len(s)) < len(y)
        a = unit[:, None] * self.a / unit
        parts = [np.linalg.norm(a[np.ix_(rows, columns)]) for rows in (first, ~first) for columns in (first, ~first)]
        rate = max(rate, parts[0], parts[3], np.sqrt(parts[1] * parts[2]))
        return rate, np.sqrt(parts[0]**2 + parts[3]**2 + (rate * parts[1])**2 + (parts[2] / (rate or 1.0))**2)

    def _stretches(self):
        """Whether accelerations of a motion that is straight at first grow with the square of the time, as those of
        bodies that turn about each other before their springs are stretched; rounding grows otherwise."""
        chart, rate = self.chart, self._turns()
        if not rate:
            return False
        root, step, changes = np.sqrt(np.maximum(self.mass.diagonal(), 0)), OPTIONS.moved / rate, []
        for later in map(self._later, (step, 2 * step)):
            then = Chart(later.system, later.q, later.v, later.acceleration)
            changes.append(root * (then.acceleration - chart.acceleration))
        size = np.linalg.norm(changes[1])
        return size > OPTIONS.steady * later.size and np.linalg.norm(changes[1] - 4 * changes[0]) < size / 2

    def _turns(self):
        """How fast bodies turn, by themselves and about each other [1/s]."""
        axes, place, speed = {}, self.chart.y @ self.at.q, self.chart.velocity
        for i, name in enumerate(components(self.at.system)):
            axes.setdefault(name[-2:] if ".position[" in name else "", []).append(i)
        turns = axes.pop("", [])
        reach = max((np.ptp(place[axis]) for axis in axes.values()), default=0.0)
        apart = max((np.ptp(speed[axis]) for axis in axes.values()), default=0.0)
        return max(np.abs(speed[turns]).max(initial=0.0), apart / reach if reach else 0.0)

    def _later(self, step):
        """The equations of motion a step later, where accelerations stay as they are."""
        at, bends = self.at, self.at.acceleration.copy()
        bends[at.flows] = 0.0
        q = at.q + step * at.rates + step**2 / 2 * bends
        v = at.v + step * bends
        v[at.flows] += at.efforts_by_state @ (q - at.q)
        return EquationsOfMotion(at.system, at.t + step, q, v, at.u)

    def _independent(self, gradient):
        """Displacements y, and those whose rates are independent too, by the constraints with column pivoting."""
        at, p = self.at, self.chart.p
        weight = 1 / np.sqrt(np.maximum(np.abs(self.mass.diagonal()), 1e-300))
        names = components(at.system)
        weight = weight * np.where(["rotation" in name for name in names], 1 / OPTIONS.turns_first, 1.0)
        size = np.linalg.norm(gradient, axis=1, keepdims=True)
        gradient = gradient / np.where(size > 0, size, 1.0)
        g, terms = gradient @ p * weight, np.abs(gradient) @ np.abs(p) * weight
        g[np.abs(g) <= OPTIONS.rounding * terms] = 0.0  # constraints of directors alone, which displacements meet
        y, step = _free(g[:at.m])
        # rates of y that the constraints on velocities leave: A P N
        s = y[_free(g[at.m:] @ step)[0]] if at.k else y
        return y, s[~np.isin(s, self.chart.flows)]

    def _frame(self):
        """The angular velocity of a frame in which the motion is steady, and whether it is."""
        chart, at = self.chart, self.at
        acceleration = chart.acceleration
        root = np.sqrt(np.maximum(self.mass.diagonal(), 0))
        speed = chart.velocity
        size = np.linalg.norm(root * speed)
        none = np.zeros(3)
        limit = OPTIONS.steady * (at.size + np.linalg.norm(root * acceleration) * 1e-3) + at.rounding
        if np.linalg.norm(root * acceleration) <= limit or not size:
            return none, bool(np.linalg.norm(root * acceleration) <= limit)
        flat = any(n < 3 for _, n in chart.vectors)
        axes = np.eye(3)[2:] if flat else np.eye(3)
        columns = np.stack([root * (chart.turning(axis) @ speed) for axis in axes], axis=1)
        found, *_ = np.linalg.lstsq(columns, root * acceleration, rcond=1e-9)
        rest = np.linalg.norm(root * acceleration - columns @ found)
        if rest > OPTIONS.steady * max(at.size, np.linalg.norm(root * acceleration)) + at.rounding:
            return none, False
        return found @ axes, True


def _free(g):
    """Columns that rows of `g` leave independent, in order, and the dependence of all columns on them."""
    n = g.shape[1]
    r, pivots = scipy.linalg.qr(g, mode="r", pivoting=True) if len(g) else (np.zeros((0, n)), np.arange(n))
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-9 * diagonal.max(initial=0)).sum())
    free = pivots[rank:]
    order = np.argsort(free)
    step = np.zeros((n, n - rank))
    step[pivots[:rank]] = -scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    step[free] = np.eye(n - rank)
    return free[order], step[:, order]
