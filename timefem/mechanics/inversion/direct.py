"""Inverse dynamics where outputs and constraints settle the coordinates: controls follow from these.

So it is for trees where all motions that constraints leave open are driven, also with free bases, loops and other
bodies, and for robots in redundant coordinates with as many outputs as degrees of freedom. At each time `F(x, t) = 0`
with x = q and F the constraints, the lengths of quaternions, which rest, and the deviations of the outputs; where these
are fewer than the coordinates, x is (q, mu) and `F = (q - q_s + W^-1 J^T mu, held)` with all that is held and its
Jacobian J, so that q is as near to the posture q_s as the outputs allow, in the metric W of the mass matrix's diagonal.
Its derivatives along the motion follow exactly, `F_x x' = -F_t` and so on, and the controls from
`B u = d/dt T_v - dL/dq - Q + G^T gamma`: the least ones where they are more than what moves.
"""

import casadi as ca
import numpy as np
import scipy

from ...errors import InputError
from ...memory import Recent
from ..symbols import Symbols
from ..system import coordinate_names
from ..time_functions import derivatives
from ..values.evaluate import evaluate
from ..values.of_parts import control_force
from ..values.quantities import formulas_of
from .inversion import OPTIONS


def is_direct(system, outputs, t, z):
    """Whether a system has a tree, and all that its constraints leave open is driven: loops, free bases, other bodies.

    Lengths of quaternions rest by themselves. Systems without controls, and those that count turns, are not.
    """
    if not any(body.velocity_by_solve for body in system.bodies) or any(body.helper for body in system.bodies):
        return False
    if not any(part.n_controls for part in system.parts):
        return False
    scale = system.state_scale[:system.n_q]
    held = system.derivatives(t, z)[1].toarray()[:system.n_constraints, :system.n_q]
    open_ = open_motions(held, quaternions(system), z[:system.n_q], scale)
    moved = open_.T @ (scale[:, None] * input_matrix(system, t, z))
    return len(outputs) <= open_.shape[1] == np.linalg.matrix_rank(moved)


def open_motions(held, rest, q, scale):
    """Directions of q / scale that constraints leave open, of gradients `held`, and quaternions at the places `rest`.

    Returns
    -------
    ndarray, shape (n_q, n)
        Orthonormal columns.
    """
    rows = np.vstack([held, np.zeros((len(rest), len(q)))])
    for row, places in zip(rows[len(held):], rest, strict=True):
        row[places] = q[places]  # the gradient of its halved squared length
    rows = rows * scale
    size = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return scipy.linalg.null_space(rows / size) if len(rows) else np.eye(len(q))


def quaternions(system):
    """Places of the quaternions of trees among all coordinates, list of ndarray."""
    return [np.arange(system.n_q)[system.coordinates(tree)][list(body.places)[body.motion.first:]]
            for tree in system.bodies if tree.velocity_by_solve for body in tree.moving
            if body.motion.turns and body.joint.mimic is None]


def is_settled(system, outputs):
    """Whether constraints, many of them, and outputs are as many as coordinates, and controls as many as outputs."""
    n = sum(part.n_controls for part in system.parts)
    return OPTIONS.many_constraints <= system.n_constraints == system.n_q - len(outputs) and n == len(outputs)


def constraints_of(system, q, t, numbers=None):
    """Constraints Phi(q, t) in CasADi symbols, with numbers of parts, part -> {place: SX}, in the places of its own."""
    rows = [ca.SX(0, 1)]
    for part in system.parts:
        if part.constraint_names:
            s = Symbols(part)
            phi = ca.Function("phi", [*s.q, s.t, s.parameters], [part.constraints(s)])
            parameters = ca.SX(part.parameters)
            for i, value in (numbers or {}).get(part, {}).items():
                parameters[i] = value
            rows.append(phi(*(q[place(system, body)] for body in part.bodies), t, parameters))
    return ca.vertcat(*rows)


def place(system, body):
    """Numbers of the coordinates of a body, as CasADi takes them."""
    return np.arange(system.n_q)[system.coordinates(body)].tolist()


def momentum_rate(system, t, z, v, a):
    """`d/dt T_v(q, v)` at one state, shape (n_q,)."""
    out = np.zeros(system.n_q)
    for group in system.groups:
        function = formulas_of(group.part).whole("momentum")
        if group.part.kind not in _RATES:
            x, *others = function.sx_in()
            way = ca.SX.sym("way", x.numel())
            rate = ca.densify(ca.jtimes(function(x, *others), x, way))
            _RATES[group.part.kind] = ca.Function("rate", [ca.vertcat(x, way), *others], [rate])
        index = group.state_index
        q = index[:, :index.shape[1] // 2]
        both = np.concatenate([z[index], v[q], v[q], np.zeros(q.shape), a[q]], axis=1)
        np.add.at(out, q, evaluate(_RATES[group.part.kind], both[None], np.array([t]), group.parameters)[0])
    return out


_RATES = Recent()  # by kind of part


def input_matrix(system, t, z):
    """B of the forces B u of the controls at a state, shape (n_q, n_controls)."""
    n = sum(part.n_controls for part in system.parts)
    return control_force(system, np.full(n, t), np.tile(z, (n, 1)), np.eye(n)).T


def largest_parts(way, names):
    """The largest parts of a direction, for messages."""
    return ", ".join(f"{way[i]:+.2g} {names[i]}" for i in np.argsort(-np.abs(way))[:4] if abs(way[i]) > 0.05)


class DirectInversion:
    """Prescribed outputs that settle the coordinates.

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

    direct, by_constraints = True, False

    def __init__(self, system, outputs, posture):
        self.system, self.outputs, self.n, m = system, outputs, system.n_q, len(outputs)
        self.n_forces, self.relative_degrees = system.n_constraints, [2] * m
        self._rest, self._scale = quaternions(system), system.state_scale[:system.n_q]
        self._n_held = n_rows = self.n_forces + len(self._rest) + m
        open_ = n_rows < self.n
        q, t, mu = ca.SX.sym("q", self.n), ca.SX.sym("t"), ca.SX.sym("mu", n_rows if open_ else 0)
        deviations = []
        for output, trajectory in outputs:
            symbol, (target,) = derivatives(trajectory, 0)
            own = [q[place(system, body)] for body in output.bodies]
            deviations.append(output.deviation(ca.substitute(target, symbol, t), *own))
        lengths = [(ca.sumsqr(q[places.tolist()]) - float(posture[places] @ posture[places])) / 2
                   for places in self._rest]
        rows = ca.vertcat(constraints_of(system, q, t), *lengths, *deviations)
        if open_:
            pull = ca.jtimes(rows, q, mu, True) / ca.DM(system.mass_scale)
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
        """Unknowns near `x` that the outputs require at the time t, and their first and second derivative, (3, n).

        Raises
        ------
        InputError
            When there are none near, or the position is singular; names the output, and the motion that is open.
        """
        best = np.inf
        for _ in range(OPTIONS.iterations):
            rows, jacobian, rate = (np.array(v) for v in self._rows(x, t))
            size, scale = self._sizes(jacobian)
            solve = self._solver(t, jacobian, size, scale)
            place = np.abs(x / scale)[:self.n].max()
            error = np.abs(rows[:, 0] / size).max() / max(place, (1 / self._scale).min())
            if error <= 1e-15 or (error <= 1e-9 and error >= 0.5 * best):
                break
            best = error
            step = solve(rows[:, 0])
            far = np.abs(step / scale)[:self.n].max()
            x = x - step * min(1.0, max(place, (1 / self._scale).max()) / max(far, 1e-300))
        else:
            worst = int(np.argmax(np.abs(rows[:, 0] / size)[-len(self.outputs):]))
            raise InputError(f"no position nearby fits the trajectory of {self.outputs[worst][0]!r} at t = {t:g}: it "
                             "is out of reach; change it, or give a closer start")
        xd = -solve(rate[:, 0])
        return np.array([x, xd, -solve(np.array(self._second(x, xd, t)).ravel())])

    def _sizes(self, jacobian):
        """Of the rows and the unknowns, by the masses: a change of q by its size has the same energy in all."""
        held = np.linalg.norm(jacobian[-self._n_held:, :self.n] * self._scale, axis=1)
        held = np.maximum(held, 1e-300)
        if jacobian.shape[0] == self._n_held:
            return held, self._scale
        return np.append(self._scale, held), np.append(self._scale, 1 / held)

    def _solver(self, t, matrix, size, scale):
        """The function b -> matrix^-1 b, of rows and unknowns of these sizes; refuses singular positions."""
        u, s, v = np.linalg.svd(matrix / size[:, None] * scale)
        if not s[-1] > OPTIONS.singular_rows * s[0]:
            m = len(self.outputs)
            row = int(np.argmax(np.abs(u[-m:, -1])))
            way = (v[-1] * scale)[:self.n]
            moved = largest_parts(way / np.abs(way).max(initial=1e-300), coordinate_names(self.system))
            raise InputError(f"the outputs pass a singular position at t = {t:g}: no motion of the joints changes "
                             f"{self.outputs[row][0]!r} alone there, and the motion ({moved}) changes none; go around "
                             "it, or prescribe other outputs")
        return lambda b: scale * (v.T @ ((u.T @ (b / size)) / s))

    def state(self, t, q, v):
        """Coordinates and momenta, shape (2 n,)."""
        return np.concatenate([q, self.system.momentum(t, np.concatenate([q, np.zeros(self.n)]), v)])

    def forces(self, t, q, v, a):
        """Forces of constraints gamma, and controls, of coordinates and their derivatives at one time."""
        z = self.state(t, q, v)
        gradient, jacobian, _ = self.system.derivatives(t, z)
        force = momentum_rate(self.system, t, z, v, a) + gradient[:self.n]
        held, scale = jacobian[:self.n_forces, :self.n].toarray(), self._scale
        open_, held, force = open_motions(held, self._rest, q, scale), held * scale, scale * force
        size = np.maximum(np.linalg.norm(held, axis=1, keepdims=True), 1e-300)
        drives = scale[:, None] * input_matrix(self.system, t, z)
        u = np.linalg.lstsq(open_.T @ drives, open_.T @ force, rcond=1e-12)[0]  # the least ones
        left = open_ @ (open_.T @ (force - drives @ u))
        if np.abs(left).max() > OPTIONS.left_over * max(np.abs(force).max(), np.abs(drives @ u).max(), 1e-300):
            way = scale * left
            way = way / np.abs(way).max()
            raise InputError(f"the drives cannot give the motion at t = {t:g}: no control acts along "
                             f"{largest_parts(way, coordinate_names(self.system))}; add a drive, or go around this "
                             "position")
        gamma = np.linalg.lstsq(-held.T / size[:, 0], force - drives @ u, rcond=1e-13)[0] / size[:, 0]
        return np.append(gamma, u)
