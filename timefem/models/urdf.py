"""Robots from URDF files. Only the file itself is read: no meshes, no other files, no entities."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

import numpy as np

from .. import validate
from ..errors import InputError
from ..mechanics import Link, System, Tree, TreeJoint
from ..problems import InitialValueProblem

GRAVITY = (0.0, 0.0, -9.81)
KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed",
         "floating": "floating", "planar": "planar"}
LARGEST = 10**7  # bytes of a file
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot as a file states it.

    Attributes
    ----------
    path, name : str
    tree : Tree
        Its links and joints; `tree.joints` have limits as data.
    notes : tuple of str
        What the file states and the tree leaves out.
    """

    path: str
    name: str
    tree: Tree
    notes: tuple

    def problem(self, state=None, t_span=(0.0, 1.0), gravity=GRAVITY):
        """The `InitialValueProblem` of the robot.

        Parameters
        ----------
        state : dict, optional
            Joint -> position, or (position, rate) [rad or m, and per second]; joints left out start at zero. A free
            base is the joint `tree.base_joint` ("base"), and takes a `Pose`.
        t_span : (float, float)
            [s]
        gravity : array_like, shape (3,)
            [m/s^2]
        """
        return InitialValueProblem(System([self.tree], gravity=gravity), {self.tree: state or {}}, t_span)


def read_urdf(path, friction_width=None, base="fixed"):
    """Read a robot from a URDF file.

    Links with inertias in their frames, joints of all types, their damping and friction, and mimic joints count. Limits
    are kept as data. Shapes, meshes, transmissions and elements of simulators are passed over.

    Parameters
    ----------
    path : str or path-like
    friction_width : float, optional
        w [rad/s or m/s] of Coulomb friction `-f tanh(qdot / w)`. Without it friction is left out, and `notes` say so.
    base : {"fixed", "free"}
        Whether the base link is fixed to space, or moves freely; then it is the child of a joint called "base".

    Returns
    -------
    Robot

    Raises
    ------
    InputError
        Names file, line, element and attribute: for a file that is no XML, that declares a document type or entities,
        for what is missing, unknown or no number, and for links that make no tree.

    Examples
    --------
    >>> import timefem as tf
    >>> robot = tf.read_urdf("robot.urdf")                                            # doctest: +SKIP
    >>> sol = tf.solve(robot.problem({"shoulder": (-0.7, -0.4)}), tf.MixedGalerkin(3, form="lagrange"), 400)
    ...                                                                               # doctest: +SKIP
    """
    validate.choice("base", base, ("fixed", "free"))
    reader = _Reader(str(path))
    robot = reader.root
    if robot.tag != "robot":
        raise reader.error(robot, "must be <robot>")
    name = robot.get("name") or Path(path).stem
    links = [reader.link(element) for element in robot.iterfind("link")]
    joints = [reader.joint(element) for element in robot.iterfind("joint")]
    for element in robot:
        if element.tag.startswith("xacro:"):
            raise reader.error(element, "belongs to xacro: expand the file first (xacro robot.xacro > robot.urdf)")
    notes = [f"the inertia of link {link.name} has a negative principal moment, which no body has; it is taken as it is"
             for link in links if not link.physical]
    rubbing = [joint.name for joint in joints if joint.friction and joint.kind != "fixed"]
    if rubbing and friction_width is None:
        notes.append(f"Coulomb friction of {', '.join(rubbing)} is left out: give a friction_width (--friction-width)")
        joints = [TreeJoint(**{**vars(joint), "friction": 0.0}) for joint in joints]
    try:
        tree = Tree(links, joints, friction_width, name, base)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return Robot(str(path), name, tree, tuple(notes))


class _Reader:
    """Elements of a file with their lines, and their attributes as checked values."""

    def __init__(self, path):
        self.path, self._lines = path, {}
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if len(data) > LARGEST:
            raise InputError(f"{path} is larger than {LARGEST} bytes, which no URDF file is")
        self.root = self._parsed(data)

    def _parsed(self, data):
        builder, parser = ElementTree.TreeBuilder(), expat.ParserCreate()

        def start(tag, attributes):
            self._lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

        def refuse(*_):
            raise InputError(f"{self.path}, line {parser.CurrentLineNumber}: document types and entities are refused; "
                             "remove <!DOCTYPE ...>")

        parser.StartElementHandler, parser.EndElementHandler = start, builder.end
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
        try:
            parser.Parse(data, True)
            return builder.close()
        except (expat.ExpatError, LookupError, ValueError, AssertionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path} is no XML: {error}") from None

    def error(self, element, fault):
        name = f" {element.get('name')!r}" if element.get("name") else ""
        return InputError(f"{self.path}, line {self._lines[element]}: <{element.tag}>{name} {fault}")

    def text(self, element, attribute):
        value = element.get(attribute)
        if not value:
            raise self.error(element, f"has no attribute {attribute!r}")
        return value

    def numbers(self, element, attribute, n, default=None):
        """So many numbers of an attribute, shape (n,); the default where there is no element or no attribute."""
        text = None if element is None else element.get(attribute)
        if text is None and default is not None:
            return np.array(default, float)
        words = self.text(element, attribute).split()
        try:
            return validate.array(attribute, [float(word) for word in words], (n,))
        except ValueError as error:  # also InputError
            what = f"{n} numbers" if n > 1 else "a number"
            reason = f" ({error})" if isinstance(error, InputError) and len(words) == n else ""
            raise self.error(element, f"needs {what} for {attribute!r}, not {text!r}{reason}") from None

    def number(self, element, attribute, default=None):
        return float(self.numbers(element, attribute, 1, None if default is None else (default,))[0])

    def child(self, element, tag):
        found = element.find(tag)
        if found is None:
            raise self.error(element, f"has no <{tag}>")
        return found

    def frame(self, element):
        """Place and rotation matrix of the <origin> of an element."""
        origin = element.find("origin")
        roll, pitch, yaw = self.numbers(origin, "rpy", 3, (0, 0, 0))
        (a, b, c), (d, e, f) = np.cos((roll, pitch, yaw)), np.sin((roll, pitch, yaw))
        x = np.array([[1, 0, 0], [0, a, -d], [0, d, a]])
        y = np.array([[b, 0, e], [0, 1, 0], [-e, 0, b]])
        z = np.array([[c, -f, 0], [f, c, 0], [0, 0, 1]])
        return self.numbers(origin, "xyz", 3, (0, 0, 0)), z @ y @ x

    def link(self, element):
        name, inertial = self.text(element, "name"), element.find("inertial")
        if inertial is None:
            return Link(name)
        centre, orientation = self.frame(inertial)
        inertia = self.child(inertial, "inertia")
        xx, xy, xz, yy, yz, zz = (self.number(inertia, key, 0.0 if key in ("ixy", "ixz", "iyz") else None)
                                  for key in MOMENTS)
        mass = self.number(self.child(inertial, "mass"), "value")
        return self.made(element, Link, name=name, mass=mass, centre=centre, orientation=orientation, physical=False,
                         inertia=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def joint(self, element):
        kind = self.text(element, "type")
        if kind not in KINDS:
            raise self.error(element, f"is of type {kind!r}; known are {', '.join(KINDS)}")
        position, orientation = self.frame(element)
        dynamics, limit, mimic = (element.find(tag) for tag in ("dynamics", "limit", "mimic"))
        if mimic is not None:
            mimic = (self.text(mimic, "joint"), self.number(mimic, "multiplier", 1.0),
                     self.number(mimic, "offset", 0.0))
        limits = {} if limit is None else {key: self.number(limit, key) for key in
                                           ("lower", "upper", "effort", "velocity") if limit.get(key) is not None}
        return self.made(element, TreeJoint, name=self.text(element, "name"), kind=KINDS[kind], mimic=mimic,
                         parent=self.text(self.child(element, "parent"), "link"),
                         child=self.text(self.child(element, "child"), "link"), position=position,
                         orientation=orientation, limits=limits,
                         axis=(0, 0, 1) if kind == "fixed" else
                         self.numbers(element.find("axis"), "xyz", 3, (1, 0, 0)),
                         damping=self.number(dynamics, "damping", 0.0), friction=self.number(dynamics, "friction", 0.0))

    def made(self, element, cls, **values):
        try:
            return cls(**values)
        except InputError as error:
            raise self.error(element, f"is not possible: {error}") from None
