"""Rigid bodies and their joints as trees in joint coordinates, as far as they make open chains."""

from itertools import count

import numpy as np

from ....errors import InputError
from ...body_frame import BodyFrame, is_on_tree
from ...catalogue import acts_through, arguments, made, refers_in
from ...declared.declared import Declared
from ...joints.pairs import Prismatic, Revolute, Spherical, Universal, Weld
from ...part import Part
from ..rigid import RigidBodyBase
from .links import Link, TreeJoint
from .tree import Tree

GROUND = None
KINDS = {Revolute: "revolute", Prismatic: "prismatic", Universal: "universal", Spherical: "spherical",
         Weld: "fixed"}
FORWARD = "universal", "spherical"  # their coordinates do not tell how b moves against a


def in_joint_coordinates(parts):
    """The same system with trees for rigid bodies, and what stands for what.

    `Revolute`, `Prismatic`, `Universal`, `Spherical` joints and `Weld`s become joints of trees as they are met from the
    ground, or from a body that hangs on nothing (a free base). Those that close loops, joints of other kinds, and those
    whose forces others depend on, stay joints, between links. What acts on bodies and joints acts on links and joints
    of trees.

    Parameters
    ----------
    parts : list of Part

    Returns
    -------
    parts : list of Part
    stands_for : dict
        Body or joint -> link or joint of a tree; other parts -> those that stand for them.

    Raises
    ------
    InputError
        For parts that state no arguments, such as controllers: state these on `tree.joint(name)`.
    """
    brought = [member for part in parts if part.is_body for member in part.members if member not in parts]
    parts = [*parts, *brought]  # such as the rate of a state
    bodies = [part for part in parts if isinstance(part, RigidBodyBase)]
    own = set(bodies)  # not the nodes of beams
    seen = {joint for part in parts for joint in getattr(part, "reactions_of", ())}  # their forces have to be unknowns
    edges = [part for part in parts if type(part) in KINDS and part not in seen and own.issuperset(part.bodies)]
    names = {part: part.name or f"body{i}" for i, part in enumerate(bodies, 1)}
    names |= {part: part.name or f"joint{i}" for i, part in enumerate(edges, 1)}
    found, trees, used, placed, taken = {}, [], set(), set(), {part.name for part in parts}
    of_trees = (name for i in count(1) if (name := "tree" if i == 1 else f"tree {i}") not in taken)
    for root in (GROUND, *bodies):
        if root in placed:
            continue
        chain = _Chain(root, names)
        placed.add(root)
        grown = True
        while grown:
            grown = False
            for joint in edges:
                a, b = (*joint.bodies, GROUND)[:2]
                if joint in used or (a in chain.origin) == (b in chain.origin) or {a, b} & (placed - set(chain.origin)):
                    continue
                if chain.add(joint, a, b):
                    used.add(joint)
                    placed.update((a, b))
                    grown = True
        if root is GROUND and not chain.moves:  # bodies that are welded to space stay bodies
            used -= set(chain.by_joint)
        else:
            trees.append(tree := chain.tree(next(of_trees)))
            found |= chain.stand_ins(tree)
    others = [part for part in parts if part not in found and part not in used]
    moved = [part for part in others if isinstance(part, Part)]  # not beams and ropes, which have bodies of their own
    bringing = [(part, member) for part in moved if part.is_body for member in part.members if member is not part]
    for part, member in bringing:
        if any(body in found for body in member.bodies):
            found.setdefault(part, part.same_part())  # what refers to it finds the member that is moved
    for part in sorted(moved, key=lambda part: bool(_joints_of(part))):
        if part not in found and any(thing in found for thing in (*part.bodies, *_joints_of(part).values())):
            found[part] = _moved(part, found)
    for part, member in bringing:
        if part in found:
            vars(found[part]).update({name: found[member] for name, own in vars(part).items() if own is member})
    return [*trees, *(found.get(part, part) for part in others)], found


def move_to_trees(parts, stands_for):
    """What acts on bodies and joints that links and joints of trees stand for, on these: joins `stands_for`."""
    for part in parts:
        if part in stands_for or not (isinstance(part, Declared) and part.fields):
            continue
        if any(is_on_tree(stands_for.get(thing)) and not is_on_tree(thing)
               for thing in (*part.bodies, *_joints_of(part).values())):
            stands_for[part] = _moved(part, stands_for)


class _Chain:
    """A tree that grows: links stand at their joints, with the axes of their bodies."""

    def __init__(self, root, names):
        self.root, self.names = root, names
        self.origin = {root: np.zeros(3)}  # of each body, the centre of mass in the frame of its link
        self.joints, self.by_joint = [], {}

    def add(self, joint, a, b):
        """Take the body beyond a joint; False where the joint cannot be taken from its side."""
        kind, forward = KINDS[type(joint)], b in self.origin
        if kind in FORWARD and not forward:
            return False
        at_zero = {c.name: (0.0, 0.0) for c in joint.coordinates} or {"rotation": (np.eye(3), np.zeros(3))}
        turn, _, place, _ = joint.relative(at_zero)
        axis, across = np.array([0, 0, 1.0]), joint.axis_a if kind == "universal" else None
        if kind in ("revolute", "prismatic", "universal"):
            axis = joint.axis_b / np.linalg.norm(joint.axis_b)
        parent, child = (b, a) if forward else (a, b)
        if forward:
            position, orientation, centre, axis = joint.point_b + place, turn, -joint.point_a, turn.T @ axis
        else:
            position, orientation, centre, axis = joint.point_a, turn.T, -(joint.point_b + place), -axis
        self.origin[child] = centre
        self.joints.append(TreeJoint(self.names[joint], self._name(parent), self._name(child), kind,
                                     self.origin[parent] + position, orientation, axis, across=across,
                                     swapped=not forward))
        self.by_joint[joint] = self.names[joint]
        return True

    @property
    def moves(self):
        """Whether one of its joints does."""
        return any(joint.kind != "fixed" for joint in self.joints)

    def _name(self, body):
        return "ground" if body is GROUND else self.names[body]

    def tree(self, name):
        links = [Link(self._name(body), *((body.mass, centre, body.inertia) if body is not GROUND else ()),
                      shapes=_shapes(body, centre)) for body, centre in self.origin.items()]
        return Tree(links, self.joints, name=name, base="fixed" if self.root is GROUND else "free")

    def stand_ins(self, tree):
        return {body: tree.link(self.names[body], centre) for body, centre in self.origin.items()
                if body is not GROUND} | {joint: tree.joint(name) for joint, name in self.by_joint.items()
                                          if name in tree.moving_joints}


def _shapes(body, centre):
    if body is GROUND:
        return None  # which is not drawn
    if body.size is None:
        return ()
    return [{"shape": body.shape or "box", "size": body.size, "position": centre}]


def _joints_of(part):
    """The arguments of a part that are joints, those given."""
    return {name: joint for name, field in part.fields.items() if field.is_joint and (joint := getattr(part, name))}


def _moved(part, found):
    """The same part on what stands for its bodies and joints."""
    if not (isinstance(part, Declared) and part.fields):
        raise InputError(f"coordinates='joint': {part!r} is made of code, and cannot be moved to links and joints; "
                         "make a Tree, and let it act on tree.joint(name) or tree.link(name)")
    if part.n_controls == 0 and getattr(part, "acceleration", None) is not None:
        raise InputError("coordinates='joint': give the weight as System(gravity=...)")
    given = {name: part.fields[name].moved(getattr(part, name), lambda thing: _stand_in(thing, found))
             for name in refers_in(type(part))}
    own = {name: getattr(part, name) for name in arguments(part) if name not in given} | part.from_bodies
    bodies = () if acts_through(type(part)) else [found.get(body, body) for body in part.given_bodies]
    own = {part.fields[name].argument or name: value for name, value in {**own, **given, "name": part.name}.items()}
    return made(type(part), bodies, own, part.key)


def _stand_in(thing, found):
    """What stands for a body, a joint or an actuator."""
    if thing in found or isinstance(thing, BodyFrame):
        return found.get(thing, thing)
    found[thing] = _moved(thing, found)
    return found[thing]
