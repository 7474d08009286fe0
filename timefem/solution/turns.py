"""Angles of joints along a solution, with their turns."""

import numpy as np

from ..assembly import TimeMesh
from ..mechanics.values.of_parts import coordinate_at
from .options import OPTIONS


def turn_table(solution, bound):
    """Times, and an angle there with its turns, close enough for turns to be told; at the nodes among others.

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
