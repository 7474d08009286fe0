"""Contacts that give, with rebound, by complementarity."""

from __future__ import annotations

from copy import copy
from typing import Any

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ...types import UserFormula
from .complementarity import Soft, smoothed_pairs
from .options import OPTIONS


class SpringContact(Soft):
    """A spring that only pushes, with a damper for the rebound: `f = max(0, -k g - d dg/dt)`, where f is a control.

    `0 <= f/k` is complementary to `g + (d dg/dt + f)/k >= 0`. With a damper the force begins a little before the gap is
    closed, from zero. A body of mass m that hits it alone leaves with the share `e = exp(-pi z / sqrt(1 - z^2))` of its
    speed, `z = d / (2 sqrt(k m))`, after the time `pi / sqrt((1 - z^2) k / m)`: half a period of the oscillator. Give
    that time some ten elements, and eps: below `sqrt(2 eps)`, a length, forces are rounded. Where this is much less
    than the way of a step, what comes after an impact does not feel, by derivatives, that the time of the impact
    changes, and there are many local minima.

    Parameters
    ----------
    gap, force : callable, str or sequence of str
        `gap(now, u)` and `force(now, u)` -> expressions, or text, as in `Limit`, as many of one as of the other [m, N].
    stiffness : float
        k [N/m].
    restitution : float
        e, above zero; 1 without a damper.
    mass : float, optional
        m [kg], needed where e < 1: of a body before a fixed one; of two bodies `m1 m2 / (m1 + m2)`.
    eps, march, name
        As in `Complementary`.

    Raises
    ------
    InputError
    """

    type, formulas = "spring_contact", ("gap", "force")

    def __init__(self, gap: UserFormula, force: UserFormula, stiffness: float, *, restitution: float = 1.0,
                 mass: float | None = None, eps: float = 1e-4, march: bool = True, name: str | None = None) -> None:
        super().__init__(name or "contact", eps, 1.0, "controls", march)
        self.gap, self.force = self._formula("gap", gap), self._formula("force", force)
        self.stiffness = validate.real(f"{self.name}: stiffness", stiffness, positive=True)
        e = self.restitution = validate.real(f"{self.name}: restitution", restitution)
        if not 0 < e <= 1:
            raise InputError(f"{self.name}: restitution must be above 0 and at most 1, not {e:g}; contacts without "
                             'rebound are Complementary(gap, force, at="element-end")')
        self.mass = None if mass is None else validate.real(f"{self.name}: mass", mass, positive=True)
        self.damping = 0.0
        if e < 1:
            if mass is None:
                raise InputError(f"{self.name}: restitution takes mass, of the body that bounces")
            ratio = -np.log(e) / np.hypot(np.pi, np.log(e))
            self.damping = float(2 * ratio * (self.stiffness * mass)**0.5)

    def rows(self, now: Any, u: ca.SX, eps: ca.SX) -> tuple[ca.SX, ca.SX]:
        gap, force = self._pairs(now, u, "gap", "force")
        force /= self.stiffness
        return smoothed_pairs(gap + self.damping / self.stiffness * self._rate(now, u) + force, force, eps)

    def band(self, eps: float, attempt: int = 0) -> tuple[float, float]:
        return -(eps if eps > self.eps else min(eps, OPTIONS.band)), 0.0

    def stated(self, write: Any) -> dict[str, Any]:
        names = "stiffness", "restitution", "mass", "march"
        own = super().stated(write) | {name: getattr(self, name) for name in names}
        return {name: value for name, value in own.items() if name != "first" and value is not None}

    def _rate(self, now, u):
        """Rates of the gaps."""
        moving = copy(now)
        moving.t = ca.SX.sym("t")
        gap, n, system = self._values("gap", self.gap, moving, u), now.system.n_q, now.system
        rates = ca.SX.zeros(n)
        for body in system.bodies:
            if body.n_q:
                rates[system.coordinates(body)] = now.rates(body)
        rate = ca.jtimes(gap, now.z, ca.vertcat(rates, ca.SX.zeros(n))) + ca.jacobian(gap, moving.t)
        return ca.substitute(rate, moving.t, now.t)
