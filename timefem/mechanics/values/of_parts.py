"""What parts do at given states: energies and power; velocities where these do not follow body by body, and constraint
forces where other forces depend on them, by Newton's method."""

import numpy as np

from ...errors import InputError
from ...memory import Late
from ...records import frozen
from ...sparse import sparse_lu
from ..numbers.arguments import size
from ..symbols import first_order_places
from .evaluate import evaluator, flattened, quantities_at, sees_solved_velocities
from .measures import OPTIONS, sizes_of_terms


def scalar(system, name, t, z, velocity=None):
    """A quantity of the whole system, by name, at states and given velocities: (..., n_z), (..., n_q) -> (...)."""
    t, z, shape = flattened(system, t, z)
    given = {} if velocity is None else {"v": np.reshape(np.asarray(velocity, float), (len(z), system.n_q))}
    return quantities_at(system, t, z, name, **given)[0].reshape(shape)


def kinetic_energy(system, t, z, velocity):
    """Kinetic energy T(q, v) of given velocities, shapes (..., n_z), (..., n_q) -> (...) [J]."""
    return scalar(system, "kinetic energy", t, z, velocity)


def generalized_energy(system, t, z, velocity):
    """Generalized energy p.v - T(q, v) + V(q, t), shapes (..., n_z), (..., n_q) -> (...) [J]; H where v = dH/dp."""
    return scalar(system, "generalized energy", t, z, velocity)


def energies_of(system, parts, t, z, velocity):
    """Kinetic and potential energy of some parts [J], shapes (..., n_z), (..., n_q) -> two arrays (...)."""
    t, z, shape = flattened(system, t, z)
    chosen = set(parts)
    own = [part in chosen for group in system.groups for part in group.members]
    v = np.reshape(np.asarray(velocity, float), (len(z), system.n_q))
    kinetic, = quantities_at(system, t, z, "kinetic energies", v=v)
    potential, = quantities_at(system, t, z, "potential energies")
    return tuple(energies[:, own].sum(axis=1).reshape(shape) for energies in (kinetic, potential))


def control_force(system, t, z, controls):
    """Generalized forces of the controls, shapes (...), (..., n_z), (..., n_controls) -> (..., n_q).

    Controls of all actuators, in the order of the parts.
    """
    t, z, shape = flattened(system, t, z)
    controls = np.reshape(np.asarray(controls, float), (len(z), -1))
    out, = quantities_at(system, t, z, "control force", controls=controls)
    return out.reshape(*shape, system.n_q)


def has_power(system):
    """Whether anything but a potential does work: forces, and what depends on time explicitly."""
    return any(evaluator(system, name).groups for name in ("power", "drift", "drift rate"))


def rates_of_power(system, t, z, velocity):
    """Velocities, and of states of first order dH/dx, with which forces have their power: shapes (n,), (n, n_z),
    (n, n_q) -> (n, n_q)."""
    places = first_order_places(system)
    if places:
        velocity = velocity.copy()
        velocity[:, places] = quantities_at(system, t, z, "energy by state")[0][:, places]
    return velocity


def not_finite(system, t, z):
    """Parts whose force or constraint is NaN or infinite at a state, or at one of many: dict to the first t."""
    t, z, _ = flattened(system, t, z)
    fine = np.isfinite(quantities_at(system, t, z, "sizes")[0])
    parts = (part for group in system.groups for part in group.members)
    return {part: float(t[np.argmin(own)]) for part, own in zip(parts, fine.T, strict=True) if not own.all()}


def remedy_of(system, part, t, z):
    """What makes a part finite that is not at one state, in words: another number, or points that do not coincide."""
    numbers = part.numbers(part)
    ends = np.cumsum([size(value) for value in numbers.values()])
    places = {name: np.arange(end - size(value), end) for (name, value), end in zip(numbers.items(), ends, strict=True)}
    if len(part.own_parameters) == sum(map(len, places.values())):
        for name, place in places.items():
            own = part.own_parameters[place]
            if not np.isfinite(own).all():
                return f"its number {name!r} is {own[~np.isfinite(own)][0]:g}; correct what it is made of"
            if len(own) == 1 and own[0] == 0 and _is_finite_with(system, part, t, z, place):
                return f"its number {name!r} is 0, by which its formula divides; give another value"
    return "set points apart that coincide, or correct its formula"


def _is_finite_with(system, part, t, z, place):
    """Whether a part is finite with one of its own numbers, at a place among these, away from zero."""
    e = evaluator(system, "sizes")
    inputs = [z, system.velocity(np.full(1, t), z[None])[0]] if "v" in e.inputs else [z]
    for i, _, function, index in e.groups:
        group = system.groups[i]
        if part in group.members:
            k = group.members.index(part)
            numbers = np.array(group.parameters[k], float)
            numbers[place] = 1.0
            return bool(np.isfinite(np.asarray(function(np.concatenate(inputs)[index[k]], t, numbers))).all())
    return False


def coordinate_at(system, bound, z):
    """The coordinate of a joint and its rate, `BoundCoordinate.at`, of states (..., n_z): two arrays (...)."""
    bodies = [system[body] for body in bound.bodies]
    return bound.at(bodies, *zip(*(system.local_state(body, np.asarray(z, float)) for body in bodies), strict=True))


# ---- Velocities that do not follow from momenta body by body: where parts couple inertia, or a mass matrix is solved

scipy = Late("scipy")


def couples_inertia(system):
    """Whether joints or forces state kinetic energies, so that velocities do not follow body by body."""
    return any(group.part.couples_inertia for group in system.groups)


def has_inverse_mass(system):
    """Whether velocities follow from momenta body by body, by an inverse of the mass matrix."""
    return not couples_inertia(system) and all(body.has_inverse_mass for body in system.bodies)


def rates_follow(system):
    """Whether velocities follow from momenta body by body, by an inverse of the mass matrix or a solve with it."""
    return not couples_inertia(system) and all(b.has_inverse_mass or b.velocity_by_solve for b in system.bodies)


def consistent_velocity(system, t, z, least=False):
    """Velocities at one state that belong to its momenta and hold the constraints, shape (n_q,).

    Solves `M v - G^T mu = p`, `G v + dPhi/dt = 0` with the mass matrix of `T(q, v)` and `G = dPhi/dq`; with `least`
    the smallest solution where there are many, which all have the same energy.

    Raises
    ------
    InputError
        When they are not determined: some motion has no mass and no constraint, or constraints repeat others.
    """
    m, n, z = system.n_constraints, system.n_q, np.asarray(z, float)
    _, jacobian, rate = system.derivatives(t, z)
    gradient = jacobian[:m, :n]
    matrix = scipy.sparse.block_array([[system.mass_matrix(t, z), -gradient.T], [gradient, None]] if m else
                                      [[system.mass_matrix(t, z)]], format="csc")
    given = np.concatenate([z[n:], -rate[:m]])
    try:
        lu = sparse_lu(matrix)
        pivots, solution = np.abs(lu.U.diagonal()), lu.solve(given)
        if least and pivots.min() <= OPTIONS.no_mass * pivots.max():
            solution = np.full(n + m, np.nan)
    except RuntimeError:
        solution = np.full(n + m, np.nan)
    if least and not np.isfinite(solution).all():
        found = np.linalg.lstsq(matrix.toarray(), given, rcond=OPTIONS.no_mass)[0]
        if np.abs(matrix @ found - given).max() <= OPTIONS.solved * max(1.0, np.abs(given).max()):
            solution = found
    if not np.isfinite(solution).all():
        raise InputError("the velocities at the start are not determined by the momenta: some motion has neither "
                         "mass nor a constraint, or constraints repeat others")
    return solution[:n]


def uncoupled(system, t, z):
    """States whose momenta are those of the bodies alone, where parts couple inertia: shape (..., n_z).

    Of a body without what others share, so that its velocities follow from them.
    """
    if not couples_inertia(system):
        return z
    t, z, shape = flattened(system, t, z)
    velocity = np.array([consistent_velocity(system, *state, least=True) for state in zip(t, z, strict=True)])
    return with_own_momenta(system, t, z, velocity).reshape(*shape, system.n_z)


def with_own_momenta(system, t, z, velocity):
    """States with the momenta dT/dv that the kinetic energies of bodies alone give velocities, shapes (..., n_z),
    (..., n_q) -> (..., n_z)."""
    t, z, shape = flattened(system, t, z)
    v = np.reshape(np.asarray(velocity, float), (len(z), system.n_q))
    momenta, = quantities_at(system, t, z, "own momentum", v=v)
    return np.concatenate([z[:, :system.n_q], momenta], axis=1).reshape(*shape, system.n_z)


def velocity_derivatives(system, t, z):
    """`dv/dz` at one state, CSR array of shape (n_q, n_z): `M v = p` gives `dv = M^-1 (dp - (M v)_q dq)`."""
    by_state, by_coordinates = quantities_at(system, t, z, "velocity by state", "momentum by coordinates")
    by_coordinates, blocks = by_coordinates.sparse(), [by_state.sparse()]
    for body in system.bodies:
        if body.velocity_by_solve:
            place = np.arange(system.n_q)[system.coordinates(body)]
            mobility = np.linalg.inv(body.mass_matrix(z[0, place]))
            block = np.hstack([-mobility @ by_coordinates[place][:, place].toarray(), mobility])
            rows, columns = np.broadcast_arrays(place[:, None], np.append(place, place + system.n_q))
            blocks.append(scipy.sparse.csr_array((block.ravel(), (rows.ravel(), columns.ravel())),
                                                 shape=(system.n_q, system.n_z)))
    return sum(blocks[1:], blocks[0])


def nonholonomic_derivatives(system, t, z):
    """At one state: A (n, n_q), Jacobian of `nonholonomic` (n, n_z), a (n,), its partial time derivative (n,).

    The first two are SciPy CSR arrays.
    """
    t, z, _ = flattened(system, t, z)
    matrix, jacobian, drift, rate = quantities_at(system, t, z, "form matrix", "form jacobian", "drift", "drift rate")
    jacobian = jacobian.sparse()
    if sees_solved_velocities(system):
        by_velocity, = quantities_at(system, t, z, "form by velocity")
        jacobian = jacobian + by_velocity.sparse() @ velocity_derivatives(system, t, z)
    return matrix.sparse(), jacobian, drift[0], rate[0]


def constraints_in_momenta(system):
    """Which constraints are in momenta on velocity level, and not rates of themselves, shape (n_constraints,)."""
    return np.array([part.momentum_level for part in system.parts for _ in part.constraint_names], bool)


def nonholonomic_off(system, t, z):
    """By how much nonholonomic constraints are off at one state, and the size of the terms in them, shapes (n,).

    Constants are terms as well, which are all that there is at rest: of rows that are off beside states alone.
    """
    if not system.n_nonholonomic:
        return np.zeros(0), np.zeros(0)
    size = sizes_of_terms(nonholonomic_derivatives(system, t, z)[1], z, system.derivatives(t, z)[0], system.state_scale)
    off = np.abs(system.nonholonomic(t, z))
    if (off > OPTIONS.rounding * size).any():
        size = np.maximum(size, finite_terms(system, t, z, "form terms"))
    return off, size


def finite_terms(system, t, z, name):
    """Sizes of terms at states, see `terms_of`, shape t.shape + (n,); zero where slopes are not finite."""
    found, = quantities_at(system, np.ravel(t).astype(float), np.reshape(z, (-1, system.n_z)).astype(float), name)
    return np.nan_to_num(found, nan=0.0, posinf=0.0).reshape(*np.shape(t), found.shape[-1])


@frozen
class ReactionOptions:
    """When Newton's method ends, by steps relative to the unknowns."""

    iterations: int = 50
    small: float = 1e-9  # steps from here on may stop falling
    rounding: float = 1e-15


REACTION = ReactionOptions()


def has_reaction_forces(system):
    """Whether some forces depend on those of constraints."""
    return any(group.part.reactions_of for group in system.groups)


def reaction_forces(system, t, z, multipliers):
    """Forces that depend on the constraints' multipliers, (n, n_q), and their derivatives by these, (n, n_q,
    n_multipliers), at times (n,) and states (n, n_z)."""
    force, by_forces = quantities_at(system, t, z, "multiplier force", "multiplier force by forces",
                                     multipliers=multipliers[:, :system.n_multipliers])
    return force, by_forces.dense()


def reaction_force(system, t, z, multipliers):
    """The same at one state, (n_q,) and (n_q, n_multipliers)."""
    force, by_forces = reaction_forces(system, np.full(1, float(t)), np.asarray(z, float)[None], multipliers[None])
    return force[0], by_forces[0]


def solved(step, x):
    """Fixed points of Newton's method, `step(x) -> x`, along the last axis, with unknowns of one size; NaN where they
    are not found."""
    last, fine = np.inf, np.zeros(x.shape[:-1], bool)
    for _ in range(REACTION.iterations):
        try:
            with np.errstate(all="ignore"):
                before, x = x, step(x)
        except np.linalg.LinAlgError:
            return np.full(x.shape, np.nan)
        change, size = (np.abs(values).max(axis=-1, initial=0.0) for values in (x - before, x))
        fine |= (change <= REACTION.rounding * size) | ((change <= REACTION.small * size) & (change >= last / 2))
        if (fine | ~np.isfinite(change)).all():
            break
        last = change
    return np.where(fine[..., None], x, np.nan)
