"""Sizes of what an optimal control problem looks for, by what it states: masses, lengths, times, bounds and guesses.

With these its program is the same in any units, and so are the tolerances of the methods that solve it.
"""

from dataclasses import replace

import numpy as np

from ....assembly import Scaling
from ....errors import InputError
from ....mechanics.symbols import first_order_places
from ....mechanics.values.equations_of_motion import EquationsOfMotion
from ..guesses.rates import asked_of
from ..options import OPTIONS
from ..statement.complementarity import Soft


def scaling_of(name, phase, plan, t):
    """The `Scaling` called `name` of the optimality system of a problem, with its own sizes where it is "full", as it
    was stated at first: rates where another motion ends can be those of rounding."""
    phase = phase.sized_as or phase
    scale = Scaling.of(name, plan.system, plan.element, t, phase.z0)
    if name != "full" or is_in_units(phase):
        return scale
    energy, span = energy_of(phase), phase.t_span[1] - phase.t_span[0]
    root = np.sqrt(energy)
    return replace(scale, state=_with_first_order(scale.state, phase, root * span), lifts=(root * span, root),
                   controls=sizes_of_controls(phase, root), constants=sizes_of_constants(phase))


def _with_first_order(state, phase, lift):
    """Sizes of a state, of which those of first order, which have no masses, are `_sizes_of_first_order`."""
    places, own, _ = _sizes_of_first_order(phase, lift)
    state, n = state.copy(), phase.system.n_q
    state[places], state[n + places] = own / lift, lift / own
    return state


def _sizes_of_first_order(phase, lift):
    """Places of states of first order, what these are at the ends, or where they are zero at both flow by, and by what
    they change, or where that is nothing are; `lift` where they are nothing, or free and flow by less, or free without
    masses beside them."""
    places = np.array(first_order_places(phase.system), int)
    start, end = phase.z0[places], phase.conditions.state[places]
    own = np.abs([start, end]).max(axis=0, initial=0.0)
    none = ~(own > OPTIONS.rounding_of_states * lift)
    if none.any():  # zero at both ends, or free at the other, where they may grow from next to nothing
        span = phase.t_span[1] - phase.t_span[0]
        closed = asked_of(phase.conditions, phase.t_span[1], span)[0][places]
        flows, moved = (of[places] for of in _flows(phase))
        known = closed & (flows > OPTIONS.rounding_of_states * lift)
        free = np.maximum(flows + moved, lift) if len(places) < phase.system.n_q else lift  # one, without masses
        own = np.where(none, np.where(known, flows, free), own)
    changes = np.abs(end - start)
    return places, own, np.where(changes > OPTIONS.rounding_of_states * own, changes, own)


def _flows(phase):
    """By how much coordinates change within the time at their rates at the start, with controls as large as their two
    bounds, and by what these rates change where masses move as by `rates_of`, shapes (n_q,); nothing where there are
    no rates."""
    (t0, t1), (lower, upper) = phase.t_span, phase.bounds
    rates = np.abs(rates_of(phase))[:, None]
    controls = np.where(np.isfinite(lower) & np.isfinite(upper), np.abs(phase.bounds).max(axis=0), 0.0)
    try:
        at = EquationsOfMotion.of_state(phase.system, t0, phase.z0, np.zeros(phase.n_controls))
        moved = at.tangent(rates * (t1 - t0), rates)[1][:, 0]
        return (np.abs(at.acceleration) + np.abs(at.by_controls()) @ controls) * (t1 - t0), moved * (t1 - t0)
    except (InputError, np.linalg.LinAlgError, ValueError):
        return np.zeros((2, phase.system.n_q))


def has_contacts(phase):
    """Whether it has complementary pairs."""
    return any(isinstance(limit, Soft) for limit in phase.limits)


def is_in_units(phase):
    """Whether it has pairs whose smoothing is in the user's units, with which all of it is."""
    return any(isinstance(limit, Soft) and not limit.has_size for limit in phase.limits)


def with_objective(scale, size):
    """The scaling with an objective of this size, which becomes `TYPICAL`, beside a barrier of 0.1 at first."""
    return replace(scale, objective=size / OPTIONS.typical_objective)


def energy_of(phase):
    """Twice the kinetic energy of masses that go from start to end in the time given, or have the speeds there; of
    masses that go by one in the time without either."""
    return (phase.system.mass_scale * rates_of(phase)**2).max()


def rates_of(phase):
    """Rates of that size, shape (n_q,): by how much mean ones from start to end, or those there, differ from going on
    as at the start; those there where they do not. What is free at the end goes on."""
    system, (t0, t1) = phase.system, phase.t_span
    n, mass, flows = system.n_q, system.mass_scale, first_order_places(system)
    start, end = phase.z0, phase.conditions.state
    places, rates = asked_of(phase.conditions, t1, t1 - t0)
    with np.errstate(invalid="ignore", over="ignore"):
        first, last = start[n:] / mass, end[n:] / mass
        first[flows], last[flows] = 0.0, 0.0  # rounding of searches
        changes = [np.where(places, (end - start)[:n] / (t1 - t0) - first, 0.0), np.where(rates, last - first, 0.0)]
        rounding = (100 * np.finfo(float).eps)**2 * np.nanmax(mass * np.fmax(first**2, last**2), initial=0.0)
        for found in (changes, [first, last]):
            most = np.array([(mass * v**2).max(initial=0.0) for v in found])
            most[~np.isfinite(most)] = 0.0
            most[most <= rounding] = 0.0
            if most.any():
                return found[int(np.argmax(most))]
    return np.where(mass == mass.max(), 1 / (t1 - t0), 0.0)


def sizes_of_controls(phase, root):
    """The larger one of two finite bounds; else what gives masses their size of speed within the time."""
    lower, upper = phase.bounds
    bounded = np.isfinite(lower) & np.isfinite(upper)
    sizes = np.abs(np.where(bounded, phase.bounds, 0.0)).max(axis=0)
    if not bounded.all():
        sizes = np.where(bounded, sizes, _by_effect(phase, root))
    return np.where(sizes > 0, sizes, 1.0)


def _by_effect(phase, root):
    """By the power that gives the energy within the time where a control drives the motion that has it, as a motor of a
    flexible arm, which accelerates little at first; else by that acceleration. States of first order, which do not
    accelerate, go by their change within the time, or where they flow faster by themselves by what stops that."""
    system, (t0, t1) = phase.system, phase.t_span
    weights, rates = np.sqrt(system.mass_scale), rates_of(phase)
    places, _, changes = _sizes_of_first_order(phase, root * (t1 - t0))
    weights[places] = root / changes
    try:
        at = EquationsOfMotion.of_state(system, t0, phase.z0, np.zeros(phase.n_controls))
        along = weights[:, None] * at.by_controls()
    except (InputError, np.linalg.LinAlgError, ValueError):
        return np.zeros(phase.n_controls)
    effect, direction = np.linalg.norm(along, axis=0), weights * rates
    flow = (weights * at.acceleration)[places] @ along[places] / np.maximum(effect, 1e-300)
    driven = np.abs(direction @ along) / np.linalg.norm(direction)
    effect = np.where(driven > OPTIONS.drives * effect, driven, effect)
    largest = effect.max(initial=0.0)
    asked = np.maximum(root / (t1 - t0), np.abs(flow))
    return np.where(effect > 1e-6 * largest, asked / np.maximum(effect, 1e-300), 0.0)


def sizes_of_constants(phase):
    """Of the duration over that of the guess, one; of others their guesses, or bounds where these are zero."""
    guesses, bounds = np.abs(phase.guesses), np.abs(phase.number_bounds)
    bounds = np.where(np.isfinite(bounds), bounds, 0.0).max(axis=0, initial=0.0)
    sizes = np.where(guesses > 0, guesses, bounds) / np.abs(phase.units)
    return np.where(sizes > 0, sizes, 1.0)


def most_of_controls(phase, mesh, degree):
    """Largest controls in magnitude, shape (n_controls,); infinite where costs or bounds say enough."""
    most = np.full(phase.n_controls, np.inf)
    if not phase.limits_itself.any():
        return most
    system = phase.system
    q, scale, none = phase.z0[:system.n_q], np.sqrt(system.mass_scale), np.zeros(phase.n_controls)

    def by_controls(v):
        return scale[:, None] * EquationsOfMotion(system, phase.t_span[0], q, v, none).by_controls()

    try:
        still = by_controls(np.zeros(system.n_q))
        turns = np.array([by_controls(v) - still for v in np.diag(1 / scale)])  # (along, n_q, n_controls)
    except (InputError, np.linalg.LinAlgError):
        return most
    rates = np.linalg.norm(turns, ord=2, axis=(0, 1))
    least = OPTIONS.turn * degree / (mesh.lengths.max() * np.maximum(rates, 1e-300))
    return np.where(phase.limits_itself & (rates > 0), least, np.inf)
