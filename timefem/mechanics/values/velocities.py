"""Velocities that do not follow from momenta body by body: where parts couple inertia, or a mass matrix is solved."""

import numpy as np

from ...errors import InputError
from ...late import Late
from .evaluate import flattened, quantities_at
from .options import OPTIONS

scipy = Late("scipy")



def rates_follow(system):
    """Whether velocities follow from momenta body by body, by an inverse of the mass matrix or a solve with it."""
    return not system.couples_inertia and all(b.has_inverse_mass or b.velocity_by_solve for b in system.bodies)


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
        lu = scipy.sparse.linalg.splu(matrix)
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
    if not system.couples_inertia:
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
