"""The XML of OpenSim models: sets of objects, values in elements, and frames on bodies."""

import numpy as np

from ...errors import InputError
from ..surfaces import from_euler
from ..xml_file import XmlFile


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

    def objects_in(self, element, name):
        """What is in a list of an element."""
        found = element.find(name)
        return [] if found is None else list(found)

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
