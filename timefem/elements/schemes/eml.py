"""EML, the Livens energy-momentum scheme of Kinon & Betsch (2024), REML, which is it reduced, and Null-EML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..discrete_gradient import MassMetric, discrete_gradient, gradient_at, transposed_product
from ..one_step import NullSpaceStep, OneStep


@dataclass(frozen=True)
class EML(OneStep):
    """Livens energy-momentum scheme, Kinon & Betsch (72), (86); order 2.

    Independent positions, velocities and momenta, so that singular and varying mass matrices are allowed. Conserves the
    generalized energy `p.v - T(q, v) + V` and the angular momentum; constraints hold at the nodes.

    Notes
    -----
    The velocities follow `v1 = 2 (q1 - q0)/h - v0`. The part of v that the mass matrix does not see (along a
    quaternion) then alternates from step to step, and no energy bounds it. In long runs of fast bodies in quaternions
    it grows (by a factor e in 3 to 6 s at |Omega| = 30/s with h = 0.005 s and 0.0025 s) until it spoils the motion. The
    generalized energy stays exact, but `Solution.energy` departs from it: this is the sign to look for. In the end
    Newton does not converge; REML and Null-EML last longer. Bodies in directors, MPL and EMH have no such part.
    """

    name = "eml"
    has_velocity = True
    needs_inverse_mass = False

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        by_q, by_v = kinetic_derivatives(s, s.q1, s.v1)
        balance = s.inertia((s.p0 - s.p1) * s.per_h + by_q) + s.force(s.q0, s.q1, s.vm)
        kinematics = s.inertia(s.per_h * (s.q1 - s.q0) - s.vm)
        fiber = s.inertia(by_v - s.pm)
        return ca.vertcat(balance, kinematics), s.constraints(s.q1, s.t1), fiber


def kinetic_derivatives(s, q1, v1):
    """Discrete derivatives of T(q, v) by q and by v, from the start of the step to `q1, v1`.

    In the invariant velocities of the body (87) where it has them, partitioned (129) to (131) otherwise.
    """
    if not s.is_body:
        return ca.SX.zeros(q1.numel()), ca.SX.zeros(q1.numel())
    body, c, q0, v0 = s.body, s.parameters, s.q0, s.v0
    qm, vm = (q0 + q1) / 2, (v0 + v1) / 2
    start, end = body.invariant_velocity(q0, v0), body.invariant_velocity(q1, v1)
    if start is None:
        along = MassMetric(body, s.at_point, s.split)
        by_q = sum(discrete_gradient(lambda q, v=v: body.kinetic_of_velocity(q, v, c), q0, q1, along)
                   for v in (v0, v1)) / 2
        by_v = sum(discrete_gradient(lambda v, q=q: body.kinetic_of_velocity(q, v, c), v0, v1) for q in (q0, q1)) / 2
        return by_q, by_v
    momentum = gradient_at(lambda w: body.kinetic_of_invariants(w, c), (start + end) / 2)
    return (transposed_product(lambda q: body.invariant_velocity(q, vm), qm, momentum),
            transposed_product(lambda v: body.invariant_velocity(qm, v), vm, momentum))


@dataclass(frozen=True)
class REML(EML):
    """EML with the velocities (101) and momenta (102) eliminated: Newton sees positions and multipliers only (103)."""

    name = "reml"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        v1 = 2 * s.per_h * (s.q1 - s.q0) - s.v0
        by_q, by_v = kinetic_derivatives(s, s.q1, v1)
        p1 = 2 * by_v - s.p0
        balance = s.inertia((s.p0 - p1) * s.per_h + by_q) + s.force(s.q0, s.q1, (s.v0 + v1) / 2)
        momenta, velocities = s.inertia(s.p1 - p1), s.inertia(s.v1 - v1)
        return ca.vertcat(balance, momenta), s.constraints(s.q1, s.t1), velocities


@dataclass(frozen=True)
class NullEML(NullSpaceStep, EML):
    """EML by the discrete null-space method: Newton sees one increment per body, and the multipliers of joints.

    The increment keeps the body's own constraints (105); the balance of momentum is projected with the null space at
    the midpoint (104).
    """

    name = "null-eml"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        q1 = s.moved(s.q0, s.slots["increments", "value"])
        v1 = 2 * s.per_h * (q1 - s.q0) - s.v0
        by_q, by_v = kinetic_derivatives(s, q1, v1)
        p1 = 2 * by_v - s.p0
        balance = s.inertia((s.p0 - p1) * s.per_h + by_q) + s.force(s.q0, q1, (s.v0 + v1) / 2)
        state = s.inertia(ca.vertcat(s.q1 - q1, s.p1 - p1))
        return state, s.constraints(q1, s.t1), s.inertia(s.v1 - v1), s.projected((s.q0 + q1) / 2, balance)


# ---- MPL: the midpoint rule on Livens' equations, Kinon & Betsch (132)

@dataclass(frozen=True)
class MPL(OneStep):
    """Midpoint rule on Livens' equations, Kinon & Betsch (132); order 2. Conserves the angular momentum."""

    name = "mpl"
    has_velocity = True
    needs_inverse_mass = False

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        by_q = by_v = ca.SX.zeros(s.q1.numel())
        if s.is_body:
            by_q = gradient_at(lambda q: s.body.kinetic_of_velocity(q, s.vm, s.parameters), s.qm)
            by_v = gradient_at(lambda v: s.body.kinetic_of_velocity(s.qm, v, s.parameters), s.vm)
        balance = s.inertia((s.p0 - s.p1) * s.per_h + by_q) + s.midpoint_force(s.qm, s.vm)
        kinematics = s.inertia(s.per_h * (s.q1 - s.q0) - s.vm)
        return ca.vertcat(balance, kinematics), s.constraints(s.q1, s.t1), s.inertia(by_v - s.pm)
