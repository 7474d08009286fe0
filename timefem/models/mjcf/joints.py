"""Joints of MJCF bodies as joints of a tree, the motors and tendons on them, and equality constraints: joints that
follow others, and joints and formulas that tie links."""

from dataclasses import replace

import numpy as np

from ...mechanics.bodies import rotations
from ...mechanics.bodies.states import Pose
from ...mechanics.bodies.tree.links import Link, TreeJoint
from ...mechanics.bodies.tree.tree import Tree
from ...mechanics.forces.actuators import GeneralizedControl
from ...mechanics.joints.nonholonomic import Constraint
from ...mechanics.joints.pairs import Spherical, Weld
from ...records import frozen
from ..surfaces import about
from .elements import ELEMENTS, SERVO, WORLD, check_touching, replicated

KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating"}


@frozen
class PoseSpring:
    """A spring of a ball or free joint, which is not a property of a `TreeJoint`: parts of `Robot.forces`."""

    child: str
    parent: str | None
    stiffness: float
    place: np.ndarray | None
    turn: np.ndarray


class JointReader:
    """Collects the joints of a file.

    Attributes
    ----------
    joints : list of TreeJoint
    springs : list of PoseSpring
    time_constants : dict
        Joint -> (time constant [s], damping ratio), from which stiffness and damping follow.
    """

    def __init__(self, reader):
        self.reader, self.file = reader, reader.file
        self.joints, self.springs, self.time_constants = [], [], {}

    def chain(self, element, name, parent, own, place, turn):
        """The joints of a body, one after the other, with links without mass between them."""
        reader = self.reader
        joints = [(child, where) for child, where in own if child.tag in ("joint", "freejoint")]
        if not joints:
            self.joints.append(TreeJoint(f"{name} fixed", parent, name, "fixed", place, turn))
        for n, (joint, where) in enumerate(joints):
            last = n == len(joints) - 1
            title = reader.name(joint, where) or f"{name} joint" + f" {n + 1}" * (len(joints) > 1)
            if joint.tag == "freejoint":
                given = {"type": "free", **joint.attrib}
                reader.defaults.check(joint, {k: v for k, v in given.items() if k != "type"}, name=title)
            else:
                given = reader.defaults.complete(joint, where.inherited, name=title)
            kind = given.get("type", "hinge")
            if kind not in KINDS:
                raise self.file.error(joint, f"is of type {kind!r}; known are {', '.join(KINDS)}")
            values, anchor = self._values(joint, given, kind, title), np.zeros(3)
            if kind == "free":
                if parent != "world" or len(joints) > 1:
                    raise self.file.error(joint, "is free, which only the one joint of a body in the world can be")
                reader.start[title] = Pose(place, turn)
                at, frame = np.zeros(3), np.eye(3)
            else:
                anchor = where.place + where.turn @ reader.values(given, joint, "pos", 3, (0, 0, 0))
                at, frame = place + turn @ anchor, turn
                if kind != "ball":
                    values["axis"] = where.turn @ values["axis"]
            reference = values.pop("reference")
            if reference and kind == "hinge":
                frame = frame @ about(values["axis"], -reference)
            elif reference:
                at = at - frame @ values["axis"] * reference / np.linalg.norm(values["axis"])
            if reference:
                reader.start[title] = reference
            child = name if last and not np.any(anchor) else f"{name} at {title}"
            if kind in ("ball", "free") and values["stiffness"]:
                self.springs.append(PoseSpring(child, None if parent == "world" else parent, values.pop("stiffness"),
                                               place if kind == "free" else None, turn))
            self.joints.append(self.file.made(joint, TreeJoint, name=title, parent=parent, child=child,
                                              kind=KINDS[kind], position=at, orientation=frame, **values))
            if child != name:
                reader.links.append(Link(child))
            parent, place, turn = child, -anchor, np.eye(3)
            if last and child != name:
                self.joints.append(TreeJoint(f"{title} to {name}", child, name, "fixed", place, turn))

    def _values(self, element, given, kind, name):
        """Arguments of a `TreeJoint`, and the reference position."""
        values, settings, single = self.reader.values, self.reader.of(element), kind in ("hinge", "slide")
        angle = settings.angle if kind in ("hinge", "ball") else 1.0
        found = {ours: self._coefficient(element, given, theirs) for ours, theirs, switch in
                 (("damping", "damping", "damper"), ("friction", "frictionloss", "frictionloss"),
                  ("stiffness", "stiffness", "spring"), ("armature", "armature", "")) if switch not in settings.off}
        found = {"damping": 0.0, "friction": 0.0, "stiffness": 0.0, **found, "reference": 0.0}
        if single:
            found |= {"rest": angle * float(values(given, element, "springref", 1, (0,))[0]),
                      "reference": angle * float(values(given, element, "ref", 1, (0,))[0]),
                      "axis": values(given, element, "axis", 3, (0, 0, 1))}
            if not np.any(found["axis"]):
                raise self.file.error(element, "has an axis of length zero")
            pair = values(given, element, "springdamper", 2, (0, 0))
            if np.all(pair > 0):
                self.time_constants[name] = pair
        elif found["friction"]:
            self._left_out("frictionloss", name)
            found["friction"] = 0.0
        if not single and np.all(values(given, element, "springdamper", 2, (0, 0)) > 0):
            self._left_out("springdamper", name)
        limits = self._limits(element, given, kind, angle, name)
        return found | ({"limits": limits} if limits else {})

    def _left_out(self, attribute, name):
        self.reader.notes.append_named(f"{attribute} of <joint> {{}} is left out: hinges and slides have it here", name)

    def _coefficient(self, element, given, name):
        numbers = self.reader.values(given, element, name, None, (0,))
        if np.any(numbers[1:]):
            raise self.file.error(element, f"has {name} of a higher degree, which is not supported")
        return float(numbers[0])

    def _limits(self, element, given, kind, angle, name):
        limited, settings = given.get("limited", "auto"), self.reader.of(element)
        if kind == "free" or "range" not in given or limited == "false" or "limit" in settings.off \
                or (limited == "auto" and not settings.autolimits):
            return {}
        words, stated = given["range"].split(), given
        if len(words) == 2 and "inf" in given["range"]:  # on one side, or on none
            given = {"range": " ".join("0" if word.lstrip("+-") in ("inf", "infinity") else word for word in words)}
        low, high = (angle * self.reader.values(given, element, "range", 2)).tolist()
        finite = [word.lstrip("+-") not in ("inf", "infinity") for word in words]
        if low == high == 0 and all(finite) and limited == "auto":
            return {}
        if kind == "ball":
            self.reader.notes.append_named("range of <joint> {} is left out: the turns of balls have no limits here",
                                           name)
            return {}
        if self.reader.touching is not None:
            check_touching(self.reader.notes, "joint", stated, name)
        return {side: value for side, value, there in zip(("lower", "upper"), (low, high), finite) if there}

    def springs_of_time_constants(self):
        """Give joints the stiffness and damping that follow from time constants and their inertias at the start."""
        if not self.time_constants:
            return
        tree = Tree([Link("world"), *self.reader.links], [replace(joint, friction=0.0) for joint in self.joints])
        q, _ = tree.state(self.reader.start)
        inverse, off = np.diag(np.linalg.inv(tree.mass_matrix(q))), self.reader.settings.off
        for i, joint in enumerate(self.joints):
            if joint.name in self.time_constants:
                time, ratio = self.time_constants[joint.name]
                inertia = 1 / inverse[tree.joint(joint.name).dofs[0]]
                self.joints[i] = replace(joint, damping=0.0 if "damper" in off else 2 * inertia / time,
                                         stiffness=0.0 if "spring" in off else inertia / (time * ratio) ** 2)


# ---- Keyframes of an MJCF file

WIDTHS = {"revolute": (1, 1), "prismatic": (1, 1), "spherical": (4, 3), "floating": (7, 6)}  # of qpos and qvel


def keyframes(file, root, reader):
    """Name of a keyframe -> joint -> position and rate, of joints that follow no other one."""
    found, joints = {}, [joint for joint in reader.joints if joint.kind != "fixed"]
    for n, element in enumerate(root.iterfind("keyframe/key")):
        reader.notes.check(ELEMENTS["key"], "key", element.attrib, element.get("name", ""))
        pieces = []
        for i, name in enumerate(("qpos", "qvel")):
            stops = np.cumsum([WIDTHS[joint.kind][i] for joint in joints])
            if name in element.attrib:
                pieces.append(np.split(file.numbers(element, name, int(stops[-1]) if joints else 0), stops[:-1]))
            else:
                pieces.append([_at_rest(joint, reader.start.get(joint.name), i) for joint in joints])
        state = found[element.get("name") or f"key {n + 1}"] = {}
        for joint, x, v in zip(joints, *pieces, strict=True):
            if joint.kind in ("spherical", "floating"):
                x[-4:] /= np.linalg.norm(x[-4:]) or 1.0
            if joint.mimic is None:
                state[joint.name] = tuple(np.concatenate([x, v]).tolist())
    return found


def _at_rest(joint, start, i):
    if i:
        return np.zeros(WIDTHS[joint.kind][1])
    if joint.kind in ("revolute", "prismatic"):
        return np.array([start or 0.0])
    pose = Pose() if start is None else start
    return np.concatenate([pose.position, pose.quaternion][joint.kind == "spherical":])


# ---- Motors and fixed tendons of an MJCF file

PURE = (("biastype", "none"), ("gaintype", "fixed"), ("dyntype", "none"))


def fixed_tendons(file, root, reader):
    """Name -> joint -> its arm, of tendons whose length is `sum_i coef_i q_i`; notes on what others do."""
    found = {}
    for element in (e for table in root.iterfind("tendon") for e in table):
        if element.tag not in ("fixed", "spatial"):
            raise file.error(element, "is not supported; fixed and spatial tendons are")
        given = reader.defaults.complete(element, None)
        name = given.get("name")
        if element.tag == "fixed" and name:
            found[name] = {}
            for child in element.iterfind("joint"):
                found[name][file.text(child, "joint")] = file.number(child, "coef")
    return found


def read_actuators(file, root, reader, tree, tendons):
    """Actuators by name, and the ranges of their controls: two dicts."""
    found, ranges, kinds = {}, {}, {joint.name: joint.kind for joint in tree.joints}
    for n, element in enumerate(e for table in root.iterfind("actuator") for e in table):
        if "actuation" in reader.settings.off:
            continue
        whole = reader.defaults.complete(element, None, check=False)
        for given in replicated(whole, reader.copies):
            given["name"] = given.get("name") or f"actuator {n + 1}"
            joint = given.get("joint", given.get("jointinparent"))
            pulled = tendons.get(given.get("tendon"), {joint: 1.0})
            if not _pure(element, given) or any(kinds.get(name) not in ("revolute", "prismatic") for name in pulled):
                if joint is not None and joint not in kinds:
                    raise file.error(element, f"names the joint {joint!r}, which does not exist")
                of_tendon = f" of the tendon {given['tendon']}" if "tendon" in given else ""
                reader.notes.append_named(f"<{element.tag}> {{}} is left out: only motors of hinges, slides and fixed "
                                          "tendons of these act here", given["name"] + of_tendon)
                continue
            reader.defaults.check(element, given)
            gear = reader.values(given, element, "gear", None, (1,))[0]
            gain = reader.values(given, element, "gainprm", None, (1,))[0] if element.tag == "general" else 1.0
            found[given["name"]] = _motor(tree, joint, pulled, gear * gain, given["name"])
            limits = _ranges(element, given, reader, gain)
            if limits is not None:
                ranges[given["name"]] = limits
                reader.notes.append_named("the ranges of the controls {} are data (robot.control_ranges) and bound "
                                          "nothing: give them as bounds", given["name"])
    return found, ranges


def _pure(element, given):
    """Whether the force is a factor times the control."""
    if element.tag == "motor":
        return True
    return element.tag == "general" and given.get(SERVO, "motor") == "motor" and \
        all(given.get(key, none) == none for key, none in PURE)


def _motor(tree, joint, pulled, factor, name):
    moving = {body.joint.name: body for body in tree.moving}
    if joint is not None:
        return GeneralizedControl(tree.joint(joint), [[factor * moving[joint].factor]], name=name)
    column = np.zeros((tree.n_q, 1))
    for pulls, arm in pulled.items():
        column[moving[pulls].first] += factor * arm * moving[pulls].factor
    return GeneralizedControl(tree, column, name=name)


def _ranges(element, given, reader, gain):
    """Least and greatest control, of its own range and that of its force; None where there is neither."""
    low, high = -np.inf, np.inf
    for key, limited, factor in (("ctrlrange", "ctrllimited", 1.0), ("forcerange", "forcelimited", gain)):
        state, automatic = given.get(limited, "auto"), reader.of(element).autolimits
        if key not in given or state == "false" or (state == "auto" and not automatic) or not factor or \
                (key == "ctrlrange" and "clampctrl" in reader.settings.off):
            continue
        ends = np.sort(reader.values(given, element, key, 2) / factor)
        if np.any(ends):
            low, high = max(low, ends[0]), min(high, ends[1])
    return None if np.isinf([low, high]).all() else (float(low), float(high))


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
