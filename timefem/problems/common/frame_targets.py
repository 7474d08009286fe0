"""What is prescribed for single links and joints of trees at an end of a motion."""

from ... import validate
from ...errors import InputError
from ...mechanics.bodies.states import Pose
from ...mechanics.body_frame import BodyFrame, is_on_tree
from ...mechanics.states.in_trees import tree_joint
from .end_state import EndState


def split_targets(system, which, targets, rates):
    """Targets of whole bodies, and those of single links and joints: two dicts, the latter to `EndState`.

    An `EndState` of a link or joint, or of a joint in the dict of a tree, leaves free what it leaves out, and so do the
    joints of its tree that are left out. The base of a free tree is its first link.

    Parameters
    ----------
    rates : bool
        Whether joints of such a dict that are given by numbers, and a `Pose`, ask for velocities, too.

    Raises
    ------
    InputError
        For joints that there are not, and what links and joints do not have.
    """
    whole, of_frames = {}, {}
    partial = {body.body for key, value in targets.items() if isinstance(value, EndState)
               and is_on_tree(body := _found(system, key, value))}
    for key, value in targets.items():
        body, joint = _found(system, key, value), tree_joint(system, key)
        if isinstance(value, EndState) and is_on_tree(body):
            of_frames[body] = value
        elif joint is not None and joint.body in partial:
            name = joint.address[1]
            of_frames[_of_joint(joint.body, name)] = _end_state(joint.body, name, value, rates)
        elif hasattr(body, "by_joint") and isinstance(value, dict) and any(
                isinstance(v, EndState) for v in value.values()):
            of_frames |= {_of_joint(body, validate.choice(f"{which} of {system.label(body)}: joint", name,
                                                        body.joint_names)):
                        _end_state(body, name, own, rates) for name, own in value.items()}
        else:
            whole[key] = value
    for body, target in of_frames.items():
        _check(f"{which} of {system.label(body)}", body, target)
    return whole, of_frames


def _found(system, key, value):
    """The link or joint that an `EndState` is of, or the tree that a dict is of; else None."""
    if not isinstance(value, EndState | dict):
        return None
    joint = tree_joint(system, key)
    if joint is not None:
        return _of_joint(joint.body, joint.address[1])
    return system.find(key) if isinstance(key, str | BodyFrame) else None


def _of_joint(tree, name):
    return tree.link(tree.links[0].name) if name == tree.base_joint else tree.joint(name)


def _end_state(tree, name, value, rates):
    if isinstance(value, EndState):
        return value
    if isinstance(value, Pose) and name == tree.base_joint:
        return EndState.of(value, rates)
    given, places = tree.by_joint({name: value}), tree.joint(name).dofs
    return EndState(q=given.q[places], v=given.v[places] if rates else None)


def _check(title, body, target):
    link = body.has_position
    for name in ("q", "v") if link else ("position", "orientation", "velocity", "angular_velocity"):
        if getattr(target, name) is not None:
            raise InputError(f"{title}: {body!r} has no {name.replace('_', ' ')}; "
                             f"give {'position, orientation and their rates' if link else 'q and v'}")
    for name in () if link else ("q", "v"):
        value = getattr(target, name)
        if value is not None and len(value) != body.n_q:
            raise InputError(f"{title}: {name} must have length {body.n_q}, not {len(value)}")
    if not link and body.address[1] not in body.body.joint_names:
        raise InputError(f"{title}: this joint mimics another one; give the state of that one")
