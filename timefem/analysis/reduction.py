"""Changes of all coordinates as minimal ones: independent displacements and rates, modulo motions not noticed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from .. import validate
from ..errors import InputError, NamedArguments
from ..mechanics.bodies import rotations
from ..mechanics.values.equations_of_motion import EquationsOfMotion
from ..records import frozen
from ..types import Floats, Vector
from .chart import Chart, components
from .options import OPTIONS

if TYPE_CHECKING:
    from ..mechanics.system import System


TRIAL = 0.7, 1.3  # angle [rad] and shift [m] by which the symmetry of a system is tested


@frozen(eq=False)
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
            most = OPTIONS.same_acceleration * max(one.size, other.size) + one.rounding + other.rounding
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


@dataclass(eq=False)
class Reduction:
    """Linear equations of a system at one state in minimal coordinates x = (y, s).

    y are independent displacements, s independent ones of their rates, in a frame that turns with `omega`. States of
    first order are among y, and their rates follow.

    Parameters
    ----------
    at : EquationsOfMotion
    chosen : (ndarray of int, ndarray of int), optional
        Displacements y, and which of them have independent rates s; default: what the constraints suggest.
    turning : bool
        Whether to look for a frame that turns.

    Attributes
    ----------
    a, b : ndarray, shapes (n, n), (n, n_controls)
        `xdot = A x + B u`.
    terms : ndarray, shape (n, n)
        Sums of the absolute values of the terms of A.
    dq, dv : ndarray, shape (n_q, n)
        Changes of coordinates and velocities with x.
    displacements : ndarray, shape (n_displacements, n)
        Those of all bodies with x.
    """

    at: EquationsOfMotion
    chosen: tuple | None = None
    turning: bool = True

    def __post_init__(self):
        at = self.at
        self.chart = Chart(at.system, at.q, at.v, at.acceleration)
        self.omega, self.steady = self._frame() if self.turning else (np.zeros(3), False)
        first, second = self.chart.rotating(self.omega)
        gradient, by_q = at.levels
        if self.chosen is None:
            self.chosen = self._independent(gradient)
        y, s = self.chosen
        # displacements: G dq = 0, Y_y dq = y
        eye, chart = np.eye(len(y) + len(s)), self.chart
        none = np.zeros((len(at.counters) + len(chart.lengths), len(eye)))
        rows = np.concatenate([gradient[:at.m], chart.y[y], at.counters, chart.lengths])
        right = np.concatenate([np.zeros((at.m, len(eye))), eye[:len(y)], none])
        self.dq = self._solved(rows, right)
        none[len(at.counters):] = -(chart.length_rates @ self.dq)
        rows = np.concatenate([gradient, chart.y[s], at.counters, chart.lengths, chart.y[chart.flows]])
        efforts = at.efforts_by_state @ self.dq
        right = np.concatenate([-(by_q @ self.dq), eye[len(y):] - first[s] @ self.dq, none, efforts])
        self.dv = self._solved(rows, right)
        (self.da, size), self.by_controls = at.tangent(self.dq, self.dv), at.by_controls()
        rates, of_rates = self.dv.copy(), np.abs(self.dv)
        rates[at.flows], of_rates[at.flows] = self.da[at.flows], size[at.flows]
        of_q, of_v = np.abs(self.dq), np.abs(self.dv)
        rows = ((chart.y[y], rates, of_rates, 1), (first[y], self.dq, of_q, 1), (chart.y[s], self.da, size, 1),
                (first[s], self.dv, of_v, 2), (second[s], self.dq, of_q, 1))
        terms = [factor * (a @ b) for a, b, _, factor in rows]
        sizes = [np.abs(a) @ of_b for a, _, of_b, _ in rows]
        value, size = (np.concatenate([x[0] + x[1], x[2] + x[3] + x[4]]) for x in (terms, sizes))
        # rounding among exact zeros would spread eigenvalues that are zero
        self.a, self.terms = np.where(np.abs(value) > OPTIONS.rounding * size, value, 0.0), size
        self.a[self._unseen()] = 0.0
        self.b = np.concatenate([chart.y[y][:, at.flows] @ self.by_controls[at.flows], chart.y[s] @ self.by_controls])
        self.displacements = chart.y @ self.dq

    def _solved(self, rows, right):
        scale = 1 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        try:
            return np.linalg.solve(scale * rows, scale * right)
        except np.linalg.LinAlgError:
            raise InputError("the constraints are singular at this state, or the chosen coordinates are not "
                             "independent there") from None

    @property
    def names(self):
        """Names of x, list of str."""
        names, (y, s) = components(self.at.system), self.chosen
        return [names[i] for i in y] + [f"rate of {names[i]}" for i in s]

    @cached_property
    def mass(self):
        """Mass matrix in the displacements of all bodies; of states of first order 1."""
        return self.chart.p.T @ self.at.inertia @ self.chart.p

    def stays(self):
        """Whether the matrix A stays as it is while the motion goes on: by invariants of it, a little later."""
        at, a = self.at, self.a
        if not self.chart.rates.any() and not at.timed:
            return True
        if not self.omega.any() and self._stretches():
            return False
        rate, size = self._fastest()
        step = OPTIONS.moved / (rate or 1.0)  # where nothing has a rate as yet, any change counts, at any time
        b = Reduction(self._later(step), self.chosen, bool(self.omega.any())).a
        powers = a, b
        for k in range(1, 5):
            if abs(np.trace(powers[0]) - np.trace(powers[1])) > 10 * OPTIONS.moved**2 * size**k:
                return False
            powers = powers[0] @ a, powers[1] @ b
        return True

    def _unseen(self):
        """Entries of A that make no rate above rounding of the fastest, such as those of the last, quadratic correction
        of an assembly: balanced by them, displacements differ by a hundred powers of ten."""
        first, a = self._in_units()
        order = 1 + first - first[:, None].astype(int)
        return np.abs(a) < np.finfo(float).eps**2 * self._fastest()[0]**order

    def _in_units(self):
        """Which rows of A are of displacements, and A with displacements in units in which they and their rates have
        energies alike."""
        (y, s), root = self.chosen, np.sqrt(np.maximum(self.mass.diagonal(), 0))
        root = np.where(root > 0, root, root.max(initial=0.0) or 1.0)
        unit, first = np.concatenate([root[y], root[s]]), np.arange(len(y) + len(s)) < len(y)
        return first, unit[:, None] * self.a / unit

    def _fastest(self):
        """The fastest rate in A and of the motion [1/s], and the size of A in these units."""
        root, chart = np.sqrt(np.maximum(self.mass.diagonal(), 0)), self.chart
        speed = np.linalg.norm(root * chart.velocity)
        rate = max(self._turns(), np.linalg.norm(root * chart.acceleration) / speed if speed else 0.0)
        first, a = self._in_units()
        parts = [np.linalg.norm(a[np.ix_(rows, columns)]) for rows in (first, ~first) for columns in (first, ~first)]
        rate = max(rate, parts[0], parts[3], np.sqrt(parts[1] * parts[2]))
        return rate, np.sqrt(parts[0]**2 + parts[3]**2 + (rate * parts[1])**2 + (parts[2] / (rate or 1.0))**2)

    def _stretches(self):
        """Whether accelerations of a motion that is straight at first grow with the square of the time, as those of
        bodies that turn about each other before their springs are stretched; rounding grows otherwise."""
        chart, rate = self.chart, self._turns()
        if not rate:
            return False
        root, step, changes = np.sqrt(np.maximum(self.mass.diagonal(), 0)), OPTIONS.moved / rate, []
        for ahead in (step, 2 * step):
            later = self._later(ahead, at_once=True)
            then = Chart(later.system, later.q, later.v, later.acceleration)
            changes.append(root * (then.acceleration - chart.acceleration))
        size = np.linalg.norm(changes[1])
        return size > OPTIONS.steady * later.size and np.linalg.norm(changes[1] - 4 * changes[0]) < size / 2

    def _turns(self):
        """How fast bodies turn, by themselves and about each other [1/s]."""
        axes, place, speed = {}, self.chart.y @ self.at.q, self.chart.velocity
        for i, name in enumerate(components(self.at.system)):
            axes.setdefault(name[-2:] if ".position[" in name else "", []).append(i)
        turns = axes.pop("", [])
        reach = max((np.ptp(place[axis]) for axis in axes.values()), default=0.0)
        apart = max((np.ptp(speed[axis]) for axis in axes.values()), default=0.0)
        return max(np.abs(speed[turns]).max(initial=0.0), apart / reach if reach else 0.0)

    def _later(self, step, at_once=False):
        """The equations of motion a step later, where accelerations stay as they are; `at_once` with forces and
        constraints of now."""
        at, bends = self.at, self.at.acceleration.copy()
        bends[at.flows] = 0.0
        q = at.q + step * at.rates + step**2 / 2 * bends
        v = at.v + step * bends
        v[at.flows] += at.efforts_by_state @ (q - at.q)
        return EquationsOfMotion(at.system, at.t if at_once else at.t + step, q, v, at.u)

    def _independent(self, gradient):
        """Displacements y, and those whose rates are independent too, by the constraints with column pivoting."""
        at, p = self.at, self.chart.p
        weight = 1 / np.sqrt(np.maximum(np.abs(self.mass.diagonal()), 1e-300))
        names = components(at.system)
        weight = weight * np.where(["rotation" in name for name in names], 1 / OPTIONS.turns_first, 1.0)
        size = np.linalg.norm(gradient, axis=1, keepdims=True)
        gradient = gradient / np.where(size > 0, size, 1.0)
        g, terms = gradient @ p * weight, np.abs(gradient) @ np.abs(p) * weight
        g[np.abs(g) <= OPTIONS.rounding * terms] = 0.0  # constraints of directors alone, which displacements meet
        y, step = _free(g[:at.m])
        # rates of y that the constraints on velocities leave: A P N
        s = y[_free(g[at.m:] @ step)[0]] if at.k else y
        return y, s[~np.isin(s, self.chart.flows)]

    def _frame(self):
        """The angular velocity of a frame in which the motion is steady, and whether it is."""
        chart, at = self.chart, self.at
        acceleration = chart.acceleration
        root = np.sqrt(np.maximum(self.mass.diagonal(), 0))
        speed = chart.velocity
        size = np.linalg.norm(root * speed)
        none = np.zeros(3)
        limit = OPTIONS.steady * (at.size + np.linalg.norm(root * acceleration) * 1e-3) + at.rounding
        if np.linalg.norm(root * acceleration) <= limit or not size:
            return none, bool(np.linalg.norm(root * acceleration) <= limit)
        flat = any(n < 3 for _, n in chart.vectors)
        axes = np.eye(3)[2:] if flat else np.eye(3)
        columns = np.stack([root * (chart.turning(axis) @ speed) for axis in axes], axis=1)
        found, *_ = np.linalg.lstsq(columns, root * acceleration, rcond=1e-9)
        rest = np.linalg.norm(root * acceleration - columns @ found)
        if rest > OPTIONS.steady * max(at.size, np.linalg.norm(root * acceleration)) + at.rounding:
            return none, False
        return found @ axes, True


def _free(g):
    """Columns that rows of `g` leave independent, in order, and the dependence of all columns on them."""
    n = g.shape[1]
    r, pivots = scipy.linalg.qr(g, mode="r", pivoting=True) if len(g) else (np.zeros((0, n)), np.arange(n))
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-9 * diagonal.max(initial=0)).sum())
    free = pivots[rank:]
    order = np.argsort(free)
    step = np.zeros((n, n - rank))
    step[pivots[:rank]] = -scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    step[free] = np.eye(n - rank)
    return free[order], step[:, order]
