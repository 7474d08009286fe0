"""Entries of model files: functions of time, states, references to bodies, what belongs to which kind of problem, and
errors that name the entry."""

import os
import re
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from ..mechanics.bodies.states import Coordinates, Pose
from ..mechanics.body_frame import BodyFrame, is_on_tree
from ..mechanics.numbers.map import present_value
from ..mechanics.parts import replaced_names
from ..mechanics.states.from_joints import given_coordinates
from ..problems.kinds import KINDS, in_files
from ..problems.targets import EndState
from .document import suggest
from .schema import ACTUATORS, FUNCTIONS
from .schema_values import EVERY


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


# ---- The table `[problem]` of a model file: checks of what belongs to which kind, and what the kinds read from it

LOOPS = {"outputs": "inputs", "actuators": "drives"}  # keys of controllers that name entries of a table


def _users(document, keys, users, kind, table=""):
    """InputError at a key that belongs to other kinds."""
    if kind not in users:
        belongs = " or ".join(f'kind = "{user.name}"' for user in users)
        raise document.error(keys, f"belongs to {table}{belongs}")


def kind_of_file(document):
    """The `Kind` of the problem; InputError for what belongs to other kinds, or is missing."""
    data = document.data
    table, usual = data.get("problem", {}), next(one for one in KINDS.values() if one.usual)
    kinds = {usual.name: usual} if data.keys() <= EVERY else in_files()
    kind = kinds[table.get("kind", usual.name)]
    for key in table:
        if key != "kind" and key not in kind.in_files.keys:
            users = [f'"{other.name}"' for other in kinds.values() if key in other.in_files.keys]
            raise document.error(("problem", key), f"belongs to kind = {' or '.join(users)}")
    for name in dict.fromkeys(name for other in kinds.values() for name in other.in_files.tables):
        users = [other for other in kinds.values() if name in other.in_files.tables]
        if name in data and not (name in LOOPS and _act_alone(name, data)):
            _users(document, (name,), users, kind, "[problem] with ")
        if name in kind.in_files.needed and not data.get(name):
            raise document.error(("problem", "kind"), f'"{kind.name}" needs a table of {name}')
    for own, keys, entries in (("actuators", ("actuators",), data.get("actuators", {})),
                               ("parameters", ("problem", "parameters"), table.get("parameters", {}))):
        for name, entry in entries.items():
            for key in entry:
                users = [other for other in kinds.values() if key in other.in_files.entries.get(own, ())]
                if users:
                    _users(document, (*keys, name, key), users, kind, "[problem] with " * (own == "actuators"))
    kind.in_files.check(document)
    return kind


def _act_alone(table, data):
    """Whether all outputs or actuators of a file are of controllers, or have forces besides their controls, such as
    the given torque of a motor."""
    loops = [entry for entry in data.get("forces", {}).values() if "drives" in entry]
    used = {name for entry in loops for name in entry.get(LOOPS[table], ()) if isinstance(name, str)}
    return all(name in used or (table == "actuators" and _has_force(entry)) for name, entry in data[table].items())


def _has_force(actuator):
    """Whether an entry may have a force besides its control."""
    fields = ACTUATORS[actuator["type"]].fields.values()
    return actuator["type"] == "formula_force" or any(field.is_function for field in fields)


def unknown_numbers(model: Any) -> Any:
    """Unknown numbers: name -> (part, its number), "PART.NUMBER" or "gravity[2]", or a guess."""
    document, found = model.document, {}
    parts = replaced_names(model.system) | {part.name: part for part in model.system.parts if part.name}
    for name, entry in document.data["problem"].get("parameters", {}).items():
        keys = "problem", "parameters", name
        if ("value" in entry) == ("number" in entry) or ("part" in entry and "value" in entry):
            raise document.error(keys, 'needs either part and number, number alone as in "gravity[2]", or a value')
        if "value" in entry:
            found[name] = entry["value"]
            continue
        found[name] = number = entry["number"]
        if "part" in entry:
            found[name] = find(document, (*keys, "part"), entry["part"], parts, "body, joint or force"), number
        with naming(document, keys, entry):
            present_value(model.system, found[name])
    return found


def end_states(model: Any, which: str, cls: type = EndState) -> Any:
    """What the file asks of bodies and joints at an end; "free" components are None."""
    document, found = model.document, {}
    for name, entry in document.data["problem"].get(which, {}).items():
        keys = ("problem", which, name)
        if isinstance(entry, dict):
            part = model.names.body_or_joint(keys, name)
        else:  # a coordinate of a joint, or a list of it and its rate
            part = model.names.joint(keys, name, model.names.bodies)
        if part.is_body or (isinstance(part, BodyFrame) and part.has_position):
            found[name] = state_of_body(document, keys, part, entry, cls)
        else:
            found[part] = state_of_joint(document, keys, part, entry, cls is EndState)
    return found
