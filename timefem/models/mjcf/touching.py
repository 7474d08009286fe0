"""Shapes of MJCF bodies that touch others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from ..robot import Collider, of_spheres, on_plane

if TYPE_CHECKING:
    from ...mechanics.bodies.tree.tree import Tree
    from ...mechanics.declared.declared import Declared
    from ..xml_file import XmlFile
    from .bodies import BodyReader, Where

WORLD = "world"
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

    def add(self, reader: BodyReader, element: Element, body: str, where: Where) -> None:
        """Take a shape of a body, if it can touch anything."""
        given, kind = reader.geoms.given(element, where, body)
        masks = [int(float(reader.values(given, element, key, 1, (1,))[0])) for key in ("contype", "conaffinity")]
        if not any(masks):
            return
        friction = float(reader.values(given, element, "friction", None, (1.0,))[0])
        name = reader.name(element, where) or f"shape {len(self.shapes) + 1} of {body}"
        solid = reader.geoms.solid(element, given, kind) if kind in TOUCH_PLANES else \
            (*reader.frame(given, element), np.zeros(0)) if kind == "plane" else None
        if solid is None:
            reader.notes.append_named("{} does not touch anything: it is not a plane, sphere, capsule, cylinder, box "
                                      "or ellipsoid", name)
            return
        place, turn, size = solid
        self.shapes.append((Collider(name, body, kind, size, where.place + where.turn @ place, where.turn @ turn,
                                     friction), masks[0], masks[1]))

    def parts(self, reader: BodyReader, tree: Tree) -> list[Declared]:
        """The contacts, as parts."""
        parents = {joint.child: joint.parent for joint in tree.joints}

        def above(link):  # the body that carries it, without links that the reader puts between joints
            link = parents.get(link)
            while link is not None and link not in reader.poses:
                link = parents.get(link)
            return link

        found: list[Declared] = []
        left: list[Any] = [*self.pairs]
        for (a, *of_a), (b, *of_b) in itertools.combinations(self.shapes, 2):
            if not (of_a[0] & of_b[1] or of_b[0] & of_a[1]) or a.link == b.link or \
                    frozenset((a.link, b.link)) in self.excluded:
                continue
            still = [shape.link == WORLD or not tree.link(shape.link).n_q for shape in (a, b)]
            if all(still) or (not any(still) and (above(a.link) == b.link or above(b.link) == a.link)):
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
                    shape.friction, shape.restitution)
