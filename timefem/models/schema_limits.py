"""Schema of limits in model files, and of what ties ends together: formulas and their bounds."""

from .schema_values import record, ref

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
