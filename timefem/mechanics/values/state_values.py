"""What a system is worth at given states: energies, forces, constraints and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...memory import Late
from ...types import Floats
from .evaluate import flattened, quantities_at, sees_solved_velocities
from .of_parts import has_power, has_reaction_forces, rates_of_power, scalar, uncoupled, velocity_derivatives

if TYPE_CHECKING:
    from scipy.sparse import csr_array

redundancy = Late(f"{__package__.rpartition('.')[0]}.states.consistent_multipliers")


class StateValues:
    """Base of `System`, which has the parts and their places: arrays of states have any leading axes."""

    def hamiltonian(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Total energy H(z, t), shape (..., n_z) -> (...) [J]."""
        return scalar(self, "energy", t, z)

    def potential(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Potential energy V(q, t), shape (..., n_z) -> (...) [J]."""
        return scalar(self, "potential energy", t, z)

    def energy_by_part(self, t: Floats, z: np.ndarray) -> dict[str, np.ndarray]:
        """What each part adds to H: kinetic energy of bodies, potential of the others; dict name -> (...) [J].

        Weight is one entry, "gravity"; parts without energy are left out.
        """
        t, z, shape = flattened(self, t, z)
        found, = quantities_at(self, t, z, "energies")
        energies = {}
        for part, value in zip((part for group in self.groups for part in group.members), found.T, strict=True):
            if part.is_body or np.any(value):
                name = "gravity" if hasattr(part, "acceleration") else self.label(part.owner or part)
                energies[name] = energies.get(name, 0.0) + value
        return {name: value.reshape(shape) for name, value in energies.items()}

    def velocity(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Velocities qdot = dH/dp, shape (..., n_z) -> (..., n_q)."""
        t, z, shape = flattened(self, t, z)
        return velocities_at(self, t, z).reshape(*shape, self.n_q)

    def momentum(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Momenta p = dT/dv of given velocities, shapes (..., n_z), (..., n_q) -> (..., n_q)."""
        t, z, shape = flattened(self, t, z)
        out, = quantities_at(self, t, z, "momentum", v=np.reshape(np.asarray(velocity, float), (len(z), self.n_q)))
        return out.reshape(*shape, self.n_q)

    def mass_matrix(self, t: float, z: np.ndarray) -> csr_array:
        """Mass matrix of T(q, v) at one state, SciPy CSR array of shape (n_q, n_q); it may be singular."""
        t, z, _ = flattened(self, t, z)
        return quantities_at(self, t, z, "mass", v=np.zeros((1, self.n_q)))[0].sparse()

    def power(self, t: Floats, z: np.ndarray, rate: np.ndarray | None = None, multipliers: np.ndarray | None = None,
              nonholonomic: np.ndarray | None = None) -> np.ndarray:
        """Power of all that is not in H, shape (..., n_z) -> (...) [W].

        `Q.qdot + dH/dt + lambda.dTheta/dt` with the partial time derivatives: forces without a potential, potentials
        and constraints that depend on time, nonholonomic constraints that prescribe a velocity. Along a motion it is
        the rate of H.

        Parameters
        ----------
        t : array_like, shape (...)
        z : array_like, shape (..., n_z)
        rate : array_like, shape (..., n_q), optional
            Velocities qdot; default `velocity(t, z)`.
        multipliers : array_like, shape (..., n_multipliers), optional
            Default: zero, which leaves out the constraints that depend on time; where forces depend on those of
            constraints the consistent ones.
        nonholonomic : array_like, shape (..., n_nonholonomic) or (..., 2 n_nonholonomic), optional
            Multipliers of nonholonomic constraints, and of their rates; those with a drift a(q, t) do work.
        """
        t, z, shape = flattened(self, t, z)
        if not has_power(self):
            return np.zeros(shape)
        rate = rates_of_power(self, t, z, self.velocity(t, z)) if rate is None else \
            np.reshape(np.asarray(rate, float), (len(z), self.n_q))
        if multipliers is None and has_reaction_forces(self):
            multipliers = redundancy.multipliers_along(self, t, z)[:, :self.n_multipliers]
        multipliers = np.zeros((len(z), self.n_multipliers)) if multipliers is None else \
            np.reshape(np.asarray(multipliers, float), (len(z), self.n_multipliers))
        total = quantities_at(self, t, z, "power", rate=rate, multipliers=multipliers)[0][:, 0]
        if nonholonomic is not None and self.n_nonholonomic:
            drifts = np.concatenate(quantities_at(self, t, z, "drift", "drift rate"), axis=1)
            given = np.reshape(np.asarray(nonholonomic, float), (len(z), -1))
            total = total + (given * drifts[:, :given.shape[1]]).sum(axis=1)
        return total.reshape(shape)

    def constraints(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Constraints on both levels, Theta = (Phi, Psi), shape (..., n_z) -> (..., 2 m)."""
        t, z, shape = flattened(self, t, uncoupled(self, t, z))
        return quantities_at(self, t, z, "constraints")[0].reshape(*shape, self.n_multipliers)

    def derivatives(self, t: float, z: np.ndarray) -> tuple[np.ndarray, csr_array, np.ndarray]:
        """At one state: grad H - (Q, 0) (n_z,), Jacobian of Theta (2 m, n_z), its partial time derivative (2 m,).

        The Jacobian is a SciPy CSR array. Without constraints the motion is zdot = J (grad H - (Q, 0)), Q the forces
        that have no potential and do not depend on those of constraints.
        """
        t, z, _ = flattened(self, t, z)
        gradient, jacobian, rate = quantities_at(self, t, z, "gradient", "jacobian", "rate")
        jacobian = jacobian.sparse()
        if self.n_multipliers and sees_solved_velocities(self):
            by_velocity, = quantities_at(self, t, z, "constraints by velocity")
            jacobian = jacobian + by_velocity.sparse() @ velocity_derivatives(self, t, z)
            jacobian.eliminate_zeros()
        return gradient[0], jacobian, rate[0]

    def nonholonomic(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Nonholonomic constraints A qdot + a with qdot = dH/dp, shape (..., n_z) -> (..., n_nonholonomic)."""
        t, z, shape = flattened(self, t, z)
        return quantities_at(self, t, z, "form")[0].reshape(*shape, self.n_nonholonomic)

    def consistent_multipliers(self, t: float, z: np.ndarray) -> np.ndarray:
        """Multipliers for which d/dt Theta = 0 at a consistent state, shape (2 m,).

        Solves `grad Theta J grad Theta^T lambda = -(grad Theta J grad H + dTheta/dt)`, from May & Betsch (13), together
        with the nonholonomic constraints.

        Raises
        ------
        InputError
            When the constraints are redundant there; names them.
        """
        return redundancy.multipliers_at(self, t, z)[:self.n_multipliers]


def velocities_at(system: Any, t: np.ndarray, z: np.ndarray, repeatable: bool = True) -> np.ndarray:
    """Velocities at states (n, n_z) at times (n,), shape (n, n_q); `repeatable` as of an `Evaluator`."""
    out, = quantities_at(system, t, z, "velocity", repeatable=repeatable)  # of bodies with a formula for them
    for body in system.bodies:
        if body.velocity_by_solve:
            place = system.coordinates(body)
            out[:, place] += body.velocity(z[:, place], z[:, system.n_q:][:, place])
    return out + quantities_at(system, t, z, "driven velocity", repeatable=repeatable, v=out)[0]
