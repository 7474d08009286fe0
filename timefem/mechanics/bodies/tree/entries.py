"""Numbers of links and joints of a tree by their names: "upper.mass", "elbow.damping", "upper.inertia"."""

import casadi as ca
import numpy as np

from ....argument_names import known_names
from ....errors import InputError
from ...traced import Traced, as_symbols, put
from .links import Link
from .numbers import pattern_of

VARIED = {"links": ("mass", "centre", "inertia", "gravity_compensation"),
          "joints": ("damping", "friction", "stiffness", "rest", "armature", "position", "axis")}


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


def derivative(tree, path, index, label):
    """Derivative of the parameters of a tree, and of its mass, by a number of a link or joint.

    Parameters
    ----------
    tree : Tree
    path : str
    index : int, tuple or None
        The entry; all of them unless given.
    label : str
        For messages.

    Returns
    -------
    matrix, mass : ndarray, shapes (n_parameters, n), (n,)
    keys : list
        Of the n entries: None, or index.
    """
    table, i, name = _place(tree, path, label)
    value = np.asarray(getattr(getattr(tree, table)[i], name), float)
    keys = _keys(value)
    if index is not None:
        index = (index, index) if value.ndim == 2 and np.ndim(index) == 0 else index  # a principal value
        if index not in keys:
            raise InputError(f"{label}: {path} has no entry {index!r}; it has {keys}")
        keys = [index]
    columns = []
    for key in keys:
        steps = i, name, *(() if key is None else (key,))
        if not _in_formulas(tree, label, (table, *steps)):
            raise InputError(f"{label}: {path} shapes the formulas where it is zero; start from a small number, such "
                             "as 1e-9, to vary it")
        x = ca.SX.sym("x")
        other = tree.in_symbols({table: put(getattr(tree, table), steps, Traced(x))})
        values = as_symbols(np.append(other.own_parameters, other.mass))
        columns.append(np.array(ca.Function("columns", [x], [ca.densify(ca.jacobian(values, x))])(
            value if key is None else value[key])).ravel())
    matrix = np.array(columns).T
    return matrix[:-1], matrix[-1], keys


def missing_in_formulas(tree, path, label):
    """All entries of a number, as tuples of "links" or "joints" and steps into it, where the formulas lack some: zeros,
    and places and axes of joints; else none."""
    table, i, name = _place(tree, path, label)
    value = getattr(getattr(tree, table)[i], name)
    every = [(table, i, name, *(() if key is None else (key,))) for key in _keys(np.asarray(value))]
    return [] if all(_in_formulas(tree, label, one) for one in every) else every


def _keys(value):
    """Entries of a number, a vector or a symmetric matrix."""
    if value.ndim == 0:
        return [None]
    return list(range(3)) if value.ndim == 1 else [(a, b) for a in range(3) for b in range(a, 3)]


def _in_formulas(tree, label, path):
    if path[2] == "axis" and tree.firsts is None:
        return False
    return pattern_of(label, tree.links, tree.joints, tree.base, [*tree.free, path], tree.firsts) == tree.pattern


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
