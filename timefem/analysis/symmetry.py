"""Motions of space that a system does not notice: turns about an axis, and shifts. Motions may repeat modulo these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from .. import validate
from ..argument_names import NamedArguments
from ..errors import InputError
from ..mechanics.bodies import rotations
from ..mechanics.values.equations_of_motion import EquationsOfMotion
from ..types import Floats, Vector
from .options import OPTIONS

if TYPE_CHECKING:
    from ..mechanics.system import System
    from .reduction import Reduction

TRIAL = 0.7, 1.3  # angle [rad] and shift [m] by which the symmetry of a system is tested


@dataclass(frozen=True, eq=False)
class WayBack:
    """A map of states that takes a turn and a shift back.

    Attributes
    ----------
    matrix, offset : ndarray, shapes (n_z, n_z), (n_z,)
    angle : float
        Of the turn [rad].
    shift : ndarray, shape (3,)
        [m]
    """

    matrix: np.ndarray
    offset: np.ndarray
    angle: float
    shift: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return self.matrix @ z + self.offset


@dataclass(eq=False)
class Symmetry(NamedArguments):
    """Turns about an axis through the origin, and shifts, after which a motion counts as the same.

    Parameters
    ----------
    axis : array_like, shape (3,), optional
        Such as that of gravity.
    shifts : array_like, shape (n, 3) or (3,), optional
        Directions, independent of each other.

    Raises
    ------
    InputError
        When neither is given.
    """

    axis: Vector | None = None
    shifts: Floats = ()

    def __post_init__(self):
        if self.axis is not None:
            self.axis = validate.array("axis", self.axis, (3,))
            if not self.axis.any():
                raise InputError("axis must not be zero")
            self.axis = self.axis / np.linalg.norm(self.axis)
        self.shifts = validate.array("shifts", np.reshape(np.asarray(self.shifts, float), (-1, 3)), (None, 3))
        if self.axis is None and not len(self.shifts):
            raise InputError("give the axis of turns, or the directions of shifts")
        if len(self.shifts) and np.linalg.matrix_rank(self.shifts) < len(self.shifts):
            raise InputError("shifts must be independent of each other")

    def moved(self, system: System, angle: float, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The map of states `z -> G z + b` of a turn and then a shift [m]: matrix and vector."""
        turn = np.eye(3) if self.axis is None else scipy.spatial.transform.Rotation.from_rotvec(
            angle * self.axis).as_matrix()
        blocks, offset = [], np.zeros(system.n_z)
        for body in system.bodies:
            blocks.append(_block(system, body, turn, shift))
            if body.has_position:
                place = np.arange(system.n_q)[system.coordinates(body)][:3]
                offset[place] = shift[:len(place)]
        matrix = np.zeros((system.n_q, system.n_q))
        for body, block in zip(system.bodies, blocks, strict=True):
            part = system.coordinates(body)
            matrix[part, part] = block
        return scipy.linalg.block_diag(matrix, matrix), offset

    def check(self, system: System, t: float, z: np.ndarray) -> None:
        """Refuse systems that lack the symmetry: whose accelerations at a state do not turn with it.

        Raises
        ------
        InputError
        """
        shift = TRIAL[1] * self.shifts.sum(axis=0)
        matrix, offset = self.moved(system, TRIAL[0], shift)
        there = matrix @ z + offset
        residual = np.abs(system.constraints(t, there)).max(initial=0.0)
        same = residual <= OPTIONS.same_acceleration * (1 + np.abs(there).max())
        if same:
            one, other = (EquationsOfMotion.of_state(system, t, x) for x in (z, there))
            rotated = matrix[:system.n_q, :system.n_q] @ one.acceleration
            root = np.sqrt(system.mass_scale)
            most = OPTIONS.same_acceleration * max(one.size, other.size)
            same = np.linalg.norm(root * (rotated - other.acceleration)) <= most
        if not same:
            what = ["a turn about the axis"] * (self.axis is not None) + ["shifts"] * bool(len(self.shifts))
            raise InputError(f"the system is not the same after {' and '.join(what)}: its forces or constraints "
                             "single out a place or a direction")

    def way_back(self, first: Reduction, last: Reduction, z: np.ndarray) -> WayBack:
        """The `WayBack` from the state z, that of the second `Reduction`, to near that of the first one."""
        system, (angle, shift) = first.at.system, self.between(first, last)
        matrix, offset = self.moved(system, angle, shift)
        return WayBack(matrix.T, -matrix.T @ offset, angle, shift)

    def between(self, first: Reduction, last: Reduction) -> tuple[float, np.ndarray]:
        """Angle and shift that take the state of one `Reduction` nearest to that of another one."""
        (places, arrows), (to_places, to_arrows) = (_vectors(r) for r in (first, last))
        middle, to_middle = (x.mean(axis=0) if len(x) and len(self.shifts) else np.zeros(3) for x in
                             (places, to_places))
        size = max(np.linalg.norm(places - middle, axis=1).max(initial=0.0), 1e-300)
        a = np.concatenate([(places - middle) / size, arrows])
        b = np.concatenate([(to_places - to_middle) / size, to_arrows])
        angle, turn = 0.0, np.eye(3)
        if self.axis is not None:
            angle = float(np.arctan2((np.cross(a, b) @ self.axis).sum(),
                                     (a * b).sum() - ((a @ self.axis) * (b @ self.axis)).sum()))
            turn = scipy.spatial.transform.Rotation.from_rotvec(angle * self.axis).as_matrix()
        wanted = to_middle - turn @ middle
        shift = self.shifts.T @ np.linalg.lstsq(self.shifts.T, wanted, rcond=None)[0] if len(self.shifts) else \
            np.zeros(3)
        return angle, shift

    def tangents(self, system: System, z: np.ndarray) -> np.ndarray:
        """Changes of a state per radian and metre of the symmetry, columns (n_z, n)."""
        columns = []
        if self.axis is not None:  # of a turn by a small angle, exact to the order of its square
            forward, back = (self.moved(system, s * OPTIONS.symmetry_angle, np.zeros(3))[0] for s in (1, -1))
            columns.append((forward - back) @ z / (2 * OPTIONS.symmetry_angle))
        columns += [self.moved(system, 0.0, direction)[1] for direction in self.shifts]
        return np.stack(columns, axis=1)


def _block(system, body, turn, shift):
    """What happens to the coordinates, and of the momenta, of a body; both turn alike."""
    if body.helper:
        return np.eye(body.n_q)
    if body.has_orientation:
        if hasattr(body, "quaternion"):
            quaternion = rotations.quaternion_from_matrix(turn)
            return scipy.linalg.block_diag(turn, rotations.product(quaternion, np.eye(4)).T)
        return np.kron(np.eye(4), turn)
    if not body.has_position or body.n_q > 3:
        raise InputError(f"{system.label(body)} has coordinates of its own, for which turns and shifts are not known")
    n = body.n_q
    if np.abs(turn[:n, n:]).max(initial=0.0) + np.abs(shift[n:]).max(initial=0.0) > 1e-12:
        raise InputError(f"{system.label(body)} moves in {n} directions only, which turns and shifts must preserve")
    return turn[:n, :n]


def _vectors(reduction):
    """Places of bodies, and directions and velocities of a state, which turn like vectors: two arrays (n, 3)."""
    at, chart = reduction.at, reduction.chart
    places, arrows = [], []
    for body in at.system.bodies:
        if body.helper or not body.has_position:
            continue
        q = at.q[at.system.coordinates(body)]
        places.append(np.pad(q[:3], (0, 3 - len(q[:3]))))
    rates = [np.pad(chart.velocity[start:start + n], (0, 3 - n)) for start, n in chart.vectors]
    size = max(np.linalg.norm(rates, axis=1).max(initial=0.0), 1e-300) if rates else 1.0
    arrows += [rate / size for rate in rates]
    for body in at.system.bodies:
        if body.has_orientation and not body.helper:
            arrows += list(body.rotation_matrix(at.q[at.system.coordinates(body)]).T)
    return np.reshape(places, (-1, 3)), np.reshape(arrows, (-1, 3))
