"""Settings and defaults of MJCF files, and the files that they include."""

import os

import numpy as np

from .xml_file import XmlFile

MOST_FILES = 50
GRAVITY = (0.0, 0.0, -9.81)


def included(file, root):
    """Put the contents of included files in their places; only of the folder of the file, or folders in it."""
    folder, seen = os.path.realpath(os.path.dirname(file.path) or "."), {os.path.realpath(file.path)}

    def walk(element, reader):
        for place, child in reversed(list(enumerate(element))):
            if child.tag != "include":
                walk(child, reader)
                continue
            path = os.path.realpath(os.path.join(folder, reader.text(child, "file")))
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


def checked_settings(file, root, notes):
    """What <compiler> and <option> state, dict."""
    found = {"angle": np.pi / 180, "sequence": "xyz", "from shapes": "auto", "gravity": GRAVITY, "limited": True}
    for element in root.iterfind("compiler"):
        angle = element.get("angle", "degree")
        if angle not in ("degree", "radian"):
            raise file.error(element, f"has angle={angle!r}; known are degree and radian")
        if "angle" in element.attrib:
            found["angle"] = 1.0 if angle == "radian" else np.pi / 180
        found["sequence"] = element.get("eulerseq", found["sequence"])
        if len(found["sequence"]) != 3 or set(found["sequence"].lower()) - set("xyz"):
            raise file.error(element, f"has eulerseq={found['sequence']!r}, but three letters of xyzXYZ are needed")
        found["from shapes"] = element.get("inertiafromgeom", found["from shapes"])
        if found["from shapes"] not in ("auto", "true", "false"):
            raise file.error(element, f"has inertiafromgeom={found['from shapes']!r}; known are true, false and auto")
        if element.get("coordinate", "local") != "local":
            raise file.error(element, "has coordinate='global', which is not supported")
        for name in ("settotalmass", "boundmass", "boundinertia"):
            if file.number(element, name, 0.0) > 0:
                notes.append(f"<compiler {name}> is left out")
    for element in root.iterfind("option"):
        if "gravity" in element.attrib:
            found["gravity"] = tuple(file.numbers(element, "gravity", 3).tolist())
        if any(np.any(file.numbers(element, name, None, (0,))) for name in ("density", "viscosity", "wind")):
            notes.append("forces of the surrounding fluid are left out")
    return found


class Defaults:
    """Attributes that classes of elements have where these do not state them."""

    def __init__(self, file, root):
        self.file, self.classes = file, {"main": {}}
        for element in root.iterfind("default"):
            self._read(element, self.classes["main"], top=True)

    def _read(self, element, above, top=False):
        name = element.get("class", "main" if top else None)
        if name is None:
            raise self.file.error(element, "has no attribute 'class'")
        own = {tag: dict(given) for tag, given in above.items()}
        for child in element:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attrib)
        self.classes[name] = own
        if top:
            self.classes["main"] = own
        for child in element.iterfind("default"):
            self._read(child, own)

    def complete(self, element, inherited):
        """Attributes of an element with those of its class, or of the class that bodies around it name."""
        name = element.get("class", inherited or "main")
        if name not in self.classes:
            raise self.file.error(element, f"is of the class {name!r}, which no <default> states")
        given = {**self.classes[name].get(element.tag, {}), **element.attrib}
        given.pop("class", None)
        return given


