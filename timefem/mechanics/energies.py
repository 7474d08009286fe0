"""Energies and momenta of some of the parts of a system."""

import numpy as np

from .point_functions import evaluate


def energies_of(system, parts, t, z, velocity):
    """Kinetic and potential energy of some parts [J], shapes (..., n_z), (..., n_q) -> two arrays (...)."""
    t, z, shape = system.points(t, z)
    velocity, chosen = np.reshape(np.asarray(velocity, float), (len(z), system.n_q)), set(parts)
    kinetic, potential = np.zeros((2, len(z)))
    for group, functions, local in system.local_states(t, z):
        own = [i for i, part in enumerate(group.members) if part in chosen]
        if not own:
            continue
        index, numbers = group.state_index[own], group.parameters[own]
        motion = np.concatenate([z[:, index], velocity[:, index[:, :index.shape[1] // 2]]], axis=2)
        kinetic += evaluate(functions["kinetic"], motion, t, numbers).sum(axis=(1, 2))
        potential += evaluate(functions["potential"], local[:, own], t, numbers).sum(axis=(1, 2))
    return kinetic.reshape(shape), potential.reshape(shape)


def with_own_momenta(system, t, z, velocity):
    """States (n, n_z) with the momenta dT/dv that the kinetic energies of bodies alone give velocities (n, n_q)."""
    z = z.copy()
    for group, functions, _ in system.local_states(t, z):
        if group.part.is_body:
            index = group.state_index
            q, p = np.split(index, 2, axis=1)
            motion = np.concatenate([z[:, index], velocity[:, q]], axis=2)
            z[:, p] = evaluate(functions["momentum"], motion, t, group.parameters)
    return z
