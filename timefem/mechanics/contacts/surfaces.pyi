# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, UserFunction, Vector
from typing import Any
import numpy as np
from ..joints.nonholonomic import FormulaPart
from ..symbols import Symbols
from .geometry import Touch
from .rigid import RigidContact
from .touching import Touching


class SurfaceContact(Touching):
    body: BodyFrame
    on: BodyFrame | None
    formula: Any
    formula_parameters: np.ndarray
    point: np.ndarray
    refuses_arms: bool
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, formula: UserFunction | str | Sequence[Any], parameters: Vector = (),
                 point: Vector = (0.0, 0.0, 0.0), name: str | None = None) -> None: ...


class FormulaContact(RigidContact, FormulaPart):
    keyword_only: bool
    formula: Any
    formula_parameters: np.ndarray
    n: int
    slip_formula: Any | None
    n_slip: int
    @property
    def n_contacts(self) -> int: ...
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def gap(self, s: Symbols) -> ca.SX: ...
    def slip(self, s: Symbols) -> ca.SX: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], *, restitution: Number = 0.0, friction: Number = 0.0,
                 formula: UserFunction | str | Sequence[Any], parameters: Vector = (), n: int = 1,
                 slip: UserFunction | str | Sequence[Any] | None = None, n_slip: int = 0,
                 name: str | None = None) -> None: ...
