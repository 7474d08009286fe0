"""Velocities at the ends of a guessed way, where they are asked for, and controls that follow the way."""

import numpy as np

from ....errors import InputError
from ....mechanics.forces.formula_force import StateRate
from ....mechanics.symbols import first_order_places
from ....mechanics.values.equations_of_motion import EquationsOfMotion
from ...end import INDEPENDENT, null_space
from ..options import OPTIONS


def rates_at_ends(way, start, end):
    """Velocities qdot at the start and the end, shape (2, n_q), zero where they or the positions are free.

    Ways to positions that are free are not known: with velocities they would turn back to where they come from.

    Parameters
    ----------
    way : Way
    start, end : EndConditions
        `start` is None where the state there is given as a whole.
    """
    t0, t1 = way.t_span
    first = way.system.velocity(t0, way.first) if start is None else _asked(start, t0)
    rates = np.array([first, _asked(end, t1)])
    if start is not None:  # what is at no given speed at either end goes on steadily
        glides = _speeds_free(start, t0) & _speeds_free(end, t1)
        rates[:, glides] = ((way.last - way.first)[:way.system.n_q] / (t1 - t0))[glides]
    for conditions, t in ((start, t0), (end, t1)):
        if conditions is not None and rates.any():
            rates[:, _free(conditions, t, t1 - t0)] = 0.0
    return rates


def going_on(way, conditions):
    """The way on which bodies that move at a given start, and that nothing places at the end, go on moving.

    With the mean of the velocities at both ends, of which the one at the end is that at the start unless it is asked
    for. Constraints and conditions see nothing of such coordinates, so that the rest of the way is as it was.
    """
    system, n, (t0, t1) = way.system, way.system.n_q, way.t_span
    first, last = system.velocity(t0, way.first), way.last
    going = ~_turning(system) & (way.first[:n] == way.last[:n]) & (first != 0)
    while going.any():  # what is seen at neither end is not seen on the straight way from one to the other
        seen = np.abs(conditions.with_constraints(last, t1, conditions.numbers)[1]).any(axis=0)
        if last is way.last:
            end = np.where(seen[n:], _asked(conditions, t1), first)
        elif not (going & seen[:n]).any():
            return way._replace(last=last, rates=np.where(going, [first, end], 0.0))
        going &= ~seen[:n]
        last = way.last.copy()
        last[:n] += np.where(going, (t1 - t0) * (first + end) / 2, 0.0)
    return way


def with_known_states(system, z, t_span):
    """A state at the start of a time span, with the states of first order at its end whose rates depend on the time
    alone, such as the mass of a stage that burns steadily."""
    z = z.copy()
    for body in system.bodies:
        acting = [part for part in system.parts if not part.is_body and any(body is one for one in part.bodies)]
        if acting and len(body.first_order) == body.n_q and all(isinstance(part, StateRate) for part in acting):
            change = sum(part.change(*t_span) for part in acting if part.bodies[0] is body)
            z[:system.n_q][system.coordinates(body)] += np.where(np.isfinite(change), change, 0.0)
    return z


def _turning(system):
    """Which coordinates do not go on by their velocities: orientations, generalized ones, states of first order."""
    found = np.zeros(system.n_q, bool)
    for body in system.bodies:
        part = system.coordinates(body)
        if body.has_orientation:
            found[part.start + 3:part.stop] = True
        elif not body.begins_with_position or body.n_increments is None:
            found[part] = True
    found[first_order_places(system)] = True
    return found


def _asked(conditions, t):
    """Velocities of least momenta that hold conditions and constraints at the state there."""
    system, size, (q, p) = conditions.system, conditions.system.state_scale, np.split(conditions.state, 2)
    if not p.any():
        return np.zeros(system.n_q)
    by_momenta = conditions.jacobian(t)[:, system.n_q:]
    least = np.linalg.lstsq(by_momenta, by_momenta @ (p / size[system.n_q:]), rcond=INDEPENDENT)[0]
    return system.velocity(t, np.concatenate([q, size[system.n_q:] * least]))


def _speeds_free(conditions, t):
    """Which velocities of bodies that do not turn conditions and constraints leave free altogether, shape (n_q,)."""
    system, n = conditions.system, conditions.system.n_q
    found = ~np.abs(conditions.jacobian(t)[:, n:]).any(axis=0)
    for body in system.bodies:
        if body.has_orientation or body.n_increments is None:
            found[system.coordinates(body)] = False
    found[first_order_places(system)] = False
    return found


def _free(conditions, t, span):
    """Which coordinates conditions and constraints leave free, shape (n_q,); those of an orientation all or none."""
    system = conditions.system
    free = _left(conditions, t, span)[:system.n_q] > INDEPENDENT
    for body in system.bodies:
        if body.has_orientation:
            turns = free[system.coordinates(body)][3:]
            turns[:] = turns.any()
    return free


def asked_of(conditions, t, span):
    """Which coordinates, and which velocities, conditions and constraints settle, shape (n_q,) each."""
    return ~_free(conditions, t, span), ~_free_rates(conditions, t, span)


def _free_rates(conditions, t, span):
    """Which velocities conditions and constraints leave free, shape (n_q,)."""
    return _left(conditions, t, span)[conditions.system.n_q:] > INDEPENDENT


def _left(conditions, t, span):
    """How far conditions and constraints let components of the state go, over their sizes, shape (n_z,), in a time
    `span`."""
    n = conditions.system.n_q
    gradients = conditions.jacobian(t) * conditions.system.state_scale * np.repeat([span, 1.0], n)
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.abs(null_space(gradients / np.where(lengths > 0, lengths, 1.0))).max(axis=1, initial=0.0)


def controls_along(way, bounds, states):
    """Controls that follow a motion, by inverse dynamics.

    Parameters
    ----------
    way : Way
    bounds : ndarray, shape (2, n_controls)
    states : callable
        Times (n,) -> states (n, n_z).

    Returns
    -------
    times, controls : ndarray, shapes (k,), (k, n_controls)
        Within their bounds; controls is None where actuators, with bounds or without, cannot make the accelerations.
    """
    system, n_q = way.system, way.system.n_q
    t = np.linspace(*way.t_span, OPTIONS.states_per_sample * (OPTIONS.rate_samples - 1) + 1)
    z = states(t)
    v = system.velocity(t, z)
    accelerations = np.gradient(v, t, axis=0, edge_order=2)
    middle, lower, upper = range_inside(bounds)
    root, controls, left, asked = np.sqrt(system.mass_scale), [], 0.0, 0.0
    for i in range(0, len(t), OPTIONS.states_per_sample):
        try:
            _, u, missed = _made(system, float(t[i]), z[i, :n_q], v[i], middle, accelerations[i])
        except (InputError, np.linalg.LinAlgError, ValueError):
            return t, None
        left, asked = left + np.sum((root * missed)**2), asked + np.sum((root * accelerations[i])**2)
        controls.append(np.clip(u, lower, upper))
    return t[::OPTIONS.states_per_sample], np.array(controls) if left <= OPTIONS.accelerations_left**2 * asked else None


def balance(system, bounds, times, states, flowing=False):
    """Controls and configuration multipliers that leave the least acceleration at rest.

    `M a = Q + B u - G^T gamma` with |a| as small as the controls, within their bounds, can make it, and then as little
    off the middle of bounds, or off zero.

    Parameters
    ----------
    system : System
    bounds : ndarray, shape (2, n_controls)
        Lower and upper ones; infinite where there are none.
    times : ndarray, shape (n,)
        Increasing [s].
    states : ndarray, shape (n, n_z)
    flowing : bool
        Whether states of first order are to change as these states do, and not to rest.

    Returns
    -------
    times, controls, multipliers : ndarray, shapes (k,), (k, n_controls), (k, n_constraints)
        At some of these times; as without loads where accelerations are not determined.
    """
    middle, lower, upper = range_inside(bounds)
    places = np.unique(np.linspace(0, len(times) - 1, OPTIONS.balance_samples).astype(int))
    controls = np.tile(middle, (len(places), 1))
    multipliers = np.zeros((len(places), system.n_constraints))
    still, wanted = np.zeros(system.n_q), np.zeros((len(times), system.n_q))
    flows = np.array(first_order_places(system), int)
    if flowing and len(flows):
        wanted[:, flows] = np.gradient(states[:, flows], times, axis=0)
    for i, place in enumerate(places):
        q = states[place, :system.n_q]
        try:
            at, found, _ = _made(system, float(times[place]), q, still, middle, wanted[place])
            controls[i] = np.clip(found, lower, upper)
            multipliers[i] = at.multipliers_with(controls[i])[:system.n_constraints]
        except (InputError, np.linalg.LinAlgError, ValueError):
            continue
    fine = np.isfinite(controls).all(axis=1) & np.isfinite(multipliers).all(axis=1)
    return times[places], np.where(fine[:, None], controls, middle), np.where(fine[:, None], multipliers, 0.0)


def _made(system, t, q, v, u, wanted):
    """Controls that make the wanted accelerations (n_q,) as well as they can, found from `u`; the equations of motion
    from which they are one step away, and what is missed of the accelerations there.

    One step where controls enter linearly, as forces of actuators do; Gauss-Newton steps while they help elsewhere.
    """
    def missed(at):
        return at.acceleration - wanted

    root = np.sqrt(system.mass_scale)
    at = EquationsOfMotion(system, t, q, v, u)
    for _ in range(OPTIONS.control_steps):
        new = at.balance(wanted)
        left = missed(at) + at.by_controls() @ (new - at.u)
        size = np.linalg.norm(root * missed(at))
        if not np.linalg.norm(root * left) < (1 - OPTIONS.balanced) * size:  # nothing more to gain
            break
        there = EquationsOfMotion(system, t, q, v, new)
        curved = np.linalg.norm(root * (missed(there) - left))
        if curved <= OPTIONS.balanced * size or not np.linalg.norm(root * missed(there)) < size:
            break
        at = there
    return at, new, left


def range_inside(bounds):
    """The middle of bounds (2, n_controls), zero where there are none, and the range that keeps from them."""
    bounded = np.isfinite(bounds).all(axis=0)
    # controls that nothing asks for stand in the middle of their bounds, and none at a bound
    middle = np.where(bounded, bounds, 0.0).sum(axis=0) / 2
    inset = np.where(bounded, OPTIONS.inside * np.ptp(np.where(bounded, bounds, 0.0), axis=0), 0.0)
    return middle, bounds[0] + inset, bounds[1] - inset
