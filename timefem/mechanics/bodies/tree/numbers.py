"""Numbers of a tree that enter its formulas as parameters: trees that differ in these alone share their kernels.

Zeros shape the formulas, and are no parameters: they make the code short. So do places and turns of joints, unless they
are free, or follow from what is.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from ...traced import put
from .structure import moving_bodies

FIELDS = {"mass": 1, "moment": 3, "inertia": 6, "radial": 1, "damping": 1, "friction": 1, "stiffness": 1, "rest": 1,
          "armature": 1, "balanced": 1, "balanced_moment": 3, "place": 3, "turn": 9}
UPPER = np.triu_indices(3)
PLACES = "place", "link"  # of joints in the frames of their parents, and of links in those of what they move with
TURNS = "turn", "link turn"  # rotation matrices of these, row by row
TURNING = "axis", "orientation"


def moves_places(free):
    """Whether places of joints and links depend on numbers that are free: tuples of "links" or "joints" and the steps
    into it, such as `("joints", 1, "position", 0)`."""
    return any(path[0] == "joints" and path[2] in ("position", *TURNING) for path in free)


def _flat(body, name):
    value = getattr(body, name)
    return value[UPPER] if name == "inertia" else np.ravel(value)


def _turns_that_change(links, bodies, sits, others):
    """Turns of bodies and links that differ from others, (number, name, place)."""
    def differ(one, other):
        return np.abs(one - other).max() > 1e-9

    found = [(i, "turn") for i, (body, other) in enumerate(zip(bodies, others[0], strict=True))
             if differ(body.turn, other.turn)]
    found += [(i, "link turn") for i, link in enumerate(links) if differ(sits[link.name][1], others[2][link.name][1])]
    return [(*which, k) for which in found for k in range(9)]


def pattern_of(title, links, joints, base, free=(), firsts=None):
    """Which numbers are parameters: tuple of (number of the body, name, place).

    Those that are not zero for links with the zeros of these and any other numbers: axes that stand askew fill more.
    Of a number that is `free` what follows from it, as if it were not zero.
    """
    rng = np.random.default_rng(0)

    def other(value):
        values = rng.uniform(1, 2, np.shape(value)) * (np.asarray(value) != 0)
        return values + values.T if values.ndim == 2 else values

    some = [replace(link, mass=float(other(link.mass)), centre=other(link.centre), inertia=other(link.inertia),
                    gravity_compensation=float(other(link.gravity_compensation)), physical=False) for link in links]
    tries = []
    for _ in range(2):
        for table, *steps in free:
            rows = {"links": some, "joints": joints}
            rows[table] = put(rows[table], steps, rng.uniform(1, 2))
            some, joints = rows["links"], rows["joints"]
        tries.append(moving_bodies(title, some, joints, base, firsts))
    bodies, _, sits = tries[0]
    found = [(i, name, int(k)) for i, body in enumerate(bodies) for name in FIELDS if name not in PLACES + TURNS
             for k in np.flatnonzero(_flat(body, name))]
    if moves_places(free):
        found += [(i, name, k) for name, of in zip(PLACES, (bodies, links), strict=True) for i in range(len(of))
                  for k in range(3)]
        found += _turns_that_change(links, bodies, sits, tries[1])
    return tuple(found)


def values(bodies, pattern, links):
    """The parameters, ndarray, in the order of the pattern; with (number, turn, place) of links."""
    of_links = {"link": 2, "link turn": 1}
    return np.array([np.ravel(links[i][of_links[name]])[k] if name in of_links else _flat(bodies[i], name)[k]
                     for i, name, k in pattern])


def with_symbols(bodies, pattern, c):
    """The bodies with symbols for their parameters."""
    found = {}
    for symbol, (i, name, k) in zip(ca.vertsplit(c), pattern, strict=True):
        if name in ("link", "link turn"):
            continue
        found.setdefault((i, name), ca.SX(FIELDS[name], 1))[k] = symbol
    made = [{} for _ in bodies]
    for (i, name), value in found.items():
        made[i][name] = _symmetric(value) if name == "inertia" else square(value) if name == "turn" else value
    return [replace(body, **own) for body, own in zip(bodies, made, strict=True)]


def square(x):
    """A matrix (3, 3) of its entries row by row."""
    return ca.reshape(x, 3, 3).T


def _symmetric(x):
    xx, xy, xz, yy, yz, zz = (x[i] for i in range(6))
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
