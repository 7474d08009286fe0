"""Schema of values and of the tables that state no parts, whose descriptions are what messages say is right."""

from ..elements.element import ELEMENTS
from ..problems.kinds import in_files
from ..solvers.nonlinear.program import METHODS
from ..validate.options import OPTIONS


def ref(name):
    """Reference to a definition of the schema."""
    return {"$ref": f"#/$defs/{name}"}


def record(description, properties, required):
    """A table with these keys and no others."""
    return {"description": description, "type": "object", "properties": properties, "required": required,
            "additionalProperties": False}


def named(description, entry):
    """A table of entries by their names."""
    return {"description": description, "type": "object",
            "propertyNames": {"description": "a name of at least one character", "minLength": 1},
            "additionalProperties": entry}


def numbers(description, least, most):
    """A list of numbers."""
    return {"description": description, "type": "array", "items": ref("number"), "minItems": least, "maxItems": most}


def function_of_time(description):
    """A number, a formula of t in quotes, or the table of one function of time."""
    return {"description": description, "type": ["number", "object", "string"],
            "if": {"type": "object"}, "then": ref("function")}


def one_or_list(entry):
    """An entry, or a list of such."""
    several = {"description": entry["description"], "type": "array", "items": entry, "minItems": 1}
    return {"if": {"type": "array"}, "then": several, "else": entry}


COORDINATES = "angle", "angle_a", "angle_b", "displacement", "u", "v"  # names of coordinates of joints between bodies
OF_JOINT = ("the coordinate of a joint, or a list of it and its rate; a quaternion or matrix of a spherical joint; a "
            "list of position and rate of a joint of a tree; or a table")
END_OF_PART = f"a table of what is prescribed for a body, or {OF_JOINT}"
OF_NUMBERS = "a finite number, or a list of one for each"
OF_TIME = "a finite number or a function of time, such as a formula of t in quotes, or a list of one for each"
UNBOUNDED = '"free" where there is no bound'
PLAIN_OF_JOINT = {"anyOf": [ref("number"), ref("some_numbers"), ref("matrix")]}

VALUES = {
    "text": {"description": "a text in quotes", "type": "string"},
    "names": {
        "description": "an array of texts in quotes, at least one",
        "type": "array",
        "items": {"description": "a text in quotes", "type": "string"},
        "minItems": 1,
    },
    "share": {"description": "a positive number, at most 1", "type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "flag": {"description": "true or false", "type": "boolean"},
    "number": {"description": "a finite number, of size 1e100 at most", "type": "number"},
    "positive": {"description": "a positive, finite number", "type": "number", "exclusiveMinimum": 0},
    "not_negative": {"description": "a finite number, zero or more", "type": "number", "minimum": 0},
    "count": {"description": "an integer from 1 to 100000000", "type": "integer", "minimum": 1, "maximum": 100000000},
    "vector": {
        "description": "three numbers, as in [0, 0, 1]",
        "type": "array",
        "items": ref("number"),
        "minItems": 3,
        "maxItems": 3,
    },
    "numbers": {
        "description": "a list of at least two numbers",
        "type": "array",
        "items": ref("number"),
        "minItems": 2,
    },
    "matrix": {
        "description": "three rows of three numbers",
        "type": "array",
        "items": ref("vector"),
        "minItems": 3,
        "maxItems": 3,
    },
    "inertia": {
        "description": "three principal values or a matrix of three rows of three numbers [kg m^2]",
        "anyOf": [ref("vector"), ref("matrix")],
    },
    "orientation": {
        "description": "a unit quaternion of four numbers, scalar first, or a rotation matrix of three rows of three "
                       "numbers",
        "anyOf": [
            {
                "description": "four numbers",
                "type": "array",
                "items": ref("number"),
                "minItems": 4,
                "maxItems": 4,
            },
            ref("matrix"),
        ],
    },
    "some_numbers": {"description": "a list of at least one number", "type": "array", "items": ref("number"),
                     "minItems": 1},
    "joint_states": named("a table of joints: a position, or a list of the numbers of its position and its rate",
                          ref("state_of_joint")),
    "value_and_rate": {
        "description": "two numbers, a value and its rate",
        "type": "array",
        "items": ref("number"),
        "minItems": 2,
        "maxItems": 2,
    },
    "coordinate_value": {"description": "a number, or a list of value and rate",
                         "anyOf": [ref("number"), ref("value_and_rate")]},
    # "if" rather than "anyOf", so that messages name the key inside of a table that is wrong
    "state_of_joint": {"description": OF_JOINT, "if": {"type": "object"}, "then": ref("end_state"),
                       "else": {"description": OF_JOINT, **PLAIN_OF_JOINT}},
    "formula": {
        "description": 'a formula in quotes, as in "-c[0] * x[0]", or a list of such and of numbers',
        "anyOf": [ref("text"), {"description": "a list of formulas", "type": "array", "items": ref("formula_or_number"),
                                "minItems": 1}],
    },
    "formula_or_number": {"description": "a number, a formula in quotes, or a list of such",
                          "anyOf": [ref("number"), ref("formula")]},
    "several_bodies": {
        "description": "a list of the names of bodies",
        "type": "array",
        "items": ref("body"),
        "minItems": 1,
        "uniqueItems": True,
    },
    "actuators": {"description": "a list of the names of actuators", "type": "array", "items": ref("text"),
                  "minItems": 1, "uniqueItems": True},
    "reactions": {"description": "a list of the names of joints and other constraints", "type": "array",
                  "items": ref("text"), "minItems": 1, "uniqueItems": True},
    "drives": {
        "description": "a list of names of joints, pairs of such a name and that of a coordinate, names of actuators",
        "type": "array",
        "items": ref("joint_or_pair"),
        "minItems": 1,
    },
    "inputs": {
        "description": "a list of names of joints, pairs of such a name and that of a coordinate, names of outputs",
        "type": "array",
        "items": ref("joint_or_pair"),
        "minItems": 1,
    },
    "joint_or_pair": {"description": "a name in quotes, or a list of two", "anyOf": [ref("text"), {
        "description": "a list of two names", "type": "array", "items": ref("text"), "minItems": 2, "maxItems": 2}]},
    "joint": {"description": "the name of a joint with an angle or a displacement, in quotes", "type": "string"},
    "coordinate": {"description": 'the name of a coordinate of the joint, in quotes, as in "angle"', "type": "string"},
    "body": {"description": "the name of a body, in quotes", "type": "string"},
    "bodies": {
        "description": "a list of one body (the other side is the ground) or of two different bodies",
        "type": "array",
        "items": ref("body"),
        "minItems": 1,
        "maxItems": 2,
        "uniqueItems": True,
    },
    "partial_vector": {
        "description": 'three entries, each a number, or "free" where nothing is asked for',
        "type": "array",
        "items": {"description": 'a finite number, or "free"', "anyOf": [ref("number"), {"const": "free"}]},
        "minItems": 3,
        "maxItems": 3,
    },
    "partial_numbers": {
        "description": 'a list of one entry for each coordinate, each a number, or "free" where nothing is asked for',
        "type": "array",
        "items": {"description": 'a finite number, or "free"', "anyOf": [ref("number"), {"const": "free"}]},
        "minItems": 1,
    },
    "bound": one_or_list({"description": f"{OF_NUMBERS}; {UNBOUNDED}", "anyOf": [ref("number"), {"const": "free"}]}),
    "bounds": one_or_list(function_of_time(f"{OF_TIME}; {UNBOUNDED}")),
    "functions": one_or_list(function_of_time(OF_TIME)),
    "end_of_part": {"description": END_OF_PART, "if": {"type": "object"}, "then": ref("end_state"),
                    "else": {"description": END_OF_PART, **PLAIN_OF_JOINT}},
    "end_state": record(
        "a table of what is prescribed for a body: position, orientation, velocity, angular_velocity; for a tree: "
        f"joints, or q and v; for a joint: its coordinates, {', '.join(COORDINATES)}", {
            "joints": ref("joint_states"),
            "q": ref("partial_numbers"),
            "position": ref("partial_vector"),
            "orientation": ref("orientation"),
            "velocity": ref("partial_vector"),
            "angular_velocity": ref("partial_vector"),
            "frame": ref("space_or_body"),
            **dict.fromkeys(COORDINATES, ref("coordinate_value")),
            "v": {"description": "a number, or a list of such or of \"free\"",
                  "anyOf": [ref("number"), ref("partial_numbers")]},
        }, []),
    "space_or_body": {"enum": ["space", "body"]},
    "vector_function": {
        "description": "three components, each a number or a function of time",
        "type": "array",
        "items": ref("function"),
        "minItems": 3,
        "maxItems": 3,
    },
}


# ---- Schema of the tables of a model file that state no parts: time, solver, problem, outputs, what is to be found

PHASE_TABLES = "bodies", "joints", "state", "forces", "actuators", "limits", "problem", "link", "guess"

METHOD = {"description": "the name of a method, in quotes, or a table with name, tolerance, max_iterations",
          "if": {"type": "object"}, "then": record("a method for inequalities", {
              "name": {"enum": list(METHODS)}, "tolerance": ref("positive"), "max_iterations": ref("count"),
              "pushes": {"description": "an integer, zero or more", "type": "integer", "minimum": 0},
              "options": {"description": "a table of options of the method", "type": "object"}}, ["name"]),
          "else": OPTIONS["method"].schema}
ELEMENT = {"description": "the name of an element, in quotes, or a table with name and fields of its class",
           "if": {"type": "object"}, "then": {
               "description": "a table with the name of an element and fields of its class", "type": "object",
               "properties": {"name": {"enum": list(ELEMENTS)}}, "required": ["name"],
               "additionalProperties": {"description": "a number, a text, true or false, or a list of such",
                                        "type": ["number", "string", "boolean", "array"]}},
           "else": {"enum": list(ELEMENTS)}}
TOLERANCE = {"description": "a positive number, or a table with tolerance, min_step, max_step",
             "if": {"type": "object"}, "then": record("a table of the steps of a march", {
                 **dict.fromkeys(("tolerance", "min_step", "max_step"), ref("positive")),
                 "options": {"description": "a table of options of these steps", "type": "object"}}, ["tolerance"]),
             "else": OPTIONS["tolerance"].schema}
DURATION = {**record("a table with lower, upper or both", {"lower": ref("positive"), "upper": ref("positive")}, []),
            "minProperties": 1}

TABLES = {
    "title": ref("text"),
    "description": ref("text"),
    "gravity": ref("vector"),
    "redundant": {"enum": ["refuse", "drop"]},
    "coordinates": {"enum": ["bodies", "joint"]},
    "assemble": ref("flag"),
    "state": named("a table of the coordinates of joints at the start", ref("state_of_joint")),
    "time": record("the time span and its elements", {
        "span": numbers("two numbers, start and end [s]", 2, 2), "n_elements": ref("count"), "mesh": ref("numbers")},
        ["span"]),
    "solver": record("settings of the solver", {
        "element": ELEMENT,
        **{name: option.schema for name, option in OPTIONS.items() if option.in_files}, "method": METHOD,
        "tolerance": TOLERANCE}, []),
    "problem": True,  # see `problem_table`
    "guess": record("a table of what the solve starts from", {
        "controls": {"description": 'a table of numbers, lists of numbers or functions of time by actuator, or "zero"',
                     "anyOf": [{"const": "zero"}, named("a table by actuator", ref("functions"))]},
        "bend": ref("number"), "seed": {"description": "an integer, zero or more", "type": "integer", "minimum": 0},
        "duration": ref("positive"),
        "parameters": named("a table of guesses of unknown numbers", ref("number")),
        "motion": {"description": "a list of states, each a list of the coordinates and momenta of all bodies",
                   "type": "array", "items": ref("some_numbers"), "minItems": 2},
        "times": ref("numbers"), "solution": ref("text")}, []),
    "phases": {"description": "a list of tables [[phases]]", "type": "array", "minItems": 1,
               "items": record("a phase, by what it has besides the top of the file, or in place of it", {
                   "name": ref("text"), "gravity": ref("vector"),
                   **{key: {"description": "a table", "type": "object"} for key in (*PHASE_TABLES, "time")}}, [])},
    "sensitivity": record("a table that states derivatives: of what, and by which parameters", {
        "of": ref("names"), "parameters": ref("names"), "method": {"enum": ["adjoint", "forward"]}},
        ["of", "parameters"]),
    "continuation": record("a table that states which number to vary, and from where", {
        "vary": {"description": 'the key of a number of this file, in quotes, as in "time.span[1]"', "type": "string"},
        "start": ref("number"), "first_step": ref("share"), "least_step": ref("share")}, ["vary", "start"]),
}

# Tables that files of all kinds of problems take
EVERY = frozenset(("title", "description", "gravity", "redundant", "coordinates", "assemble", "state", "time", "solver",
                   "bodies", "joints", "forces"))


def problem_table():
    """The table that states the problem, by what all kinds say of it, which are imported."""
    return record("a table that states the problem: its kind, and what is prescribed", {
        "kind": {"enum": list(in_files())},
        "start": named("a table of what is prescribed for bodies and joints at the start", ref("end_of_part")),
        "end": named("a table of what is prescribed for bodies and joints at the end", ref("end_of_part")),
        **dict.fromkeys(("conditions", "end_conditions", "path"), ref("formula")),
        "periodic": ref("flag"),
        "free_time": ref("flag"),
        "turns": {"description": "an integer from 0 to 20", "type": "integer", "minimum": 0, "maximum": 20},
        "cost": ref("formula"),
        "end_cost": ref("text"),
        "n_starts": ref("count"),
        **{key: schema for kind in in_files().values() for key, schema in kind.in_files.schemas.items()},
        "limits": {"description": 'a table of lower and upper limits by joint, or "model" for those that joints state',
                   "anyOf": [{"const": "model"}, named("a table by joint", record(
                       "a table with lower, upper or both", {"lower": ref("number"), "upper": ref("number")}, []))]},
        "duration": {"description": "two positive numbers, the least and the greatest duration [s], or a table with "
                                    "lower, upper or both", "if": {"type": "object"}, "then": DURATION, "else": {
                         "description": "two positive numbers, the least and the greatest duration [s]",
                         "type": "array", "items": ref("positive"), "minItems": 2, "maxItems": 2}},
        "parameters": named("a table of unknown numbers", record(
            'a table with part and number, as in {part = "spring", number = "stiffness"}, or with a value', {
                "part": {"description": "the name of a body, joint or force, in quotes", "type": "string"},
                "number": {"description": 'the name of a number of it, in quotes, as in "stiffness"', "type": "string"},
                "value": {"description": "the guess of a number that formulas have alone", "type": "number"},
                "lower": ref("number"),
                "upper": ref("number"),
                "mean": ref("number"),
                "sigma": ref("positive")}, [])),
        "follows": named("a table of formulas of the unknown numbers, by the names of numbers of parts", ref("text")),
    }, ["kind"])


OUTPUTS = {
    "position": record("the position of a point along an axis, and its trajectory", {
        "type": True, "body": ref("body"),
        "axis": {"description": '"x", "y", "z" or three numbers',
                 "anyOf": [{"enum": ["x", "y", "z"]}, ref("vector")]},
        "point": ref("vector"), "trajectory": ref("function")}, ["body", "axis"]),
    "angle": record("the angle of a direction of a body about an axis, and its trajectory", {
        "type": True, "body": ref("body"), "axis": {"enum": ["x", "y", "z"]}, "direction": ref("vector"),
        "reference": ref("vector"), "trajectory": ref("function")}, ["body", "axis", "direction"]),
    "coordinate": record("one coordinate of a body, and its trajectory", {
        "type": True, "body": ref("body"),
        "index": {"description": "an integer from 0 to 12", "type": "integer", "minimum": 0, "maximum": 12},
        "trajectory": ref("function")}, ["body", "index"]),
    "joint": record("a coordinate of a joint, and its trajectory", {
        "type": True, "joint": ref("joint"), "coordinate": ref("coordinate"), "trajectory": ref("function")},
        ["joint"]),
    "formula": record("a formula of the frames f of bodies, and its trajectory", {
        "type": True, "bodies": ref("several_bodies"), "formula": ref("text"), "trajectory": ref("function")},
        ["bodies", "formula"]),
}

# Keys of actuators in optimal control
OPTIMAL_KEYS = {
    "effort": {
        "description": "a positive weight, or a list of one for each control",
        "anyOf": [
            ref("positive"),
            {"description": "weights", "type": "array", "items": ref("positive"), "minItems": 1},
        ],
    },
    **dict.fromkeys(("lower", "upper", "lower_rate", "upper_rate"), ref("bounds")),
}


_TYPE, _FORMULA = {"type": True}, ref("formula")
_SOFT = {"eps": ref("positive"), "first": ref("positive")}

LIMITS = {
    "limit": record("a limit of formulas of now and u, the motion and all controls at a time", _TYPE | {
        "formula": _FORMULA, "output": {"description": "the name of an output, in quotes", "type": "string"},
        "lower": ref("bounds"), "upper": ref("bounds"),
        "at": {"enum": ["path", "start", "end", "integral"]},
        "points": {"description": "an integer from 0 to 100", "type": "integer", "minimum": 0, "maximum": 100}}, []),
    "complementary": record("pairs of formulas a and b, neither negative and one of them zero", _TYPE | _SOFT | {
        "a": _FORMULA, "b": _FORMULA, "at": {"enum": ["element-end", "controls"]}, "march": ref("flag")}, ["a", "b"]),
    "spring_contact": record("a spring with a damper that only pushes, where a gap is closed", _TYPE | {
        "gap": _FORMULA, "force": _FORMULA, "march": ref("flag"),
        **dict.fromkeys(("stiffness", "restitution", "mass", "eps"), ref("positive"))}, ["gap", "force", "stiffness"]),
    "friction": record("dry friction against a velocity", _TYPE | _SOFT | {
        "velocity": _FORMULA, "force": _FORMULA, "bound": ref("formula_or_number")}, ["velocity", "force", "bound"]),
}
COUPLINGS = {
    "coupling": record("a formula of two ends: start and end, or before and after of a link of phases", _TYPE | {
        "formula": _FORMULA, "lower": ref("bound"), "upper": ref("bound")}, ["formula"]),
    "same": record("bodies whose state goes on", _TYPE | {"bodies": ref("names")}, ["bodies"]),
}


BASE = {"base": {"enum": ["fixed", "free"]}, "friction_width": ref("positive"), "state": ref("joint_states")}
LINK = {"name": ref("text"), "mass": ref("not_negative"), "centre": ref("vector"), "inertia": ref("inertia"),
        "orientation": ref("orientation"), "gravity_compensation": ref("number"), "shapes": {
            "description": "a list of tables with shape, size, position and orientation", "type": "array",
            "items": record("a shape", {"shape": {"enum": ["box", "cylinder", "ellipsoid"]}, "size": ref("vector"),
                                        "position": ref("vector"), "orientation": ref("orientation")},
                            ["shape", "size"])}}
JOINT = {"name": ref("text"), "parent": ref("text"), "child": ref("text"),
         "kind": {"enum": ["revolute", "prismatic", "planar", "universal", "spherical", "floating", "fixed"]},
         "position": ref("vector"), "orientation": ref("orientation"), "axis": ref("vector"), "across": ref("vector"),
         **dict.fromkeys(("damping", "friction", "stiffness", "armature"), ref("not_negative")), "rest": ref("number"),
         "mimic": {"description": "a list of a joint, in quotes, a factor and an offset", "type": "array",
                   "prefixItems": [ref("text"), ref("number"), ref("number")], "minItems": 3, "maxItems": 3}}
SCHEMAS = {
    "tree": record("links joined in an open chain, in joint coordinates", {
        "type": True, **BASE,
        "links": {"description": "a list of links, tables with name, mass, centre, inertia", "type": "array",
                  "items": record("a link", LINK, ["name"]), "minItems": 1},
        "joints": {"description": "a list of joints, tables with name, parent, child, kind, position, axis",
                   "type": "array", "items": record("a joint of a tree", JOINT, ["name", "parent", "child"])}},
        ["links", "joints"]),
    "robot": record("a robot of a URDF or MJCF file", {"type": True, **BASE, "file": ref("text")}, ["file"])}


# ---- schema of estimation in model files: measurements, unknown forces, and what is known of the start

_SOME = {"description": "a number, or a list of numbers", "anyOf": [ref("number"), ref("some_numbers")]}
_PRIOR = {"description": "a number, a list of numbers, or a table with mean and sigma where it is unknown",
          "anyOf": [ref("number"), ref("some_numbers"), record("a table with mean and sigma", {
              "mean": _SOME, "sigma": _SOME, "lower": _SOME, "upper": _SOME}, ["sigma"])]}
_MATRIX = {"description": "a matrix, as in [[1, 0.5], [0.5, 1]]", "type": "array", "minItems": 1,
           "items": ref("some_numbers")}
_COMMON = {"type": True, "columns": ref("names"), "sigma": _SOME, "covariance": _MATRIX,
           "bias": _PRIOR, "scale": _PRIOR, "time_offset": _PRIOR, "loss": {"enum": ["huber", "student"]}}
_MOUNTED = {"mounting": ref("orientation"), "mounting_error": _PRIOR}
_AXES = {"description": 'some of "xyz", such as "xz"', "type": "string"}
_NEEDED = ["columns"]

MEASUREMENTS = {
    "marker": record("the place of a point of a body", _COMMON | {
        "body": ref("body"), "point": _PRIOR, "axes": _AXES}, ["body", *_NEEDED]),
    "velocity": record("the velocity of a point of a body", _COMMON | {
        "body": ref("body"), "point": _PRIOR, "axes": _AXES}, ["body", *_NEEDED]),
    "direction": record("a vector of space in the axes of a body", _COMMON | _MOUNTED | {
        "body": ref("body"), "direction": _PRIOR}, ["body", "direction", *_NEEDED]),
    "orientation": record("the orientation of a body, as a quaternion", _COMMON | _MOUNTED | {
        "body": ref("body")}, ["body", *_NEEDED]),
    "gyroscope": record("the angular velocity of a body in its axes", _COMMON | _MOUNTED | {
        "body": ref("body"), "axes": _AXES}, ["body", *_NEEDED]),
    "accelerometer": record("the specific force at a point of a body", _COMMON | _MOUNTED | {
        "body": ref("body"), "point": _PRIOR, "axes": _AXES, "gravity": ref("vector")}, ["body", *_NEEDED]),
    "joint": record("a coordinate of a joint, or its rate", _COMMON | {
        "joint": ref("joint"), "coordinate": ref("coordinate"), "rate": ref("flag")}, ["joint", *_NEEDED]),
    "reaction": record("force or torque of a joint", _COMMON | {
        "joint": ref("joint"), "body": ref("body"), "components": {"enum": ["force", "torque", "both"]}},
        ["joint", *_NEEDED]),
    "formula": record("a formula of now, the motion at a time", _COMMON | {"formula": ref("formula")},
                      ["formula", *_NEEDED]),
}
NOISE = named("a table of spectral densities of unknown forces, by body, joint or actuator", {
    "description": "a number, a list of one for each component, or a table with force and torque, without dynamics "
                   "with place and turn",
    "anyOf": [ref("positive"), ref("some_numbers"), record(
        "a table with force, torque or both, or place and turn",
        dict.fromkeys(("force", "torque", "place", "turn"), _SOME), [])]})
PRIOR = named("a table of standard deviations at the start, by body or joint", record(
    "a table with position, orientation, velocity, angular_velocity, or q and v", dict.fromkeys(
        ("position", "orientation", "velocity", "angular_velocity", "q", "v"), _SOME), []))
