"""Schema of trees and robots in model files."""

from .schema_values import record, ref

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
