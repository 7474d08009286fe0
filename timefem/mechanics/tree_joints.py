"""Joints inside of the trees of a system, by name."""

from ..errors import InputError


def tree_joint(system, key):
    """The joint of a tree that is meant, as a body: itself, "elbow", or "arm.elbow"; None where there is none.

    The short name is for joints that only one tree has, in systems where no other part is called so.
    """
    if not isinstance(key, str):
        return key if getattr(key, "carrier", None) is not None and key.called[0] == "joint" else None
    if key in map(system.label, system.parts):
        return None
    found = [(tree, name) for tree in system.bodies for name in getattr(tree, "moving_joints", ())
             if key in (name, f"{system.label(tree)}.{name}")]
    return found[0][0].joint(found[0][1]) if len(found) == 1 else None


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
