"""What nothing changes, whatever the actuators do: momenta, the motion of centres of mass, and what rests."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...errors import InputError, named_arguments
from ..forces.loads import Gravity
from ..symbols import first_order_places, n_reactions
from ..symmetry import INDEPENDENT, NONE, common, lever, null_space, plain_basis
from .forces import n_seen, power_of
from .of_parts import couples_inertia
from .quantities import formulas_of

if TYPE_CHECKING:
    from ..system import System


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
            for tree in system.bodies for places in tree.quaternions
            if not any(_stretches(part, tree, list(places)) for part in system.parts)]


def _stretches(part, tree, places):
    """Whether a part has power where only the length of a quaternion of a tree changes.

    Weight and what acts on links see places and directions, which lengths do not change; of the other parts the
    formula of the power says it, with their numbers in place: what is zero is left out.
    """
    if part.is_body or part.constraint_names or isinstance(part, Gravity) or tree not in part.bodies:
        return False
    q, v = ([ca.SX.sym(x, body.n_q) for body in part.bodies] for x in "qv")
    u, t, i = ca.SX.sym("u", n_seen(part)), ca.SX.sym("t"), part.bodies.index(tree)
    try:
        power = power_of(part, "a part")(ca.vertcat(*q), ca.vertcat(*v), u, t, part.parameters)
    except InputError:  # by momenta: not known
        return True
    forces = ca.simplify(ca.gradient(power, v[i])[places])
    return not forces.is_zero() and not ca.simplify(ca.dot(forces, q[i][places])).is_zero()


# ---- Momenta that nothing changes, whatever the actuators do: those of rigid motions that all parts leave alone, which
# parts declare by their `workless_motions` (Noether), and the motion of a centre of mass that only weight acts on

KINDS = ("linear momentum", "angular momentum about the origin", "angular momentum about the centre of mass",
         "centre of mass")


def conserved(system, t0):
    """Momenta, positions of centres of mass and their combinations with the time that are constant along all motions.

    Of bodies that parts join: with `F` their weight, `M` their mass, and a motion (v, w) of space that all parts leave
    alone, `v.P + w.L - (t - t0) v.F` for w along the weight; with translations v also `M v.x - (t - t0) v.P +
    (t - t0)^2 v.F / 2`, and with those across w the angular momentum about the centre of mass.

    Parameters
    ----------
    system : System
    t0 : float
        Of the start [s].

    Returns
    -------
    values : casadi.Function or None
        `values(z, t)`, of sizes about one; None where nothing is known to be constant.
    names : list of str
    """
    z, t = ca.SX.sym("z", system.n_z), ca.SX.sym("t")
    islands = [] if couples_inertia(system) or system.n_nonholonomic else _islands(system)
    rows, names = [], []
    for bodies, parts in islands:
        own, what = _of_island(system, bodies, parts, z, t - t0)
        rows += own
        names += what if len(islands) == 1 else [f"{name} of {' and '.join(map(system.label, bodies))}"
                                                 for name in what]
    if not rows:
        return None, []
    return ca.Function("conserved", [z, t], [ca.densify(ca.vertcat(*rows))]), names


@named_arguments
def constant_momenta(system: System) -> np.ndarray:
    """Directions in which momenta are constant along all motions, by the rigid motions that all parts leave alone.

    Parameters
    ----------
    system : System

    Returns
    -------
    ndarray, shape (6, k)
        Columns (v, w), such that `v.P + w.L` is constant, of the linear momentum P and the angular momentum L about
        the origin; none where nothing is known to be constant.

    Raises
    ------
    InputError
        When it is not a System.
    """
    return _constant_momenta(system).copy()


@lru_cache(maxsize=8)
def _constant_momenta(system):
    parts = [part for part in system.parts if not part.is_counter]  # which pull at nothing
    if couples_inertia(system) or system.n_nonholonomic or any(part.is_body and not part.helper and part.mass is None
                                                                  for part in parts):
        return common([None])
    return _left_alone(system, parts)


def neutral_motions(system):
    """Rates of the coordinates by which bodies move as one where no part resists, and no weight pulls.

    Returns
    -------
    rates : casadi.Function
        `rates(q)` -> columns (n_q, k), of each group of bodies that parts join.
    turns : ndarray of bool, shape (k,)
        Which of them turn, by one; the others go along an axis.
    """
    q, columns, turns = ca.SX.sym("q", system.n_q), [ca.SX(system.n_q, 0)], [np.zeros(0, bool)]
    for bodies, parts in [] if system.n_nonholonomic else _islands(system):
        motions = _left_alone(system, [*bodies, *parts])
        own = [body.rigid_motion(q[system.coordinates(body)]) for body in bodies] if motions.shape[1] else [None]
        if all(rates is not None for rates in own):
            columns.append(ca.SX(system.n_q, motions.shape[1]))
            for body, rates in zip(bodies, own, strict=True):
                columns[-1][system.coordinates(body), :] = rates @ motions
            turns.append(motions[3:].any(axis=0))
    return ca.Function("neutral", [q], [ca.densify(ca.horzcat(*columns))]), np.concatenate(turns)


def _left_alone(system, parts):
    """Rigid motions along which neither these parts nor weights do work, a plain basis, shape (6, k)."""
    motions, length = _without_work(parts)
    for pull in dict.fromkeys(tuple(part.acceleration) for part in system.parts if isinstance(part, Gravity)):
        motions = motions @ null_space(np.vstack([pull @ motions[:3], np.cross(pull, motions[3:].T).T]))
    return _plain(motions, length)


def _islands(system):
    """Bodies that no part but weight joins to others, and the parts on them: list of (list, list).

    Without counters of turns, which pull at nothing.
    """
    groups = {body: ([body], []) for body in system.bodies if not body.is_counter}
    for part in system.parts:
        if part.is_body or part.is_counter or isinstance(part, Gravity):
            continue
        joined = {id(group): group for frame in part.frames if (group := groups.get(frame.body))}
        bodies = [body for own, _ in joined.values() for body in own]
        together = bodies, [part, *(p for _, parts in joined.values() for p in parts)]
        groups |= dict.fromkeys(bodies, together)
    return list({id(group): group for group in groups.values()}.values())


def _acts(part):
    """Whether a part has forces or constraints, as a cost has not; by forces of constraints it sees it pushes, too."""
    names = "gradient", "positions", "form", "control force", "multiplier force"
    return n_reactions(part) > 0 or formulas_of(part).function(*names)[0].size1_out(0) > 0


def _without_work(parts):
    """Rigid motions on which none of these parts has power, weight left aside: columns of shape (6, k), and their
    lever."""
    spaces = []
    for part in sorted(parts, key=lambda part: part.is_body):  # what holds the whole tells it at once
        if not isinstance(part, Gravity) and (part.is_body or _acts(part)):
            spaces.append(part.workless_motions())
            if spaces[-1] is None or not spaces[-1].shape[1]:
                return NONE, 1.0
    return common(spaces), lever(spaces)


def _plain(motions, length):
    """A plain basis of turns by one, and of translations by one."""
    motions = plain_basis(motions, length)
    turns = np.abs(motions[3:]).max(axis=0, initial=0.0)
    return motions / np.where(turns > 0, turns, length)


def _of_island(system, bodies, parts, z, since):
    """What is constant of some bodies, list of SX, each over its size, and what it is, mainly."""
    n, weights = system.n_q, {part.bodies[0]: part.acceleration for part in system.parts if isinstance(part, Gravity)}
    motions, length = _without_work([*bodies, *parts])
    if not motions.shape[1] or any(body.mass is None for body in bodies) or not any(body.mass for body in bodies):
        return [], []
    total, mass, moment = ca.SX(6, 1), sum(body.mass for body in bodies), ca.SX(3, 1)
    for body in bodies:
        q, p = z[:n][system.coordinates(body)], z[n:][system.coordinates(body)]
        centre = body.centre_of_mass(q, ca.SX(body.own_parameters))
        total += body.rigid_motion(q).T @ p
        moment += body.mass * ca.vertcat(centre, ca.SX(3 - centre.numel(), 1))
    fields = np.array([weights.get(body, np.zeros(3)) for body in bodies], float)
    pulls = np.array([body.mass for body in bodies])[:, None] * fields
    weight, centre, rows, names = pulls.sum(axis=0), moment / mass, [], []

    def add(kind, direction, value):
        rows.append(value / np.sqrt(mass))  # of motions with an energy of one
        names.append(f"{KINDS[kind]} along {'xyz'[int(np.argmax(np.abs(direction)))]}")

    across = motions @ null_space(motions[3:])
    about = total[3:] - ca.cross(centre, total[:3])
    pushed = null_space(across[:3].T).T  # directions in which more than weights may push
    if len(bodies) > 1 or bodies[0].has_orientation or hasattr(bodies[0], "links"):
        for w in plain_basis(motions[3:]).T:
            uniform = (fields == fields[0]).all() or not np.cross(fields, w).any()
            if uniform and not (np.abs(np.cross(pushed, w)) > INDEPENDENT).any():
                add(2, w, ca.dot(w, about))
    # weights turn nothing about axes along them
    turning = np.vstack([np.cross(pull, motions[3:].T).T for pull in pulls])
    for motion in _plain(motions @ null_space(turning), length).T:
        turns = np.abs(motion[3:]).max() > 0
        add(int(turns), motion[3:] if turns else motion[:3],
            ca.dot(motion, total) - since * float(motion[:3] @ weight))
    for motion in _plain(across, length).T:
        v = motion[:3]
        add(3, v, ca.dot(v, moment - since * total[:3]) + since**2 * float(v @ weight) / 2)
    return rows, names
