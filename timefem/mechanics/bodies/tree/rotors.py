"""Parts that stand for others: of a system with other numbers, or whose trees carry the rotors of motors."""

from ...body_frame import is_on_tree, seen_by
from ...numbers.records import with_records


class StandIns(dict):
    """Part -> the one that stands for it; of links and joints of a tree those of the tree that stands for it."""

    def get(self, part, default=None):
        """What stands for a part."""
        if part in self:
            return self[part]
        return seen_by(part, self.__getitem__) if is_on_tree(part) and part.body in self else default


def geared(tree, rotors):
    """The tree with rotors of motors as inertia of its joints: pairs of the name of a joint and a motor."""
    other = tree.same_part()
    vars(other)["rotors"] = tuple(rotors)
    return other.changed({})


def with_rotors(parts):
    """The parts with the rotors of motors on joints of trees as inertia of these joints.

    Returns
    -------
    parts : list of Part
    stands_for : StandIns
    """
    rotors, changed = {part: [] for part in parts if hasattr(part, "rotors")}, StandIns()
    for part in parts:
        if getattr(part, "on_tree", False) and part.rotor_inertia and part.joint.body in rotors:  # a motor
            rotors[part.joint.body].append((part.joint.address[1], part))
    for tree, own in rotors.items():
        if len(own) != len(tree.rotors) or any(a is not b for (_, a), (_, b) in zip(own, tree.rotors, strict=True)):
            changed[tree] = geared(tree, own)
    if changed:
        changed.update(with_records(parts, changed))
    return [changed.get(part, part) for part in parts], changed
