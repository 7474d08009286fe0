"""Numbers of links and joints of a tree by their names: "upper.mass", "elbow.damping", "upper.inertia"."""

from dataclasses import replace

import numpy as np

from ....argument_names import known_names
from ....errors import InputError
from .links import Link
from .numbers import pattern_of, values
from .structure import moving_bodies

VARIED = {"links": ("mass", "centre", "inertia"), "joints": ("damping", "friction", "stiffness", "rest", "armature")}


def spelt_out(tree, path):
    """ "links[2].mass" for "upper.mass"; else the path itself."""
    for table in ("links", "joints"):
        for i, thing in enumerate(getattr(tree, table)):
            if str(path).startswith(f"{thing.name}."):
                return f"{table}[{i}]{path[len(thing.name):]}"
    return path


def named_numbers(tree):
    """All of them: "upper.mass", ..."""
    return [f"{thing.name}.{name}" for table, names in VARIED.items() for thing in getattr(tree, table)
            for name in names]


def derivative(tree, path, index, label, differentiated):
    """Derivative of the parameters of a tree, and of its mass, by a number of a link or joint.

    Parameters
    ----------
    tree : Tree
    path : str
    index : int, tuple or None
        The entry; all of them unless given.
    label : str
        For messages.
    differentiated : callable
        `differentiated(f, at)` -> derivative of an array-valued function of one number.

    Returns
    -------
    matrix, mass : ndarray, shapes (n_parameters, n), (n,)
    keys : list
        Of the n entries: None, or index.
    """
    table, i, name = _place(tree, path, label)
    thing = getattr(tree, table)[i]
    value, n = np.asarray(getattr(thing, name), float), len(tree.pattern)
    keys = [None] if value.ndim == 0 else list(range(3)) if value.ndim == 1 else \
        [(a, b) for a in range(3) for b in range(a, 3)]
    if index is not None:
        if index not in keys:
            raise InputError(f"{label}: {path} has no entry {index!r}; it has {keys}")
        keys = [index]
    shape, columns = tree.pattern, []

    def numbers(x, key):
        changed = x if key is None else value.copy()
        if key is not None:
            changed[key] = changed[key[::-1] if isinstance(key, tuple) else key] = x
        things = list(getattr(tree, table))
        things[i] = thing.changed(name, changed) if table == "joints" else \
            replace(thing, **{name: changed}, physical=False)
        given = {"links": tree.links, "joints": tree.joints} | {table: things}
        if pattern_of(label, **given, base=tree.base) != shape:
            raise InputError(f"{label}: {path} shapes the formulas where it is zero; start from a small number, such "
                             "as 1e-9, to vary it")
        bodies = moving_bodies(label, **given, base=tree.base)[0]
        return np.append(values(bodies, shape), sum(body.mass for body in bodies))

    for key in keys:
        at = float(value if key is None else value[key])
        columns.append(differentiated(lambda x, key=key: numbers(x, key), at))
    matrix = np.array(columns).T
    rest = np.zeros((len(tree.own_parameters) - n, len(keys)))  # the width of friction
    return np.vstack([matrix[:n], rest]), matrix[n], keys


def _place(tree, path, label):
    for table, names in VARIED.items():
        for i, thing in enumerate(getattr(tree, table)):
            name = path.removeprefix(f"{thing.name}.")
            if name != path and name in names:
                return table, i, name
    thing = next((thing for table in VARIED for thing in getattr(tree, table) if path.startswith(f"{thing.name}.")),
                 None)
    known = VARIED["links" if isinstance(thing, Link) else "joints"]
    known = known_names(path.rpartition(".")[2], known, f"{thing.name} has")
    raise InputError(f"{label} has no parameter {path!r}{known}")
