"""Elements of MJCF and their attributes: which are read, and which have no effect on a motion here.

Attributes in neither list are reported by a note, unless they are neutral. The list follows the schema of MuJoCo 4.0.
Elements of other models come in by `<attach>`, under names with a prefix.
"""

from __future__ import annotations

import os
from dataclasses import replace
from xml.etree.ElementTree import Element

from ..robot import Attributes, Notes, XmlFile

TURNED = "pos quat axisangle xyaxes zaxis euler"
SOLVER = "solref solimp solreflimit solimplimit solreffriction solimpfriction margin"
FORCES_OF_MOTORS = {"actuatorfrcrange": "0 0", "actuatorfrclimited": ("auto", "false")}

TENDON = Attributes(
    "name class", f"group user width material rgba springlength limited {SOLVER}",
    {"stiffness": ("0", "0 0 0"), "damping": ("0", "0 0 0"), "frictionloss": "0", "armature": "0", "range": "0 0",
     **FORCES_OF_MOTORS})
ACTUATOR = Attributes(
    "name class joint jointinparent tendon gear gainprm gaintype biastype dyntype ctrlrange ctrllimited forcerange "
    "forcelimited", "group user lengthrange biasprm dynprm actdim actrange actlimited actearly nsample interp "
    "kp kv dampratio timeconst inheritrange area diameter bias range force scale tausmooth gain",  # some of servos
    {"damping": ("0", "0 0 0"), "armature": "0", "delay": "0", "cranklength": "0"})

MAIN = "main"  # the class at the top
NAMES = frozenset(  # attributes that name something
    "name class childclass mesh material hfield texture target body body1 body2 joint joint1 joint2 jointinparent "
    "tendon tendon1 tendon2 site site1 site2 sidesite refsite cranksite slidersite geom geom1 geom2".split())

ELEMENTS = {
    "compiler": Attributes(
        "angle autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate fitaabb eulerseq "
        "meshdir assetdir inertiafromgeom inertiagrouprange exactmeshinertia",
        "texturedir discardvisual usethread fusestatic saveinertial conflict convexhull", {"alignfree": "false"}),
    "option": Attributes(
        "gravity density viscosity wind",
        "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance mpr_tolerance sleep_tolerance "
        "magnetic o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations "
        "noslip_iterations ccd_iterations mpr_iterations sdf_iterations sdf_initpoints apirate collision"),
    "flag": Attributes(
        "constraint equality frictionloss limit contact spring damper passive gravity actuation",
        "clampctrl warmstart filterparent refsafe sensor midphase eulerdamp autoreset nativeccd island multiccd "
        "override energy fwdinv invdiscrete sleep diagexact sensornoise"),
    "body": Attributes(f"name childclass gravcomp {TURNED}", "mocap sleep simple user"),
    "frame": Attributes(f"name childclass {TURNED}"),
    "replicate": Attributes("count offset euler sep childclass"),
    "inertial": Attributes(f"mass diaginertia fullinertia {TURNED}"),
    "joint": Attributes(
        "name class type pos axis ref springref springdamper stiffness damping armature frictionloss range limited",
        f"group user {SOLVER}", {"actuatorgravcomp": "false", **FORCES_OF_MOTORS}),
    "freejoint": Attributes("name", "group", {"align": ("auto", "false")}),
    "geom": Attributes(
        f"name class type size mass density shellinertia fromto mesh fitscale contype conaffinity group {TURNED}",
        "condim priority material friction solmix gap surfacevel adhesion hfield rgba fluidshape fluidcoef user "
        f"{SOLVER}"),
    "site": Attributes(f"name class {TURNED}", "type group material size fromto rgba user"),
    "mesh": Attributes(
        "name class file vertex face refpos refquat scale inertia",
        "content_type normal texcoord smoothnormal maxhullvert material", {"builtin": "none"}),
    "connect": Attributes("name class active body1 body2 anchor site1 site2", SOLVER),
    "weld": Attributes("name class active body1 body2 anchor relpose torquescale site1 site2", SOLVER),
    "equality joint": Attributes("name class active joint1 joint2 polycoef", SOLVER),
    "equality tendon": Attributes("name class active tendon1 tendon2 polycoef", SOLVER),
    "key": Attributes("name qpos qvel", "time act ctrl mpos mquat"),
    "fixed": TENDON, "spatial": TENDON, "motor": ACTUATOR, "general": ACTUATOR}

# What changes rigid contacts and stops alone, and is not read
NONE = tuple(" ".join(["0"] * n) for n in range(1, 7))
TOUCHING = {"geom": Attributes("", "", dict.fromkeys(("margin", "adhesion", "surfacevel"), NONE)),
            "joint": Attributes("", "", {"margin": NONE}), "option": Attributes("", "", {"collision": "all"}),
            "flag": Attributes("", "", {"override": "disable"})}


def check_touching(notes, tag, given, name=""):
    """Note what a file states that is read with rigid contacts, and that changes these."""
    attributes = TOUCHING[tag]
    notes.check(attributes, tag, {key: given[key] for key in attributes.neutral if key in given}, name)


# ---- what names things that <replicate> has copied is copied, too

def replicated(given, copies):
    """Attributes with the names of the copies, list of dict.

    Parameters
    ----------
    given : dict
    copies : dict
        Name -> what is added to it.
    """
    suffixes = next((copies[value] for key, value in given.items() if key != "name" and value in copies), None)
    if suffixes is None:
        return [given]
    found = []
    for suffix in suffixes:
        one = {key: value + suffix if value in copies and suffix in copies[value] and key != "name" else value
               for key, value in given.items()}
        found.append(one | ({"name": given["name"] + suffix} if given.get("name") else {}))
    return found


# ---- Attributes that classes of elements have where these do not state them

ORIENTATIONS = "quat", "axisangle", "euler", "xyaxes", "zaxis"
ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion",
             "orientation", "pid", "dcmotor", "plugin")
TABLES = {"fixed": "tendon", "spatial": "tendon", "connect": "equality", "weld": "equality",
          "equality joint": "equality", "equality tendon": "equality", **dict.fromkeys(ACTUATORS, "actuator")}
PARTIAL = "size", "friction", "gear", "gainprm"  # of which an element may state the first numbers, its class the others
SERVO = "servo"  # key of defaults of actuators: the last shortcut, such as position, that a general one begins with


class Defaults:
    """The classes of a file; a completed element is checked against the tables of `attributes`. Those in `attached`
    begin with a class of their own."""

    def __init__(self, file, root, notes, attached=()):
        self.file, self.notes, self.classes = file, notes, {MAIN: {}}
        for element in root.iterfind("default"):
            if element in attached:
                self._read(element, self.classes.get(element.get("class"), {}))
            else:
                self._read(element, self.classes[MAIN], top=True)

    def _read(self, element, above, top=False):
        name = element.get("class", MAIN if top else None)
        if name is None:
            raise self.file.error(element, "has no attribute 'class'")
        own = {tag: dict(given) for tag, given in above.items()}
        for child in element:
            if child.tag != "default":
                table = own.setdefault(TABLES.get(child.tag, child.tag), {})
                table |= child.attrib
                if child.tag in ACTUATORS and child.tag != "general":
                    table[SERVO] = child.tag
        self.classes[name] = own
        if top:
            self.classes[MAIN] = own
        for child in element.iterfind("default"):
            self._read(child, own)

    def complete(self, element, inherited, kind=None, name="", check=True):
        """Attributes of an element with those of its class, or of the class that bodies around it name.

        Parameters
        ----------
        element : Element
        inherited : str or None
        kind : str, optional
            Key of `ELEMENTS` where it is not the tag.
        name : str
            In notes, of an element without one.
        check : bool
            Whether to note what is not read.
        """
        kind, of_class = kind or element.tag, element.get("class", inherited or MAIN)
        if of_class not in self.classes:
            raise self.file.error(element, f"is of the class {of_class!r}, which no <default> states")
        given = dict(self.classes[of_class].get(TABLES.get(kind, kind), {}))
        if any(key in element.attrib for key in ORIENTATIONS):
            given = {key: value for key, value in given.items() if key not in ORIENTATIONS}
        further = {key: given[key].split()[len(element.attrib[key].split()):] for key in PARTIAL
                   if key in given and key in element.attrib}
        given |= element.attrib
        for key, words in further.items():
            given[key] = " ".join([given[key], *words])
        given.pop("class", None)
        if check:
            self.check(element, given, kind, name)
        return given

    def check(self, element, given, kind=None, name=""):
        """Note what is not read."""
        stated = {key: value for key, value in given.items() if key != SERVO}
        self.notes.check(ELEMENTS[kind or element.tag], element.tag, stated, given.get("name") or name)


WORLD = "world"
COPIED = "tendon", "equality", "actuator", "contact"  # sections whose elements come along with what they refer to
CLASSES = {"class", "childclass"}


class Attachments:
    """Puts the contents of attached models in their places, and tells what the files of these state of all in them.

    Attributes
    ----------
    settings : dict
        Element of an attached model -> `Settings` of its file.
    folders : dict
        Mesh of an attached model -> folder of its file, seen from that of the whole.
    classes : set of Element
        Each `<default>` at the top of an attached model, which inherits nothing from those of the whole.

    Parameters
    ----------
    file : XmlFile
    settings : Settings
        Of the whole.
    notes : Notes
    read : callable
        `read(file, notes)` -> root of a model with what it includes, and its `Settings`.
    """

    def __init__(self, file, settings, notes, read):
        self.file, self.notes, self.read, self._of_whole = file, notes, read, settings
        self.settings, self.folders, self.classes = {}, {}, set()
        self.folder = os.path.realpath(os.path.dirname(file.path) or ".")

    def of(self, element):
        """`Settings` that hold for an element."""
        return self.settings.get(element, self._of_whole)

    def resolve(self, file, root, above=()):
        """Put what is attached where a model has an `<attach>`."""
        models, above = {}, (*above, os.path.realpath(file.path))
        for element in root.iterfind("asset/model"):
            path = os.path.realpath(os.path.join(os.path.dirname(above[-1]), file.text(element, "file")))
            if os.path.commonpath([self.folder, path]) != self.folder:
                raise file.error(element, f"names {element.get('file')!r}, which is outside the folder of the file")
            models[element.get("name") or XmlFile(path).root.get("model")] = path
        for parent in [e for world in root.iterfind("worldbody") for e in world.iter()]:
            for place, child in enumerate(parent):
                if child.tag != "attach":
                    continue
                name = file.text(child, "model")
                if name not in models:
                    raise file.error(child, f"names the model {name!r}, which no <asset> states")
                if models[name] in above:
                    raise file.error(child, f"attaches the model {name!r} to itself")
                parent[place] = self._attached(file, root, child, models[name], above)

    def _attached(self, outer, root, element, path, above):
        """A frame with what is attached; classes, meshes, and what refers to it are added to `root`."""
        file, prefix, body = XmlFile(path), element.get("prefix", ""), element.get("body")
        model, own = self.read(file, Notes())
        self.resolve(file, model, above)
        outer.adopt(file)
        content = [child for world in model.iterfind("worldbody") for child in world]
        if body is not None:
            content = [e for top in content for e in top.iter("body") if e.get("name") == body][:1]
            if not content:
                raise outer.error(element, f"names the body {body!r}, which the model {element.get('model')!r} does "
                                           "not have")
        if model.find("keyframe/key") is not None:
            self.notes.add("keyframes of attached models are left out")
        referring = _referring(model, {e.get("name") for top in content for e in top.iter()}, body is None)
        at_top = [e for e in model.iterfind("default") if e not in self.classes] or [Element("default")]
        same, main = {e.get("class", MAIN) for e in at_top} | {MAIN}, prefix + MAIN
        own = replace(own, gravity=self._of_whole.gravity, total_mass=self._of_whole.total_mass,
                      off=self._of_whole.off)

        def take(top):
            for one in top.iter():
                self.settings.setdefault(one, own)
                for key in NAMES & one.attrib.keys():
                    value = one.get(key)
                    if key in CLASSES and value in same:
                        one.set(key, main)
                    elif not (key.startswith("body") and value == WORLD):
                        one.set(key, prefix + value)

        for default in [*at_top, *(e for e in model.iterfind("default") if e in self.classes)]:
            default.set("class", default.get("class", MAIN))
            take(default)
            self.classes.add(default)
            root.append(default)
        for mesh in model.iterfind("asset/mesh"):
            self._find(mesh, file, model)
            referring.append(("asset", mesh))
        for section, one in referring:
            one.set("class", one.get("class", MAIN))
            take(one)
            _section(root, section).append(one)
        frame = Element("frame", {"childclass": main})
        outer.same_line(frame, element)
        self.settings[frame] = own
        for top in content:
            take(top)
            frame.append(top)
        return frame

    def _find(self, mesh, file, model):
        """Give a mesh the name that it has without one, and know where its file is."""
        mesh.set("name", mesh.get("name", os.path.splitext(os.path.basename(mesh.get("file", "")))[0]))
        compiler = {k: v for element in model.iterfind("compiler") for k, v in element.attrib.items()}
        inner = compiler.get("meshdir", compiler.get("assetdir", ""))
        here = os.path.realpath(os.path.dirname(file.path) or ".")
        self.folders.setdefault(mesh, os.path.relpath(os.path.join(here, inner), self.folder))


def _referring(model, known, everything):
    """Elements of other sections that refer to nothing but what is attached, with their sections."""
    found, tendons = [], set()
    for section in COPIED:
        for one in [e for table in model.iterfind(section) for e in table]:
            names = {e.get(key) for e in one.iter() for key in (NAMES - CLASSES - {"name"}) & e.attrib.keys()} - {None}
            if everything or (names and names - {WORLD} <= known | tendons):
                found.append((section, one))
                if section == "tendon":
                    tendons.add(one.get("name"))
    return found


def _section(root, tag):
    found = root.find(tag)
    if found is None:
        found = Element(tag)
        root.append(found)
    return found
