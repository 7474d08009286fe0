"""The forces of parts: their power, in symbols and along motions, what they exert on bodies, in space axes; and where
they begin and end, the functions of state and time at whose zeros the formulas of parts are not smooth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...errors import InputError
from ...memory import Recent
from ...records import frozen
from ..body_frame import is_on_tree
from ..formulas.formula import divisors
from ..part import Part
from ..symbols import Symbols, applied_force, n_reactions
from .evaluate import evaluate
from .quantities import formulas_of, switches_of

if TYPE_CHECKING:
    from ..system import System

_POWERS = Recent()  # by kind of part
_DIVISORS = Recent()  # the same
_DONE = Recent()  # by kind of part: a function, or None of parts that do no work besides a potential


def n_seen(part):
    """Number of the controls that a part sees, of itself and of other actuators."""
    return sum(actuator.n_controls for actuator in part.controls)


def divisors_of(part):
    """What formulas of users divide by in the force of a part, or in an integrand, see `divisors`: a casadi.Function of
    (q, v, u, t, parameters), None where there is nothing, and whether it depends on velocities."""
    forces = hasattr(part, "whole_force") and not part.reactions_of
    if not forces and type(part).cost is Part.cost:
        return None, False
    if part.kind not in _DIVISORS:
        s, given = _given_symbols(part)
        formula = applied_force(part, s, given[2]) if forces else part.cost(s, given[2])
        found = divisors(formula, ca.vertcat(*given[:3]))
        if not forces:  # of numbers of other parts, which may be unknown, costs know nominal values only
            known = [not ca.depends_on(x, s.parameters) for x in ca.vertsplit(found)]
            found = found[np.flatnonzero(known).tolist(), 0]
        momenta = ca.depends_on(found, ca.vertcat(*s.p))
        function = ca.Function("divisors", given, [found]) if found.numel() and not momenta else None
        _DIVISORS[part.kind] = function, function is not None and ca.depends_on(found, given[1])
    return _DIVISORS[part.kind]


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
        raise InputError(f"the power of {title} is that of constraints, whose forces formulas do not have; drive it by "
                         "an actuator, and take the power of that")
    if part.reactions_of:
        raise InputError(f"the power of {title} depends on forces of constraints, which formulas do not have; it is in "
                         "sol.energy.work(by_part=True)")
    if part.kind not in _POWERS:
        s, given = _given_symbols(part)
        q, v, u, *_ = given
        force = applied_force(part, s, u) - ca.gradient(ca.SX(part.potential_energy(s)), q)
        power = ca.dot(force, v)
        if ca.depends_on(power, ca.vertcat(*s.p)):
            raise InputError(f"the power of {title} depends on momenta; take velocities in its formula")
        _POWERS[part.kind] = ca.Function("power", given, [ca.densify(power)])
    return _POWERS[part.kind]


def _given_symbols(part):
    """The `Symbols` of a part with velocities of their own, and q, v, u, t and parameters."""
    s = Symbols(part)
    s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
    return s, [ca.vertcat(*s.q), ca.vertcat(*s.velocity), ca.SX.sym("u", n_seen(part)), s.t, s.parameters]


def powers(system: System, t: np.ndarray, z: np.ndarray, rate: np.ndarray, multipliers: np.ndarray,
           controls: np.ndarray | None = None, seen: np.ndarray | None = None,
           rolling: np.ndarray | None = None) -> dict[Part, np.ndarray]:
    """Power `(Q + B u).v + dV/dt + lambda.dTheta/dt + gamma.a` of each part that has one [W]: part -> (n,).

    Forces without a potential, controls, energies and constraints that depend on the time, nonholonomic ones that
    prescribe a velocity; of a port system its sources less what it dissipates. What changes energy, so that with the
    rates of an element they sum up to its change.

    Parameters
    ----------
    system : System
    t, z, rate, multipliers : ndarray, shapes (n,), (n, n_z), (n, n_q), (n, n_multipliers)
        The rates are velocities; of port systems efforts.
    controls : ndarray, shape (n, n_controls), optional
        Of all actuators, in the order of the parts; zero unless given.
    seen : ndarray, shape (n, n_q), optional
        Velocities that forces see, where these are other ones, such as those of the momenta.
    rolling : ndarray, shape (n, n_nonholonomic) or (n, 2 n_nonholonomic), optional
        Multipliers of nonholonomic constraints, and of their rates.
    """
    n = system.n_nonholonomic
    rolling = np.zeros((len(z), 0)) if rolling is None else rolling
    rolling = np.hstack([rolling, np.zeros((len(z), 2 * n - rolling.shape[1]))])
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
        arguments = [z[:, index], rate[:, half], (rate if seen is None else seen)[:, half], multipliers[:, forces], u,
                     rolling[:, np.hstack([group.nonholonomic_index, n + group.nonholonomic_index])]]
        values = evaluate(function, np.concatenate(arguments, axis=2), t, group.parameters)[..., 0]
        found |= dict(zip(group.members, values.T, strict=True))
    return found


def _power_done(part):
    """Power of a part as casadi.Function of `(q, p, rate, v, lambda, u, rolling)`, t and parameters; None where it is
    zero."""
    if part.kind not in _DONE:
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
        form, pairs = ca.SX(part.velocity_form(s)), ca.SX.sym("rolling", 2 * len(part.nonholonomic_names))
        if form.numel():
            power += ca.dot(pairs, ca.vertcat(part.pfaffian(s)[1], ca.jacobian(form, s.t)))
        _DONE[part.kind] = None if ca.SX(power).is_zero() else ca.Function(
            "power", [ca.vertcat(*s.q, *s.p, rate, v, w, u, pairs), s.t, s.parameters], [ca.densify(power)])
    return _DONE[part.kind]


# ---- Forces and torques that parts exert on bodies, in space axes

_WRENCHES = Recent()


def generalized_forces(part, t, state, gamma, rolling, controls, contacts):
    """Generalized forces of a part on each of its bodies.

    `Q = -grad V + Q_applied + B u - Phi_q^T gamma - A^T gamma_n` with the multipliers of its constraints, and of rigid
    contacts what their normal forces and friction do.

    Parameters
    ----------
    part : Part
    t : ndarray, shape (n,)
    state : tuple of ndarray, shapes (n, n_q_local)
        Local coordinates, momenta and velocities.
    gamma, rolling, controls, contacts : ndarray, shapes (n, m), (n, n_nonholonomic), (n, n_controls), (n, 3 n_contacts)
        The first of its own constraints, then of those of `reactions_of`; of each contact the normal force comes first.

    Returns
    -------
    ndarray, shape (n, n_q_local)
    """
    symbols = s, w, form, u, pushes = _symbols(part)
    name = ("force", part.kind)
    if name not in _WRENCHES:
        phi, q = part.constraints(s), ca.vertcat(*s.q)
        force = applied_force(part, s, u) - ca.gradient(ca.SX(part.potential_energy(s)), q)
        force -= ca.jtimes(phi, q, w[:phi.numel(), 0], True)
        further = part.multiplier_force(s, w)
        force = force if further is None else force + further
        if form.numel():
            force -= part.pfaffian(s)[0].T @ form
        if part.n_contacts:
            pushes = ca.reshape(pushes, 3, part.n_contacts).T
            force += ca.jtimes(ca.SX(part.gap(s)), q, pushes[:, 0], True)
            slip, along = ca.vec(part.slip(s)), ca.vec(pushes[:, 1:1 + part.n_slip])
            force += ca.jtimes(slip, ca.vertcat(*s.velocity), along, True)
        _WRENCHES[name] = _function(symbols, force)
    return _values(_WRENCHES[name], part, t, state, gamma, rolling, controls, contacts)


def reaction(part, q, force):
    """Force and torque about its centre of mass on the first body of a part, of generalized forces on all of its
    bodies; (n, n_q_local) -> two (n, 3).

    The work of both is that of Q: `Q.qdot = F.v + m.omega`.
    """
    name = ("reaction", part.kind)
    if name not in _WRENCHES:
        x, y = (ca.SX.sym(name, sum(body.n_q for body in part.bodies)) for name in "qQ")
        _WRENCHES[name] = ca.Function("reaction", [x, y], [ca.densify(ca.vertcat(*reaction_of(part, x, y)))])
    values = np.array(_WRENCHES[name].map(len(q))(q.T, force.T)).T if len(q) else np.zeros((0, 6))
    return values[:, :3], values[:, 3:]


def reaction_of(part, q, force):
    """The same in symbols, of SX (n_q_local,): two SX (3,).

    Along axes that the first body has no coordinate for, such as those across the rail of a trolley, its force is the
    opposite of what the part does to its other bodies, where it pushes nothing as a whole along them.
    """
    stops = np.cumsum([0, *(body.n_q for body in part.bodies)]).tolist()
    axes = _across(part)
    (place, torque), *others = [_wrench(body, q[a:b], force[a:b]) for body, a, b in zip(
        part.bodies if axes else part.bodies[:1], stops, stops[1:], strict=False)]
    for axis in axes:
        place[axis] = -sum(force[axis] for force, _ in others)
    return place, torque


def _across(part):
    """Axes of space along which the first body of a part does not move, and what its bodies feel of it adds up to
    nothing."""
    first, motions = part.bodies[0], part.workless_motions()
    if motions is None or not first.has_position or first.dimension > 2 or any(map(is_on_tree, part.bodies)):
        return []
    beside = np.eye(6) - motions @ np.linalg.pinv(motions)
    return [axis for axis in range(first.dimension, 3) if np.abs(beside[:, axis]).max() < 1e-9]


def _wrench(body, q, force):
    """Force and torque about the centre of mass of a body, of a generalized force on it: two SX (3,)."""
    free = body.null_space(q).T @ force
    place = ca.vertcat(free[:min(3, body.dimension)], ca.SX(3 - min(3, body.dimension), 1))
    return place, free[3:6] if body.has_orientation else ca.SX(3, 1)


def _symbols(part):
    s = Symbols(part)
    s.velocity = [ca.SX.sym("v", b.n_q) for b in part.bodies]
    gamma = ca.SX.sym("gamma", len(part.constraint_names) + n_reactions(part))
    rolling, contacts = ca.SX.sym("rolling", len(part.nonholonomic_names)), ca.SX.sym("contacts", 3 * part.n_contacts)
    return s, gamma, rolling, ca.SX.sym("u", n_seen(part)), contacts


def _function(symbols, value):
    s, *others = symbols
    state = [ca.vertcat(*x) for x in (s.q, s.p, s.velocity)]
    return ca.Function("force", [*state, s.t, s.parameters, *others], [ca.densify(ca.SX(value))])


def _values(function, part, t, state, *others):
    n = len(t)
    if not n:
        return np.zeros((0, function.size1_out(0)))
    parameters = np.tile(part.parameters[:, None], n)
    return np.array(function.map(n)(*(x.T for x in state), t[None], parameters, *(x.T for x in others))).T


# ---- where forces begin and end

@frozen
class SharpOptions:
    """What of a function of time is sharp."""

    samples: int = 20_000  # times at which what depends on the time alone is looked at
    unbounded: float = 10.0  # times its samples: values in between of what has no bound
    same: float = 1e-9  # of the span, up to which two times are one
    sharp: float = 1e-3  # of its range: second difference from sample to sample that is a feature
    few: float = 0.02  # of the samples, at most, in features: what is rough everywhere is seen by any march
    inside: int = 9  # times in a feature
    aside: tuple = (0.25, 1.0, 4.0)  # and beside it, in its widths, for its tails


SHARP_TIMES = SharpOptions()


class Switching:
    """Switching functions of a system, shape (..., n): forces are smooth while none of them changes its sign.

    Parameters
    ----------
    system : System
    steep : bool
        Whether regularised jumps have functions, too, such as friction with a width: then forces are also even.

    Attributes
    ----------
    n : int
    parts : list of Part
        Whose each of them is.
    """

    def __init__(self, system: System, steep: bool = False) -> None:
        self.system, self.parts, self._groups = system, [], []
        for number, group in enumerate(system.groups):
            found = switches_of(group.part, steep)
            if found.switching is not None:
                self._groups.append((number, found.switching, formulas_of(group.part).solved))
                self.parts += [part for part in group.members for _ in range(found.switching.size1_out(0))]
        self.n = len(self.parts)

    def values(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """At times (n_points,) and states (n_points, n_z); shape (n_points, n)."""
        velocities = self.system.velocity(t, z) if any(solved for *_, solved in self._groups) else None
        found = []
        for number, function, solved in self._groups:
            group = self.system.groups[number]
            index = group.state_index
            rates = [velocities[:, index[:, :index.shape[1] // 2]]] if solved else []
            local = np.concatenate([z[:, index], *rates], axis=2)
            found.append(evaluate(function, local, t, group.parameters).reshape(len(t), -1))
        return np.concatenate(found, axis=1) if found else np.zeros((len(t), 0))


def switching_of(system: System, steep: bool = False) -> Switching | None:
    """The `Switching` of a system; None of one that has no such functions."""
    known = system.__dict__.setdefault("_switching", {})
    if steep not in known:
        has = any(switches_of(group.part, steep).switching is not None for group in system.groups)
        known[steep] = Switching(system, steep) if has else None
    return known[steep]


def sharp_times(system: System, t_span: tuple[float, float]) -> np.ndarray:
    """Times at which what depends on the time alone jumps, begins, turns or ends within a small part of the span."""
    found = []
    for group in system.groups:
        functions = switches_of(group.part)
        if functions.of_time is None:
            continue
        t = np.linspace(*t_span, SHARP_TIMES.samples)
        for parameters in group.parameters:
            values = np.array(functions.of_time.map(SHARP_TIMES.samples)(t[None], parameters))
            if not np.isfinite(values).all():
                continue
            switches = [] if functions.in_time is None else _zeros(functions.in_time, t, parameters)
            times = np.array(switches + [time for row in values for time in _features(t, row, np.array(switches))])
            if len(times):  # where a function grows without bound, elements are not to end
                aside = SHARP_TIMES.same * np.ptp(t)
                near = np.concatenate([times, times + aside, times - aside])
                there = np.array(functions.of_time.map(len(near))(near[None], parameters))
                with np.errstate(invalid="ignore"):
                    if (np.abs(there) <= SHARP_TIMES.unbounded * np.abs(values).max(axis=1)[:, None]).all():
                        found += list(times)
    found, span = np.unique(found), t_span[1] - t_span[0]
    known = np.concatenate([t_span, system.kinks])
    found = found[np.abs(found[:, None] - known).min(axis=1, initial=np.inf) > SHARP_TIMES.same * span]
    return found[np.diff(found, prepend=-np.inf) > SHARP_TIMES.same * span]


def _zeros(function, t, parameters):
    """Times at which functions of time change their signs, by bisection between samples."""
    values, found = np.array(function.map(len(t))(t[None], parameters)), []
    for i, row in enumerate(values):
        known = np.flatnonzero(row)  # a sample that is zero is between those beside it
        for k in np.flatnonzero(np.sign(row[known[1:]]) != np.sign(row[known[:-1]])):
            low, high, after = t[known[k]], t[known[k + 1]], np.sign(row[known[k + 1]])
            while low < (low + high) / 2 < high:
                middle = (low + high) / 2
                if np.sign(float(function(middle, parameters)[i])) == after:
                    high = middle
                else:
                    low = middle
            found.append(high)
    return found


def _features(t, values, known):
    """Times around which a function changes abruptly, where these are few, and apart from the times that are known."""
    size = np.ptp(values)
    sharp = np.flatnonzero(np.abs(np.diff(values, 2)) > SHARP_TIMES.sharp * size) + 1 if size > 0 else np.zeros(0, int)
    if not 0 < len(sharp) <= SHARP_TIMES.few * len(t):
        return []
    found, step = [], t[1] - t[0]
    for cluster in np.split(sharp, np.flatnonzero(np.diff(sharp) > 2) + 1):
        low, high = t[cluster[0]] - step, t[cluster[-1]] + step
        if high - low < 4 * step and ((known >= low) & (known <= high)).any():
            continue
        aside = (high - low) * np.array(SHARP_TIMES.aside)
        found += [*np.linspace(low, high, SHARP_TIMES.inside), *(low - aside), *(high + aside)]
    return found
