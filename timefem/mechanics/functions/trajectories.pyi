# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Hashable
from timefem.types import Vector
from typing import Any
import numpy as np
from ...records import frozen
from .base import TimeFunction


scipy: Any
ORDINALS: Any


@frozen
class Transfer(TimeFunction):
    t0: float
    t1: float
    v0: float
    v1: float
    smoothness: int = ...
    @property
    def kinks(self) -> tuple[float, ...]: ...
    @property
    def form(self) -> Hashable: ...
    @property
    def parameters(self) -> np.ndarray: ...
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
