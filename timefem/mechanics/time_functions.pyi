# made by tools/stubs.py: change the module

import casadi as ca
from abc import ABC, abstractmethod
from collections.abc import Hashable
from timefem.types import Vector
from typing import Any, ClassVar
import numpy as np
from ..errors import NamedArguments
from ..records import frozen


scipy: Any
ORDINALS: Any


class TimeFunction(NamedArguments, ABC):
    kinks: Any
    has_rate: bool
    t_span: Any
    @property
    def parameters(self) -> np.ndarray: ...
    @property
    def form(self) -> Hashable: ...
    @abstractmethod
    def formula(self, t: ca.SX, *c: Any) -> ca.SX: ...
    def motion(self, t: ca.SX, *c: Any) -> ca.SX: ...
    def __call__(self, t: Any) -> Any: ...


@frozen
class Constant(TimeFunction):
    value: float
    def formula(self, t: ca.SX, value: Any) -> ca.SX: ...


class Passage(TimeFunction):
    @property
    def kinks(self) -> tuple[float, ...]: ...
    @property
    def parameters(self) -> np.ndarray: ...


@frozen
class Ramp(Passage):
    t0: float
    t1: float
    v0: float
    v1: float
    kind: str = ...
    @property
    def has_rate(self) -> bool: ...
    @property
    def form(self) -> Hashable: ...
    def formula(self, t: ca.SX, t0: Any, t1: Any, v0: Any, v1: Any) -> ca.SX: ...


@frozen
class TrianglePulse(TimeFunction):
    t0: float
    t_peak: float
    t1: float
    peak: float
    has_rate: ClassVar[bool]
    @property
    def kinks(self) -> tuple[float, ...]: ...
    def formula(self, t: ca.SX, t0: Any, t_peak: Any, t1: Any, peak: Any) -> ca.SX: ...


@frozen
class Step(TimeFunction):
    t0: float
    value: float
    has_rate: ClassVar[bool]
    @property
    def kinks(self) -> tuple[float, ...]: ...
    def formula(self, t: ca.SX, t0: Any, value: Any) -> ca.SX: ...


@frozen
class Sine(TimeFunction):
    amplitude: float
    frequency: float
    phase: float = ...
    offset: float = ...
    def formula(self, t: ca.SX, amplitude: Any, frequency: Any, phase: Any, offset: Any) -> ca.SX: ...


@frozen
class Transfer(Passage):
    t0: float
    t1: float
    v0: float
    v1: float
    smoothness: int = ...
    @property
    def form(self) -> Hashable: ...
    def formula(self, t: ca.SX, t0: Any, t1: Any, v0: Any, v1: Any) -> ca.SX: ...


@frozen
class Polynomial(TimeFunction):
    coefficients: tuple[float, ...]
    t0: float = ...
    @property
    def form(self) -> Hashable: ...
    @property
    def parameters(self) -> np.ndarray: ...
    def formula(self, t: ca.SX, t0: Any, *c: Any) -> ca.SX: ...
    def __init__(self, coefficients: Vector, t0: float = 0.0) -> None: ...


@frozen
class Spline(TimeFunction):
    times: tuple[float, ...]
    values: tuple[float, ...]
    degree: int = ...
    ends: str = ...
    @property
    def kinks(self) -> tuple[float, ...]: ...
    @property
    def form(self) -> Hashable: ...
    @property
    def parameters(self) -> np.ndarray: ...
    def formula(self, t: ca.SX, *c: Any) -> ca.SX: ...
    def __init__(self, times: Vector, values: Vector, degree: int = 5, ends: str = 'not-a-knot') -> None: ...
