"""The states that a user gave, of all bodies, as coordinates and momenta."""

from typing import TypeAlias

import numpy as np

from ... import validate
from ...errors import InputError
from ...types import States
from ..bodies.states import CanonicalState, Coordinates, Pose
from ..body_frame import is_on_tree
from ..parts import is_joint
from .in_trees import in_space, resolved_states, tree_joint

GivenStates: TypeAlias = States | Coordinates | CanonicalState | np.ndarray  # of all bodies, or of the only one


def states_of(system, z):
    """Dict body -> `CanonicalState` of a whole state z = (q, p)."""
    return {body: CanonicalState(*system.local_state(body, z)) for body in system.bodies}


def canonical_states(system, state, t, approximate=False):
    """The states that a user gave, with a `CanonicalState` for each body without a position, such as a
    `GeneralizedBody`, and for all of a whole state z; see `InitialValueProblem`. Coordinates of joints that are
    `approximate` need not close loops.

    Raises
    ------
    InputError
        As `GeneralizedBody.state`; when a `GeneralizedBody` is left out, for it has no reference position.
    """
    if isinstance(state, np.ndarray):
        return states_of(system, validate.array("state", state, (system.n_z,)))
    asked, state = state, resolved_states(system, state)
    generalized = [body for body in system.bodies if not (body.has_position or body.helper)]
    if isinstance(state, Coordinates | CanonicalState) and len(system.bodies) == 1:
        state = {system.bodies[0]: state}
    if not isinstance(state, dict):
        return state
    if any(is_joint(system, part) for part in state) or (
            isinstance(asked, dict) and any(follows_from_joints(system, key) for key in asked)):
        return system.state(state, t=t, approximate=approximate)
    state = {system.find(body): value for body, value in state.items()}
    state = {body: body.of_coordinates(value) if isinstance(value, Coordinates) and body.has_position else value
             for body, value in state.items()}
    for body in generalized:
        value = state.get(body, body.reference)
        if body not in state and isinstance(value, Pose):
            form = "Coordinates(q, v)" if not body.first_order else "a number" if body.n_q == 1 else "a list of numbers"
            raise InputError(f"state of {system.label(body)} is missing: give it as {form}")
        state[body] = CanonicalState(*body.state(value, t))
    return state


def follows_from_joints(system, key):
    """Whether all bodies follow from the coordinates of joints where this is among them: a joint between bodies, or one
    of a tree, of which others close loops."""
    return is_joint(system, key) or (tree_joint(system, key) is not None and any(
        part.constraint_names and not part.is_body for part in system.parts))


def joint_meant(system, key):
    """The joint that a key of targets stands for, on a tree or between bodies; None for a body."""
    if is_joint(system, key):
        return system.here(system[key] if isinstance(key, str) else key)
    return tree_joint(system, key)


def apart_from_joints(system, targets):
    """Bodies that nothing holds to the ground, nor to what joints among the targets hold: their ends are their own."""
    joints = [part for part in system.parts if part.constraint_names and not part.is_body]
    links = [_bodies_of(part) for part in joints]
    for body in system.bodies:  # nodes of a beam
        if body.owner is not None:
            links.append({body} | {other for other in system.bodies if other.owner is body.owner})
    given = [joint for key in targets if (joint := joint_meant(system, key)) is not None]
    held = {body for body in system.bodies if getattr(body, "base", None) == "fixed"}.union(
        *(_bodies_of(part) for part in joints if len(part.bodies) == 1),
        *({joint.body} if is_on_tree(joint) else _bodies_of(joint) for joint in given))
    while more := {body for link in links if link & held for body in link} - held:
        held |= more
    return [body for body in system.bodies if not (body in held or body.helper)]


def _bodies_of(part):
    """The bodies whose coordinates the frames have that a part acts on."""
    return {one.body for frame in part.bodies for one in frame.frames}


def given_states(system, state):
    """The states that a user gave: dict body -> (what was given, `CanonicalState`), for all bodies in order.

    Raises
    ------
    InputError
        For an unknown body, a wrong length or type.
    """
    if not isinstance(state, dict):
        raise InputError(f"state must be a dict from body to Pose, or a whole state (q, p) such as solution.z[-1], "
                         f"not {state!r}")
    values = {system.find(body): value for body, value in state.items()}
    given = {}
    for body in system.bodies:
        value = values.get(body, body.reference)
        if isinstance(value, Pose):
            value = in_space(system, body, values)
            given[body] = value, None if body.helper else CanonicalState(*body.state(value))
        elif not isinstance(value, CanonicalState):
            raise InputError(f"state of {system.label(body)} must be a Pose, Coordinates or CanonicalState, "
                             f"not {value!r}")
        elif len(value.q) != body.n_q:
            raise InputError(f"state of {system.label(body)}: q and p must have length {body.n_q}, not {len(value.q)}")
        else:
            given[body] = value, value
    found = with_followers({body: state for body, (_, state) in given.items() if state is not None}, system)
    return {body: (value if state is not None else found[body], found[body]) for body, (value, state) in given.items()}


def with_followers(states, system):
    """The same with the states of bodies that start where others put them: dict body -> `CanonicalState`."""
    for body in system.bodies:
        if body not in states:
            known = {other: (s.q, s.p) for other, s in states.items()}
            # followers name the bodies that they were made of, for which others may stand
            known |= {old: known[new] for old, new in system.stands_for.items() if new in known}
            states[body] = CanonicalState(*body.start(known, system.__getitem__))
    return {body: states[body] for body in system.bodies}
