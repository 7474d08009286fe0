"""Bodies of an MJCF file as links of a tree: their shapes, the masses of these, and what pictures show of them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from ...errors import InputError
from ...mechanics.bodies import rotations
from ...mechanics.bodies.tree.links import Link
from ...records import frozen
from ..robot import Collider, of_spheres, on_plane
from ..surfaces import NO_MASS, about, from_euler, from_z, inertia_of, joined, shell_of
from .elements import ELEMENTS, ORIENTATIONS, WORLD, check_touching
from .joints import JointReader

if TYPE_CHECKING:
    from ...mechanics.bodies.tree.tree import Tree
    from ...mechanics.declared.declared import Declared
    from ..robot import XmlFile


GEOM_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3, "plane": 0, "hfield": 0, "mesh": 0,
         "sdf": 0}
LONG = "capsule", "cylinder", "box", "ellipsoid"  # that two points place
MOST_GROUP = 2  # MuJoCo's viewer shows groups 0 to 2; shapes for contacts alone are in higher ones


class Geoms:
    """Shapes of a file.

    Parameters
    ----------
    reader : BodyReader
    assets : Assets
    """

    def __init__(self, reader, assets):
        self.reader, self.assets, self.file = reader, assets, reader.file

    def given(self, element, where, name):
        """Attributes of a shape with those of its class, and its type."""
        given = self.reader.defaults.complete(element, where.inherited, name=name)
        kind = given.get("type", "sphere")  # also where a mesh is named: then the sphere fits it
        if kind not in GEOM_SIZES:
            raise self.file.error(element, f"is of type {kind!r}; known are {', '.join(GEOM_SIZES)}")
        return given, kind

    def mass(self, element, where, name):
        """(mass, centre, inertia about it) in the body; None where it is not known."""
        given, kind = self.given(element, where, name)
        values, settings = self.reader.values, self.assets.attached.of(element)
        group = values(given, element, "group", None, (0,))[0]
        mass = None if "mass" not in given else float(values(given, element, "mass", 1)[0])
        density = float(values(given, element, "density", 1, (1000.0,))[0])
        low, high = settings.groups
        if kind in NO_MASS or not low <= group <= high or mass == 0 or (mass is None and density == 0):
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if kind in ("mesh", "sdf"):
            found = self.assets.mass(element, given.get("mesh"), values) if kind == "mesh" else None
            if found is None:
                return None
            volume, centre, inertia = found
            x, r = self.reader.frame(given, element)
        else:
            solid = self.solid(element, given, kind)
            if solid is None:
                return None
            x, r, size = solid
            shell = given.get("shellinertia", "false") == "true"
            if shell and kind == "ellipsoid":
                raise self.file.error(element, "has shellinertia, which ellipsoids do not have here")
            volume, diagonal = (shell_of if shell else inertia_of)(kind, size)
            centre, inertia = np.zeros(3), volume * np.diag(diagonal)
        mass = density * volume if mass is None else mass
        r = where.turn @ r
        return mass, where.place + where.turn @ x + r @ centre, mass / volume * r @ inertia @ r.T

    def solid(self, element, given, kind):
        """Place, rotation matrix, and radii and half lengths of a shape; None of unknown meshes."""
        if "mesh" in given:
            return self._fitted(element, given, kind)
        x, r = self.reader.frame({k: v for k, v in given.items() if k != "fromto"}, element)
        size = self.reader.values(given, element, "size", None)
        if "fromto" in given and kind in LONG:
            a, b = np.split(self.reader.values(given, element, "fromto", 6), 2)
            if not np.linalg.norm(b - a) > 0:
                raise self.file.error(element, "has a fromto of length zero")
            x, r, half = (a + b) / 2, from_z(b - a), np.linalg.norm(b - a) / 2
            size = np.append(size[:GEOM_SIZES[kind] - 1] if GEOM_SIZES[kind] == 2 else np.repeat(size[:1], 2), half)
        if len(size) < GEOM_SIZES[kind] or np.any(size[:GEOM_SIZES[kind]] <= 0):
            raise self.file.error(element, f"needs {GEOM_SIZES[kind]} positive numbers for 'size', not "
                                           f"{given.get('size')!r}")
        return x, r, size

    def _fitted(self, element, given, kind):
        """A shape that takes its size from a mesh: from the box of the same inertia, or from that around it."""
        found = self.assets.mass(element, given["mesh"], self.reader.values)
        if found is None:
            return None
        volume, centre, inertia = found
        moments, axes = np.linalg.eigh(inertia)
        moments, axes = moments[::-1], axes[:, ::-1] * np.sign(np.linalg.det(axes[:, ::-1]))  # the longest side is z
        scale = float(self.reader.values(given, element, "fitscale", 1, (1.0,))[0])
        if self.assets.attached.of(element).fit_boxes:
            points, _ = self.assets.surface(element, given["mesh"], self.reader.values, whole=True)
            local = (points - centre) @ axes
            half, centre = np.ptp(local, axis=0) / 2, centre + axes @ (local.max(axis=0) + local.min(axis=0)) / 2
            round_size = half[:2].max(), half[2] - half[:2].max() * (kind == "capsule")
            ball = half.max()
        else:
            half = np.sqrt(1.5 * (moments.sum() - 2 * moments) / volume)
            width = half[:2].mean()
            round_size = width, max(0.0, half[2] - width / 2) if kind == "capsule" else half[2]
            ball = half.mean()
        size = {"sphere": (ball,), "capsule": round_size, "cylinder": round_size}.get(kind, half)
        x, r = self.reader.frame(given, element)
        return x + r @ centre, r @ axes, scale * np.array(size, float)

    def drawn(self, element, where, name):
        """What pictures show of a shape, list of dict; what cannot be drawn makes a note."""
        try:
            return self._drawn(element, where, name)
        except InputError as error:
            self.reader.notes.add(f"not drawn: {error}")
            return []

    def _drawn(self, element, where, name):
        given, kind = self.given(element, where, name)
        group = given.get("group", "0").strip()
        if kind in (*NO_MASS, "sdf") or not group.lstrip("-").isdigit() or int(group) > MOST_GROUP:
            return []
        if kind == "mesh":
            surface = self.assets.surface(element, given.get("mesh"), self.reader.values)
            if surface is None:
                return []
            x, r = self.reader.frame(given, element)
            x, r = where.place + where.turn @ x, where.turn @ r
            return [{"shape": "surface", "points": surface[0] @ r.T + x, "faces": surface[1].tolist()}]
        solid = self.solid(element, given, kind)
        if solid is None:
            return []
        x, turn, size = solid
        return shown(kind, size, where.place + where.turn @ x, where.turn @ turn)


def shown(kind, size, place, turn):
    """A shape that is not a mesh as shapes of a `Link`, list of dict."""
    frame = {"position": place, "orientation": turn}
    if kind == "box":
        return [{"shape": "box", "size": 2 * size[:3], **frame}]
    if kind in ("sphere", "ellipsoid"):
        return [{"shape": "ellipsoid", "size": 2 * (np.repeat(size[0], 3) if kind == "sphere" else size[:3]), **frame}]
    width, half = 2 * size[0], size[1]
    shapes = [{"shape": "cylinder", "size": np.array([width, width, 2 * half]), **frame}] if half > 0 else []
    ends = (-half, half) if kind == "capsule" else ()
    return shapes + [{"shape": "ellipsoid", "size": np.repeat(width, 3), "position": place + turn[:, 2] * end,
                      "orientation": turn} for end in ends]


TURN_SIZES = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
PASSED_OVER = "camera", "light"
MOST_COPIES = 10_000  # of one <replicate>


@frozen
class Where:
    """Where an element stands: class inherited, place and rotation in the body, and what <replicate> adds to names."""

    inherited: str | None
    place: np.ndarray
    turn: np.ndarray
    suffix: str = ""


class BodyReader:
    """Collects links and joints, body by body.

    Attributes
    ----------
    links, joints : list
    start : dict
        Joint -> its position at the start, where that is not zero; a `Pose` of free joints.
    poses : dict
        Body -> place and rotation matrix in space at the start.
    sites : dict
        Site -> body, and place and rotation matrix in it.
    copies : dict
        Name -> what <replicate> has added to it, list.
    collides : bool
        Whether some shapes may touch others.
    """

    def __init__(self, file, defaults, settings, notes, assets, touching=None):
        self.touching = touching
        self.file, self.defaults, self.settings, self.notes = file, defaults, settings, notes
        self.links, self.start, self.poses = [], {}, {WORLD: (np.zeros(3), np.eye(3))}
        self.sites, self.copies, self.collides, self._n = {}, {}, False, 0
        self.of = assets.attached.of  # settings that hold for an element
        self.geoms, self._joints = Geoms(self, assets), JointReader(self)
        self.joints, self.springs = self._joints.joints, self._joints.springs
        self.complete_springs = self._joints.springs_of_time_constants

    def world(self, element):
        """Everything in a <worldbody>."""
        self._inside(element, WORLD, Where(element.get("childclass"), np.zeros(3), np.eye(3)))

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
        kind, settings = stated[0], self.of(element)
        angle = settings.angle
        x = self.values(given, element, kind, TURN_SIZES[kind])
        if kind == "euler":
            return place, from_euler(angle * x, settings.sequence)
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

    def contents(self, element, where):
        """What is in a body, also in its frames and replicas: pairs of an element and a `Where`."""
        for child in element:
            if child.tag == "frame":
                self.notes.check(ELEMENTS["frame"], "frame", child.attrib, child.get("name") or "")
                x, r = self.frame(child.attrib, child)
                yield from self.contents(child, replace(where, inherited=child.get("childclass", where.inherited),
                                                        place=where.place + where.turn @ x, turn=where.turn @ r))
            elif child.tag == "replicate":
                for inner in self._replicas(child, where):
                    yield from self.contents(child, inner)
            else:
                yield child, where

    def _replicas(self, element, where):
        self.notes.check(ELEMENTS["replicate"], "replicate", element.attrib, "")
        count, settings = self.file.number(element, "count"), self.of(element)
        if count < 1 or count % 1 or count > MOST_COPIES:
            raise self.file.error(element, f"needs a count from 1 to {MOST_COPIES}, not {element.get('count')!r}")
        offset, euler = (self.file.numbers(element, name, 3, (0, 0, 0)) for name in ("offset", "euler"))
        step, digits = from_euler(settings.angle * euler, settings.sequence), len(str(int(count) - 1))
        place, turn = np.zeros(3), np.eye(3)
        for i in range(int(count)):
            suffix = f"{element.get('sep', '')}{i:0{digits}d}"
            yield Where(element.get("childclass", where.inherited), where.place + where.turn @ place, where.turn @ turn,
                        suffix + where.suffix)
            place, turn = place + turn @ offset, turn @ step

    def name(self, element, where, default=""):
        """The name of an element, with what <replicate> adds."""
        name = element.get("name")
        if not name:
            return default
        if where.suffix:
            self.copies.setdefault(name, []).append(where.suffix)
        return name + where.suffix

    def _inside(self, element, parent, where):
        """Bodies and sites in a body."""
        for child, there in self.contents(element, where):
            if child.tag == "body":
                self.body(child, parent, there)
            elif child.tag == "geom":
                given = self.defaults.complete(child, there.inherited, name=parent, check=False)
                self.collides |= given.get("contype", "1") != "0" or given.get("conaffinity", "1") != "0"
                if self.touching is not None:
                    self.touching.add(self, child, parent, there)
            elif child.tag == "site":
                self._site(child, parent, there)
            elif child.tag == "plugin":
                self.notes.append_named("<plugin> of {} is left out", parent)
            elif parent == WORLD and child.tag in ("joint", "freejoint", "inertial"):
                raise self.file.error(child, "is in the world, which does not move; put it into a body")
            elif child.tag not in (*PASSED_OVER, "joint", "freejoint", "inertial"):
                raise self.file.error(child, "is not supported in a body")

    def _site(self, element, body, where):
        given = self.defaults.complete(element, where.inherited, name=body)
        x, r = self.frame(given, element)
        if "fromto" in given:
            a, b = np.split(self.values(given, element, "fromto", 6), 2)
            x, r = (a + b) / 2, from_z(b - a) if np.any(b != a) else r
        name = self.name(element, where)
        if name:
            self.sites[name] = body, where.place + where.turn @ x, where.turn @ r

    def body(self, element, parent, where):
        self._n += 1
        name, inherited = self.name(element, where) or f"body {self._n}", element.get("childclass", where.inherited)
        self.notes.check(ELEMENTS["body"], "body", element.attrib, name)
        x, r = self.frame(element.attrib, element)
        x, r = where.place + where.turn @ x, where.turn @ r
        above, around = self.poses[parent]
        self.poses[name] = above + around @ x, around @ r
        inner = Where(inherited, np.zeros(3), np.eye(3), where.suffix)
        own = list(self.contents(element, inner))
        self._joints.chain(element, name, parent, own, x, r)
        mass, centre, inertia = self._mass(element, name, own)
        shapes = [shape for child, there in own if child.tag == "geom" for shape in
                  self.geoms.drawn(child, there, name)]
        floats = float(self.values(element.attrib, element, "gravcomp", 1, (0.0,))[0])
        if {"spring", "damper"} <= self.settings.off:  # MuJoCo then has no passive forces at all
            floats = 0.0
        self.links.append(self.file.made(element, Link, name, mass, centre, inertia, shapes=shapes,
                                         gravity_compensation=floats))
        self._inside(element, name, inner)

    def _mass(self, element, name, own):
        """Mass, centre and inertia of a body, as the compiler of MuJoCo has them."""
        inertial, settings = next(((c, w) for c, w in own if c.tag == "inertial"), None), self.of(element)
        if settings.from_shapes == "false" or (inertial is not None and settings.from_shapes == "auto"):
            masses = [] if inertial is None else [self._inertial(*inertial)]
        else:
            masses = [self.geoms.mass(child, where, name) for child, where in own if child.tag == "geom"]
            if None in masses:
                raise self.file.error(element, "has no <inertial>, and the mesh is not known from which it follows: "
                                               "give meshes=, the folder of the file (--meshes)")
        some = [one for one in masses if one[0]]
        mass, centre, inertia = joined(some) if some else (0.0, np.zeros(3), np.zeros((3, 3)))
        return max(mass, settings.least_mass), centre, _bounded(inertia, settings)

    def _inertial(self, element, where):
        self.notes.check(ELEMENTS["inertial"], "inertial", element.attrib, "")
        place, turn = self.frame(element.attrib, element)
        place, turn = where.place + where.turn @ place, where.turn @ turn
        mass = self.file.number(element, "mass")
        if "fullinertia" in element.attrib:
            xx, yy, zz, xy, xz, yz = self.file.numbers(element, "fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            inertia = np.diag(self.file.numbers(element, "diaginertia", 3))
        return mass, place, turn @ inertia @ turn.T

    def scale_masses(self):
        """Give the links the total mass that the compiler is to set."""
        wanted, total = self.settings.total_mass, sum(link.mass for link in self.links)
        if wanted > 0 and total > 0:
            self.links = [replace(link, mass=link.mass * wanted / total, inertia=link.inertia * wanted / total)
                          for link in self.links]


def _bounded(inertia, settings):
    """An inertia with the bounds of the compiler."""
    moments, axes = np.linalg.eigh(inertia)
    changed = np.maximum(moments, settings.least_inertia) if settings.least_inertia > 0 else moments
    if settings.balanced and changed[0] + changed[1] < changed[2]:
        changed = np.full(3, changed.mean())
    return inertia if np.array_equal(changed, moments) else axes @ np.diag(changed) @ axes.T


# ---- shapes of MJCF bodies that touch others

TOUCH_PLANES = "sphere", "capsule", "cylinder", "box", "ellipsoid"


class Touching:
    """Collects shapes, and tells which of them touch.

    Parameters
    ----------
    file : XmlFile
    root : Element
    """

    def __init__(self, file: XmlFile, root: Element) -> None:
        self.file = file
        self.shapes: list[tuple[Collider, int, int]] = []  # with contype and conaffinity
        self.excluded = {frozenset((pair.get("body1"), pair.get("body2"))) for pair in root.iterfind("contact/exclude")}
        self.pairs = [pair.get("name") or f"{pair.get('geom1')} on {pair.get('geom2')}"
                      for pair in root.iterfind("contact/pair")]
        self.settings = [*root.iterfind("option"), *root.iterfind("option/flag")]

    def add(self, reader: BodyReader, element: Element, body: str, where: Where) -> None:
        """Take a shape of a body, if it can touch anything."""
        given, kind = reader.geoms.given(element, where, body)
        masks = [int(float(reader.values(given, element, key, 1, (1,))[0])) for key in ("contype", "conaffinity")]
        if not any(masks):
            return
        name = reader.name(element, where) or f"shape {len(self.shapes) + 1} of {body}"
        friction, condim, priority = (float(reader.values(given, element, key, None, (default,))[0])
                                      for key, default in (("friction", 1), ("condim", 3), ("priority", 0)))
        if condim > 3:
            reader.notes.append_named("friction of contacts of {} against spinning and rolling is left out", name)
        check_touching(reader.notes, "geom", given, name)
        solid = reader.geoms.solid(element, given, kind) if kind in TOUCH_PLANES else \
            (*reader.frame(given, element), np.zeros(0)) if kind == "plane" else None
        if solid is None:
            reader.notes.append_named("{} does not touch anything: it is not a plane, sphere, capsule, cylinder, box "
                                      "or ellipsoid", name)
            return
        place, turn, size = solid
        self.shapes.append((Collider(name, body, kind, size, where.place + where.turn @ place, where.turn @ turn,
                                     friction, priority=priority, smooth=condim == 1), masks[0], masks[1]))

    def parts(self, reader: BodyReader, tree: Tree) -> list[Declared]:
        """The contacts, as parts."""
        parents = {joint.child: joint.parent for joint in tree.joints}

        def above(link):  # the body that carries it, without links that the reader puts between joints
            link = parents.get(link)
            while link is not None and link not in reader.poses:
                link = parents.get(link)
            return link

        for element in self.settings:
            check_touching(reader.notes, element.tag, element.attrib)
        found: list[Declared] = []
        left: list[Any] = [*self.pairs]
        for (a, *of_a), (b, *of_b) in itertools.combinations(self.shapes, 2):
            if not (of_a[0] & of_b[1] or of_b[0] & of_a[1]) or a.link == b.link or \
                    frozenset((a.link, b.link)) in self.excluded:
                continue
            still = [shape.link == WORLD or not tree.link(shape.link).n_q for shape in (a, b)]
            near = "filterparent" not in reader.settings.off and (above(a.link) == b.link or above(b.link) == a.link)
            if all(still) or (not any(still) and near):
                continue
            if a.kind == "plane":
                (a, b), still = (b, a), still[::-1]
            if b.kind == "plane" and a.kind != "plane":
                found.append(on_plane(tree, a, in_space(reader, b) if still[1] else b))
            elif a.kind == b.kind == "sphere":
                a, b = (b, a) if still[0] else (a, b)
                found += of_spheres(tree, a, in_space(reader, b) if any(still) else b)
            else:
                left.append(f"{a.name} on {b.name}")
        for name in left:
            reader.notes.append_named("contacts of these are left out: {}", name)
        return found


def in_space(reader: BodyReader, shape: Collider) -> Collider:
    """The same shape of a body that does not move, in space."""
    place, turn = reader.poses[shape.link]
    return Collider(shape.name, "", shape.kind, shape.size, place + turn @ shape.place, turn @ shape.turn,
                    shape.friction, shape.restitution, priority=shape.priority, smooth=shape.smooth)
