"""Parts that stand for others: of a system with other numbers, or whose trees carry the rotors of motors."""



class StandIns(dict):
    """Part -> the one that stands for it; of links and joints of a tree those of the tree that stands for it."""

    def get(self, part, default=None):
        """What stands for a part."""
        if part in self:
            return self[part]
        carrier = getattr(part, "carrier", None)
        return self[carrier].carried(*part.called) if carrier is not None and carrier in self else default


def moved_parts(parts, changed):
    """Parts on bodies that others stand for, moved to these: their stand-ins join `changed`, a `StandIns`."""
    if not changed:
        return
    for body in {body for part in parts for body in part.bodies if body.carrier in changed}:
        changed[body] = changed.get(body)  # links and joints of trees
    for part in parts:
        now = changed.get(part, part)
        seen = (*now.bodies, *now.controls, *now.drives, *(s[0] for s in now.sources if not isinstance(s, str)))
        if any(changed.get(b, b) is not b for b in seen if b is not now):
            changed[part] = now.moved_to(lambda b: changed.get(b, b))


def with_rotors(parts):
    """The parts with the rotors of motors on joints of trees as inertia of these joints.

    The joint coordinate x turns the rotor by gear x: `1/2 J (gear dx/dt)^2` is that of an armature J gear^2.

    Returns
    -------
    parts : list of Part
    stands_for : StandIns
    """
    changed, armature = StandIns(), {}
    for part in parts:
        if getattr(part, "on_tree", False) and part.rotor_inertia:  # a motor
            tree, name = part.joint.carrier, part.joint.called[1]
            own = armature.setdefault(tree, {})
            own[name] = own.get(name, 0.0) + part.rotor_inertia * part.gear**2
            changed[part] = part.reflected()
    for tree, own in armature.items():
        joints = [joint.changed("armature", joint.armature + own.get(joint.name, 0.0)) for joint in tree.joints]
        changed[tree] = tree.changed({"joints": joints})
    moved_parts(parts, changed)
    return [changed.get(part, part) for part in parts], changed
