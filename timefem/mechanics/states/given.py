"""The states that a user gave, of all bodies, as coordinates and momenta; poses relative to other bodies; states of
joints and links inside of the trees of a system, by name."""

from collections import Counter
from typing import TypeAlias

import numpy as np

from ... import validate
from ...errors import InputError
from ...types import States
from ..bodies.rotations import matrix_from_quaternion
from ..bodies.states import CanonicalState, Coordinates, Pose
from ..body_frame import is_on_tree
from ..parts import frame_named, is_joint

GivenStates: TypeAlias = States | Coordinates | CanonicalState | np.ndarray  # of all bodies, or of the only one


def states_of(system, z):
    """Dict body -> `CanonicalState` of a whole state z = (q, p)."""
    return {body: CanonicalState(*system.local_state(body, z)) for body in system.bodies}


def plain_state(state):
    """A given state, of an `Equilibrium` and others that have a `state` the dict of that."""
    return state.state if isinstance(getattr(type(state), "state", None), property) else state


def canonical_states(system, state, t, approximate=False):
    """The states that a user gave, with a `CanonicalState` for each body without a position, such as a
    `GeneralizedBody`, and for all of a whole state z; see `InitialValueProblem`. Coordinates of joints that are
    `approximate` need not close loops.

    Raises
    ------
    InputError
        As `GeneralizedBody.state`; when a `GeneralizedBody` is left out, for it has no reference position.
    """
    if isinstance(state, np.ndarray):
        return states_of(system, validate.array("state", state, (system.n_z,)))
    state = plain_state(state)
    asked, state = state, resolved_states(system, state)
    generalized = [body for body in system.bodies if not (body.has_position or body.helper)]
    if isinstance(state, Coordinates | CanonicalState) and len(system.bodies) == 1:
        state = {system.bodies[0]: state}
    if not isinstance(state, dict):
        return state
    if isinstance(asked, dict) and any(follows_from_joints(system, key) for key in asked):
        return system.state(state, t=t, approximate=approximate)
    state = {system.find(body): value for body, value in state.items()}
    state = {body: body.of_coordinates(value) if isinstance(value, Coordinates) and body.has_position else value
             for body, value in state.items()}
    for body in generalized:
        value = state.get(body, body.reference)
        if body not in state and isinstance(value, Pose):
            form = "Coordinates(q, v)" if not body.first_order else "a number" if body.n_q == 1 else "a list of numbers"
            raise InputError(f"state of {system.label(body)} is missing: give it as {form}")
        state[body] = CanonicalState(*body.state(value, t))
    return state


def follows_from_joints(system, key):
    """Whether all bodies follow from the coordinates of joints where this is among them: a joint between bodies, or one
    of a tree, of which others close loops."""
    return is_joint(system, key) or (tree_joint(system, key) is not None and any(
        part.constraint_names and not part.is_body for part in system.parts))


def joint_meant(system, key):
    """The joint that a key of targets stands for, on a tree or between bodies; None for a body."""
    if is_joint(system, key):
        return system.here(system[key] if isinstance(key, str) else key)
    return tree_joint(system, key)


def apart_from_joints(system, targets):
    """Bodies that nothing holds to the ground, nor to what joints among the targets hold: their ends are their own."""
    joints = [part for part in system.parts if part.constraint_names and not part.is_body]
    links = [_bodies_of(part) for part in joints]
    for body in system.bodies:  # nodes of a beam
        if body.owner is not None:
            links.append({body} | {other for other in system.bodies if other.owner is body.owner})
    given = [joint for key in targets if (joint := joint_meant(system, key)) is not None]
    held = {body for body in system.bodies if getattr(body, "base", None) == "fixed"}.union(
        *(_bodies_of(part) for part in joints if len(part.bodies) == 1),
        *({joint.body} if is_on_tree(joint) else _bodies_of(joint) for joint in given))
    while more := {body for link in links if link & held for body in link} - held:
        held |= more
    return [body for body in system.bodies if not (body in held or body.helper)]


def _bodies_of(part):
    """The bodies whose coordinates the frames have that a part acts on."""
    return {one.body for frame in part.bodies for one in frame.frames}


def states_at_zero(system, given):
    """Zeros for states of first order that are not among given states, where a search begins: body -> `Coordinates`."""
    known = {system.find(key) for key in given if joint_meant(system, key) is None}
    return {body: Coordinates(np.zeros(body.n_q)) for body in system.bodies
            if len(body.first_order) == body.n_q and not (body in known or body.helper)}


def given_states(system, state):
    """The states that a user gave: dict body -> (what was given, `CanonicalState`), for all bodies in order.

    Raises
    ------
    InputError
        For an unknown body, a wrong length or type.
    """
    if not isinstance(state, dict):
        raise InputError(f"state must be a dict from body to Pose, or a whole state (q, p) such as solution.z[-1], "
                         f"not {state!r}")
    values = {system.find(body): value for body, value in state.items()}
    given = {}
    for body in system.bodies:
        value = values.get(body, body.reference)
        if isinstance(value, Pose):
            value = in_space(system, body, values)
            given[body] = value, None if body.helper else CanonicalState(*body.state(value))
        elif not isinstance(value, CanonicalState):
            raise InputError(f"state of {system.label(body)} must be a Pose, Coordinates or CanonicalState, "
                             f"not {value!r}")
        elif len(value.q) != body.n_q:
            raise InputError(f"state of {system.label(body)}: q and p must have length {body.n_q}, not {len(value.q)}")
        else:
            given[body] = value, value
    found = with_followers({body: state for body, (_, state) in given.items() if state is not None}, system)
    return {body: (value if state is not None else found[body], found[body]) for body, (value, state) in given.items()}


def with_followers(states, system):
    """The same with the states of bodies that start where others put them: dict body -> `CanonicalState`."""
    for body in system.bodies:
        if body not in states:
            known = {other: (s.q, s.p) for other, s in states.items()}
            # followers name the bodies that they were made of, for which others may stand
            known |= {old: known[new] for old, new in system.stands_for.items() if new in known}
            states[body] = CanonicalState(*body.start(known, system.__getitem__))
    return {body: states[body] for body in system.bodies}


def in_space(system, body, values, asked=()):
    """The `Pose` of a body in space, from one that may be relative to another body.

    With the pose (x, R, v, omega) of the other body `x + R r`, `R R_r`, `v + omega x R r + R v_r`, `omega + R omega_r`.

    Parameters
    ----------
    values : dict
        Body -> what was given.
    asked : tuple
        Bodies whose poses wait for this one.

    Raises
    ------
    InputError
        For poses that are relative to each other.
    """
    if is_on_tree(body) and body not in values:
        q, p = body.body.state(values.get(body.body, body.body.reference))
        motion = body.motion(q[body.dofs], body.body.velocity(q, p)[body.dofs])
        return Pose(motion[0], motion[2], motion[1], motion[3], "space")
    value = values.get(body, body.reference)
    if not isinstance(value, Pose):
        return Pose(body.position(value.q), body.orientation(value.q) if body.has_orientation else (1, 0, 0, 0),
                    body.velocity(value.q, value.p),
                    body.angular_velocity(value.q, value.p) if body.has_orientation else (0, 0, 0))
    if value.relative_to is None:
        return value
    if body in asked:
        raise InputError(f"state of {system.label(body)}: its pose is relative to itself, through "
                         f"{', '.join(map(system.label, asked))}; give one of them in space")
    other = in_space(system, system.find(value.relative_to), values, (*asked, body))
    turn, spin = matrix_from_quaternion(other.quaternion), other.angular_velocity_in("space")
    arm = turn @ value.position
    place, velocity = other.position + arm, other.velocity + np.cross(spin, arm) + turn @ value.velocity
    if not body.has_orientation:
        return Pose(place, value.quaternion, velocity, value.angular_velocity)  # of which a point mass has none
    return Pose(place, turn @ matrix_from_quaternion(value.quaternion), velocity,
                spin + turn @ value.angular_velocity_in("space"), "space")


# ---- Coordinates of the joints of a tree from the poses of its links

FITS = 1e-8  # how far poses may be from what joints allow, relative to their size


def joints_of_poses(system, tree, poses, given):
    """States of joints that put links where they are to be: name -> position and rate, or a `Pose`.

    From the ground outwards: the frame of a joint stands in that of its parent at `R_p turn`, `x_p + R_p place`, and
    what the child does in it are the coordinates of the joint.

    Parameters
    ----------
    system : System
    tree : Tree
    poses : dict
        Link -> `Pose` in space.
    given : dict
        Name of a joint -> its state, of joints that are given besides; others, of links without a pose, are at zero.

    Raises
    ------
    InputError
        For a link that no state of its joints puts there; names it, and the joint.
    """
    frames, found = {}, dict(given)
    for link, pose in poses.items():
        frames[link.number] = _frame_under(tree, link, *_asked(pose))
    for number, body in enumerate(tree.moving):
        if number in frames and body.joint.mimic is None and body.joint.name not in found:
            parent = frames.get(body.parent) or _frame(tree, body.parent, found)
            there = frames[number].seen_from(parent.carrying(body.turn, body.place))
            found[body.joint.name] = _coordinates(body, there)
    for link, pose in poses.items():
        _check(system, tree, link, pose, found)
    return found


def with_link_at(link, pose, joints):
    """States of the joints of a tree that floats, by name, with the base where it puts a link at a `Pose`."""
    tree = link.body
    base = tree.moving[0]
    x, v, r, omega = _motion(tree, link, joints)
    seen = _frame(tree, 0, joints).seen_from(_Frame(x, r, v, omega))
    x, v, r, omega = _asked(pose)
    there = _Frame(x, r, v, omega).carrying(seen.turn, seen.place, seen.velocity, seen.spin)
    ground = _frame(tree, -1, joints).carrying(base.turn, base.place)
    return joints | {base.joint.name: _coordinates(base, there.seen_from(ground))}


class _Frame:
    """Place, rotation matrix, and velocity and angular velocity in space."""

    def __init__(self, place, turn, velocity, spin):
        self.place, self.turn, self.velocity, self.spin = place, turn, velocity, spin

    def carrying(self, turn, place, velocity=0.0, spin=0.0):
        """A frame that this one carries, which moves in it."""
        arm = self.turn @ place
        return _Frame(self.place + arm, self.turn @ turn,
                      self.velocity + np.cross(self.spin, arm) + self.turn @ np.broadcast_to(velocity, 3),
                      self.spin + self.turn @ np.broadcast_to(spin, 3))

    def seen_from(self, other):
        """The same in the axes of another frame, relative to it."""
        arm = self.place - other.place
        return _Frame(*(other.turn.T @ x for x in (
            arm, self.turn, self.velocity - other.velocity - np.cross(other.spin, arm), self.spin - other.spin)))


def _asked(pose):
    """Position, velocity, rotation matrix and angular velocity in space, as `TreeLink.motion`."""
    return pose.position, pose.velocity, matrix_from_quaternion(pose.quaternion), pose.angular_velocity_in("space")


def _frame_under(tree, link, x, v, r, omega):
    """The frame of the moving body that a link sits on, by the motion of the link."""
    _, turn, place = tree._sits[link.address[1]]
    arm = r @ (turn.T @ place + np.array(link.address[2]))
    return _Frame(x - arm, r @ turn.T, v - np.cross(omega, arm), omega)


def _frame(tree, number, joints):
    """The frame of a moving body by the states of joints."""
    if number < 0:
        return _Frame(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))
    link = next(link for link in (tree.link(one.name) for one in tree.links) if link.number == number)
    return _frame_under(tree, link, *_motion(tree, link, joints))


def _motion(tree, link, joints):
    q, p = tree.state(joints)
    return link.motion(q[link.dofs], tree.velocity(q, p)[link.dofs])


def _coordinates(body, there):
    """State of a joint whose child is there in its frame."""
    kind = body.joint.kind
    angle = float(np.arctan2(there.turn[1, 0] - there.turn[0, 1], there.turn[0, 0] + there.turn[1, 1]))
    if kind == "revolute":
        return angle, there.spin[2]
    if kind == "prismatic":
        return there.place[2], there.velocity[2]
    if kind == "universal":
        across = np.array([*there.turn[:2, 0], 0.0])
        return (float(np.arctan2(*across[1::-1])), float(np.arctan2(*there.turn[2, 1:]))), (there.spin[2],
                                                                                            across @ there.spin)
    if kind == "planar":
        return (*there.place[:2], angle), (*there.velocity[:2], there.spin[2])
    place, velocity = (there.place, there.velocity) if kind == "floating" else (np.zeros(3), np.zeros(3))
    return Pose(place, there.turn, velocity, there.spin, "space")


def _check(system, tree, link, pose, joints):
    names = "position", "velocity", "orientation", "angular velocity"
    for what, there, asked in zip(names, _motion(tree, link, joints), _asked(pose), strict=True):
        off = float(np.abs(there - asked).max())
        if not off <= FITS * max(1.0, np.abs(asked).max()):
            joint = f"joint {tree.moving[link.number].joint.name!r}" if link.number >= 0 else "ground"
            raise InputError(f"state of {system.label(link)}: its {what} is {off:.3g} off what its {joint} allows; "
                             "correct it, or give the coordinates of joints")


# ---- Joints inside of the trees of a system, by name

def joints_of_trees(system):
    """Name -> joint of a tree that moves; "elbow", or "arm.elbow" where others are called "elbow", too."""
    found = [(tree, name) for tree in system.bodies for name in getattr(tree, "moving_joints", ())]
    taken = Counter([name for _, name in found] + [system.label(part) for part in system.parts])
    return {name if taken[name] == 1 else f"{system.label(tree)}.{name}": tree.joint(name) for tree, name in found}


def joint_names(system):
    """Labels of the joints of a system that hold bodies, and have forces; in the order of its parts."""
    return [system.label(part) for part in (system.complete or system).parts
            if part.table == "joints" and not part.is_body and hasattr(part.whole, "point_a")]


def names_of_joints(system):
    """Of these, and of the joints of trees that move and have coordinates with names."""
    return joint_names(system) + [name for name, joint in joints_of_trees(system).items() if joint.coordinates]


def tree_joint(system, key):
    """The joint of a tree that is meant: by itself, "elbow", or "arm.elbow"; None where there is none."""
    if not isinstance(key, str):
        key = system.here(key)
        return key if is_on_tree(key) and key.address[0] == "joint" else None
    short = joints_of_trees(system)
    full = {f"{system.label(joint.body)}.{joint.address[1]}": joint for joint in short.values()}
    return short.get(key) or (None if key in map(system.label, system.parts) else full.get(key))


def names_joints(system, states):
    """Whether coordinates of joints are among states by body or joint."""
    return isinstance(states, dict) and any(joint_meant(system, key) is not None for key in states)


def resolved_states(system, states):
    """States by body, from those by body, joint of a tree or composite part: of the latter a list, or a function of the
    place."""
    if not isinstance(states, dict):
        return states
    states = with_joints_of_trees(system, states)
    composites = {name: part for part in system.composites for name in (part, system.label(part))}
    return {body: value for key, given in states.items()
            for body, value in (composites[key].states(given) if key in composites else {key: given}).items()}


def with_joints_of_trees(system, states):
    """States by body, with those of joints of trees put into a dict of their tree."""
    found, of_trees, of_links = {}, {}, {}
    turning = joints_that_turn(system)
    for key, value in states.items():
        joint = tree_joint(system, key)
        link = None if joint is not None else _link(system, key)
        if link is not None:
            if not isinstance(value, Pose):
                raise InputError(f"state of {system.label(link)}: it hangs on joints; give a Pose, or states of these")
            of_links.setdefault(link.body, {})[link] = value
        elif joint is None:
            found[key if isinstance(key, str) else system.here(key)] = value
        else:
            own = turned(joint.address[1], value) if joint in turning else value
            of_trees.setdefault(joint.body, {})[joint.address[1]] = own
    placed = {link: pose for poses in of_links.values() for link, pose in poses.items()}
    for tree, poses in of_links.items():
        if any(pose.relative_to is not None for pose in poses.values()):
            known = placed | {system.find(key): value for key, value in found.items()}
            poses = {link: in_space(system, link, known) for link in poses}
        of_trees[tree] = joints_of_poses(system, tree, poses, of_trees.get(tree, {}))
    for tree, own in of_trees.items():
        key = next((key for key in found if key in (tree, system.label(tree))), tree)
        if isinstance(found.get(key, own), dict):
            found[key] = found.get(key, {}) | own
        else:
            raise InputError(f"state of {system.label(tree)} is given, and that of its joint {next(iter(own))!r} as "
                             "well; give a dict of joints")
    return found


def joints_that_turn(system):
    """The joints of trees that stand for those of a user which leave all rotation free."""
    return {joint for part, joint in system.stands_for.items() if part.free_rotation}


def _link(system, key):
    """The link of a tree that is meant, by itself, by the body that it stands for, or by the name of one; or None."""
    own = frame_named(system, key) if isinstance(key, str) else system.here(key)
    return own if is_on_tree(own) and own.address[0] == "link" else None


def by_joints_of_trees(system, states, keys):
    """Those states in dicts of trees whose joints are among the keys, by joint: loops are closed from states of joints.
    """
    joints = {joint for key in keys if (joint := tree_joint(system, key)) is not None}
    return {joint: states[joint.body][joint.address[1]] for joint in joints}


def turned(title, value):
    """What a `Spherical` joint takes, as a `Pose` of a seen from b: an orientation, (orientation, angular velocity in
    the axes of b), a dict of these by name as in files, or a `Pose` with nothing else.

    Raises
    ------
    InputError
        For anything else.
    """
    names = "orientation", "angular_velocity"
    if isinstance(value, Pose):
        if value.relative_to is not None or value.position.any() or value.velocity.any():
            raise InputError(f"state of {title}: of a Pose it takes {' and '.join(names)} alone, seen from its other "
                             "body")
        return value
    if isinstance(value, dict):
        for name in value:
            validate.choice(f"state of {title}: coordinate", name, names)
        value = value.get(names[0], (1.0, 0.0, 0.0, 0.0)), value.get(names[1], (0.0, 0.0, 0.0))
    turn, spin = value if isinstance(value, tuple) and len(value) == 2 else (value, (0.0, 0.0, 0.0))
    try:
        return Pose(orientation=turn, angular_velocity=spin, frame="space")
    except InputError as error:
        raise InputError(f"state of {title}: {error}") from None
