"""Initial states from the coordinates of joints: poses along the tree of joints, closed loops completed."""

import itertools

import numpy as np

from ... import validate
from ...errors import InputError
from ..bodies.rotations import matrix_from_quaternion, product, quaternion_from_matrix
from ..bodies.states import CanonicalState, Pose
from ..body_frame import is_on_tree
from ..composites.composite import Composite
from ..joints.joint import Joint
from ..joints.pairs import Weld
from ..numbers.changes import extended
from ..part import Part
from ..parts import is_joint
from ..values.at_start import constraint_sizes
from ..values.of_parts import nonholonomic_off
from .closing import CLOSED, Closing, held_in_tree, held_joint
from .given import canonical_states, given_states, in_space, resolved_states, turned, with_link_at

GROUND, IDENTITY = None, (1.0, 0.0, 0.0, 0.0)


def state_of_joints(system, given, base=None, t=0.0, approximate=False):
    """States of all bodies, from coordinates and rates of joints along the tree that joints make of the bodies.

    The poses go out from the ground, and from bodies whose states are given: `R_a = R_b R(x)`,
    `x_a + R_a r_a = x_b + R_b (r_b + d(x))`, and so do the velocities. Where joints close loops, those that are not
    given are completed, `Phi = 0`, `x_i = given`, by `assemble` from there; joints that are not given and close no loop
    are at zero and at rest. So are those inside of a `Tree`, whose loops the other joints of the tree close.

    Parameters
    ----------
    system : System
    given : dict
        Joint, or its name -> value of its coordinate [rad or m], or (value, rate). For joints with several coordinates
        a dict from their names, `{"angle": 0.1, "displacement": (0.2, rate)}`; for a `Spherical` joint the orientation
        of a seen from b, a quaternion or matrix, (orientation, angular velocity in the axes of b), or a `Pose` of both,
        whose angular velocity is in the axes of a unless `frame="space"`. Bodies may be given, too, with a `Pose`
        or another state. Beams of which no node is given move with their joints, in their shape at rest, also where
        they close loops, if the loops can be closed so.
    base : Pose, or dict from Body to Pose, optional
        Of bodies that no joint connects with the ground: the first one in each part of the system. Default: at the
        origin in the reference orientation, at rest.
    t : float
        Time [s].
    approximate : bool
        Return what the joints make of it, with loops open, where these cannot be closed: for `assemble`.

    Returns
    -------
    dict
        Body -> `CanonicalState`, for an `InitialValueProblem`.

    Raises
    ------
    InputError
        For unknown joints and wrong values; when loops cannot be closed, or the coordinates contradict each other.
    """
    if not isinstance(given, dict):
        raise InputError(f"state must be a dict from joint to coordinate, not {given!r}")
    given = resolved_states(system, given)
    values = {_joint(system, key): value for key, value in given.items() if is_joint(system, key)}
    states = {system.find(key): value for key, value in given.items() if not is_joint(system, key)}
    values = {joint: given_coordinates(system.label(joint), joint, value) for joint, value in values.items()}
    if isinstance(base, dict):
        states |= {system.find(body): value for body, value in base.items()}
        base = None
    elif not (base is None or isinstance(base, Pose)):
        raise InputError(f"base must be a Pose, or a dict from body to Pose, not {base!r}")
    tree = JointTree(system, states, values, base)
    near = canonical_states(system, tree.states, t)
    found = {body: state for body, (_, state) in given_states(system, near).items()}
    z = np.concatenate([*(s.q for s in found.values()), *(s.p for s in found.values())])
    turned = _turns(system, values)
    size, (off, bound) = constraint_sizes(system, t, z), nonholonomic_off(system, t, z)
    if not tree.closing and not (np.abs(system.constraints(t, z)) > CLOSED * size).any() and \
            not (off > CLOSED * bound).any():
        return found | turned
    given = {body: value for body, value in states.items() if isinstance(value, dict)}
    held = [part for joint in tree.held for part in held_joint(system.label(joint), joint, tree.values[joint], t)]
    held += [part for body, value in given.items() for part in held_in_tree(system.label(body), body, value, t)]

    def at_zero():
        free = {body: {} if body in given else value for body, value in states.items()}
        poses = canonical_states(system, JointTree(system, free, {}, base).states, t)
        return np.concatenate([state.q for _, state in given_states(system, poses).values()])

    stiff = _stiff(tree.shapes)
    for parts in (stiff, []) if stiff else ([],):  # where beams can stay as they are at rest, they do
        try:
            return Closing(extended(system, parts), held, tree.roots, t).state(near, at_zero) | turned
        except InputError as found_none:
            error = found_none
    if approximate:
        return found | turned
    nodes = [body for body in tree.roots if isinstance(body.owner, Composite) and body not in states]
    if not nodes:
        raise error
    raise InputError(f"{error}; nodes of {system.label(nodes[0].owner)} stand as they do at rest unless they are "
                     "given: give all of them a Pose, or none") from None


def _turns(system, values):
    """States of what counts the turns of angles that are given: body -> `CanonicalState`."""
    found = {}
    for joint, own in values.items():
        for c in joint.coordinates:
            counter = system.here(joint.bound(c.name).counter) if c.turns and c.name in own else None
            if counter in system.bodies:
                found[counter] = CanonicalState([own[c.name][0]], [0.0])
    return found


class JointTree:
    """Poses along the joints.

    Attributes
    ----------
    states : dict
        Body -> `Pose`, or what was given.
    held : list of Joint
        Joints that keep their coordinates while loops are closed: those given, and those that close no loop.
    values : dict
        Joint -> its coordinates.
    roots : list of Body
        From which poses went out.
    closing : list of Joint
        Those that connect bodies with poses.
    """

    def __init__(self, system, states, values, base):
        self.system, self.states, self.values = system, dict(states), dict(values)
        self.poses = {GROUND: Pose()}
        joints = [whole for part in system.parts if _is_edge(whole := part.whole)]
        self.shapes = _shapes(system, states)
        for body in system.bodies:
            if body in states or (isinstance(body.owner, Composite) and body not in self.shapes):
                self._place(body, states.get(body, body.reference))
        self.roots = [body for body in self.poses if body is not GROUND]
        self._place_links(joints)
        self.roots = [body for body in self.roots if body.is_body]
        for joint in joints:
            if joint not in self.values:
                self.values[joint] = _at_zero(joint)
        chosen = self._grow(joints, values)
        for body in system.bodies:
            if body in self.afloat:
                self._place_afloat(body)
            elif body.has_position and body not in self.poses:
                self._place(body, base or body.reference)
                self._set(body, self.poses[body])
                self.roots.append(body)
                base = None  # of the first part of the system alone
            else:
                continue
            chosen += self._grow(joints, values)
        self.closing = [joint for joint in joints if joint not in chosen]
        if base is not None:
            raise InputError("base is given, but every body is connected with the ground, or has a state of its own")
        self.states = {body: self.states.get(body, pose) for body, pose in self.poses.items() if body is not GROUND
                       and body.is_body} | \
            {body: state for body, state in self.states.items() if body not in self.poses}
        loops = _on_loops(system, self.shapes)
        self.held = [joint for joint in joints if joint in values or joint not in loops]

    def _place_links(self, joints):
        """Links of trees that joints act on stand where the coordinates of their trees put them, unless these float."""
        self.afloat = {}
        for link in dict.fromkeys(end for joint in joints for end in _ends(joint)
                                  if end is not GROUND and is_on_tree(end)):
            self.afloat.setdefault(link.body, []).append(link)
        for tree in list(self.afloat):
            state = self.states.get(tree, {})
            if tree.base == "fixed" or not isinstance(state, dict) or tree.moving[0].joint.name in state:
                self._place_afloat(tree)

    def _place_afloat(self, tree):
        """Links of a tree where its coordinates put them."""
        q, p = tree.state(self.states.get(tree, {}))
        v = tree.velocity(q, p)
        for link in self.afloat.pop(tree):
            x, rates = q[link.dofs], v[link.dofs]
            self.poses[link] = Pose(link.position(x), link.rotation_matrix(x), link.velocity(x, rates),
                                    link.angular_velocity(x, rates))

    def _set(self, body, pose):
        """Place a body, with a node the beam in its shape at rest, or with a link the tree that floats."""
        if body in self.shapes:
            self.poses.update(_moved_along(body, pose, self.shapes[body]))
            return
        if body is GROUND or not is_on_tree(body):
            self.poses[body] = pose
            return
        self.states[body.body] = with_link_at(body, pose, self.states.get(body.body, {}))
        self._place_afloat(body.body)

    def _place(self, body, state):
        if body.has_position:
            self.poses[body] = in_space(self.system, body, self.states | {body: state})

    def _grow(self, joints, given):
        """Places bodies across joints, over given ones first; returns these joints."""
        chosen = []
        while True:
            open_ = [j for j in joints if j not in chosen and len({b in self.poses for b in _ends(j)}) == 2]
            if not open_:
                return chosen
            joint = next((j for j in open_ if j in given), open_[0])
            chosen.append(joint)
            a, b = _ends(joint)
            self._across(joint, a, b)

    def _across(self, joint, a, b):
        """Pose of the body beyond a joint."""
        turn, spin, place, rate = joint.relative(self.values[joint])
        quaternion = _continued(joint, self.values[joint])
        known = self.poses[b] if a not in self.poses else self.poses[a]
        x, r = known.position, matrix_from_quaternion(known.quaternion)
        v, omega = known.velocity, known.angular_velocity_in("space")
        if a not in self.poses:
            arm = r @ (joint.point_b + place)
            r_a, omega_a, q_a = r @ turn, omega + r @ spin, product(known.quaternion, quaternion)
            if not a.has_orientation:
                r_a, omega_a, q_a = np.eye(3), np.zeros(3), IDENTITY
            back = r_a @ joint.point_a
            self._set(a, Pose(x + arm - back, q_a, v + np.cross(omega, arm) + r @ rate - np.cross(omega_a, back),
                              omega_a, "space"))
            return
        r_b = r @ turn.T
        omega_b, q_b = omega - r_b @ spin, product(known.quaternion, quaternion * [1, -1, -1, -1])
        if not b.has_orientation:
            r_b, omega_b, q_b = np.eye(3), np.zeros(3), IDENTITY
        arm, back = r @ joint.point_a, r_b @ (joint.point_b + place)
        self._set(b, Pose(x + arm - back, q_b, v + np.cross(omega, arm) - np.cross(omega_b, back) - r_b @ rate,
                          omega_b, "space"))


def _shapes(system, states):
    """Node -> all nodes of its beam, of beams of which none is given: joints move them as they are at rest."""
    found = {}
    for body in system.bodies:
        if isinstance(body.owner, Composite):
            found.setdefault(body.owner, []).append(body)
    return {body: nodes for nodes in found.values() for body in nodes
            if all(node.has_orientation and node not in states for node in nodes)}


def _stiff(shapes):
    """Welds that hold the nodes of beams to each other as they are at rest."""
    found = []
    for nodes in {id(nodes): nodes for nodes in shapes.values()}.values():
        for a, b in itertools.pairwise(nodes):
            turn_a, turn_b = (matrix_from_quaternion(node.reference.quaternion) for node in (a, b))
            apart = turn_b.T @ (a.reference.position - b.reference.position)
            found.append(Weld(a, b, point_a=np.zeros(3), point_b=apart, orientation=turn_b.T @ turn_a))
    return found


def _moved_along(body, pose, others):
    """Poses of bodies that move as one rigid body with one of them, from their references."""
    at, turn = body.reference, matrix_from_quaternion(pose.quaternion)
    back = np.array(at.quaternion) * [1, -1, -1, -1]
    omega, found = pose.angular_velocity_in("space"), {}
    for other in others:
        arm = turn @ matrix_from_quaternion(back) @ (other.reference.position - at.position)
        quaternion = product(product(pose.quaternion, back), other.reference.quaternion)
        found[other] = Pose(pose.position + arm, quaternion, pose.velocity + np.cross(omega, arm), omega, "space")
    return found


def _continued(joint, values):
    """Quaternion of a seen from b, which goes on with the angles from zero: its sign tells turns beyond a half."""
    angles = [values[c.name][0] for c in joint.coordinates if c.turns and c.name in values]
    steps = 1 + int(max(map(abs, angles), default=0.0) // (np.pi / 2))
    found = quaternion_from_matrix(joint.relative(values if not angles else _share(values, 0.0))[0])
    for k in range(1, steps + 1) if angles else ():
        following = quaternion_from_matrix(joint.relative(_share(values, k / steps))[0])
        found = following if following @ found >= 0 else -following
    return found


def _share(values, share):
    return {name: (share * value, rate) for name, (value, rate) in values.items()}


def _ends(joint):
    return (*joint.bodies, GROUND)[:2]


def _is_edge(part):
    """Whether its coordinates tell how its bodies stand."""
    return getattr(type(part), "relative", Joint.relative) is not Joint.relative


def _joint(system, key):
    part = system[key] if isinstance(key, str) else key
    part = part.whole if isinstance(part, Part) else part
    if part not in [own.whole for own in system.parts]:
        raise InputError(f"{part!r} is not in the system")
    if not _can_be_given(part):
        if getattr(part, "coordinate_kinds", ()) and not _is_edge(part):
            raise InputError(f"{type(part).__name__} has coordinates, but no method `relative` that tells how its "
                             "bodies stand at them; give states of bodies")
        raise InputError(f"{system.label(part)} has no coordinates to be given; joints that have: "
                         f"{', '.join(system.label(p) for p in system.parts if _can_be_given(p.whole)) or 'none'}")
    return part


def _can_be_given(part):
    """Whether a part is a joint with coordinates."""
    return _is_edge(part) and bool(_at_zero(part)) and (not part.free_rotation or _oriented(part))


def _oriented(joint):
    """Whether the bodies of a joint with free rotation have a rotation."""
    return all(body.has_orientation for body in joint.bodies)


def _at_zero(joint):
    if joint.free_rotation:
        return {"rotation": (np.eye(3), np.zeros(3))}
    return {c.name: (0.0, 0.0) for c in joint.coordinates}


def given_coordinates(label, joint, value):
    """Name -> (value, rate) of what is given of a joint, or "rotation" -> (matrix, angular velocity).

    Raises
    ------
    InputError
        For names and values that do not fit.
    """
    if joint.free_rotation:
        pose = turned(label, value)
        return {"rotation": (matrix_from_quaternion(pose.quaternion), pose.angular_velocity_in("space"))}
    names = [c.name for c in joint.coordinates]
    if not isinstance(value, dict):
        if len(names) > 1:
            raise InputError(f"state of {label} must be a dict with {', '.join(map(repr, names))}, not {value!r}")
        value = {names[0]: value}
    for name in value:
        validate.choice(f"state of {label}: coordinate", name, tuple(names))
    out = _at_zero(joint)
    for name, x in value.items():
        title = f"state of {label}: {name}: value or (value, rate)"
        out[name] = tuple(validate.array(title, x, (2,)).tolist()) if np.ndim(x) else (validate.real(title, x), 0.0)
    return out


def _on_loops(system, shapes):
    """Parts with constraints that close loops: without one of them its bodies are still connected, by beams as well."""
    links = [(part, [_held_by(end) for end in [*part.bodies, GROUND][:max(2, len(part.bodies))]])
             for part in (part.whole for part in system.parts) if part.constraint_names and not part.is_body]
    beams = list({id(nodes): nodes for nodes in shapes.values()}.values())
    return {part for part, ends in links if _connected(ends, [*beams, *(e for p, e in links if p is not part)])}


def _held_by(end):
    """The tree of a link; the ground, where its base is fixed."""
    if end is GROUND or not is_on_tree(end):
        return end
    return GROUND if end.body.base == "fixed" else end.body


def _connected(ends, links):
    reached, grown = {ends[0]}, True
    while grown:
        grown = False
        for others in links:
            if reached.intersection(others) and not reached.issuperset(others):
                reached.update(others)
                grown = True
    return all(end in reached for end in ends)
