"""What readers of robots share: elements of XML files with their lines, and a robot as a file states it, with contacts
of its shapes, stops of its joints, and notes of what it leaves out."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from .. import validate
from ..display import Card, Summarized, digits
from ..errors import InputError, NotAsked, warn
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.contacts.solids import EllipsoidContact, PlaneContact, SphereContact
from ..mechanics.forces.actuators import GeneralizedControl
from ..mechanics.forces.on_joints import EndStop, JointFriction
from ..mechanics.system import System
from ..problems.initial.problem import InitialValueProblem
from ..records import frozen
from ..types import Vector
from .document import read_file

LARGEST = 10**7  # bytes of a file
DEEPEST = 500  # elements in each other


class XmlFile:
    """Elements of a file with their lines, and their attributes as checked values. No entities, no other files."""

    def __init__(self, path):
        self.path, self._lines = path, {}
        try:
            data = read_file(path, LARGEST)
        except InputError as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        self.root = self._parsed(data)

    def _parsed(self, data):
        builder, parser, depth = ElementTree.TreeBuilder(), expat.ParserCreate(), [0]

        def start(tag, attributes):
            depth[0] += 1
            if depth[0] > DEEPEST:
                raise InputError(f"{self.path}, line {parser.CurrentLineNumber}: more than {DEEPEST} elements are "
                                 "nested")
            self._lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

        def refuse(*_):
            raise InputError(f"{self.path}, line {parser.CurrentLineNumber}: document types and entities are refused; "
                             "remove <!DOCTYPE ...>")

        def end(tag):
            depth[0] -= 1
            builder.end(tag)

        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
        try:
            parser.Parse(data, True)
            return builder.close()
        except (expat.ExpatError, LookupError, ValueError, AssertionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path} is not XML: {error}") from None

    def adopt(self, other):
        """Know the lines of the elements of another file."""
        self._lines |= {element: f"{line} of {other.path}" for element, line in other._lines.items()}

    def same_line(self, element, other):
        """Know an element that stands for another one."""
        self._lines[element] = self._lines[other]

    def error(self, element, fault):
        name = f" {element.get('name')!r}" if element.get("name") else ""
        return InputError(f"{self.path}, line {self._lines[element]}: <{element.tag}>{name} {fault}")

    def text(self, element, attribute):
        value = element.get(attribute)
        if not value:
            raise self.error(element, f"has no attribute {attribute!r}")
        return value

    def numbers(self, element, attribute, n, default=None):
        """So many numbers of an attribute (None: any), shape (n,); the default where there is none."""
        text = None if element is None else element.get(attribute)
        if text is None and default is not None:
            return np.array(default, float)
        words = self.text(element, attribute).split()
        try:
            return validate.array(attribute, [float(word) for word in words], (n,))
        except ValueError as error:  # also InputError
            what = "numbers" if n is None else f"{n} numbers" if n > 1 else "a number"
            reason = f" ({error})" if isinstance(error, InputError) and n in (None, len(words)) else ""
            raise self.error(element, f"needs {what} for {attribute!r}, not {text!r}{reason}") from None

    def number(self, element, attribute, default=None):
        return float(self.numbers(element, attribute, 1, None if default is None else (default,))[0])

    def child(self, element, tag):
        found = element.find(tag)
        if found is None:
            raise self.error(element, f"has no <{tag}>")
        return found

    def made(self, element, cls, *arguments, **values):
        """A part, whose errors name the element."""
        try:
            return cls(*arguments, **values)
        except InputError as error:
            raise self.error(element, f"is not possible: {error}") from None


if TYPE_CHECKING:
    from ..mechanics.bodies.tree.tree import Tree
    from ..mechanics.declared.declared import Declared

MOST_NAMES = 8  # in one note


@frozen
class Attributes:
    """Attributes of an element.

    Attributes
    ----------
    read : str
        Those that count, separated by spaces.
    idle : str
        Those that have no effect on a motion here: pictures, contacts, numerical settings of a simulator.
    neutral : dict
        Attribute that is not read -> value, or values, with which it has no effect.
    """

    read: str
    idle: str = ""
    neutral: dict = field(default_factory=dict)

    def left_out(self, given):
        """Those of a dict that would have an effect, and are not read."""
        known = {*self.read.split(), *self.idle.split()}
        return [name for name, value in given.items() if name not in known and not name.startswith("xmlns")
                and not any(_same(value, neutral) for neutral in _several(self.neutral.get(name, ())))]


def _several(value):
    return value if isinstance(value, tuple) else (value,)


def _same(text, other):
    try:
        return [float(word) for word in text.split()] == [float(word) for word in other.split()]
    except ValueError:
        return text.split() == other.split()


class Notes:
    """Notes in their order; the same attribute of several elements makes one."""

    def __init__(self):
        self._found = {}  # text, or tag and attribute -> names of elements

    def add(self, text):
        self._found.setdefault(text, [])

    def append_named(self, text, name):
        """A note about several things: the text has {} where their names go."""
        self._found.setdefault((text,), []).append(name)

    def check(self, attributes, tag, given, name):
        """Note what an element states and is not read."""
        for attribute in attributes.left_out(given):
            self.append_named(f"{attribute} of <{tag}>{' ' * bool(name)}{{}} is left out", name)

    @property
    def all(self):
        return tuple(text if isinstance(text, str) else text[0].format(listed(names))
                     for text, names in self._found.items())


def listed(names):
    """Names in a sentence."""
    names = list(dict.fromkeys(names))
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def limits_note(joints):
    """That ranges of joints are data; None where there are none."""
    names = [joint.name for joint in joints if {"lower", "upper"} & joint.limits.keys()]
    if not names:
        return None
    return f"the limits of {listed(names)} are data (tree.joints[i].limits) and do not stop a motion: add a tf.EndStop"


# ---- Rigid contacts of robots from files: shapes on planes, spheres on spheres, and stops of joints

@frozen
class Collider:
    """A shape that may touch others.

    Attributes
    ----------
    name, link : str
        Its own name, and that of its link.
    kind : {"sphere", "capsule", "cylinder", "box", "ellipsoid", "plane"}
    size : ndarray
        Radius; radius and half length along z; half edges or half axes.
    place, turn : ndarray, shape (3,) and (3, 3)
        In the frame of the link.
    friction, restitution : float
    around : int
        Points that stand for a rim of a cylinder.
    priority : float
        Of two shapes with different ones the friction is that of the higher one, else the larger friction.
    smooth : bool
        Whether it asks for contacts without friction.
    """

    name: str
    link: str
    kind: str
    size: np.ndarray
    place: np.ndarray
    turn: np.ndarray
    friction: float
    restitution: float = 0.0
    around: int = 8
    priority: float = 0.0
    smooth: bool = False

    @property
    def points(self) -> np.ndarray:
        """Centres of spheres, or corners, in the frame of the link, shape (n, 3)."""
        if self.kind == "box":
            local = np.array(list(itertools.product((-1, 1), repeat=3))) * self.size
        elif self.kind == "capsule":
            local = np.array([[0, 0, -1.0], [0, 0, 1.0]]) * self.size[1]
        elif self.kind == "cylinder":
            angle = 2 * np.pi * np.arange(self.around) / self.around
            rim = np.stack([self.size[0] * np.cos(angle), self.size[0] * np.sin(angle), np.ones(self.around)], axis=1)
            local = np.concatenate([rim * (1, 1, -self.size[1]), rim * (1, 1, self.size[1])])
        else:
            local = np.zeros((1, 3))
        return self.place + local @ self.turn.T

    @property
    def radius(self) -> float:
        """Of the spheres around the points."""
        return float(self.size[0]) if self.kind in ("sphere", "capsule") else 0.0


def friction_of(a: Collider, b: Collider) -> float:
    """Of a contact of two shapes."""
    ruling = [shape for shape in (a, b) if shape.priority == max(a.priority, b.priority)]
    return 0.0 if all(shape.smooth for shape in ruling) else max(shape.friction for shape in ruling)


def on_plane(tree: Tree, shape: Collider, plane: Collider) -> Declared:
    """Contact of a shape with a plane that is fixed in space (its link is "") or in a link."""
    body = tree.link(shape.link)
    laws: dict[str, Any] = {"name": f"{shape.name} on {plane.name}", "normal": plane.turn[:, 2],
                            "plane_point": plane.place, "friction": friction_of(shape, plane),
                            "restitution": max(shape.restitution, plane.restitution)}
    if plane.link:
        laws["on"] = tree.link(plane.link)
    if shape.kind == "ellipsoid":
        return EllipsoidContact(body, half_axes=shape.size, centre=shape.place, orientation=shape.turn, **laws)
    return PlaneContact(body, points=shape.points, radius=shape.radius, **laws)


def of_spheres(tree: Tree, a: Collider, b: Collider) -> list[Declared]:
    """Contacts of the spheres of two shapes with each other; the second one may be in space (its link is "")."""
    bodies = [tree.link(x.link) if x.link else None for x in (a, b)]
    pairs = list(itertools.product(a.points, b.points))
    return [SphereContact(*bodies, radius_a=a.radius, radius_b=b.radius, point_a=x, point_b=y,
                          friction=friction_of(a, b), restitution=max(a.restitution, b.restitution),
                          name=f"{a.name} on {b.name}" + f" {i}" * (len(pairs) > 1)) for i, (x, y) in enumerate(pairs)]


def stops(tree: Tree) -> list[Declared]:
    """Rigid stops of the joints of a tree that have limits, without restitution."""
    return [EndStop(tree.joint(joint.name), lowest=joint.limits.get("lower"), highest=joint.limits.get("upper"),
                    name=f"stops of {joint.name}")
            for joint in tree.joints if joint.name in tree.moving_joints and {"lower", "upper"} & joint.limits.keys()]


def rubbing(tree: Tree, friction: dict[str, float]) -> list[Declared]:
    """Set-valued friction of joints, by name."""
    return [JointFriction(tree.joint(name), friction=size, name=f"friction of {name}")
            for name, size in friction.items()]


def checked(contacts: str | None) -> str | None:
    """What readers take for `contacts`."""
    return None if contacts is None else validate.choice("contacts", contacts, ("rigid",))


# ---- A robot as a file states it

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Summarized):
    """A robot as a file states it; printed, its joints and notes.

    Attributes
    ----------
    path, name : str
    tree : Tree
        Its links and joints; `tree.joints` have limits as data.
    notes : tuple of str
        What the file states and the robot leaves out.
    gravity : tuple
        [m/s^2]
    start : dict
        State of joints that the file states.
    joints : tuple of Part
        Joints between links, which close loops.
    actuators : dict
        Name -> actuator of a joint, with one control.
    forces : tuple of Part
        Springs of balls and free bodies.
    control_ranges : dict
        Actuator -> least and greatest control, as data.
    contacts : tuple of Part
        Rigid contacts, stops and dry friction of joints, where the file was read with `contacts="rigid"`.
    keyframes : dict
        Name -> state, as `problem` takes it, of the keyframes of an MJCF file: positions and rates of joints.
    """

    path: str
    name: str
    tree: Tree
    notes: tuple[str, ...]
    gravity: tuple[float, ...] = GRAVITY
    start: dict[str, Any] = field(default_factory=dict)
    joints: tuple[Any, ...] = ()
    actuators: dict[str, Any] = field(default_factory=dict)
    forces: tuple[Any, ...] = ()
    control_ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    contacts: tuple[Any, ...] = ()
    keyframes: dict[str, dict[str, Any]] = field(default_factory=dict)
    _warned: list[bool] = field(default_factory=list)  # whether of its notes

    def system(self, gravity: Vector | None = None, parts: Sequence[Declared] = ()) -> System:
        """The `System` of the tree, its joints, forces and contacts, of further parts, and of the weight.

        Parameters
        ----------
        gravity : array_like, shape (3,), optional
            [m/s^2]; default: that of the robot.
        parts : sequence
            Further bodies, joints and forces.
        """
        return System([self.tree, *self.joints, *self.forces, *self.contacts, *parts], redundant="drop",
                      gravity=self.gravity if gravity is None else gravity)

    def motors(self, *joints: str) -> dict[str, GeneralizedControl]:
        """Actuators of joints, by name; of all that move on their own with one coordinate unless some are named.

        Each is called as its joint, with the force or torque of the joint [N or N m] as its control.

        Raises
        ------
        InputError
            For names that are not joints which move on their own.
        """
        names = joints or [name for name in self.tree.joint_names if self.tree.joint(name).n_q == 1]
        for name in names:
            validate.choice("joint", name, self.tree.joint_names)
        return {name: GeneralizedControl(self.tree.joint(name), np.eye(self.tree.joint(name).n_q), name=f"{name} motor")
                for name in names}

    def problem(self, state: Mapping[str, Any] | None = None, t_span: tuple[float, float] = (0.0, 1.0),
                gravity: Vector | None = None) -> InitialValueProblem:
        """The `InitialValueProblem` of the robot.

        What the file states and the motion leaves out is warned of once, `notes` have it; so is a start beyond the
        limits of a joint.

        Parameters
        ----------
        state : dict, optional
            Joint -> position, or (position, rate) [rad or m, and per second]; joints left out are where the file has
            them, at rest. A free base is the joint `tree.base_joint` ("base"), and takes a `Pose`. Where joints close
            loops it is taken as approximate.
        t_span : (float, float)
            [s]
        gravity : array_like, shape (3,)
            [m/s^2]; that of the file, or (0, 0, -9.81), by default.

        Raises
        ------
        InputError
            For a state that is no dict, unknown joints and wrong values.
        """
        if not (state is None or isinstance(state, Mapping)):
            raise InputError(f"{self.name}: state must be a dict from joint to position or (position, rate), "
                             f"not {state!r}")
        problem = InitialValueProblem(self.system(gravity), {self.tree: {**self.start, **(state or {})}}, t_span,
                                      assemble=bool(self.joints))
        self._warn(problem)
        return problem

    def _warn(self, problem):
        """Of what is left out, and of joints that start beyond their limits."""
        if self.notes and not self._warned:
            self._warned.append(True)
            first = sorted(self.notes, key=lambda note: "limits of" not in note and "friction" not in note)
            more = f"; and {len(first) - 3} more" * (len(first) > 3)
            warn(f"{self.name}: {'; '.join(first[:3])}{more} (robot.notes)", NotAsked)
        tree = problem.system.here(self.tree)
        states = tree.joint_states(*problem.system.local_state(tree, problem.z0))
        for joint in self.tree.joints:
            low, high = joint.limits.get("lower", -np.inf), joint.limits.get("upper", np.inf)
            place = np.ravel(states.get(joint.name, ((), ()))[0])
            room = 1e-9 * max(abs(x) for x in (low, high, 1.0) if np.isfinite(x))
            if len(place) == 1 and not low - room <= place[0] <= high + room:
                warn(f"{self.name}: joint {joint.name} starts at {digits(place[0], low, high)}, beyond its limits "
                     f"{digits(low)} to {digits(high)}; angles are in radians, lengths in metres")

    def summary(self) -> Card:
        """Links, joints and their limits, actuators and notes as a table."""
        rows = [("joint", "kind", "parent", "child", "limits")]
        rows += [(j.name, j.kind, j.parent, j.child, ", ".join(f"{k} {v:g}" for k, v in j.limits.items()))
                 for j in self.tree.joints]
        facts = {"file": self.path, "links, moving mass": f"{len(self.tree.links)}, {self.tree.mass:.6g} kg",
                 "degrees of freedom": self.tree.n_v, "actuators": ", ".join(self.actuators) or "none"}
        facts |= {"keyframes": ", ".join(self.keyframes)} if self.keyframes else {}
        notes = {"notes": [("left out, or different from the file",), *((note,) for note in self.notes)]}
        return Card(f"Robot {self.name}", facts, {"joints": rows, **(notes if self.notes else {})})
