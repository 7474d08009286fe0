"""Attributes that classes of elements have where these do not state them."""

from .attributes import ELEMENTS

ORIENTATIONS = "quat", "axisangle", "euler", "xyaxes", "zaxis"
ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion",
             "orientation", "pid", "dcmotor", "plugin")
TABLES = {"fixed": "tendon", "spatial": "tendon", "connect": "equality", "weld": "equality",
          "equality joint": "equality", "equality tendon": "equality", **dict.fromkeys(ACTUATORS, "actuator")}
SERVO = "servo"  # key of defaults of actuators: the last shortcut, such as position, that a general one begins with


class Defaults:
    """The classes of a file; a completed element is checked against the tables of `attributes`."""

    def __init__(self, file, root, notes):
        self.file, self.notes, self.classes = file, notes, {"main": {}}
        for element in root.iterfind("default"):
            self._read(element, self.classes["main"], top=True)

    def _read(self, element, above, top=False):
        name = element.get("class", "main" if top else None)
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
            self.classes["main"] = own
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
        kind, of_class = kind or element.tag, element.get("class", inherited or "main")
        if of_class not in self.classes:
            raise self.file.error(element, f"is of the class {of_class!r}, which no <default> states")
        given = dict(self.classes[of_class].get(TABLES.get(kind, kind), {}))
        if any(key in element.attrib for key in ORIENTATIONS):
            given = {key: value for key, value in given.items() if key not in ORIENTATIONS}
        given |= element.attrib
        given.pop("class", None)
        if check:
            self.check(element, given, kind, name)
        return given

    def check(self, element, given, kind=None, name=""):
        """Note what is not read."""
        stated = {key: value for key, value in given.items() if key != SERVO}
        self.notes.check(ELEMENTS[kind or element.tag], element.tag, stated, given.get("name") or name)
