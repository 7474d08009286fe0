"""The power of the forces of parts: in symbols of coordinates and velocities, and along motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ..errors import InputError
from .point_functions import evaluate
from .symbols import Symbols, applied_force, n_reactions

if TYPE_CHECKING:
    from .part import Part
    from .system import System

_POWERS: dict = {}  # by kind of part
_DONE: dict = {}  # by kind of part: a function, or None of parts that do no work besides a potential
MOST_KINDS = 200  # kept


def n_seen(part):
    """Number of the controls that a part sees, of itself and of other actuators."""
    return sum(actuator.n_controls for actuator in part.controls)


def power_of(part, title):
    """Power `(B u + Q - dV/dq) . qdot` of what a part does to its bodies, casadi.Function of (q, v, u, t, parameters).

    Controls u, forces Q without a potential, and those of its potential V. What constraints do is left out.

    Parameters
    ----------
    part : Part
    title : str
        For messages.

    Raises
    ------
    InputError
        For parts that move bodies by constraints, forces by formulas of the momenta, and by forces of constraints.
    """
    if part.constraint_names and not part.is_body:
        raise InputError(f"the power of {title} is that of constraints, whose forces no formula tells; drive it by an "
                         "actuator, and take the power of that")
    if part.reactions_of:
        raise InputError(f"the power of {title} depends on forces of constraints, which no formula tells; it is in "
                         "sol.work(by_part=True)")
    if part.kind not in _POWERS:
        if len(_POWERS) >= MOST_KINDS:
            del _POWERS[next(iter(_POWERS))]
        s = Symbols(part)
        s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
        q, v, u = ca.vertcat(*s.q), ca.vertcat(*s.velocity), ca.SX.sym("u", n_seen(part))
        force = applied_force(part, s, u) - ca.gradient(ca.SX(part.potential_energy(s)), q)
        power = ca.dot(force, v)
        if ca.depends_on(power, ca.vertcat(*s.p)):
            raise InputError(f"the power of {title} depends on momenta; take velocities in its formula")
        _POWERS[part.kind] = ca.Function("power", [q, v, u, s.t, s.parameters], [ca.densify(power)])
    return _POWERS[part.kind]


def powers(system: System, t: np.ndarray, z: np.ndarray, rate: np.ndarray, multipliers: np.ndarray,
           controls: np.ndarray | None = None, seen: np.ndarray | None = None) -> dict[Part, np.ndarray]:
    """Power `(Q + B u).v + dV/dt + lambda.dTheta/dt` of each part that has one [W]: part -> (n,).

    Forces without a potential, controls, energies and constraints that depend on the time; of a port system its sources
    less what it dissipates. What changes energy, so that with the rates of an element they sum up to its change.

    Parameters
    ----------
    system : System
    t, z, rate, multipliers : ndarray, shapes (n,), (n, n_z), (n, n_q), (n, n_multipliers)
        The rates are velocities; of port systems efforts.
    controls : ndarray, shape (n, n_controls), optional
        Of all actuators, in the order of the parts; zero unless given.
    seen : ndarray, shape (n, n_q), optional
        Velocities that forces see, where these are other ones, such as those of the momenta.
    """
    found: dict[Part, np.ndarray] = {}
    starts = np.cumsum([0, *(part.n_controls for part in system.parts)])
    first = dict(zip(system.parts, starts.tolist(), strict=False))
    controls = np.zeros((len(z), starts[-1])) if controls is None else controls
    for group in system.groups:
        function = _power_done(group.part)
        if function is None:
            continue
        index = group.state_index
        u = np.stack([np.hstack([controls[:, :0], *(controls[:, first[a]:first[a] + a.n_controls] for a in p.controls)])
                      for p in group.members], axis=1)
        half = index[:, :index.shape[1] // 2]
        forces = np.hstack([group.multiplier_index, group.reaction_index])
        arguments = [z[:, index], rate[:, half], (rate if seen is None else seen)[:, half], multipliers[:, forces], u]
        values = evaluate(function, np.concatenate(arguments, axis=2), t, group.parameters)[..., 0]
        found |= dict(zip(group.members, values.T, strict=True))
    return found


def _power_done(part):
    """Power of a part as casadi.Function of `(q, p, rate, v, lambda, u)`, t and parameters; None where it is zero."""
    if part.kind not in _DONE:
        if len(_DONE) >= MOST_KINDS:
            del _DONE[next(iter(_DONE))]
        s = Symbols(part)
        s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
        v, u = ca.vertcat(*s.velocity), ca.SX.sym("u", n_seen(part))
        rate = ca.SX.sym("rate", v.numel())
        theta = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
        m = theta.numel()
        w = ca.SX.sym("w", m + n_reactions(part))
        force, further = applied_force(part, s, u), part.multiplier_force(s, ca.vertcat(w[:m // 2, 0], w[m:, 0]))
        force = force if further is None else force + further
        power = (ca.dot(force, rate) + ca.jacobian(ca.SX(part.potential_energy(s)), s.t)
                 + ca.dot(w[:m, 0], ca.jacobian(theta, s.t)))
        _DONE[part.kind] = None if ca.SX(power).is_zero() else ca.Function(
            "power", [ca.vertcat(*s.q, *s.p, rate, v, w, u), s.t, s.parameters], [ca.densify(power)])
    return _DONE[part.kind]
