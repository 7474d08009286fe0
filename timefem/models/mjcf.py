"""Robots from MJCF files, the format of MuJoCo. Files they include are read where they are in the same folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..argument_names import named_arguments
from ..errors import InputError
from ..mechanics.bodies.tree.links import Link, TreeJoint
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.forces.actuators import GeneralizedControl
from ..mechanics.joints.turning import Spherical, Weld
from ..types import FilePath
from .mjcf_body import WORLD, BodyReader
from .mjcf_settings import Defaults, checked_settings, included
from .mjcf_shapes import Assets
from .robot import Robot
from .xml_file import XmlFile

GRAVITY = (0.0, 0.0, -9.81)
PASSED_OVER = ("size", "statistic", "visual", "asset", "custom", "sensor", "keyframe", "option", "compiler", "default",
               "worldbody", "equality", "actuator")
REFUSED = "deformable", "extension"


@named_arguments
def read_mjcf(path: FilePath, friction_width: float | None = None, meshes: FilePath | None = None) -> Robot:
    """Read a robot from an MJCF file.

    Bodies, joints of type hinge, slide, ball and free, inertias as given or of shapes, defaults and their classes;
    damping, friction, springs, `armature`, ranges (as data); equality constraints (connect, weld, and joint where it is
    linear), which hold exactly here; motors of joints and of fixed tendons, as actuators whose controls are zero unless
    a problem finds them.
    Positions of joints are those of MuJoCo's qpos. Contacts, springs of tendons, sensors and the like are left out;
    `notes` say so.

    Parameters
    ----------
    path : str or path-like
    friction_width : float, optional
        w [rad/s or m/s] of Coulomb friction `-f tanh(qdot / w)`. Without it friction is left out, and `notes` say so.
    meshes : str or path-like, optional
        Folder of the file, or of a copy of its meshes, which trimesh reads for pictures (`pip install
        timefem[meshes]`); no file outside of it is read. Without it meshes are not drawn; other shapes are.

    Returns
    -------
    Robot
        Its tree has the base link "world".

    Raises
    ------
    InputError
        Names file, line, element and attribute: for a file that is no XML, that declares a document type or entities,
        or includes files of another folder; for what is missing, unknown or no number, and for what cannot be left out.

    Examples
    --------
    >>> import timefem as tf
    >>> robot = tf.read_mjcf("robot.xml")                                             # doctest: +SKIP
    >>> sol = tf.solve(robot.problem({"shoulder": (-0.7, -0.4)}), tf.MixedGalerkin(3, form="lagrange"), 400)
    ...                                                                               # doctest: +SKIP
    """
    file = XmlFile(str(path))
    root = file.root
    if root.tag != "mujoco":
        raise file.error(root, "must be <mujoco>")
    included(file, root)
    notes = []
    for element in root:
        if element.tag in REFUSED:
            raise file.error(element, "is not supported")
        if element.tag == "contact" and len(element):
            notes.append(f"<{element.tag}> is left out")
        elif element.tag not in (*PASSED_OVER, "contact", "tendon"):
            raise file.error(element, f"is unknown in <mujoco>; known are {', '.join(PASSED_OVER)}, contact and tendon")
    settings = checked_settings(file, root, notes)
    defaults = Defaults(file, root)
    reader = BodyReader(file, defaults, settings, notes, Assets(file, root, defaults, meshes))
    for world in root.iterfind("worldbody"):
        reader.children(world, WORLD, None, np.zeros(3), np.eye(3))
    joints = _equalities(file, root, reader)
    rubbing = [joint.name for joint in reader.joints if joint.friction]
    if rubbing and friction_width is None:
        notes.append(f"Coulomb friction of {', '.join(rubbing)} is left out: give a friction_width (--friction-width)")
        reader.joints = [TreeJoint(**{**vars(joint), "friction": 0.0}) for joint in reader.joints]
    if reader.collides:
        notes.append("contacts are left out")
    name = root.get("model") or Path(path).stem
    try:
        tree = Tree([Link(WORLD), *reader.links], reader.joints, friction_width, name)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    actuators = _actuators(file, root, reader, tree)
    return Robot(str(path), name, tree, tuple(dict.fromkeys(notes)), settings["gravity"], reader.start,
                 tuple(make(tree) for make in joints), actuators)


def _equalities(file, root, reader):
    """Constraints between links, functions of the tree; mimic joints are put into `reader.joints`."""
    found = []
    for element in (e for table in root.iterfind("equality") for e in table):
        given = reader.defaults.complete(element, None)
        if given.get("active") == "false":
            continue
        if element.tag == "joint":
            _mimic(file, element, given, reader)
        elif element.tag in ("connect", "weld") and "body1" in given:
            found.append(_held(file, element, given, reader))
        else:
            raise file.error(element, "is not supported; connect and weld of bodies, and joint, are")
    return found


def _mimic(file, element, given, reader):
    names = {joint.name: i for i, joint in enumerate(reader.joints)}
    first, second = given.get("joint1"), given.get("joint2")
    for name in (first, second):
        if name is not None and name not in names:
            raise file.error(element, f"names the joint {name!r}, which there is not")
    offset, slope, *rest = np.append(file.numbers(element, "polycoef", None, (0, 1, 0, 0, 0)), np.zeros(5))[:5]
    if np.any(rest) or second is None:
        raise file.error(element, "is not supported: only a joint that follows another one linearly is")
    at, other = names[first], reader.joints[names[second]]
    start = {name: reader.start.get(name, 0.0) for name in (first, second)}
    joint = reader.joints[at]
    if any(j.kind not in ("revolute", "prismatic") for j in (joint, other)):
        raise file.error(element, "ties joints that are not hinges or slides")
    mimic = second, slope, start[first] + offset - slope * start[second]
    reader.joints[at] = file.made(element, TreeJoint, **{**vars(joint), "mimic": mimic})
    reader.start.pop(first, None)


def _held(file, element, given, reader):
    """A function of the tree that makes a joint between two bodies where they are at the start."""
    names = given["body1"], given.get("body2", WORLD)
    for name in names:
        if name not in reader.poses:
            raise file.error(element, f"names the body {name!r}, which there is not")
    (x, r), (y, s) = (reader.poses[name] for name in names)
    if element.tag == "connect":
        point = file.numbers(element, "anchor", 3)
        place, cls, more = x + r @ point, Spherical, {}
    else:
        pose = file.numbers(element, "relpose", 7, (0, 1, 0, 0, 0, 0, 0))
        if np.any(pose[3:]):
            raise file.error(element, "has a relpose, which is not supported; leave it out")
        if np.any(file.numbers(element, "anchor", 3, (0, 0, 0))):
            raise file.error(element, "has an anchor, which is not supported; leave it out")
        point, place, cls, more = np.zeros(3), x, Weld, {"orientation": s.T @ r}
    other = s.T @ (place - y)
    label = given.get("name")
    if WORLD in names:  # the ground
        if names[0] == WORLD:
            names, point, other, r, s = names[::-1], other, point, s, r
            more = {"orientation": r} if more else {}
        other = place
        more = {"orientation": r} if more else {}

    def make(tree):
        b = None if names[1] == WORLD else tree.link(names[1])
        return file.made(element, cls, tree.link(names[0]), b, point_a=point, point_b=other, name=label, **more)

    return make


def _actuators(file, root, reader, tree):
    """Actuators of joints, by name."""
    found, kinds, tendons = {}, {joint.name: joint.kind for joint in tree.joints}, _fixed_tendons(file, root, reader)
    for n, element in enumerate(e for table in root.iterfind("actuator") for e in table):
        given = reader.defaults.complete(element, None)
        joint = given.get("joint")
        name = given.get("name") or f"actuator {n + 1}"
        force = element.tag == "motor" or (element.tag == "general" and given.get("biastype", "none") == "none"
                                           and given.get("gaintype", "fixed") == "fixed"
                                           and given.get("dyntype", "none") == "none")
        pulled = tendons.get(given.get("tendon"), {joint: 1.0})
        if not force or any(kinds.get(name) not in ("revolute", "prismatic") for name in pulled):
            if joint is not None and joint not in kinds:
                raise file.error(element, f"names the joint {joint!r}, which there is not")
            reader.notes.append(f"<{element.tag}> {name} is left out: only motors of hinges, slides and fixed tendons "
                                "of these act here")
            continue
        gear, gain = reader.values(given, element, "gear", None, (1,))[0], 1.0
        if element.tag == "general":
            gain = reader.values(given, element, "gainprm", None, (1,))[0]
        factors = {j.name: j.mimic[1] for j in tree.joints if j.mimic}
        if "tendon" not in given:
            found[name] = GeneralizedControl(tree.joint(joint), [[gear * gain * factors.get(joint, 1.0)]], name=name)
            continue
        column = np.zeros((tree.n_q, 1))
        for pulls, arm in pulled.items():
            column[tree.joint(pulls).places] += gear * gain * arm * factors.get(pulls, 1.0)
        found[name] = GeneralizedControl(tree, column, name=name)
    return found


def _fixed_tendons(file, root, reader):
    """Name -> joint -> its arm, of tendons whose length is `sum_i coef_i q_i`."""
    found = {}
    for element in (e for table in root.iterfind("tendon") for e in table):
        if element.tag == "fixed" and "name" in element.attrib:
            found[element.get("name")] = {file.text(child, "joint"): file.number(child, "coef")
                                          for child in element.iterfind("joint")}
        if element.tag != "fixed" or any(np.any(file.numbers(element, key, None, (0,)))
                                          for key in ("stiffness", "damping", "frictionloss")):
            reader.notes.append(f"the tendon {element.get('name')} is left out, but for motors that pull a fixed one")
    return found


