"""Joints inside of the trees of a system, by name."""

from collections import Counter

from ..errors import InputError
from .bodies.states import Pose
from .body_frame import is_on_tree
from .link_poses import joints_of_poses
from .relative_poses import in_space


def joints_of_trees(system):
    """Name -> joint of a tree that moves; "elbow", or "arm.elbow" where others are called "elbow", too."""
    found = [(tree, name) for tree in system.bodies for name in getattr(tree, "moving_joints", ())]
    taken = Counter([name for _, name in found] + [system.label(part) for part in system.parts])
    return {name if taken[name] == 1 else f"{system.label(tree)}.{name}": tree.joint(name) for tree, name in found}


def tree_joint(system, key):
    """The joint of a tree that is meant: by itself, "elbow", or "arm.elbow"; None where there is none."""
    if not isinstance(key, str):
        key = system.here(key)
        return key if is_on_tree(key) and key.address[0] == "joint" else None
    short = joints_of_trees(system)
    full = {f"{system.label(joint.body)}.{joint.address[1]}": joint for joint in short.values()}
    return short.get(key) or (None if key in map(system.label, system.parts) else full.get(key))


def with_joints_of_trees(system, states):
    """States by body, with those of joints of trees put into a dict of their tree."""
    found, of_trees, of_links = {}, {}, {}
    turning = {joint for part, joint in system.stands_for.items() if getattr(part, "free_rotation", False)}
    for key, value in states.items():
        joint = tree_joint(system, key)
        link = None if joint is not None else _link(system, key)
        if link is not None:
            if not isinstance(value, Pose):
                raise InputError(f"state of {system.label(link)}: it hangs on joints; give a Pose, or states of these")
            of_links.setdefault(link.body, {})[link] = value
        elif joint is None:
            found[key if isinstance(key, str) else system.here(key)] = value
        else:
            own = _turned(value) if joint in turning else value
            of_trees.setdefault(joint.body, {})[joint.address[1]] = own
    placed = {link: pose for poses in of_links.values() for link, pose in poses.items()}
    for tree, poses in of_links.items():
        if any(pose.relative_to is not None for pose in poses.values()):
            known = placed | {system.find(key): value for key, value in found.items()}
            poses = {link: in_space(system, link, known) for link in poses}
        of_trees[tree] = joints_of_poses(system, tree, poses, of_trees.get(tree, {}))
    for tree, own in of_trees.items():
        key = next((key for key in found if key in (tree, system.label(tree))), tree)
        if isinstance(found.get(key, own), dict):
            found[key] = found.get(key, {}) | own
        else:
            raise InputError(f"state of {system.label(tree)} is given, and that of its joint {next(iter(own))!r} "
                             "besides; give a dict of joints")
    return found


def _link(system, key):
    """The link of a tree that is meant, by itself, by the body that it stands for, or by the name of one; or None."""
    own = system.frame_named(key) if isinstance(key, str) else system.here(key)
    return own if is_on_tree(own) and own.address[0] == "link" else None


def by_joints_of_trees(system, states, keys):
    """Those states in dicts of trees whose joints are among the keys, by joint: loops are closed from states of joints.
    """
    joints = {joint for key in keys if (joint := tree_joint(system, key)) is not None}
    return {joint: states[joint.body][joint.address[1]] for joint in joints}


def _turned(value):
    """What a `Spherical` joint takes, orientation or (orientation, angular velocity in the axes of b), as a `Pose`."""
    if isinstance(value, Pose):
        return value
    turn, spin = value if isinstance(value, tuple) and len(value) == 2 else (value, (0.0, 0.0, 0.0))
    return Pose(orientation=turn, angular_velocity=spin, frame="space")
