"""Functions of time given by formulas, and what users may give instead of a function of time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ..formulas.formula import Same, call, check_symbols
from ..formulas.text import TextFormula, as_formula, text_of
from .base import TimeFunction
from .elementary import Constant


@dataclass(frozen=True, eq=False)
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
        Times [s] where it is not smooth.
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
        object.__setattr__(self, "kinks", tuple(validate.array("kinks", self.kinks, (None,)).tolist()))
        t = ca.SX.sym("t")
        check_symbols("a function of time", self.formula(t), t)

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
