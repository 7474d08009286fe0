"""Functions of time by a formula, and through values of a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .. import validate
from ..errors import InputError
from ..memory import Late
from ..records import frozen
from ..types import Converted, Vector
from .formulas.formula import Same, call, check_symbols, linear_zeros, switches_in
from .formulas.text import TextFormula, as_formula, text_of
from .numbers.arguments import is_symbolic, joined
from .time_functions import Constant, TimeFunction, clip
from .values.evaluate import evaluate
from .values.quantities import formulas_of

if TYPE_CHECKING:
    import casadi as ca


@frozen(eq=False)
class Formula(TimeFunction):
    """A function given in CasADi symbols, for instance `lambda t: casadi.sin(t**2)`; a callable is taken as this.

    Functions that state the same share a kernel, and each new formula is compiled: numbers that vary belong into the
    other functions of this module. It stays what it is when it is given, whatever becomes of outer variables.

    Parameters
    ----------
    function : callable or str
        Of the CasADi symbol of the time, or text: `"sin(t**2)"`. A function that needs numbers can be made a
        `Table.sample`.
    kinks : array_like, shape (n,)
        Times [s] where it is not smooth, besides those that the formula shows: where `t - 0.5` or the like changes its
        sign in a comparison, `fabs`, `fmin`, `fmax` or `sign`.
    n, component : int
        The function returns `n` values, of which this is number `component`.
    """

    function: Callable[[Any], Any] | str
    kinks: Sequence[float] = ()
    n: int = 1
    component: int = 0

    def __post_init__(self):
        if isinstance(self.function, str | list | tuple) or callable(self.function):
            object.__setattr__(self, "function", as_formula("a function of time", self.function, ["t"]))
        given, t = validate.array("kinks", self.kinks, (None,)).tolist(), ca.SX.sym("t")
        value = self.formula(t)
        check_symbols("a function of time", value, t)
        object.__setattr__(self, "kinks", tuple(sorted({*given, *_switches(value, t)})))

    @property
    def parameters(self) -> np.ndarray:
        return np.zeros(0)

    @property
    def form(self) -> Hashable:
        return type(self), Same(self.function, self._stated, self.n), self.n, self.component

    def _stated(self):
        t = ca.SX.sym("t")
        return ca.Function("f", [t], [call("a function of time", self.function, self.n, t)])

    def formula(self, t: ca.SX) -> ca.SX:
        return call("a function of time", self.function, self.n, t)[self.component]

    @property
    def text(self) -> str:
        """The formula as text, for files."""
        if isinstance(self.function, TextFormula):
            return self.function.text
        t = ca.SX.sym("t")
        values = ca.vertsplit(call("a function of time", self.function, self.n, t))
        return text_of("a function of time", values, {"t": t})


def _switches(value, t):
    """Times at which what a formula compares, or takes the magnitude of, changes its sign, where it is linear in t."""
    none = ca.SX(0, 1)
    function = ca.Function("f", [none, t, none], [ca.densify(value)])
    return linear_zeros(switches_in(function, timed=False), [np.zeros(0)])


def as_time_function(name, value):
    """A `TimeFunction` as it is, a number as `Constant`, a callable or a text as `Formula`.

    Raises
    ------
    InputError
        For anything else, and for functions that do not take or return CasADi symbols.
    """
    if isinstance(value, TimeFunction):
        return value
    if not callable(value) and not isinstance(value, str):
        return Constant(validate.real(name, value))
    try:
        return Formula(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def as_vector_function(name, value):
    """Three time functions: of three numbers or time functions, or of one callable that returns three values."""
    if (callable(value) or isinstance(value, str)) and not isinstance(value, TimeFunction):
        try:
            return tuple(Formula(value, n=3, component=i) for i in range(3))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if isinstance(value, TimeFunction) or not np.iterable(value) or len(value) != 3:
        raise InputError(f"{name} must be three numbers or functions of time, or a function that returns three values, "
                         f"not {value!r}")
    return tuple(as_time_function(name, v) for v in value)


# ---- Loads and prescribed motions that grow without bound at a time, so that no integral of them exists

N_TIMES = 512  # at which each part is looked at first
OUTSTANDING = 20.0  # times the median, of values that are looked at closer
MOST = 4  # largest values that are looked at
NEAR, FAR = 1e-9, 1e-5  # distances, as parts of the time span, between which the growth is measured
POWER = 0.8  # of 1/distance, from which on it is taken for 1: integrals are finite below 1


def check_integrable(system, t_span, z):
    """Refuse parts whose force or constraint grows like 1/|t - t*| or faster within a time span, at the state z.

    Quadrature never meets t*, and gives a finite number that depends on the mesh.

    Raises
    ------
    InputError
        Names the part, the time, and the power.
    """
    start, end = t_span
    t = start + (end - start) * (np.arange(N_TIMES) + 0.5) / N_TIMES
    for group in system.groups:
        formulas = formulas_of(group.part)
        if not formulas.depends_on_time:
            continue
        function, index = formulas.whole("sizes"), group.state_index
        local = z[index]
        if formulas.solved:
            local = np.hstack([local, system.velocity(start, z)[index[:, :index.shape[1] // 2]]])

        def values(t, parts, group=group, function=function, local=local):
            with np.errstate(over="ignore"):
                return evaluate(function, np.tile(local[parts], (len(t), 1, 1)), t, group.parameters[parts])[..., 0]

        first = values(t, slice(None))
        for i, part in enumerate(group.members):
            for place in _outstanding(first[:, i]):
                time, power = _growth(lambda t, i=i: values(t, [i])[:, 0], t_span, t[place])
                if power >= POWER:
                    raise InputError(f"{system.label(part)} grows without bound at t = {time:.6g}, like "
                                     f"1/|t - {time:.6g}|^{power:.2g}: it has no integral; bound it, or let the time "
                                     "span end before")


def _outstanding(values):
    """Places of the largest values, those that are not finite first."""
    finite = np.isfinite(values)
    if not finite.any():
        return []
    size = np.where(finite, values, np.inf)
    inside = np.concatenate([[0.0], size, [0.0]])
    peaks = np.flatnonzero((size >= inside[:-2]) & (size >= inside[2:]) & (size > OUTSTANDING * np.median(size)))
    return peaks[np.argsort(-size[peaks], kind="stable")][:MOST]


def _growth(function, t_span, t):
    """Place of the largest value around a time, and the power of 1/distance with which values grow there."""
    start, end = t_span
    step = (end - start) / N_TIMES
    near = max(NEAR * (end - start), 1e5 * np.spacing(max(abs(start), abs(end))))
    while step > 1e-4 * near:
        times = np.clip(t + step * np.linspace(-1, 1, 33), start, end)
        values = function(times)
        t, step = times[np.argmax(np.where(np.isfinite(values), values, np.inf))], step / 8
    sizes = []
    for distance in (near, near * FAR / NEAR):
        times = t + distance * np.array([-1.0, 1.0])
        values = function(times[(times >= start) & (times <= end)])
        sizes.append(values[np.isfinite(values)].max(initial=0.0))
    return t, np.log(sizes[0] / sizes[1]) / np.log(FAR / NEAR) if min(sizes) > 0 else 0.0


scipy = Late("scipy")


@frozen
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
        times, values = joined(self.times), joined(self.values)
        if self.kind == "linear":
            coefficients = (values[1:] - values[:-1]) / (times[1:] - times[:-1])
        elif is_symbolic(times, values):
            coefficients = _pieces(self.times, self.values)
        else:
            coefficients = scipy.interpolate.CubicSpline(times, values).c[2::-1].T.ravel()
        return joined(values[:1], times, coefficients)

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


def _pieces(times, values):
    """Coefficients of the powers of t - t_i from the first one on, of each interval of a cubic: for expressions."""
    steps = [b - a for a, b in pairwise(times)]
    slopes = [(b - a) / h for (a, b), h in zip(pairwise(values), steps, strict=True)]
    rates = _rates(steps, slopes)
    return [x for (a, b), slope, h in zip(pairwise(rates), slopes, steps, strict=True)
            for x in (a, (3 * slope - 2 * a - b) / h, (a + b - 2 * slope) / h**2)]


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
