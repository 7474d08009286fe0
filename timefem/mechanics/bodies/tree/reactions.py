"""What the joints inside of a tree transmit, by the momentum balances of the links beyond them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...forces.loads import Gravity
from ...values.forces import generalized_forces
from .dynamics import TreeFunctions
from .frames import TreeLink, loose_links
from .links import MOTIONS
from .structure import moving_bodies, pattern_of, values


class Transmitted(NamedTuple):
    """What each of the m moving bodies of a tree receives through its joint, at n times.

    Attributes
    ----------
    force, torque : ndarray, shape (n, m, 3)
        [N, N m] in space, the torque about `place`.
    place, turn : ndarray, shapes (n, m, 3), (n, m, 3, 3)
        Of the frame at the joint that moves with the body, z along the axis of the joint.
    """

    force: np.ndarray
    torque: np.ndarray
    place: np.ndarray
    turn: np.ndarray


class _Opened:
    """A tree in which one of its fixed joints could turn, for what it transmits: moving bodies, where links sit, and
    functions, of which the states are those of the tree."""

    def __init__(self, tree, name):
        joints = [replace(j, kind="revolute") if j.name == name else j for j in tree.joints]
        stated, firsts = (tree._title, tree.links, joints, tree.base), tree.firsts
        self.moving, own, self.sits = moving_bodies(*stated, firsts)
        pattern = pattern_of(*stated, firsts=firsts)
        n = sum(MOTIONS[joint.kind].n for joint in own)
        self.functions = TreeFunctions(self.moving, pattern, values(pattern, tree.links, self.moving, self.sits), n)
        self.number = next(i for i, body in enumerate(self.moving) if body.joint.name == name)
        places, self.n_q = {body.joint.name: body.places for body in tree.moving}, n
        self.columns = [(list(body.places), list(places[body.joint.name])) for body in self.moving
                        if body.joint.name != name]

    def spread(self, values):
        """Coordinates, velocities or accelerations of the tree, with zero at the fixed joint."""
        out = np.zeros((*values.shape[:-1], self.n_q))
        for own, of_tree in self.columns:
            out[..., own] = values[..., of_tree]
        return out


def transmitted(system, tree, t, z, parts, fixed=None):
    """Force and torque of each joint of a tree on the body beyond it, `Transmitted`; or, without the axis of moving
    bodies, those of the fixed joint of this name.

    The balance of the branch beyond a joint: the rate of its momenta less all forces on its links from outside. The
    accelerations follow from the state, `M a = Q + T_q - (T_v)_q v`, so that all is as accurate as this is.

    Parameters
    ----------
    system : System
    tree : Tree
    t, z : ndarray, shapes (n,), (n, n_z)
    parts : list of (Part, ndarray, ndarray, ndarray, ndarray)
        All parts of the system, with the multipliers gamma, those of nonholonomic constraints, the controls, and the
        forces of contacts of each one, shape (n, ...).
    """
    z = np.asarray(z, float)
    q, p = system.local_state(tree, z)
    opened = None if fixed is None else _Opened(tree, fixed)
    v, bodies = tree.velocity(q, p), (opened or tree).moving
    outer, applied = np.zeros((len(z), len(bodies), 6)), np.zeros((len(z), tree.n_q))
    velocity = system.velocity(t, z)
    for part, *own in parts:
        if not any(frame.body == tree for frame in part.bodies):
            continue
        for frame, force, wrench in forces_on_bodies(system, part, t, z, velocity, own):
            if frame.body is not tree:
                continue
            applied[:, frame.dofs] += force
            number = frame.number if opened is None or wrench is None else opened.sits[frame.address[1]][0]
            if wrench is not None and number >= 0:
                place = frame.position(q[:, frame.dofs])
                outer[:, number] += np.hstack([wrench[:, :3], wrench[:, 3:] + np.cross(place, wrench[:, :3])])
    rest = np.zeros_like(v)
    a = np.linalg.solve(tree.mass_matrix(q), (applied - tree.inverse_dynamics(q, v, rest))[..., None])[..., 0]
    if opened is None:
        rates, place, turn, moment = tree.rates_in_space(q, v, a)
    else:
        rates, place, turn, moment = opened.functions.rates_in_space(*map(opened.spread, (q, v, a)))
    for part, *_ in parts:
        if isinstance(part, Gravity) and part.bodies[0] is tree:
            masses = np.array([body.mass for body in bodies])
            outer[..., :3] += masses[:, None] * part.acceleration
            outer[..., 3:] += np.cross(moment, part.acceleration)
    total = rates - outer
    for i in reversed(range(len(bodies))):
        if bodies[i].parent >= 0:
            total[:, bodies[i].parent] += total[:, i]
    found = Transmitted(total[..., :3], total[..., 3:] - np.cross(place, total[..., :3]), place, turn)
    return found if opened is None else Transmitted(*(x[:, opened.number] for x in found))


def forces_on_bodies(system, part, t, z, velocity, values):
    """Per body of a part its generalized forces (n, n_q), and on links force and torque about the origin (n, 6)."""
    widths, columns = [], []
    for body in part.bodies:
        extra = np.zeros((len(z), 6 * isinstance(body, TreeLink)))
        own, (q, p) = system.coordinates(body), system.local_state(body, z)
        columns.append([np.hstack([x, extra]) for x in (q, p, velocity[:, own])])
        widths.append(q.shape[1] + extra.shape[1])
    state = tuple(np.hstack(x) for x in zip(*columns, strict=True))
    with loose_links():
        forces = generalized_forces(part, t, state, *values)
    for body, force in zip(part.bodies, np.split(forces, np.cumsum(widths)[:-1], axis=1), strict=True):
        if isinstance(body, TreeLink):
            yield body, force[:, :-6], force[:, -6:]
        else:
            yield body, force, None
