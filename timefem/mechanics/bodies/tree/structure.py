"""From links and joints to moving bodies in order, each with its joint about or along its own z axis; and their numbers
by names: "upper.mass", "elbow.damping", "upper.inertia"."""

from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from ....errors import InputError
from ...numbers.arguments import (
    as_symbols,
    by_rows,
    columns,
    cross,
    dot,
    entries,
    inside,
    is_symbolic,
    joined,
    least_axis,
    matrix_of,
    outer,
    put,
    trace,
    unchecked,
    unit,
    upper_triangle,
)
from .links import MOTIONS, Link, TreeJoint

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


SPACE = "space"  # the link that a free base hangs on
ROUND_OFF = 1e-15  # beside the largest entry: cos(pi / 2) is 6e-17, and zeros make short code


@dataclass(eq=False)
class Moving:
    """Links that move together, and the joint that moves them.

    The frame is at the joint with z along its axis: `R = R_parent turn relative(x)`, see `links`.

    Attributes
    ----------
    joint : TreeJoint
    parent : int
        Number of the moving body that carries it, -1 for space.
    turn, place : ndarray, shapes (3, 3), (3,)
        Of the frame in that of the parent, when the joint is at zero.
    first : int
        Its first coordinate.
    factor, offset : float
        The joint is at `factor q[first] + offset`.
    mass : float
    moment : ndarray, shape (3,)
        Mass times place of the centre of mass.
    inertia : ndarray, shape (3, 3)
        About the origin of the frame.
    damping, friction, stiffness, rest, armature : float
        Of the joint.
    """

    joint: object
    parent: int
    turn: np.ndarray
    place: np.ndarray
    first: int
    factor: float
    offset: float
    mass: float
    moment: np.ndarray
    inertia: np.ndarray
    damping: float
    friction: float
    stiffness: float
    rest: float
    armature: float
    balanced: float = 0.0  # mass without weight, see `Link.gravity_compensation` [kg]
    balanced_moment: np.ndarray = field(default_factory=lambda: np.zeros(3))  # and its moment [kg m]
    radial: float = 0.0  # c of the length of its quaternion, [kg m^2]

    @property
    def motion(self):
        return MOTIONS[self.joint.kind]

    @property
    def places(self):
        """Numbers of its coordinates."""
        return range(self.first, self.first + self.motion.n)


def ordered(title, links, joints):
    """Root link and joints, parents before their children.

    Raises
    ------
    InputError
        When links and joints do not make one tree.
    """
    for what, things in (("link", links), ("joint", joints)):
        names = [thing.name for thing in things]
        for name in names:
            if not isinstance(name, str) or not name:
                raise InputError(f"{title}: the name of a {what} must be a text, not {name!r}")
            if names.count(name) > 1:
                raise InputError(f"{title}: two {what}s have the name {name!r}; give each its own")
    if not links:
        raise InputError(f"{title}: at least one link is needed")
    known, above, below = {link.name for link in links}, {}, {}
    for joint in joints:
        for which, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise InputError(f"{title}: {which} of joint {joint.name!r} is the link {name!r}, which does not exist")
        if joint.child in above:
            raise InputError(f"{title}: the link {joint.child!r} is the child of two joints, {above[joint.child]!r} "
                             f"and {joint.name!r}; a tree has no loops")
        above[joint.child] = joint.name
        below.setdefault(joint.parent, []).append(joint)
    roots = [link.name for link in links if link.name not in above]
    if len(roots) > 1:
        raise InputError(f"{title}: the links {', '.join(map(repr, roots[:4]))} hang on no joint; only one may, the "
                         "base")
    if not roots:
        raise InputError(f"{title}: no link is the base: the joints make a loop")
    order, stack = [], below.get(roots[0], [])[::-1]
    while stack:
        order.append(stack.pop())
        stack += below.get(order[-1].child, [])[::-1]
    if len(order) < len(joints):
        lost = next(joint for joint in joints if joint not in order)
        raise InputError(f"{title}: the joint {lost.name!r} is in a loop, which is not joined to the base")
    return roots[0], order


def coordinates(title, joints):
    """Independent joints, and joint -> (first coordinate, factor, offset) with mimic joints resolved."""
    moving = {joint.name: joint for joint in joints if joint.kind != "fixed"}
    own = [joint for joint in moving.values() if joint.mimic is None]
    stops = np.cumsum([MOTIONS[joint.kind].n for joint in own]).tolist()
    first = {joint.name: stop - MOTIONS[joint.kind].n for joint, stop in zip(own, stops, strict=True)}
    found = {}
    for name in moving:
        factor, offset, at, seen = 1.0, 0.0, name, []
        while moving[at].mimic is not None:
            seen.append(at)
            at, a, b = moving[at].mimic
            if at not in moving:
                raise InputError(f"{title}: joint {seen[-1]!r} mimics {at!r}, which is not a joint that moves")
            if at in seen:
                raise InputError(f"{title}: the joints {', '.join(map(repr, seen))} mimic each other in a circle")
            factor, offset = factor * a, factor * b + offset
        if at != name and MOTIONS[moving[at].kind].n > 1:
            raise InputError(f"{title}: joint {name!r} mimics {at!r}, which is {moving[at].kind}; only a revolute or "
                             "prismatic joint can be followed")
        found[name] = first[at], factor, offset
    return own, found


def moving_bodies(title, links, joints, base, firsts=None):
    """Moving bodies, the independent joints, and where each link sits.

    With `firsts`, a dict from joints to the axis of their frame from which the first one of the body is made; else that
    which is least along the axis of the joint.

    Returns
    -------
    list of Moving, list of TreeJoint, dict
        The third is link -> (number of the body, rotation, place) in it.
    """
    root, order = ordered(title, links, joints)
    if base == "free":
        names = [joint.name for joint in joints]
        name = next(name for name in ("base", "free base", f"free {root}", "space") if name not in names)
        order = [TreeJoint(name, SPACE, root, "floating"), *order]
    own, places = coordinates(title, order)
    if not own:
        raise InputError(f"{title}: no joint moves, and the base is fixed to space")
    if is_symbolic(*(value for thing in (*links, *order) for value in vars(thing).values())):
        links, order, (eye, zero) = _with_symbols(links), _with_symbols(order), (ca.SX.eye(3), ca.SX(3, 1))
    else:
        eye, zero = np.eye(3), np.zeros(3)
    bodies, sits = [], {order[0].parent: (-1, eye, zero)}
    for joint in order:
        parent, turn, place = sits[joint.parent]
        place, turn = place + turn @ joint.position, turn @ joint.orientation
        if joint.kind == "fixed":
            sits[joint.child] = parent, turn, place
            continue
        axes = eye if MOTIONS[joint.kind].turns else _axes(_clean(joint.axis), (firsts or {}).get(joint.name),
                                                           joint.across)  # as in symbols: round-off chooses no frame
        bodies.append(Moving(joint, parent, _clean(turn @ axes), _clean(place), *places[joint.name], 0.0, zero,
                             0 * eye, joint.damping, joint.friction, joint.stiffness, joint.rest, joint.armature))
        sits[joint.child] = len(bodies) - 1, axes.T, zero
    sits = {link.name: sits[link.name] for link in links}
    for link in links:
        number, turn, place = sits[link.name]
        if number >= 0:
            _add(bodies[number], link, turn, place)
    for body in bodies:
        body.moment, body.inertia = _clean(body.moment), _clean(body.inertia)
        body.balanced_moment = _clean(body.balanced_moment)
    _give_radial(bodies)
    return bodies, own, sits


def _give_radial(bodies):
    """For each quaternion about four times the inertia that it turns, with all joints at zero."""
    moments, inertias = [b.moment for b in bodies], [b.inertia for b in bodies]
    masses = [b.mass for b in bodies]
    for i in reversed(range(len(bodies))):
        body, size = bodies[i], trace(inertias[i]) / 3
        body.radial = 4 * size if body.motion.turns else 0.0
        if body.parent >= 0:
            m, c, r, turn = masses[i], moments[i], body.place, body.turn
            c = turn @ c
            both = outer(c, r) + outer(r, c)
            inertias[body.parent] = (inertias[body.parent] + turn @ inertias[i] @ turn.T + trace(both) * np.eye(3)
                                     - both + m * parallel_axis(r))
            moments[body.parent] = moments[body.parent] + c + m * r
            masses[body.parent] += m


def _add(body, link, turn, place):
    """Mass, moment and inertia of a link that moves with a body."""
    c = place + turn @ link.centre
    body.mass += link.mass
    body.moment = body.moment + link.mass * c
    share = link.mass * link.gravity_compensation
    body.balanced, body.balanced_moment = body.balanced + share, body.balanced_moment + share * c
    body.inertia = body.inertia + turn @ link.inertia @ turn.T + link.mass * parallel_axis(c)


def parallel_axis(c):
    """|c|^2 I - c c^T, without terms that cancel."""
    x, y, z = (c[i] for i in range(3))
    return matrix_of((y * y + z * z, -x * y, -x * z), (-x * y, x * x + z * z, -y * z), (-x * z, -y * z, x * x + y * y))


def _with_symbols(things):
    """Links or joints whose arrays are expressions, without round-off."""
    return [unchecked(thing, **{name: as_symbols(_clean(value)) for name, value in vars(thing).items()
                                if isinstance(value, np.ndarray)}) for thing in things]


def least_along(axis):
    """Number of the axis of the frame that is least along another one."""
    return int(np.argmin(np.abs(axis)))


def _axes(axis, number=None, across=None):
    """Rotation matrix whose third column is the axis, and the first `across` it where that is given; else a permutation
    where the axis is one of the frame."""
    first = across if across is not None else least_axis(axis) if number is None else np.eye(3)[number]
    if number is not None:
        axis = unit(axis)
    first = unit(first - axis * dot(axis, first))
    return columns(first, cross(axis, first), axis)


def _clean(values):
    """Without entries that are round-off beside the largest one."""
    if is_symbolic(values):
        entries = ca.SX(values)
        largest = max((abs(float(entry)) for entry in entries.nonzeros() if entry.is_constant()), default=0.0)
        return ca.sparsify(entries, ROUND_OFF * largest)
    return np.where(np.abs(values) > ROUND_OFF * np.abs(values).max(), values, 0.0)


def checked_mass(title, mass, joints):
    """The diagonal of a mass matrix in general position, shape (n_q,).

    Parameters
    ----------
    title : str
        For messages.
    mass : ndarray, shape (n_q, n_q)
    joints : dict
        Name -> `Moving`, of the joints whose coordinates these are.

    Raises
    ------
    InputError
        For joints that move no mass.
    """
    diagonal = np.diag(mass)
    for joint, body in joints.items():
        if not np.all(diagonal[body.places] > 0):
            raise InputError(f"{title}: joint {joint!r} moves no mass; give the links beyond it mass and inertia, or "
                             "fix it")
    smallest = np.linalg.eigvalsh(mass / np.sqrt(np.outer(diagonal, diagonal)))[0]
    if not smallest > 1e-13:
        raise InputError(f"{title}: some motion of the joints moves no mass; give the links inertia")
    return diagonal
