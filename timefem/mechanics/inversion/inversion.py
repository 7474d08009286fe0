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

from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy

from ...validate.records import Options, documented, option
from ..functions.trajectories import derivatives
from .structure_algorithm import Structure


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


# ---- thresholds of inverse dynamics, beside those of `StructureOptions`

@documented
@dataclass(frozen=True)
class InversionOptions(Options):
    """Thresholds of inverse dynamics, beside those of `StructureOptions`."""

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

    # ---- servo constraint
    singular_columns: float = option(1e-8, "least singular value, relative to the largest, of columns of unit length")


OPTIONS = InversionOptions()
