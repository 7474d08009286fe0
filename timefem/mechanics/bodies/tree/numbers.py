"""Numbers of a tree that enter its formulas as parameters: trees that differ in these alone share their kernels.

Zeros shape the formulas, and are no parameters: they make the code short.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from .structure import moving_bodies

FIELDS = {"mass": 1, "moment": 3, "inertia": 6, "radial": 1, "damping": 1, "friction": 1, "stiffness": 1, "rest": 1,
          "armature": 1}
UPPER = np.triu_indices(3)


def _flat(body, name):
    value = getattr(body, name)
    return value[UPPER] if name == "inertia" else np.atleast_1d(value)


def pattern_of(title, links, joints, base):
    """Which numbers are parameters: tuple of (number of the body, name, place).

    Those that are not zero for links with the zeros of these and any other numbers: axes that stand askew fill more.
    """
    rng = np.random.default_rng(0)

    def other(value):
        values = rng.uniform(1, 2, np.shape(value)) * (np.asarray(value) != 0)
        return values + values.T if values.ndim == 2 else values

    some = [replace(link, mass=float(other(link.mass)), centre=other(link.centre), inertia=other(link.inertia),
                    physical=False) for link in links]
    return tuple((i, name, int(k)) for i, body in enumerate(moving_bodies(title, some, joints, base)[0])
                 for name in FIELDS for k in np.flatnonzero(_flat(body, name)))


def values(bodies, pattern):
    """The parameters, ndarray, in the order of the pattern."""
    return np.array([_flat(bodies[i], name)[k] for i, name, k in pattern], float)


def with_symbols(bodies, pattern, c):
    """The bodies with symbols for their parameters."""
    found = {}
    for symbol, (i, name, k) in zip(ca.vertsplit(c), pattern, strict=True):
        found.setdefault((i, name), ca.SX(FIELDS[name], 1))[k] = symbol
    made = [{} for _ in bodies]
    for (i, name), value in found.items():
        made[i][name] = _symmetric(value) if name == "inertia" else value
    return [replace(body, **own) for body, own in zip(bodies, made, strict=True)]


def _symmetric(x):
    xx, xy, xz, yy, yz, zz = (x[i] for i in range(6))
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
