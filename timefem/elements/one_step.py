"""One-step schemes as time elements: two nodes, one residual per step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import InputError
from ..mechanics.formulas.formula import polynomial_degree
from ..polynomials import LagrangeBasis
from .components import ElementSymbols, components
from .element import Space, TimeElement
from .gradients import MassMetric, discrete_gradient, gradient_at, transposed_product

if TYPE_CHECKING:
    from ..mechanics.system import System


class StepSymbols(ElementSymbols):
    """Symbols of one part in one step, and the terms that schemes are made of.

    Attributes
    ----------
    q0, p0, q1, p1, qm, pm : SX
        Local coordinates and momenta at the start, the end and their mean.
    v0, v1, vm : SX
        The same of velocities, where the scheme has such a field.
    multipliers : SX
        gamma of the step.
    t0, t1, tm, per_h : SX
        Times at the start, the end and in the middle; 1/h.
    is_body : bool
    body : Body
        The part itself, when it is one.
    """

    def __init__(self, part, element, sizes):
        super().__init__(part, element, sizes)
        self._functions = {}
        self.is_body, self.body = part.is_body, part
        n = self.slots["state", "left"].numel() // 2
        self.q0, self.p0 = self.slots["state", "left"][:n], self.slots["state", "left"][n:]
        self.q1, self.p1 = self.slots["state", "right"][:n], self.slots["state", "right"][n:]
        self.qm, self.pm = (self.q0 + self.q1) / 2, (self.p0 + self.p1) / 2
        if ("velocity", "left") in self.slots:
            self.v0, self.v1 = self.slots["velocity", "left"], self.slots["velocity", "right"]
            self.vm = (self.v0 + self.v1) / 2
        self.per_h = 1 / self.h  # divisions are slow
        self.multipliers = self.slots["multipliers", "value"]
        self.tm, self.t0, self.t1 = self.t, self.t - self.h / 2, self.t + self.h / 2

    def inertia(self, expression):
        """The expression for a body, zero for other parts: what only bodies have."""
        return expression if self.is_body else ca.SX(expression.numel(), 1)

    def velocity(self, q, p):
        """Velocities qdot = dH/dp of all bodies of the part, SX."""
        return ca.vertcat(*self.bodies_at(ca.vertcat(q, p)).velocity)

    def moved(self, q, u):
        """Coordinates of all bodies of the part after increments."""
        return ca.vertcat(*(b.moved(x, d) for b, x, d in zip(self.part.frames, self.split(q), self._increments(u),
                                                             strict=True)))

    def projected(self, q, force):
        """P(q)^T force, the null-space matrix P of all bodies of the part at `q`."""
        return ca.vertcat(*(b.null_space(x).T @ f for b, x, f in zip(self.part.frames, self.split(q),
                                                                     self.split(force), strict=True)))

    def _increments(self, u):
        n = [b.n_increments for b in self.part.frames]
        return ca.vertsplit(u, [sum(n[:i]) for i in range(len(n) + 1)])

    def spread(self, q, u):
        """Velocities P(q) u, the null-space matrix P of all bodies of the part at `q`."""
        return ca.vertcat(*(b.null_space(x) @ d for b, x, d in zip(self.part.frames, self.split(q),
                                                                   self._increments(u), strict=True)))

    def potential(self, q):
        """V(q, t) in the middle of the step."""
        return self._terms("potential_energy", q)

    def constraints(self, q, t=None):
        """Constraints that the scheme has multipliers for, SX."""
        return self._terms("constraints", q, t=t) if self.multipliers.numel() else ca.SX(0, 1)

    def velocity_constraints(self, q, p, t=None):
        """Their rates with the velocities that belong to the momenta, SX."""
        return (self._terms("velocity_constraints", q, self.velocity(q, p), t, p) if self.multipliers.numel()
                else ca.SX(0, 1))

    def _terms(self, name, q, velocity=None, t=None, p=None):
        """A term of the part at coordinates, velocities and momenta that are expressions."""
        if name not in self._functions:
            symbols = [ca.SX.sym("v", b.n_q) for b in self.part.bodies]
            at = self.at_point.at(self.at_point.q, self.at_point.p, symbols)
            value = ca.SX(getattr(self.part, name)(at))
            arguments = [ca.vertcat(*at.q), ca.vertcat(*symbols), ca.vertcat(*at.p), at.t, self.parameters]
            self._functions[name] = ca.Function(name, arguments, [value])
        zero = ca.SX.zeros(q.numel())
        return self._functions[name](q, zero if velocity is None else velocity, zero if p is None else p,
                                     self.t if t is None else t, self.parameters)

    def force(self, q0, q1, velocity):
        """`-DV - Dg^T gamma + Q`: discrete gradients D between q0 and q1, applied forces Q in the middle."""
        metric = MassMetric(self.part, self.at_point, self.split)
        elastic = None if self.is_body else self._of_invariants(q0, q1)
        force = self._applied((q0 + q1) / 2, velocity)
        force -= discrete_gradient(self.potential, q0, q1, metric) if elastic is None else elastic
        along = None if self.is_body else metric
        for k in range(self.multipliers.numel()):
            force -= discrete_gradient(lambda q, k=k: self.constraints(q)[k], q0, q1, along) * self.multipliers[k]
        return force

    def _of_invariants(self, q0, q1):
        """`B((q0 + q1)/2)^T DW(e0, e1)`, B = de/dq, of an energy W(e) of invariants e(q) that are quadratic.

        A discrete gradient that keeps the momenta too: of squared distances, and of strains. None for other parts.
        """
        x = ca.SX.sym("q", q0.numel())
        at = self.bodies_at(ca.vertcat(x, ca.SX.zeros(x.numel())))
        e = self.part.lift(at)
        of_strains = self.part.strains_are_quadratic and ca.SX(self.part.strains(at)).numel() > 0
        if e is None or not (e.numel() == 1 or of_strains) or polynomial_degree(e, x) > 2:
            return None
        y, of = ca.SX.sym("e", e.numel()), ca.Function("invariants", [x, self.parameters], [e])
        energy = ca.Function("energy", [y, self.parameters], [ca.SX(self.part.lifted_energy(at, y))])
        stress = discrete_gradient(lambda value: energy(value, self.parameters), of(q0, self.parameters),
                                   of(q1, self.parameters))
        w = ca.SX.sym("w", e.numel())
        force = ca.Function("force", [x, w, self.parameters], [ca.jtimes(e, x, w, True)])
        return force((q0 + q1) / 2, stress, self.parameters)

    def load(self, q, velocity):
        """`-grad V + Q` at `q`."""
        return self._applied(q, velocity) - gradient_at(self.potential, q)

    def _applied(self, q, velocity, t=None):
        """Forces without a potential, those of controls included."""
        force, u = self._terms("force", q, velocity, t), self.slots.get(("controls", "value"))
        if u is None or not self.part.n_controls:
            return force
        rates = [ca.SX.sym("v", b.n_q) for b in self.part.bodies]
        at = self.at_point.at(self.at_point.q, self.at_point.p, rates)
        control = ca.Function("control_force", [ca.vertcat(*at.q), ca.vertcat(*rates), u, at.t, self.parameters],
                              [self.part.control_force(at, u)])
        return force + control(q, velocity, u, self.t if t is None else t, self.parameters)

    def midpoint_force(self, q, velocity):
        """`-grad V - grad g^T gamma + Q` at `q`."""
        return self.load(q, velocity) - transposed_product(self.constraints, q, self.multipliers)


@dataclass(frozen=True)
class OneStep(TimeElement):
    """A one-step scheme with constraints on configuration level, multipliers constant over the step.

    A subclass sets `name` and gives `density`, whose rows are, per test field: the state (balance of momentum, then
    kinematics: two times n_q), the constraints, and the tests of further fields.

    With `has_velocity` the element has a further field, "velocity", with values at the nodes. `extra` names fields that
    are constant over the step, with tests of their own, and what they have values for: pairs (name, components).
    Those in `carried`, components by name, have values at the nodes, zero at the start of a motion.
    """

    degree = 1
    n_points = 1
    order = 2
    symbols = StepSymbols
    has_velocity = False
    extra = carried = ()
    constraints_of = "constraints"

    @cached_property
    def trial(self) -> dict[str, Space]:
        linear, constant = LagrangeBasis(1), LagrangeBasis(0)
        trial = {"state": Space(linear, True), "multipliers": Space(constant, False, self.constraints_of)}
        if self.has_velocity:
            trial["velocity"] = Space(linear, True, "coordinates")
        trial |= {name: Space(constant, False, components) for name, components in self.extra}
        return trial | {name: Space(linear, True, name) for name in self.carried}

    @property
    def test(self) -> dict[str, Space]:
        constant = LagrangeBasis(0)
        test = {"state": "state", "multipliers": self.constraints_of}
        if self.has_velocity:
            test["velocity"] = "coordinates"
        test |= dict(self.extra) | {name: name for name in self.carried}
        return {name: Space(constant, False, components) for name, components in test.items()}

    @property
    def slots(self) -> tuple[tuple[str, Any], ...]:
        ends = ("state", *(("velocity",) if self.has_velocity else ()), *self.carried)
        return (*((name, end) for name in ends for end in ("left", "right")),
                *((name, "value") for name in ("multipliers", *dict(self.extra))))

    @property
    def test_slots(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, "value") for name in self.test)

    def kept_multipliers(self, system: System) -> np.ndarray:
        """Those on configuration level; with `constraints_of = "joints"` those of joints only."""
        own = [self.constraints_of == "joints" and part.is_body for part in system.parts
               for _ in part.constraint_names]
        return np.append(np.logical_not(own), np.zeros(system.n_constraints)).astype(bool)

    def nodal_values(self, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        """As `TimeElement.nodal_values`: velocities qdot(q, p), coordinates at the start, increments, others zero."""
        values = [state, multipliers[..., self.kept_multipliers(system)]]
        if self.has_velocity:
            values.append(system.velocity(times, state))
        known = components(system, [*dict(self.extra).values(), *self.carried])
        for name, c in self.extra:
            values.append(state[:, :1, :system.n_q] if c == "coordinates" else between(system, state)
                          if name == "increments" else np.zeros((len(state), 1, known[c].size)))
        return values + [np.zeros((len(state), 2, known[name].size)) for name in self.carried]

    @abstractmethod
    def density(self, s: Any) -> tuple[ca.SX, ...]:
        """Rows of one part in the symbols `s` (`StepSymbols`)."""


@dataclass(frozen=True)
class NullSpaceStep(OneStep):
    """A scheme by the discrete null-space method, a base beside that of the scheme: Newton sees one increment per body,
    which keeps the body's own constraints, and the multipliers of joints."""

    constraints_of = "joints"
    extra = (("increments", "increments"),)

    def check(self, system: System) -> None:
        super().check(system)
        for body in system.bodies:
            if body.n_increments is None:
                raise InputError(f"{self.name} needs bodies whose own constraints are solved by increments: rigid "
                                 f"bodies, point masses; {system.label(body)} has constraints given by a formula; use "
                                 f"{self.name.removeprefix('null-').upper()}()")


# ---- increments of rigid bodies: displacement and Rodrigues parameters, see `RigidBodyBase.moved`
# In symbols, and as numbers between states.

STEPS = 8  # of the search for increments, which converges quadratically
SMALL = 1e-12  # of slopes: turns that run away leave none


def half(u):
    """The increment u (6,) of a rigid body half way: half the displacement, half the angle."""
    return ca.vertcat(u[:3] / 2, u[3:] / (1 + ca.sqrt(1 + ca.sumsqr(u[3:]) / 4)))


def rotation_vector(u):
    """Angle times axis of Rodrigues parameters u (3,)."""
    square = ca.sumsqr(u) / 4
    small = square < 1e-6
    r = ca.sqrt(ca.if_else(small, 1, square))
    return u * ca.if_else(small, 1 - square / 3 + square**2 / 5, ca.atan(r) / r)


def between(system, state):
    """Increments of all bodies from the start of each element to its end, closest by their coordinates.

    Parameters
    ----------
    system : System
    state : ndarray, shape (n_elements, 2, n_z)

    Returns
    -------
    ndarray, shape (n_elements, 1, n)
    """
    every = []
    for body in system.bodies:
        q0, q1 = (state[:, end, :system.n_q][:, system.coordinates(body)] for end in (0, -1))
        q, u = ca.SX.sym("q", body.n_q), ca.SX.sym("u", body.n_increments)
        end = body.moved(q, u)
        every.append(_between(ca.Function("moved", [q, u], [end, ca.jacobian(end, u)]), q0, q1, body.n_increments))
    return np.concatenate(every, axis=1)[:, None]


def _between(moved, q0, q1, n):
    """By Gauss and Newton's method; zero where it does not get there, such as for more than half a turn."""
    u, least = np.zeros((len(q0), n)), SMALL * np.eye(n)
    for _ in range(STEPS):
        end, slopes = (np.array(x) for x in moved(q0.T, u.T))
        missing = q1 - end.T
        slopes = slopes.reshape(q0.shape[1], -1, n).transpose(1, 2, 0)
        u += np.linalg.solve(slopes @ slopes.swapaxes(1, 2) + least, slopes @ missing[:, :, None])[:, :, 0]
    found = np.abs(missing).max(axis=1) <= np.abs(q1 - q0).max(axis=1)
    return np.where(found[:, None], u, 0.0)
