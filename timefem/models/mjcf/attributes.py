"""Elements of MJCF and their attributes: which are read, and which have no effect on a motion here.

Attributes in neither list are reported by a note, unless they are neutral. The list follows the schema of MuJoCo 4.0.
"""

from ..robot import Attributes

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
