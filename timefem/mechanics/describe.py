"""A system as plain data, for files, and back: no code is stored, and none is run from a file."""

from dataclasses import fields

import numpy as np

from ..errors import InputError
from .bodies.generalized_body import GeneralizedBody
from .bodies.generalized_system import GeneralizedPotential
from .bodies.tree import Link, TreeJoint
from .catalogue import catalogue, known, made, stored
from .composites.beam import Line, RopeSection, Section
from .composites.composite import Composite
from .functions import Constant, Ramp, Sine, Step, Table, TrianglePulse
from .functions.trajectories import Polynomial, Spline, Transfer
from .part import Body
from .redundancy.redundancy import keep_constraints
from .stored_formula import StoredFormula
from .system import System

# Functions of time and other values inside of parts; those given by formulas are code, and cannot be stored.
TIME_FUNCTIONS = {cls.__name__: cls for cls in (Constant, Ramp, TrianglePulse, Step, Sine, Table, Transfer,
                                                Polynomial, Spline)}
# Parts whose formulas are stored as lists of operations
FORMULAS = {cls.__name__: cls for cls in (GeneralizedBody, GeneralizedPotential)}
VALUES = TIME_FUNCTIONS | {cls.__name__: cls for cls in (Line, Section, RopeSection, Link, TreeJoint, StoredFormula)}


def describe(system):
    """Plain data (dict, list, str, numbers) from which `build` makes the same system.

    Returns
    -------
    dict
        `{"parts": [{"class": ..., "bodies": [...], ...}, ...], "redundant": ...}`; `bodies` are numbers in
        `system.bodies`, of a link of a tree a list of the tree's number and what makes the link, of a point of a beam a
        table with the beam's number and the place. Of a system without its redundant constraints that of the complete
        one, and `kept`.

    Raises
    ------
    InputError
        When a part has no description, or holds something that is not plain data, such as a function.
    """
    if system.complete is not None:
        return {**describe(system.complete), "kept": system.kept.tolist()}
    number = {id(body): i for i, body in enumerate(body for body in system.bodies if not body.helper)}
    parts, places, present, done = [], {}, set(system.parts), set()
    whole = {owner for owner in system.composites if present.issuperset(owner.members)}
    for part in (part for part in system.parts if not part.helper):
        owner = part.owner
        if owner in whole:  # else some members were replaced: one by one
            if owner in done:
                continue
            done.add(owner)
            part = owner
        if FORMULAS.get(type(part).__name__) is type(part):
            bodies = {} if part.is_body else {"bodies": [_named(system, body, number) for body in part.bodies]}
            places[part] = len(parts)
            parts.append({"class": type(part).__name__, **part.description(), **bodies})
            continue
        if not known(part):
            raise InputError(f"{system.label(part)} cannot be saved: {type(part).__name__} has no description for "
                             f"files; known are {_known()}")
        entry = {"class": type(part).__name__}
        bodies = () if joints_of(part) else part.given_bodies if part is not owner else getattr(owner, "bodies", ())
        if bodies and id(part) not in number:
            entry["bodies"] = [_named(system, body, number) for body in bodies]
        for name in stored(part):
            field, value = part.fields[name], getattr(part, name)
            entry[field.argument or name] = value if field.is_joint else \
                plain(f"{system.label(part)} cannot be saved: {name}", field.stored(part, value))
        places[part] = len(parts)
        if part is not owner and not np.array_equal(part.own_parameters, part.declared_numbers()):
            entry["own_parameters"] = part.own_parameters.tolist()  # found by a solver, beyond what may be declared
        parts.append(entry)
    for entry in parts:
        for name in joints_in(entry):
            joint = entry[name]
            if joint not in places and not (joint.is_body and system.has(joint)):
                raise InputError(f"a {entry['class']} cannot be saved: {joint!r} is not in the system")
            entry[name] = places[joint] if joint in places else _named(system, joint, number)
    return {"parts": parts, "redundant": system.redundant}


def build(description):
    """The system of a description made by `describe`.

    Raises
    ------
    InputError
        When a class is unknown, or the description is damaged.
    """
    try:
        entries = description["parts"]
        parts = [None if "bodies" in entry or joints_in(entry) else _make(entry) for entry in entries]
        bodies = [member for part in parts if part is not None for member in part.members if isinstance(member, Body)]
        composites = _carrying([part for part in parts if isinstance(part, Composite)])
        for i, entry in sorted(enumerate(entries), key=lambda item: len(joints_in(item[1]))):
            if "bodies" in entry or joints_in(entry):
                own = {**entry, **{name: _found(entry[name], bodies, composites) if isinstance(entry[name], list) else
                                   parts[entry[name]] for name in joints_in(entry)}}
                parts[i] = _make(own, [_found(reference, bodies, composites) for reference in entry.get("bodies", ())])
        kept = description.get("kept")
        if kept is not None and not set(kept) <= set(range(sum(
                len(member.constraint_names) for part in parts for member in part.members))):
            raise IndexError(f"kept = {kept}")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"the description of the system is damaged: {error!r}") from None
    system = System(parts, redundant=description.get("redundant", "refuse"))
    return system if kept is None else keep_constraints(system, sorted(set(kept)))


def joints_of(part):
    """Names of the arguments of a part that are joints."""
    return [name for name, field in part.fields.items() if field.is_joint]


def joints_in(entry):
    """The same for an entry of a description."""
    cls = catalogue().get(entry["class"])
    return [] if cls is None else joints_of(cls)


def plain(what, value):
    """`value` as JSON can hold it: NumPy arrays and numbers become lists and numbers, which keeps every bit."""
    if VALUES.get(type(value).__name__) is type(value):
        return {"function": type(value).__name__,
                **{f.name: plain(what, getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(what, v) for v in value]
    if isinstance(value, dict) and "function" not in value:
        return {name: plain(what, v) for name, v in value.items()}
    if value is not None and not isinstance(value, str | int | float):
        raise InputError(f"{what} is {value!r}, which is not plain data")
    return value


def _named(system, body, number):
    """What a part acts on: a body by its number, a composite part by its own, of a point of it with the place."""
    if id(body) in number:
        return number[id(body)]
    if getattr(body, "carrier", None) is not None:
        return [number[id(body.carrier)], *body.called]
    composite = body if body in system.composites else body.owner
    return {"composite": _carrying(system.composites).index(composite)} | ({} if composite is body else {"at": body.s})


def _carrying(composites):
    return [c for c in composites if c.nodes]


def _found(reference, bodies, composites):
    if isinstance(reference, list):
        return bodies[reference[0]].carried(*reference[1:])
    if not isinstance(reference, dict):
        return bodies[reference]
    composite = composites[reference["composite"]]
    return composite.at(reference["at"]) if "at" in reference else composite


def _make(entry, bodies=()):
    if entry["class"] in FORMULAS:
        own = {name: value for name, value in entry.items() if name not in ("class", "bodies")}
        return FORMULAS[entry["class"]].from_description(bodies, own)
    if entry["class"] not in catalogue():
        raise InputError(f"unknown part {entry['class']!r}; known are {_known()}")
    cls = catalogue()[entry["class"]]
    own = {name: _restore(value) for name, value in entry.items() if name not in ("class", "bodies", "own_parameters")}
    part = made(cls, bodies, own)
    if "own_parameters" in entry:
        numbers = np.array(entry["own_parameters"], float)
        if numbers.shape != part.own_parameters.shape:
            raise IndexError("own_parameters")
        part.own_parameters = numbers
    return part


def _restore(value):
    """Functions of time from their descriptions, also in lists."""
    if isinstance(value, list):
        return [_restore(v) for v in value]
    if not isinstance(value, dict):
        return value
    own = {name: _restore(v) for name, v in value.items() if name != "function"}
    if "function" not in value:
        return own
    if value["function"] not in VALUES:
        raise InputError(f"unknown function of time {value['function']!r}; known are {', '.join(VALUES)}")
    return VALUES[value["function"]](**own)


def _known():
    return ", ".join(sorted(catalogue()))
