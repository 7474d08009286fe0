"""A system as plain data, for files, and back: no code is stored, and none is run from a file."""

from dataclasses import fields

import numpy as np

from ..errors import InputError
from .bodies.point_mass import PointMass
from .bodies.rigid import DirectorBody, QuaternionBody
from .forces import (
    Damper,
    Force,
    Gravity,
    NonlinearSpring,
    RayleighDissipation,
    RotationalSpring,
    Spring,
    Torque,
    TorsionalDamper,
    TorsionalSpring,
)
from .forces.actuators import ControlForce, ControlTorque, GeneralizedControl
from .functions import Constant, Ramp, Sine, Step, Table, TrianglePulse
from .functions.trajectories import Polynomial, Spline, Transfer
from .joints import (
    Cylindrical,
    FixedPoint,
    Planar,
    PrescribedAngle,
    PrescribedPosition,
    Prismatic,
    Revolute,
    RigidDistance,
    Spherical,
    Universal,
    Weld,
)
from .joints.rolling import KnifeEdge, NonTwisting, RollingDisc, RollingSphere
from .redundancy.redundancy import keep_constraints
from .system import System

# Each class with the attributes that its constructor takes under the same names; a joint or force takes its
# bodies first. A new part needs one line here.
PARTS = {
    QuaternionBody: ("mass", "inertia", "inverse_mass", "name", "size"),
    DirectorBody: ("mass", "inertia", "name", "size"),
    PointMass: ("mass", "dimension", "name"),
    FixedPoint: ("point", "at", "name"),
    Spherical: ("point_a", "point_b", "invariant", "name"),
    Revolute: ("point_a", "point_b", "axis_a", "axis_b", "invariant", "name"),
    Universal: ("point_a", "point_b", "axis_a", "axis_b", "invariant", "name"),
    Weld: ("point_a", "point_b", "orientation", "invariant", "name"),
    Cylindrical: ("point_a", "point_b", "axis_a", "axis_b", "name"),
    Prismatic: ("point_a", "point_b", "axis_b", "orientation", "name"),
    Planar: ("point_a", "point_b", "axis_a", "axis_b", "name"),
    RigidDistance: ("point_a", "point_b", "length", "name"),
    PrescribedPosition: ("position", "point", "name"),
    PrescribedAngle: ("angle", "axis_b", "direction_a", "direction_b", "name"),
    RollingSphere: ("radius", "normal", "point", "name"),
    RollingDisc: ("radius", "axis", "normal", "point", "name"),
    KnifeEdge: ("point", "across", "name"),
    NonTwisting: ("a", "name"),
    Gravity: ("acceleration", "name"),
    Spring: ("point_a", "point_b", "stiffness", "rest_length", "name"),
    NonlinearSpring: ("point_a", "point_b", "potential", "name"),  # named so that its function is refused, not itself
    TorsionalSpring: ("axis", "stiffness", "rest_angle", "reference", "name"),
    RotationalSpring: ("stiffness", "reference", "name"),
    Damper: ("point_a", "point_b", "damping", "name"),
    TorsionalDamper: ("axis", "damping", "name"),
    RayleighDissipation: ("linear", "angular", "name"),
    Force: ("value", "point", "time", "frame", "name"),
    Torque: ("value", "time", "frame", "name"),
    ControlForce: ("directions", "point", "frame", "name"),
    ControlTorque: ("axes", "frame", "name"),
    GeneralizedControl: ("matrix", "name"),
}
KEYWORDS = {ControlTorque: ("reaction",)}  # of bodies after the first, where they are not the first arguments
# Functions of time inside of parts; those given by formulas are code, and cannot be stored.
TIME_FUNCTIONS = {cls.__name__: cls for cls in (Constant, Ramp, TrianglePulse, Step, Sine, Table, Transfer,
                                                Polynomial, Spline)}


def describe(system):
    """Plain data (dict, list, str, numbers) from which `build` makes the same system.

    Returns
    -------
    dict
        `{"parts": [{"class": ..., "bodies": [...], ...}, ...], "redundant": ...}`; `bodies` are numbers in
        `system.bodies`. Of a system without its redundant constraints that of the complete one, and `kept`.

    Raises
    ------
    InputError
        When a part has no description, or holds something that is not plain data, such as a function.
    """
    if system.complete is not None:
        return {**describe(system.complete), "kept": system.kept.tolist()}
    number = {id(body): i for i, body in enumerate(system.bodies)}
    parts = []
    for part in system.parts:
        # a subclass may have other formulas, so that only the very class will do
        if type(part) not in PARTS:
            raise InputError(f"{system.label(part)} cannot be saved: {type(part).__name__} has no description for "
                             f"files; known are {_known()}")
        entry = {"class": type(part).__name__}
        if id(part) not in number:
            entry["bodies"] = [number[id(body)] for body in part.bodies]
        for name in PARTS[type(part)]:
            entry[name] = plain(f"{system.label(part)} cannot be saved: {name}", getattr(part, name))
        parts.append(entry)
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
        parts = [None if "bodies" in entry else _make(entry) for entry in entries]
        bodies = [part for part in parts if part is not None]
        for i, entry in enumerate(entries):
            if "bodies" in entry:
                parts[i] = _make(entry, [bodies[n] for n in entry["bodies"]])
        kept = description.get("kept")
        if kept is not None and not set(kept) <= set(range(sum(len(part.constraint_names) for part in parts))):
            raise IndexError(f"kept = {kept}")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"the description of the system is damaged: {error!r}") from None
    system = System(parts, redundant=description.get("redundant", "refuse"))
    return system if kept is None else keep_constraints(system, sorted(set(kept)))


def plain(what, value):
    """`value` as JSON can hold it: NumPy arrays and numbers become lists and numbers, which keeps every bit."""
    if TIME_FUNCTIONS.get(type(value).__name__) is type(value):
        return {"function": type(value).__name__,
                **{f.name: plain(what, getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(what, v) for v in value]
    if value is not None and not isinstance(value, str | int | float):
        raise InputError(f"{what} is {value!r}, which is not plain data")
    return value


def _make(entry, bodies=()):
    known = {cls.__name__: cls for cls in PARTS}
    if entry["class"] not in known:
        raise InputError(f"unknown part {entry['class']!r}; known are {_known()}")
    own = {name: _restore(value) for name, value in entry.items() if name not in ("class", "bodies")}
    cls = known[entry["class"]]
    if cls in KEYWORDS:
        own |= dict(zip(KEYWORDS[cls], bodies[1:], strict=False))
        bodies = bodies[:1]
    return cls(*bodies, **own)


def _restore(value):
    """Functions of time from their descriptions, also in lists."""
    if isinstance(value, list):
        return [_restore(v) for v in value]
    if not isinstance(value, dict):
        return value
    own = {name: v for name, v in value.items() if name != "function"}
    if value["function"] not in TIME_FUNCTIONS:
        raise InputError(f"unknown function of time {value['function']!r}; known are {', '.join(TIME_FUNCTIONS)}")
    return TIME_FUNCTIONS[value["function"]](**own)


def _known():
    return ", ".join(sorted(cls.__name__ for cls in PARTS))
