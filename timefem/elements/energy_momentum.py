"""Schemes of the literature on Livens' and Hamilton's equations: EML, REML, EMH, MPH, and their null-space forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from ..errors import InputError
from .components import averaged, transposed_form, velocity_form
from .gradients import MassMetric, discrete_gradient, gradient_at, transposed_product
from .one_step import NullSpaceStep, OneStep

if TYPE_CHECKING:
    from ..mechanics.system import System


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
    return _derivatives(s, q1, s.v0, v1, lambda body: (
        body.invariant_velocity, body.kinetic_of_velocity, body.kinetic_of_invariants))


def _derivatives(s, q1, w0, w1, formulas_of):
    """Discrete derivatives of a kinetic energy by q and by w, velocities or momenta.

    `formulas_of(body)` are the invariants of (q, w), the energy of (q, w, c), and that of the invariants.
    """
    if not s.is_body:
        return ca.SX.zeros(q1.numel()), ca.SX.zeros(q1.numel())
    c, q0, qm, wm = s.parameters, s.q0, (s.q0 + q1) / 2, (w0 + w1) / 2
    invariants, energy, energy_of_invariants = formulas_of(s.body)
    start, end = invariants(q0, w0), invariants(q1, w1)
    if start is None:
        along = MassMetric(s.body, s.at_point, s.split)
        by_q = sum(discrete_gradient(lambda q, w=w: energy(q, w, c), q0, q1, along) for w in (w0, w1)) / 2
        by_w = sum(discrete_gradient(lambda w, q=q: energy(q, w, c), w0, w1) for q in (q0, q1)) / 2
        return by_q, by_w
    slope = gradient_at(lambda e: energy_of_invariants(e, c), (start + end) / 2)
    return (transposed_product(lambda q: invariants(q, wm), qm, slope),
            transposed_product(lambda w: invariants(qm, w), wm, slope))


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


@dataclass(frozen=True)
class EMH(OneStep):
    """Hamiltonian energy-momentum scheme, Kinon & Betsch (146); order 2. Conserves energy and angular momentum.

    On bodies in quaternions it is QUAT_EM of Betsch & Siebert, and conserves q.p = 0; on directors it is DIR_EM.
    """

    name = "emh"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        by_q, by_p = hamiltonian_derivatives(s, s.q1, s.p1)
        balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.force(s.q0, s.q1, s.velocity(s.qm, s.pm))
        return ca.vertcat(balance, s.inertia(s.per_h * (s.q1 - s.q0) - by_p)), s.constraints(s.q1, s.t1)


def hamiltonian_derivatives(s, q1, p1):
    """Discrete derivatives of T(q, p) by q and by p, from the start of the step to `q1, p1`.

    In the invariant momenta of the body where it has them, Kinon & Betsch (144); partitioned otherwise.
    """
    return _derivatives(s, q1, s.p0, p1, lambda body: (
        body.invariant_momentum, body.kinetic_energy, body.kinetic_of_invariant_momentum))


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


@dataclass(frozen=True)
class NullEMH(NullSpaceStep, EMH):
    """EMH with the bodies' own constraint forces projected away, Betsch & Siebert (52) to (54); order 2.

    Conserves energy and angular momentum. Newton sees one increment per body that keeps the body's own constraints
    (54), the momenta, and the multipliers of joints; the balance of momentum is projected with the null space at the
    midpoint (53).
    """

    name = "null-emh"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        q1 = s.moved(s.q0, s.slots["increments", "value"])
        qm = (s.q0 + q1) / 2
        by_q, by_p = hamiltonian_derivatives(s, q1, s.p1)
        balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.force(s.q0, q1, s.velocity(qm, s.pm))
        state = s.inertia(ca.vertcat(s.q1 - q1, s.per_h * (q1 - s.q0) - by_p))
        return state, s.constraints(q1, s.t1), s.projected(qm, balance)


# ---- the energy-momentum scheme with nonholonomic constraints, Gebhardt & Romero Sect. 5.2

@dataclass(frozen=True)
class NonTwistingEM(EMH):
    """Energy-momentum scheme with nonholonomic constraints by average vector fields, Gebhardt & Romero (92); order 2.

    On a body in directors with `NonTwisting` it is the scheme of the paper, and conserves the energy and the first two
    components of the angular momentum in body axes; it takes all bodies and joints, as EMH does.
    """

    name = "nontwisting-em"
    extra = (("nonholonomic", "nonholonomic"),)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        motion, constraints = super().density(s)
        multipliers, velocity = s.slots["nonholonomic", "value"], s.per_h * (s.q1 - s.q0)
        force = averaged(lambda q: transposed_form(s, q, multipliers, s.tm), s.q0, s.q1)
        form = averaged(lambda q: velocity_form(s, q, velocity, s.tm), s.q0, s.q1)
        return motion - ca.vertcat(force, ca.SX(force.numel(), 1)), constraints, form


@dataclass(frozen=True)
class MPH(OneStep):
    """Midpoint rule on Hamilton's equations, Kinon & Betsch (133); order 2. Conserves the angular momentum.

    For bodies in quaternions it depends on how the inverse of the mass matrix is written: `inverse_mass="polynomial"`
    is (139) as printed; with the exact inverse the scheme is equal to MPL.
    """

    name = "mph"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return hamiltons_equations(s, s.qm, s.pm)


# ---- hamilton's equations of a step, with forces at one point

def hamiltons_equations(s: Any, q: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
    """`p1 = p0 - h dH/dq(q, p) + h Q`, `q1 = q0 + h dH/dp(q, p)`, and the constraints at the end of the step."""
    by_q = by_p = ca.SX.zeros(s.q1.numel())
    if s.is_body:
        by_q = gradient_at(lambda x: s.body.kinetic_energy(x, p, s.parameters), q)
        by_p = gradient_at(lambda x: s.body.kinetic_energy(q, x, s.parameters), p)
    balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.midpoint_force(q, s.velocity(q, p))
    return ca.vertcat(balance, s.inertia(s.per_h * (s.q1 - s.q0) - by_p)), s.constraints(s.q1, s.t1)


# ---- the symplectic Euler method, for motions with impacts

@dataclass(frozen=True)
class SymplecticEuler(OneStep):
    """Symplectic Euler method on Hamilton's equations: momenta first, by forces at the old coordinates; order 1.

    `p1 = p0 - h dH/dq(q0, p1) + h Q`, `q1 = q0 + h dH/dp(q0, p1)` (Hairer, Lubich & Wanner, Geometric Numerical
    Integration, 2006, (VI.3.1)). Impulses of a step act at its start, so that velocities after an impact are those of
    the step, as time-stepping methods for contacts need it (Stewart & Trinkle, Int. J. Numer. Meth. Eng. 39 (1996)).
    Conserves the angular momentum.
    """

    name = "symplectic-euler"
    order = 1

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return hamiltons_equations(s, s.q0, s.p1)
