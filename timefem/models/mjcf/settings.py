"""What <compiler> and <option> of an MJCF file state."""

from dataclasses import dataclass

import numpy as np

from .attributes import ELEMENTS

GRAVITY = (0.0, 0.0, -9.81)
SWITCHES = {"equality": ("constraint", "equality"), "frictionloss": ("constraint", "frictionloss"),
            "limit": ("constraint", "limit"), "contact": ("constraint", "contact"), "spring": ("spring", "passive"),
            "damper": ("damper", "passive"), "gravity": ("gravity",), "actuation": ("actuation",)}


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
