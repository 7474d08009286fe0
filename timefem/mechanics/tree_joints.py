"""Joints inside of the trees of a system, by name."""

from collections import Counter

from ..errors import InputError
from .bodies.states import Pose


def joints_of_trees(system):
    """Name -> joint of a tree that moves, as a body; "elbow", or "arm.elbow" where others are called "elbow", too."""
    found = [(tree, name) for tree in system.bodies for name in getattr(tree, "moving_joints", ())]
    taken = Counter([name for _, name in found] + [system.label(part) for part in system.parts])
    return {name if taken[name] == 1 else f"{system.label(tree)}.{name}": tree.joint(name) for tree, name in found}


def tree_joint(system, key):
    """The joint of a tree that is meant: by itself, "elbow", or "arm.elbow"; None where there is none."""
    if not isinstance(key, str):
        key = system.stands_for.get(key, key)
        return key if getattr(key, "carrier", None) is not None and key.called[0] == "joint" else None
    short = joints_of_trees(system)
    full = {f"{system.label(joint.carrier)}.{joint.called[1]}": joint for joint in short.values()}
    return short.get(key) or (None if key in map(system.label, system.parts) else full.get(key))


def with_joints_of_trees(system, states):
    """States by body, with those of joints of trees put into a dict of their tree."""
    found, of_trees = {}, {}
    turning = {joint for part, joint in system.stands_for.items() if getattr(part, "free_rotation", False)}
    for key, value in states.items():
        joint = tree_joint(system, key)
        link = None if isinstance(key, str) else system.stands_for.get(key)
        if getattr(link, "carrier", None) is not None and link.called[0] == "link":
            tree = link.carrier
            if tree.base == "fixed" or link.called[1] != tree.links[0].name:
                raise InputError(f"state of {system.label(link)}: it hangs on joints; give the states of these")
            of_trees.setdefault(tree, {})[tree.base_joint] = value
        elif joint is None:
            found[key if link is None else link] = value
        else:
            own = _turned(value) if joint in turning else value
            of_trees.setdefault(joint.carrier, {})[joint.called[1]] = own
    for tree, own in of_trees.items():
        key = next((key for key in found if key in (tree, system.label(tree))), tree)
        if isinstance(found.get(key, own), dict):
            found[key] = found.get(key, {}) | own
        else:
            raise InputError(f"state of {system.label(tree)} is given, and that of its joint {next(iter(own))!r} "
                             "besides; give a dict of joints")
    return found


def by_joints_of_trees(system, states, keys):
    """Those states in dicts of trees whose joints are among the keys, by joint: loops are closed from states of joints.
    """
    joints = {joint for key in keys if (joint := tree_joint(system, key)) is not None}
    return {joint: states[joint.carrier][joint.called[1]] for joint in joints}


def _turned(value):
    """What a `Spherical` joint takes, orientation or (orientation, angular velocity in the axes of b), as a `Pose`."""
    if isinstance(value, Pose):
        return value
    turn, spin = value if isinstance(value, tuple) and len(value) == 2 else (value, (0.0, 0.0, 0.0))
    return Pose(orientation=turn, angular_velocity=spin, frame="space")
