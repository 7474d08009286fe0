"""What a function of time is, and those with a few numbers: constants, ramps, pulses, steps, oscillations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import fields
from typing import Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments
from ...records import frozen
from ..numbers.arguments import joined


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


@frozen
class Ramp(TimeFunction):
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
        for name in ("t0", "t1", "v0", "v1"):
            object.__setattr__(self, name, validate.real(f"Ramp: {name}", getattr(self, name)))
        validate.choice("Ramp: kind", self.kind, ("linear", "smooth"))
        self._increasing(self.t0, self.t1)

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.t0, self.t1

    @property
    def has_rate(self) -> bool:
        return self.kind == "smooth"

    @property
    def form(self) -> Hashable:
        return type(self), self.kind

    @property
    def parameters(self) -> np.ndarray:
        return joined(self.t0, self.t1, self.v0, self.v1)

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
