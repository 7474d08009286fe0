"""Functions of time given by values at some times."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validate
from ...errors import InputError
from ...late import Late
from ...types import Converted, Vector
from ..numbers.arguments import is_symbolic, joined
from .base import TimeFunction, clip

if TYPE_CHECKING:
    import casadi as ca

scipy = Late("scipy")


@dataclass(frozen=True)
class Table(TimeFunction):
    """Values at given times and an interpolation between them; constant before the first and after the last.

    The kernel grows with the number of entries, all of which are evaluated: hundreds are fine, many thousands not.

    Parameters
    ----------
    times : array_like, shape (n,)
        Increasing, at least two [s].
    values : array_like, shape (n,)
    kind : {"linear", "cubic"}
        Straight lines, or a cubic spline (two continuous derivatives, not-a-knot ends).
    """

    times: Converted[Vector, tuple[float, ...]]
    values: Converted[Vector, tuple[float, ...]]
    kind: str = "linear"

    def __post_init__(self):
        times = validate.array("Table: times", self.times, (None,))
        if len(times) < 2:
            raise InputError("Table: at least two times are needed")
        self._increasing(*times)
        values = validate.array("Table: values", self.values, times.shape)
        validate.choice("Table: kind", self.kind, ("linear", "cubic"))
        # tuples, so that tables compare and hash like the other functions
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "values", tuple(values.tolist()))

    @classmethod
    def sample(cls, function: Callable[[float], float], times: Vector, kind: str = "cubic") -> Table:
        """Table of a Python function that takes numbers only, at given times.

        Parameters
        ----------
        function : callable
            float -> float, of the time [s].
        times : array_like, shape (n,)
            Increasing [s].
        kind : {"cubic", "linear"}
            As of `Table`.

        Raises
        ------
        InputError
            As `Table`.
        """
        times = validate.array("Table: times", times, (None,))
        return cls(times, [function(t) for t in times], kind)

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.times

    @property
    def has_rate(self) -> bool:
        return self.kind == "cubic"

    @property
    def t_span(self) -> tuple[float, float]:
        return self.times[0], self.times[-1]

    @property
    def form(self) -> Hashable:
        return type(self), self.kind, len(self.times)

    @property
    def _degree(self):
        return 1 if self.kind == "linear" else 3

    @property
    def parameters(self) -> np.ndarray:
        """First value, times, and coefficients of the powers of t - t_i, interval by interval."""
        if is_symbolic(self.times, self.values):
            coefficients = [x for piece in _pieces(self.times, self.values, self.kind) for x in piece]
        elif self.kind == "linear":
            coefficients = np.diff(self.values) / np.diff(self.times)
        else:
            coefficients = scipy.interpolate.CubicSpline(self.times, self.values).c[2::-1].T.ravel()
        return joined(self.values[:1], self.times, coefficients)

    def formula(self, t: ca.SX, *c: Any) -> ca.SX:
        return self.motion(clip(t, c[1], c[len(self.times)]), *c)

    def motion(self, t: ca.SX, value: Any, *c: Any) -> ca.SX:
        # A sum of increments instead of a choice of the interval: the same for every t, as SIMD needs it
        n, degree = len(self.times), self._degree
        for i in range(n - 1):
            # minima and maxima would have half their second derivatives at the entries
            begun = 1 if i == 0 else t >= c[i]
            over = 0 if i == n - 2 else t >= c[i + 1]
            x = (begun - over) * (t - c[i]) + over * (c[i + 1] - c[i])
            a = c[n + i * degree:n + (i + 1) * degree]
            value += x * (a[0] if degree == 1 else a[0] + x * (a[1] + x * a[2]))
        return value


def _pieces(times, values, kind):
    """Coefficients of the powers of t - t_i from the first one on, of each interval: for expressions."""
    steps = [b - a for a, b in pairwise(times)]
    slopes = [(b - a) / h for (a, b), h in zip(pairwise(values), steps, strict=True)]
    if kind == "linear":
        return [(slope,) for slope in slopes]
    rates = _rates(steps, slopes)
    return [(a, (3 * slope - 2 * a - b) / h, (a + b - 2 * slope) / h**2)
            for (a, b), slope, h in zip(pairwise(rates), slopes, steps, strict=True)]


def _rates(h, m):
    """Rates at the times of the cubic spline without knots next to its ends, by steps h and slopes m between."""
    if len(h) == 1:
        return [m[0], m[0]]
    inside = [(b, 2 * (a + b), a, 3 * (b * x + a * y)) for (a, b), (x, y) in
              zip(pairwise(h), pairwise(m), strict=True)]  # below, on and above the diagonal, and the right side
    if len(h) == 2:  # a parabola
        rows = [(0, 1, 1, 2 * m[0]), *inside, (1, 1, 0, 2 * m[1])]
    else:
        first, last = h[0] + h[1], h[-2] + h[-1]
        rows = [(0, h[1], first, ((h[0] + 2 * first) * h[1] * m[0] + h[0]**2 * m[1]) / first), *inside,
                (last, h[-2], 0, (h[-1]**2 * m[-2] + (2 * last + h[-1]) * h[-2] * m[-1]) / last)]
    above, found = [], []
    for below, pivot, beyond, right in rows:
        if above:
            pivot, right = pivot - below * above[-1], right - below * found[-1]
        above.append(beyond / pivot)
        found.append(right / pivot)
    for i in reversed(range(len(found) - 1)):
        found[i] = found[i] - above[i] * found[i + 1]
    return found
