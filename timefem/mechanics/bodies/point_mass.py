"""Point masses on a line, in a plane or in space."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression, Floats
from ..declared import Integer, Real
from ..part import Body
from ..shapes import Piece
from ..symmetry import ALL, NONE

if TYPE_CHECKING:
    from .states import Pose


class PointMass(Body):
    """A point with mass: `q` is its position, `p = m qdot`, `T = |p|^2 / (2 m)`.

    Output (positions, velocities, momenta) always has three components; those beyond `dimension` are zero.

    Raises
    ------
    InputError
        For a mass that is not positive, or another dimension.
    """

    mass = Real("mass", "kg", above=0)
    dimension = Integer("moves along x, in the plane (x, y), or in space", 3, least=1, most=3)
    has_position = True

    def numbers(self, c: Any) -> dict[str, Any]:
        return {"inverse mass": 1 / c.mass}

    def __repr__(self):
        name = f", name={self.name!r}" if self.name else ""
        return f"PointMass(mass={self.mass:g}, dimension={self.dimension}{name})"

    @property
    def n_q(self) -> int:
        return self.dimension

    @property
    def kind(self) -> Hashable:
        return ("point mass", self.dimension)

    @property
    def mass_scale(self) -> np.ndarray:
        """Size of the mass matrix per coordinate, for scaling."""
        return np.full(self.n_q, self.mass)

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        return self.kinetic_of_invariant_momentum(p, c)

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        return self.kinetic_of_invariants(v, c)

    def kinetic_of_invariants(self, w: ca.SX, c: Any) -> Expression:
        return ca.sumsqr(w) / (2 * c[0])

    def kinetic_of_invariant_momentum(self, w: ca.SX, c: Any) -> Expression:
        return c[0] * ca.sumsqr(w) / 2

    def invariant_velocity(self, q: ca.SX, v: ca.SX) -> ca.SX:
        return v

    def invariant_momentum(self, q: ca.SX, p: ca.SX) -> ca.SX:
        return p

    @property
    def n_increments(self) -> int:
        return self.n_q

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Symbolic position (3,) and the identity matrix, so that joints see it as they see a rigid body."""
        return ca.vertcat(q, ca.SX.zeros(3 - self.dimension)), ca.SX.eye(3)

    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta of a `Pose`: two arrays of length n_q.

        Raises
        ------
        InputError
            When the pose has a rotation, or leaves the line or plane of the point mass.
        """
        label = self.name or "PointMass"
        if np.any(pose.quaternion[1:]) or np.any(pose.angular_velocity):
            raise InputError(f"{label}: a point mass does not rotate; give a Pose with position and velocity only")
        for what, value in (("position", pose.position), ("velocity", pose.velocity)):
            if np.any(value[self.dimension:]):
                raise InputError(f"{label}: {what} {value.tolist()} leaves the first {self.dimension} axes; set the "
                                 f"other components to zero, or use a larger dimension")
        return pose.position[:self.dimension], self.mass * pose.velocity[:self.dimension]

    def rigid_motion(self, q: ca.SX) -> ca.SX:
        place = ca.vertcat(q, ca.SX(3 - self.dimension, 1))
        return ca.horzcat(ca.SX.eye(3), -ca.skew(place))[:self.dimension, :]

    def workless_motions(self) -> np.ndarray:
        plane = ALL[:, [5]] if self.dimension == 2 else ALL[:, 3:] if self.dimension == 3 else NONE
        return np.hstack([ALL[:, :self.dimension], plane])

    def _padded(self, values):
        values = np.asarray(values, float)
        return np.concatenate([values, np.zeros((*values.shape[:-1], 3 - self.dimension))], axis=-1)

    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]:
        position, n = self.position(q), len(q)
        return [Piece("", None, np.zeros(3), position, self.velocity(q, p), np.broadcast_to(np.eye(3), (n, 3, 3)),
                      np.zeros((n, 3)))]

    def position(self, q: Floats) -> np.ndarray:
        """Position, shape (..., n_q) -> (..., 3) [m]."""
        return self._padded(q)

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Velocity, shape (..., 3) [m/s]."""
        return self._padded(p) / self.mass

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Linear momentum, shape (..., 3) [kg m/s]."""
        return self._padded(p)

    def angular_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Angular momentum about the origin, shape (..., 3) [kg m^2/s]."""
        return np.cross(self._padded(q), self._padded(p))
