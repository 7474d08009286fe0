# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Hashable, Sequence
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Expression, Floats, UserFunction, Vector
from typing import Any
import numpy as np
from ..declared import Field
from ..part import Body, Part
from ..symbols import Symbols
from .states import CanonicalState, Coordinates


formula_force: Any


class FirstOrder(Body):
    n: int
    dimension: int
    @property
    def n_q(self) -> int: ...
    @property
    def n_increments(self) -> int: ...
    @property
    def first_order(self) -> tuple[int, ...]: ...
    @property
    def mass_scale(self) -> np.ndarray: ...
    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression: ...
    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression: ...
    def rigid_motion(self, q: ca.SX) -> ca.SX: ...
    def state(self, value: Coordinates | CanonicalState | Sequence[float] | float,
              t: float = 0.0) -> tuple[np.ndarray, np.ndarray]: ...
    def mass_matrix(self, q: Floats) -> np.ndarray: ...
    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray: ...
    angular_momentum: Any
    def __init__(self, n: int = 1, name: str | None = None) -> None: ...


class _Given(Field):
    in_files: bool
    in_descriptions: bool


class State(FirstOrder):
    name: str | None
    rate: Any | None
    n: int | None
    seen: Any
    seen: Any
    acting: Any
    acting: Any
    rate_parameters: Any
    rate_parameters: Any
    keyword_only: Any
    has_rate: bool
    @property
    def members(self) -> tuple[Part, ...]: ...
    @property
    def kind(self) -> Hashable: ...
    def velocity(self, q: Floats, p: Floats) -> np.ndarray: ...
    def __init__(self, name: str | None = None, rate: UserFunction | str | Sequence[str] | None = None,
                 n: int | None = None, *, bodies: BodyFrame | Sequence[BodyFrame] = (),
                 controls: Part | Sequence[Part] = (), parameters: Vector = ()) -> None: ...


class PortSystem(FirstOrder):
    n: int
    stored: Any
    flow: Any
    formula_parameters: np.ndarray
    is_port: bool
    @property
    def kind(self) -> Hashable: ...
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def stored_in(self, x: ca.SX, c: ca.SX) -> ca.SX: ...
    def potential_energy(self, s: Symbols) -> Expression: ...
    def effort(self, x: ca.SX, c: ca.SX) -> ca.SX: ...
    def effort_by_state(self, q: np.ndarray) -> np.ndarray: ...
    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def velocity(self, q: Floats, p: Floats) -> np.ndarray: ...
    def __init__(self, n: int, stored: UserFunction | str | Sequence[Any], flow: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), name: str | None = None) -> None: ...
