"""What rests at all times: lengths of quaternions of trees (see `bodies.tree.motions`), unless a part acts on
coordinates as such, as `GeneralizedControl` may; and what stands for momenta of states of first order."""

from functools import lru_cache

import casadi as ca
import numpy as np

from ..errors import InputError
from .symbols import first_order_places
from .work import n_seen, power_of

__all__ = ["values_at_rest", "names_at_rest", "with_unit_lengths"]


def values_at_rest(system, z):
    """`(|q|^2 - 1) / 2` and `q . p` of each quaternion whose length rests, and p of states of first order, SX: zero at
    all times."""
    rows, n = [], system.n_q
    for _, places in _quaternions(system):
        q, p = z[places.tolist()], z[(n + places).tolist()]
        rows += [(ca.dot(q, q) - 1) / 2, ca.dot(q, p)]
    rows += [z[n + place] for place in first_order_places(system)]
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


def names_at_rest(system):
    """What these are called, in their order."""
    return [f"{level} of a quaternion of {system.label(tree)}" for tree, _ in _quaternions(system)
            for level in ("the length", "the rate of the length")] + [
                f"the momentum of {system.label(body)}" for body in system.bodies for _ in body.first_order]


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
    q, u = [rng.uniform(0.5, 1, body.n_q) for body in part.bodies], rng.uniform(0.5, 1, n_seen(part))
    v = [np.zeros(body.n_q) for body in part.bodies]
    i = part.bodies.index(tree)
    v[i][places] = q[i][places]
    try:
        power = float(power_of(part, "a part")(np.concatenate(q), np.concatenate(v), u, 0.0, part.parameters))
    except InputError:  # by momenta: not known
        return True
    return not abs(power) < 1e-8
