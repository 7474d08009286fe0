"""Functions of time: constants, ramps, pulses, steps, oscillations; smooth ones to prescribe outputs by, and a check of
how smooth one is.

They are value objects, usable in CasADi symbols and in NumPy. Their numbers enter kernels as parameters, so that loads
which differ only in numbers share a kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import fields
from math import comb
from typing import Any

import casadi as ca
import numpy as np

from .. import validate
from ..display import digits
from ..errors import InputError, NamedArguments
from ..memory import Late
from ..records import frozen
from ..types import Converted, Vector
from .numbers.arguments import as_symbols, is_symbolic, joined


class TimeFunction(NamedArguments, ABC):
    """A scalar function of time; call it with times (numbers, arrays) or with a CasADi symbol.

    Attributes
    ----------
    kinks : tuple of float
        Times [s] where it is not smooth. Time elements are accurate when the mesh has nodes there.
    parameters : ndarray, shape (n_parameters,)
        Numbers of `formula`.
    form : hashable
        Equal for functions with the same formula, whatever their numbers.
    has_rate : bool
        Whether it can prescribe a motion: its derivative does not jump.
    t_span : (float, float)
        Times [s] for which `motion` is meant.
    """

    kinks = ()
    has_rate = True
    t_span = (-np.inf, np.inf)

    @property
    def parameters(self) -> np.ndarray:
        return joined(*(getattr(self, f.name) for f in fields(self)))

    @property
    def form(self) -> Hashable:
        return type(self)

    @abstractmethod
    def formula(self, t: ca.SX, *c: Any) -> ca.SX:
        """Value in CasADi symbols of the time and the parameters."""

    def motion(self, t: ca.SX, *c: Any) -> ca.SX:
        """As `formula`, with a derivative at the ends of `t_span` too."""
        return self.formula(t, *c)

    def __call__(self, t: Any) -> Any:
        if isinstance(t, ca.SX | ca.MX):
            return self.formula(t, *self.parameters.tolist())
        t = np.asarray(t, float)
        symbol = ca.SX.sym("t")
        function = ca.Function("time", [symbol], [ca.densify(ca.SX(self(symbol)))])
        return np.array(function.map(t.size)(t.reshape(1, -1))).reshape(t.shape) if t.size else np.zeros(t.shape)

    def __post_init__(self):
        for f in fields(self):
            object.__setattr__(self, f.name, validate.real(f"{type(self).__name__}: {f.name}", getattr(self, f.name)))

    def _increasing(self, *times):
        if not np.all(np.diff(times) > 0):
            raise InputError(f"{type(self).__name__}: times must increase, not {digits(times)}")


def clip(t, low, high):
    return ca.fmin(ca.fmax(t, low), high)


# ---- Functions of time with a few numbers: constants, ramps, pulses, steps, oscillations

@frozen
class Constant(TimeFunction):
    """The same value at all times; a plain number is taken as this.

    Parameters
    ----------
    value : float
    """

    value: float

    def formula(self, t: ca.SX, value: Any) -> ca.SX:
        return value


class Passage(TimeFunction):
    """From `v0` until `t0` to `v1` from `t1` on; in between as the class says."""

    def __post_init__(self):
        for name in ("t0", "t1", "v0", "v1"):
            object.__setattr__(self, name, validate.real(f"{type(self).__name__}: {name}", getattr(self, name)))
        self._increasing(self.t0, self.t1)

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.t0, self.t1

    @property
    def parameters(self) -> np.ndarray:
        return joined(self.t0, self.t1, self.v0, self.v1)


@frozen
class Ramp(Passage):
    """`v0` until `t0`, then up or down to `v1` at `t1`, and constant from there on.

    With `kind="linear"` the rate is constant in between; with "smooth" it starts and ends at zero, and so does its
    rate, `v0 + (v1 - v0) (10 x^3 - 15 x^4 + 6 x^5)`, x from 0 to 1.

    Parameters
    ----------
    t0, t1 : float
        Start and end [s], in this order.
    v0, v1 : float
        Values before and after.
    kind : {"linear", "smooth"}

    Raises
    ------
    InputError
        When `t1` is not after `t0`, or a number is not finite.
    """

    t0: float
    t1: float
    v0: float
    v1: float
    kind: str = "linear"

    def __post_init__(self):
        super().__post_init__()
        validate.choice("Ramp: kind", self.kind, ("linear", "smooth"))

    @property
    def has_rate(self) -> bool:
        return self.kind == "smooth"

    @property
    def form(self) -> Hashable:
        return type(self), self.kind

    def formula(self, t: ca.SX, t0: Any, t1: Any, v0: Any, v1: Any) -> ca.SX:
        if self.kind == "linear":
            return v0 + (v1 - v0) / (t1 - t0) * (clip(t, t0, t1) - t0)
        x = (clip(t, t0, t1) - t0) / (t1 - t0)
        return v0 + (v1 - v0) * x**3 * (10 - 15 * x + 6 * x**2)


@frozen
class TrianglePulse(TimeFunction):
    """Zero, from `t0` up to `peak` at `t_peak`, and down to zero at `t1`, each linear.

    Parameters
    ----------
    t0, t_peak, t1 : float
        Start, peak and end [s], increasing.
    peak : float

    Raises
    ------
    InputError
        When the times do not increase.
    """

    t0: float
    t_peak: float
    t1: float
    peak: float
    has_rate = False

    def __post_init__(self):
        super().__post_init__()
        self._increasing(self.t0, self.t_peak, self.t1)

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.t0, self.t_peak, self.t1

    def formula(self, t: ca.SX, t0: Any, t_peak: Any, t1: Any, peak: Any) -> ca.SX:
        return peak * ca.fmax(0, ca.fmin((t - t0) / (t_peak - t0), (t1 - t) / (t1 - t_peak)))


@frozen
class Step(TimeFunction):
    """Zero before `t0`, `value` from `t0` on (at `t0` itself it is `value`).

    Parameters
    ----------
    t0 : float
        [s]
    value : float
    """

    t0: float
    value: float
    has_rate = False

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.t0,)

    def formula(self, t: ca.SX, t0: Any, value: Any) -> ca.SX:
        return value * (t >= t0)


@frozen
class Sine(TimeFunction):
    """`offset + amplitude sin(2 pi frequency t + phase)`.

    Parameters
    ----------
    amplitude : float
    frequency : float
        [Hz]
    phase : float
        [rad]
    offset : float
    """

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def formula(self, t: ca.SX, amplitude: Any, frequency: Any, phase: Any, offset: Any) -> ca.SX:
        return offset + amplitude * ca.sin(2 * np.pi * frequency * t + phase)


scipy = Late("scipy")

ORDINALS = ("value", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@frozen
class Transfer(Passage):
    """`v0` until `t0`, then to `v1` at `t1` and constant from there on, with `smoothness` continuous derivatives.

    The polynomial of degree `2 smoothness + 1` whose derivatives vanish at both ends. An output of relative degree r
    needs a smoothness of r - 1; with r the controls are continuous as well.

    Parameters
    ----------
    t0, t1 : float
        Start and end [s], in this order.
    v0, v1 : float
        Values before and after.
    smoothness : int
        Number of continuous derivatives.

    Raises
    ------
    InputError
        When `t1` is not after `t0`, or a number is out of range.
    """

    t0: float
    t1: float
    v0: float
    v1: float
    smoothness: int = 4

    def __post_init__(self):
        super().__post_init__()
        validate.integer("Transfer: smoothness", self.smoothness, minimum=1)

    @property
    def form(self) -> Hashable:
        return type(self), self.smoothness

    def formula(self, t: ca.SX, t0: Any, t1: Any, v0: Any, v1: Any) -> ca.SX:
        x, s = (clip(t, t0, t1) - t0) / (t1 - t0), self.smoothness
        total = 0
        for j in range(s, -1, -1):  # x^(s+1) sum_j C(s+j, j) C(2s+1, s-j) (-x)^j
            total = total * x + (-1) ** j * comb(s + j, j) * comb(2 * s + 1, s - j)
        return v0 + (v1 - v0) * x ** (s + 1) * total


@frozen
class Polynomial(TimeFunction):
    """`sum_j coefficients[j] (t - t0)^j`.

    Parameters
    ----------
    coefficients : array_like, shape (n,)
    t0 : float
    """

    coefficients: Converted[Vector, tuple[float, ...]]
    t0: float = 0.0

    def __post_init__(self):
        values = validate.array("Polynomial: coefficients", self.coefficients, (None,))
        if not len(values):
            raise InputError("Polynomial: at least one coefficient is needed")
        object.__setattr__(self, "coefficients", tuple(values.tolist()))
        object.__setattr__(self, "t0", validate.real("Polynomial: t0", self.t0))

    @property
    def form(self) -> Hashable:
        return type(self), len(self.coefficients)

    @property
    def parameters(self) -> np.ndarray:
        return joined(self.t0, *self.coefficients)

    def formula(self, t: ca.SX, t0: Any, *c: Any) -> ca.SX:
        total = 0
        for coefficient in reversed(c):
            total = total * (t - t0) + coefficient
        return total


@frozen
class Spline(TimeFunction):
    """Spline through values at given times, of any odd degree, with `degree - 1` continuous derivatives.

    As `Table`, for hundreds of values at most; it continues beyond the ends.

    Parameters
    ----------
    times : array_like, shape (n,)
        Increasing, more than `degree` of them [s].
    values : array_like, shape (n,)
    degree : int
        Odd; an output of relative degree r needs r + 1, or one more.
    ends : {"not-a-knot", "rest"}
        Conditions at the ends: none, or derivatives 1 to (degree - 1)/2 zero.
    """

    times: Converted[Vector, tuple[float, ...]]
    values: Converted[Vector, tuple[float, ...]]
    degree: int = 5
    ends: str = "not-a-knot"

    def __post_init__(self):
        times = validate.array("Spline: times", self.times, (None,))
        validate.integer("Spline: degree", self.degree, minimum=1)
        validate.choice("Spline: ends", self.ends, ("not-a-knot", "rest"))
        if self.degree % 2 == 0:
            raise InputError(f"Spline: degree must be odd, not {self.degree}")
        least = 2 if self.ends == "rest" else self.degree + 1
        if len(times) < least:
            raise InputError(f"Spline: degree {self.degree} needs {least} times, not {len(times)}")
        self._increasing(*times)
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "values", tuple(validate.array("Spline: values", self.values, times.shape).tolist()))

    @property
    def _pieces(self):
        """Break points, shape (n + 1,), and coefficients of the powers of t - t_i, shape (n, degree + 1)."""
        breaks, coefficients = self._through(self.values)
        return breaks, coefficients.T

    def _through(self, values):
        rest = ([(i, 0.0) for i in range(1, (self.degree - 1) // 2 + 1)],) * 2 if self.ends == "rest" else None
        spline = scipy.interpolate.make_interp_spline(self.times, values, self.degree, bc_type=rest)
        pieces = scipy.interpolate.PPoly.from_spline(spline)
        there = np.diff(pieces.x) > 0
        return np.append(pieces.x[:-1][there], pieces.x[-1]), pieces.c[::-1, there]

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(self._pieces[0].tolist())

    @property
    def form(self) -> Hashable:
        return type(self), self.degree, self.ends, len(self.times)

    @property
    def parameters(self) -> np.ndarray:
        if is_symbolic(self.times):
            raise InputError("Spline: coefficients have no formula of the times; make another Spline")
        if not is_symbolic(self.values):
            return joined(*self._pieces)
        pairs = [self._through(unit) for unit in np.eye(len(self.values))]  # in the values it is linear
        by_value = np.column_stack([coefficients.T.ravel() for _, coefficients in pairs])
        return joined(pairs[0][0], as_symbols(by_value) @ joined(*self.values))

    def formula(self, t: ca.SX, *c: Any) -> ca.SX:
        # a sum over all pieces of which one counts: so derivatives are those of a piece at the breaks, too
        n, m = len(self._pieces[1]), self.degree + 1
        breaks, total = c[:n + 1], 0
        for i in range(n):
            piece = 0
            for a in reversed(c[n + 1 + i * m:n + 1 + (i + 1) * m]):
                piece = piece * (t - breaks[i]) + a
            if i > 0:
                piece *= t >= breaks[i]
            if i < n - 1:
                piece *= t < breaks[i + 1]
            total += piece
        return total


def derivatives(function, n):
    """The CasADi symbol of the time, and the function with its first n derivatives in it, a list of SX."""
    t = ca.SX.sym("t")
    start, end = function.t_span
    bounded = np.isfinite(start) and np.isfinite(end)
    jets = [ca.SX(function.motion(t, *function.parameters.tolist()) if bounded else function(t))]
    for _ in range(n):
        jets.append(ca.cse(ca.jacobian(jets[-1], t)))
    return t, jets


def first_jump(function, n, t_span):
    """The lowest of the derivatives 0 to n that jumps inside a time span, and where: (derivative, t) or None.

    One-sided values at the kinks of the function are compared.
    """
    inside = [t for t in function.kinks if t_span[0] < t < t_span[1]]
    t, jets = derivatives(function, n)
    evaluate = ca.Function("jets", [t], [ca.densify(ca.vertcat(*jets))])
    delta = 1e-9 * (t_span[1] - t_span[0])
    points = np.concatenate([np.linspace(*t_span, 101), np.subtract(inside, delta), np.add(inside, delta)])
    values = np.array(evaluate.map(len(points))(points.reshape(1, -1)))
    if not np.all(np.isfinite(values)):
        derivative, where = np.argwhere(~np.isfinite(values))[0]
        return int(derivative), float(points[where])
    left, right = values[:, 101:101 + len(inside)], values[:, 101 + len(inside):]
    size, span = np.abs(values).max(axis=1, keepdims=True), t_span[1] - t_span[0]
    rounding = 1e-12 * np.array([max(size[j, 0] / span ** (k - j) for j in range(k + 1)) for k in range(len(size))])
    jumps = np.abs(right - left) > 1e-5 * size + rounding[:, None]
    for derivative, row in enumerate(jumps):
        if row.any():
            return derivative, float(inside[int(np.argmax(row))])
    return None


def ordinal(n):
    """ "value", "first derivative", ..., for messages."""
    if n == 0:
        return "value"
    return f"{ORDINALS[n] if n < len(ORDINALS) else f'{n}th'} derivative"
