"""A system as plain data, for files, and back: no code is stored, and none is run from a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..errors import InputError, named_arguments
from ..records import frozen
from .bodies.generalized_body import GeneralizedBody
from .bodies.generalized_system import GeneralizedPotential
from .bodies.tree.links import Link, TreeJoint
from .body_frame import is_on_tree
from .catalogue import acts_through, catalogue, known, made, refers_in, stored
from .composites.composite import Composite
from .composites.section import Curve, Line, RopeSection, Section
from .formulas.stored import StoredFormula
from .numbers.records import StandIns
from .part import Body
from .parts import replaced_names
from .states.redundancy import keep_constraints
from .system import System
from .time_formulas import Formula as FormulaOfTime
from .time_formulas import Table
from .time_functions import Constant, Polynomial, Ramp, Sine, Spline, Step, Transfer, TrianglePulse


class Refer:
    """Plain data instead of bodies, joints and actuators.

    Parameters
    ----------
    system : System
    places : dict
        Part -> its number among those described.
    entry_of : callable
        Describes an actuator that is not in the system.
    """

    def __init__(self, system, places, entry_of):
        self.system, self.places, self._entry_of = system, places, entry_of
        self._number = {body: i for i, body in enumerate(body for body in system.bodies if not body.helper)}

    def is_body(self, part):
        return part in self._number

    def body(self, body):
        """Its number; of a composite part its own, of a point of it with the place; of frames of a tree with their
        names."""
        body = self.system.here(body)
        if body in self._number:
            return self._number[body]
        if is_on_tree(body):
            return [self._number[body.body], *body.address]
        composite = body if body in self.system.composites else body.owner
        at = {} if composite is body else {"at": body.s}
        return {"composite": carrying(self.system.composites).index(composite), **at}

    def joint(self, joint):
        joint = self.system.here(joint)
        if joint in self.places:
            return self.places[joint]
        if not (is_on_tree(joint) and joint in self.system):
            raise InputError(f"the system cannot be saved: {joint!r} is not in it")
        return self.body(joint)

    def coordinate(self, bound):
        """A joint, and the name of its coordinate."""
        return [self.joint(bound.owner), bound.coordinate.name]

    def part(self, part):
        part = self.system.here(part)
        return self.places[part] if part in self.places else self._entry_of(part, self)


@frozen
class Former:
    """The name of a body or joint that a link or joint of a tree stands for."""

    name: str


class Found:
    """What such data stands for."""

    def __init__(self, bodies, composites, parts, make):
        self._bodies, self._composites, self._parts, self._make = bodies, composites, parts, make

    def body(self, reference):
        if isinstance(reference, list):
            return self._bodies[reference[0]].frame_at(*reference[1:])
        if not isinstance(reference, dict):
            return self._bodies[reference]
        composite = self._composites[reference["composite"]]
        return composite.at(reference["at"]) if "at" in reference else composite

    def joint(self, reference):
        return self.body(reference) if isinstance(reference, list) else self._parts[reference]

    def coordinate(self, reference):
        return self.joint(reference[0]), reference[1]

    def part(self, reference):
        return self._make(reference, self) if isinstance(reference, dict) else self._parts[reference]


def carrying(composites):
    return [c for c in composites if c.nodes]


# ---- A system as plain data, for files, and back: no code is stored, and none is run from a file

# Functions of time and other values inside of parts; those given by formulas are stored as text
TIME_FUNCTIONS = {cls.__name__: cls for cls in (Constant, Ramp, TrianglePulse, Step, Sine, Table, Transfer,
                                                Polynomial, Spline)}
# Parts whose formulas are stored as lists of operations
FORMULAS = {cls.__name__: cls for cls in (GeneralizedBody, GeneralizedPotential)}
VALUES = TIME_FUNCTIONS | {cls.__name__: cls for cls in (Curve, Line, Section, RopeSection, Link, TreeJoint,
                                                         StoredFormula)}


@named_arguments
def describe(system: System) -> dict[str, Any]:
    """A system as plain data (dict, list, str, numbers), as files of solutions hold it.

    Parameters
    ----------
    system : System

    Returns
    -------
    dict
        `{"parts": [{"class": ..., "bodies": [...], ...}, ...], "redundant": ...}`; `bodies` are numbers in
        `system.bodies`, of a link of a tree a list of the tree's number and what makes the link, of a point of a beam a
        table with the beam's number and the place. In joint coordinates `names` has what stands for the bodies and
        joints that were given. Of a system without its redundant constraints that of the complete
        one, and `kept`.

    Raises
    ------
    InputError
        When it is not a System, or a part has no description, or holds something that is not plain data, such as a
        function.
    """
    if system.complete is not None:
        return {**describe(system.complete), "kept": system.kept.tolist()}
    places, present, done = {}, {part: part for part in system.parts}, set()
    refer = Refer(system, places, _entry)
    whole = {owner for owner in system.composites if all(present.get(m) is m for m in owner.members)}
    for part in (part for part in system.parts if not part.helper):
        owner = part.owner
        if owner in whole:  # else some members were replaced: one by one
            if owner in done:
                continue
            done.add(owner)
            part = owner
        places[part] = len(places)
    names = {name: refer.body(frame) for name, frame in replaced_names(system).items()}
    return {"parts": [_entry(part, refer) for part in places], "redundant": system.redundant} | (
        {"names": names} if names else {})


def _entry(part, refer):
    """Plain data of one part."""
    label, name = refer.system.label(part) if part in refer.places else repr(part), type(part).__name__
    whole = part in refer.system.composites
    if FORMULAS.get(name) is type(part):
        bodies = {} if part.is_body else {"bodies": [refer.body(body) for body in part.bodies]}
        return {"class": name, **part.description(), **bodies}
    if not known(part):
        raise InputError(f"{label} cannot be saved: files name classes of timefem alone, and {name} is not one; save "
                         "numbers as .csv or .json, or state it as a Constraint, FormulaForce or FormulaEnergy")
    entry = {"class": name}
    bodies = () if acts_through(type(part)) else getattr(part, "bodies", ()) if whole else part.given_bodies
    if bodies and not refer.is_body(part):
        entry["bodies"] = [refer.body(body) for body in bodies]
    for attribute in stored(part):
        field = part.fields[attribute]
        value = field.stored(part, getattr(part, attribute))
        entry[field.argument or attribute] = field.described(value, refer) if field.refers else \
            plain(f"{label} cannot be saved: {attribute}", value)
    if not whole and (part.numbers_found or not np.array_equal(part.own_parameters, part.declared_numbers())):
        entry["own_parameters"] = part.stated_numbers.tolist()  # found by a solver, beyond what may be declared
    return entry


def build(description):
    """The system of a description made by `describe`.

    Raises
    ------
    InputError
        When a class is unknown, or the description is damaged.
    """
    try:
        entries = description["parts"]
        parts = [None if "bodies" in entry or _refers(entry) else _make(entry) for entry in entries]
        bodies = [member for part in parts if part is not None for member in part.members if isinstance(member, Body)]
        composites = carrying([part for part in parts if isinstance(part, Composite)])
        found = Found(bodies, composites, parts, _made_of)
        for i, entry in sorted(enumerate(entries), key=lambda item: len(_refers(item[1]))):
            if parts[i] is None:
                parts[i] = _made_of(entry, found)
        names = StandIns({Former(name): found.body(frame) for name, frame in description.get("names", {}).items()})
        kept = description.get("kept")
        if kept is not None and not set(kept) <= set(range(sum(
                len(names) for part in parts for member in part.members
                for names in (member.constraint_names, member.nonholonomic_names)))):
            raise IndexError(f"kept = {kept}")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"the description of the system is damaged: {error!r}") from None
    system = System(parts, redundant=description.get("redundant", "refuse"))
    system.stands_for = StandIns({old: system.here(frame) for old, frame in names.items()} | system.stands_for)
    return system if kept is None else keep_constraints(system, sorted(set(kept)))


def _refers(entry):
    """The fields of an entry of a description whose values name other parts: name -> field."""
    cls = catalogue().get(entry["class"])
    return {} if cls is None else refers_in(cls)


def _made_of(entry, found):
    """The part of an entry that names others."""
    names = {field.argument or name: field for name, field in _refers(entry).items()}
    own = {name: field.restored(entry[name], found) for name, field in names.items()
           if name in entry or not field.optional}
    return _make({**entry, **own}, [found.body(reference) for reference in entry.get("bodies", ())])


def plain(what, value):
    """`value` as JSON can hold it: NumPy arrays and numbers become lists and numbers, which keeps every bit."""
    if isinstance(value, FormulaOfTime):
        return {"function": "Formula", "text": value.text, "kinks": list(value.kinks), "n": value.n,
                "component": value.component}
    if VALUES.get(type(value).__name__) is type(value):
        own = {f.name: getattr(value, f.name) for f in fields(value)} | getattr(value, "stated", {})
        return {"function": type(value).__name__, **{name: plain(what, v) for name, v in own.items()}}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(what, v) for v in value]
    if isinstance(value, dict) and "function" not in value:
        return {name: plain(what, v) for name, v in value.items()}
    if value is not None and not isinstance(value, str | int | float):
        raise InputError(f"{what} is {value!r}, which is not plain data")
    return value


def _make(entry, bodies=()):
    if entry["class"] in FORMULAS:
        own = {name: value for name, value in entry.items() if name not in ("class", "bodies")}
        return FORMULAS[entry["class"]].from_description(bodies, own)
    if entry["class"] not in catalogue():
        raise InputError(f"unknown part {entry['class']!r}; known are {', '.join(sorted(catalogue()))}")
    cls = catalogue()[entry["class"]]
    own = {name: _restore(value) for name, value in entry.items() if name not in ("class", "bodies", "own_parameters")}
    part = made(cls, bodies, own)
    if "own_parameters" in entry:
        return part.with_own_parameters(np.array(entry["own_parameters"], float))
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
    if value["function"] == "Formula":
        return FormulaOfTime(own.pop("text"), **own)
    if value["function"] not in VALUES:
        raise InputError(f"unknown function of time {value['function']!r}; known are {', '.join(VALUES)}")
    return VALUES[value["function"]](**own)
