"""What is prescribed for bodies at an end of a motion, checked."""


import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError, NotAsked, warn
from ...mechanics.bodies.states import CanonicalState, Coordinates, Pose
from ...mechanics.body_frame import is_on_tree
from ...mechanics.part_names import is_joint
from ...mechanics.states.from_joints import given_coordinates
from ...mechanics.states.given import canonical_states, follows_from_joints, given_states
from ...mechanics.states.in_trees import in_space, with_joints_of_trees
from .end_state import EndState
from .frame_targets import split_targets

SPACE = 3  # dimensions
ASKED_BY = "leave it out, or ask for it by an EndState or by conditions, as in end.joint_rate('hinge') - 0.5"


def _targets_of_bodies(system, which, targets, t, rates):
    """Targets by body, from those by body, joint of a tree or joint between bodies.

    With joints between bodies among the keys, or joints of trees where others close loops, all bodies follow from them,
    as in `System.state`.

    Parameters
    ----------
    rates : bool
        Whether coordinates of joints ask for velocities, too.

    Raises
    ------
    InputError
        For an `EndState` beside joints between bodies, and what `System.state` raises.
    """
    joint = next((key for key in targets if follows_from_joints(system, key)), None)
    if joint is None:
        return with_joints_of_trees(system, targets)
    if any(isinstance(value, EndState) for value in targets.values()):
        label = joint if isinstance(joint, str) else system.label(joint)
        raise InputError(f"{which}: the state of all bodies follows from the coordinates of joints, such as {label!r}, "
                         "and cannot be combined with EndStates; give EndStates of bodies, and in optimal control of "
                         "single joints a Limit(joint, value, value, at='end')")
    states = given_states(system, canonical_states(system, targets, t))
    return {body: state if rates else _configuration(body, state) for body, (_, state) in states.items()
            if not body.helper}


def _configuration(body, state):
    if not body.begins_with_position:
        return EndState(q=state.q)
    turn = body.orientation(state.q) if body.has_orientation else None
    return EndState(position=body.position(state.q), orientation=turn)


def _moves(value):
    """Whether a velocity is given where coordinates alone are asked for: by (coordinate, rate) of a joint, too."""
    if isinstance(value, dict):
        return any(map(_moves, value.values()))
    if isinstance(value, Pose):
        return value.velocity.any() or value.angular_velocity.any()
    if isinstance(value, Coordinates):
        return np.any(value.v)
    return isinstance(value, list | tuple | np.ndarray) and len(value) == 2


def check_turns(system, start, end):
    """Refuse angles of joints at both ends that orientations of bodies do not tell from others: quaternions tell turns
    of less than a whole one, by their signs, directors of less than half a one.

    Raises
    ------
    InputError
    """
    if not (isinstance(start, dict) and isinstance(end, dict)):
        return
    angles = [{}, {}]
    for found, given in zip(angles, (start, end), strict=True):
        for key, value in given.items():
            if not is_joint(system, key):
                continue
            joint = system.here(system[key] if isinstance(key, str) else key)
            if is_on_tree(joint) or not getattr(joint, "coordinates", ()) or getattr(joint, "free_rotation", False):
                continue
            values = given_coordinates(system.label(joint), joint, value)
            found |= {(joint, c.name): values[c.name][0] for c in joint.coordinates if c.turns}
    for (joint, name), last in angles[1].items():
        turn = abs(last - angles[0].get((joint, name), last))
        signed = all(hasattr(body, "quaternion") for body in joint.bodies if body.has_orientation)
        if turn >= (2 if signed else 1) * np.pi:
            raise InputError(f"{system.label(joint)}: {name} goes by {turn:.3g} rad from start to end, which the "
                             f"{'quaternions' if signed else 'directors'} of its bodies do not tell from less; "
                             "System(..., coordinates='joint') counts turns")


def checked_targets(system, which, targets, t, rates):
    """What is prescribed for bodies, links and joints: dict body -> EndState or CanonicalState.

    Parameters
    ----------
    which : str
        For messages: "start", "end" or "near".
    targets : dict, Pose, EndState, Coordinates, CanonicalState or None
        By body, joint of a tree or joint between bodies, or name; without the dict of the only body.
    t : float
        Time [s].
    rates : bool
        Whether a `Pose`, `Coordinates` and coordinates of joints ask for velocities, too.

    Raises
    ------
    InputError
        For bodies that there are not, types and lengths that do not fit, and what bodies do not have.

    Warns
    -----
    NotAsked
        For velocities that are given and not asked for.
    """
    if isinstance(targets, Coordinates | CanonicalState | EndState | Pose) and len(system.bodies) == 1:
        targets = {system.bodies[0]: targets}
    if targets is None:
        return {}
    if not isinstance(targets, dict):
        raise InputError(f"{which} must be a dict from body to Pose, EndState or Coordinates, not {targets!r}")
    for key, value in targets.items() if not rates and which != "near" else ():
        if _moves(value):
            label = key if isinstance(key, str) else system.label(key)
            warn(f"{which} of {label}: a boundary-value problem does not prescribe the velocity that is given with a "
                 f"Pose, Coordinates or joint; {ASKED_BY}", NotAsked)
    targets, of_frames = split_targets(system, which, targets, rates)
    targets = {system.find(body): target
               for body, target in _targets_of_bodies(system, which, targets, t, rates).items()}
    out = {}
    for body, target in targets.items():
        title = f"{which} of {system.label(body)}"
        if isinstance(target, Pose) and target.relative_to is not None:
            target = _in_space(title, system, body, targets)
        out[body] = _checked(title, body, target, rates)
    return out | of_frames


def _in_space(title, system, body, targets):
    """A `Pose` that is relative to another body, in space."""
    other = system.find(targets[body].relative_to)
    if not isinstance(targets.get(other.body), Pose | CanonicalState | Coordinates):
        raise InputError(f"{title}: its pose is relative to {system.label(other)}, whose pose is not given completely "
                         "there; give that, or this one in space")
    return in_space(system, body, targets)


def _as_pose(body, state):
    """A `CanonicalState` as a `Pose`, which leaves velocities free where none are asked for; with a mass as it is."""
    if body.first_order:
        return state
    turn = {"orientation": body.orientation(state.q), "angular_velocity": body.angular_velocity(state.q, state.p)} \
        if body.has_orientation else {}
    return Pose(body.position(state.q), velocity=body.velocity(state.q, state.p), **turn)


def in_coordinates(title, body, target, rates=True):
    """What is prescribed for a body whose coordinates do not begin with its position, such as polar ones: of a `Pose`,
    `Coordinates` and places in space an `EndState` of coordinates; others as they are.

    Raises
    ------
    InputError
        For a place that is not given as a whole, with other coordinates beside it, or where the body cannot be.
    """
    if body.begins_with_position or not body.has_position or not isinstance(target, Pose | Coordinates | EndState):
        return target
    if not isinstance(target, EndState):
        target = EndState.of(target, rates)
    elif not body.has_orientation and not (target.orientation is target.angular_velocity is None):
        return target  # refused by whoever checks it
    turns = 1 + body.has_orientation
    places, speeds = ("position", "orientation")[:turns], ("velocity", "angular_velocity")[:turns]
    given = {name: value for name in places + speeds if (value := getattr(target, name)) is not None}
    if not given:
        return target
    asked = places + speeds * any(name in given for name in speeds)
    if target.q is not None or target.v is not None or not all(
            name in given and np.isfinite(given[name]).all() for name in asked):
        raise InputError(f"{title}: the coordinates of {body!r} are not its {' and '.join(places)}, of which these "
                         f"follow only where {' and '.join(asked)} are given as a whole; give these alone, or q and v, "
                         "or conditions by formulas, as end.position(body)[0] - 0.5")
    q, p = body.state(Pose(**given, frame=target.frame))
    place = body.position(q)
    if not np.allclose(place, given["position"], rtol=0, atol=1e-9 * np.abs([place, given["position"]]).max()):
        raise InputError(f"{title}: {body!r} cannot be at {digits(given['position'])}; the nearest place is "
                         f"{digits(place)}")
    q, p = np.array(q, float), np.array(p, float)
    v = np.array(ca.evalf(body.velocity_of_momenta(ca.SX(q), ca.SX(p), body.own_parameters))).ravel()
    return EndState(q=q, v=v if asked != places else None)


def _checked(title, body, target, rates):
    """What is prescribed for a body, an `EndState` or a `CanonicalState`."""
    target = in_coordinates(title, body, target, rates)
    if isinstance(target, dict) and hasattr(body, "by_joint"):
        target = body.by_joint(target)
    if len(body.first_order) == body.n_q and not isinstance(target, EndState):
        target = EndState(q=body.state(target)[0])  # rates follow
    if isinstance(target, Coordinates) and body.has_position:
        target = _as_pose(body, body.of_coordinates(target))
    known = (Pose if body.has_position else Coordinates, EndState, CanonicalState)
    if not isinstance(target, known):
        raise InputError(f"{title} must be given as {' or '.join(c.__name__ for c in known)}, not {target!r}")
    if isinstance(target, Pose) and not body.has_orientation:
        body.state(target)  # refuses what a point mass has not
        target = EndState(target.position, velocity=target.velocity if rates else None)
    elif isinstance(target, Pose | Coordinates):
        target = EndState.of(target, rates)
    wrong = ("position", "velocity") if not body.has_position else ("q", "v") if body.begins_with_position else ()
    wrong += () if body.has_orientation else ("orientation", "angular_velocity")
    for name in wrong if isinstance(target, EndState) else ():
        if getattr(target, name) is not None:
            raise InputError(f"{title}: {body!r} has no {name.replace('_', ' ')}")
    for name in ("position", "velocity") if isinstance(target, EndState) and body.dimension < SPACE else ():
        beyond = getattr(target, name)
        if beyond is not None and np.any(np.nan_to_num(beyond[body.dimension:])):
            raise InputError(f"{title}: {name} {digits(beyond)} leaves the first {body.dimension} axes, in which it "
                             "moves; set the other components to None, or use a larger dimension")
    for name in ("q", "p", "v"):
        value = getattr(target, name, None)
        if value is not None and len(value) != body.n_q:
            raise InputError(f"{title}: {name} must have length {body.n_q}, not {len(value)}")
    return target
