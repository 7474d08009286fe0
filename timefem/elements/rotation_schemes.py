"""Schemes of the literature on rotations: on velocities in body axes, ALGO_C1, and the variational QUAT_VI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import InputError
from ..mechanics.bodies.rigid import QuaternionBody
from ..mechanics.bodies.rotations import exponential, symbolic_product
from .components import transposed_form, velocity_form
from .gradients import gradient_at, transposed_product
from .one_step import OneStep, StepSymbols, half, rotation_vector

if TYPE_CHECKING:
    from ..mechanics.system import System


class BodyAxesSymbols(StepSymbols):
    """Symbols of one part in one step; a twist is the velocity of each body and its angular velocity in body axes.

    Attributes
    ----------
    w0 : SX
        Twists at the start.
    """

    def __init__(self, part, element, sizes):
        super().__init__(part, element, sizes)
        rates = self.split(self.velocity(self.q0, self.p0))
        self.w0 = ca.vertcat(*(b.invariant_velocity(q, v) for b, q, v in self._of_bodies(self.split(self.q0), rates)))

    def _of_bodies(self, *values):
        return zip(self.part.frames, *values, strict=True)

    def turned(self, q, u):
        """Coordinates after the displacement and the rotation vector u, in body axes: q o exp(u/2)."""
        return ca.vertcat(*(ca.vertcat(x[:3] + d[:3], symbolic_product(x[3:], exponential(d[3:] / 2))) if _turns(b)
                            else x + d for b, x, d in self._of_bodies(self.split(q), self._increments(u))))

    def rate(self, q, w):
        """qdot = (v, 1/2 q o Omega)."""
        return ca.vertcat(*(ca.vertcat(d[:3], symbolic_product(x[3:], ca.vertcat(0, d[3:])) / 2) if _turns(b) else d
                            for b, x, d in self._of_bodies(self.split(q), self._increments(w))))

    def commutator(self, a, b):
        """a x b of the angular velocities in two twists, zero for the velocities."""
        return ca.vertcat(*(ca.vertcat(ca.SX(3, 1), ca.cross(x[3:], y[3:])) if _turns(body) else ca.SX(x.numel(), 1)
                            for body, x, y in self._of_bodies(self._increments(a), self._increments(b))))

    def momentum(self, q, w):
        """Momenta p = (m v, 2 q o (J Omega)) of a body, zero for other parts."""
        if not self.is_body:
            return ca.SX.zeros(q.numel())
        momentum = self._mass() @ w
        if not _turns(self.body):
            return momentum
        return ca.vertcat(momentum[:3], 2 * symbolic_product(q[3:], ca.vertcat(0, momentum[3:])))

    def balance(self, q, w, a, t, pull):
        """m v' - F and J Omega' + Omega x J Omega - M, (21), with -G^T pull of joints in F; a part gives its share.

        Strains count with what a scheme carries besides them, `carried_strains`.
        """
        if self.is_body:
            mass = self._mass()
            gyroscopic = ca.vertcat(ca.SX(3, 1), ca.cross(w[3:], (mass @ w)[3:])) if _turns(self.body) else 0
            return mass @ a + gyroscopic
        x = ca.SX.sym("q", q.numel())
        potential = ca.SX(self._terms("energy", x, t=t) if self.carried_strains is None else self._stored_energy(x))
        if pull.numel():
            potential += ca.dot(pull, self._terms("constraints", x, t=t))
        force = self._applied(q, self.rate(q, w), t) - ca.substitute(ca.gradient(potential, x), x, q)
        return -ca.vertcat(*(ca.vertcat(f[:3], b.invariant_momentum(x, f)[4:] / 2) if _turns(b) else f
                             for b, x, f in self._of_bodies(self.split(q), self.split(force))))

    def carried(self, q3, q1):
        """Row of the strains that are carried: at the end they are those at q1, whatever the coordinates q3 are."""
        if self.carried_strains is None:
            return ca.SX(0, 1)
        return self.slots["strains", "right"] + self.strains(q3) - self.carried_strains - self.strains(q1)

    @property
    def carried_strains(self):
        """Strains at the start less those of the coordinates there, SX; None of parts and schemes without."""
        carried = self.slots.get(("strains", "left"), ca.SX(0, 1))
        return carried if carried.numel() else None

    def strains(self, q):
        """Strains e(q) of the part, SX."""
        return self._terms("strains", q)

    def _stored_energy(self, q):
        at = self.at_point.at(self.split(q), self.at_point.p)
        return self.part.stored_energy(at, self.strains(q) + self.carried_strains)

    def acceleration(self, q, w, a, t):
        """Second time derivative of the constraints of a joint."""
        if not self.multipliers.numel():
            return ca.SX(0, 1)
        x, u, time = ca.SX.sym("q", q.numel()), ca.SX.sym("w", w.numel()), ca.SX.sym("t")
        phi, rate = self._terms("constraints", x, t=time), self.rate(x, u)
        velocity = ca.jtimes(phi, x, rate) + ca.jacobian(phi, time)
        value = ca.jtimes(velocity, x, rate) + ca.jacobian(velocity, u) @ a + ca.jacobian(velocity, time)
        return ca.substitute([value], [x, u, time], [q, w, ca.SX(t)])[0]

    def _mass(self):
        """Mass matrix in body axes, constant."""
        w = ca.SX.sym("w", self.body.n_increments)
        return ca.hessian(self.body.kinetic_of_invariants(w, self.parameters), w)[0]


@dataclass(frozen=True)
class BodyAxesScheme(OneStep):
    """Base of the schemes that turn quaternions by exponentials, so that |q| = 1 holds without a multiplier.

    Joints hold on the level of accelerations, at each stage: what they keep from moving stays exactly where it is, and
    the others drift by the error of the method.
    """

    symbols = BodyAxesSymbols
    constraints_of = "joints"
    joints_drift = True

    def check(self, system: System) -> None:
        for body in system.bodies:
            fault = f"{self.name} takes rigid bodies in quaternions and point masses, not {system.label(body)}"
            if body.velocity_by_solve:
                raise InputError(f"{fault}, whose mass matrix varies with its joints; {body.no_inverse[1]}, or state "
                                 "the robot in bodies and joints")
            if not isinstance(body, QuaternionBody) and body.n_increments != body.n_q:
                raise InputError(f"{fault}; use rotation='quaternion', or another element")


def _turns(body):
    return isinstance(body, QuaternionBody)


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


@dataclass(frozen=True)
class AlgoC1(OneStep):
    """ALGO_C1 of Simo & Wong, for rigid bodies without joints; order 2.

    With the body's angular velocity W and rotation R: `Theta = h/2 (W0 + W1)`, `R1 = R0 exp(Theta)`, and the spatial
    momentum grows by h times the torque at `R0 exp(Theta/2)`; the centre of mass follows the midpoint rule. Conserves
    the angular momentum, and the energy of free bodies; the rotation stays on the group, in quaternions and directors.

    Unknowns are the increments (displacement, and Rodrigues parameters `2 tan(|Theta|/2)` about the axis) and the
    twists at the end (velocities of the centre of mass, and angular), all in space axes.
    """

    name = "algo-c1"
    constraints_of = "joints"
    extra = (("increments", "increments"), ("twist", "increments"))

    def check(self, system: System) -> None:
        super().check(system)
        for part in system.parts:
            if not part.has_orientation and (part.constraint_names or part.is_body):
                raise InputError(f"{self.name} takes rigid bodies, springs and loads, but no joints and no other "
                                 f"bodies such as {system.label(part)}; use EML() or EMH()")

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        u, end = s.slots["increments", "value"], s.slots["twist", "value"]
        velocities = s.split(s.velocity(s.q0, s.p0))
        start = ca.vertcat(*map(_twist, s.part.frames, s.split(s.q0), velocities))
        q1, middle = s.moved(s.q0, u), s.moved(s.q0, ca.vertcat(*map(half, ca.vertsplit(u, 6))))
        torque = s.projected(middle, s.load(middle, s.spread(middle, (start + end) / 2)))
        if not s.is_body:
            return ca.SX(s.q0.numel() * 2, 1), s.multipliers, ca.SX(u.numel(), 1), torque
        p1 = gradient_at(lambda v: s.body.kinetic_of_velocity(q1, v, s.parameters), s.spread(q1, end))
        back = s.body.frame(s.q0)[1] @ s.body.frame(q1)[1].T  # from R1 W1 to R0 W1
        mean = (start + ca.vertcat(end[:3], back @ end[3:])) / 2
        motion = s.per_h * ca.vertcat(u[:3], rotation_vector(u[3:])) - mean
        balance = s.per_h * (s.projected(s.q0, s.p0) - s.projected(q1, p1))
        return ca.vertcat(s.q1 - q1, s.p1 - p1), s.multipliers, motion, balance


def _twist(body, q, velocity):
    return ca.vertcat(velocity[:3], body.angular_velocity_map(q) @ velocity)


# ---- newmark's method on SO(3): Simo & Vu-Quoc (1988)

@dataclass(frozen=True)
class NewmarkSO3(BodyAxesScheme):
    """Newmark's method with beta = 1/4, gamma = 1/2 on rotation vectors in body axes; order 2.

    Simo & Vu-Quoc, Comput. Methods Appl. Mech. Engrg. 66 (1988).
    """

    name = "newmark-so3"
    extra = (("start", "increments"), ("end", "increments"), ("start pull", "joints"))

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        a0, a1 = s.slots["start", "value"], s.slots["end", "value"]
        q1 = s.turned(s.q0, s.h * s.w0 + s.h**2 / 4 * (a0 + a1))
        w1 = s.w0 + s.h / 2 * (a0 + a1)
        balances = (s.balance(s.q0, s.w0, a0, s.t0, s.slots["start pull", "value"]),
                    s.balance(s.q1, w1, a1, s.t1, s.multipliers))
        state = s.inertia(ca.vertcat(s.q1 - q1, s.p1 - s.momentum(s.q1, w1)))
        return state, s.acceleration(s.q1, w1, a1, s.t1), *balances, s.acceleration(s.q0, s.w0, a0, s.t0)


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
    turn = symbolic_product(ca.vertcat(q0[0], -q0[1:]), q1)
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
