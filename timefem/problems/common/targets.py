"""What is asked of bodies at an end of a boundary-value problem, checked."""

from ...errors import InputError
from ...mechanics import CanonicalState, Coordinates, Pose
from ...mechanics.tree_joints import with_joints_of_trees
from .carried_targets import split_targets
from .end_state import EndState


def checked_targets(system, which, targets):
    """What is asked of bodies at an end: dict body -> EndState, Coordinates or CanonicalState."""
    if isinstance(targets, Coordinates | CanonicalState | EndState | Pose) and len(system.bodies) == 1:
        targets = {system.bodies[0]: targets}
    if targets is None:
        return {}
    if not isinstance(targets, dict):
        raise InputError(f"{which} must be a dict from body to Pose, EndState or Coordinates, not {targets!r}")
    targets, carried = split_targets(system, which, targets, rates=False)
    out = {}
    for body, target in with_joints_of_trees(system, targets).items():
        body = system.find(body)
        title, generalized = f"{which} of {system.label(body)}", not body.has_position
        known = (Coordinates, EndState, CanonicalState) if generalized else (Pose, EndState, CanonicalState)
        if isinstance(target, dict) and hasattr(body, "by_joint"):
            target = body.by_joint(target)
        if not isinstance(target, known):
            raise InputError(f"{title} must be given as {' or '.join(c.__name__ for c in known)}, not {target!r}")
        if isinstance(target, Pose):
            body.state(target)  # refuses what a point mass has not
            turns = body.has_orientation
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
