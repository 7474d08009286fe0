"""What a system is worth at given states: energies, forces, constraints and their derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...late import Late
from ...types import Floats
from .evaluate import evaluator
from .quantities import sees_velocities

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

    from ..part import Part

redundancy = Late(f"{__package__.rpartition('.')[0]}.redundancy.consistent_multipliers")
scipy = Late("scipy")

SINGULAR, HOLDS = 1e-13, 1e-8  # pivots, relative, of motions without mass; residual of equations that hold


class StateValues:
    """Base of `System`, which has the parts and their places: arrays of states have any leading axes."""

    def points(self, t: Floats, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Flatten leading axes: `(n_points,)`, `(n_points, n_z)` and the shape to restore."""
        z = np.asarray(z, float)
        shape = z.shape[:-1]
        z = z.reshape(-1, self.n_z)
        return np.broadcast_to(np.asarray(t, float), shape).reshape(-1), z, shape

    @cached_property
    def velocities_solved(self) -> list[bool]:
        return [sees_velocities(group.part) for group in self.groups]

    def values(self, t: np.ndarray, z: np.ndarray, *names: str, repeatable: bool = True,
               **inputs: np.ndarray) -> list[Any]:
        """Quantities of `values.quantities` at states (n, n_z), see `Evaluator`; velocities are those of the states
        unless given."""
        evaluate = evaluator(self, *names)
        if "v" in evaluate.inputs and "v" not in inputs:
            inputs["v"] = self.velocity(t, z)
        return evaluate(self, t, z, repeatable, **inputs)

    def hamiltonian(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Total energy H(z, t), shape (..., n_z) -> (...) [J]."""
        return self._scalar("energy", t, z)

    def potential(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Potential energy V(q, t), shape (..., n_z) -> (...) [J]."""
        return self._scalar("potential energy", t, z)

    def generalized_energy(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Generalized energy p.v - T(q, v) + V(q, t), shapes (..., n_z), (..., n_q) -> (...) [J]; H where v = dH/dp."""
        return self._scalar("generalized energy", t, z, velocity)

    def kinetic_energy(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Kinetic energy T(q, v) of given velocities, shapes (..., n_z), (..., n_q) -> (...) [J]."""
        return self._scalar("kinetic energy", t, z, velocity)

    def energies_of(self, parts: Iterable[Part], t: Floats, z: np.ndarray,
                    velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy of some parts [J], shapes (..., n_z), (..., n_q) -> two arrays (...)."""
        t, z, shape = self.points(t, z)
        chosen = set(parts)
        own = [part in chosen for group in self.groups for part in group.members]
        kinetic, = self.values(t, z, "kinetic energies", v=self._rows(velocity, z, self.n_q))
        potential, = self.values(t, z, "potential energies")
        return tuple(energies[:, own].sum(axis=1).reshape(shape) for energies in (kinetic, potential))

    def energy_by_part(self, t: Floats, z: np.ndarray) -> dict[str, np.ndarray]:
        """What each part adds to H: kinetic energy of bodies, potential of the others; dict name -> (...) [J].

        Weight is one entry, "gravity"; parts without energy are left out.
        """
        t, z, shape = self.points(t, z)
        found, = self.values(t, z, "energies")
        energies = {}
        for part, value in zip((part for group in self.groups for part in group.members), found.T, strict=True):
            if part.is_body or np.any(value):
                name = "gravity" if hasattr(part, "acceleration") else self.label(part.owner or part)
                energies[name] = energies.get(name, 0.0) + value
        return {name: value.reshape(shape) for name, value in energies.items()}

    def velocity(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Velocities qdot = dH/dp, shape (..., n_z) -> (..., n_q)."""
        t, z, shape = self.points(t, z)
        out, = self.values(t, z, "velocity")  # of bodies whose velocities follow by a formula
        for body in self.bodies:
            if body.velocity_by_solve:
                place = self.coordinates(body)
                out[:, place] += body.velocity(z[:, place], z[:, self.n_q:][:, place])
        out = out + self.values(t, z, "driven velocity", v=out)[0]
        return out.reshape(*shape, self.n_q)

    def momentum(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Momenta p = dT/dv of given velocities, shapes (..., n_z), (..., n_q) -> (..., n_q)."""
        t, z, shape = self.points(t, z)
        out, = self.values(t, z, "momentum", v=self._rows(velocity, z, self.n_q))
        return out.reshape(*shape, self.n_q)

    def mass_matrix(self, t: float, z: np.ndarray) -> csr_array:
        """Mass matrix of T(q, v) at one state, SciPy CSR array of shape (n_q, n_q); it may be singular."""
        t, z, _ = self.points(t, z)
        return self.values(t, z, "mass", v=np.zeros((1, self.n_q)))[0].sparse()

    @cached_property
    def couples_inertia(self) -> bool:
        """Whether joints or forces state kinetic energies, so that velocities do not follow body by body."""
        return any(group.part.couples_inertia for group in self.groups)

    @cached_property
    def has_inverse_mass(self) -> bool:
        """Whether velocities follow from momenta, body by body."""
        return not self.couples_inertia and all(body.has_inverse_mass for body in self.bodies)

    @cached_property
    def rates_follow(self) -> bool:
        """Whether velocities follow from momenta body by body, by an inverse of the mass matrix or a solve with it."""
        return not self.couples_inertia and all(b.has_inverse_mass or b.velocity_by_solve for b in self.bodies)

    def with_own_momenta(self, t: Floats, z: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """States with the momenta dT/dv that the kinetic energies of bodies alone give velocities, shapes (..., n_z),
        (..., n_q) -> (..., n_z)."""
        t, z, shape = self.points(t, z)
        momenta, = self.values(t, z, "own momentum", v=self._rows(velocity, z, self.n_q))
        return np.concatenate([z[:, :self.n_q], momenta], axis=1).reshape(*shape, self.n_z)

    def uncoupled(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """States whose momenta are those of the bodies alone, where parts couple inertia: shape (..., n_z).

        Of a body without what others share, so that its velocities follow from them.
        """
        if not self.couples_inertia:
            return z
        t, z, shape = self.points(t, z)
        velocity = np.array([self.consistent_velocity(*state, least=True) for state in zip(t, z, strict=True)])
        return self.with_own_momenta(t, z, velocity).reshape(*shape, self.n_z)

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

    @cached_property
    def has_power(self) -> bool:
        """Whether anything but a potential does work: forces, and what depends on time explicitly."""
        return any(evaluator(self, name).groups for name in ("power", "drift", "drift rate"))

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
            Default: zero, which leaves out the constraints that depend on time.
        nonholonomic : array_like, shape (..., n_nonholonomic) or (..., 2 n_nonholonomic), optional
            Multipliers of nonholonomic constraints, and of their rates; those with a drift a(q, t) do work.
        """
        t, z, shape = self.points(t, z)
        if not self.has_power:
            return np.zeros(shape)
        rate = self.velocity(t, z) if rate is None else self._rows(rate, z, self.n_q)
        multipliers = np.zeros((len(z), self.n_multipliers)) if multipliers is None else \
            self._rows(multipliers, z, self.n_multipliers)
        total = self.values(t, z, "power", rate=rate, multipliers=multipliers)[0][:, 0]
        if nonholonomic is not None and self.n_nonholonomic:
            drifts = np.concatenate(self.values(t, z, "drift", "drift rate"), axis=1)
            given = np.reshape(np.asarray(nonholonomic, float), (len(z), -1))
            total = total + (given * drifts[:, :given.shape[1]]).sum(axis=1)
        return total.reshape(shape)

    def control_force(self, t: Floats, z: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """Generalized forces of the controls, shapes (...), (..., n_z), (..., n_controls) -> (..., n_q).

        Controls of all actuators, in the order of the parts.
        """
        t, z, shape = self.points(t, z)
        out, = self.values(t, z, "control force", controls=np.reshape(np.asarray(controls, float), (len(z), -1)))
        return out.reshape(*shape, self.n_q)

    def constraints(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Constraints on both levels, Theta = (Phi, Psi), shape (..., n_z) -> (..., 2 m)."""
        t, z, shape = self.points(t, self.uncoupled(t, z))
        return self.values(t, z, "constraints")[0].reshape(*shape, self.n_multipliers)

    def derivatives(self, t: float, z: np.ndarray) -> tuple[np.ndarray, csr_array, np.ndarray]:
        """At one state: grad H - (Q, 0) (n_z,), Jacobian of Theta (2 m, n_z), its partial time derivative (2 m,).

        The Jacobian is a SciPy CSR array. Without constraints the motion is zdot = J (grad H - (Q, 0)), Q the forces
        that have no potential.
        """
        t, z, _ = self.points(t, z)
        gradient, jacobian, rate = self.values(t, z, "gradient", "jacobian", "rate")
        jacobian = jacobian.sparse()
        if self.n_multipliers and any(self.velocities_solved):
            by_velocity, = self.values(t, z, "constraints by velocity")
            jacobian = jacobian + by_velocity.sparse() @ self._velocity_derivatives(t, z)
            jacobian.eliminate_zeros()
        return gradient[0], jacobian, rate[0]

    def _velocity_derivatives(self, t, z):
        """`dv/dz` at one state, CSR array of shape (n_q, n_z): `M v = p` gives `dv = M^-1 (dp - (M v)_q dq)`."""
        by_state, by_coordinates = self.values(t, z, "velocity by state", "momentum by coordinates")
        by_coordinates, blocks = by_coordinates.sparse(), [by_state.sparse()]
        for body in self.bodies:
            if body.velocity_by_solve:
                place = np.arange(self.n_q)[self.coordinates(body)]
                mobility = np.linalg.inv(body.mass_matrix(z[0, place]))
                block = np.hstack([-mobility @ by_coordinates[place][:, place].toarray(), mobility])
                rows, columns = np.broadcast_arrays(place[:, None], np.append(place, place + self.n_q))
                blocks.append(scipy.sparse.csr_array((block.ravel(), (rows.ravel(), columns.ravel())),
                                                     shape=(self.n_q, self.n_z)))
        return sum(blocks[1:], blocks[0])

    def nonholonomic(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Nonholonomic constraints A qdot + a with qdot = dH/dp, shape (..., n_z) -> (..., n_nonholonomic)."""
        t, z, shape = self.points(t, z)
        return self.values(t, z, "form")[0].reshape(*shape, self.n_nonholonomic)

    def nonholonomic_derivatives(self, t: float, z: np.ndarray) -> tuple[Any, ...]:
        """At one state: A (n, n_q), Jacobian of `nonholonomic` (n, n_z), a (n,), its partial time derivative (n,).

        The first two are SciPy CSR arrays.
        """
        t, z, _ = self.points(t, z)
        matrix, jacobian, drift, rate = self.values(t, z, "form matrix", "form jacobian", "drift", "drift rate")
        return matrix.sparse(), jacobian.sparse(), drift[0], rate[0]

    def not_finite(self, t: Floats, z: np.ndarray) -> dict[Part, float]:
        """Parts whose force or constraint is NaN or infinite at a state, or at one of many: dict to the first t."""
        t, z, _ = self.points(t, z)
        fine = np.isfinite(self.values(t, z, "sizes")[0])
        parts = (part for group in self.groups for part in group.members)
        return {part: float(t[np.argmin(own)]) for part, own in zip(parts, fine.T, strict=True) if not own.all()}

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

    def consistent_nonholonomic(self, t: float, z: np.ndarray) -> np.ndarray:
        """Multipliers of the nonholonomic constraints at a consistent state, shape (n_nonholonomic,).

        Those of A qdot + a, whose force on the coordinates is -A^T gamma. Errors as `consistent_multipliers`.
        """
        return redundancy.multipliers_at(self, t, z)[self.n_multipliers:][:self.n_nonholonomic]

    @staticmethod
    def _rows(values, z, length):
        return np.reshape(np.asarray(values, float), (len(z), length))

    def _scalar(self, name, t, z, velocity=None):
        t, z, shape = self.points(t, z)
        given = {} if velocity is None else {"v": self._rows(velocity, z, self.n_q)}
        return self.values(t, z, name, **given)[0].reshape(shape)
