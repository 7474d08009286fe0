"""Motion and reactions of joints inside of trees along a solution, and reactions that rigid bodies leave open, because
constraints repeat others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .. import validate
from ..display import digits
from ..errors import InputError, Undetermined, known_names, warn
from ..mechanics.bodies.tree.reactions import transmitted
from ..mechanics.states.given import names_of_joints
from ..mechanics.states.redundancy import OPTIONS, balanced_multipliers
from ..mechanics.values.of_parts import coordinate_at
from ..memory import Late
from ..types import Floats
from .invariants import AXES, acting, all_multipliers

if TYPE_CHECKING:
    from ..mechanics.bodies.tree.frames import TreeJointCoordinate
    from ..mechanics.bodies.tree.links import TreeJoint
    from ..mechanics.bodies.tree.tree import Tree
    from .solved_elements import SolvedElements


scipy = Late("scipy")

_LAST_LINKS = WeakKeyDictionary()
_LAST = WeakKeyDictionary()  # solution -> times, multipliers, and `Shared`, there: joints are asked for one by one


class Shared(NamedTuple):
    """What holds itself in balance at times, apart from other such sets.

    Attributes
    ----------
    multipliers : ndarray, shape (..., n, k)
        Of the complete system, nonholonomic ones last; columns are combinations in balance, or zero.
    size : float
        Of what each of them adds in `others`.
    others : list of tuple
        `all_multipliers` with a combination added.
    presses : dict
        "force", "torque" -> whether some joint has some of it along what is open.
    """

    multipliers: np.ndarray
    size: float
    others: list[tuple]
    presses: dict[str, bool]


def determined(motion, t, axes, which):
    """The "force" or "torque" of a joint; `Undetermined` where constraints that repeat others leave some of it open.

    A force is linear in the multipliers: what those add that hold each other in balance is open. Where none of the
    forces of the joints lie along that, nothing presses on what they share: they are zero for each way to share it.

    Parameters
    ----------
    motion : JointMotion or TreeJointMotion
    t : array_like or None
    axes : {"space", "a", "b"}
    which : {"force", "torque"}
    """
    validate.choice("axes", axes, AXES)
    solution = motion.solution
    if solution.system.complete is None:
        return motion._reaction(t, axes)[("force", "torque").index(which)]
    t = solution.t if t is None else np.asarray(t, float)
    found, opened = _opened(motion, t, axes, which)
    for number, (open_part, pressed) in opened.items():
        if pressed or _presses(solution, t, number, which):
            amount = np.linalg.norm(open_part, axis=-1)
            at = np.unravel_index(amount.argmax(), amount.shape)
            _warn(motion, which, t[at], open_part[at], axes, _shared(solution, t)[1][number])
            break
    return found


def _opened(motion, t, axes, which):
    """The force or torque of a joint; and number of a `Shared` -> the part of it that this leaves open, (..., 3), and
    whether that is more than rounding; of those that leave some open."""
    i, opened = ("force", "torque").index(which), {}
    values, shared = _shared(motion.solution, t)
    found = motion._reaction(t, axes, values)[i]
    for number, one in enumerate(shared):
        free = np.stack([(motion._reaction(t, axes, other)[i] - found) / one.size for other in one.others], axis=-1)
        vectors, sizes, _ = np.linalg.svd(free, full_matrices=False)
        seen = sizes > OPTIONS.dependent * np.abs(one.multipliers).max(axis=(-2, -1))[..., None]
        if seen.any():
            spans = vectors * seen[..., None, :]
            open_part = np.einsum("...ik,...jk,...j->...i", spans, spans, found)
            opened[number] = open_part, np.abs(open_part).max() > OPTIONS.dependent * max(one.size, np.abs(found).max())
    return found, opened


def _presses(solution, t, number, which):
    """Whether loads press on what a set shares: whether some joint has a force along what it leaves open."""
    presses = _shared(solution, t)[1][number].presses
    if which not in presses:
        joints = map(solution.joint, names_of_joints(solution.system))
        found = (_opened(motion, t, "space", which)[1].get(number) for motion in joints)
        presses[which] = any(one is not None and one[1] for one in found)
    return presses[which]


def _shared(solution, t):
    """`all_multipliers` at times of any shape, and list of `Shared` there."""
    last = _LAST.get(solution)
    if last is None or not np.array_equal(last[0], t):
        system, number, values = solution.system.complete, len(solution.system.dropped), all_multipliers(solution, t)
        states, first = solution(t).reshape(-1, system.n_z), values[0].shape[-1]
        size = max(np.abs(x).max(initial=0.0) for x in values[:2]) or 1.0
        balanced = np.array([balanced_multipliers(system, *at, number) for at in zip(t.ravel(), states, strict=True)])
        linked = np.zeros((balanced.shape[1],) * 2)
        for one in balanced:
            both = np.abs(one @ one.T)
            own = np.sqrt(np.diag(both))
            linked = np.maximum(linked, both / np.maximum(np.outer(own, own), np.finfo(float).tiny))
        labels = scipy.sparse.csgraph.connected_components(linked > OPTIONS.dependent, directed=False)[1]
        sets = []
        for label in np.unique(labels[balanced.any(axis=(0, 2))]):
            own = np.where((labels == label)[:, None], balanced, 0.0).reshape(*t.shape, *balanced.shape[1:])
            others = [(values[0] + size * more[..., :first], values[1] + size * more[..., first:], *values[2:])
                      for more in np.moveaxis(own, -1, 0)]
            sets.append(Shared(own, size, others, {}))
        last = _LAST[solution] = t, values, sets
    return last[1:]


def _warn(motion, which, t, open_part, axes, shared):
    system, first, names = motion.solution.system.complete, 0, []
    used = np.abs(shared.multipliers).reshape(-1, *shared.multipliers.shape[-2:]).max(axis=(0, 2))
    held = [(part, part.constraint_names) for part in system.parts]
    held += [(part, part.nonholonomic_names) for part in system.parts]
    for part, own in held:
        if used[first:first + len(own)].any() and not part.is_body:
            names.append(system.label(part))
        first += len(own)
    unit, amount = {"force": "N", "torque": "N m"}[which], np.linalg.norm(open_part)
    along = f", along {digits(np.round(open_part / amount, 3) + 0.0)}" if amount else ""
    frame = f" of body {axes}" if amount and axes != "space" else ""
    warn(f"the {which} of the joint {motion.name!r} is not determined: constraints of "
         f"{', '.join(dict.fromkeys(names))} repeat others, and rigid bodies leave open how joints share forces; "
         f"{amount:.4g} {unit} of it{along}{frame}, at t = {t:.6g}, are what the least sum of squares of multipliers "
         "gives, which depends on the coordinates; joints that hold less, or springs in place of a joint, determine it",
         Undetermined)


def along(solution, tree, t, fixed=None, multipliers=None):
    """`Transmitted` by all joints of a tree along a solution, or by a fixed joint, of leading shape t.shape; with other
    multipliers where these are given, see `all_multipliers`."""
    last = _LAST_LINKS.get(solution)
    if last is None or not np.array_equal(last[0], t):
        last = _LAST_LINKS[solution] = t, {}
    key = id(tree), fixed, id(multipliers)
    if key not in last[1]:
        parts = acting(solution, t, multipliers)
        found = transmitted(solution.system, tree, t.ravel(), solution(t).reshape(t.size, -1), parts, fixed)
        last[1][key] = type(found)(*(x.reshape(*t.shape, *x.shape[1:]) for x in found)), tree, multipliers  # keep ids
    return last[1][key][0]


def relative_spin(solution, bodies, t=None, side="right"):
    """Angular velocity of the first of one or two bodies or links, relative to the other or the ground, (..., 3).

    In space axes [rad/s], at the ends of the elements, before impacts there, unless times are given; of point masses
    zero.
    """
    if t is None:
        t, side = solution.t, "left"
    spins = [solution.angular_velocity(body, t, "space", side=side) if body.has_orientation else
             np.zeros((*np.shape(t), 3)) for body in bodies]
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

    def rate(self, t: Floats | None = None, name: str | None = None, *, side: str = "right") -> np.ndarray:
        """Rate of that coordinate, shape t.shape; of a spherical joint the angular velocity of a relative to b in the
        axes of b, (..., 3), as `JointMotion`; of a free base velocity, and angular velocity in its own axes, (..., 6).
        At impacts on that `side` of times, "right", after it, or "left", as at the ends of the elements.
        """
        if self.coordinates:
            return self._bound(t, name, side)[1]
        if self._moving.motion.first > 0:
            return self._told(t, side)[1]
        links = [link for link in (self._link(0), self._link(1)) if link is not None]
        return np.einsum("...ji,...j->...i", self._rotation(1, t), relative_spin(self.solution, links, t, side))

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

    def _bound(self, t, name, side="right"):
        return coordinate_at(self.solution.system, self.joint.bound(self._named(name)), self._states(t, side))

    def _told(self, t, side="right"):
        return self.tree.joint_states(*self.solution.system.local_state(self.tree, self._states(t, side)))[self._own]

    def _states(self, t, side="right"):
        return self.solution.z if t is None else self.solution(t, side=side)

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

    def rate(self, t: Floats | None = None, name: str | None = None, *, side: str = "right") -> np.ndarray:
        """Angular velocity of a relative to b, which is zero, shape t.shape + (3,)."""
        return np.zeros((*self._states(t, side).shape[:-1], 3))

    def power(self, t: Floats | None = None) -> np.ndarray:
        """Power [W] that goes into the links through the joint, which is none, shape t.shape."""
        return np.zeros(self._states(t).shape[:-1])

    def _held(self, t, multipliers=None):
        return self._transmitted(t, multipliers)[:2]

    def _transmitted(self, t, multipliers=None):
        times = self.solution.t if t is None else np.asarray(t, float)
        return along(self.solution, self.tree, times, self._stated.name, multipliers)
