"""The start of an optimal control problem: a state, or conditions that leave some of it free."""

from copy import copy

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.bodies.states import CanonicalState, Coordinates, Pose
from ....mechanics.parts import body_of
from ....mechanics.states.given import with_followers
from ....mechanics.values.conserved import names_at_rest, values_at_rest
from ....memory import Late
from ...end import End
from ...initial.problem import InitialValueProblem, checked_span
from ...targets import AsCounted, EndState, body_velocity, in_coordinates, split_targets
from ..options import OPTIONS
from .end_conditions import EndConditions

redundancy = Late("timefem.mechanics.states.redundancy")


def start_of(system, start, t_span, near, numbered, turns_go_on=False):
    """The state at the start, or one that holds the conditions there.

    A body that moves at the start keeps its velocities, whatever an unknown number of its inertia turns out to be: its
    momenta there are conditions.

    Parameters
    ----------
    system : System
    start : dict
        Body -> state; an `EndState` leaves free what it leaves out.
    t_span : (float, float)
    near : dict or None
        Body -> state near which what is left free is looked for.
    numbered : callable
        System -> the unknown numbers, and the guesses of all unknown constants, these last.
    turns_go_on : bool
        Whether whole turns at a free start are those of a phase before, and not counted anew.

    Returns
    -------
    system : System
        Without redundant constraints, if it drops them.
    z0 : ndarray, shape (n_z,)
    t_span : (float, float)
    conditions : EndConditions or None
        None where the state is given as a whole.
    """
    def conditions(system, targets, formula, z):
        numbers, guesses = numbered(system)

        def at_start(z, c):
            values = ca.vertsplit(c)[len(guesses) - len(numbers):] if len(numbers) else []
            return End(system, t_span[0], z, numbers.at(values)), {}

        return EndConditions(system, targets, (formula, at_start), t_span[0], z, guesses, "start")

    bodies = [body for body in system.bodies if not body.helper]
    if isinstance(start, EndState) and len(bodies) == 1:
        start = {bodies[0]: start}
    if not isinstance(start, dict) or not any(map(_leaves_free, start.values())):
        given = InitialValueProblem(system, start, t_span)
        system, z, t_span = given.system, given.z0, given.t_span
        numbers, guesses = numbered(system)
        changing, moving = _moving(system, start, z, numbers)
        if numbers:
            _check_constraints(system, moving, z, t_span[0], numbers, guesses)
        found = conditions(system, {}, lambda end, _: end.z - _kept_velocities(moving, end, z), z) if changing else None
        return system, z, t_span, found
    t_span, (start, of_frames) = checked_span(system, t_span), split_targets(system, "start", start, rates=True)
    start = {system.find(body): state for body, state in start.items()}
    free = {body: _of_joints(body, of_frames) for body in {frame.body for frame in of_frames}}
    counters = counters_at_start(system, start)
    for body in system.bodies:
        if body.helper:  # which others put where they are
            start.setdefault(body, AsCounted() if body in counters and not turns_go_on else EndState())
        elif body not in start and body not in free and not body.has_position:
            raise InputError(f"start of {system.label(body)} is missing: give it as Coordinates or EndState")
        if body not in free:
            start.setdefault(body, Pose())
            start[body] = in_coordinates(f"start of {system.label(body)}", body, start[body])
    near = {body: in_coordinates(f"near of {system.label(body)}", body, state)
            for body, state in ((system.find(body), state) for body, state in (near or {}).items())}
    near = {body: near.get(body, state) if isinstance(state, EndState) or body in free else state
            for body, state in (start | free).items()}
    known = with_followers({body: CanonicalState(*_near(body, near[body], t_span[0])) for body in system.bodies
                            if not (body.helper and isinstance(near[body], EndState))}, system).values()
    z = np.concatenate([*(state.q for state in known), *(state.p for state in known)])

    if system.redundant == "drop":
        system = redundancy.drop_redundant(system, t_span[0], conditions(system, start | of_frames, None, z).state)
    found = conditions(system, start | of_frames, None, z)
    return system, found.state, t_span, found


def counters_at_start(system, start):
    """Counters of turns that a start which leaves some of it free does not name, so that they follow from the rest."""
    if isinstance(start, EndState):
        start = {None: start}
    if not isinstance(start, dict) or not any(map(_leaves_free, start.values())):
        return []
    return [body for body in system.bodies if body.is_counter and body not in start]


def _leaves_free(state):
    """Whether a state at the start leaves some of it free: an `EndState`, also of a joint in the dict of a tree."""
    return isinstance(state, EndState) or (isinstance(state, dict) and any(map(_leaves_free, state.values())))


def _of_joints(tree, of_frames):
    """Coordinates of a tree with what is prescribed for its joints."""
    q, v = tree.reference.q.copy(), np.zeros(tree.n_q)
    for body, target in of_frames.items():
        for out, given in ((q, target.q), (v, target.v)):
            if body.body is tree and given is not None:
                out[body.dofs] = np.where(np.isfinite(given), given, out[body.dofs])
    return Coordinates(q, v)


def _moving(system, start, z, numbers):
    """Bodies that move at a start that is given as a whole, and whose momenta or velocities there follow from unknown
    numbers; and those of them that are given by their velocities."""
    bodies = {part for part in numbers.following if part.is_body}
    start = start if isinstance(start, dict) else {system.bodies[0]: start}
    given = {system.here(key): state for key, state in start.items()}
    by_momenta = [body for body in bodies if any(isinstance(given.get(key), CanonicalState)
                                                 for key in (body, system.label(body)))]
    changing = [body for body in system.bodies if body in bodies and np.any(z[system.n_q:][system.coordinates(body)])]
    return changing, [body for body in changing if body not in by_momenta]


def _check_constraints(system, moving, z, t, numbers, guesses):
    """Refuse unknown numbers for other values of which the given start does not hold the constraints."""
    x, guesses = ca.SX.sym("x", len(numbers)), guesses[len(guesses) - len(numbers):]
    end = End(system, t, ca.SX(z), numbers.at(ca.vertsplit(x)))
    end.z = _kept_velocities(moving, end, z)
    gradient = ca.Function("gradient", [x], [ca.densify(ca.jacobian(end.constraints(), x))])
    names = (*system.constraint_names, *system.constraint_names, *system.nonholonomic_names)
    for values in (guesses, 1.1 * guesses + 0.1):
        for row, column in np.argwhere(np.abs(np.array(gradient(values))) > OPTIONS.changed):
            raise InputError(f"the start satisfies the constraint '{names[row]}' only where {list(numbers)[column]} "
                             "has its present value; give it as EndState, which leaves free what changes with that "
                             "number")


def _kept_velocities(moving, end, z):
    """The state z with the momenta of moving bodies by their velocities in it, and by unknown numbers."""
    system = end.system
    state = ca.SX(z)
    for body in moving:
        place = system.coordinates(body)
        q, p = z[place], z[system.n_q:][place]
        velocity = body_velocity(body, ca.SX(q), ca.SX(p))
        found = body.momenta_of_velocity(ca.SX(q), velocity, end.own_parameters(body))
        state[system.n_q + np.arange(place.start, place.stop)] = found
    return state


def _near(body, state, t):
    """Coordinates and momenta that a search begins from."""
    if not isinstance(state, EndState):
        if isinstance(state, Coordinates) and body.has_position:
            state = body.of_coordinates(state)
        return (state.q, state.p) if isinstance(state, CanonicalState) else body.state(state)

    def plain(value, n):
        return np.zeros(n) if value is None else np.where(np.isfinite(value), value, 0.0)

    if not body.begins_with_position:
        found = Coordinates(plain(state.q, body.n_q), plain(state.v, body.n_q))
        if not body.has_position:
            return body.state(found, t)
        found = body.of_coordinates(found)
        return found.q, found.p
    turn = (1, 0, 0, 0) if state.orientation is None else state.orientation
    omega = plain(state.angular_velocity, 3) if body.has_orientation else np.zeros(3)
    return body.state(Pose(plain(state.position, 3), turn, plain(state.velocity, 3), omega, state.frame))


def start_rows(conditions, now, z, v, c, view, guesses):
    """Conditions and constraints at the start, as rows of unit gradient, and their names.

    Parameters
    ----------
    conditions : EndConditions
    now : End
        The start in symbols.
    z, v, c : SX
        The state there; the velocities, where nodes hold them as well, or None; and the unknown numbers.
    view : View
        Of the state, and of the velocities, there.
    guesses : ndarray
        Of the unknown numbers.

    Returns
    -------
    w : SX
        State and velocities.
    rows : SX
    names : list of str
    """
    system, names = now.system, names_at_start(now.system) + names_at_rest(now.system)
    constraints, further = (now.constraints(), ca.SX(0, 1)) if v is None else _with_velocities(now, z, v)
    names += [f"the {conditions.names[int(np.argmax(np.abs(c)))]} at the start" for c in conditions.combinations]
    names += [f"the velocity of {system.label(body_of(system, i))} at the start" for i in range(further.numel())]
    w = z if v is None else ca.vertcat(z, v)
    rows = ca.densify(ca.vertcat(constraints, values_at_rest(system, z), conditions(z, c), further))
    gradient = ca.Function("gradient", [w, c], [ca.jacobian(rows, w)])
    size = np.linalg.norm(np.array(gradient(view.start[0], guesses)) * view.factors[0].sum(axis=1), axis=1)
    return w, rows / np.maximum(size, 1e-300), names


def _with_velocities(now, z, v):
    """Constraints `Phi = 0`, `Phi_q v + Phi_t = 0` and nonholonomic ones, and `p - T_v(q, v)`, in velocities v.

    Momenta do not tell all of these, as of quaternions whose length could change.
    """
    system, t, now = now.system, ca.SX.sym("t"), copy(now)
    n, m, now._v, (now.t, t0) = system.n_q, system.n_constraints, v, (t, now.t)
    every = now.constraints()
    rates = ca.jtimes(every[:m], z[:n], v) + ca.jacobian(every[:m], t) if m else ca.SX(0, 1)
    rows = ca.vertcat(every[:m], rates, every[system.n_multipliers:], z[n:] - ca.gradient(now.kinetic_energy(), v))
    return ca.vertsplit(ca.substitute(rows, t, ca.SX(t0)), [0, rows.numel() - n, rows.numel()])


def constraint_names(system, of_joints=False):
    """The constraints by name, on positions, then on velocities; those of joints, or of bodies as well."""
    names = [f"{system.label(part)}: {name}" for part in system.parts if not part.is_body
             for name in part.constraint_names] if of_joints else system.constraint_names
    return [f"the constraint '{name}'{level}" for level in ("", " on velocities") for name in names]


def names_at_start(system):
    """The constraints of a state, in the order of `End.constraints`."""
    return [*constraint_names(system), *(f"the constraint '{name}'" for name in system.nonholonomic_names)]
