"""Angles of joints along a solution, with their turns; and what neighbouring nodes of beams turn apart."""

import numpy as np

from ..assembly import TimeMesh
from ..errors import UnderResolved, warn
from ..late import Late
from ..mechanics.values.of_parts import coordinate_at
from .options import OPTIONS

_beams = Late("timefem.mechanics.composites.beam.beam")  # most systems have none


def turn_table(solution, bound):
    """Times, and an angle there with its turns, close enough for turns to be reported; at the nodes among others.

    The increments are those that the rates predict, so that no turn is missed.
    """
    system = solution.system
    if len(solution.t) == 1:
        return solution.t, first_angle(solution, bound, coordinate_at(system, bound, solution.z)[0])
    rates = np.abs(coordinate_at(system, bound, solution.nodal_state)[1]).max(axis=1)
    n = np.maximum(2, np.ceil(rates * np.diff(solution.t) / OPTIONS.largest_turn)).astype(int)
    if n.sum() > OPTIONS.most_turn_points:
        n = np.full(len(n), max(2, OPTIONS.most_turn_points // len(n)))
    mesh, e = TimeMesh(solution.t), np.repeat(np.arange(len(n)), n)
    place = (np.arange(len(e)) - np.repeat(np.cumsum(n) - n, n)) / n[e]
    times = np.append(mesh.nodes[e] + mesh.lengths[e] * place, solution.t[-1])
    values, rate = coordinate_at(system, bound, solution(times))
    steps, expected = np.diff(values), np.diff(times) * (rate[1:] + rate[:-1]) / 2
    steps += 2 * np.pi * np.round((expected - steps) / (2 * np.pi))
    return times, first_angle(solution, bound, values[:1]) + np.concatenate([[0.0], np.cumsum(steps)])


def first_angle(solution, bound, value):
    """The angle at the start, with the turns that its counter starts with."""
    system = solution.system
    if "counter" in vars(bound) and bound.counter in system.bodies:
        start = solution.z[0][system.coordinates(bound.counter)]
        return value + 2 * np.pi * np.round((start - value) / (2 * np.pi))
    return value


def unwrapped(solution, bound, t=None, table=None):
    """An angle with its turns at times, the ends of the elements unless given; shape t.shape."""
    times, angles = turn_table(solution, bound) if table is None else table
    t = solution.t if t is None else np.asarray(t, float)
    value = coordinate_at(solution.system, bound, solution(t) if len(solution.t) > 1 else solution.z)[0]
    predicted = np.interp(t, times, angles)
    return value + 2 * np.pi * np.round((predicted - value) / (2 * np.pi))


def sharp_bends(system, z):
    """What is to be reported states, shape (n, >= n_q), in which neighbouring nodes of a beam turn too far apart for
    what is interpolated between them, or None. Quaternions turn by half of the angle, directors by all of it."""
    worst, sharpest, angle = 1.0, None, 0.0
    for beam in system.composites:
        bend = largest_bend(system, beam, z) if isinstance(beam, _beams.Beam) else 0.0
        share = bend / OPTIONS.sharp_bend * (2 if bend and beam.rotation == "directors" else 1)
        if share > worst:
            worst, sharpest, angle = share, beam, bend
    if sharpest is None:
        return None
    n = int(np.ceil(sharpest.n_elements * worst))
    return (f"{system.label(sharpest)} bends or twists by up to {angle:.2g} rad from node to node, which its elements "
            f"do not resolve: the solution may be far off; give it {n} elements or more, or a higher degree")


def largest_bend(system, beam, z):
    """Angle between the turns of neighbouring nodes from their rest, the largest in states of shape (n, >= n_q)."""
    least = 3.0
    for leg in beam.legs:
        last = None
        for i in leg:
            node = system.find(beam.nodes[i])
            turn = node.rotation_matrix(z[:, system.coordinates(node)]) @ beam.node_axes(i).T
            if last is not None:
                least = min(least, (turn * last).sum(axis=(-2, -1)).min())
            last = turn
    return float(np.arccos(np.clip((least - 1) / 2, -1, 1)))


def warn_of_bends(system, z):
    """Warn of `sharp_bends`, of any kind of solution."""
    text = sharp_bends(system, z)
    if text is not None:
        warn(text, UnderResolved)
