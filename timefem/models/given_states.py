"""States of bodies and joints in model files, as Python takes them."""

from ..errors import InputError
from ..mechanics.bodies.states import Coordinates, Pose
from ..mechanics.body_frame import is_on_tree
from ..mechanics.states.from_joints import given_coordinates
from ..problems.ends.targets import EndState
from .document import suggest
from .entries import naming

OF_BODY = "position", "orientation", "velocity", "angular_velocity", "frame"
OF_TREE = "q", "v"
OF_ROTATION = "orientation", "angular_velocity"


def state_of_joint(document, keys, joint, value, partial=False):
    """The state of a joint, of an entry of a file.

    Parameters
    ----------
    document : Document
    keys : tuple
        Of the entry.
    joint : Joint, or joint of a tree
    value : float, list or dict
    partial : bool
        Whether single coordinates of the joint of a tree may be left free.

    Returns
    -------
    float, list, dict, tuple, Pose or EndState
        As `InitialValueProblem` and `EndState` have it.
    """
    found = _of_table(document, keys, joint, value, partial) if isinstance(value, dict) else value
    with naming(document, keys, value if isinstance(value, dict) else ()):
        if not is_on_tree(joint):
            given_coordinates(keys[-1], joint, found)
        elif not isinstance(found, EndState):
            joint.body.by_joint({joint.address[1]: found})
    return found


def _of_table(document, keys, joint, value, partial):
    if is_on_tree(joint):
        return _in_tree(document, keys, joint, value, partial)
    if joint.free_rotation:
        _check(document, keys, value, OF_ROTATION, f"the {type(joint).__name__} {keys[-1]!r}")
        if "orientation" not in value:
            raise document.error(keys, "the key 'orientation' is missing, that of a seen from b")
        turn, spin = value["orientation"], value.get("angular_velocity")
        return turn if spin is None else (turn, spin)
    _check(document, keys, value, [c.name for c in joint.coordinates], f"the {type(joint).__name__} {keys[-1]!r}")
    return value


def _in_tree(document, keys, joint, value, partial):
    what, own = f"the joint {joint.address[1]!r} of a tree", [c.name for c in joint.coordinates]
    if own and set(value) <= set(own):
        return value
    _check(document, keys, value, (*own, *OF_TREE, *OF_BODY), what)
    by_numbers = [key for key in OF_TREE if key in value]
    if by_numbers and not partial:
        raise document.error((*keys, by_numbers[0]), "is of what is prescribed at an end; give the numbers of position "
                                                     "and rate in a list")
    if by_numbers:
        _check(document, keys, value, OF_TREE, f"{what} beside {by_numbers[0]!r}")
    with naming(document, keys, value):
        return EndState(**with_free(value)) if by_numbers else Pose(**value)


def state_of_body(document, keys, body, value, cls=EndState):
    """What is prescribed for a body, a tree or a link: a `cls`, `Coordinates`, or the dict of the joints of a tree."""
    if "joints" in value:
        if len(value) > 1:
            raise document.error(keys, "joints prescribe all of a tree; leave the rest out")
        if not hasattr(body, "by_joint"):
            raise document.error((*keys, "joints"), f"belongs to a tree, and {keys[-1]!r} is {body!r}")
        found = {}
        for name, given in value["joints"].items():
            own = *keys, "joints", name
            with naming(document, own, ()):
                found[name] = state_of_joint(document, own, body.joint(name), given, cls is EndState)
        return found
    _check(document, keys, value, (*OF_TREE, *OF_BODY), "a body")
    if cls is not EndState and any(key in value for key in OF_TREE):
        cls = Coordinates
    with naming(document, keys, value):
        return cls(**with_free(value))


def with_free(value):
    """An entry with None for components that are "free"."""
    for key, given in value.items():
        if key in OF_TREE and not isinstance(given, list):
            raise InputError(f"{key} must be a list of one entry for each coordinate, not {given!r}")
    return {key: [None if x == "free" else x for x in given] if isinstance(given, list) else given
            for key, given in value.items()}


def _check(document, keys, value, known, what):
    """Refuse keys that belong to another kind of body or joint."""
    for key in value:
        if key not in known:
            raise document.error((*keys, key), f"is none of {what}; {suggest(key, known)}")
