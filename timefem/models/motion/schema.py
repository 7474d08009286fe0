"""Schema of estimation in model files: measurements, unknown forces, and what is known of the start."""

from ..schema_values import named, record, ref

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
