"""Motion and reactions of joints along a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..errors import InputError, known_names
from ..mechanics.bodies.tree.reactions import forces_on_bodies
from ..mechanics.body_frame import is_on_tree
from ..mechanics.part import Part
from ..mechanics.parts import asked_by_name
from ..mechanics.states.given import joints_of_trees, names_of_joints, tree_joint
from ..mechanics.values.forces import generalized_forces, reaction
from ..mechanics.values.of_parts import coordinate_at
from ..types import Floats
from .audit import turn_table, unwrapped
from .invariants import all_multipliers, own_values
from .tree_joint_motion import FixedJointMotion, TreeJointMotion, determined, public_names, relative_spin

if TYPE_CHECKING:
    from .solved_elements import SolvedElements


def joint_motion(solution, joint):
    """The motion of a joint by itself, or by its name, also of a joint inside of a `Tree`.

    Raises
    ------
    InputError
        When there is none; names those there are.
    """
    system = solution.system
    joint = system.here(joint)
    joints = [part for part in (system.complete or system).parts
              if not part.is_body and (part.constraint_names or part.nonholonomic_names)]
    for part in joints:
        if joint in (part, part.whole, system.label(part)):
            return JointMotion(solution, part)
    tree = None if isinstance(joint, Part) and not joint.is_body else tree_joint(system, joint)
    if tree is not None:
        for name, found in joints_of_trees(system).items():
            if found is tree:
                return TreeJointMotion(solution, tree, name)
    fixed = _fixed_joints(system)
    for name, (tree, own) in fixed.items():
        if joint in (name, own, own.name, f"{system.label(tree)}.{own.name}") or _welds(system, joint, tree, own):
            return FixedJointMotion(solution, tree, own, name)
    known = [system.label(part) for part in joints] + list(joints_of_trees(system)) + list(fixed)
    raise InputError(f"no joint {joint!r} in the system{asked_by_name(joint, known) or known_names(joint, known)}")


def _fixed_joints(system):
    """Name -> tree and joint of those that do not move."""
    return {f"{system.label(tree)}.{joint.name}" if sum(
        joint.name == other.name for others in system.bodies for other in getattr(others, "joints", ())) > 1 else
        joint.name: (tree, joint) for tree in system.bodies if hasattr(tree, "moving_joints")
        for joint in tree.joints if joint.kind == "fixed"}


def _welds(system, part, tree, joint):
    """Whether a joint of a tree is the `Weld` between two bodies, or a body and the ground, that links stand for."""
    if not isinstance(part, Part) or part.is_body or not 1 <= len(part.bodies) <= 2:
        return False
    links = [system.stands_for.get(body, body) for body in part.bodies]
    if not all(is_on_tree(link) and link.body is tree for link in links):
        return False
    return {joint.parent, joint.child} == {*(link.address[1] for link in links), *["ground"] * (len(links) == 1)}


class JointMotion:
    """What a joint does along a solution. Times are `t`, any shape, the ends of the elements unless given.

    `angle(t)`, `displacement(t)`, `angle_a(t)`, ... are its coordinates by their names, angles unwrapped over turns
    from the start.

    Attributes
    ----------
    solution : Solution
    joint : Part
    name : str
    coordinates : tuple of str
        Names of its coordinates.
    """

    def __init__(self, solution: SolvedElements, part: Part) -> None:
        self.solution, self.part, self.joint = solution, part, part.whole
        self.name = solution.system.label(part)
        self.coordinates = tuple(c.name for c in self.joint.coordinates)
        self._tables = {}

    def __repr__(self):
        return f"JointMotion({self.name!r}, {', '.join(self.coordinates) or 'no coordinates'})"

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("coordinates", ()):
            return lambda t=None: self.coordinate(t, name)
        raise AttributeError(f"the joint {self.__dict__.get('name')!r} has no {name!r}{known_names(name, dir(self))}")

    def __dir__(self):
        return public_names(self)

    # ---- motion

    def coordinate(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Its coordinate of that name, the first unless given, shape t.shape [rad or m]."""
        bound = self._bound(name)
        if not bound.coordinate.turns:
            return coordinate_at(self.solution.system, bound, self._states(t))[0]
        name = bound.coordinate.name
        if name not in self._tables:
            self._tables[name] = turn_table(self.solution, bound)
        return unwrapped(self.solution, bound, t, self._tables[name])

    def rate(self, t: Floats | None = None, name: str | None = None, *, side: str = "right") -> np.ndarray:
        """Rate of that coordinate, shape t.shape; of joints without coordinates, such as `Spherical`, the angular
        velocity of a relative to b in the axes of b, t.shape + (3,). At impacts on that `side` of times, "right", after
        it, or "left", as at the ends of the elements."""
        if not self.coordinates:
            return self._spin(t, side)
        return coordinate_at(self.solution.system, self._bound(name), self._states(t, side))[1]

    def rotation(self, t: Floats | None = None) -> np.ndarray:
        """Rotation matrix of body a seen from b, `R_b^T R_a`, shape t.shape + (3, 3)."""
        r_a, r_b = (self._rotation(i, t) for i in range(2))
        return r_b.swapaxes(-1, -2) @ r_a

    def _spin(self, t, side):
        relative, axes = relative_spin(self.solution, self.joint.bodies, t, side), self._rotation(1, t)
        return np.einsum("...ji,...j->...i", axes, relative)

    def _bound(self, name):
        if not self.coordinates:
            raise InputError(f"{self.name} has no coordinates: it is {self.joint!r}")
        return self.joint.bound(validate.choice(f"coordinate of {self.name}", name or self.coordinates[0],
                                                self.coordinates))

    # ---- forces

    def force(self, t: Floats | None = None, axes: str = "space") -> np.ndarray:
        """Force of the joint on body a, shape t.shape + (3,) [N], in axes of space, of body "a" or of body "b".

        The force on b is the opposite one. It comes from the consistent multipliers, so that it is as accurate as the
        state; constraints that were dropped as redundant have their share by `minimum_norm`, and `Undetermined` warns
        where they share in what rigid bodies leave open.
        """
        return determined(self, t, axes, "force")

    def torque(self, t: Floats | None = None, axes: str = "space") -> np.ndarray:
        """Torque of the joint on body a about the point of the joint in a (about the centre of mass where the joint has
        none), shape t.shape + (3,) [N m]; axes as for `force`, and its warning."""
        return determined(self, t, axes, "torque")

    def drive(self, t: Floats | None = None, name: str | None = None) -> np.ndarray:
        """Force or torque along a coordinate [N or N m] of all that acts on it: springs, dampers, motors, controls,
        prescribed motion, friction, stops; positive where it makes the coordinate grow. Shape t.shape."""
        bound, z = self._bound(name), self._states(t)
        total, system = np.zeros(z.shape[:-1]), self.solution.system
        values = {}
        for part in self._drives(bound):
            force = self._on_bodies(part, t, values)
            along = self._gradient(bound, z, system)
            total += (force * along).sum(axis=-1) / (along * along).sum(axis=-1)
        return total

    def power(self, t: Floats | None = None) -> np.ndarray:
        """Power [W] that goes into the bodies through the joint: of its reactions, which do work where constraints
        depend on the time, and of all that acts on its coordinates. Shape t.shape."""
        z, system = self._states(t), self.solution.system
        velocity = system.velocity(self._times(t), z)
        parts = [self.part, *(p for name in self.coordinates for p in self._drives(self._bound(name)))]
        total, values = np.zeros(z.shape[:-1]), {}
        every = np.arange(system.n_q)
        places = np.concatenate([every[system.coordinates(body)] for body in self.joint.bodies])
        for part in parts:  # without what a rotor takes
            force = self._on_bodies(part, t, values)
            total += (force * velocity[..., places]).sum(axis=-1)
        return total

    def _drives(self, bound):
        return [share for p in self.solution.system.parts if not p.is_body and (p.constraint_names or not p.helper)
                for share in getattr(p, "shares", (p,)) if getattr(share, "bound", None) is bound]

    def _on_bodies(self, part, t, known):
        """Generalized forces of a part on the bodies of the joint."""
        stops = np.cumsum([0, *(body.n_q for body in part.bodies)])
        columns = [np.arange(stops[i], stops[i + 1]) for i in map(part.bodies.index, self.joint.bodies)]
        return self._generalized(part, t, known)[..., np.concatenate(columns)]

    def _gradient(self, bound, z, system):
        flat = z.reshape(-1, system.n_z)
        values = bound.gradient([flat[:, system.coordinates(body)] for body in bound.bodies])
        return values.reshape(*z.shape[:-1], -1)

    def _reaction(self, t, axes, multipliers=None):
        """Force and torque, of other multipliers where these are given, see `all_multipliers`."""
        t, z, system = self._times(t), self._states(t), self.solution.system
        body = self.joint.bodies[0]
        flat = z.reshape(-1, system.n_z)
        if multipliers is None:
            multipliers = all_multipliers(self.solution, t)
        if not is_on_tree(body):
            q = np.hstack([flat[:, system.coordinates(body)] for body in self.joint.bodies])
            values = self._generalized(self.joint, t, {"gamma": multipliers}).reshape(len(flat), -1)
            both = reaction(self.joint, q, values)
        else:
            known = own_values(system, self.joint, multipliers)
            own = [x.reshape(len(flat), x.shape[-1]) for x in known]
            velocity = system.velocity(t.ravel(), flat)
            both = np.split(next(forces_on_bodies(system, self.joint, t.ravel(), flat, velocity, own))[2], 2, axis=1)
        force, torque = (x.reshape(*t.shape, 3) for x in both)
        arm = getattr(self.joint, "point_a", None)
        if arm is not None and body.has_orientation:
            torque = torque - np.cross(self._rotation(0, t) @ arm, force)
        if axes != "space":
            turn = self._rotation("ab".index(axes), t)
            force, torque = (np.einsum("...ji,...j->...i", turn, x) for x in (force, torque))
        return force, torque

    def _generalized(self, part, t, known):
        """Generalized forces of a part on its bodies, shape t.shape + (n_q_local,)."""
        t, z, system = self._times(t), self._states(t), self.solution.system
        if "gamma" not in known:
            known["gamma"] = all_multipliers(self.solution, t)
        part = part.whole
        own = [x.reshape(t.size, x.shape[-1]) for x in own_values(system, part, known["gamma"])]
        flat, every = z.reshape(-1, system.n_z), np.arange(system.n_q)
        places = np.concatenate([every[system.coordinates(body)] for body in part.bodies])
        velocity = known.setdefault("velocity", system.velocity(t.ravel(), flat))
        state = flat[:, places], flat[:, system.n_q + places], velocity[:, places]
        return generalized_forces(part, t.ravel(), state, *own).reshape(*t.shape, -1)

    # ---- states

    def _times(self, t):
        return self.solution.t if t is None else np.asarray(t, float)

    def _states(self, t, side="right"):
        return self.solution.z if t is None else self.solution(t, side=side)

    def _rotation(self, i, t):
        """Rotation matrices of body a (0) or b (1); the identity for the ground and point masses."""
        z, system = self._states(t), self.solution.system
        if i < len(self.joint.bodies) and self.joint.bodies[i].has_orientation:
            body = self.joint.bodies[i]
            return body.rotation_matrix(z[..., system.coordinates(body)])
        return np.broadcast_to(np.eye(3), (*z.shape[:-1], 3, 3))


# ---- joints as columns of numbers, for tables and figures

JOINT_UNITS = {"force": "N", "torque": "N m"}


def joint_fields(solution, times=None, names=None):
    """Per joint a dict of arrays: its coordinates and their rates by name, force and torque on body a in space axes.

    The latter two are NaN at singular positions, where the constraints do not determine them.

    Returns
    -------
    dict
        Label -> {name: (array, unit)}; `angle`, `rate`; `displacement`, `displacement rate` where there are several.
    """
    found = {}
    for name in names_of_joints(solution.system) if names is None else names:
        motion, own = joint_motion(solution, name), {}
        for i, coordinate in enumerate(motion.coordinates):
            unit = motion.joint.coordinates[i].unit
            own[coordinate] = motion.coordinate(times, coordinate), unit
            own["rate" if i == 0 else f"{coordinate} rate"] = motion.rate(times, coordinate), f"{unit}/s"
        if len(solution.t) > 1:
            try:
                force, torque = motion.force(times), motion.torque(times)
            except InputError:
                force = torque = np.full((*np.shape(solution.t if times is None else times), 3), np.nan)
            own |= {"force": (force, JOINT_UNITS["force"]), "torque": (torque, JOINT_UNITS["torque"])}
        found[name] = own
    return found
