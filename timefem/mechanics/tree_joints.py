"""Joints inside of the trees of a system, by name."""

from collections import Counter

from ..errors import InputError


def joints_of_trees(system):
    """Name -> joint of a tree that moves, as a body; "elbow", or "arm.elbow" where others are called "elbow", too."""
    found = [(tree, name) for tree in system.bodies for name in getattr(tree, "moving_joints", ())]
    taken = Counter([name for _, name in found] + [system.label(part) for part in system.parts])
    return {name if taken[name] == 1 else f"{system.label(tree)}.{name}": tree.joint(name) for tree, name in found}


def tree_joint(system, key):
    """The joint of a tree that is meant: by itself, "elbow", or "arm.elbow"; None where there is none."""
    if not isinstance(key, str):
        return key if getattr(key, "carrier", None) is not None and key.called[0] == "joint" else None
    short = joints_of_trees(system)
    full = {f"{system.label(joint.carrier)}.{joint.called[1]}": joint for joint in short.values()}
    return short.get(key) or (None if key in map(system.label, system.parts) else full.get(key))


def with_joints_of_trees(system, states):
    """States by body, with those of joints of trees put into a dict of their tree."""
    found, of_trees = {}, {}
    for key, value in states.items():
        joint = tree_joint(system, key)
        if joint is None:
            found[key] = value
        else:
            of_trees.setdefault(joint.carrier, {})[joint.called[1]] = value
    for tree, own in of_trees.items():
        key = next((key for key in found if key in (tree, system.label(tree))), tree)
        if isinstance(found.get(key, own), dict):
            found[key] = found.get(key, {}) | own
        else:
            raise InputError(f"state of {system.label(tree)} is given, and that of its joint {next(iter(own))!r} "
                             "besides; give a dict of joints")
    return found
