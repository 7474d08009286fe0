"""Point masses on a line, in a plane or in space; of those that lose or gain mass, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError
from ...types import Expression, Floats
from ..declared import Integer, Real
from ..part import Body
from ..shapes import Piece
from ..symmetry import ALL, NONE
from .states import CanonicalState, Coordinates, Pose

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
                raise InputError(f"{label}: {what} {digits(value)} leaves the first {self.dimension} axes; set the "
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


# ---- Point masses that lose or gain mass

class VariableMass(PointMass):
    """A point whose mass m is a state of first order: `q = (r, m)`, `p = (m v, 0)`, `T = |p|^2 / (2 m)`.

    The momentum balance is Meshchersky's, `m v' = F`, `m' = flow`: what leaves or comes in does so with the velocity of
    the point, and takes the momentum `m' v` with it, `p' = F + m' v`. The thrust of a jet, `-c m'` along its direction
    with its speed c relative to the point, is a force like any other. A `FormulaForce` gives both, `(F, m')` in four
    numbers. Galerkin elements in Hamilton's, Lagrange's and the energy form take it.

    Raises
    ------
    InputError
        For a mass that is not positive, or another dimension.

    Examples
    --------
    A rocket along z, with a thrust of at most 100 N and a jet of 2000 m/s:

    >>> import timefem as tf
    >>> rocket = tf.VariableMass(10.0, name="rocket")
    >>> engine = tf.FormulaForce(rocket, "[0, 0, u[0], -u[0] / c[0]]", parameters=[2000.0], n_controls=1, name="engine")
    """

    mass = Real("mass at the start where the state there does not tell another one", "kg", above=0)
    dimension = PointMass.dimension

    def numbers(self, c: Any) -> dict[str, Any]:
        return {}  # the mass is a coordinate

    def __repr__(self):
        return super().__repr__().replace("PointMass", "VariableMass")

    @property
    def n_q(self) -> int:
        return self.dimension + 1

    @property
    def first_order(self) -> tuple[int, ...]:
        return (self.dimension,)

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        return ca.sumsqr(p[:self.dimension]) / (2 * q[self.dimension]) + ca.sumsqr(p[self.dimension:]) / 2

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        return q[self.dimension] * ca.sumsqr(v[:self.dimension]) / 2 + ca.sumsqr(v[self.dimension:]) / 2

    def invariant_velocity(self, q: ca.SX, v: ca.SX) -> None:
        return None

    def invariant_momentum(self, q: ca.SX, p: ca.SX) -> None:
        return None

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return super().frame(q[:self.dimension])

    def mass_of(self, c: Any) -> Any:
        return 1.0  # it is in `centre_of_mass`

    def centre_of_mass(self, q: ca.SX, c: ca.SX, of_weight: bool = False) -> ca.SX:
        return q[:self.dimension] * (q[self.dimension] if of_weight else 1)

    def flow(self, q: ca.SX, v: ca.SX, rate: ca.SX) -> ca.SX:
        """Generalized force of what comes in with the velocity of the point, with that rate of the mass."""
        return ca.vertcat(rate * v[:self.dimension], rate)

    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (r, m) and momenta of a `Pose`, whose mass is `mass`.

        Raises
        ------
        InputError
            When the pose has a rotation, or leaves the line or plane of the point.
        """
        q, p = super().state(pose)
        return np.append(q, self.mass), np.append(p, 0.0)

    def of_coordinates(self, value: Coordinates) -> CanonicalState:
        """State of `Coordinates((r, m), (v, 0))`.

        Raises
        ------
        InputError
            For another number of coordinates, and a mass that is not positive.
        """
        state = super().of_coordinates(value)
        if not value.q[-1] > 0:
            raise InputError(f"{self._title}: the mass must be positive, not {digits(value.q[-1])}")
        return CanonicalState(state.q, state.p * (np.arange(self.n_q) < self.dimension))  # mass has no momentum

    def rigid_motion(self, q: ca.SX) -> ca.SX:
        return ca.vertcat(super().rigid_motion(q[:self.dimension]), ca.SX(1, 6))

    def _place(self, values):
        return np.asarray(values, float)[..., :self.dimension]

    def position(self, q: Floats) -> np.ndarray:
        return super().position(self._place(q))

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Velocity, shape (..., 3) [m/s]."""
        return self._padded(self._place(p)) / np.asarray(q, float)[..., -1:]

    def variable_mass(self, q: Floats) -> np.ndarray:
        """Mass, shape (...) [kg]."""
        return np.asarray(q, float)[..., -1]

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        return super().linear_momentum(None, self._place(p))

    def angular_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        return super().angular_momentum(self._place(q), self._place(p))

    def mass_matrix(self, q: Floats) -> np.ndarray:
        """Mass matrix, shape (..., n_q) -> (..., n_q, n_q)."""
        q = np.asarray(q, float)
        diagonal = np.ones_like(q)
        diagonal[..., :-1] = q[..., -1:]
        return diagonal[..., None] * np.eye(self.n_q)
