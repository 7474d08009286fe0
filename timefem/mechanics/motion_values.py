"""What a system is worth at states and velocities given apart: T(q, v), momenta, the mass matrix."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..late import Late
from ..types import Floats
from .energies import with_own_momenta
from .point_functions import evaluate
from .solved_velocities import entries, sparse

SINGULAR, HOLDS = 1e-13, 1e-8  # pivots, relative, of motions without mass; residual of equations that hold

if TYPE_CHECKING:
    from scipy.sparse import csr_array

scipy = Late("scipy")


class ValuesOfMotion:
    """Base of `StateValues`, which has the functions of the parts."""

    def generalized_energy(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Generalized energy p.v - T(q, v) + V(q, t), shapes (..., n_z), (..., n_q) -> (...) [J]; H where v = dH/dp."""
        return self._of_motion("generalized energy", t, z, velocity)

    def kinetic_energy(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Kinetic energy T(q, v) of given velocities, shapes (..., n_z), (..., n_q) -> (...) [J]."""
        return self._of_motion("kinetic", t, z, velocity)

    def momentum(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Momenta p = dT/dv of given velocities, shapes (..., n_z), (..., n_q) -> (..., n_q)."""
        t, z, shape = self.points(t, z)
        velocity, out = np.reshape(np.asarray(velocity, float), (len(z), self.n_q)), np.zeros((len(z), self.n_q))
        for group, functions in zip(self.groups, self._functions, strict=True):
            index = group.state_index
            places = index[:, :index.shape[1] // 2]
            values = evaluate(functions["momentum"], np.concatenate([z[:, index], velocity[:, places]], axis=2), t,
                              group.parameters)
            np.add.at(out, (slice(None), places), values)
        return out.reshape(*shape, self.n_q)

    @cached_property
    def couples_inertia(self) -> bool:
        """Whether joints or forces state kinetic energies, so that velocities do not follow body by body."""
        return any(group.part.couples_inertia for group in self.groups)

    @cached_property
    def has_inverse_mass(self) -> bool:
        """Whether velocities follow from momenta, body by body."""
        return not self.couples_inertia and all(body.has_inverse_mass for body in self.bodies)

    def uncoupled(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """States whose momenta are those of the bodies alone, where parts couple inertia: shape (..., n_z).

        Of a body without what others share, so that its velocities follow from them.
        """
        if not self.couples_inertia:
            return z
        t, z, shape = self.points(t, z)
        velocity = np.array([self.consistent_velocity(*state, least=True) for state in zip(t, z, strict=True)])
        return with_own_momenta(self, t, z, velocity).reshape(*shape, self.n_z)

    def mass_matrix(self, t: float, z: np.ndarray) -> csr_array:
        """Mass matrix of T(q, v) at one state, SciPy CSR array of shape (n_q, n_q); it may be singular."""
        t, z, _ = self.points(t, z)
        found = [(np.zeros(0), np.zeros(0, int), np.zeros(0, int))]
        for group, functions in zip(self.groups, self._functions, strict=True):
            index = group.state_index
            places = index[:, :index.shape[1] // 2]
            n = places.shape[1]
            units = np.tile(np.eye(n)[:, None], (1, len(index), 1))
            values = evaluate(functions["momentum"], np.concatenate([np.tile(z[:, index], (n, 1, 1)), units], axis=2),
                              np.tile(t, n), group.parameters)  # column, part, row
            found.append(entries(values.swapaxes(0, 1).reshape(len(places), -1), places, places))
        return sparse(found, (self.n_q, self.n_q))

    def consistent_velocity(self, t: float, z: np.ndarray, least: bool = False) -> np.ndarray:
        """Velocities at one state that belong to its momenta and hold the constraints, shape (n_q,).

        Solves `M v - G^T mu = p`, `G v + dPhi/dt = 0` with the mass matrix of `T(q, v)` and `G = dPhi/dq`; with `least`
        the smallest solution where there are many, which all have the same energy.

        Raises
        ------
        InputError
            When they are not determined: some motion has no mass and no constraint, or constraints repeat others.
        """
        m, n, z = self.n_constraints, self.n_q, np.asarray(z, float)
        _, jacobian, rate = self.derivatives(t, z)
        gradient = jacobian[:m, :n]
        matrix = scipy.sparse.block_array([[self.mass_matrix(t, z), -gradient.T], [gradient, None]] if m else
                                          [[self.mass_matrix(t, z)]], format="csc")
        given = np.concatenate([z[n:], -rate[:m]])
        try:
            lu = scipy.sparse.linalg.splu(matrix)
            pivots, solution = np.abs(lu.U.diagonal()), lu.solve(given)
            if least and pivots.min() <= SINGULAR * pivots.max():
                solution = np.full(n + m, np.nan)
        except RuntimeError:
            solution = np.full(n + m, np.nan)
        if least and not np.isfinite(solution).all():
            found = np.linalg.lstsq(matrix.toarray(), given, rcond=SINGULAR)[0]
            if np.abs(matrix @ found - given).max() <= HOLDS * max(1.0, np.abs(given).max()):
                solution = found
        if not np.isfinite(solution).all():
            raise InputError("the velocities at the start are not determined by the momenta: some motion has neither "
                             "mass nor a constraint, or constraints repeat others")
        return solution[:n]

    def _of_motion(self, name, t, z, velocity):
        t, z, shape = self.points(t, z)
        velocity, total = np.reshape(np.asarray(velocity, float), (len(z), self.n_q)), np.zeros(len(z))
        for group, functions in zip(self.groups, self._functions, strict=True):
            index = group.state_index
            motion = np.concatenate([z[:, index], velocity[:, index[:, :index.shape[1] // 2]]], axis=2)
            total += evaluate(functions[name], motion, t, group.parameters).sum(axis=(1, 2))
        return total.reshape(shape)
