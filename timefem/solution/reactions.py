"""Multipliers, controls and forces of contacts of all parts along a solution."""

import numpy as np

from ..errors import InputError
from ..mechanics.redundancy.consistent_multipliers import multipliers_along
from ..mechanics.redundancy.redundancy import minimum_norm_multipliers
from ..mechanics.values.of_parts import rates_follow
from ..polynomials import LagrangeBasis, gauss_legendre
from .options import OPTIONS

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
        driven = system.control_force(times, flat, solution.controls(times))
        force = driven if force is None else force + driven
    m, n = system.n_multipliers, system.n_nonholonomic
    values = multipliers_along(system, times, flat, force)
    return values[:, :m].reshape(*shape, m), values[:, m:m + n].reshape(*shape, n)


def all_multipliers(solution, t):
    """gamma of all constraints of the complete system, multipliers of nonholonomic ones, controls, and forces of
    contacts, (..., n)."""
    system = solution.system
    complete = system.complete or system
    if rates_follow(system):
        values, rolling = solution._constraint_forces(t)
    else:
        values, rolling = solution.multipliers(t, kind="element"), np.zeros((*t.shape, 0))
        if system.n_nonholonomic:
            rolling = solution.field("nonholonomic", t)[..., :system.n_nonholonomic]
    values = minimum_norm_multipliers(system, t, solution(t), values)
    controls = solution.controls(t) if "controls" in solution.fields else \
        np.zeros((*t.shape, sum(p.n_controls for p in system.parts)))
    contacts = solution.contact_forces(t).reshape(*t.shape, -1) if system.rigid_contacts else controls[..., :0]
    return values[..., :complete.n_constraints], rolling, controls, contacts


def acting(solution, t):
    """All parts of the complete system with what they see, as of `own_values`, list of tuples, at times (n,)."""
    system, values, found = solution.system, all_multipliers(solution, t), []
    others = solution._pressed_forces(t)
    for part in (getattr(part, "part", part) for part in (system.complete or system).parts):
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
        if getattr(other, "part", other) == part:
            return slice(first, first + size(other))
        first += size(other)
    return slice(0, 0)


# ---- costates from multipliers of continuous test functions (`docs/theory/control.md`)

FIELD = "costate of state"


def costates_of(sol):
    """Nodal values, shape (n_e, n_shapes, n_z), and basis of the costates of a solution of optimal control."""
    sol.field(FIELD, sol.t[:1])  # refuses solutions that have none
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
