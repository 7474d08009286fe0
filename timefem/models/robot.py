"""A robot as a file states it."""

from dataclasses import dataclass, field

import numpy as np

from .. import validate
from ..mechanics import GeneralizedControl, System, Tree
from ..problems import InitialValueProblem

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
    """

    path: str
    name: str
    tree: Tree
    notes: tuple
    gravity: tuple = GRAVITY
    start: dict = field(default_factory=dict)
    joints: tuple = ()
    actuators: dict = field(default_factory=dict)

    def system(self, gravity=None, parts=()):
        """The `System` of the tree and its joints, of further parts, and of the weight."""
        return System([self.tree, *self.joints, *parts], gravity=self.gravity if gravity is None else gravity,
                      redundant="drop")

    def motors(self, *joints):
        """Actuators of joints, by name; of all that move on their own with one coordinate unless some are named.

        Each is called as its joint, with the force or torque of the joint [N or N m] as its control.
        """
        names = joints or [name for name in self.tree.joint_names if self.tree.joint(name).n_q == 1]
        for name in names:
            validate.choice("joint", name, self.tree.joint_names)
        return {name: GeneralizedControl(self.tree.joint(name), np.eye(self.tree.joint(name).n_q), name=f"{name} motor")
                for name in names}

    def problem(self, state=None, t_span=(0.0, 1.0), gravity=None):
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
