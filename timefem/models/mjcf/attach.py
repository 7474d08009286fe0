"""`<attach>` of an MJCF file: bodies of another model, with what refers to them, under names with a prefix."""

from __future__ import annotations

import os
from dataclasses import replace
from xml.etree.ElementTree import Element

from ..robot import Notes
from ..xml_file import XmlFile
from .attributes import MAIN, NAMES

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
