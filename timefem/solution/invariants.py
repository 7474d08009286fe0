"""What a motion should keep, and how well: energy, work, momenta, constraints; and multipliers of all parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..assembly import TimeMesh
from ..errors import InputError
from ..mechanics.states.consistent_multipliers import multipliers_along
from ..mechanics.states.redundancy import minimum_norm_multipliers
from ..mechanics.values.conserved import constant_momenta
from ..mechanics.values.forces import powers
from ..mechanics.values.of_parts import (
    consistent_velocity,
    constraints_in_momenta,
    control_force,
    couples_inertia,
    energies_of,
    generalized_energy,
    has_power,
    kinetic_energy,
    rates_follow,
    rates_of_power,
)
from ..polynomials import LagrangeBasis, gauss_legendre
from ..types import Floats
from .options import OPTIONS

if TYPE_CHECKING:
    from ..mechanics.composites.composite import Composite
    from ..mechanics.part import Part


class Energies(NamedTuple):
    """Kinetic and potential energy of a part [J]."""

    kinetic: np.ndarray
    potential: np.ndarray


class Energy:
    """Energy of a solution: `sol.energy()` is all of it, `sol.energy.of(part)` that of a part."""

    def __init__(self, solution: Any) -> None:
        self._solution = solution

    def __call__(self, t: Floats | None = None) -> np.ndarray:
        """Total energy H [J] at times, or at the ends of the elements."""
        return self._of_states(*self._solution._at(t))

    def _of_states(self, t, z):
        system = self._solution.system
        if not couples_inertia(system):
            return system.hamiltonian(t, z)
        states = zip(np.broadcast_to(t, z.shape[:-1]).ravel(), z.reshape(-1, system.n_z), strict=True)
        v = np.array([consistent_velocity(system, *state, least=True) for state in states]).reshape(*z.shape[:-1], -1)
        return kinetic_energy(system, t, z, v) + system.potential(t, z)

    def of(self, part: Part | Composite | str, t: Floats | None = None) -> Energies:
        """Kinetic and potential energy [J] of a part or composite part, at times or at the ends of the elements.

        Of a beam its motion and its strain energy; weights are parts of their own.

        Parameters
        ----------
        part : Part, Composite or str
            Or its name.
        t : array_like, optional
            [s]

        Returns
        -------
        Energies
            `kinetic` and `potential`, each of shape t.shape.
        """
        system = self._solution.system
        part = system[part] if isinstance(part, str) else part
        members = [p for p in system.parts if p is part or p.owner is part]
        if not members:
            raise InputError(f"{part!r} is not in the system")
        t, z = self._solution._at(t)
        return Energies(*energies_of(system, members, t, z, self._solution.rates(t)))

    def generalized(self, t: Floats | None = None) -> np.ndarray:
        """Generalized energy `p.v - T(q, v) + V` [J] of schemes with velocities of their own: EML, REML, Null-EML, MPL.

        What EML conserves, Kinon & Betsch (2024); it differs from the energy by O(h^2), since `v` and `p` are related
        at the midpoints only.

        Raises
        ------
        InputError
            When the element has no velocities.
        """
        sol = self._solution
        return generalized_energy(sol.system, *sol._at(t), sol.field("velocity", t))

    def work(self, t: Floats | None = None, by_part: bool = False) -> np.ndarray | dict[str, np.ndarray]:
        """Work since the start [J] of all that is not in H: loads, controls, dampers, what depends on time explicitly.

        The integral of `System.power` over the dense output, by Gauss quadrature with two points more than the element
        has, so that loads which the element does not resolve show in the balance. The velocity is the derivative of
        the shape functions, not dH/dp: with it mG(k) satisfies `Delta H = work` up to quadrature, at any step, for
        its tests contain zdot. With rigid contacts impacts and friction do work, too.

        Parameters
        ----------
        t : array_like, optional
            Times inside the solution [s]; default: the ends of the elements, shape (n_elements + 1,).
        by_part : bool
            The work of each part at the ends of the elements instead, dict name -> (n_elements + 1,), by the quadrature
            of the element: with `MixedGalerkin(k, keep="all")` their sum is the change of the energy in each element to
            round-off.

        Raises
        ------
        InputError
            For times with `by_part`.
        """
        if by_part:
            if t is not None:
                raise InputError("work by part is known at the ends of the elements; leave the times out")
            return self._solution._work_by_part()
        return self._solution._work(t)

    def power(self, t: Floats | None = None) -> dict[str, np.ndarray]:
        """Power of each part that does work besides a potential [W], dict name -> shape of `t`.

        Forces, controls, dampers, friction, energies and constraints that depend on the time; of a `PortSystem` its
        sources less what it dissipates. The velocities are those that the element shows to forces, and so are efforts.

        Parameters
        ----------
        t : array_like, optional
            Times inside the solution [s]; default: the middles of the elements.
        """
        sol = self._solution
        t = (sol.t[1:] + sol.t[:-1]) / 2 if t is None else np.asarray(t, float)
        e, xi = TimeMesh(sol.t).locate(t.ravel())
        return {name: value.reshape(t.shape) for name, value in sol._powers(e, xi).items()}

    def balance(self, t: Floats | None = None) -> np.ndarray:
        """Energy that the method gained or lost [J], H(t) - H(start) - work: zero for the exact motion."""
        energy = self(t)
        return energy - self._solution._energy_at_start - self.work(t)


class Invariants:
    """Base of `Solution`, which has the fields."""

    def _at(self, t):
        return (self.t, self.z) if t is None else (np.asarray(t, float), self(t))

    @property
    def energy(self) -> Energy:
        """Energies: `sol.energy()`, `sol.energy.of(part)`, work, power and the balance of these, see `Energy`."""
        return Energy(self)

    @property
    def _energy_at_start(self):
        return self.energy._of_states(self.t[0], self.z[0])

    def _work(self, t):
        """Work since the start, of all together."""
        n = len(self.t) - 1
        if not n or not (has_power(self.system) or "controls" in self.fields):
            return np.zeros(np.shape(self._at(t)[0]))
        ends = np.concatenate([[0.0], np.cumsum(self._element_work(np.arange(n), np.ones(n)))])
        if t is None:
            return ends
        t = np.asarray(t, float)
        e, xi = TimeMesh(self.t).locate(t.ravel())
        return (ends[e] + self._element_work(e, xi)).reshape(t.shape)

    def _element_work(self, e, end):
        """Work in the elements `e`, each from its start to the reference coordinate `end`, shape (n,)."""
        x, weights = gauss_legendre(max(self.element.n_points, 2 * self.element.degree) + 2)
        xi = (end[:, None] * x).ravel()
        h = np.diff(self.t)[e]
        if self.element.lifted and not self.system.n_nonholonomic:  # forces see the rates of the shape functions
            power = sum(self._powers(np.repeat(e, len(x)), xi).values(), np.zeros(len(xi)))
            return h * end * (power.reshape(len(e), -1) @ weights)

        def interpolate(table, nodal):
            return np.einsum("egi,eia->ega", table.reshape(len(e), len(x), -1), nodal[e])

        basis = self.element.state.basis
        z = interpolate(basis.values(xi), self.nodal.state)
        rate = efforts_and_rates(self, np.repeat(e, len(x)), xi).reshape(len(e), len(x), -1)
        system, nodal_multipliers = self._seen_by_forces
        multipliers = interpolate(self.element.multiplier.basis.values(xi), nodal_multipliers)
        times = self.t[e, None] + h[:, None] * xi.reshape(len(e), -1)
        rolling = None
        if self.system.n_nonholonomic:
            basis = self.element.trial["nonholonomic"].basis
            rolling = interpolate(basis.values(xi), self.fields["nonholonomic"])
        power = system.power(times, z, rate, multipliers, rolling)
        if "controls" in self.fields:
            controls = interpolate(self.element.trial["controls"].basis.values(xi), self.fields["controls"])
            power = power + (control_force(self.system, times, z, controls) * rate).sum(axis=-1)
        return h * end * (power @ weights)

    def _work_by_part(self):
        n = len(self.t) - 1
        x, w = gauss_legendre(self.element.n_points)
        e, xi = np.repeat(np.arange(n), len(x)), np.tile(x, n)
        return {name: np.concatenate([[0.0], np.cumsum(np.diff(self.t) * (value.reshape(n, -1) @ w))])
                for name, value in self._powers(e, xi).items()}

    def _powers(self, e, xi):
        h, basis = np.diff(self.t)[e], self.element.state.basis
        system, nodal_multipliers = self._seen_by_forces
        z = np.einsum("gi,gia->ga", basis.values(xi), self.nodal.state[e])
        multipliers = np.einsum("gi,gia->ga", self.element.multiplier.basis.values(xi), nodal_multipliers[e])
        controls = None
        if "controls" in self.fields:
            shapes = self.element.trial["controls"].basis.values(xi)
            controls = np.einsum("gi,gia->ga", shapes, self.fields["controls"][e])
        t, rolling = self.t[e] + h * xi, None
        if self.system.n_nonholonomic:
            shapes = self.element.trial["nonholonomic"].basis.values(xi)
            rolling = np.einsum("gi,gia->ga", shapes, self.fields["nonholonomic"][e])
        rate, seen = efforts_and_rates(self, e, xi), None
        if not self.element.lifted:
            seen = self.system.velocity(t, z)
            for place in (self.system.coordinates(body) for body in self.system.bodies if body.is_port):
                seen[:, place] = rate[:, place]
        found = powers(system, t, z, rate, multipliers, controls, seen, rolling)
        return {self.system.label(getattr(part, "force_seen", part)): value for part, value in found.items()}

    @property
    def _seen_by_forces(self):
        """The system, and its multipliers in the elements, by which forces that depend on these have power."""
        return self.system, self.nodal.multipliers

    def linear_momentum(self, t: Floats | None = None) -> np.ndarray:
        """Linear momentum of the system [kg m/s], shape (..., 3)."""
        return self._sum("linear_momentum", t)

    def angular_momentum(self, t: Floats | None = None) -> np.ndarray:
        """Angular momentum of the system about the origin, in space axes [kg m^2/s], shape (..., 3)."""
        return self._sum("angular_momentum", t)

    def _sum(self, name, t):
        for body in self.system.bodies:
            if not hasattr(body, name):
                raise InputError(f"{self.system.label(body)} has no {name.replace('_', ' ')} in space: it is {body!r}")
        _, z = self._at(t)
        n = self.system.n_q
        parts = [(b, self.system.coordinates(b)) for b in self.system.bodies]
        return sum(getattr(b, name)(z[..., s], z[..., n:][..., s]) for b, s in parts)

    def constraints(self, t: Floats | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of the constraints on configuration and on velocity level, two arrays of shape (..., m)."""
        theta = self.system.constraints(*self._at(t))
        m = self.system.n_constraints
        return theta[..., :m], theta[..., m:]

    def _constraint_errors(self):
        """Largest residuals of the constraints, those that were dropped as redundant included, by level and unit."""
        complete = self.system.complete or self.system
        theta, m = np.abs(complete.constraints(self.t, self.z)), complete.n_constraints
        in_momenta = constraints_in_momenta(complete)
        found = {"configuration": theta[..., :m], "velocity": theta[..., m:][..., ~in_momenta]}
        if in_momenta.any():
            found["quaternion_momentum"] = theta[..., m:][..., in_momenta]
        return {name: float(residuals.max(initial=0.0)) for name, residuals in found.items()}

    def errors(self) -> dict[str, float]:
        """Largest drifts of energy and conserved angular momentum, and constraint residuals, at the element ends.

        Constraints that were dropped as redundant are included. The work of loads and dampers is taken off the drift
        of the energy, see `Energy.balance`.

        Returns
        -------
        dict
            `energy`, `generalized_energy` (where the element has velocities at its ends), `angular_momentum` (about the
            axes about which no moment acts, as the vertical one under weight, or that of a hinge; left out where there
            are none), `configuration`, `velocity` (rates of constraints, m/s or
            1/s), `quaternion_momentum` (largest q.p of quaternions [kg m^2/s], which stands for them in (69) of May &
            Betsch; with bodies in quaternions).
        """
        errors = {"energy": float(np.abs(self.energy.balance()).max())}
        if "velocity" in self.fields and self.element.trial["velocity"].continuous and len(self.t) > 1:
            energy = self.energy.generalized() - self.energy.work()
            errors["generalized_energy"] = float(np.abs(energy - energy[0]).max())
        return errors | self._momentum_errors() | self._constraint_errors()

    def _momentum_errors(self):
        """Largest change of the angular momentum where nothing changes it."""
        motions = constant_momenta(self.system)
        turns = motions[:, motions[3:].any(axis=0)]
        if not turns.size or not all(hasattr(body, "angular_momentum") for body in self.system.bodies):
            return {}
        turns = turns / np.linalg.norm(turns[3:], axis=0)
        return {"angular_momentum": self._change(
            lambda sol: np.hstack([sol.linear_momentum(), sol.angular_momentum()]) @ turns)}

    def _change(self, values):
        """Largest change since the start of values at the ends of the elements, function of a solution."""
        found = values(self)
        return float(np.abs(found - found[0]).max())


def efforts_and_rates(sol, e, xi):
    """Rates of the shape functions at places of elements, and of states of first order dH/dx: as the element sees them.

    Parameters
    ----------
    sol : Solution
    e, xi : ndarray, shape (n,)
        Numbers of elements, and reference coordinates in them.

    Returns
    -------
    ndarray, shape (n, n_q)
    """
    basis, h, n_q = sol.element.state.basis, np.diff(sol.t)[e], sol.system.n_q
    nodal = sol.nodal.state[e][..., :n_q]
    rate = np.einsum("gi,gia->ga", basis.derivatives(xi), nodal) / h[:, None]
    if any(body.first_order and not body.is_port for body in sol.system.bodies):
        z = np.einsum("gi,gia->ga", basis.values(xi), sol.nodal.state[e])
        rate = rates_of_power(sol.system, sol.t[e] + h * xi, z, rate)
    for body in sol.system.bodies:
        if body.is_port:
            place = sol.system.coordinates(body)
            rate[:, place] = _efforts(sol.element, body, nodal[..., place], xi)
    return rate


def _efforts(element, body, nodal, xi):
    """Efforts of a port system at places of elements with nodal states (n, n_shapes, n_x): (n, n_x)."""
    basis = element.state.basis
    if not element.lifted:
        return body.velocity(np.einsum("gi,gia->ga", basis.values(xi), nodal), None)
    k = element.degree  # their projection on polynomials of degree k - 1
    x, w = gauss_legendre(2 * k + 6)
    own, through = LagrangeBasis(k - 1, "gauss"), gauss_legendre(k)[1]
    values = body.velocity(np.einsum("mi,gia->gma", basis.values(x), nodal), None)
    at_points = np.einsum("m,mj,gma->gja", w, own.values(x), values) / through[:, None]
    return np.einsum("gj,gja->ga", own.values(xi), at_points)


# ---- Multipliers, controls and forces of contacts of all parts along a solution

AXES = "space", "a", "b"


def consistent_multipliers(solution, t):
    """Consistent multipliers of Theta and of the nonholonomic constraints, at times; see `Solution.multipliers`."""
    system = solution.system
    if not rates_follow(system):
        raise InputError("consistent multipliers need the inverse of the mass matrix, which this system has not; the "
                         "element's own are sol.multipliers(t, kind='element')")
    z = solution(t)
    shape, flat = z.shape[:-1], z.reshape(-1, system.n_z)
    times = np.broadcast_to(np.asarray(t, float), shape).ravel()
    force = solution.contact_pushes(times, flat) if system.rigid_contacts else None
    if "controls" in solution.fields:
        driven = control_force(system, times, flat, solution.controls(times))
        force = driven if force is None else force + driven
    m, n = system.n_multipliers, system.n_nonholonomic
    values = multipliers_along(system, times, flat, force)
    return values[:, :m].reshape(*shape, m), values[:, m:m + n].reshape(*shape, n)


def all_multipliers(solution, t):
    """gamma of all constraints of the complete system, multipliers of nonholonomic ones, controls, and forces of
    contacts, (..., n)."""
    system = solution.system
    values, rolling = solution._constraint_forces(t) if rates_follow(system) else (
        solution.multipliers(t, kind="element"), rolling_of_elements(solution, t))
    values, rolling = shared_out(solution, t, values, rolling)
    controls = solution.controls(t) if "controls" in solution.fields else \
        np.zeros((*t.shape, sum(p.n_controls for p in system.parts)))
    contacts = solution.contact_forces(t).reshape(*t.shape, -1) if system.rigid_contacts else controls[..., :0]
    return values[..., :(system.complete or system).n_constraints], rolling, controls, contacts


def rolling_of_elements(solution, t):
    """Multipliers of the nonholonomic constraints that the element has at times."""
    n = solution.system.n_nonholonomic
    return solution.field("nonholonomic", t)[..., :n] if n else np.zeros((*np.shape(t), 0))


def shared_out(solution, t, values, rolling):
    """Multipliers of Theta and of the nonholonomic constraints of the complete system: dropped ones have their share.
    """
    every = minimum_norm_multipliers(solution.system, t, solution(t), np.concatenate([values, rolling], axis=-1))
    n = (solution.system.complete or solution.system).n_multipliers
    return every[..., :n], every[..., n:]


def acting(solution, t, multipliers=None):
    """All parts of the complete system with what they see, as of `own_values`, list of tuples, at times (n,)."""
    system, values, found = solution.system, all_multipliers(solution, t) if multipliers is None else multipliers, []
    others = solution._pressed_forces(t)
    for part in (part.whole for part in (system.complete or system).parts):
        own = [x.reshape(t.size, x.shape[-1]) for x in own_values(system, part, values)]
        if part in others:
            part, own[0] = others[part]
        found.append((part, *own))
    return found


def own_values(system, part, values):
    """Of `all_multipliers` those that one part sees."""
    every_part, (gamma, rolling, controls, contacts) = (system.complete or system).parts, values
    seen = [controls[..., _place(actuator, system.parts, lambda p: p.n_controls)] for actuator in part.controls]
    own = [gamma[..., _place(other, every_part, lambda p: len(p.constraint_names))]
           for other in (part, *part.reactions_of)]
    if part.kept_reactions is not None:
        own[1:] = [np.concatenate(own[1:], axis=-1)[..., list(part.kept_reactions)]]
    return [np.concatenate(own, axis=-1),
            rolling[..., _place(part, every_part, lambda p: len(p.nonholonomic_names))],
            np.concatenate([controls[..., :0], *seen], axis=-1),
            contacts[..., _place(part, system.rigid_contacts, lambda p: 3 * p.n_contacts)]]


def _place(part, parts, size):
    """Slice of what a part has among that of all parts."""
    first = 0
    for other in parts:
        if other.whole == part:
            return slice(first, first + size(other))
        first += size(other)
    return slice(0, 0)


# ---- costates from multipliers of continuous test functions (`docs/theory/control.md`)

COSTATES, FIELD = "costates", "costate of state"  # the name of the field, and of the multipliers


def costates_of(sol):
    """Nodal values, shape (n_e, n_shapes, n_z), and basis of the costates of a solution of optimal control."""
    multipliers, space = sol.fields[FIELD], sol.element.trial[FIELD]
    if not space.continuous:
        return multipliers, space.basis
    nodes = recovered(sol.t, space.basis, multipliers)
    return np.stack([nodes[:-1], nodes[1:]], axis=1), LagrangeBasis(1)


def recovered(t, basis, multipliers):
    """Costates at the ends of the elements, of second order.

    Multipliers of degree k carry a wave `(-1)^(k e) c P_k` that does not fall with the length of elements, since they
    are zero at the end where tests are left out. It vanishes at the k Gauss points; of what it leaves in the others, of
    first order and of opposite sign on both sides of a node, the mean over both sides is free.

    Parameters
    ----------
    t : ndarray, shape (n_e + 1,)
    basis : LagrangeBasis
        Of the multipliers, degree k.
    multipliers : ndarray, shape (n_e, k + 1, n)

    Returns
    -------
    ndarray, shape (n_e + 1, n)
    """
    k = basis.n_shapes - 1
    xi, _ = gauss_legendre(k)
    to_ends = np.vander([0.0, 1.0], k, increasing=True) @ np.linalg.inv(np.vander(xi, k, increasing=True))
    left, right = np.einsum("sg,gi,eia->sea", to_ends, basis.values(xi), multipliers)
    out = np.concatenate([left[:1], (right[:-1] + left[1:]) / 2, right[-1:]])
    inside, values = t[1:-1], out[1:-1].copy()
    for end, nearest in ((0, slice(OPTIONS.costate_ends)), (-1, slice(-OPTIONS.costate_ends, None))):
        if len(inside) > 1:
            powers = np.vander((inside[nearest] - t[end]) / (t[-1] - t[0]), increasing=True)
            out[end] = np.linalg.solve(powers, values[nearest])[0]
    return out
