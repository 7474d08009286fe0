"""Coordinates of the joints of a tree from the poses of its links."""

import numpy as np

from ..errors import InputError
from .bodies.rotations import matrix_from_quaternion
from .bodies.states import Pose

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


class _Frame:
    """Place, rotation matrix, and velocity and angular velocity in space."""

    def __init__(self, place, turn, velocity, spin):
        self.place, self.turn, self.velocity, self.spin = place, turn, velocity, spin

    def carrying(self, turn, place):
        """A frame that this one carries."""
        arm = self.turn @ place
        return _Frame(self.place + arm, self.turn @ turn, self.velocity + np.cross(self.spin, arm), self.spin)

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
                             "mend it, or give the coordinates of joints")
