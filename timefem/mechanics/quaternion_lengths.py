"""Lengths of quaternions of trees: coordinates that rest at one (see `bodies.tree.motions`), unless a part acts on
coordinates as such, as `GeneralizedControl` may."""

from functools import lru_cache

import casadi as ca
import numpy as np

from ..errors import InputError
from .work import power_of

__all__ = ["lengths_at_rest", "names_of_lengths", "with_unit_lengths"]


def lengths_at_rest(system, z):
    """`(|q|^2 - 1) / 2` and `q . p` of each quaternion whose length rests, SX: zero at all times."""
    rows, n = [], system.n_q
    for _, places in _quaternions(system):
        q, p = z[places.tolist()], z[(n + places).tolist()]
        rows += [(ca.dot(q, q) - 1) / 2, ca.dot(q, p)]
    return ca.vertcat(ca.SX(0, 1), *rows)


def with_unit_lengths(system, z):
    """The same motion where these lengths are one, SX or array: elements keep them to their order only."""
    symbolic, n = isinstance(z, ca.SX), system.n_q
    found = ca.SX(z) if symbolic else np.array(z, float)
    for _, places in _quaternions(system):
        q, p = places.tolist(), (n + places).tolist()
        length = ca.norm_2(z[q]) if symbolic else np.linalg.norm(z[q])
        found[q], found[p] = z[q] / length, z[p] * length
    return found


def names_of_lengths(system):
    """What these are called, in their order."""
    return [f"{level} of a quaternion of {system.label(tree)}" for tree, _ in _quaternions(system)
            for level in ("the length", "the rate of the length")]


@lru_cache(maxsize=8)
def _quaternions(system):
    """Each tree with such a quaternion, and where that stands among the coordinates of the system."""
    return [(tree, np.arange(system.n_q)[system.coordinates(tree)][list(places)])
            for tree in system.bodies for places in getattr(tree, "quaternions", ())
            if not any(_stretches(part, tree, list(places)) for part in system.parts)]


def _stretches(part, tree, places):
    """Whether a part has power where only the length of a quaternion of a tree changes."""
    if part.is_body or part.constraint_names or tree not in part.bodies:
        return False
    rng = np.random.default_rng(0)
    q, u = [rng.uniform(0.5, 1, body.n_q) for body in part.bodies], rng.uniform(0.5, 1, part.n_controls)
    v = [np.zeros(body.n_q) for body in part.bodies]
    i = part.bodies.index(tree)
    v[i][places] = q[i][places]
    try:
        power = float(power_of(part, "a part")(np.concatenate(q), np.concatenate(v), u, 0.0, part.parameters))
    except InputError:  # by momenta: not known
        return True
    return not abs(power) < 1e-8
