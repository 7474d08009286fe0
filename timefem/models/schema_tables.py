"""Schema of the tables of a model file that state no parts: time, solver, problem, outputs, what is to be found."""

from ..elements.named import ELEMENTS
from ..problems.kinds import in_files
from ..solvers.nonlinear.methods import METHODS
from ..validate.options import OPTIONS
from .schema_values import named, numbers, record, ref

PHASE_TABLES = "bodies", "joints", "state", "forces", "actuators", "limits", "problem", "link", "guess"

METHOD = {"description": "the name of a method, in quotes, or a table with name, tolerance, max_iterations",
          "if": {"type": "object"}, "then": record("a method for inequalities", {
              "name": {"enum": list(METHODS)}, "tolerance": ref("positive"), "max_iterations": ref("count"),
              "pushes": {"description": "an integer, zero or more", "type": "integer", "minimum": 0},
              "options": {"description": "a table of options of the method", "type": "object"}}, ["name"]),
          "else": OPTIONS["method"].schema}
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
        "element": {"enum": list(ELEMENTS)},
        **{name: option.schema for name, option in OPTIONS.items() if option.in_files}, "method": METHOD,
        "tolerance": TOLERANCE}, []),
    "problem": record("a table that states the problem: its kind, and what is asked for", {
        "kind": {"enum": list(in_files())},
        "start": named("a table of what is asked of bodies and joints at the start", ref("end_of_part")),
        "end": named("a table of what is asked of bodies and joints at the end", ref("end_of_part")),
        **dict.fromkeys(("conditions", "end_conditions", "path"), ref("formula")),
        "periodic": ref("flag"),
        "free_time": ref("flag"),
        "turns": {"description": "an integer from 0 to 20", "type": "integer", "minimum": 0, "maximum": 20},
        "cost": ref("formula"),
        "end_cost": ref("text"),
        "n_starts": ref("count"),
        "data": ref("text"),
        "loss": {"enum": ["huber", "student"]},
        "dynamics": {"enum": ["full", "none"]},
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
    }, ["kind"]),
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
