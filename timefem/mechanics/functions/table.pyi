# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from timefem.types import Vector
from typing import Any
import numpy as np
from .base import TimeFunction


scipy: Any


@dataclass(frozen=True)
class Table(TimeFunction):
    times: tuple[float, ...]
    values: tuple[float, ...]
    kind: str = ...
    @classmethod
    def sample(cls, function: Callable[[float], float], times: Vector, kind: str = 'cubic') -> Table: ...
    @property
    def kinks(self) -> tuple[float, ...]: ...
    @property
    def has_rate(self) -> bool: ...
    @property
    def t_span(self) -> tuple[float, float]: ...
    @property
    def form(self) -> Hashable: ...
    @property
    def parameters(self) -> np.ndarray: ...
    def formula(self, t: ca.SX, *c: Any) -> ca.SX: ...
    def motion(self, t: ca.SX, value: Any, *c: Any) -> ca.SX: ...
    def __init__(self, times: Vector, values: Vector, kind: str = 'linear') -> None: ...
