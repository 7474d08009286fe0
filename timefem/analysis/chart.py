"""Displacements of all bodies, by name: three of the centre of mass and three turns about axes of space, or as many as
a body has coordinates."""

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from ..mechanics.values.evaluate import evaluate
from ..memory import Recent

_MAPS = Recent()


def _maps(body):
    """Function of (q, v, a): Y with displacements Y dq, its first and second rate; and P with dq = P displacements."""
    if body.kind not in _MAPS:
        q, v, a = (ca.SX.sym(name, body.n_q) for name in "qva")
        turning = body.angular_velocity_map(q)
        place = ca.jacobian(body.frame(q)[0], q)
        y = ca.densify(ca.vertcat(place, turning))
        rate = ca.reshape(ca.jtimes(ca.vec(y), q, v), y.shape)
        second = ca.reshape(ca.jtimes(ca.vec(rate), q, v) + ca.jtimes(ca.vec(rate), v, a), y.shape)
        flat = ca.vertcat(*(ca.vec(ca.densify(x)) for x in (y, rate, second, body.null_space(q))))
        arguments = [ca.vertcat(q, v, a), ca.SX.sym("t"), ca.SX.sym("c", len(body.own_parameters))]
        _MAPS[body.kind] = ca.Function("chart", arguments, [flat])
    return _MAPS[body.kind]


def moving(system):
    """Bodies without counters of turns, which act on nothing."""
    return [body for body in system.bodies if not body.is_counter]


def components(system):
    """Names of the displacements of all bodies, list of str."""
    names = []
    for body in moving(system):
        label = system.label(body)
        if body.has_orientation:
            names += [f"{label}.{what}[{i}]" for what in ("position", "rotation") for i in range(3)]
        elif body.has_position:
            names += [f"{label}.{'q' if i in body.first_order else 'position'}[{i}]" for i in range(body.n_q)]
        elif hasattr(body, "moving"):
            names += [f"{label}.{name}" for joint in _joints(body) for name in _names(joint)]
        else:
            names += [f"{label}.q[{i}]" for i in range(body.n_q)]
    return names


def steps_of(body):
    """Of which coordinates of a body displacements are changes, and of which after them they are turns, step by step as
    they stand among displacements: pairs of arrays of int."""
    none, every = np.zeros(0, int), np.arange(body.n_q)
    if body.has_orientation:
        return [(every[:3], every[3:])]
    if not hasattr(body, "moving"):
        return [(every, none)]
    places = [(np.asarray(joint.places), joint.motion.first if joint.motion.turns else None) for joint in _joints(body)]
    return [(own[:first], none if first is None else own[first:]) for own, first in places]


def turns_of(system):
    """Slices of three of the displacements of all bodies that are turns."""
    start = 0
    for body in moving(system):
        for shifts, turns in steps_of(body):
            start += len(shifts)
            if len(turns):
                yield slice(start, start + 3)
                start += 3


def _joints(tree):
    """The moving bodies of a tree that have coordinates of their own, in their order."""
    own = [body for body in tree.moving if body.joint.mimic is None]
    return sorted(own, key=lambda body: min(body.places))


def _names(body):
    """Names of the displacements of a joint of a tree: turns instead of a quaternion."""
    name, motion = body.joint.name, body.motion
    if motion.turns:
        return [f"{name}.{what}[{i}]" for what in ("position", "rotation")[motion.first == 0:] for i in range(3)]
    return [name] if motion.n == 1 else [f"{name}.{coordinate}" for coordinate, _ in motion.told]


def _of_quaternion(p, v, a):
    """Blocks of a quaternion: turns about the axes that it is seen from, `2 dp o conj(p)`, rates, dp of turns, and
    the change of its length with its rate."""
    blocks = [2 * np.column_stack([-x[1:], x[0] * np.eye(3) + _cross(x[1:])]) for x in (p, v, a)]
    return [*blocks, blocks[0].T / 4], p, v


def _cross(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


@dataclass(eq=False)
class Chart:
    """The maps between displacements of bodies and changes of coordinates at one state.

    Attributes
    ----------
    y, first, second : ndarray, shape (n_displacements, n_q)
        `eta = Y dq`, and its rates `Y dv + Y' dq`, `Y da + 2 Y' dv + Y'' dq`.
    p : ndarray, shape (n_q, n_displacements)
        `dq = P eta`.
    vectors : list of (int, int)
        Where displacements start that are vectors of space, or of its first axes, and how many components they have.
    flows : list of int
        Displacements that are coordinates of first order.
    lengths, length_rates : ndarray, shape (n_lengths, n_q)
        Changes of the lengths of quaternions that no constraint holds, those of joints of trees, and their rates: what
        is not a displacement.
    """

    system: object
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def __post_init__(self):
        blocks, self.vectors, start = [[], [], [], []], [], 0
        lengths, self.flows = [], []
        for body in self.system.bodies:
            part = self.system.coordinates(body)
            if body.has_orientation:
                n, x = body.n_q, np.concatenate([self.q[part], self.v[part], self.a[part]])
                values = evaluate(_maps(body), x[None, None], np.zeros(1), body.own_parameters[None])[0, 0]
                own = [w.reshape(s, order="F") for w, s in zip(np.split(values, 6 * n * np.arange(1, 4)),
                                                               [(6, n)] * 3 + [(n, 6)], strict=True)]
                self.vectors += [(start, 3), (start + 3, 3)]
            elif body.is_counter:
                own = [np.zeros((0, 1))] * 3 + [np.zeros((1, 0))]
            elif hasattr(body, "moving"):
                own, vectors = self._of_tree(body, part, lengths)
                self.vectors += [(start + at, 3) for at in vectors]
            else:
                n = body.n_q
                own = [np.eye(n), np.zeros((n, n)), np.zeros((n, n)), np.eye(n)]
                self.vectors += [(start, n - len(body.first_order))] * body.has_position
                self.flows += [start + i for i in body.first_order]
            start += len(own[0])
            for block, value in zip(blocks, own, strict=True):
                block.append(value)
        self.y, self.first, self.second, self.p = (scipy.linalg.block_diag(*b) for b in blocks)
        self.lengths, self.length_rates = np.zeros((2, len(lengths), len(self.q)))
        for row, (places, value, rate) in enumerate(lengths):
            self.lengths[row, places], self.length_rates[row, places] = value, rate

    def _of_tree(self, tree, part, lengths):
        """Blocks of a tree, and where displacements of its base start that are vectors of space."""
        blocks, vectors, start = [[], [], [], []], [], 0
        for body in _joints(tree):
            places = part.start + np.asarray(body.places)
            n, first = len(places), body.motion.first
            own = [np.eye(n), np.zeros((n, n)), np.zeros((n, n)), np.eye(n)]
            if body.motion.turns:
                turn, value, rate = _of_quaternion(*(x[places[first:]] for x in (self.q, self.v, self.a)))
                own = [scipy.linalg.block_diag(x[:first, :first], block) for x, block in zip(own, turn, strict=True)]
                lengths.append((places[first:], value, rate))
                if body.parent < 0:
                    vectors += [start, start + 3][:1 + (first > 0)]
            start += len(own[0])
            for block, value in zip(blocks, own, strict=True):
                block.append(value)
        return [scipy.linalg.block_diag(*b) for b in blocks], vectors

    @cached_property
    def velocity(self):
        """Velocities and angular velocities in space, or rates of coordinates, shape (n_displacements,)."""
        return self.y @ self.v

    @cached_property
    def acceleration(self):
        """Its rates; of coordinates of first order their rates."""
        return self.y @ self.a + self.first @ self.v

    @property
    def rates(self):
        """Of all displacements along the motion, shape (n_displacements,)."""
        rates = self.velocity.copy()
        rates[self.flows] = self.acceleration[self.flows]
        return rates

    def turning(self, omega):
        """W with `W eta = omega x eta` of all displacements that are vectors of space."""
        w = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
        n = self.y.shape[0]
        matrix = np.zeros((n, n))
        for start, size in self.vectors:
            matrix[start:start + size, start:start + size] = w[:size, :size]
        return matrix

    def rotating(self, omega):
        """Rates in a frame that turns with `omega`: the first and second of them, as `first` and `second`."""
        w = self.turning(omega)
        return self.first - w @ self.y, self.second - 2 * (w @ self.first) + w @ (w @ self.y)
