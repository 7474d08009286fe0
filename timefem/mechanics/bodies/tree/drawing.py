"""Pictures of trees: links in their shapes; those without as rods between joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...shapes import Piece, Stroke

if TYPE_CHECKING:
    from ...part import Body
    from .links import Link


def pieces(tree: Body, q: np.ndarray, p: np.ndarray) -> list[Piece]:
    """`Piece` of every link: its shape; else the place of its mass, with the size of a cuboid where it has no rods."""
    rates, found = tree.velocity(q, p), []
    for link in tree.links:
        shape = link.drawn
        if shape is None and not link.mass:
            continue
        body = tree.link(link.name, link.centre)
        shape = None if shape is None else shape.placed(-link.centre, np.eye(3))
        size = np.zeros(3) if shape is None and rods(tree, link) else link.drawn_size
        found.append(Piece(link.name, shape, size, *body.motion(q[:, body.dofs], rates[:, body.dofs])))
    return found


def strokes(tree: Body) -> list[Stroke]:
    """Rods of the links that have no shape, and the joints at their ends."""
    names = {link.name for link in tree.links if link.drawn is None}
    dots = [tree.link(j.child) for j in tree.joints
            if j.kind not in ("fixed", "floating") and names & {j.parent, j.child}]
    return [rod for link in tree.links for rod in rods(tree, link)] + \
        [Stroke("joint", ((dot, np.zeros(3)),)) for dot in dots]


def rods(tree: Body, link: Link) -> list[Stroke]:
    """From the frame of a link to the joints that it carries, or to its centre of mass, where it has no shape; to the
    middle of a shape that lies away from the frame, such as a foot; none where it is not drawn."""
    if link.shapes is None:
        return []
    start, shape = (tree.link(link.name), np.zeros(3)), link.drawn
    if shape is not None:
        low, high = shape.points.min(axis=0), shape.points.max(axis=0)
        away = np.any((low > 0) | (high < 0)) and any(j.child == link.name for j in tree.joints)
        return [Stroke("rod", (start, (start[0], (low + high) / 2)))] if away else []
    ends = [(tree.link(j.child), np.zeros(3)) for j in tree.joints if j.parent == link.name and np.any(j.position)]
    if not ends and link.mass and np.any(link.centre):
        ends = [(start[0], link.centre)]
    return [Stroke("rod", (start, end)) for end in ends]
