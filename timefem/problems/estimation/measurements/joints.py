"""Encoders and tachometers of joints, reactions, and formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from .... import validate
from ....errors import InputError
from ....mechanics.formulas.formula import call, call_vector
from ....mechanics.formulas.text import as_formula
from ....types import UserFormula
from ..loads import Moment
from .base import Sensor


@dataclass(eq=False, repr=False)
class JointSensor(Sensor):
    """A coordinate of a joint [rad or m], or its rate; angles are compared without counting turns.

    Parameters
    ----------
    joint : Joint or str
    coordinate : str, optional
        Which one, where it has several; the first unless given.
    rate : bool
        Whether the rate is measured [rad/s or m/s].
    """

    joint: Any
    coordinate: str | None = None
    rate: bool = False

    word: ClassVar[str] = "sensor of joint"
    on: ClassVar[str] = "joint"
    refers: ClassVar[tuple[str, ...]] = ("joint",)
    n: ClassVar[int] = 1

    def _check_own(self):
        self.rate = validate.flag(f"{self.title}: rate", self.rate)

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        return now.joint_rate(self.joint, self.coordinate) if self.rate else now.joint(self.joint, self.coordinate)

    def residual(self, now: Moment, c: dict[str, ca.SX], y: ca.SX) -> ca.SX:
        if self.rate:
            return super().residual(now, c, y)
        scale, bias = self.number("scale", c), self.number("bias", c)
        scale = 1.0 if scale is None else scale
        return -scale * now.joint_deviation(self.joint, self.coordinate, (y - (0 if bias is None else bias)) / scale)


@dataclass(eq=False, repr=False)
class ReactionSensor(Sensor):
    """Force [N] and torque [N m] that a joint exerts on a body, in space axes, the torque about the centre of mass.

    Parameters
    ----------
    joint : Joint or str
    body : Body or str, optional
        Of the joint; its first one unless given.
    components : str
        "force", "torque" or "both".
    """

    joint: Any
    body: Any = None
    components: str = "force"

    word: ClassVar[str] = "reaction of"
    on: ClassVar[str] = "joint"
    refers: ClassVar[tuple[str, ...]] = ("joint", "body")

    def _check_own(self):
        validate.choice(f"{self.title}: components", self.components, ("force", "torque", "both"))

    @property
    def n(self) -> int:
        return 6 if self.components == "both" else 3

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        found = now.reaction(self.joint, self.body)
        return {"force": found[:3], "torque": found[3:], "both": found}[self.components]


@dataclass(eq=False, repr=False)
class FormulaSensor(Sensor):
    """Numbers by a formula of the motion.

    Parameters
    ----------
    formula : callable, str or sequence of str
        `formula(now)` -> expressions in CasADi symbols, or such a formula as text; `now` offers what that of a `Limit`
        does, and `acceleration(body, point)`, `angular_acceleration(body, frame)` and `reaction(joint, body)`, such as
        `"now.energy()"` or `"now.control('motor')[0]"`.
    n : int
        How many numbers it gives.
    """

    formula: UserFormula
    n: int = 1

    word: ClassVar[str] = "formula"
    on: ClassVar[str] = "name"
    refers: ClassVar[tuple[str, ...]] = ()

    def _check_own(self):
        self.n = validate.integer(f"{self.title}: n", self.n, minimum=1)
        self.formula = as_formula(f"{self.title}: formula", self.formula, ["now"])

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        value = call("formula", self.formula, 1, now) if self.n == 1 else \
            ca.SX(call_vector("formula", self.formula, now))
        if value.numel() != self.n:
            raise InputError(f"it gives {value.numel()} numbers, but n is {self.n}")
        return value
