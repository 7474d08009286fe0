"""The JSON schema of model files, made from what parts, bodies and functions of time declare; parts by their `type`."""

import json
from dataclasses import MISSING, fields
from functools import cache
from inspect import signature

from ..mechanics.bodies.first_order import PortSystem, State
from ..mechanics.bodies.mass_properties import MassProperties
from ..mechanics.bodies.point_mass import PointMass
from ..mechanics.bodies.rigid import QuaternionBody
from ..mechanics.catalogue import file_types
from ..mechanics.forces.formula_force import FormulaForce
from ..mechanics.time_formulas import Table
from ..mechanics.time_functions import Polynomial, Ramp, Sine, Spline, Step, Transfer, TrianglePulse
from .schema_values import (
    COUPLINGS,
    EVERY,
    LIMITS,
    MEASUREMENTS,
    NOISE,
    OPTIMAL_KEYS,
    OUTPUTS,
    PRIOR,
    SCHEMAS,
    TABLES,
    VALUES,
    named,
    numbers,
    problem_table,
    record,
    ref,
)

JOINTS, ACTUATORS, FORCES, COMPOSITES = map(file_types, ("joints", "actuators", "forces", "composites"))
ACTUATORS |= {"formula_force": FormulaForce}  # with controls
FUNCTIONS = {"ramp": Ramp, "triangle": TrianglePulse, "step": Step, "sine": Sine, "table": Table, "transfer": Transfer,
             "polynomial": Polynomial, "spline": Spline}


# ---- The JSON schema of model files: made from what parts, bodies and functions of time declare

SOLIDS = ("cuboid", "cylinder", "cone", "sphere")
NOUNS = {"bodies": "a body", "joints": "a joint", "forces": "a force", "actuators": "an actuator",
         "outputs": "an output", "limits": "a limit", "couplings": "a coupling", "link": "a coupling",
         "measurements": "a measurement"}
STATE = {"position": ref("vector"), "velocity": ref("vector"), "orientation": ref("orientation"),
         "angular_velocity": ref("vector"), "frame": ref("space_or_body"), "relative_to": ref("body")}
# What the annotations of functions of time do not say.
LISTS = {("polynomial", "coefficients"): numbers("a list of 1 to 40 numbers", 1, 40)}
DEGREES = {("spline", "degree"): {"description": "an odd integer from 1 to 15", "enum": list(range(1, 16, 2))},
           ("transfer", "smoothness"): {"description": "an integer from 1 to 12", "type": "integer", "minimum": 1,
                                        "maximum": 12}}
WORDS = {("ramp", "kind"): ("linear", "smooth"), ("table", "kind"): ("linear", "cubic"),
         ("spline", "ends"): ("not-a-knot", "rest")}


@cache
def schema(whole=True):
    """The JSON schema of model files, as plain data; but the `whole` of it, that of tables of `EVERY` kind of problem,
    for which the others are not imported."""
    types = {"joints": JOINTS, "forces": FORCES, "actuators": ACTUATORS}
    names = {table: {name: name if cls.table == table else f"{name}_of_{table}" for name, cls in known.items()}
             for table, known in types.items()}
    stated = {names[table][name]: part_schema(cls, table) for table, known in types.items()
              for name, cls in known.items()}
    bodies = {"rigid": rigid(), "point": point(), "variable_mass": point("a point mass that loses or gains mass"),
              "port_system": port_system(), "state": state()} | SCHEMAS | {name: body_schema(cls)
                                                     for name, cls in file_types("composites").items()}
    outputs = {f"output_{name}": entry for name, entry in OUTPUTS.items()}
    for word, entries in (("limit", LIMITS), ("coupling", COUPLINGS)):
        outputs |= {f"{word}_{name}": entry for name, entry in entries.items()}
    outputs |= {f"measured_{name}": entry for name, entry in MEASUREMENTS.items()}
    tables = {table: kinds(table, names[table]) for table in types}
    tables |= {"measurements": kinds("measurements", {name: f"measured_{name}" for name in MEASUREMENTS}),
               "noise": NOISE, "prior": PRIOR}
    tables["bodies"] = {**kinds("bodies", dict.fromkeys(bodies)), "description": "a table of bodies, at least one",
                        "minProperties": 1}
    tables["outputs"] = kinds("outputs", {name: f"output_{name}" for name in OUTPUTS})
    tables["limits"] = kinds("limits", {name: f"limit_{name}" for name in LIMITS}, "limit")
    tables |= {table: kinds(table, {name: f"coupling_{name}" for name in COUPLINGS}, "coupling")
               for table in ("couplings", "link")}
    tables = {name: table for name, table in (TABLES | tables).items() if whole or name in EVERY}
    tables |= {"problem": problem_table()} if whole else {}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "timefem model file",
            "description": "a model", "type": "object", "properties": tables, "additionalProperties": False,
            "if": {"not": {"required": ["phases"]}}, "then": {"required": ["time", "bodies"]},
            "$defs": VALUES | {"function": functions()} | bodies | stated | outputs}


def text():
    """The schema as JSON, for editors."""
    return json.dumps(schema(), indent=1) + "\n"


def kinds(table, types, default=None):
    """A table of entries that have a `type`: type -> definition, None for one of that name; or that may leave it out,
    where there is a default."""
    noun = NOUNS[table]
    rules = [{"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": ref(definition or name)}
             for name, definition in types.items()]
    if default:
        rules.append({"if": {"not": {"required": ["type"]}}, "then": ref(types[default])})
    return named(f"a table of {table}", {
        "description": f"a table that states {noun}", "type": "object", "properties": {"type": {"enum": list(types)}},
        "required": [] if default else ["type"], "allOf": rules})


def part_schema(cls, table):
    """Schema of a joint, force or actuator, from its declared arguments."""
    properties, needed = {"type": True}, []
    bodies = [field for field in cls.fields.values() if field.is_body and not field.key]
    several = any(field.several for field in bodies)
    key = "bodies" if len(bodies) > 1 or several else "body"
    if bodies:
        properties[key] = bodies[0].schema() if several else ref(key)
        needed.append(key)
    for name, field in cls.fields.items():
        if name == "name" or not field.in_files or (field.is_body and not field.key):
            continue
        key = field.key if field.is_body else field.argument or name
        properties[key] = described(field)
        needed += [key] * field.required
    if table == "actuators":
        properties |= OPTIMAL_KEYS
    return record(first_sentence(cls), properties, needed)


def body_schema(cls):
    """Schema of a composite part, which stands among the bodies."""
    own = {name: field for name, field in cls.fields.items() if name != "name" and field.in_files}
    return record(first_sentence(cls), {"type": True, **{name: described(field) for name, field in own.items()}},
                  [name for name, field in own.items() if field.required])


def described(field):
    """Schema of an argument; where its type alone is named, its help goes with it for editors."""
    own = field.schema()
    said = field.help + f" [{field.unit}]" * bool(field.unit)
    return {**own, "title": said} if said else own


def first_sentence(cls):
    """What a class is, in a line."""
    return cls.__doc__.split("\n\n")[0].replace("\n", " ").rstrip(".")


def rigid():
    """A rigid body, by mass and inertia or by one of the solids, and its state at the start."""
    own = {name: described(field) for name, field in QuaternionBody.fields.items() if name != "name"}
    solids = {name: solid(name) for name in SOLIDS}
    ways = [("mass", "inertia"), *((name,) for name in SOLIDS)]
    one = [{"required": list(way), "not": {"anyOf": [{"required": [key]} for other in ways if other != way
                                                     for key in other]}} for way in ways]
    entry = record("a rigid body", {"type": True, **own, **solids, "rotation": {"enum": ["quaternion", "directors"]},
                                    **STATE}, [])
    said = f"a body with mass and inertia, or with one of {', '.join(SOLIDS)}"
    return {**entry, "allOf": [{"description": said, "oneOf": one}]}


def solid(name):
    """A solid of `MassProperties`: all its arguments are positive numbers."""
    make = getattr(MassProperties, name)
    arguments = list(signature(make).parameters)
    return record(make.__doc__.split("\n")[0].rstrip("."), dict.fromkeys(arguments, ref("positive")), arguments)


def point(what="a point mass"):
    own = {name: described(field) for name, field in PointMass.fields.items() if name != "name"}
    state = {key: STATE[key] for key in ("position", "velocity", "relative_to")}
    return record(what, {"type": True, **own, **state}, ["mass"])


def state():
    """States of first order, and their rate, a `StateRate`."""
    own = {"n": described(State.fields["n"]), "x": ref("some_numbers")}
    rate = {"rate": ref("formula"), "bodies": ref("several_bodies"), "controls": ref("actuators"),
            "parameters": ref("some_numbers")}
    return record("states of first order", {"type": True, **own, **rate}, [])


def port_system():
    own = {name: described(field) for name, field in PortSystem.fields.items() if name != "name"}
    own = {"parameters" if name == "formula_parameters" else name: entry for name, entry in own.items()}
    return record("a port system", {"type": True, **own, "x": ref("some_numbers")}, ["n", "stored", "flow"])


def functions():
    """A number or a function of time, by the dataclasses of these."""
    known = ", ".join(FUNCTIONS)
    one = {"description": f"one function of time ({known})",
           "properties": {name: function(name, cls) for name, cls in FUNCTIONS.items()}, "additionalProperties": False,
           "minProperties": 1, "maxProperties": 1}
    return {"description": f"a number, one function of time ({known}), as in "
                           "{sine = {amplitude = 1, frequency = 2}}, or a formula of t in quotes",
            "type": ["number", "object", "string"], "if": {"type": "object"}, "then": one}


def function(name, cls):
    special = LISTS | DEGREES | {key: {"enum": list(words)} for key, words in WORDS.items()}
    own = {}
    for f in fields(cls):
        plain = ref("numbers") if f.name in ("times", "values") else ref("number")
        own[f.name] = special.get((name, f.name), plain)
    return record(f"a {name}: {first_sentence(cls)}", own, [f.name for f in fields(cls) if f.default is MISSING])
