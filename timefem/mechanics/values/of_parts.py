"""What single parts of a system do: energies, power, and where they are not finite."""

import numpy as np

from ..symbols import first_order_places
from .evaluate import evaluator, flattened, quantities_at


def energies_of(system, parts, t, z, velocity):
    """Kinetic and potential energy of some parts [J], shapes (..., n_z), (..., n_q) -> two arrays (...)."""
    t, z, shape = flattened(system, t, z)
    chosen = set(parts)
    own = [part in chosen for group in system.groups for part in group.members]
    v = np.reshape(np.asarray(velocity, float), (len(z), system.n_q))
    kinetic, = quantities_at(system, t, z, "kinetic energies", v=v)
    potential, = quantities_at(system, t, z, "potential energies")
    return tuple(energies[:, own].sum(axis=1).reshape(shape) for energies in (kinetic, potential))


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


def coordinate_at(system, bound, z):
    """The coordinate of a joint and its rate, `BoundCoordinate.at`, of states (..., n_z): two arrays (...)."""
    bodies = [system.own(body) for body in bound.bodies]
    return bound.at(bodies, *zip(*(system.local_state(body, np.asarray(z, float)) for body in bodies), strict=True))
