"""EMH, the Hamiltonian energy-momentum scheme (QUAT_EM, DIR_EM of Betsch & Siebert, 2009), and its null-space form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ..components import averaged, transposed_form, velocity_form
from ..discrete_gradient import MassMetric, discrete_gradient, gradient_at, transposed_product
from ..one_step import NullSpaceStep, OneStep

if TYPE_CHECKING:
    from ...mechanics.system import System


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
    if not s.is_body:
        return ca.SX.zeros(q1.numel()), ca.SX.zeros(q1.numel())
    body, c, q0, p0 = s.body, s.parameters, s.q0, s.p0
    qm, pm = (q0 + q1) / 2, (p0 + p1) / 2
    start, end = body.invariant_momentum(q0, p0), body.invariant_momentum(q1, p1)
    if start is None:
        along = MassMetric(body, s.at_point, s.split)
        by_q = sum(discrete_gradient(lambda q, p=p: body.kinetic_energy(q, p, c), q0, q1, along) for p in (p0, p1)) / 2
        by_p = sum(discrete_gradient(lambda p, q=q: body.kinetic_energy(q, p, c), p0, p1) for q in (q0, q1)) / 2
        return by_q, by_p
    velocity = gradient_at(lambda w: body.kinetic_of_invariant_momentum(w, c), (start + end) / 2)
    return (transposed_product(lambda q: body.invariant_momentum(q, pm), qm, velocity),
            transposed_product(lambda p: body.invariant_momentum(qm, p), pm, velocity))


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
