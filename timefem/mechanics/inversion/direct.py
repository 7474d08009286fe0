"""Inverse dynamics of trees whose joints are all driven: coordinates follow from the outputs, controls from these.

At each time `F(x, t) = 0` with x = q and F the deviations of the outputs; where these are fewer than the joints, x is
(q, mu) and `F = (q - q_s + W^-1 J^T mu, deviations)`, so that q is as near to the posture q_s as the outputs allow, in
the metric W of the mass matrix's diagonal. Its derivatives along the motion follow exactly, `F_x x' = -F_t` and so on,
and the controls from `B u = d/dt T_v - dL/dq - Q`: the least ones where they are more than joints.
"""

import casadi as ca
import numpy as np

from ...errors import InputError
from ..functions.trajectories import derivatives

SINGULAR = 1e-9  # smallest singular value, relative to the largest, of rows of unit length
ITERATIONS = 50


def is_direct(system, outputs):
    """Whether a system is a tree without quaternions and loops, all of whose joints are driven."""
    tree = system.bodies[0]
    if len(system.bodies) > 1 or not tree.velocity_by_solve or system.n_constraints or tree.n_v < tree.n_q:
        return False
    n = sum(part.n_controls for part in system.parts)
    if n < tree.n_q or len(outputs) > tree.n_q:
        return False
    return np.linalg.matrix_rank(input_matrix(system, 0.0, np.zeros(system.n_z))) == tree.n_q


def input_matrix(system, t, z):
    """B of the forces B u of the controls at a state, shape (n_q, n_controls)."""
    n = sum(part.n_controls for part in system.parts)
    return system.control_force(np.full(n, t), np.tile(z, (n, 1)), np.eye(n)).T


class DirectInversion:
    """Prescribed outputs of a tree that is driven in all joints.

    Parameters
    ----------
    system : System
    outputs : list of (Output, TimeFunction)
    posture : ndarray, shape (n_q,)
        Coordinates q_s to be near to.

    Attributes
    ----------
    relative_degrees : list of int
    """

    direct = True

    def __init__(self, system, outputs, posture):
        self.system, self.outputs, self.tree = system, outputs, system.bodies[0]
        self.n, m = self.tree.n_q, len(outputs)
        self.relative_degrees = [2] * m
        q, t, mu = ca.SX.sym("q", self.n), ca.SX.sym("t"), ca.SX.sym("mu", m if m < self.n else 0)
        deviations = []
        for output, trajectory in outputs:
            symbol, (target,) = derivatives(trajectory, 0)
            own = [q[(body.places.tolist() if body.carrier else slice(0, self.n))] for body in output.bodies]
            deviations.append(output.deviation(ca.substitute(target, symbol, t), *own))
        rows = ca.vertcat(*deviations)
        if m < self.n:
            pull = ca.jtimes(rows, q, mu, True) / ca.DM(self.tree.mass_scale)
            rows = ca.vertcat(q - ca.DM(posture) + pull, rows)
        x, xd = ca.vertcat(q, mu), ca.SX.sym("xd", self.n + mu.numel())
        first = ca.jtimes(rows, x, xd) + ca.jacobian(rows, t)
        second = ca.jtimes(first, x, xd) + ca.jacobian(first, t)
        self._rows = ca.Function("rows", [x, t], [ca.densify(rows), ca.densify(ca.jacobian(rows, x)),
                                                 ca.densify(ca.jacobian(rows, t))])
        self._second = ca.Function("second", [x, xd, t], [ca.densify(second)])

    def start(self, q):
        """Unknowns x of coordinates."""
        return np.append(q, np.zeros(self._rows.numel_in(0) - self.n))

    def at(self, t, x):
        """Unknowns near `x` that the outputs want at the time t, and their first and second derivative, (3, n).

        Raises
        ------
        InputError
            When there are none near, or the position is singular; names the output, and the motion that is open.
        """
        best = np.inf
        for _ in range(ITERATIONS):
            rows, jacobian, rate = (np.array(v) for v in self._rows(x, t))
            size = np.maximum(np.linalg.norm(jacobian, axis=1), 1e-300)
            solve = self._solver(t, jacobian / size[:, None])
            error = np.abs(rows[:, 0] / size).max() / max(1.0, np.abs(x).max())
            if error <= 1e-15 or (error <= 1e-9 and error >= 0.5 * best):
                break
            best = error
            step = solve(rows[:, 0] / size)
            x = x - step * min(1.0, 1.0 / max(np.abs(step[:self.n]).max(), 1e-300))
        else:
            worst = int(np.argmax(np.abs(rows[:, 0] / size)[-len(self.outputs):]))
            raise InputError(f"no position near fits the trajectory of {self.outputs[worst][0]!r} at t = {t:g}: it is "
                             "out of reach; change it, or give a start that is closer")
        xd = -solve(rate[:, 0] / size)
        return np.array([x, xd, -solve(np.array(self._second(x, xd, t)).ravel() / size)])

    def _solver(self, t, matrix):
        """The function b -> matrix^-1 b; refuses singular positions."""
        u, s, v = np.linalg.svd(matrix)
        if not s[-1] > SINGULAR * s[0]:
            m, names = len(self.outputs), self.tree.coordinate_names
            row = int(np.argmax(np.abs(u[-m:, -1])))
            way = v[-1, :self.n] / np.abs(v[-1, :self.n]).max(initial=1e-300)
            moved = ", ".join(f"{way[i]:+.2g} {names[i]}" for i in np.argsort(-np.abs(way))[:4] if abs(way[i]) > 0.05)
            raise InputError(f"the outputs pass a singular position at t = {t:g}: no motion of the joints changes "
                             f"{self.outputs[row][0]!r} alone there, and the motion ({moved}) changes none; go around "
                             "it, or prescribe other outputs")
        return lambda b: v.T @ ((u.T @ b) / s)

    def controls(self, t, q, v, a):
        """Controls at one time, of coordinates and their derivatives; the least ones where there are too many."""
        z = np.concatenate([q, self.tree.momenta(q, v)])
        force = self.tree.momentum_rate(q, v, a) + self.system.derivatives(t, z)[0][:self.n]
        return np.linalg.lstsq(input_matrix(self.system, t, z), force, rcond=None)[0]
