"""Schema of limits in model files: quantities, limits of these, contacts, and what ties ends together."""

from .schema_tables import OUTPUTS
from .schema_values import record, ref

_TYPE = {"type": True}
_AXIS = {"enum": ["x", "y", "z"]}
_INDEX = OUTPUTS["coordinate"]["properties"]["index"]
_ACTUATOR = {"description": "the name of an actuator, in quotes", "type": "string"}


def _of_output(name):
    own = {key: value for key, value in OUTPUTS[name]["properties"].items() if key not in ("type", "trajectory")}
    return (OUTPUTS[name]["description"].replace(", and its trajectory", ""), own,
            [key for key in OUTPUTS[name]["required"] if key != "index"])


# Of a state: description, properties, required
OF_STATES = {name: _of_output(name) for name in OUTPUTS} | {
    "velocity": ("a component of the velocity of a centre of mass", {"body": ref("body"), "axis": _AXIS},
                 ["body", "axis"]),
    "rate": ("the rate of a coordinate of a body, or of all", {"body": ref("body"), "index": _INDEX}, ["body"]),
    "angular_velocity": ("a component of the angular velocity of a body", {
        "body": ref("body"), "axis": _AXIS, "frame": ref("space_or_body")}, ["body", "axis"]),
    "distance": ("the distance of a body from another one or a point", {
        "body": ref("body"), "other": ref("body"), "point": ref("vector")}, ["body"]),
    "joint_rate": ("the rate of a coordinate of a joint", {"joint": ref("joint"), "coordinate": ref("coordinate")},
                   ["joint"]),
    "sum": ("a sum of quantities, each times its factor", {"terms": {
        "description": "a list of quantities, which may have a factor", "type": "array", "minItems": 1,
        "items": ref("term")}}, ["terms"]),
}
OF_CONTROLS = {
    "effort": ("the sum of the squared controls of an actuator", {"actuator": _ACTUATOR}, ["actuator"]),
    "control": ("a control of an actuator, or all", {"actuator": _ACTUATOR, "index": _INDEX}, ["actuator"]),
}
_BOUNDS = {"lower": ref("function"), "upper": ref("function"), "at": {"enum": ["path", "start", "end", "integral"]},
           "points": {"description": "an integer from 0 to 100", "type": "integer", "minimum": 0, "maximum": 100}}
_EPS = {"eps": ref("positive"), "first": ref("positive")}
_CONTACTS = {
    "contact": record("a gap that stays open, and a force that acts where it is closed", _TYPE | _EPS | {
        "gap": ref("quantity"), "force": _ACTUATOR, "at": {"enum": ["element-end", "controls"]},
        "stiffness": ref("positive")}, ["gap", "force"]),
    "friction": record("dry friction against a velocity", _TYPE | _EPS | {
        "velocity": ref("quantity"), "force": _ACTUATOR, "bound": ref("positive"), "coefficient": ref("positive"),
        "normal": _ACTUATOR}, ["velocity", "force"]),
}
_JUMP = {"before": ref("quantity"), "factor": ref("number"), "offset": ref("number"), "lower": ref("number"),
         "upper": ref("number")}

TERMS = {name: record(said, _TYPE | own | {"factor": ref("number")}, needed)
         for name, (said, own, needed) in (OF_STATES | OF_CONTROLS).items() if name != "sum"}
QUANTITIES = {name: record(said, _TYPE | own, needed) for name, (said, own, needed) in OF_STATES.items()}
LIMITS = {name: record(f"{said}, in limits", _TYPE | own | _BOUNDS, needed)
          for name, (said, own, needed) in (OF_STATES | OF_CONTROLS).items()} | _CONTACTS
COUPLINGS = {name: record(f"{said}, at two ends", _TYPE | own | _JUMP, needed)
             for name, (said, own, needed) in OF_STATES.items()} | {
    "same": record("bodies whose state goes on", _TYPE | {"bodies": ref("names")}, ["bodies"])}
