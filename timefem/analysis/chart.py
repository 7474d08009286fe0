"""Displacements of all bodies, by name: three of the centre of mass and three turns about axes of space, or as many as
a body has coordinates."""

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from ..mechanics.point_functions import evaluate

_MAPS = {}


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
    return [body for body in system.bodies if not body.helper]


def components(system):
    """Names of the displacements of all bodies, list of str."""
    names = []
    for body in moving(system):
        label = system.label(body)
        if body.has_orientation:
            names += [f"{label}.{what}[{i}]" for what in ("position", "rotation") for i in range(3)]
        elif body.has_position:
            names += [f"{label}.position[{i}]" for i in range(body.n_q)]
        elif hasattr(body, "joint_names"):
            names += [f"{label}.{name}" for name in body.joint_names]
        else:
            names += [f"{label}.q[{i}]" for i in range(body.n_q)]
    return names


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
    """

    system: object
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def __post_init__(self):
        blocks, self.vectors, start = [[], [], [], []], [], 0
        for body in self.system.bodies:
            part = self.system.coordinates(body)
            if body.has_orientation:
                n, x = body.n_q, np.concatenate([self.q[part], self.v[part], self.a[part]])
                values = evaluate(_maps(body), x[None, None], np.zeros(1), body.own_parameters[None])[0, 0]
                own = [w.reshape(s, order="F") for w, s in zip(np.split(values, 6 * n * np.arange(1, 4)),
                                                               [(6, n)] * 3 + [(n, 6)], strict=True)]
                self.vectors += [(start, 3), (start + 3, 3)]
            elif body.helper:
                own = [np.zeros((0, 1))] * 3 + [np.zeros((1, 0))]
            else:
                n = body.n_q
                own = [np.eye(n), np.zeros((n, n)), np.zeros((n, n)), np.eye(n)]
                self.vectors += [(start, n)] * body.has_position
            start += len(own[0])
            for block, value in zip(blocks, own, strict=True):
                block.append(value)
        self.y, self.first, self.second, self.p = (scipy.linalg.block_diag(*b) for b in blocks)

    @cached_property
    def velocity(self):
        """Velocities and angular velocities in space, or rates of coordinates, shape (n_displacements,)."""
        return self.y @ self.v

    @cached_property
    def acceleration(self):
        return self.y @ self.a + self.first @ self.v

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
