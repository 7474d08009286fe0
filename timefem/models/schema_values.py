"""Schema of values in model files, whose descriptions are what messages say is right."""


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
END_OF_PART = f"a table of what is asked of a body, or {OF_JOINT}"
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
        "a table of what is asked of a body: position, orientation, velocity, angular_velocity; of a tree: joints, or "
        f"q and v; of a joint: its coordinates, {', '.join(COORDINATES)}", {
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
