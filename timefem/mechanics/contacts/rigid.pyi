# made by tools/stubs.py: change the module

import casadi as ca
from abc import abstractmethod
from timefem.types import Number
from ..part import Part
from ..symbols import Symbols
from ..system import System


def refuse_rigid_contacts(system: System, what: str) -> None: ...


class RigidContact(Part):
    restitution: float
    friction: float
    n_contacts: int
    n_slip: int
    persistent: bool
    made_soft_by: str
    @property
    def contact_names(self) -> tuple[str, ...]: ...
    @abstractmethod
    def gap(self, s: Symbols) -> ca.SX: ...
    def slip(self, s: Symbols) -> ca.SX: ...
    def contact_frames(self, s: Symbols) -> ca.SX: ...
    def load(self, s: Symbols) -> ca.SX: ...
    def restitutions(self, s: Symbols) -> ca.SX: ...
    def frictions(self, s: Symbols) -> ca.SX: ...
    def __init__(self, restitution: Number = 0.0, friction: Number = 0.0, name: str | None = None) -> None: ...
