"""What is asked of bodies at an end of a boundary-value problem, checked."""

from ...errors import InputError
from ...mechanics import CanonicalState, Coordinates, Pose
from ...mechanics.given_states import canonical_states, given_states
from ...mechanics.tree_joints import with_joints_of_trees
from .carried_targets import split_targets
from .end_state import EndState


def targets_of_bodies(system, which, targets, t, rates=True):
    """Targets by body, from those by body, joint of a tree or joint between bodies.

    With joints between bodies among the keys, all bodies follow from them, as in `System.state`.

    Parameters
    ----------
    rates : bool
        Whether coordinates of joints ask for velocities, too.

    Raises
    ------
    InputError
        For an `EndState` beside joints between bodies, and what `System.state` raises.
    """
    targets = with_joints_of_trees(system, targets)
    joint = next((key for key in targets if system.is_joint(key)), None)
    if joint is None:
        return targets
    if any(isinstance(value, EndState) for value in targets.values()):
        label = joint if isinstance(joint, str) else system.label(joint)
        raise InputError(f"{which}: the state of all bodies follows from the coordinates of joints, such as {label!r}, "
                         "and no EndState goes beside them; give EndStates of bodies, and in optimal control of single "
                         "joints a Limit(joint, value, value, at='end')")
    states = given_states(system, canonical_states(system, targets, t))
    return {body: state if rates else _configuration(body, state) for body, (_, state) in states.items()
            if not body.helper}


def _configuration(body, state):
    if not body.has_position:
        return EndState(q=state.q)
    turn = body.orientation(state.q) if body.has_orientation else None
    return EndState(position=body.position(state.q), orientation=turn)


def checked_targets(system, which, targets, t):
    """What is asked of bodies at an end: dict body -> EndState, Coordinates or CanonicalState."""
    if isinstance(targets, Coordinates | CanonicalState | EndState | Pose) and len(system.bodies) == 1:
        targets = {system.bodies[0]: targets}
    if targets is None:
        return {}
    if not isinstance(targets, dict):
        raise InputError(f"{which} must be a dict from body to Pose, EndState or Coordinates, not {targets!r}")
    targets, carried = split_targets(system, which, targets, rates=False)
    out = {}
    for body, target in targets_of_bodies(system, which, targets, t, rates=False).items():
        body = system.find(body)
        title, generalized = f"{which} of {system.label(body)}", not body.has_position
        known = (Coordinates, EndState, CanonicalState) if generalized else (Pose, EndState, CanonicalState)
        if isinstance(target, dict) and hasattr(body, "by_joint"):
            target = body.by_joint(target)
        if not isinstance(target, known):
            raise InputError(f"{title} must be given as {' or '.join(c.__name__ for c in known)}, not {target!r}")
        if isinstance(target, Pose):
            turns = body.has_orientation
            if not turns:
                body.state(target)  # refuses what a point mass has not
            target = EndState(position=target.position, orientation=target.quaternion if turns else None)
        elif isinstance(target, Coordinates):
            target = EndState(q=target.q)
        for name in ("q", "p", "v"):
            value = getattr(target, name, None)
            if value is not None and len(value) != body.n_q:
                raise InputError(f"{title}: {name} must have length {body.n_q}, not {len(value)}")
        wrong = ("q", "v") if not generalized else ("position", "orientation", "velocity", "angular_velocity")
        wrong = wrong if isinstance(target, EndState) else ()
        wrong += ("orientation", "angular_velocity") if body.has_position and not body.has_orientation else ()
        for name in wrong:
            if getattr(target, name, None) is not None:
                raise InputError(f"{title}: {body!r} has no {name.replace('_', ' ')}")
        out[body] = target
    return out | carried
