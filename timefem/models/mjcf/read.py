"""Robots from MJCF files, the format of MuJoCo. Files they include are read where they are in the same folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError, named_arguments
from ...mechanics.bodies import rotations
from ...mechanics.bodies.tree.links import Link, TreeJoint
from ...mechanics.bodies.tree.tree import Tree
from ...mechanics.forces.springs import RotationalSpring, Spring
from ...types import FilePath
from ..robot import Notes, Robot, XmlFile, checked, limits_note, rubbing, stops
from ..surfaces import Meshes, hull, surface_mass
from .bodies import BodyReader, Touching
from .elements import ELEMENTS, WORLD, Attachments, Defaults
from .joints import Equalities, fixed_tendons, keyframes, read_actuators

SECTIONS = ("size", "statistic", "visual", "asset", "custom", "sensor", "keyframe", "option", "compiler", "default",
            "worldbody", "equality", "actuator", "contact", "tendon", "deformable", "extension")


@named_arguments
def read_mjcf(path: FilePath, friction_width: float | None = None, meshes: FilePath | None = None,
              contacts: str | None = None) -> Robot:
    """Read a robot from an MJCF file.

    Bodies, joints of type hinge, slide, ball and free, inertias as given or of shapes, defaults and their classes;
    damping, friction, springs, `armature`, `gravcomp`, ranges (as data); what <compiler> does to masses and inertias;
    equality constraints (connect, weld, joint, and tendon of fixed ones), which hold exactly here; motors of joints and
    of fixed tendons, as actuators whose controls are zero unless a problem finds them; frames, replicas and attached
    models; keyframes as states, `robot.problem(robot.keyframes["home"])`.
    Positions of joints are those of MuJoCo's qpos. Contacts, springs of tendons and the like are left out, and each
    attribute that would change a motion and is not read; `notes` say so by name. Sensors, pictures, contacts and
    numerical settings do not concern the motion: nothing in them stops a file from being read.

    With `contacts="rigid"` limits of joints are stops, their friction is dry unless there is a `friction_width`, and
    spheres, capsules, boxes (their corners), ellipsoids and cylinders (eight points of each rim) touch planes, and
    spheres each other, as contype, conaffinity and <exclude> say, with the first number of their friction, as priority
    and condim say; other pairs are left out, and `notes` say which.

    Parameters
    ----------
    path : str or path-like
    friction_width : float, optional
        w [rad/s or m/s] of Coulomb friction `-f tanh(qdot / w)`. Without it friction is left out, and `notes` say so.
    meshes : str or path-like, optional
        Folder of the file, or of a copy of its meshes, which trimesh reads (`pip install timefem[robots]`); no file
        outside of it is read. Without it meshes of files are not drawn, and bodies whose inertias follow from them are
        refused.
    contacts : {None, "rigid"}
        See above.

    Returns
    -------
    Robot
        Its tree has the base link "world".

    Raises
    ------
    InputError
        Names file, line, element and attribute: for a file that is not XML, that declares a document type or entities,
        or takes others from outside of its folder; for what is missing, unknown or no number, and for what cannot be
        left out.

    Examples
    --------
    >>> import timefem as tf
    >>> robot = tf.read_mjcf("robot.xml")                                             # doctest: +SKIP
    >>> sol = tf.solve(robot.problem({"shoulder": (-0.7, -0.4)}), tf.MixedGalerkin(3, form="lagrange"), 400)
    ...                                                                               # doctest: +SKIP
    """
    file = XmlFile(str(path))
    notes = Notes()
    root, settings = _model(file, notes)
    attached = Attachments(file, settings, notes, _model)
    attached.resolve(file, root)
    defaults = Defaults(file, root, notes, attached.classes)
    touching = Touching(file, root) if checked(contacts) else None
    assets = Assets(file, root, defaults, meshes, attached)
    reader = BodyReader(file, defaults, settings, notes, assets, touching)
    for world in root.iterfind("worldbody"):
        reader.world(world)
    reader.scale_masses()
    name = root.get("model") or Path(path).stem
    try:
        reader.complete_springs()
        tendons = fixed_tendons(file, root, reader)
        equalities = Equalities(file, root, reader, tendons)
        dry = _without_friction(reader, friction_width, notes, touching)
        keys = keyframes(file, root, reader)
        tree = Tree([Link(WORLD, shapes=None), *reader.links], reader.joints, friction_width, name)
    except InputError as error:
        raise error if str(error).startswith(str(path)) else InputError(f"{path}: {error}") from None
    limits = limits_note(tree.joints)
    if touching is None and limits:
        notes.add(limits)
    if touching is None and reader.collides and "contact" not in settings.off:
        notes.add("contacts are left out")
    found = () if touching is None else (
        *stops(tree), *rubbing(tree, dry), *(() if "contact" in settings.off else touching.parts(reader, tree)))
    actuators, ranges = read_actuators(file, root, reader, tree, tendons)
    loops = tuple(make(tree) for make in equalities.parts)
    return Robot(str(path), name, tree, notes.all, settings.gravity, reader.start, loops, actuators,
                 tuple(_springs(tree, reader.springs)), ranges, found, keys)


def _model(file, notes):
    """Root of a model with what it includes, and its `Settings`."""
    if file.root.tag != "mujoco":
        raise file.error(file.root, "must be <mujoco>")
    included(file, file.root)
    _check_sections(file, file.root, notes)
    return file.root, read_settings(file, file.root, notes)


def _check_sections(file, root, notes):
    for element in root:
        if element.tag not in SECTIONS:
            raise file.error(element, f"is unknown in <mujoco>; known are {', '.join(SECTIONS)}")
        if element.tag == "deformable" and element.find("flex") is not None:
            raise file.error(element, "has a flex, which is not supported")
        if element.tag == "extension" and len(element):
            notes.add("<extension>: plugins are left out")


def _without_friction(reader, friction_width, notes, touching):
    """Take friction from joints where it is not regularised; that which is dry."""
    dry = {} if friction_width is not None else {x.name: x.friction for x in reader.joints if x.friction}
    if dry:
        for name in dry if touching is None else ():
            notes.append_named("Coulomb friction of {} is left out: give a friction_width (--friction-width)", name)
        reader.joints[:] = [TreeJoint(**{**vars(joint), "friction": 0.0}) for joint in reader.joints]
    return dry


def _springs(tree, springs):
    """Parts of the springs of ball and free joints."""
    for spring in springs:
        link = tree.link(spring.child)
        if spring.place is not None:
            yield Spring(link, None, np.zeros(3), spring.place, spring.stiffness)
        parent = None if spring.parent is None else tree.link(spring.parent)
        yield RotationalSpring(link, parent, spring.stiffness, spring.turn, law="angle")


# ---- files that an MJCF file includes

MOST_FILES = 50


def included(file, root):
    """Put the contents of included files in their places; only of the folder of the file, or folders in it."""
    folder, seen = os.path.realpath(os.path.dirname(file.path) or "."), {os.path.realpath(file.path)}

    def walk(element, reader):
        for place, child in reversed(list(enumerate(element))):
            if child.tag != "include":
                walk(child, reader)
                continue
            name = reader.text(child, "file")
            path, beside = (os.path.realpath(os.path.join(where, name)) for where in
                            (folder, os.path.dirname(reader.path)))
            if not os.path.exists(path) and os.path.exists(beside):  # as MuJoCo: else from the file that includes it
                path = beside
            if os.path.commonpath([folder, path]) != folder:
                raise reader.error(child, f"names {child.get('file')!r}, which is outside the folder of the file")
            if path in seen:
                raise reader.error(child, f"names {child.get('file')!r}, which is included already")
            seen.add(path)
            if len(seen) > MOST_FILES:
                raise reader.error(child, f"is one too many: at most {MOST_FILES} files are included")
            other = XmlFile(path)
            file.adopt(other)
            walk(other.root, other)
            element.remove(child)
            for i, new in enumerate(other.root):
                element.insert(place + i, new)

    walk(root, file)


# ---- what <compiler> and <option> of an MJCF file state

GRAVITY = (0.0, 0.0, -9.81)
SWITCHES = {"equality": ("constraint", "equality"), "frictionloss": ("constraint", "frictionloss"),
            "limit": ("constraint", "limit"), "contact": ("constraint", "contact"), "spring": ("spring", "passive"),
            "damper": ("damper", "passive"), "gravity": ("gravity",), "actuation": ("actuation",),
            "filterparent": ("filterparent",), "clampctrl": ("clampctrl",)}


@dataclass
class Settings:
    """Of the whole file.

    Attributes
    ----------
    angle : float
        Unit of angles [rad].
    sequence : str
        Of Euler angles.
    from_shapes : {"auto", "true", "false"}
        Whether inertias are those of shapes.
    groups : (int, int)
        Of the shapes that have mass.
    autolimits : bool
        Whether what has a range is limited.
    least_mass, least_inertia, total_mass : float
        [kg], [kg m^2] and [kg]; not positive: none.
    balanced : bool
        Whether inertias that no body has become their mean.
    fit_boxes : bool
        Whether shapes are fitted to boxes around meshes along their principal axes, not to their inertias.
    exact_meshes : bool
    gravity : tuple
        [m/s^2]
    off : set of str
        Keys of `SWITCHES` that are disabled.
    """

    angle: float = np.pi / 180
    sequence: str = "xyz"
    from_shapes: str = "auto"
    groups: tuple = (-1000, 1000)
    autolimits: bool = True
    least_mass: float = 0.0
    least_inertia: float = 0.0
    total_mass: float = -1.0
    balanced: bool = False
    fit_boxes: bool = False
    exact_meshes: bool = False
    gravity: tuple = GRAVITY
    off: frozenset = frozenset()


def read_settings(file, root, notes):
    """The `Settings` of a file; notes on what they leave out."""
    found = Settings()
    for element in root.iterfind("compiler"):
        _compiler(file, element, found)
        notes.check(ELEMENTS["compiler"], "compiler", element.attrib, "")
    for element in root.iterfind("option"):
        notes.check(ELEMENTS["option"], "option", element.attrib, "")
        if "gravity" in element.attrib:
            found.gravity = tuple(file.numbers(element, "gravity", 3).tolist())
        if any(np.any(file.numbers(element, name, None, (0,))) for name in ("density", "viscosity", "wind")):
            notes.add("forces of the surrounding fluid are left out")
        for flag in element.iterfind("flag"):
            notes.check(ELEMENTS["flag"], "flag", flag.attrib, "")
            for name, value in flag.attrib.items():
                if value not in ("enable", "disable"):
                    raise file.error(flag, f"has {name}={value!r}; known are enable and disable")
            disabled = {name for name, value in flag.attrib.items() if value == "disable"}
            found.off |= {name for name, flags in SWITCHES.items() if disabled & set(flags)}
    if "gravity" in found.off:
        found.gravity = (0.0, 0.0, 0.0)
    return found


def _compiler(file, element, found):
    angle = element.get("angle", "degree")
    if angle not in ("degree", "radian"):
        raise file.error(element, f"has angle={angle!r}; known are degree and radian")
    if "angle" in element.attrib:
        found.angle = 1.0 if angle == "radian" else np.pi / 180
    found.sequence = element.get("eulerseq", found.sequence)
    if len(found.sequence) != 3 or set(found.sequence.lower()) - set("xyz"):
        raise file.error(element, f"has eulerseq={found.sequence!r}, but three letters of xyzXYZ are needed")
    found.from_shapes = element.get("inertiafromgeom", found.from_shapes)
    if found.from_shapes not in ("auto", "true", "false"):
        raise file.error(element, f"has inertiafromgeom={found.from_shapes!r}; known are true, false and auto")
    if element.get("coordinate", "local") != "local":
        raise file.error(element, "has coordinate='global', which is not supported")
    if "inertiagrouprange" in element.attrib:
        found.groups = tuple(file.numbers(element, "inertiagrouprange", 2).tolist())
    for name, attribute in (("autolimits", "autolimits"), ("balanced", "balanceinertia"), ("fit_boxes", "fitaabb"),
                            ("exact_meshes", "exactmeshinertia")):
        setattr(found, name, element.get(attribute, "true" if getattr(found, name) else "false") == "true")
    for name, attribute in (("least_mass", "boundmass"), ("least_inertia", "boundinertia"),
                            ("total_mass", "settotalmass")):
        setattr(found, name, file.number(element, attribute, getattr(found, name)))


# ---- meshes of an MJCF file: their surfaces for pictures, and their masses

INERTIAS = "legacy", "convex", "exact", "shell"


class Assets:
    """Meshes of an MJCF file by name.

    Parameters
    ----------
    file : XmlFile
    root : Element
    defaults : Defaults
    folder : str, path-like or None
        In which the paths of the file are; without it only meshes whose points are in the file are there.
    attached : Attachments
    """

    def __init__(self, file, root, defaults, folder, attached):
        self.file, self.meshes, self.attached = file, None if folder is None else Meshes(folder), attached
        compiler = {k: v for element in root.iterfind("compiler") for k, v in element.attrib.items()}
        self._inner = compiler.get("meshdir", compiler.get("assetdir", ""))
        self._bare = compiler.get("strippath", "false") == "true"
        self._given = {}
        for element in root.iterfind("asset/mesh"):
            given = defaults.complete(element, None, check=False)
            stem = os.path.splitext(os.path.basename(given.get("file", "")))[0]
            self._given[given.get("name", stem)] = element, given
        self._defaults = defaults

    def surface(self, geom, name, values, whole=False):
        """Points and faces of the mesh that a shape names, as it is placed by the shape; None where they are not known.

        `values(given, element, attribute, n, default)` are the numbers of an attribute. With `whole` meshes of many
        faces have them all, and not those of their convex hull.
        """
        if name is None:
            raise self.file.error(geom, "has no attribute 'mesh'")
        if name not in self._given:
            raise self.file.error(geom, f"names the mesh {name!r}, which no <asset> states")
        element, given = self._given[name]
        raw = self._raw(element, given, values, whole)
        if raw is None:
            return None
        self._defaults.check(element, given, name=name)
        scale, origin = values(given, element, "scale", 3, (1, 1, 1)), values(given, element, "refpos", 3, (0, 0, 0))
        turn = values(given, element, "refquat", 4, (1, 0, 0, 0))
        if not np.linalg.norm(turn) > 0:
            raise self.file.error(element, "has a refquat of length zero")
        points = (raw[0] - origin) @ rotations.matrix_from_quaternion(turn / np.linalg.norm(turn)) * scale
        return points, raw[1][:, ::-1] if np.prod(scale) < 0 else raw[1]

    def _raw(self, element, given, values, whole):
        if "vertex" in given:
            points = values(given, element, "vertex", None)
            if len(points) % 3 or len(points) < 12:
                raise self.file.error(element, f"needs four points or more for 'vertex', not {len(points)} numbers")
            points = points.reshape(-1, 3)
            if "face" not in given:
                return points, self._hull(element, points)
            faces = values(given, element, "face", None)
            if len(faces) % 3 or np.any(faces % 1) or faces.min() < 0 or faces.max() >= len(points):
                raise self.file.error(element, f"needs numbers of points, from 0 to {len(points) - 1}, for 'face'")
            return points, faces.astype(int).reshape(-1, 3)
        if "file" not in given or self.meshes is None:
            return None
        path = os.path.basename(given["file"]) if self._bare else given["file"]
        try:
            inner = self.attached.folders.get(element, self._inner)
            return self.meshes.surface(os.path.join(inner, path), 1.0, whole)
        except InputError as error:
            raise self.file.error(element, str(error)) from None

    def _hull(self, element, points):
        try:
            return hull(points)
        except InputError as error:
            raise self.file.error(element, str(error)) from None

    def mass(self, geom, name, values):
        """Volume, centre (3,) and inertia about it per density (3, 3) of a mesh; with inertia "shell" its area in place
        of the volume. None where the mesh is not known."""
        found = self.surface(geom, name, values, whole=True)
        if found is None:
            return None
        element, given = self._given[name]
        kind = given.get("inertia", "exact" if self.attached.of(element).exact_meshes else "legacy")
        if kind not in INERTIAS:
            raise self.file.error(element, f"has inertia={kind!r}; known are {', '.join(INERTIAS)}")
        points, faces = found
        if kind == "convex":
            faces = self._hull(element, points)
        volume, centre, inertia = surface_mass(points[faces], kind)
        if not volume > 0:
            raise self.file.error(element, "encloses no volume: check its faces, or state inertia='shell'")
        return volume, centre, inertia
