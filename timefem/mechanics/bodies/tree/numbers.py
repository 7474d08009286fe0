"""Numbers of links and joints of a tree by their names: "upper.mass", "elbow.damping", "upper.inertia"."""

from dataclasses import replace

import casadi as ca
import numpy as np

from ...numbers.arguments import by_rows, entries, inside, is_symbolic, joined, put, upper_triangle
from .links import Link, TreeJoint
from .structure import moving_bodies

VARIED = {"links": Link.varied, "joints": TreeJoint.varied}


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


# ---- Numbers of a tree that enter its formulas as parameters: trees that differ in these alone share their kernels

FIELDS = {"mass": 1, "moment": 3, "inertia": 6, "radial": 1, "damping": 1, "friction": 1, "stiffness": 1, "rest": 1,
          "armature": 1, "balanced": 1, "balanced_moment": 3, "place": 3, "turn": 9}
PLACES = "place", "link"  # of joints in the frames of their parents, and of links in those of what they move with
TURNS = "turn", "link turn"  # rotation matrices of these, row by row
OF_LINKS = {"link": 2, "link turn": 1}  # where among what `moving_bodies` tells of a link
TURNING = "axis", "orientation"


def parameters_of_link(tree, link, chain):
    """Which of a tree's `own_parameters` are the places of the bodies that carry a link, and its own, none unless free;
    then their turns, of those that depend on what is. And of which bodies of the chain these turns are; None stands
    for the link itself.
    """
    number = [one.name for one in tree.links].index(link)
    every = [*((i, "turn") for i in chain), (number, "link turn")]
    turns = [which for which in every if (*which, 0) in tree.pattern]
    bodies = [i if name == "turn" else None for i, name in turns]
    if not moves_places(tree.free):
        return [], bodies
    wanted = [(*which, k) for which in [*((i, "place") for i in chain), (number, "link")] for k in range(3)]
    wanted += [(*which, k) for which in turns for k in range(9)]
    return [tree.pattern.index(one) for one in wanted], bodies


def moves_places(free):
    """Whether places of joints and links depend on numbers that are free: tuples of "links" or "joints" and the steps
    into it, such as `("joints", 1, "position", 0)`."""
    return any(path[0] == "joints" and path[2] in ("position", *TURNING) for path in free)


def _flat(body, name):
    value = getattr(body, name)
    return upper_triangle(value) if name == "inertia" else by_rows(value)


def _there(value):
    """Places of entries that are no structural zeros."""
    value = ca.SX(value)
    return [k for k in range(value.numel()) if not value[k].is_zero()]


def _in_symbols(links, joints, free):
    """Links with expressions for all numbers that are not zero, and all of these and of joints that are free; and the
    symbols of the latter."""
    there = [("links", i, name, *steps) for i, link in enumerate(links) for name in Link.varied
             for steps in entries(name, getattr(link, name)) if inside(getattr(link, name), steps)]
    rows, symbols = {"links": tuple(links), "joints": tuple(joints)}, [ca.SX.sym("x") for _ in (*there, *free)]
    for (table, *steps), x in zip((*there, *free), symbols, strict=True):
        rows[table] = put(rows[table], steps, x)
    return rows["links"], rows["joints"], ca.vertcat(ca.SX(0, 1), *symbols[len(there):])


def pattern_of(title, links, joints, base, free=(), firsts=None):
    """Which numbers are parameters: tuple of (number of the body, name, place).

    Those that are not zero for links with the zeros of these and any other numbers: axes that stand askew fill more.
    Of a number that is `free` what follows from it, as if it were not zero.
    """
    links, joints, symbols = _in_symbols(links, joints, free)
    bodies, _, sits = moving_bodies(title, links, joints, base, firsts)
    found = [(i, name, k) for i, body in enumerate(bodies) for name in FIELDS if name not in PLACES + TURNS
             for k in _there(_flat(body, name))]
    if moves_places(free):
        found += [(i, name, k) for name, of in zip(PLACES, (bodies, links), strict=True) for i in range(len(of))
                  for k in range(3)]
        turns = [(i, "turn", body.turn) for i, body in enumerate(bodies)]
        turns += [(i, "link turn", sits[link.name][1]) for i, link in enumerate(links)]
        found += [(i, name, k) for i, name, turn in turns if ca.depends_on(ca.SX(turn), symbols) for k in range(9)]
    return tuple(found)


def values(pattern, links, bodies, sits):
    """The parameters in the order of the pattern, of moving bodies and where links sit, see `moving_bodies`."""
    flat = {}
    for i, name, _ in pattern:
        if (i, name) not in flat:
            flat[i, name] = by_rows(sits[links[i].name][OF_LINKS[name]]) if name in OF_LINKS else _flat(bodies[i], name)
    found = [flat[i, name][k] for i, name, k in pattern]
    return joined(*found) if is_symbolic(found) else np.array(found)


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
