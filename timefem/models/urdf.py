"""Robots from URDF files. Only the file itself is read, and meshes in a folder that is given; no entities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import validate
from ..display import digits
from ..errors import InputError, named_arguments
from ..mechanics.bodies import rotations
from ..mechanics.bodies.tree.links import Link, TreeJoint
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.forces.actuators import GeneralizedControl
from ..types import FilePath
from .robot import Attributes, Collider, Notes, Robot, XmlFile, checked, limits_note, on_plane, rubbing, stops
from .surfaces import Meshes, about

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed",
         "floating": "floating", "planar": "planar"}
ELEMENTS = {  # attributes that are read, and what has no effect here; anything else makes a note
    "robot": Attributes("name", "version"), "link": Attributes("name", "type"),
    "origin": Attributes("xyz rpy quat_xyzw"), "axis": Attributes("xyz"),
    "inertial": Attributes(""), "mass": Attributes("value"), "inertia": Attributes("ixx ixy ixz iyy iyz izz"),
    "joint": Attributes("name type"), "parent": Attributes("link"), "child": Attributes("link"),
    "dynamics": Attributes("damping friction", "", {"spring_stiffness": "0", "spring_reference": "0"}),
    "limit": Attributes("lower upper effort velocity", "acceleration deceleration jerk"),
    "mimic": Attributes("joint multiplier offset")}
KNOWN = {  # elements in others
    "robot": "link joint transmission material gazebo frame drake:collision_filter_group",
    "inertial": "origin mass inertia",
    "link": "inertial visual collision contact self_collision_checking sensor gazebo",
    "joint": "origin parent child axis dynamics limit mimic calibration gazebo"}
MOVING = {"gravity": "true 1", "turnGravityOff": "false 0", "springStiffness": "0 0.0"}  # elements of <gazebo> that are
# not of pictures and contacts, with the values that are no effect; anything else makes a note
TOUCHING = {  # elements that count where shapes touch, or have no effect on how they do; anything else makes a note
    "collision": "origin geometry verbose", "contact": "lateral_friction restitution",
    "gazebo": "material visual sensor plugin gravity turnGravityOff selfCollide self_collide"}
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@named_arguments
def read_urdf(path: FilePath, friction_width: float | None = None, base: str = "fixed",
              meshes: FilePath | None = None, contacts: str | None = None) -> Robot:
    """Read a robot from a URDF file.

    Links with inertias in their frames, joints of all types, their damping and friction, and mimic joints count. Limits
    are kept as data. Transmissions of one joint become actuators. Visual boxes, cylinders and spheres are drawn, and
    meshes where their folder is given; what cannot be drawn is not, and `notes` say so. Each attribute and element that
    is not read is noted, too, but for pictures, contacts and what of <gazebo> does not move a robot.

    With `contacts="rigid"` limits of joints are stops, friction of joints is dry unless there is a `friction_width`,
    and the <collision> shapes of links that move touch the floor z = 0: spheres and capsules, corners of boxes, eight
    points of each rim of a cylinder, with the lateral_friction (0.5 unless given) and restitution of their <contact>;
    what else a <collision>, <contact> or <gazebo> of a link says of it, such as mu1, is noted.

    Parameters
    ----------
    path : str or path-like
    friction_width : float, optional
        w [rad/s or m/s] of Coulomb friction `-f tanh(qdot / w)`. Without it friction is left out, and `notes` say so.
    base : {"fixed", "free"}
        Whether the base link is fixed to space, or moves freely; then it is the child of a joint called "base".
    meshes : str or path-like, optional
        Folder in which the files of meshes are, which trimesh reads (`pip install timefem[robots]`), such as the one
        that has the package: `package://NAME/link.stl` is NAME/link.stl or link.stl in it. Without it they are passed
        over. Of meshes with more than 4000 faces the convex hull is drawn.
    contacts : {None, "rigid"}
        See above.

    Returns
    -------
    Robot

    Raises
    ------
    InputError
        Names file, line, element and attribute: for a file that is not XML, that declares a document type or entities,
        for what is missing, unknown or no number, and for links that make no tree.

    Examples
    --------
    >>> import timefem as tf
    >>> robot = tf.read_urdf("robot.urdf")                                            # doctest: +SKIP
    >>> sol = tf.solve(robot.problem({"shoulder": (-0.7, -0.4)}), tf.MixedGalerkin(3, form="lagrange"), 400)
    ...                                                                               # doctest: +SKIP
    """
    validate.choice("base", base, ("fixed", "free"))
    touches = checked(contacts) is not None
    notes = Notes()
    reader = _Reader(str(path), None if meshes is None else Meshes(meshes), notes)
    robot = reader.root
    if robot.tag != "robot":
        raise reader.error(robot, "must be <robot>")
    name = robot.get("name") or Path(path).stem
    links = [reader.link(element) for element in robot.iterfind("link")]
    mimics = {element.get("name"): element for element in robot.iterfind("joint")}
    joints = [reader.joint(element, mimics) for element in robot.iterfind("joint")]
    for element in robot:
        if element.tag.startswith("xacro:"):
            raise reader.error(element, "belongs to xacro: expand the file first (xacro robot.xacro > robot.urdf)")
    for link in links:
        if not link.physical:
            notes.append_named("the inertia of link {} has a negative principal moment, which no body has; it is taken "
                               "as it is", link.name)
    dry = {joint.name: joint.friction for joint in joints if joint.friction and joint.kind != "fixed"}
    if friction_width is not None:
        dry = {}
    if dry:
        for joint in joints:
            if joint.name in dry and not (touches and joint.kind in ("revolute", "prismatic")):
                notes.append_named("Coulomb friction of {} is left out: give a friction_width (--friction-width)",
                                   joint.name)
                del dry[joint.name]
        joints = [TreeJoint(**{**vars(joint), "friction": 0.0}) for joint in joints]
    try:
        tree = Tree(links, joints, friction_width, name, base)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not touches and (limits := limits_note(tree.joints)):
        notes.add(limits)
    found = [*stops(tree), *rubbing(tree, dry), *_on_floor(reader, robot, tree)] if touches else []
    reader.check(robot, "")
    actuators = _actuators(reader, robot, tree)
    return Robot(str(path), name, tree, notes.all, actuators=actuators, contacts=tuple(found))


def _on_floor(reader, robot, tree):
    """Contacts of all shapes with the floor."""
    floor = Collider("floor", "", "plane", np.zeros(0), np.zeros(3), np.eye(3), 0.0)
    for element in robot.iterfind("link"):
        name = reader.text(element, "name")
        if tree.link(name).n_q:
            reader.check_touching([*element, *(of for of in robot.iterfind("gazebo") if of.get("reference") == name)],
                                  name)
            yield from (on_plane(tree, shape, floor) for shape in reader.colliders(element, name))
    reader.notes.add("contacts of links with each other are left out")


def _actuators(reader, robot, tree):
    """Of transmissions between one actuator and one joint that moves on its own, by name."""
    found = {}
    for element in robot.iterfind("transmission"):
        joints, motors = list(element.iterfind("joint")), list(element.iterfind("actuator"))
        if len(joints) != 1 or len(motors) != 1 or joints[0].get("name") not in tree.joint_names:
            reader.notes.append_named("the transmission {} is left out: it is not of one actuator and one joint",
                                      element.get("name") or "without a name")
            continue
        text = motors[0].findtext("mechanicalReduction") or element.findtext("mechanicalReduction") or "1"
        try:
            reduction = validate.real("mechanicalReduction", float(text))
        except ValueError as error:
            raise reader.error(element, f"needs a number for <mechanicalReduction>, not {text!r}") from error
        name, joint = reader.text(motors[0], "name"), tree.joint(joints[0].get("name"))
        if joint.n_q == 1:
            found[name] = GeneralizedControl(joint, [[reduction]], name=name)
    return found


class _Reader(XmlFile):
    """Links and joints of a URDF file."""

    def __init__(self, path, meshes, notes):
        super().__init__(path)
        self.notes, self.meshes = notes, meshes

    def check(self, element, name):
        """Note what an element, and those in it, state and is not read."""
        self.notes.check(ELEMENTS[element.tag], element.tag, element.attrib, name)
        for child in element:
            if child.tag not in KNOWN.get(element.tag, "").split():
                self.notes.append_named(f"<{child.tag}> of {{}} is left out", name or f"<{element.tag}>")
            elif child.tag in ELEMENTS:
                self.check(child, child.get("name", name))
            for own in child if child.tag == "gazebo" else ():
                if own.tag in MOVING and (own.text or "").strip().lower() not in MOVING[own.tag].split():
                    self.notes.append_named(f"<{own.tag}> in a <gazebo> of {{}} is left out",
                                            child.get("reference", name))

    def check_touching(self, elements, link):
        """Note what elements state of how a link touches others, and is not read."""
        for element in elements:
            for child in element if element.tag in TOUCHING else ():
                if child.tag not in TOUCHING[element.tag].split():
                    self.notes.append_named(f"<{child.tag}> in a <{element.tag}> of {{}} is left out", link)

    def frame(self, element):
        """Place and rotation matrix of the <origin> of an element."""
        origin = element.find("origin")
        if origin is not None and "quat_xyzw" in origin.attrib:
            quaternion = np.roll(self.numbers(origin, "quat_xyzw", 4), 1)
            if not np.linalg.norm(quaternion) > 0:
                raise self.error(origin, "has a quat_xyzw of length zero")
            turn = rotations.matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))
            return self.numbers(origin, "xyz", 3, (0, 0, 0)), turn
        roll, pitch, yaw = self.numbers(origin, "rpy", 3, (0, 0, 0))
        (a, b, c), (d, e, f) = np.cos((roll, pitch, yaw)), np.sin((roll, pitch, yaw))
        x = np.array([[1, 0, 0], [0, a, -d], [0, d, a]])
        y = np.array([[b, 0, e], [0, 1, 0], [-e, 0, b]])
        z = np.array([[c, -f, 0], [f, c, 0], [0, 0, 1]])
        return self.numbers(origin, "xyz", 3, (0, 0, 0)), z @ y @ x

    def link(self, element):
        name, inertial = self.text(element, "name"), element.find("inertial")
        solids = element.findall("visual") or element.findall("collision")
        shapes = [shape for solid in solids if (shape := self.shape(solid, name))]
        if inertial is None:
            return self.made(element, Link, name=name, shapes=shapes)
        centre, orientation = self.frame(inertial)
        inertia = self.child(inertial, "inertia")
        xx, xy, xz, yy, yz, zz = (self.number(inertia, key, 0.0 if key in ("ixy", "ixz", "iyz") else None)
                                  for key in MOMENTS)
        mass = self.number(self.child(inertial, "mass"), "value")
        return self.made(element, Link, name=name, mass=mass, centre=centre, orientation=orientation, physical=False,
                         shapes=shapes, inertia=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def shape(self, visual, link):
        """A box, cylinder, sphere or mesh of pictures; None of what cannot be drawn, and meshes of no folder."""
        try:
            return self._shape(visual)
        except InputError as error:
            self.notes.add(f"a picture of link {link} is not drawn: {error}")
            return None

    def _shape(self, visual):
        for solid in visual.iterfind("geometry/*"):
            place, turn = self.frame(visual)
            if solid.tag == "box":
                kind, size = "box", self.numbers(solid, "size", 3)
            elif solid.tag in ("cylinder", "capsule"):
                width = 2 * self.number(solid, "radius")
                kind, size = "cylinder", np.array([width, width, self.number(solid, "length")])
            elif solid.tag == "sphere":
                kind, size = "ellipsoid", np.full(3, 2 * self.number(solid, "radius"))
            elif solid.tag == "mesh" and self.meshes is not None:
                return self._mesh(solid, place, turn)
            else:
                continue
            if not np.all(size > 0):
                raise self.error(solid, f"needs positive lengths, not {digits(size)}")
            return {"shape": kind, "size": size, "position": place, "orientation": turn}
        return None

    def colliders(self, element, link):
        """Shapes of a link that touch others."""
        law = element.find("contact")
        friction, restitution = (default if law is None or law.find(key) is None else
                                 self.number(law.find(key), "value") for key, default in
                                 (("lateral_friction", 0.5), ("restitution", 0.0)))
        found = list(element.iterfind("collision"))
        for i, collision in enumerate(found):
            name = collision.get("name") or link + f" {i}" * (len(found) > 1)
            for solid in collision.iterfind("geometry/*"):
                if solid.tag == "box":
                    size = self.numbers(solid, "size", 3) / 2
                elif solid.tag in ("cylinder", "capsule"):
                    size = np.array([self.number(solid, "radius"), self.number(solid, "length") / 2])
                elif solid.tag == "sphere":
                    size = np.array([self.number(solid, "radius")])
                else:
                    self.notes.append_named(f"the {solid.tag} of {{}} does not touch the floor", name)
                    continue
                if not np.all(size > 0):
                    raise self.error(solid, f"needs positive lengths, not {digits(size)}")
                yield Collider(name, link, solid.tag, size, *self.frame(collision), friction, restitution)

    def _mesh(self, solid, place, turn):
        try:
            scale = self.numbers(solid, "scale", 3, (1, 1, 1))
            points, faces = self.meshes.surface(self.text(solid, "filename"), scale)
        except InputError as error:
            raise self.error(solid, str(error)) from None
        return {"shape": "surface", "points": points @ turn.T + place, "faces": faces.tolist()}

    def bound(self, element, key):
        """A number that may be infinite, which bounds nothing: None, as where there is none."""
        text = element.get(key)
        if text is None:
            return None
        try:
            if np.isinf(float(text)):
                return None
        except ValueError:
            pass
        return self.number(element, key)

    def joint(self, element, others):
        kind = self.text(element, "type")
        if kind not in KINDS:
            raise self.error(element, f"is of type {kind!r}; known are {', '.join(KINDS)}")
        position, orientation = self.frame(element)
        dynamics, limit, mimic = (element.find(tag) for tag in ("dynamics", "limit", "mimic"))
        if mimic is not None:
            mimic = (self.text(mimic, "joint"), self.number(mimic, "multiplier", 1.0),
                     self.number(mimic, "offset", 0.0))
            if kind == "fixed":
                self.notes.add(f"the fixed joint {element.get('name')} does not mimic {mimic[0]}")
                mimic = None
            elif others.get(mimic[0], {}).get("type") == "fixed":  # of a reduced file, at zero
                axis = validate.direction("axis", self.numbers(element.find("axis"), "xyz", 3, (1, 0, 0)))[1]
                if kind == "prismatic":
                    position = position + orientation @ axis * mimic[2]
                else:
                    orientation = orientation @ about(axis, mimic[2])
                self.notes.add(f"the joint {element.get('name')} is fixed, as {mimic[0]} is, which it mimics")
                kind, mimic = "fixed", None
        keys = () if limit is None or kind == "fixed" else ("effort", "velocity", "lower", "upper")
        limits = {key: value for key in keys[:2 if kind == "continuous" else 4]
                  if (value := self.bound(limit, key)) is not None}
        return self.made(element, TreeJoint, name=self.text(element, "name"), kind=KINDS[kind], mimic=mimic,
                         parent=self.text(self.child(element, "parent"), "link"),
                         child=self.text(self.child(element, "child"), "link"), position=position,
                         orientation=orientation, limits=limits,
                         axis=(0, 0, 1) if kind == "fixed" else
                         self.numbers(element.find("axis"), "xyz", 3, (1, 0, 0)),
                         damping=self.number(dynamics, "damping", 0.0), friction=self.number(dynamics, "friction", 0.0))
