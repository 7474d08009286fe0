"""Parts that hold the coordinates of joints as they are given, while loops are closed."""

import casadi as ca
import numpy as np

from .functions.trajectories import Polynomial
from .joints.frame import frames_of
from .joints.prescribed import PrescribedJoint
from .joints.turning import turned
from .part import Part


def held_joint(label, joint, values, t):
    """Parts that hold the coordinates of a joint, and their rates, at the time t."""
    if joint.free_rotation and not all(body.has_orientation for body in joint.bodies):
        return []
    if joint.free_rotation:
        return [_HeldRotation(f"{label} as given", joint, *values["rotation"], t)]
    return [PrescribedJoint(joint, coordinate=name, value=Polynomial((x - rate * t, rate)), name=f"{label} as given")
            for name, (x, rate) in values.items()]


class _HeldRotation(Part):
    """Rotation and angular velocity of a body against another at a time."""

    constraint_names = ("rotation, 1", "rotation, 2", "rotation, 3")

    def __init__(self, name, joint, turn, spin, t):
        self.bodies, self.name = joint.bodies, name
        self.own_parameters = np.concatenate([turn.ravel(order="F"), np.cross(spin, turn.T).ravel(), [t]])

    @property
    def kind(self):
        return (_HeldRotation, *(body.kind for body in self.bodies))

    def constraints(self, s):
        turn, rate, start = ca.vertsplit(s.own, [0, 9, 18, 19])
        return ca.vertcat(*turned(*frames_of(self.bodies, s.q), turn + rate * (s.t - start)))


def held_in_tree(label, tree, state, t):
    """Parts that hold those joints of a tree that are given, and their rates, at the time t."""
    given = tree.by_joint(state)
    joints = [tree.joint(name) for name in state]
    return [_HeldCoordinates(f"{label}.{joint.called[1]} as given", joint, given.q[joint.places],
                             given.v[joint.places], t) for joint in joints]


class _HeldCoordinates(Part):
    """Coordinates of a joint of a tree, and their rates, at a time."""

    def __init__(self, name, joint, q, v, t):
        self.bodies, self.name = (joint,), name
        self.constraint_names = tuple(f"coordinate {i + 1}" for i in range(len(q)))
        self.own_parameters = np.concatenate([q, v, [t]])

    @property
    def kind(self):
        return _HeldCoordinates, *(body.kind for body in self.bodies)

    def constraints(self, s):
        n = len(self.constraint_names)
        q, v, start = ca.vertsplit(s.own, [0, n, 2 * n, 2 * n + 1])
        return s.q[0] - (q + v * (s.t - start))
