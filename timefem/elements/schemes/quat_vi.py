"""QUAT_VI: the variational integrator of Betsch & Siebert (2009), Appendix E."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ...mechanics.bodies.quaternions import product
from ...mechanics.bodies.rigid import QuaternionBody
from ..components import transposed_form, velocity_form
from ..discrete_gradient import gradient_at, transposed_product
from ..one_step import OneStep


@dataclass(frozen=True)
class QuatVI(OneStep):
    """Variational integrator by the midpoint rule, Betsch & Siebert (E1), as a map of (q, p); order 2.

    Symplectic; conserves the angular momentum. `p0 = -D1 L_d + h/2 g'(q0)^T gamma` and
    `p1 = D2 L_d - h/2 g'(q1)^T gamma1`, where gamma1 makes the momenta consistent at the end; it does not change the
    motion. For all bodies and joints; on bodies in quaternions it is QUAT_VI.

    A body in quaternions turns by an angle below a right one whose sine is about h|Omega|: above h|Omega| = 1 a step
    has no solution, and the solve ends with "not converged". Then take smaller steps, or EMH.
    """

    name = "quat-vi"
    extra = (("end_multipliers", "constraints"),)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        velocity = s.per_h * (s.q1 - s.q0)
        by_q = by_v = ca.SX.zeros(s.q1.numel())
        if s.is_body:
            by_q = gradient_at(lambda q: s.body.kinetic_of_velocity(q, velocity, s.parameters), s.qm)
            by_v = gradient_at(lambda v: s.body.kinetic_of_velocity(s.qm, v, s.parameters), velocity)
        half = (by_q + s.load(s.qm, velocity)) / 2
        at_start = transposed_product(lambda q: s.constraints(q, s.t0), s.q0, s.multipliers) / 2
        at_end = transposed_product(lambda q: s.constraints(q, s.t1), s.q1, s.slots["end_multipliers", "value"]) / 2
        start = s.inertia((s.p0 - by_v) * s.per_h) + half - at_start
        end = s.inertia((by_v - s.p1) * s.per_h) + half - at_end
        constraints = s.constraints(s.q1, s.t1)
        if s.is_body and isinstance(s.body, QuaternionBody):
            constraints /= ca.sqrt(slope(s.body, s.parameters, s.q0[3:], s.q1[3:]))
        return ca.vertcat(start, end), constraints, s.velocity_constraints(s.q1, s.p1, s.t1)


def slope(body, c, q0, q1):
    """What is positive as long as a turn belongs to its momentum: beyond, the equations have a second root.

    With `f0 + f = conj(q0) o q1` the momentum at the start is `2/h (f0 J f + f x J f)`, of a sphere J sin(turn)/h.
    Its derivative by f is regular from rest up to where the momentum is largest; this is its determinant over that of
    J, times f0^4. Its root divides the constraint, so that no step of Newton's method goes beyond.
    """
    w, f, f0 = ca.SX.sym("w", body.n_increments), ca.SX.sym("f", 3), ca.SX.sym("f0")
    inertia = ca.hessian(body.kinetic_of_invariants(w, c), w)[0][3:, 3:]
    momentum = f0 * inertia @ f + ca.cross(f, inertia @ f)
    by_f = f0 * ca.jacobian(momentum, f) - ca.jacobian(momentum, f0) @ f.T  # f0^2 + |f|^2 = 1
    turn = product(ca.vertcat(q0[0], -q0[1:]), q1)
    return ca.substitute(f0 * ca.det(by_f) / ca.det(inertia), ca.vertcat(f0, f), turn)


# ---- DLA: the discrete Lagrange-d'Alembert scheme, Cortes & Martinez (2001), in Gebhardt & Romero Sect. 6.4

@dataclass(frozen=True)
class DLA(QuatVI):
    """Discrete Lagrange-d'Alembert scheme by the midpoint rule, as a map of (q, p); order 2.

    The variational integrator `QuatVI` with forces of nonholonomic constraints at the nodes, A(q0)^T mu and
    A(q1)^T mu1, and the constraint between them, A(qm) (q1 - q0)/h + a = 0. The multipliers of the end make its momenta
    consistent, and do not change the motion.
    """

    name = "dla"
    extra = (*QuatVI.extra, ("nonholonomic", "nonholonomic"), ("end_nonholonomic", "nonholonomic"))

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        motion, *rows = super().density(s)
        start = transposed_form(s, s.q0, s.slots["nonholonomic", "value"], s.t0)
        end = transposed_form(s, s.q1, s.slots["end_nonholonomic", "value"], s.t1)
        return (motion - ca.vertcat(start, end) / 2, *rows, velocity_form(s, s.qm, s.per_h * (s.q1 - s.q0), s.tm),
                velocity_form(s, s.q1, s.velocity(s.q1, s.p1), s.t1))
