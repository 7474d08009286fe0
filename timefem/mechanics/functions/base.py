"""What a function of time is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import fields
from typing import Any

import casadi as ca
import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...display import digits
from ...errors import InputError
from ..numbers.arithmetic import joined


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
