"""OpenSim models (.osim, format 4): rigid bodies, joints, couplings and markers, without muscles and other forces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import validate
from ..errors import InputError, named_arguments
from ..mechanics.bodies.tree.links import Link, TreeJoint
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.joints.pairs import Spherical
from ..types import FilePath
from .robot import Notes, Robot, XmlFile
from .surfaces import about, from_euler

X, Y, Z = np.eye(3)
STANDARD = {  # in the order of their coordinates: whether it turns, and its axis; places go before turns
    "PinJoint": [(True, Z)], "SliderJoint": [(False, X)], "UniversalJoint": [(True, X), (True, Y)],
    "BallJoint": [(True, X), (True, Y), (True, Z)], "PlanarJoint": [(True, Z), (False, X), (False, Y)],
    "FreeJoint": [(True, X), (True, Y), (True, Z), (False, X), (False, Y), (False, Z)], "WeldJoint": []}


class Axis:
    """An axis of a joint: its coordinate moves it to `factor q + offset`; without one it stays at the offset."""

    def __init__(self, turns, axis, coordinate, factor=1.0, offset=0.0):
        self.turns, self.axis, self.coordinate, self.factor, self.offset = turns, axis, coordinate, factor, offset


class OsimJoints:
    """Joints of a model.

    Attributes
    ----------
    links, joints : list
        Links between bodies that have no mass, and joints of a tree.
    start : dict
        Coordinate -> default value.
    """

    def __init__(self, file, notes):
        self.file, self.notes, self.links, self.joints, self.start = file, notes, [], [], {}
        self._limits, self._locked = {}, {}

    def read(self, element):
        """Take a joint."""
        file, name = self.file, self.file.name(element)
        parent, turn, place = file.frame(element, "socket_parent_frame")
        child, turn_c, place_c = file.frame(element, "socket_child_frame")
        coordinates = [self._coordinate(c) for c in element.iterfind("coordinates/*")]
        if element.tag == "CustomJoint":
            axes = self._custom(element, coordinates)
        elif element.tag in STANDARD:
            standard = STANDARD[element.tag]
            if len(coordinates) != len(standard):
                raise file.error(element, f"needs {len(standard)} coordinates, not {len(coordinates)}")
            axes = [Axis(turns, axis, c) for (turns, axis), c in zip(standard, coordinates, strict=True)]
            axes.sort(key=lambda one: one.turns)  # stable
        else:
            raise file.error(element, f"is not read; CustomJoint, {', '.join(STANDARD)} are")
        masters = self._masters(element, axes)
        for i, one in enumerate(axes):
            if one.coordinate in self._locked:
                one.offset, one.coordinate = one.offset + one.factor * self._locked[one.coordinate], None
            if one.coordinate is None:
                place, turn = _moved(one, one.offset, place, turn)
                continue
            link = f"{name} {i + 1}"
            self.links.append(Link(link, shapes=None))
            self._add(one, one in masters, parent, link, (place, turn))
            parent, turn, place = link, np.eye(3), np.zeros(3)
        back = turn @ turn_c.T
        self.joints.append(TreeJoint(f"{name} end", parent, child, "fixed", place - back @ place_c, back))

    def _coordinate(self, element):
        file, name = self.file, self.file.name(element)
        value = file.numbers(element, "default_value", 1, (0.0,))[0]
        if file.text_of(element, "locked", "false").lower() == "true":
            self._locked[name] = value
            self.notes.append_named("the coordinate {} is locked and stays at its default value", name)
        else:
            self.start[name] = float(value)
            low, high = file.numbers(element, "range", 2, (-np.inf, np.inf))
            if np.isfinite([low, high]).all() and file.text_of(element, "clamped", "false").lower() == "true":
                self._limits[name] = {"lower": float(low), "upper": float(high)}
        return name

    def _custom(self, element, coordinates):
        """Axes of a spatial transform: places first, then turns, in their order."""
        file, found = self.file, []
        transform = file.child(element, "SpatialTransform")
        for axis in transform.iterfind("TransformAxis"):
            label = file.name(axis)
            turns = label.startswith("rotation")
            own = file.text_of(axis, "coordinates", " ").split()
            direction = validate.direction(f"{file.path}: axis of {label}", file.numbers(axis, "axis", 3))[1]
            factor, offset = self._function(axis, element, bool(own))
            if len(own) > 1:
                raise file.error(axis, f"moves by {len(own)} coordinates; one is read")
            if own and own[0] not in coordinates:
                raise file.error(axis, f"moves by {own[0]!r}, which is not a coordinate of its joint")
            coordinate = own[0] if own and factor else None
            if coordinate or offset:
                found.append(Axis(turns, direction, coordinate, factor, offset))
        return sorted(found, key=lambda one: one.turns)

    def _function(self, axis, joint, moves):
        """Factor and offset of a linear or constant function."""
        file = self.file
        holder = axis.find("function")
        function = next((e for e in (axis if holder is None else holder)
                         if e.tag.endswith("Function") or e.tag in ("Constant", "SimmSpline")), None)
        scale = 1.0
        while function is not None and function.tag == "MultiplierFunction":
            scale *= file.numbers(function, "scale", 1, (1.0,))[0]
            inner = function.find("function")
            function = None if inner is None else next(iter(inner), None)
        if function is None:
            return (1.0, 0.0) if moves else (0.0, 0.0)
        if function.tag == "Constant":
            return 0.0, scale * file.numbers(function, "value", 1, (0.0,))[0]
        if function.tag == "LinearFunction":
            factor, offset = file.numbers(function, "coefficients", 2)
            return scale * factor, scale * offset
        raise file.error(axis, f"of joint {joint.get('name')!r} moves by a {function.tag}, which is not read; linear "
                               "and constant functions are")

    def _masters(self, element, axes):
        """Of each coordinate the axis that it moves as it is, which its joint of the tree stands for."""
        found = []
        for coordinate in dict.fromkeys(one.coordinate for one in axes if one.coordinate not in (None, *self._locked)):
            own = [one for one in axes if one.coordinate == coordinate]
            master = next((one for one in own if abs(one.factor) == 1.0), None)
            if master is None:
                raise self.file.error(element, f"has no axis that {coordinate!r} moves with the factor 1 or -1; state "
                                               "the coordinate as the motion of one of its axes")
            found.append(master)
        return found

    def _add(self, one, is_master, parent, link, frame):
        """A joint of a tree, called as its coordinate; those of the other axes of a coordinate follow it."""
        kind = "revolute" if one.turns else "prismatic"
        if is_master:
            place, turn = _moved(one, one.offset, *frame)
            self.joints.append(TreeJoint(one.coordinate, parent, link, kind, place, turn, one.axis * one.factor,
                                         limits=self._limits.get(one.coordinate, {})))
            return
        self.joints.append(TreeJoint(f"{one.coordinate} of {link}", parent, link, kind, *frame, one.axis,
                                     mimic=(one.coordinate, one.factor, one.offset)))

    def couple(self, element):
        """Let a coordinate follow another one, by a linear function."""
        file = self.file
        names = file.text_of(element, "independent_coordinate_names").split()
        dependent = file.text_of(element, "dependent_coordinate_name")
        if len(names) != 1:
            raise file.error(element, f"depends on {len(names)} coordinates; one is read")
        holder = file.child(element, "coupled_coordinates_function")
        factor, offset = self._function(holder, element, True)
        for i, joint in enumerate(self.joints):
            if joint.name == dependent:
                self.joints[i] = TreeJoint(joint.name, joint.parent, joint.child, joint.kind, joint.position,
                                           joint.orientation, joint.axis, mimic=(names[0], factor, offset))
                self.start.pop(dependent, None)
                return
        raise file.error(element, f"couples {dependent!r}, which is not a free coordinate of the model")


def _moved(one, value, place, turn):
    """Place and rotation matrix of a frame that is moved along or about an axis of its own."""
    if one.turns:
        return place, turn @ about(one.axis, value)
    return place + turn @ one.axis * value, turn


# ---- models: rigid bodies, joints, couplings and markers

GROUND = "ground"


@dataclass(frozen=True, eq=False)
class OsimModel(Robot):
    """A model of OpenSim.

    Attributes
    ----------
    markers : dict
        Name -> (link, point in the frame of the link [m]), for `MarkerData.sensors`.

    Notes
    -----
    Joints of the tree are called as the coordinates of the model, links as its bodies. y is up.
    """

    markers: dict[str, tuple[Any, np.ndarray]] = field(default_factory=dict)


@named_arguments
def read_osim(path: FilePath) -> OsimModel:
    """Read a model of OpenSim 4.

    Bodies with their masses, pin, slider, universal, planar, ball, free, weld and custom joints become a tree whose
    joints have one coordinate each, called as in the model; a locked one stays at its default value. Custom joints may
    have linear and constant functions, and coordinates that move several axes, which then follow each other. Linear
    coordinate couplers do so, too, and point constraints become spherical joints between links. Ranges are kept as
    data.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    OsimModel

    Raises
    ------
    InputError
        For files of older formats, joints of other types, axes that move by splines, other constraints that are
        enforced, and frames that are not there; names file, line and element.
    """
    notes = Notes()
    file = OsimFile(str(path))
    model = file.model
    bodies = file.objects(model, "BodySet")
    links = [Link(GROUND)] + [_link(file, body) for body in bodies if body.tag == "Body"]
    file.collect_frames({link.name for link in links})
    joints = OsimJoints(file, notes)
    for element in file.objects(model, "JointSet"):
        joints.read(element)
    loops = _constraints(file, joints)
    for name in ("ForceSet", "ControllerSet", "ProbeSet"):
        left = [element.get("name") or element.tag for element in file.objects(model, name)]
        for one in left:
            notes.append_named(f"{{}} of <{name}> are left out", one)
    name = model.get("name") or "model"
    try:
        tree = Tree([*links, *joints.links], joints.joints, name=name)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    markers = {}
    for element in file.objects(model, "MarkerSet"):
        if element.tag == "Marker":
            link, turn, place = file.frame(element, "socket_parent_frame")
            markers[file.name(element)] = tree.link(link), place + turn @ file.numbers(element, "location", 3)
    made = tuple(Spherical(tree.link(a), tree.link(b), point_a=p, point_b=q, name=label) if b != GROUND else
                 Spherical(tree.link(a), point_a=p, point_b=q, name=label) for label, (a, p), (b, q) in loops)
    gravity = tuple(file.numbers(model, "gravity", 3, (0.0, -9.80665, 0.0)).tolist())
    start = {coordinate: value for coordinate, value in joints.start.items() if coordinate in tree.joint_names}
    return OsimModel(str(path), name, tree, notes.all, gravity, start, made, markers=markers)


def _link(file, body):
    xx, yy, zz, xy, xz, yz = file.numbers(body, "inertia", 6, (0.0,) * 6)
    inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    mass = file.numbers(body, "mass", 1)[0]
    centre = file.numbers(body, "mass_center", 3, (0, 0, 0))
    return file.made(body, Link, name=file.name(body), mass=mass, centre=centre,
                     inertia=inertia if mass else np.zeros((3, 3)), physical=False)


def _constraints(file, joints):
    """Couplings of coordinates go to the joints; of point constraints a label and two places each."""
    loops = []
    for element in file.objects(file.model, "ConstraintSet"):
        if file.text_of(element, "isEnforced", "true").lower() == "false":
            continue
        if element.tag == "CoordinateCouplerConstraint":
            joints.couple(element)
        elif element.tag == "PointConstraint":
            ends = []
            for which in ("1", "2"):
                link, turn, place = file.frame(element, f"socket_body_{which}")
                ends.append((link, place + turn @ file.numbers(element, f"location_body_{which}", 3, (0, 0, 0))))
            if ends[0][0] == GROUND:
                ends.reverse()
            loops.append((file.name(element), *ends))
        else:
            raise file.error(element, "is not read: coordinate couplers and point constraints are; set its isEnforced "
                                      "to false, or state it as a joint of the system")
    return loops


# ---- the XML of OpenSim models: sets of objects, values in elements, and frames on bodies

class OsimFile(XmlFile):
    """A file with values in the text of elements.

    Attributes
    ----------
    model : Element
    """

    oldest = 40000  # format that is read

    def __init__(self, path):
        super().__init__(path)
        if self.root.tag != "OpenSimDocument":
            raise InputError(f"{path}: it is not an OpenSim model, whose first element is <OpenSimDocument>")
        version = self.root.get("Version", "0")
        if not version.isdigit() or int(version) < self.oldest:
            raise InputError(f"{path}: its format is {version}, and {self.oldest} and later are read; open it in "
                             "OpenSim 4 and save it")
        self.model = self.child(self.root, "Model")
        self._frames, self._bodies = {}, set()

    def objects(self, element, name):
        """What is in a set of objects, list of elements; none where there is no such set."""
        found = element.find(name)
        inner = None if found is None else found.find("objects")
        return [] if inner is None else list(inner)

    def name(self, element):
        return self.text(element, "name")

    def text_of(self, element, tag, default=None):
        """Text of an element inside of another one."""
        text = (element.findtext(tag) or "").strip()
        if not text and default is None:
            raise self.error(element, f"has no <{tag}>")
        return text or default

    def numbers(self, element, tag, n, default=None):
        """Numbers in an element inside of another one, shape (n,), or as many as there are with n = None."""
        found = element.find(tag)
        text = "" if found is None else (found.text or "").strip()
        if not text and default is not None:
            return np.array(default, float)
        if found is None:
            raise self.error(element, f"has no <{tag}>")
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.full(1, np.nan)
        if not np.isfinite(values).all() or (n is not None and len(values) != n):
            raise self.error(found, f"needs {n or 'some'} numbers, not {text!r}")
        return values

    # ---- frames

    def collect_frames(self, bodies):
        """Know frames that are offset from others, of the whole file and of single joints."""
        self._bodies = set(bodies)
        for owner in self.model.iter():
            for frame in owner.findall("frames/PhysicalOffsetFrame"):
                self._frames[owner.get("name"), self.name(frame)] = frame
            for frame in owner.findall("components/PhysicalOffsetFrame"):
                self._frames[owner.get("name"), self.name(frame)] = frame
                self._frames.setdefault((None, self.name(frame)), frame)

    def frame(self, element, socket, depth=0):
        """Body, rotation matrix and place of the frame that a socket of an element names."""
        path = self.text_of(element, socket)
        steps = [step for step in path.split("/") if step not in ("", ".", "..", "bodyset", "jointset")]
        last = steps[-1] if steps else "ground"
        if depth > len(self._frames):
            raise self.error(element, f"names a frame, {path!r}, that is offset from itself")
        owners = (*steps[-2:-1], element.get("name"), None)
        found = next((self._frames[owner, last] for owner in owners if (owner, last) in self._frames), None)
        if found is not None:
            body, turn, place = self.frame(found, "socket_parent", depth + 1)
            own = from_euler(self.numbers(found, "orientation", 3, (0, 0, 0)), "xyz")
            return body, turn @ own, place + turn @ self.numbers(found, "translation", 3, (0, 0, 0))
        if last not in self._bodies:
            raise self.error(element, f"names {path!r} as its <{socket}>, which is neither a body nor a frame of the "
                                      "model")
        return last, np.eye(3), np.zeros(3)
