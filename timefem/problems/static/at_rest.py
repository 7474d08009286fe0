"""A system at rest: what `equilibrium` finds, and what it warns of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ...errors import Unstable, known_names, warn
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.composites.along import along
from ...mechanics.part import Part
from ...mechanics.system import System
from ...solution.invariants import consistent_multipliers
from ...solution.joint_motion import joint_motion
from ...solution.motion_checks import by_radian
from ...solution.tree_joint_motion import public_names
from ...sparse import ROUNDING, eigen
from ...status import Answer, Status
from ...types import Floats
from .equations import OPTIONS, StaticEquations, moved_most

if TYPE_CHECKING:
    from ...mechanics.body_frame import BodyFrame
    from ...mechanics.composites.along import Along
    from ...mechanics.composites.mesh import CurveMesh
    from ...mechanics.part import Body


@dataclass(eq=False, repr=False)
class Equilibrium(Answer):
    """A system at rest.

    Attributes
    ----------
    system : System
    t : float
        Time at which loads are taken [s].
    q : ndarray, shape (n_q,)
    multipliers : ndarray, shape (n_constraints,)
        Of the constraints on configuration level, whose forces on the coordinates are `-G^T gamma`; `joint` gives
        forces and torques of joints.
    n_unstable : int
        Directions in which the energy falls: 0 is stable.
    status : Status
        Of a failure: the coordinates are the last ones reached, and `t` the last load; they warn (`NotSolved`).
    """

    system: System
    t: float
    q: np.ndarray
    multipliers: np.ndarray
    n_unstable: int
    status: Status
    iterations: int = 0
    tangent: Any = None

    numbers = frozenset({"q", "multipliers", "position", "rotation_matrix", "along", "joint"})

    def __repr__(self):
        unstable = f", {self.n_unstable} unstable directions" if self.success else ""
        return f"Equilibrium({self.system!r}, t={self.t:g}, {self.status.message}{unstable})"

    @property
    def state(self) -> dict[Body, CanonicalState]:
        """Dict body -> `CanonicalState` at rest: the start of an initial-value problem, or a guess.

        Raises
        ------
        InputError
            Where no equilibrium was found.
        """
        self.refuse_if_failed("the equilibrium")
        return {b: CanonicalState(vars(self)["q"][c], np.zeros(b.n_q))
                for b in self.system.bodies for c in [self.system.coordinates(b)]}

    def position(self, body: BodyFrame | str) -> np.ndarray:
        """Centre of mass of a body or node [m], shape (3,)."""
        body = self.system.find(body)
        return body.position(vars(self)["q"][self.system.coordinates(body)])

    def rotation_matrix(self, body: BodyFrame | str) -> np.ndarray:
        """Rotation matrix of a body or node, shape (3, 3)."""
        body = self.system.find(body)
        return body.rotation_matrix(vars(self)["q"][self.system.coordinates(body)])

    def joint(self, joint: Part | str) -> JointAtRest:
        """Coordinates and reactions of a joint."""
        values = vars(self)
        return JointAtRest(self.system, joint, self.t, values["q"], values["multipliers"])

    def along(self, beam: CurveMesh | str, s: Floats | None = None) -> Along:
        """Positions, rotations, strains, section forces and moments along a beam or rope, at the places `s`.

        Parameters
        ----------
        beam : Beam, Rope or str
        s : array_like, shape (n,), optional
            Places, as `beam.at` takes them; default: four intervals per element.

        Returns
        -------
        Along
            Arrays of shape (n, ...), see `timefem.mechanics.composites.along.Along`.

        Raises
        ------
        InputError
            When the beam is not in the system.
        """
        return along(self.system, beam, s, (self.t, vars(self)["q"], None))


# ---- what a joint of a system at rest carries, and how it stands

class JointAtRest:
    """Coordinates and reactions of a joint of an `Equilibrium`, as `JointMotion` tells them of a motion.

    `angle()`, `displacement()`, ... are its coordinates by their names.

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

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("coordinates", ()):
            return lambda: self.coordinate(name)
        raise AttributeError(f"the joint {self.__dict__.get('name')!r} has no {name!r}{known_names(name, dir(self))}")

    def __dir__(self):
        return public_names(self)

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

    def __call__(self, t, *, side="right"):
        return np.broadcast_to(self.z[0], (*np.shape(t), self.z.shape[1]))

    def _constraint_forces(self, t):
        return consistent_multipliers(self, t)

    def _pressed_forces(self, t):
        return {}

    def multipliers(self, t, kind=None):
        return np.broadcast_to(self._multipliers, (*np.shape(t), len(self._multipliers)))


# ---- warnings of equilibria that motions leave, and of drives whose motion would decide which there are

def warn_where_driven(found):
    """Warn of drives that turn something, where forces of inertia by that are no small part of what resists: the square
    of the rate beside that of the slowest vibration."""
    system, t = found.system, found.t
    state = np.append(vars(found)["q"], np.zeros(system.n_q))
    rates = np.abs(system.derivatives(t, state)[2][:system.n_constraints])
    if not rates.any():
        return
    rates /= by_radian(system, t, state)
    stiffness = _free(found)[1]
    slowest = np.linalg.eigvalsh((stiffness + stiffness.T) / 2).min(initial=np.inf)
    drive = rates.argmax()
    if rates[drive] ** 2 > OPTIONS.driven * slowest:
        warn(f"'{system.constraint_names[drive]}' turns at {rates[drive]:.3g} rad/s at t = {t:g}, and stands still in "
             "this equilibrium: forces of inertia by its motion are left out. What turns steadily is at rest with the "
             "drive held, and the energy of centrifugal forces: see 'Steady turning' in docs/how-to/analysis.md. With "
             "n_steps what is prescribed is a load that is raised")


def _free(found):
    """Motions that the constraints leave free, as columns in coordinates, by unit of mass; and what resists them."""
    equations, system = StaticEquations(found.system), found.system
    root, n_q = system.mass_scale**-0.5, system.n_q
    matrix = found.tangent.toarray()
    gradient = matrix[n_q:, :n_q] * root
    free = root[:, None] * (scipy.linalg.null_space(gradient) if equations.m else np.eye(n_q))
    return free, free.T @ matrix[:n_q, :n_q] @ free


def warn_where_unstable(found):
    """Warn of an equilibrium that motions leave, and name what goes furthest along the fastest of them.

    Where all forces have a potential these are as many as directions in which the energy falls. Others, such as moments
    that stay along an axis of space, may hold what falls, or not: motions of `M a + K q = 0` on the constraints tell.
    """
    if found.n_unstable > 0:
        equations, system = StaticEquations(found.system), found.system
        free, stiffness = _free(found)
        if np.abs(stiffness - stiffness.T).max() <= OPTIONS.increment * np.abs(stiffness).max():
            n, (values, vectors) = found.n_unstable, np.linalg.eigh(stiffness)
        else:
            mass = system.mass_matrix(found.t, np.append(vars(found)["q"], np.zeros(system.n_q)))
            values, errors, vectors = eigen(stiffness, np.abs(stiffness), ROUNDING, free.T @ (mass @ free))
            values = np.where((values.real < -errors) & np.isfinite(values), values.real, np.inf)
            n = np.count_nonzero(values < 0)
        if not n:
            return
        first = values.argmin()
        falls = system.label(moved_most(equations, np.abs(free @ vectors[:, first])))
        warn(f"the equilibrium is unstable in {n} direction{'s' * (n > 1)}, {falls} first: the least push leaves it; "
             "for a stable one give a guess beside it, on the side to which it would fall, or the end of a motion with "
             "dampers that comes to rest", Unstable)
