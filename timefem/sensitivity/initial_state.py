"""Derivatives of the first node of a solution by the numbers of the parts and by the state that was asked for.

Coordinates and velocities at the start stay as they are when numbers change (angular velocities in body axes), as far
as the constraints allow: else they follow by the smallest change in the metric of the mass, as in `assemble`.
"""

import casadi as ca
import numpy as np
import scipy

from ..elements.part_numbers import NumberPlaces
from ..errors import InputError
from ..mechanics.contacts.reacting import refuse_reaction_forces
from ..mechanics.states.consistent import inverse_mass
from ..mechanics.symbols import Symbols
from ..mechanics.values.at_start import constraint_sizes
from ..mechanics.values.evaluate import evaluate
from ..mechanics.values.of_parts import nonholonomic_derivatives, rates_follow
from ..mechanics.values.quantities import sees_velocities
from ..memory import Recent
from ..sparse import sparse_lu

OPENED = 1e-6  # change of a constraint that was dropped, of its terms, beside that of those kept
ROUNDING = 1e-9  # change of a constraint, of its size, beside the largest


class Start:
    """The map from numbers, coordinates q and velocities v to the dofs of the first node, differentiated backwards.

    Parameters
    ----------
    plan : ElementPlan
    t : float
    z : ndarray, shape (n_z,)
    """

    def __init__(self, plan, t, z):
        self.plan, self.system, self.t, self.z = plan, plan.system, t, z
        system, n, m = self.system, self.system.n_q, self.system.n_constraints
        if not rates_follow(system):
            raise InputError("sensitivities are not offered for mass matrices that are singular or couple bodies; use "
                             "rotation='quaternion' and lumped masses")
        self.places = NumberPlaces(system)
        names = {name for name, space in plan.element.trial.items() if space.continuous}
        if names - {"state", "multipliers", "velocity"}:
            raise InputError(f"{plan.element!r} has unknowns at its nodes that no initial state tells; sensitivities "
                             "are offered for elements whose nodes have the state, velocities and multipliers only")
        if "multipliers" in names:
            refuse_reaction_forces(system, "a sensitivity with continuous multipliers", "use "
                                   "multipliers='discontinuous'")
        if "multipliers" in names and system.n_nonholonomic:
            raise InputError("sensitivities with continuous multipliers and nonholonomic constraints are not offered; "
                             "use multipliers='discontinuous'")
        self._fields = {name: field[0] for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)
                        if name in names}
        self._mobility = scipy.sparse.csr_array(inverse_mass(system, t, z[:n]))
        self._mass = sparse_lu(self._mobility.tocsc()).solve
        self._theta = system.derivatives(t, z)[1]
        self._phi = self._theta[:m, :n]
        self._levels()

    def _levels(self):
        """Constraints on velocities, with the impulses that keep them, and the solvers of both levels."""
        system, n, m = self.system, self.system.n_q, self.system.n_constraints
        self._psi, impulses = self._theta[m:], self._phi
        if system.n_nonholonomic:
            matrix, jacobian, _, _ = nonholonomic_derivatives(system, self.t, self.z)
            self._psi = scipy.sparse.vstack([self._psi, jacobian], format="csr")
            impulses = scipy.sparse.vstack([impulses, matrix], format="csr")
        self._impulses = impulses
        self._solve_q = _solver(self._phi @ self._mobility @ self._phi.T)
        self._solve_p = _solver(self._psi[:, n:] @ impulses.T)

    def backward(self, x):
        """Gradients by state and numbers of K values, from those by the dofs of the first node (K, n_node).

        Returns
        -------
        z, numbers : ndarray, shapes (K, n_z), (K, n_numbers)
        """
        given = {}
        if "velocity" in self._fields:
            given["alpha"] = x[:, self._fields["velocity"]]
        if "multipliers" in self._fields and self.system.n_constraints:
            given |= self._of_multipliers(x[:, self._fields["multipliers"]])
        z = x[:, self._fields["state"]]
        if not given:
            return z, np.zeros((len(x), self.places.size))
        by_z, numbers = self._terms(len(x), given)
        return z + by_z, numbers

    def follow(self, z):
        """Gradients by what the state follows from, where coordinates and velocities are kept.

        Parameters
        ----------
        z : ndarray, shape (K, n_z)
            Gradients by the state.

        Returns
        -------
        numbers : ndarray, shape (K, n_numbers)
        closing : (ndarray, ndarray), shapes (K, n_numbers) and (K, n_q)
            What of those by numbers and by coordinates is by constraints on positions that the start no longer holds.
        q, v : ndarray, shapes (K, n_q)
            By changes of coordinates and velocities before they are made to hold the constraints.
        """
        n, m, size = self.system.n_q, self.system.n_constraints, len(z)
        q, p, none = z[:, :n], z[:, n:], np.zeros((size, m))
        # momenta: p = M(q) v, then impulses that hold the constraints on velocities
        c = self._solve_p(self._impulses @ p.T, transposed=True).T
        v = self._mass(np.ascontiguousarray((p - c @ self._psi[:, n:]).T)).T
        theta = np.concatenate([none, -c[:, :m]], axis=1)
        by_z, numbers = self._terms(size, {"alpha": -v, "theta": theta, "form": -c[:, m:]})
        q = q + by_z[:, :n] + self._turned(v)
        # coordinates: the smallest change that holds the constraints
        c = self._solve_q(self._phi @ (self._mobility @ q.T)).T
        _, by_phi = self._terms(size, {"theta": np.concatenate([-c, none], axis=1)})
        closing = by_phi, -(c @ self._phi)
        return numbers + by_phi, closing, q + closing[1], v

    def _of_multipliers(self, gradient):
        """Consistent multipliers solve `B J (f + B^T lambda) + dTheta/dt = 0`, B = grad Theta, f = grad H - (Q, 0)."""
        n, system = self.system.n_q, self.system
        f, b, _ = system.derivatives(self.t, self.z)
        values = system.consistent_multipliers(self.t, self.z)

        def symplectic(a):
            return np.concatenate([a[..., n:], -a[..., :n]], axis=-1)

        matrix = b @ symplectic(b.toarray()).T
        beta = -np.linalg.solve(matrix.T, gradient.T).T
        size = len(gradient)
        return {"beta": beta, "rate": np.tile(symplectic(f + b.T @ values), (size, 1)),
                "push": -symplectic(beta @ b), "values": np.tile(values, (size, 1))}

    def _turned(self, v):
        """Gradient by coordinates of velocities that turn with the bodies, from that by velocities, shape (K, n_q)."""
        out = np.zeros_like(v)
        for body in self.system.bodies:
            if body.has_orientation:
                part = self.system.coordinates(body)
                q, p = self.z[part], self.z[self.system.n_q:][part]
                spin = body.spin_matrix(body.angular_velocity(q, p))
                out[:, part] = v[:, part] @ spin
        return out

    def _terms(self, size, given):
        return _terms(self.system, self.places, self.t, self.z, given, size)


def _terms(system, places, t, z, given, size):
    """Gradients by z and by the numbers, at `NumberPlaces`, of sums over parts of the terms of `_start_function`."""
    n, full = system.n_q, "beta" in given
    by_z, by_numbers = np.zeros((size, system.n_z)), np.zeros((size, places.size))
    lengths = {"alpha": n, "theta": system.n_multipliers, "form": system.n_nonholonomic,
               "beta": system.n_multipliers, "rate": system.n_z, "push": system.n_z,
               "values": system.n_multipliers}
    values = {name: np.array(given.get(name, np.zeros((size, length)))) for name, length in lengths.items()}
    z, t = np.tile(z, (size, 1)), np.full(size, t)
    seen = np.concatenate([z[:, :n], system.velocity(t, z)], axis=1)  # by parts on links of trees
    groups = sorted(zip(system.groups, places.groups, strict=True), key=lambda pair: pair[0].part.is_body)
    for group, numbers in groups:  # bodies last: gradients by velocities go on to those by states
        state, multipliers, on_links = group.state_index, group.multiplier_index, _on_links(group.part)
        half = state[:, :state.shape[1] // 2]
        index = {"alpha": half, "theta": multipliers, "form": group.nonholonomic_index}
        if full:
            index |= {"beta": multipliers, "rate": state, "push": state, "values": multipliers}
        packed = np.concatenate([(seen if on_links else z)[:, state],
                                 *(values[name][:, i] for name, i in index.items())], axis=2)
        out = evaluate(_start_function(group.part, full), packed, t, group.parameters)
        width = state.shape[1]
        for k in range(len(state)):  # a part sees each of its coordinates and numbers once
            if on_links:
                np.add.at(by_z, (slice(None), half[k]), out[:, k, :width // 2])
                np.add.at(values["alpha"], (slice(None), half[k]), out[:, k, width // 2:width])
            else:
                by_z[:, state[k]] += out[:, k, :width]
            by_numbers[:, numbers[k]] += out[:, k, width:]
    return by_z, by_numbers


def refuse_what_opens(system, times, states, given):
    """Refuse parameters that open a loop whose constraints repeat each other: rows that were dropped would part from
    those that are kept, and the mechanism would lock.

    Parameters
    ----------
    system : System
    times, states : sequence
        Of the motion: there the rows that were dropped are combinations of the others, and are to stay so.
    given : Directions

    Raises
    ------
    InputError
        For the first such parameter; names it and the constraint.
    """
    whole, kept = system.complete, system.kept
    dropped = np.setdiff1d(np.arange(whole.n_constraints), kept) if whole else ()
    if not len(dropped):
        return
    m, n, places = whole.n_constraints, whole.n_q, NumberPlaces(whole)
    for t, z in zip(times, states, strict=True):
        sizes = constraint_sizes(whole, t, z)[:m, None]
        rows = whole.derivatives(t, z)[1][:m, :n].toarray() / sizes
        combined = np.linalg.lstsq(rows[kept].T, rows[dropped].T, rcond=None)[0].T
        _, by_numbers = _terms(whole, places, t, z, {"theta": np.eye(m, whole.n_multipliers)}, m)
        change = (given.numbers.T @ by_numbers.T).T / sizes
        moved, noise = combined @ change[kept], ROUNDING * np.abs(change).max(axis=0)
        largest = np.abs(change[dropped]) + np.abs(combined) @ np.abs(change[kept])
        opened = np.argwhere(np.abs(change[dropped] - moved) > OPENED * largest + noise)
        if len(opened):
            row, k = opened[0]
            raise InputError(f"{given.labels[k]} opens a loop: '{whole.constraint_names[dropped[row]]}' repeats other "
                             "constraints now and was dropped, and would not do so with another value; take a Family "
                             "that changes all that keeps the loop closed")


_FUNCTIONS = Recent()


def _on_links(part):
    """Whether a part acts on links or joints of trees, whose velocities replace momenta."""
    return not part.is_body and sees_velocities(part)


def _start_function(part, full):
    """Gradient by z and by the parameters of

    `alpha.qdot + theta.Theta + form.(A qdot + a) + beta.(Theta_z rate + Theta_t) + push.f + values.(Theta_z push)`,

    the last three terms with `full` only; qdot of bodies only. Of parts on links of trees by q and velocities.
    """
    if (part.kind, full) in _FUNCTIONS:
        return _FUNCTIONS[part.kind, full]
    s = Symbols(part)
    z = ca.vertcat(*s.q, *s.p)
    if _on_links(part):
        s.velocity = s.p
    theta = ca.vertcat(part.constraints(s), part.velocity_constraints(s))
    form = part.velocity_form(s)
    n = z.numel() // 2
    given = [ca.SX.sym("alpha", n), ca.SX.sym("theta", theta.numel()), ca.SX.sym("form", form.numel())]
    total = ca.dot(given[1], theta) + ca.dot(given[2], form)
    if part.is_body:
        total += ca.dot(given[0], ca.vertcat(*s.velocity))
    if full:
        beta, values = ca.SX.sym("beta", theta.numel()), ca.SX.sym("values", theta.numel())
        rate, push = ca.SX.sym("rate", 2 * n), ca.SX.sym("push", 2 * n)
        f = ca.gradient(ca.SX(part.energy(s)), z) - ca.vertcat(part.force(s), ca.SX(n, 1))
        total += ca.dot(beta, ca.jtimes(theta, z, rate) + ca.jacobian(theta, s.t)) + ca.dot(push, f)
        total += ca.dot(values, ca.jtimes(theta, z, push))
        given += [beta, rate, push, values]
    gradient = [ca.densify(ca.gradient(ca.SX(total), x)) if x.numel() else ca.SX(0, 1) for x in (z, s.parameters)]
    _FUNCTIONS[part.kind, full] = ca.Function("start", [ca.vertcat(z, *given), s.t, s.parameters],
                                              [ca.vertcat(*gradient)])
    return _FUNCTIONS[part.kind, full]


def _solver(matrix):
    """`(b, transposed=False) -> x` of a sparse matrix, rows and columns brought to size one."""
    if not matrix.shape[0]:
        return lambda b, transposed=False: b
    rows, columns = (1 / np.sqrt(np.maximum(abs(matrix).max(axis=axis).toarray().ravel(), 1e-300)) for axis in (1, 0))
    scaled = scipy.sparse.diags_array(rows) @ matrix @ scipy.sparse.diags_array(columns)
    lu = sparse_lu(scipy.sparse.csc_matrix(scaled))

    def solve(b, transposed=False):
        left, right = (columns, rows) if transposed else (rows, columns)
        return right[:, None] * lu.solve(np.ascontiguousarray(left[:, None] * b), "T" if transposed else "N")

    return solve
