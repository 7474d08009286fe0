"""The third-order scheme of Zupan & Zupan (2017): TR-BDF2 on velocities in body axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from .body_axes import BodyAxesScheme

TAU, W = 2 - np.sqrt(2), np.sqrt(2) / 4
THIRD = (1 - W) / 3, (3 * W + 1) / 3, TAU / 6  # last row of the Butcher array (9), misprinted there


@dataclass(frozen=True)
class Zupan3(BodyAxesScheme):
    """Third-order scheme of Zupan & Zupan for rigid bodies in quaternions; order 3.

    A trapezoidal stage to t0 + tau h, a BDF2 stage to t1, both of order 2, and an explicit update of order 3. The
    difference of the last two is an estimate of the local error. Two things are corrected against the paper, which is
    `Zupan3Printed`: the factor in (20) is 1/24, and the angular velocities take the last update too.

    Notes
    -----
    For vibrations that are resolved, h w < 0.5: without damping the last update lets those of frequency w grow by
    (h w)^4/77 in each step. For stiff beams and ropes take `Zupan3Printed`, which is stable, or a Galerkin element.
    """

    name = "zupan3"
    remedy = "vibrations that are not resolved grow with Zupan3: take Zupan3Printed(), or a Galerkin element"
    order = 3
    embedded_order = 2
    extra = (("start", "increments"), ("stage", "increments"), ("end", "increments"), ("error", "state"),
             ("start pull", "joints"), ("stage pull", "joints"), ("stage place", "coordinates"),
             ("end place", "coordinates"))
    correction = 1 / 24
    updates_velocity = True

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        h, q0, w0 = s.h, s.q0, s.w0
        a0, a_tau, a1, q_tau, q1 = (s.slots[name, "value"] for name in ("start", "stage", "end", "stage place",
                                                                        "end place"))
        w_tau = w0 + TAU * h / 2 * (a0 + a_tau)
        w1 = w0 + h * (W * (a0 + a_tau) + TAU / 2 * a1)
        places = (s.inertia(q_tau - s.turned(q0, TAU * h / 2 * (w0 + w_tau))),
                  s.inertia(q1 - s.turned(q0, h * (W * (w0 + w_tau) + TAU / 2 * w1))))
        pulls = s.slots["start pull", "value"], s.slots["stage pull", "value"], s.multipliers
        stages = (q0, w0, a0, s.t0), (q_tau, w_tau, a_tau, s.t0 + TAU * h), (q1, w1, a1, s.t1)
        balances = [s.balance(*stage, pull) for stage, pull in zip(stages, pulls, strict=True)]
        held = [s.acceleration(*stage) for stage in stages]

        turning = s.commutator(w0, TAU**2 * w1 - w_tau) * (2 * h**2 * self.correction / (TAU * (TAU - 1)))
        q3 = s.turned(q0, h * combined(w0, w_tau, w1) + turning)
        w3 = w0 + h * combined(a0, a_tau, a1) if self.updates_velocity else w1
        third, second = (ca.vertcat(q, s.momentum(q, w)) for q, w in ((q3, w3), (q1, w1)))
        state = s.inertia(ca.vertcat(s.q1, s.p1) - third)
        error = s.inertia(s.slots["error", "value"] - (third - second))
        return state, held[2], *balances, error, *held[:2], *places


def combined(*values):
    """The last row of the Butcher array (9)."""
    return sum(b * v for b, v in zip(THIRD, values, strict=True))


@dataclass(frozen=True)
class Zupan3Printed(Zupan3):
    """The scheme of Zupan & Zupan as printed, which is of order 2; stable for stiff beams and ropes.

    Strains of beams and ropes follow the velocities, which have order 2: the last update leaves them as they are at the
    end of the second stage, as velocity-based beams do. From then on they differ from those of the
    coordinates, by the field "strains".
    """

    name = "zupan3-printed"
    remedy = ""
    order = 2
    correction = 1 / 48
    updates_velocity = False
    carried = ("strains",)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return *super().density(s), s.carried(s.q1, s.slots["end place", "value"])
