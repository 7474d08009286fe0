"""Motion and reactions of joints inside of trees along a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from .. import validate
from ..errors import InputError, known_names
from ..mechanics.bodies.tree.reactions import transmitted
from ..mechanics.values.of_parts import coordinate_at
from ..types import Floats
from .invariants import acting
from .open_reactions import determined

if TYPE_CHECKING:
    from ..mechanics.bodies.tree.frames import TreeJointCoordinate
    from ..mechanics.bodies.tree.links import TreeJoint
    from ..mechanics.bodies.tree.tree import Tree
    from .solved_elements import SolvedElements

_LAST = WeakKeyDictionary()  # solution -> times, and what `along` found: joints are asked for one by one


def along(solution, tree, t, fixed=None, multipliers=None):
    """`Transmitted` by all joints of a tree along a solution, or by a fixed joint, of leading shape t.shape; with other
    multipliers where these are given, see `all_multipliers`."""
    last = _LAST.get(solution)
    if last is None or not np.array_equal(last[0], t):
        last = _LAST[solution] = t, {}
    key = id(tree), fixed, id(multipliers)
    if key not in last[1]:
        parts = acting(solution, t, multipliers)
        found = transmitted(solution.system, tree, t.ravel(), solution(t).reshape(t.size, -1), parts, fixed)
        last[1][key] = type(found)(*(x.reshape(*t.shape, *x.shape[1:]) for x in found)), tree, multipliers  # keep ids
    return last[1][key][0]


def relative_spin(solution, bodies, t=None):
    """Angular velocity of the first of one or two bodies or links, relative to the other or the ground, (..., 3).

    In space axes [rad/s], at the ends of the elements unless times are given; of point masses zero.
    """
    if t is None:
        t = solution.t
    spins = [solution.angular_velocity(body, t, "space") if body.has_orientation else np.zeros((*np.shape(t), 3))
             for body in bodies]
    return spins[0] - sum(spins[1:])


def public_names(motion):
    """Names of the coordinates of the motion of a joint, and of what else it has."""
    own = [name for name in dir(type(motion)) if not name.startswith("_")]
    return [*motion.__dict__.get("coordinates", ()), *own]


class TreeJointMotion:
    """What a joint inside of a `Tree` does along a solution, as `JointMotion`; body a is the child, b the parent, or
    as the joint between bodies has them that it stands for.

    Times are `t`, any shape, the ends of the elements unless given. `angle(t)`, `displacement(t)`, `x(t)`, ... are its
    coordinates by their names, not wrapped.

    Attributes
    ----------
    solution : Solution
    tree : Tree
    joint : TreeJointCoordinate
    name : str
    coordinates : tuple of str
    """

    def __init__(self, solution: SolvedElements, joint: TreeJointCoordinate, name: str) -> None:
        self.solution, self.joint, self.tree, self.name = solution, joint, joint.body, name
        self.coordinates = tuple(c.name for c in joint.coordinates)
        self._own = joint.address[1]
        self.number = self.tree.moving_joints.index(self._own)
        self._moving = self.tree.moving[self.number]
        self._stated = self._moving.joint

    def __repr__(self):
        return f"TreeJointMotion({self.name!r}, {', '.join(self.coordinates) or 'no coordinates'})"

    def __getattr__(self, name):
        known = self.__dict__.get("coordinates", ())
        if name in known:
            return lambda t=None: self.coordinate(t, name)
        more = known_names(name, dir(self)) if known or type(self) is not TreeJointMotion else (
            ", but a position or quaternion: coordinate(t) has these, rate(t) the velocity or angular velocity")
        raise AttributeError(f"the joint {self.__dict__.get('name')!r} has no {name!r}{more}")

    def __dir__(self):
        return public_names(self)

    def coordinate(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Its coordinate of that name, the first unless given, shape t.shape [rad or m]; without names position and
        quaternion."""
        return self._told(t)[0] if not self.coordinates else self._bound(t, name)[0]

    def rate(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Rate of that coordinate, shape t.shape; of a spherical joint the angular velocity of a relative to b in the
        axes of b, (..., 3), as `JointMotion`; of a free base velocity, and angular velocity in its own axes, (..., 6).
        """
        if self.coordinates:
            return self._bound(t, name)[1]
        if self._moving.motion.first > 0:
            return self._told(t)[1]
        links = [link for link in (self._link(0), self._link(1)) if link is not None]
        return np.einsum("...ji,...j->...i", self._rotation(1, t), relative_spin(self.solution, links, t))

    def rotation(self, t: Floats | None = None) -> np.ndarray:
        """Rotation matrix of body a seen from b, `R_b^T R_a`, shape t.shape + (3, 3)."""
        r_a, r_b = (self._rotation(i, t) for i in range(2))
        return r_b.swapaxes(-1, -2) @ r_a

    # ---- forces

    def force(self, t: Floats | None = None, axes: str = "space") -> np.ndarray:
        """Force of the joint on body a, shape t.shape + (3,) [N], in axes of space, of body "a" or of body "b".

        From the momentum balance of all links beyond the joint, as accurate as the state; without what acts along its
        coordinates, which is `drive`. `Undetermined` warns as for joints between bodies.
        """
        return determined(self, t, axes, "force")

    def torque(self, t: Floats | None = None, axes: str = "space") -> np.ndarray:
        """Torque of the joint on body a about the origin of its joint frame, shape t.shape + (3,) [N m]."""
        return determined(self, t, axes, "torque")

    def drive(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Force or torque along a coordinate [N or N m] of all that acts on it in the tree and the system; shape
        t.shape. Of mimic joints with that of what they follow, and without what rotors (`armature`) take."""
        self._named(name)
        force, torque = self._transmitted(t)[:2]
        along = self._free(t)
        i = self.coordinates.index(self._named(name))
        return (along[i][0] * force + along[i][1] * torque).sum(axis=-1)

    def power(self, t: Floats | None = None) -> np.ndarray:
        """Power [W] that goes into the links through the joint, shape t.shape."""
        if self.coordinates:
            return sum(self.drive(t, name) * self.rate(t, name) for name in self.coordinates)
        force, torque = self._transmitted(t)[:2]
        speed = self._told(t)[1]
        turned = np.einsum("...ab,...b->...a", self._rotation(int(self._stated.swapped), t), speed[..., -3:])
        total = (torque * turned).sum(axis=-1)
        if speed.shape[-1] == 6:  # a free base, which nothing holds
            total = total + (force * speed[..., :3]).sum(axis=-1)
        return total

    def _reaction(self, t, axes, multipliers=None):
        """Force and torque, of other multipliers where these are given, see `all_multipliers`."""
        both = self._held(t, multipliers)
        if self._stated.swapped:  # about the point of the joint in the parent
            arm = self._transmitted(t).place - self._place_in_parent(t)
            both = -both[0], -both[1] - np.cross(arm, both[0])
        if axes != "space":
            turn = self._rotation("ab".index(axes), t)
            both = [np.einsum("...ji,...j->...i", turn, x) for x in both]
        return both

    def _held(self, t, multipliers=None):
        """Force and torque on the child, without what acts along the coordinates."""
        both = self._transmitted(t, multipliers)[:2]
        if not self.coordinates:
            return (both[0] if self._moving.motion.first == 0 else 0 * both[0]), 0 * both[1]
        return [x - sum((e[i] * x).sum(axis=-1, keepdims=True) * e[i] for e in self._free(t))
                for i, x in enumerate(both)]

    def _place_in_parent(self, t):
        parent, z = self.tree.link(self._stated.parent, self._stated.position), self._states(t)
        return parent.position(self.solution.system.local_state(parent, z)[0])

    def _free(self, t):
        """Per coordinate the unit vectors along which a force, and about which a torque does work; one is zero."""
        turn = self._transmitted(t).turn
        x, y, z = (turn[..., i] for i in range(3))
        if self._moving.motion.n == 1:
            return [(0 * z, z) if self.coordinates[0] == "angle" else (z, 0 * z)]
        if self._moving.motion.n == 2:
            angle = self._bound(t, "angle_a")[0][..., None]
            return [(0 * z, np.sin(angle) * y + np.cos(angle) * z), (0 * z, x)]
        angle = self._bound(t, "angle")[0][..., None]  # of a plane: back to the frame at zero
        cos, sin = np.cos(angle), np.sin(angle)
        return [(cos * x - sin * y, 0 * z), (sin * x + cos * y, 0 * z), (0 * z, z)]

    def _transmitted(self, t, multipliers=None):
        found = along(self.solution, self.tree, self.solution.t if t is None else np.asarray(t, float),
                      multipliers=multipliers)
        return type(found)(*(x[..., self.number, :] if x.ndim < found.turn.ndim else x[..., self.number, :, :]
                             for x in found))

    # ---- states

    def _named(self, name):
        if not self.coordinates:
            raise InputError(f"{self.name} has no coordinates with names: it is {self.joint!r}")
        return validate.choice(f"coordinate of {self.name}", name or self.coordinates[0], self.coordinates)

    def _bound(self, t, name):
        return coordinate_at(self.solution.system, self.joint.bound(self._named(name)), self._states(t))

    def _told(self, t):
        return self.tree.joint_states(*self.solution.system.local_state(self.tree, self._states(t)))[self._own]

    def _states(self, t):
        return self.solution.z if t is None else self.solution(t)

    def _link(self, i):
        """Of body a (0) or b (1); None stands for what does not move."""
        joint = self._stated
        name = (joint.child, joint.parent)[i ^ joint.swapped]
        return self.tree.link(name) if name in self.tree.frame_names else None

    def _rotation(self, i, t):
        """Rotation matrices of body a (0) or b (1)."""
        link, z = self._link(i), self._states(t)
        if link is None:
            return np.broadcast_to(np.eye(3), (*z.shape[:-1], 3, 3))
        return link.rotation_matrix(self.solution.system.local_state(link, z)[0])


class FixedJointMotion(TreeJointMotion):
    """What a fixed joint inside of a `Tree` does along a solution, a `Weld` in joint coordinates among others."""

    def __init__(self, solution: SolvedElements, tree: Tree, stated: TreeJoint, name: str) -> None:
        self.solution, self.tree, self.joint, self.name, self.coordinates = solution, tree, stated, name, ()
        self._stated = stated

    def __repr__(self):
        return f"FixedJointMotion({self.name!r})"

    def coordinate(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """There is none: InputError."""
        raise InputError(f"{self.name} has no coordinates: it is {self.joint!r}")

    def rate(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Angular velocity of a relative to b, which is zero, shape t.shape + (3,)."""
        return np.zeros((*self._states(t).shape[:-1], 3))

    def power(self, t: Floats | None = None) -> np.ndarray:
        """Power [W] that goes into the links through the joint, which is none, shape t.shape."""
        return np.zeros(self._states(t).shape[:-1])

    def _held(self, t, multipliers=None):
        return self._transmitted(t, multipliers)[:2]

    def _transmitted(self, t, multipliers=None):
        times = self.solution.t if t is None else np.asarray(t, float)
        return along(self.solution, self.tree, times, self._stated.name, multipliers)
