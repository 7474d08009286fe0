"""The table `[problem]` of a model file: checks of what belongs to which kind, and what the kinds read from it."""

from typing import Any

import numpy as np

from ..mechanics.body_frame import BodyFrame
from ..mechanics.numbers.unknown import present_value
from ..mechanics.states.given import given_states
from ..problems.ends.targets import EndState
from ..problems.kinds import in_files
from .entries import find, naming
from .given_states import state_of_body, state_of_joint
from .schema import ACTUATORS

BOUNDS = "lower", "upper"
LOOPS = {"outputs": "inputs", "actuators": "drives"}  # keys of controllers that name entries of a table
OPTIMAL = ("effort", "lower", "upper", "lower_rate", "upper_rate")  # keys of actuators


def _users(document, keys, users, kind, table=""):
    """InputError at a key that belongs to other kinds."""
    if kind.name not in users:
        belongs = " or ".join(f'kind = "{user}"' for user in users)
        raise document.error(keys, f"belongs to {table}{belongs}")


def kind_of_file(document):
    """The `Kind` of the problem; InputError for what belongs to other kinds, or is missing."""
    data = document.data
    table = data.get("problem", {"kind": "initial"})
    kinds = in_files()
    kind = kinds[table["kind"]]
    for key in table:
        if key != "kind" and key not in kind.in_files.keys:
            users = [f'"{other.name}"' for other in kinds.values() if key in other.in_files.keys]
            raise document.error(("problem", key), f"belongs to kind = {' or '.join(users)}")
    for name in dict.fromkeys(name for other in kinds.values() for name in other.in_files.tables):
        users = [other.name for other in kinds.values() if name in other.in_files.tables]
        if name in data and not (name in LOOPS and _act_alone(name, data)):
            _users(document, (name,), users, kind, "[problem] with ")
        if name in kind.in_files.needed and not data.get(name):
            raise document.error(("problem", "kind"), f'"{kind.name}" needs a table of {name}')
    for name, entry in data.get("actuators", {}).items():
        for key in OPTIMAL:
            if key in entry:
                _users(document, ("actuators", name, key), ["optimal", "phases"], kind, "[problem] with ")
    for name, entry in table.get("parameters", {}).items():
        for key in BOUNDS:
            if key in entry:
                _users(document, ("problem", "parameters", name, key), ["optimal", "phases"], kind)
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
    parts = {**model.system.replaced, **{part.name: part for part in model.system.parts if part.name}}
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


def plain_state(model):
    """The state as it is stated, whether it holds the constraints or not, (n_z,)."""
    states = [state for _, state in given_states(model.system, model.state).values()]
    return np.concatenate([*(s.q for s in states), *(s.p for s in states)])
