"""DIR_EM: the director-based energy-momentum scheme, in Betsch & Siebert (2009), Sect. 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from .emh import EMH

if TYPE_CHECKING:
    from ...mechanics.system import System


@dataclass(frozen=True)
class DirEM(EMH):
    """EMH on bodies in directors: DIR_EM of Betsch & Siebert; order 2. Conserves energy and angular momentum."""

    name = "dir-em"

    def check(self, system: System) -> None:
        super().check(system)
        for body in system.bodies:
            if getattr(body, "rotation", None) == "quaternion":
                raise InputError(f"{self.name} takes directors, and {system.label(body)} is in quaternions; use EMH(), "
                                 "or RigidBody(..., rotation='directors')")
