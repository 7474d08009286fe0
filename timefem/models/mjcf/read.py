"""Robots from MJCF files, the format of MuJoCo. Files they include are read where they are in the same folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...argument_names import named_arguments
from ...errors import InputError
from ...mechanics.bodies.tree.links import Link, TreeJoint
from ...mechanics.bodies.tree.tree import Tree
from ...mechanics.forces.springs import RotationalSpring, Spring
from ...types import FilePath
from ..robot import Notes, Robot, checked, limits_note, rubbing, stops
from ..xml_file import XmlFile
from .actuators import fixed_tendons, read_actuators
from .assets import Assets
from .bodies import WORLD, BodyReader
from .defaults import Defaults
from .equalities import Equalities
from .included import included
from .settings import read_settings
from .touching import Touching

SECTIONS = ("size", "statistic", "visual", "asset", "custom", "sensor", "keyframe", "option", "compiler", "default",
            "worldbody", "equality", "actuator", "contact", "tendon", "deformable", "extension")


@named_arguments
def read_mjcf(path: FilePath, friction_width: float | None = None, meshes: FilePath | None = None,
              contacts: str | None = None) -> Robot:
    """Read a robot from an MJCF file.

    Bodies, joints of type hinge, slide, ball and free, inertias as given or of shapes, defaults and their classes;
    damping, friction, springs, `armature`, `gravcomp`, ranges (as data); what <compiler> does to masses and inertias;
    equality constraints (connect, weld, joint, and tendon of fixed ones), which hold exactly here; motors of joints and
    of fixed tendons, as actuators whose controls are zero unless a problem finds them; frames and replicas.
    Positions of joints are those of MuJoCo's qpos. Contacts, springs of tendons and the like are left out, and each
    attribute that would change a motion and is not read; `notes` say so by name. Sensors, pictures, contacts and
    numerical settings do not concern the motion: nothing in them stops a file from being read.

    With `contacts="rigid"` limits of joints are stops, their friction is dry unless there is a `friction_width`, and
    spheres, capsules, boxes (their corners), ellipsoids and cylinders (eight points of each rim) touch planes, and
    spheres each other, as contype, conaffinity and <exclude> say, with the first number of their friction; other pairs
    are left out, and `notes` say which.

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
    notes = Notes()
    _check_sections(file, root, notes)
    settings = read_settings(file, root, notes)
    defaults = Defaults(file, root, notes)
    touching = Touching(file, root) if checked(contacts) else None
    assets = Assets(file, root, defaults, meshes, settings.exact_meshes)
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
                 tuple(_springs(tree, reader.springs)), ranges, found)


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
