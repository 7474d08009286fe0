"""Equality constraints of an MJCF file: joints that follow others, and joints and formulas that tie links."""

import numpy as np

from ...mechanics.bodies import rotations
from ...mechanics.bodies.tree.links import TreeJoint
from ...mechanics.joints.nonholonomic import Constraint
from ...mechanics.joints.pairs import Spherical, Weld
from .bodies import WORLD
from .elements import replicated

BODIES = "connect", "weld"


class Equalities:
    """Reads them; joints that follow others are put into `reader.joints`.

    Attributes
    ----------
    parts : list of callable
        `part(tree)` is a part that ties links.
    """

    def __init__(self, file, root, reader, tendons):
        self.file, self.reader, self.tendons, self.parts = file, reader, tendons, []
        for element in (e for table in root.iterfind("equality") for e in table):
            if "equality" in reader.settings.off:
                continue
            kind = element.tag if element.tag in BODIES else f"equality {element.tag}"
            if kind not in (*BODIES, "equality joint", "equality tendon"):
                raise file.error(element, "is not supported; connect, weld, joint and tendon are")
            given = reader.defaults.complete(element, None, kind)
            if given.get("active") == "false":
                continue
            for one in replicated(given, reader.copies):
                if element.tag in BODIES:
                    self.parts.append(self._held(element, one))
                elif element.tag == "joint":
                    self._joint(element, one)
                else:
                    self._tendon(element, one)

    def _polynomial(self, element, given):
        return np.append(self.reader.values(given, element, "polycoef", None, (0, 1, 0, 0, 0)), np.zeros(5))[:5]

    def _reference(self, name):
        return self.reader.start.get(name, 0.0)

    def _known(self, element, names):
        """Numbers of joints by their names, which must be hinges or slides."""
        table = {joint.name: i for i, joint in enumerate(self.reader.joints)}
        for name in names:
            if name not in table:
                raise self.file.error(element, f"names the joint {name!r}, which does not exist")
            if self.reader.joints[table[name]].kind not in ("revolute", "prismatic"):
                raise self.file.error(element, "ties joints that are not hinges or slides")
        return table

    def _joint(self, element, given):
        first, second = given.get("joint1"), given.get("joint2")
        if first is None:
            raise self.file.error(element, "has no attribute 'joint1'")
        names = [first] if second is None else [first, second]
        table, polynomial = self._known(element, names), self._polynomial(element, given)
        joint, offset = self.reader.joints[table[first]], polynomial[0] + self._reference(first)
        if second is None or np.any(polynomial[2:]) or not polynomial[1] or joint.mimic is not None:
            arms = {first: 1.0}, {} if second is None else {second: 1.0}
            references = self._reference(first), 0.0 if second is None else self._reference(second)
            self.parts.append(self._relation(element, given, arms, references, polynomial))
            return
        mimic = second, polynomial[1], offset - polynomial[1] * self._reference(second)
        self.reader.joints[table[first]] = self.file.made(element, TreeJoint, **{**vars(joint), "mimic": mimic})
        self.reader.start.pop(first, None)

    def _tendon(self, element, given):
        arms = []
        for key in ("tendon1", "tendon2"):
            name = given.get(key)
            if name is None:
                arms.append({})
                continue
            if name not in self.tendons:
                raise self.file.error(element, f"names the tendon {name!r}, which is not a fixed tendon")
            arms.append(self.tendons[name])
            self._known(element, arms[-1])
        references = [sum(arm * self._reference(name) for name, arm in one.items()) for one in arms]
        self.parts.append(self._relation(element, given, arms, references, self._polynomial(element, given)))

    def _relation(self, element, given, arms, references, polynomial):
        """`L1 - R1 = a0 + a1 (L2 - R2) + ...` of lengths that are sums of joints times arms."""
        polynomial = polynomial if arms[1] else [polynomial[0]]

        def make(tree):
            moving = {body.joint.name: body for body in tree.moving}

            def length(arms, reference):
                terms, constant = [], -reference
                for name, arm in arms.items():
                    body = moving[name]
                    terms.append(f"{arm * body.factor!r} * f[0].q[{body.first}]")
                    constant += arm * body.offset
                return " + ".join([*terms, repr(float(constant))])

            other, power = f"({length(arms[1], references[1])})", ""
            text = f"{length(arms[0], references[0])}"
            for coefficient in polynomial:
                text += f" - ({float(coefficient)!r}){power}" if coefficient else ""
                power += f" * {other}"
            return self.file.made(element, Constraint, tree, text, 1, name=given.get("name"))

        return make

    def _held(self, element, given):
        """A function of the tree that makes a joint between two bodies."""
        sites = [given[key] for key in ("site1", "site2") if key in given]
        names, points, turns = self._by_sites(element, sites) if sites else self._by_bodies(element, given)
        ball = element.tag == "connect" or not self.reader.values(given, element, "torquescale", 1, (1,))[0]
        if names[0] == names[1]:
            raise self.file.error(element, f"ties {names[0]} to itself")
        if names[0] == WORLD:  # the ground is the second body
            names, points, turns = names[::-1], points[::-1], turns[::-1]
        more = {} if ball else {"orientation": turns[1] @ turns[0].T}

        def make(tree):
            b = None if names[1] == WORLD else tree.link(names[1])
            return self.file.made(element, Spherical if ball else Weld, tree.link(names[0]), b, point_a=points[0],
                                  point_b=points[1], name=given.get("name"), **more)

        return make

    def _by_sites(self, element, sites):
        if len(sites) != 2:
            raise self.file.error(element, "needs both site1 and site2")
        for name in sites:
            if name not in self.reader.sites:
                raise self.file.error(element, f"names the site {name!r}, which does not exist")
        names, points, turns = zip(*(self.reader.sites[name] for name in sites))
        return list(names), list(points), list(turns)

    def _by_bodies(self, element, given):
        """Bodies, points in them and axes in them that come together."""
        if "body1" not in given:
            raise self.file.error(element, "has no attribute 'body1'")
        names = [given["body1"], given.get("body2", WORLD)]
        for name in names:
            if name not in self.reader.poses:
                raise self.file.error(element, f"names the body {name!r}, which does not exist")
        (x, r), (y, s) = (self.reader.poses[name] for name in names)
        values = self.reader.values
        if element.tag == "connect":
            anchor = values(given, element, "anchor", 3)
            return names, [anchor, s.T @ (x + r @ anchor - y)], [np.eye(3), np.eye(3)]
        pose, anchor = values(given, element, "relpose", 7, (0, 1, 0, 0, 0, 0, 0)), values(given, element, "anchor", 3,
                                                                                            (0, 0, 0))
        if np.any(pose[3:]):  # MuJoCo then brings the anchor to the place of relpose, not the origin of the body
            turn = rotations.matrix_from_quaternion(pose[3:] / np.linalg.norm(pose[3:]))
            return names, [pose[:3], anchor], [turn, np.eye(3)]
        return names, [r.T @ (y + s @ anchor - x), anchor], [r.T @ s, np.eye(3)]
