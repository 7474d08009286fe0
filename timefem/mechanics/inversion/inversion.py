"""Inversion of a system: which controls keep outputs on given trajectories, found by differentiating the outputs.

The structure algorithm of Singh (1981). Deviations of the outputs from their trajectories are differentiated along the
motion until controls (and joint forces) enter in an independent way. A derivative whose controls are a combination of
those of rows found before is freed of them by that combination, and differentiated further. The result is one *row*
for each output, which determines the controls, and the *hidden constraints* that were passed on the way.

A row alone would keep a derivative of the deviation e at zero, e^(r) = 0, and errors of e would grow like t^(r-1). So
multiples of the hidden constraints are added, which are zero along the motion that is sought: with conditions at both
ends e^(r) +- kappa^r e = 0, half of whose modes decay in either direction of time, else a filter of Butterworth, all of
whose modes decay.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import scipy

from ...errors import InputError
from ...records import frozen
from ...validate.options import Options, documented, option
from ..bodies.generalized_body import general_position
from ..forces.actuators import control_name
from ..part import Body
from ..symbols import Symbols, applied_force, first_order
from ..time_functions import derivatives
from ..values.measures import blocks_of


class Structure:
    """Rows and hidden constraints in CasADi symbols of the state `z`, the time `t`, joint forces and controls `w`, and
    `y`, the trajectories and their derivatives, shape (n_outputs, most + 1). Parameters: see `Inversion`.

    Attributes
    ----------
    rows : list of SX
        One per output.
    hidden : list of list of SX
        Per output.
    frequencies : dict
        kappa of each output, by number.
    per_force : ndarray, shape (n_forces + n_controls,)
        Forces of joints and controls that change a state by its size in a unit of time.
    """

    def __init__(self, system, outputs, t, z, duration, both_ends):
        self.system, self.outputs = system, outputs
        self.duration, self.both_ends = duration, both_ends
        self.actuators = [p for p in system.parts if p.n_controls]
        self.n_controls = sum(a.n_controls for a in self.actuators)
        self.n_forces = system.n_constraints
        self.z, self.t = ca.SX.sym("z", system.n_z), ca.SX.sym("t")
        self.w = ca.SX.sym("w", self.n_forces + self.n_controls)
        self.rate, self.theta = equations_of_motion(system, self.z, self.t, self.w)
        self.most = system.n_z + 2
        self.y = ca.SX.sym("y", len(outputs), self.most + 1)
        psi = self.theta[self.n_forces:]
        self._accepted = list(ca.vertsplit(self.along(psi))) if self.n_forces else []
        self._samples = self._near(t, z)
        effect = self._at_samples(ca.jacobian(self.rate, self.w)) / system.state_scale[:, None]
        size = np.linalg.norm(effect, axis=1).max(axis=0)
        self.per_force = 1 / np.where(size > 0, size, 1.0)  # forces of joints and of controls have units of their own
        self._check_controls(effect, size)
        self._differentiate()
        self.rows = [self._rows[i] for i in range(len(outputs))]

    # ---- derivatives along the motion

    def along(self, h):
        """Derivative of expressions along the motion, affine in forces and controls."""
        shifted = ca.horzcat(self.y[:, 1:], ca.SX(self.y.size1(), 1))
        variables = ca.vertcat(self.z, self.t, ca.vec(self.y))
        return ca.jtimes(h, variables, ca.vertcat(self.rate, 1, ca.vec(shifted)))

    def _plain(self, h):
        """The same expression, short if it is affine."""
        variables = ca.vertcat(self.z, ca.vec(self.y))
        if ca.depends_on(h, self.t):
            return ca.cse(h)
        jacobian = ca.jacobian(h, variables)
        if not jacobian.is_constant():
            return ca.cse(h)
        return ca.DM(jacobian) @ variables + ca.substitute(h, variables, ca.SX.zeros(variables.numel()))

    # ---- numbers

    def _near(self, t, z):
        """The given state, and some in general position near it that the constraints allow, with derivatives of the
        trajectories."""
        jets = np.zeros((len(self.outputs), self.most + 1))
        away = 4 * general_position(3, len(z) + jets.size) - 2.2  # of a size of about one
        scale = self._sizes(z)
        theta = ca.Function("theta", [self.z, self.t], [self.theta, ca.jacobian(self.theta, self.z)])
        samples = [(z, jets)]
        for own in away:
            other = z + 0.05 * scale * own[:len(z)]
            for _ in range(8 if self.theta.numel() else 0):
                value, jacobian = (np.array(x) for x in theta(other, t))
                other = other - scale * np.linalg.lstsq(jacobian * scale, value.ravel(), rcond=1e-10)[0]
            samples.append((other, 0.1 * own[len(z):].reshape(jets.shape)))
        return [(z, t, jets) for z, jets in samples]

    def _sizes(self, z):
        """Sizes of changes of a state, shape (n_z,): lengths by the extent of the system, rotations by one, momenta by
        what goes so far in the time span."""
        system = self.system
        (blocks, kinds), n = blocks_of(system), system.n_q
        mass, size = system.mass_scale, np.maximum(1.0, np.abs(z[:n]))
        places, turns = kinds[blocks] == 0, kinds[blocks] == 1
        if turns.any() and (places & (mass > 0)).any():  # radii of gyration, and distances
            size[turns] = 1.0
            lengths = np.sqrt(mass[turns].max() / mass[places].max())
            size[places] = max(lengths, np.ptp(z[:n][places]))
        return np.concatenate([size, mass * size / self.duration])

    def _at_samples(self, expression):
        """Values at the samples, shape (n_samples, rows, columns)."""
        function = ca.Function("f", [self.z, self.t, self.y], [ca.densify(expression)])
        return np.array([np.array(function(*sample)) for sample in self._samples])

    def _check_controls(self, effect, size):
        """Refuse controls that move nothing, or repeat others, by what forces do to states by their sizes."""
        every = [c / np.maximum(np.linalg.norm(c, axis=0), 1e-300) for c in effect]
        for i in range(self.n_controls):
            column, name = self.n_forces + i, control_name(self.system, i)
            if not size[column]:
                raise InputError(f"{name} does nothing: its force is zero; change its directions or "
                                 "leave it out")
            if max(_outside(c[:, column], c[:, :column]) for c in every) < OPTIONS.independent:
                raise InputError(f"{name} does nothing that joint forces and the controls before it do "
                                 "not do already; leave it out")

    # ---- the structure algorithm

    def _differentiate(self):
        current = {}
        for i, (output, _) in enumerate(self.outputs):
            q = [self.z[self.system.coordinates(b)] for b in output.bodies]
            current[i] = ca.SX(output.deviation(self.y[i, 0], *q))
        self.hidden = [[] for _ in current]
        for i, h in current.items():
            self._check_new(i, h)
            self.hidden[i].append(h)
        self._rows, self.frequencies = {}, {}
        matrices = [ca.jacobian(row, self.w) for row in self._accepted]
        while current:
            rates = {i: self.along(h) for i, h in current.items()}
            inputs = {i: ca.jacobian(r, self.w) for i, r in rates.items()}
            self._accept(rates, inputs, matrices, current)
            for i in current:
                current[i] = self._plain(self._freed(current[i], rates[i], inputs[i], matrices))
                self._check_new(i, current[i])
                self.hidden[i].append(current[i])

    def _check_new(self, i, h):
        """Refuse a hidden constraint that others imply: then the controls never appear."""
        name = repr(self.outputs[i][0])
        known = ca.vertcat(self.theta, *(h for hidden in self.hidden for h in hidden))
        gradients = self._at_samples(ca.jacobian(ca.vertcat(known, h), self.z))
        outside = 0.0
        gradients = gradients * self.system.state_scale
        sizes = np.linalg.norm(gradients[:, -1], axis=1)
        for gradient, size in zip(gradients, sizes, strict=True):
            if size > 1e-12 * sizes.max():
                outside = max(outside, _outside(gradient[-1] / size, gradient[:-1].T))
        if outside < OPTIONS.independent or len(self.hidden[i]) >= self.most:
            raise InputError(f"the controls do not determine the output '{name}': no derivative of it depends on them; "
                             "choose actuators that move it, and outputs that do not repeat each other")
        if ca.Function("h", [self.z, self.t, self.y], [h]).n_instructions() > OPTIONS.largest:
            raise InputError(f"the derivatives of the output '{name}' become too large, after {len(self.hidden[i])} of "
                             "them; choose an output nearer to the actuators, or coordinates with fewer constraints")

    def _accept(self, rates, inputs, matrices, current):
        """Move those of the current outputs to the rows whose controls are independent."""
        while current:
            known = self._units(matrices)
            worth = {}
            for i in current:
                if not inputs[i].nnz():
                    continue
                own = self._at_samples(inputs[i])[:, 0] * self.per_force
                size = np.linalg.norm(own, axis=1)
                if not size.max() > OPTIONS.nothing * self._gradient(current[i]):
                    continue
                far = [_outside(a / max(s, 1e-300), k.T) for a, s, k in zip(own, size, known, strict=True)]
                if max(far[1:]) > OPTIONS.independent:
                    worth[i] = far[0] * min(1.0, size[0] / size.max())
            if not worth:
                return
            best = max(worth, key=worth.get)
            if worth[best] <= OPTIONS.singular:
                raise InputError(f"no control moves the output '{self.outputs[best][0]!r}' at the start, though "
                                 "elsewhere one does: start away from this singular position")
            row = rates[best] + self._damping(best, rates[best])
            self._rows[best] = row / np.linalg.norm(self._at_samples(inputs[best])[0])
            matrices.append(inputs[best])
            self._accepted.append(row)
            del current[best]

    def _units(self, matrices):
        """Rows of input matrices at the samples, by forces that move the system alike, of unit length."""
        rows = self._at_samples(ca.vertcat(ca.SX(0, self.w.numel()), *matrices)) * self.per_force
        size = np.linalg.norm(rows, axis=2, keepdims=True)
        return rows / np.where(size > 0, size, 1.0)

    def _gradient(self, h):
        """Largest gradient of an expression at the samples, of states that belong to one energy."""
        return np.linalg.norm(self._at_samples(ca.jacobian(h, self.z))[:, 0] * self.system.state_scale, axis=1).max()

    def _damping(self, i, rate):
        """Multiples of the hidden constraints of output i that keep its deviation from growing."""
        hidden, n = self.hidden[i], self.system.n_q
        r, root = len(hidden), np.sqrt(self.system.mass_scale)
        free = ca.substitute(rate, self.w, ca.SX.zeros(self.w.numel()))
        gradients = self._at_samples(ca.jacobian(ca.vertcat(*hidden, free), self.z))[0]
        by_q, by_p = np.linalg.norm(gradients[:, :n] / root, axis=1), np.linalg.norm(gradients[:, n:] * root, axis=1)
        kappa = OPTIONS.modes / self.duration
        for j in range(2, r + 1):  # the frequency by which the derivatives grow
            size, first = (by_q, 0) if j % 2 == 0 else (by_p, 1)
            if size[first] > 0:
                kappa = max(kappa, (size[j] / size[first]) ** (1 / (j - first)) / 2)
        self.frequencies[i] = float(kappa)
        coefficients = np.poly(kappa * _modes(r, r // 2 if self.both_ends else 0)).real[:0:-1]
        coefficients[np.abs(coefficients) < 1e-12 * kappa ** np.arange(r, 0, -1)] = 0.0
        return sum(c * h for c, h in zip(coefficients.tolist(), hidden, strict=True) if c)

    def _freed(self, h, rate, own, matrices):
        """The derivative of h without its controls, which are a combination of those of accepted rows."""
        none = ca.SX.zeros(self.w.numel())
        free = ca.substitute(rate, self.w, none)
        values = self._at_samples(own)[:, 0] * self.per_force
        if not own.nnz() or not np.linalg.norm(values, axis=1).max() > OPTIONS.nothing * self._gradient(h):
            return free
        known = self._units(matrices)
        combination = np.array([np.linalg.lstsq(k.T, v, rcond=None)[0] for k, v in zip(known, values, strict=True)])
        used = np.flatnonzero(np.abs(combination).max(axis=0) > OPTIONS.nothing * np.abs(combination).max())
        if not len(used):
            return free
        if len(used) > OPTIONS.most_combined:
            raise InputError(f"{len(used)} equations have to be combined to find the controls, more than "
                             f"{OPTIONS.most_combined}: choose coordinates with fewer constraints (GeneralizedSystem)")

        chosen = scipy.linalg.qr(known[0][used], pivoting=True)[2][:len(used)].tolist()
        matrix = ca.vertcat(*(matrices[r][:, chosen] for r in used))
        factors = ca.solve(matrix.T, own[:, chosen].T)
        rest = ca.vertcat(*(ca.substitute(self._accepted[r], self.w, none) for r in used))
        return free - ca.dot(ca.densify(factors), rest)


def _modes(n, growing):
    """n numbers on the unit circle, the poles of Butterworth filters: `growing` with a positive real part."""
    def poles(order):
        return np.exp(1j * np.pi * (2 * np.arange(1, order + 1) + order - 1) / (2 * order)) if order else np.zeros(0)

    return np.concatenate([poles(n - growing), -poles(growing)])


def _outside(vector, columns):
    """Length of the part of a vector that is not in the span of columns."""
    if not columns.shape[1]:
        return float(np.linalg.norm(vector))
    size = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(size > 0, size, 1.0), full_matrices=False)
    u = u[:, s > 1e-9 * max(s.max(initial=0.0), 1e-300)]
    return float(np.linalg.norm(vector - u @ (u.T @ vector)))


# ---- equations of motion of a whole system in CasADi symbols

def equations_of_motion(system, z, t, w):
    """zdot of a system with joint forces and controls `w = (gamma, u)`, and its constraints Theta, in CasADi symbols.

    The velocity constraints are taken to hold, so that their multipliers are zero.
    """
    n, m = system.n_q, system.n_constraints
    momentum_rate, velocity, phis, psis, u = ca.SX(n, 1), ca.SX(n, 1), [], [], m
    forces = {}
    for part in system.parts:
        forces[part] = w[u:u + part.n_controls]
        u += part.n_controls
    for part in system.parts:
        s = Symbols(part)
        phi, seen = part.constraints(s), ca.vertcat(ca.SX(0, 1), *(forces[actuator] for actuator in part.controls))
        own = ca.SX.sym("u", seen.numel())
        gamma = ca.SX.sym("gamma", phi.numel())
        q = ca.vertcat(ca.SX(0, 1), *s.q)
        force = applied_force(part, s, own) - ca.gradient(ca.SX(part.energy(s)), q) - ca.jtimes(phi, q, gamma, True)
        flows = first_order(part)
        flow, force = applied_force(part, s, own) * flows, force * (1 - flows)
        speed = s.velocity[0] * (1 - flows) if isinstance(part, Body) else ca.SX(0, 1)
        function = ca.Function("part", [*s.q, *s.p, s.t, s.parameters, gamma, own],
                               [force, speed, phi, part.velocity_constraints(s), flow])
        places = [np.arange(n)[system.coordinates(b)].tolist() for b in part.bodies]
        start = sum(p.numel() for p in phis)
        values = function(*(z[c] for c in places), *(z[[n + i for i in c]] for c in places), t, part.parameters,
                          w[start:start + phi.numel()], seen)
        first = 0
        for i in (i for c in places for i in c):
            momentum_rate[i] += values[0][first]
            velocity[i] += values[4][first]
            first += 1
        if isinstance(part, Body):
            for i, speed in zip(places[0], ca.vertsplit(values[1]), strict=True):
                velocity[i] += speed
        phis.append(values[2])
        psis.append(values[3])
    return ca.vertcat(velocity, momentum_rate), ca.vertcat(ca.SX(0, 1), *phis, *psis)


class Inversion:
    """Rows and hidden constraints of prescribed outputs.

    Parameters
    ----------
    system : System
    outputs : list of (Output, TimeFunction)
    t, z : float, ndarray
        Where the structure is looked at: a state that the constraints of the system allow, and others near it.
    duration : float
        Of the time span [s].
    both_ends : bool
        Whether there are conditions at both ends.

    Attributes
    ----------
    frequencies : dict
        kappa of each output, by number [1/s]: half the frequency by which the derivatives of the output
        grow, at least 5 / duration.
    relative_degrees : list of int
        Per output: the highest derivative of its trajectory that the controls depend on.
    n_hidden : list of int
        Per output: hidden constraints, the deviation itself and some of its derivatives.
    rows : SX function of (z, gamma, u, t)
        Zero along the motion that is sought, one per output, of the size of rates of states by their sizes.
    per_control : ndarray, shape (n_controls,)
        Controls that change a state by its size in a unit of time.
    hidden : list of list of Function
        Per output, of (z, t).

    Raises
    ------
    InputError
        When the controls do not determine the outputs; names control or output.
    """

    direct = by_constraints = False

    def __init__(self, system, outputs, t, z, duration, both_ends):
        s = Structure(system, outputs, t, z, duration, both_ends)
        self.system, self.outputs, self.actuators = system, outputs, s.actuators
        self.n_forces, self.frequencies, self._per_force = s.n_forces, s.frequencies, s.per_force
        n, rows = len(outputs), ca.vertcat(*s.rows)
        self.n_hidden = [len(h) for h in s.hidden]
        there = ca.jacobian(rows, ca.vec(s.y)).sparsity().get_triplet()[1]
        self.relative_degrees = [max([j // n for j in there if j % n == i], default=0) for i in range(n)]
        targets = ca.SX.zeros(n, s.most + 1)
        for i, (_, trajectory) in enumerate(self.outputs):
            symbol, jets = derivatives(trajectory, self.relative_degrees[i])
            targets[i, :len(jets)] = ca.substitute(ca.horzcat(*jets), symbol, s.t)
        targets = ca.densify(targets)
        hidden = [ca.substitute(ca.vertcat(*h), s.y, targets) for h in s.hidden]
        rows = ca.substitute(rows, s.y, targets)
        by_forces = ca.Function("by_forces", [s.z, s.t], [ca.densify(ca.jacobian(rows, s.w))])
        size = np.linalg.norm(np.array(by_forces(z, t)) * s.per_force, axis=1)
        rows = rows / np.where(size > 0, size, 1.0)
        arguments = [s.z, s.t]
        self.hidden = [ca.Function("hidden", arguments, [h, ca.jacobian(h, s.z)]) for h in hidden]
        self.theta = ca.Function("theta", arguments, [s.theta, ca.jacobian(s.theta, s.z)])
        self.rows = ca.Function("rows", [s.z, s.w, s.t], [rows])
        every = ca.vertcat(s.along(s.theta[self.n_forces:]), rows)
        self.equations = ca.Function("equations", [s.z, s.w, s.t], [
            every, ca.jacobian(every, s.z), ca.jacobian(every, s.w)])
        self._matrix = ca.Function("matrix", [s.z, s.t], [ca.densify(ca.jacobian(every, s.w))])
        self.rate = ca.Function("rate", [s.z, s.w, s.t], [
            s.rate, ca.jacobian(s.rate, s.z), ca.jacobian(s.rate, s.w)])

    @property
    def per_control(self):
        return self._per_force[self.n_forces:]

    def forces(self, t, z):
        """Joint forces and controls (gamma, u) of a state, by the rows; shape (n_forces + n_controls,)."""
        values, _, matrix = (np.array(x) for x in self.equations(z, np.zeros(self.n_forces + len(self.outputs)), t))
        return -self._solved(matrix, values.ravel())

    def _solved(self, matrix, values):
        """Forces w of least squares, in units of `per_force`, with ``matrix @ w = values``."""
        scaled = matrix * self._per_force
        size = np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)
        return (np.linalg.lstsq(scaled / size[:, None], (values.T / size).T, rcond=1e-13)[0].T * self._per_force).T

    def first_singular(self, t, z):
        """Number of the first of some states at which the rows hardly settle the controls, or do with the other sign:
        the motion passes a singular position there, or before it. None without.

        Parameters
        ----------
        t : ndarray, shape (n,)
        z : ndarray, shape (n, n_z)
        """
        matrices = np.array(self._matrix.map(len(t))(z.T, t)).reshape(-1, len(t), self.n_forces + len(self.outputs))
        matrices = matrices.swapaxes(0, 1) * self._per_force
        matrices = matrices / np.linalg.norm(matrices[0], axis=1)[:, None]
        values, signs = np.linalg.svd(matrices, compute_uv=False), np.linalg.slogdet(matrices)[0]
        if values[0, -1] < OPTIONS.determined * values[0, 0]:
            return None  # forces of redundant constraints, of which only sums are known
        found = np.flatnonzero((values[:, -1] < OPTIONS.hardly_determined * values[0, -1]) | (signs != signs[0]))
        return int(found[0]) if len(found) else None

    def manifold(self, t, z):
        """Constraints of the system and hidden constraints, and their Jacobian, at a state."""
        pieces = [f(z, t) for f in (self.theta, *self.hidden)]
        return (np.concatenate([np.array(v).ravel() for v, _ in pieces]),
                np.vstack([np.array(j).reshape(-1, len(z)) for _, j in pieces]))

    def internal_rates(self, t, z, scale):
        """Linearised internal dynamics at a state, trajectories frozen: the matrix A of `x' = A x` in coordinates x of
        what the manifold leaves open, and P, shape (n_z, n), with x = P^T dz; orthogonal in states divided by `scale`.
        """
        jacobian = self.manifold(t, z)[1] * scale
        jacobian = jacobian / np.maximum(np.linalg.norm(jacobian, axis=1, keepdims=True), 1e-300)
        tangent = scipy.linalg.null_space(jacobian, rcond=1e-9)
        w = self.forces(t, z)
        _, by_z, by_w = (np.array(x) for x in self.equations(z, w, t))
        _, rate_z, rate_w = (np.array(x) for x in self.rate(z, w, t))
        closed = rate_z - rate_w @ self._solved(by_w, by_z)
        return tangent / scale[:, None], tangent.T @ (closed * scale / scale[:, None]) @ tangent


@documented
@frozen
class InversionOptions(Options):
    """Thresholds of inverse dynamics."""

    # ---- direct
    many_constraints: int = option(30, "constraints from which on these are not combined in symbols")
    singular_rows: float = option(1e-9, "smallest singular value, relative to the largest, of rows of unit length")
    iterations: int = option(50, "iterations of Newton's method at a time")
    left_over: float = option(1e-7, "forces that drives leave over, relative to all")

    # ---- inversion
    determined: float = option(
        1e-12, "least singular value, relative to the largest, of rows that settle forces and controls")
    hardly_determined: float = option(
        1e-3, "least singular value, relative to that at the start, near a singular position")

    # ---- structure algorithm
    nothing: float = option(1e-10, "of the size of an expression: rounding")
    singular: float = option(1e-9, "part of a row of the input matrix that is not in the span of others, at the start")
    independent: float = option(1e-7, "the same at states nearby, relative")
    most_combined: int = option(8, "equations of a combination, at most")
    largest: int = option(200_000, "operations of a hidden constraint")
    modes: float = option(5.0, "least kappa times duration")

    # ---- servo constraint
    singular_columns: float = option(1e-8, "least singular value, relative to the largest, of columns of unit length")


OPTIONS = InversionOptions()
