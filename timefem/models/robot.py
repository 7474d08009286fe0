"""A robot as a file states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.forces.actuators import GeneralizedControl
from ..mechanics.system import System
from ..problems.initial.problem import InitialValueProblem
from ..types import Vector

if TYPE_CHECKING:
    from ..mechanics.declared.declared import Declared

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot as a file states it.

    Attributes
    ----------
    path, name : str
    tree : Tree
        Its links and joints; `tree.joints` have limits as data.
    notes : tuple of str
        What the file states and the robot leaves out.
    gravity : tuple
        [m/s^2]
    start : dict
        State of joints that the file states.
    joints : tuple of Part
        Joints between links, which close loops.
    actuators : dict
        Name -> actuator of a joint, with one control.
    forces : tuple of Part
        Springs of balls and free bodies.
    control_ranges : dict
        Actuator -> least and greatest control, as data.
    contacts : tuple of Part
        Rigid contacts, stops and dry friction of joints, where the file was read with `contacts="rigid"`.
    """

    path: str
    name: str
    tree: Tree
    notes: tuple[str, ...]
    gravity: tuple[float, ...] = GRAVITY
    start: dict[str, Any] = field(default_factory=dict)
    joints: tuple[Any, ...] = ()
    actuators: dict[str, Any] = field(default_factory=dict)
    forces: tuple[Any, ...] = ()
    control_ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    contacts: tuple[Any, ...] = ()

    def system(self, gravity: Vector | None = None, parts: Sequence[Declared] = ()) -> System:
        """The `System` of the tree, its joints, forces and contacts, of further parts, and of the weight."""
        return System([self.tree, *self.joints, *self.forces, *self.contacts, *parts], redundant="drop",
                      gravity=self.gravity if gravity is None else gravity)

    def motors(self, *joints: str) -> dict[str, GeneralizedControl]:
        """Actuators of joints, by name; of all that move on their own with one coordinate unless some are named.

        Each is called as its joint, with the force or torque of the joint [N or N m] as its control.
        """
        names = joints or [name for name in self.tree.joint_names if self.tree.joint(name).n_q == 1]
        for name in names:
            validate.choice("joint", name, self.tree.joint_names)
        return {name: GeneralizedControl(self.tree.joint(name), np.eye(self.tree.joint(name).n_q), name=f"{name} motor")
                for name in names}

    def problem(self, state: Mapping[str, Any] | None = None, t_span: tuple[float, float] = (0.0, 1.0),
                gravity: Vector | None = None) -> InitialValueProblem:
        """The `InitialValueProblem` of the robot.

        Parameters
        ----------
        state : dict, optional
            Joint -> position, or (position, rate) [rad or m, and per second]; joints left out are where the file has
            them, at rest. A free base is the joint `tree.base_joint` ("base"), and takes a `Pose`. Where joints close
            loops it is taken as approximate.
        t_span : (float, float)
            [s]
        gravity : array_like, shape (3,)
            [m/s^2]; that of the file, or (0, 0, -9.81), by default.
        """
        return InitialValueProblem(self.system(gravity), {self.tree: {**self.start, **(state or {})}}, t_span,
                                   assemble=bool(self.joints))
