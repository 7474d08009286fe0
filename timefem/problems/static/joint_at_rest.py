"""What a joint of a system at rest carries, and how it stands."""

import numpy as np

from ...mechanics.part import Part
from ...mechanics.system import System
from ...solution.invariants import consistent_multipliers
from ...solution.joint_motion import joint_motion


class JointAtRest:
    """Coordinates and reactions of a joint of an `Equilibrium`, as `JointMotion` tells them of a motion.

    Attributes
    ----------
    name : str
    coordinates : tuple of str
        Names of its coordinates.
    """

    def __init__(self, system: System, joint: Part | str, t: float, q: np.ndarray, multipliers: np.ndarray) -> None:
        self._motion = joint_motion(_Still(system, t, q, multipliers), joint)
        self.name, self.coordinates = self._motion.name, self._motion.coordinates

    def __repr__(self):
        return f"JointAtRest({self.name!r}, {', '.join(self.coordinates) or 'no coordinates'})"

    def coordinate(self, name: str | None = None) -> float:
        """Its coordinate of that name, the first unless given [rad or m]."""
        return float(self._motion.coordinate(None, name)[0])

    def force(self, axes: str = "space") -> np.ndarray:
        """Force of the joint on body a, shape (3,) [N], in axes of space, of body "a" or of body "b"."""
        return self._motion.force(None, axes)[0]

    def torque(self, axes: str = "space") -> np.ndarray:
        """Torque of the joint on body a about the point of the joint in a, shape (3,) [N m]; axes as for `force`."""
        return self._motion.torque(None, axes)[0]

    def drive(self, name: str | None = None) -> float:
        """Force or torque along a coordinate [N or N m] of all that acts on it."""
        return float(self._motion.drive(None, name)[0])


class _Still:
    """The one state of a system at rest, as joints look at solutions."""

    def __init__(self, system, t, q, multipliers):
        self.system, self.t, self.fields = system, np.array([float(t)]), {}
        self.z = np.concatenate([q, np.zeros(system.n_q)])[None]
        self._multipliers = np.concatenate([multipliers, np.zeros(len(multipliers))])

    def __call__(self, t):
        return np.broadcast_to(self.z[0], (*np.shape(t), self.z.shape[1]))

    def _constraint_forces(self, t):
        return consistent_multipliers(self, t)

    def _pressed_forces(self, t):
        return {}

    def multipliers(self, t, kind=None):
        return np.broadcast_to(self._multipliers, (*np.shape(t), len(self._multipliers)))
