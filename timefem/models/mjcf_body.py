"""Bodies, joints and shapes of an MJCF file as links and joints of a tree."""

import numpy as np

from ..mechanics.bodies import rotations
from ..mechanics.bodies.states import Pose
from ..mechanics.bodies.tree.links import Link, TreeJoint
from .mjcf_shapes import drawn
from .shapes import NO_MASS, about, from_euler, from_z, inertia_of, joined

WORLD = "world"
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating"}
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3, "plane": 0, "hfield": 0, "mesh": 0,
         "sdf": 0}
PASSED_OVER = "site", "camera", "light", "inertial", "joint", "freejoint", "geom", "plugin"
ORIENTATIONS = "quat", "axisangle", "euler", "xyaxes", "zaxis"


class BodyReader:
    """Collects links and joints, body by body.

    Attributes
    ----------
    links, joints : list
    start : dict
        Joint -> its position at the start, where that is not zero; a `Pose` of free joints.
    poses : dict
        Body -> place and rotation matrix in space at the start.
    collides : bool
        Whether some shapes may touch others.
    """

    def __init__(self, file, defaults, settings, notes, assets):
        self.file, self.defaults, self.settings, self.notes, self.assets = file, defaults, settings, notes, assets
        self.links, self.joints, self.start, self.poses = [], [], {}, {WORLD: (np.zeros(3), np.eye(3))}
        self.collides, self._n = False, 0

    def values(self, given, element, name, n, default=None):
        """Numbers of an attribute that may come from a class."""
        if name not in given and default is not None:
            return np.array(default, float)
        if name not in given:
            raise self.file.error(element, f"has no attribute {name!r}")
        words = given[name].split()
        try:
            numbers = np.array([float(word) for word in words])
        except ValueError:
            numbers = np.array([np.nan])
        if not np.isfinite(numbers).all() or not len(numbers) or (n is not None and len(numbers) != n):
            what = "numbers" if n is None else f"{n} numbers" if n > 1 else "a number"
            raise self.file.error(element, f"needs {what} for {name!r}, not {given[name]!r}")
        return numbers

    def frame(self, given, element):
        """Place and rotation matrix that an element states."""
        place, stated = self.values(given, element, "pos", 3, (0, 0, 0)), [k for k in ORIENTATIONS if k in given]
        if len(stated) > 1:
            raise self.file.error(element, f"has several orientations, {' and '.join(stated)}")
        if not stated:
            return place, np.eye(3)
        kind, angle = stated[0], self.settings["angle"]
        x = self.values(given, element, kind, {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[kind])
        if kind == "euler":
            return place, from_euler(angle * x, self.settings["sequence"])
        if not np.linalg.norm(x[:3] if kind == "axisangle" else x) > 0:
            raise self.file.error(element, f"has a {kind} of length zero")
        if kind == "quat":
            return place, rotations.matrix_from_quaternion(x / np.linalg.norm(x))
        if kind == "axisangle":
            return place, about(x[:3], angle * x[3])
        if kind == "zaxis":
            return place, from_z(x)
        first = x[:3] / max(np.linalg.norm(x[:3]), 1e-300)
        second = x[3:] - first * (first @ x[3:])
        if not (np.linalg.norm(x[:3]) > 0 and np.linalg.norm(second) > 1e-12 * np.linalg.norm(x[3:])):
            raise self.file.error(element, "has xyaxes that span no plane")
        second /= np.linalg.norm(second)
        return place, np.stack([first, second, np.cross(first, second)], axis=1)

    def children(self, element, parent, inherited, place, turn):
        """Bodies and frames in a body, or in a frame at a place in it; shapes of the world."""
        for child in element:
            if child.tag == "body":
                self.body(child, parent, inherited, place, turn)
            elif child.tag == "frame":
                x, r = self.frame(child.attrib, child)
                self.children(child, parent, child.get("childclass", inherited), place + turn @ x, turn @ r)
            elif child.tag == "geom" and parent == WORLD:
                self.geom(child, inherited, place, turn)
            elif child.tag not in PASSED_OVER:
                raise self.file.error(child, "is not supported in a body")

    def body(self, element, parent, inherited, place, turn):
        self._n += 1
        name, inherited = element.get("name") or f"body {self._n}", element.get("childclass", inherited)
        x, r = self.frame(element.attrib, element)
        x, r = place + turn @ x, turn @ r
        above, around = self.poses[parent]
        self.poses[name] = above + around @ x, around @ r
        self.chain(element, name, parent, inherited, x, r)
        masses = self.masses(element, inherited, np.zeros(3), np.eye(3))
        inertial = element.find("inertial")
        if self.settings["from shapes"] == "false" or (inertial is not None and self.settings["from shapes"] == "auto"):
            masses = [] if inertial is None else [self.inertial(inertial)]
        elif None in masses:
            raise self.file.error(element, "has no <inertial>, and that of a mesh is not worked out")
        mass, centre, inertia = joined(masses) if any(m for m, _, _ in masses) else (0.0, np.zeros(3), np.zeros((3, 3)))
        shapes = self.shapes(element, inherited, np.zeros(3), np.eye(3))
        self.links.append(self.file.made(element, Link, name, mass, centre, inertia, shapes=shapes))
        self.children(element, name, inherited, np.zeros(3), np.eye(3))

    def masses(self, element, inherited, place, turn):
        """(mass, centre, inertia) of each shape, None where it is not known."""
        found = []
        for child in element:
            if child.tag == "geom":
                found.append(self.geom(child, inherited, place, turn))
            elif child.tag == "frame":
                x, r = self.frame(child.attrib, child)
                found += self.masses(child, child.get("childclass", inherited), place + turn @ x, turn @ r)
        return found

    def chain(self, element, name, parent, inherited, place, turn):
        """The joints of a body, one after the other, with links without mass between them."""
        joints = list(self._joints(element, inherited))
        if not joints:
            self.joints.append(TreeJoint(f"{name} fixed", parent, name, "fixed", place, turn))
        for n, (joint, given) in enumerate(joints):
            last, title = n == len(joints) - 1, given.get("name") or f"{name} joint" + f" {n + 1}" * (len(joints) > 1)
            kind = given.get("type", "hinge")
            if kind not in KINDS:
                raise self.file.error(joint, f"is of type {kind!r}; known are {', '.join(KINDS)}")
            values = self._of_joint(joint, given, kind)
            anchor = self.values(given, joint, "pos", 3, (0, 0, 0)) if kind != "free" else np.zeros(3)
            if kind == "free":
                if parent != WORLD or len(joints) > 1:
                    raise self.file.error(joint, "is free, which only the one joint of a body in the world can be")
                self.start[title] = Pose(place, turn)
                at, frame = np.zeros(3), np.eye(3)
            else:
                at, frame = place + turn @ anchor, turn
            reference = values.pop("reference")
            if reference and kind == "hinge":
                frame = frame @ about(values["axis"], -reference)
            elif reference:
                at = at - frame @ values["axis"] * reference / np.linalg.norm(values["axis"])
            if reference:
                self.start[title] = reference
            child = name if last and not np.any(anchor) else f"{name} at {title}"
            self.joints.append(self.file.made(joint, TreeJoint, name=title, parent=parent, child=child,
                                              kind=KINDS[kind], position=at, orientation=frame, **values))
            if child != name:
                self.links.append(Link(child))
            parent, place, turn = child, -anchor, np.eye(3)
            if last and child != name:
                self.joints.append(TreeJoint(f"{title} to {name}", child, name, "fixed", place, turn))

    def _joints(self, element, inherited):
        for child in element:
            if child.tag == "frame":
                for joint, _ in self._joints(child, inherited):
                    raise self.file.error(joint, "is in a frame, which is not supported; put it into the body")
            elif child.tag == "joint":
                yield child, self.defaults.complete(child, inherited)
            elif child.tag == "freejoint":
                yield child, {"type": "free", **child.attrib}

    def _of_joint(self, element, given, kind):
        """Arguments of a `TreeJoint`, and the reference position."""
        angle = self.settings["angle"] if kind in ("hinge", "ball") else 1.0
        found = {name: float(self.values(given, element, ours, None, (0,))[0]) for name, ours in
                 (("damping", "damping"), ("friction", "frictionloss"), ("stiffness", "stiffness"),
                  ("armature", "armature"))}
        for name, key in (("damping", "damping"), ("stiffness", "stiffness")):
            if len(self.values(given, element, key, None, (0,))) > 1:
                raise self.file.error(element, f"has {name} of a higher degree, which is not supported")
        found["reference"] = found["rest"] = 0.0
        if kind == "free":
            return dict.fromkeys(found, 0.0)  # as in MuJoCo, defaults of joints do not count
        found["axis"] = self.values(given, element, "axis", 3, (0, 0, 1))
        if kind in ("hinge", "slide"):
            if not np.any(found["axis"]):
                raise self.file.error(element, "has an axis of length zero")
            found["reference"] = angle * float(self.values(given, element, "ref", 1, (0,))[0])
            found["rest"] = angle * float(self.values(given, element, "springref", 1, (0,))[0])
            if "range" in given and given.get("limited", "auto") != "false":
                low, high = (angle * self.values(given, element, "range", 2)).tolist()
                found["limits"] = {"lower": low, "upper": high}
        elif found["stiffness"] or found["friction"]:
            raise self.file.error(element, "has a stiffness or a frictionloss, which balls do not have here")
        return found

    def inertial(self, element):
        place, turn = self.frame(element.attrib, element)
        mass = self.file.number(element, "mass")
        if "fullinertia" in element.attrib:
            xx, yy, zz, xy, xz, yz = self.file.numbers(element, "fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            inertia = np.diag(self.file.numbers(element, "diaginertia", 3))
        return mass, place, turn @ inertia @ turn.T

    def geom(self, element, inherited, place, turn):
        """(mass, centre, inertia about it) in the body, None for a mesh without inertia."""
        given = self.defaults.complete(element, inherited)
        kind = given.get("type", "mesh" if "mesh" in given else "sphere")
        if kind not in SIZES:
            raise self.file.error(element, f"is of type {kind!r}; known are {', '.join(SIZES)}")
        self.collides |= given.get("contype", "1") != "0" or given.get("conaffinity", "1") != "0"
        if given.get("shellinertia", "false") == "true":
            raise self.file.error(element, "has shellinertia, which is not supported")
        mass = None if "mass" not in given else float(self.values(given, element, "mass", 1)[0])
        density = float(self.values(given, element, "density", 1, (1000.0,))[0])
        if kind in NO_MASS or mass == 0 or (mass is None and density == 0):
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if kind in ("mesh", "sdf"):
            return None
        x, r, size = self.solid(element, given, kind)
        volume, inertia = inertia_of(kind, size)
        mass = density * volume if mass is None else mass
        return mass, place + turn @ x, mass * turn @ r @ np.diag(inertia) @ r.T @ turn.T

    def solid(self, element, given, kind):
        """Place, rotation matrix, and radii and half lengths of a shape."""
        x, r = self.frame({k: v for k, v in given.items() if k != "fromto"}, element)
        size = self.values(given, element, "size", None)
        if "fromto" in given and kind != "sphere":
            a, b = np.split(self.values(given, element, "fromto", 6), 2)
            if not np.linalg.norm(b - a) > 0:
                raise self.file.error(element, "has a fromto of length zero")
            x, r, half = (a + b) / 2, from_z(b - a), np.linalg.norm(b - a) / 2
            size = np.append(size[:SIZES[kind] - 1] if SIZES[kind] == 2 else np.repeat(size[:1], 2), half)
        if len(size) < SIZES[kind] or np.any(size[:SIZES[kind]] <= 0):
            raise self.file.error(element, f"needs {SIZES[kind]} positive numbers for 'size', not "
                                           f"{given.get('size')!r}")
        return x, r, size

    def shapes(self, element, inherited, place, turn):
        """What pictures show of a body."""
        found = []
        for child in element:
            if child.tag == "frame":
                x, r = self.frame(child.attrib, child)
                found += self.shapes(child, child.get("childclass", inherited), place + turn @ x, turn @ r)
            elif child.tag == "geom":
                given = self.defaults.complete(child, inherited)
                kind = given.get("type", "mesh" if "mesh" in given else "sphere")
                surface, size = None, None
                if kind in (*NO_MASS, "sdf"):
                    continue
                if kind == "mesh":
                    (x, r), surface = self.frame(given, child), self.assets.surface(child, given.get("mesh"),
                                                                                    self.values)
                else:
                    x, r, size = self.solid(child, given, kind)
                found += drawn(kind, given, size, place + turn @ x, turn @ r, surface)
        return found


