"""Functions of time for loads, as value objects: usable in CasADi symbols and in NumPy.

Their numbers enter kernels as parameters, so that loads which differ only in numbers share a kernel.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import validate
from ..errors import InputError
from .formula import Same, call, check_symbols


class TimeFunction(ABC):
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
    def parameters(self):
        return np.array([getattr(self, f.name) for f in fields(self)])

    @property
    def form(self):
        return type(self)

    @abstractmethod
    def formula(self, t, *c):
        """Value in CasADi symbols of the time and the parameters."""

    def motion(self, t, *c):
        """As `formula`, with a derivative at the ends of `t_span` too."""
        return self.formula(t, *c)

    def __call__(self, t):
        import casadi as ca

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
            raise InputError(f"{type(self).__name__}: times must increase, not {', '.join(f'{t:g}' for t in times)}")


@dataclass(frozen=True)
class Constant(TimeFunction):
    """The same value at all times; a plain number is taken as this."""

    value: float

    def formula(self, t, value):
        return value


@dataclass(frozen=True)
class Ramp(TimeFunction):
    """`v0` until `t0`, then up or down to `v1` at `t1`, and constant from there on.

    With `kind="linear"` the rate is constant in between; with "smooth" it starts and ends at zero, and so does its
    rate, `v0 + (v1 - v0) (10 x^3 - 15 x^4 + 6 x^5)`, x from 0 to 1.
    """

    t0: float
    t1: float
    v0: float
    v1: float
    kind: str = "linear"

    def __post_init__(self):
        for name in ("t0", "t1", "v0", "v1"):
            object.__setattr__(self, name, validate.real(f"Ramp: {name}", getattr(self, name)))
        validate.choice("Ramp: kind", self.kind, ("linear", "smooth"))
        self._increasing(self.t0, self.t1)

    @property
    def kinks(self):
        return self.t0, self.t1

    @property
    def has_rate(self):
        return self.kind == "smooth"

    @property
    def form(self):
        return type(self), self.kind

    @property
    def parameters(self):
        return np.array([self.t0, self.t1, self.v0, self.v1])

    def formula(self, t, t0, t1, v0, v1):
        if self.kind == "linear":
            return v0 + (v1 - v0) / (t1 - t0) * (_clip(t, t0, t1) - t0)
        x = (_clip(t, t0, t1) - t0) / (t1 - t0)
        return v0 + (v1 - v0) * x**3 * (10 - 15 * x + 6 * x**2)


@dataclass(frozen=True)
class TrianglePulse(TimeFunction):
    """Zero, from `t0` up to `peak` at `t_peak`, and down to zero at `t1`, each linear."""

    t0: float
    t_peak: float
    t1: float
    peak: float
    has_rate = False

    def __post_init__(self):
        super().__post_init__()
        self._increasing(self.t0, self.t_peak, self.t1)

    @property
    def kinks(self):
        return self.t0, self.t_peak, self.t1

    def formula(self, t, t0, t_peak, t1, peak):
        import casadi as ca

        return peak * ca.fmax(0, ca.fmin((t - t0) / (t_peak - t0), (t1 - t) / (t1 - t_peak)))


@dataclass(frozen=True)
class Step(TimeFunction):
    """Zero before `t0`, `value` from `t0` on (at `t0` itself it is `value`)."""

    t0: float
    value: float
    has_rate = False

    @property
    def kinks(self):
        return (self.t0,)

    def formula(self, t, t0, value):
        return value * (t >= t0)


@dataclass(frozen=True)
class Sine(TimeFunction):
    """`offset + amplitude sin(2 pi frequency t + phase)`, frequency in Hz, phase in rad."""

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def formula(self, t, amplitude, frequency, phase, offset):
        import casadi as ca

        return offset + amplitude * ca.sin(2 * np.pi * frequency * t + phase)


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

    times: Any
    values: Any
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
    def sample(cls, function, times, kind="cubic"):
        """Table of a Python function that takes numbers only, at given times."""
        times = validate.array("Table: times", times, (None,))
        return cls(times, [function(t) for t in times], kind)

    @property
    def kinks(self):
        return self.times

    @property
    def has_rate(self):
        return self.kind == "cubic"

    @property
    def t_span(self):
        return self.times[0], self.times[-1]

    @property
    def form(self):
        return type(self), self.kind, len(self.times)

    @property
    def _degree(self):
        return 1 if self.kind == "linear" else 3

    @property
    def parameters(self):
        """First value, times, and coefficients of the powers of t - t_i, interval by interval."""
        if self.kind == "linear":
            coefficients = np.diff(self.values) / np.diff(self.times)
        else:
            from scipy.interpolate import CubicSpline

            coefficients = CubicSpline(self.times, self.values).c[2::-1].T.ravel()
        return np.concatenate([self.values[:1], self.times, coefficients])

    def formula(self, t, *c):
        return self.motion(_clip(t, c[1], c[len(self.times)]), *c)

    def motion(self, t, value, *c):
        # A sum of increments instead of a choice of the interval: the same for every t, as SIMD wants it
        n, degree = len(self.times), self._degree
        for i in range(n - 1):
            x = t if i == 0 else _max(t, c[i])
            x = (x if i == n - 2 else _min(x, c[i + 1])) - c[i]
            a = c[n + i * degree:n + (i + 1) * degree]
            value += x * (a[0] if degree == 1 else a[0] + x * (a[1] + x * a[2]))
        return value


@dataclass(frozen=True, eq=False)
class Formula(TimeFunction):
    """A function given in CasADi symbols, for instance `lambda t: casadi.sin(t**2)`; a callable is taken as this.

    Functions that are the very same object share a kernel, and each new one is compiled: numbers that vary belong into
    the other functions of this module. It must give the same expression each time it is called.

    Parameters
    ----------
    function : callable
        Of the CasADi symbol of the time. A function that needs numbers can be made a `Table.sample`.
    kinks : array_like, shape (n,)
        Times [s] where it is not smooth.
    n, component : int
        The function returns `n` values, of which this is number `component`.
    """

    function: Any
    kinks: Any = ()
    n: int = 1
    component: int = 0

    def __post_init__(self):
        import casadi as ca

        object.__setattr__(self, "kinks", tuple(validate.array("kinks", self.kinks, (None,)).tolist()))
        t = ca.SX.sym("t")
        check_symbols("a function of time", self.formula(t), t)

    @property
    def parameters(self):
        return np.zeros(0)

    @property
    def form(self):
        return type(self), Same(self.function), self.n, self.component

    def formula(self, t):
        return call("a function of time", self.function, self.n, t)[self.component]


def as_time_function(name, value):
    """A `TimeFunction` as it is, a number as `Constant`, a callable as `Formula`.

    Raises
    ------
    InputError
        For anything else, and for functions that do not take or return CasADi symbols.
    """
    if isinstance(value, TimeFunction):
        return value
    if not callable(value):
        return Constant(validate.real(name, value))
    try:
        return Formula(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def as_vector_function(name, value):
    """Three time functions: of three numbers or time functions, or of one callable that returns three values."""
    if callable(value) and not isinstance(value, TimeFunction):
        try:
            return tuple(Formula(value, n=3, component=i) for i in range(3))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if isinstance(value, TimeFunction) or not np.iterable(value) or isinstance(value, str) or len(value) != 3:
        raise InputError(f"{name} must be three numbers or functions of time, or a function that returns three values, "
                         f"not {value!r}")
    return tuple(as_time_function(name, v) for v in value)


def _clip(t, low, high):
    return _min(_max(t, low), high)


def _min(x, y):
    import casadi as ca

    return ca.fmin(x, y)


def _max(x, y):
    import casadi as ca

    return ca.fmax(x, y)
