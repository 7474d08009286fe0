"""Entries of model files: functions of time, states, references to bodies, and errors that name the entry."""

import os
import re
from contextlib import contextmanager

from ..errors import InputError
from ..mechanics.bodies.states import Coordinates, Pose
from ..mechanics.body_frame import is_on_tree
from ..mechanics.states.from_joints import given_coordinates
from ..problems.targets import EndState
from .document import suggest
from .schema import FUNCTIONS


@contextmanager
def naming(document, keys, entry, others=()):
    """Give errors the file, the line and the key: of the entry, or of what in it the message names first.

    Other entries, given as (title, keys, entry), are meant where the message begins with their title.
    """
    try:
        yield
    except InputError as error:
        if str(error).startswith(f"{document.path}:"):  # named already
            raise
        keys, entry = next((other[1:] for other in others if re.match(rf"{re.escape(other[0])}[:\[]", str(error))),
                           (keys, entry))
        words = re.findall(r"\w+", str(error))
        named = [word for word in words if word in entry and word not in ("type", "body", "bodies", *keys)]
        raise document.error((*keys, *named[:1]), str(error)) from None


def value_of(document, keys, value):
    """A value of a file, with functions of time in place of their tables."""
    if isinstance(value, list):
        return [value_of(document, (*keys, i), v) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    (kind, arguments), = value.items()
    with naming(document, (*keys, kind), arguments):
        return FUNCTIONS[kind](**arguments)


def bounds_of(document, keys, value):
    """Bounds of a file as `value_of` has them, None where they are free."""
    if isinstance(value, list):
        return [bounds_of(document, (*keys, i), v) for i, v in enumerate(value)]
    return None if value == "free" else value_of(document, keys, value)


def beside(document, keys, name):
    """Path of a file in the folder of the model file, or below."""
    folder = os.path.realpath(os.path.dirname(document.path) or ".")
    path = os.path.join(os.path.dirname(document.path), name)
    if os.path.isabs(name) or not os.path.realpath(path).startswith(os.path.join(folder, "")):
        raise document.error(keys, f"must lie in the folder of this file or below, not {name!r}")
    return path


def find(document, keys, name, known, what="body"):
    """What has that name in a file."""
    if name not in known:
        raise document.error(keys, f"there is no {what} {name!r}; {suggest(name, known)}")
    return known[name]


# ---- States of bodies and joints in model files, as Python takes them

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
