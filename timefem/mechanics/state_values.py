"""What a system is worth at given states: energies, forces, constraints and their derivatives.

Evaluated by CasADi's virtual machine, for initial states and results; solvers have compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..late import Late
from ..types import Floats
from .motion_values import ValuesOfMotion
from .point_functions import evaluate, pointwise, sees_velocities
from .solved_velocities import entries, sparse, velocity_derivatives

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .part import Part

redundancy = Late(f"{__package__}.redundancy.consistent_multipliers")


class StateValues(ValuesOfMotion):
    """Base of `System`, which has the parts and their places: arrays of states have any leading axes."""

    @cached_property
    def _functions(self):
        return [pointwise(g.part) for g in self.groups]

    def points(self, t: Floats, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Flatten leading axes: `(n_points,)`, `(n_points, n_z)` and the shape to restore."""
        z = np.asarray(z, float)
        shape = z.shape[:-1]
        z = z.reshape(-1, self.n_z)
        return np.broadcast_to(np.asarray(t, float), shape).reshape(-1), z, shape

    @cached_property
    def velocities_solved(self) -> list[bool]:
        return [sees_velocities(group.part) for group in self.groups]

    def local_states(self, t: np.ndarray, z: np.ndarray) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Per group, what its functions take of states (n_points, n_z)."""
        v = self.velocity(t, z) if any(self.velocities_solved) else None
        for group, functions, solved in zip(self.groups, self._functions, self.velocities_solved, strict=True):
            index = group.state_index
            rates = [v[:, index[:, :index.shape[1] // 2]]] if solved else []
            yield group, functions, np.concatenate([z[:, index], *rates], axis=2)

    def hamiltonian(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Total energy H(z, t), shape (..., n_z) -> (...) [J]."""
        return self._energy("hamiltonian", t, z)

    def potential(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Potential energy V(q, t), shape (..., n_z) -> (...) [J]."""
        return self._energy("potential", t, z)

    def energy_by_part(self, t: Floats, z: np.ndarray) -> dict[str, np.ndarray]:
        """What each part adds to H: kinetic energy of bodies, potential of the others; dict name -> (...) [J].

        Weight is one entry, "gravity"; parts without energy are left out.
        """
        t, z, shape = self.points(t, z)
        names = {part: self.label(part.owner or part) for part in self.parts}
        names |= {part: "gravity" for part in self.parts if hasattr(part, "acceleration")}
        energies = {}
        for group, functions, local in self.local_states(t, z):
            values = evaluate(functions["hamiltonian"], local, t, group.parameters)[..., 0]
            for part, value in zip(group.members, values.T, strict=True):
                if group.part.is_body or np.any(value):
                    energies[names[part]] = energies.get(names[part], 0.0) + value
        return {name: value.reshape(shape) for name, value in energies.items()}

    def velocity(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Velocities qdot = dH/dp, shape (..., n_z) -> (..., n_q)."""
        t, z, shape = self.points(t, z)
        out = np.zeros((len(z), self.n_q))
        # the bodies first: what drives coordinates of others by velocities that follow from a solve is given these
        for group, functions, solved in sorted(zip(self.groups, self._functions, self.velocities_solved, strict=True),
                                               key=lambda entry: not entry[0].part.is_body):
            if not (group.part.is_body or "velocity" in functions):
                continue
            index, half = group.state_index, group.state_index.shape[1] // 2
            if group.part.is_body and solved:
                q, p = z[:, index[:, :half]], z[:, index[:, half:]]
                velocity = np.stack([body.velocity(q[:, i], p[:, i]) for i, body in enumerate(group.members)], axis=1)
            else:
                given = [z[:, index], *([out[:, index[:, :half]]] if solved else [])]
                velocity = evaluate(functions["velocity"], np.concatenate(given, axis=2), t, group.parameters)
            np.add.at(out, (slice(None), index[:, :half]), velocity)
        return out.reshape(*shape, self.n_q)

    @cached_property
    def has_power(self) -> bool:
        """Whether anything but a potential does work: forces, and what depends on time explicitly."""
        return any(f["power"] is not None or f.get("drifts") is not None for f in self._functions)

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
        total = np.zeros(len(z))
        if not self.has_power:
            return total.reshape(shape)
        rate = self.velocity(t, z) if rate is None else np.reshape(np.asarray(rate, float), (len(z), self.n_q))
        multipliers = np.zeros((len(z), self.n_multipliers)) if multipliers is None else \
            np.reshape(np.asarray(multipliers, float), (len(z), self.n_multipliers))
        for group, functions, local in self.local_states(t, z):
            if functions["power"] is not None:
                index = group.state_index
                motion = np.concatenate([local, rate[:, index[:, :index.shape[1] // 2]],
                                         multipliers[:, group.multiplier_index]], axis=2)
                total += evaluate(functions["power"], motion, t, group.parameters).sum(axis=(1, 2))
            if nonholonomic is not None and functions.get("drifts") is not None:
                drifts = evaluate(functions["drifts"], local, t, group.parameters)
                index = group.nonholonomic_index
                values = np.reshape(np.asarray(nonholonomic, float), (len(z), -1))
                if values.shape[1] > self.n_nonholonomic:
                    index = np.concatenate([index, index + self.n_nonholonomic], axis=1)
                total += (values[:, index] * drifts[:, :, :index.shape[1]]).sum(axis=(1, 2))
        return total.reshape(shape)

    def control_force(self, t: Floats, z: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """Generalized forces of the controls, shapes (...), (..., n_z), (..., n_controls) -> (..., n_q).

        Controls of all actuators, in the order of the parts.
        """
        t, z, shape = self.points(t, z)
        controls, out = np.reshape(np.asarray(controls, float), (len(z), -1)), np.zeros((len(z), self.n_q))
        actuators = [p for p in self.parts if p.n_controls]
        stops = dict(zip(actuators, np.cumsum([a.n_controls for a in actuators]).tolist(), strict=True))
        for group, functions, local in self.local_states(t, z):
            if not group.part.n_controls:
                continue
            own = np.array([np.arange(stops[p] - p.n_controls, stops[p]) for p in group.members])
            values = evaluate(functions["control force"], np.concatenate([local, controls[:, own]], axis=2), t,
                              group.parameters)
            half = group.state_index.shape[1] // 2
            np.add.at(out, (slice(None), group.state_index[:, :half]), values)
        return out.reshape(*shape, self.n_q)

    def _energy(self, name, t, z):
        t, z, shape = self.points(t, z)
        total = np.zeros(len(z))
        for group, functions, local in self.local_states(t, z):
            total += evaluate(functions[name], local, t, group.parameters).sum(axis=(1, 2))
        return total.reshape(shape)

    def constraints(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Constraints on both levels, Theta = (Phi, Psi), shape (..., n_z) -> (..., 2 m)."""
        t, z, shape = self.points(t, self.uncoupled(t, z))
        out = np.zeros((len(z), self.n_multipliers))
        for group, functions, local in self.local_states(t, z):
            out[:, group.multiplier_index] = evaluate(functions["theta"], local, t, group.parameters)
        return out.reshape(*shape, self.n_multipliers)

    def derivatives(self, t: float, z: np.ndarray) -> tuple[np.ndarray, csr_array, np.ndarray]:
        """At one state: grad H - (Q, 0) (n_z,), Jacobian of Theta (2 m, n_z), its partial time derivative (2 m,).

        The Jacobian is a SciPy CSR array. Without constraints the motion is zdot = J (grad H - (Q, 0)), Q the forces
        that have no potential.
        """
        grad, rate = np.zeros(self.n_z), np.zeros(self.n_multipliers)
        found = [(np.zeros(0), np.zeros(0, int), np.zeros(0, int))]
        t, z, _ = self.points(t, z)
        for group, functions, local in self.local_states(t, z):
            index, w = group.state_index, group.multiplier_index
            values = evaluate(functions["derivatives"], local, t, group.parameters)[0]
            n, m = index.shape[1], w.shape[1]
            g, b, r, _ = np.split(values, [n, n + n * m, n + n * m + m], axis=1)
            np.add.at(grad, index, g)
            rate[w] = r
            found.append(entries(b, w, index))
        jac = sparse(found, (self.n_multipliers, self.n_z))
        if self.n_multipliers and any(self.velocities_solved):
            jac = jac + velocity_derivatives(self, t, z, self.n_multipliers)
        jac.eliminate_zeros()
        return grad, jac, rate

    @cached_property
    def rates_follow(self) -> bool:
        """Whether velocities follow from momenta body by body, by an inverse of the mass matrix or a solve with it."""
        return not self.couples_inertia and all(b.has_inverse_mass or b.velocity_by_solve for b in self.bodies)

    def nonholonomic(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Nonholonomic constraints A qdot + a with qdot = dH/dp, shape (..., n_z) -> (..., n_nonholonomic)."""
        t, z, shape = self.points(t, z)
        out = np.zeros((len(z), self.n_nonholonomic))
        for group, functions, local in self.local_states(t, z):
            if group.nonholonomic_index.size:
                out[:, group.nonholonomic_index] = evaluate(functions["velocity form"], local, t, group.parameters)
        return out.reshape(*shape, self.n_nonholonomic)

    def nonholonomic_derivatives(self, t: float, z: np.ndarray) -> tuple[Any, ...]:
        """At one state: A (n, n_q), Jacobian of `nonholonomic` (n, n_z), a (n,), its partial time derivative (n,).

        The first two are SciPy CSR arrays.
        """
        n, none = self.n_nonholonomic, [(np.zeros(0), np.zeros(0, int), np.zeros(0, int))]
        rates, found = np.zeros((2, n)), (list(none), list(none))
        t, z, _ = self.points(t, z)
        for group, functions, local in self.local_states(t, z):
            index, w = group.state_index, group.nonholonomic_index
            if not w.size:
                continue
            values = evaluate(functions["velocity form derivatives"], local, t, group.parameters)[0]
            half, m = index.shape[1] // 2, w.shape[1]
            blocks = np.split(values, np.cumsum([m * half, 2 * m * half, m]), axis=1)
            rates[0, w], rates[1, w] = blocks[2:]
            for block, columns, list_ in zip(blocks[:2], (index[:, :half], index), found, strict=True):
                list_.append(entries(block, w, columns))
        matrices = [sparse(list_, (n, columns)) for list_, columns in zip(found, (self.n_q, self.n_z), strict=True)]
        return *matrices, *rates

    def not_finite(self, t: Floats, z: np.ndarray) -> dict[Part, float]:
        """Parts whose force or constraint is NaN or infinite at a state, or at one of many: dict to the first t."""
        t, z, _ = self.points(t, z)
        found = {}
        for group, functions, local in self.local_states(t, z):
            values = evaluate(functions["derivatives"], local, t, group.parameters)
            for part, fine in zip(group.members, np.isfinite(values).all(axis=2).T, strict=True):
                if not fine.all():
                    found[part] = float(t[np.argmin(fine)])
        return found

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
