"""Rigid contacts of robots from files: shapes on planes, spheres on spheres, and stops of joints."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..mechanics.contacts.planes import EllipsoidContact, PlaneContact
from ..mechanics.contacts.spheres import SphereContact
from ..mechanics.forces.on_joints import EndStop, JointFriction

if TYPE_CHECKING:
    from ..mechanics.bodies.tree.tree import Tree
    from ..mechanics.declared.declared import Declared


@dataclass(frozen=True)
class Collider:
    """A shape that may touch others.

    Attributes
    ----------
    name, link : str
        Its own name, and that of its link.
    kind : {"sphere", "capsule", "cylinder", "box", "ellipsoid", "plane"}
    size : ndarray
        Radius; radius and half length along z; half edges or half axes.
    place, turn : ndarray, shape (3,) and (3, 3)
        In the frame of the link.
    friction, restitution : float
    around : int
        Points that stand for a rim of a cylinder.
    """

    name: str
    link: str
    kind: str
    size: np.ndarray
    place: np.ndarray
    turn: np.ndarray
    friction: float
    restitution: float = 0.0
    around: int = 8

    @property
    def points(self) -> np.ndarray:
        """Centres of spheres, or corners, in the frame of the link, shape (n, 3)."""
        if self.kind == "box":
            local = np.array(list(itertools.product((-1, 1), repeat=3))) * self.size
        elif self.kind == "capsule":
            local = np.array([[0, 0, -1.0], [0, 0, 1.0]]) * self.size[1]
        elif self.kind == "cylinder":
            angle = 2 * np.pi * np.arange(self.around) / self.around
            rim = np.stack([self.size[0] * np.cos(angle), self.size[0] * np.sin(angle), np.ones(self.around)], axis=1)
            local = np.concatenate([rim * (1, 1, -self.size[1]), rim * (1, 1, self.size[1])])
        else:
            local = np.zeros((1, 3))
        return self.place + local @ self.turn.T

    @property
    def radius(self) -> float:
        """Of the spheres around the points."""
        return float(self.size[0]) if self.kind in ("sphere", "capsule") else 0.0


def on_plane(tree: Tree, shape: Collider, plane: Collider) -> Declared:
    """Contact of a shape with a plane that is fixed in space (its link is "") or in a link."""
    body = tree.link(shape.link)
    laws: dict[str, Any] = {"name": f"{shape.name} on {plane.name}", "normal": plane.turn[:, 2],
                            "plane_point": plane.place, "friction": max(shape.friction, plane.friction),
                            "restitution": max(shape.restitution, plane.restitution)}
    if plane.link:
        laws["on"] = tree.link(plane.link)
    if shape.kind == "ellipsoid":
        return EllipsoidContact(body, half_axes=shape.size, centre=shape.place, orientation=shape.turn, **laws)
    return PlaneContact(body, points=shape.points, radius=shape.radius, **laws)


def of_spheres(tree: Tree, a: Collider, b: Collider) -> list[Declared]:
    """Contacts of the spheres of two shapes with each other; the second one may be in space (its link is "")."""
    bodies = [tree.link(x.link) if x.link else None for x in (a, b)]
    pairs = list(itertools.product(a.points, b.points))
    return [SphereContact(*bodies, radius_a=a.radius, radius_b=b.radius, point_a=x, point_b=y,
                          friction=max(a.friction, b.friction), restitution=max(a.restitution, b.restitution),
                          name=f"{a.name} on {b.name}" + f" {i}" * (len(pairs) > 1)) for i, (x, y) in enumerate(pairs)]


def stops(tree: Tree) -> list[Declared]:
    """Rigid stops of the joints of a tree that have limits, without restitution."""
    return [EndStop(tree.joint(joint.name), lowest=joint.limits.get("lower"), highest=joint.limits.get("upper"),
                    name=f"stops of {joint.name}")
            for joint in tree.joints if joint.name in tree.moving_joints and {"lower", "upper"} & joint.limits.keys()]


def rubbing(tree: Tree, friction: dict[str, float]) -> list[Declared]:
    """Set-valued friction of joints, by name."""
    return [JointFriction(tree.joint(name), friction=size, name=f"friction of {name}")
            for name, size in friction.items()]


def checked(contacts: str | None) -> str | None:
    """What readers take for `contacts`."""
    return None if contacts is None else validate.choice("contacts", contacts, ("rigid",))
