# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Expression, UserFunction, Vector
from typing import Any
import numpy as np
from ..contacts.reacting import ReactionForce
from ..declared import Field
from ..joints.nonholonomic import FormulaPart
from ..part import Part
from ..symbols import Symbols
from .actuators import Actuator


class FormulaEnergy(FormulaPart):
    table: str
    formula: Any
    formula_parameters: np.ndarray
    n_lift: int
    lift_formula: Any | None
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def energy(self, s: Symbols) -> Expression: ...
    def lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), n_lift: int = 0, lift: UserFunction | str | Sequence[Any] | None = None,
                 name: str | None = None) -> None: ...


class Actuators(Field):
    refers: bool
    kind_of_value: str
    schema_type: str
    given_as: str
    kept_as: str


class FormulaForce(ReactionForce, FormulaPart, Actuator):
    table: str
    formula: Any
    formula_parameters: np.ndarray
    n_controls: int
    acting: tuple[Part, ...] | None
    reactions_of: tuple[Part, ...] | None
    @property
    def controls(self) -> tuple[Part, ...]: ...
    @property
    def n_seen(self) -> int: ...
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def whole_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), n_controls: int = 0, controls: Part | Sequence[Part] | None = (),
                 reactions: Part | Sequence[Part] | None = (), name: str | None = None) -> None: ...


class StateRate(FormulaForce):
    formula: Any
    formula_parameters: np.ndarray
    n_controls: int
    reactions_of: Any
    acting: tuple[Part, ...] | None
    def workless_motions(self) -> np.ndarray: ...
    def change(self, t0: float, t1: float, n_points: int = 16) -> np.ndarray: ...
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), controls: Part | Sequence[Part] | None = (),
                 name: str | None = None) -> None: ...


def rate_of(state: Any) -> StateRate: ...
