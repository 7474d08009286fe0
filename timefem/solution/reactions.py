"""Multipliers and controls of all parts along a solution."""

import numpy as np

from ..errors import InputError
from ..mechanics.redundancy.consistent_multipliers import multipliers_along
from ..mechanics.redundancy.redundancy import minimum_norm_multipliers
from ..mechanics.values.of_parts import rates_follow

AXES = "space", "a", "b"


def consistent_multipliers(solution, t):
    """Consistent multipliers of Theta and of the nonholonomic constraints, at times; see `Solution.multipliers`."""
    system = solution.system
    if not rates_follow(system):
        raise InputError("consistent multipliers need the inverse of the mass matrix, which this system has not; the "
                         "element's own are sol.multipliers(t, kind='element')")
    z = solution(t)
    shape, flat = z.shape[:-1], z.reshape(-1, system.n_z)
    times = np.broadcast_to(np.asarray(t, float), shape).ravel()
    force = None
    if "controls" in solution.fields:
        force = system.control_force(times, flat, solution.controls(times))
    m, n = system.n_multipliers, system.n_nonholonomic
    values = multipliers_along(system, times, flat, force)
    return values[:, :m].reshape(*shape, m), values[:, m:m + n].reshape(*shape, n)


def all_multipliers(solution, t):
    """gamma of all constraints of the complete system, multipliers of nonholonomic ones, and controls, (..., n)."""
    system = solution.system
    complete = system.complete or system
    if rates_follow(system):
        values, rolling = consistent_multipliers(solution, t)
    else:
        values, rolling = solution.multipliers(t, kind="element"), np.zeros((*t.shape, 0))
        if system.n_nonholonomic:
            rolling = solution.field("nonholonomic", t)[..., :system.n_nonholonomic]
    values = minimum_norm_multipliers(system, t, solution(t), values)
    controls = solution.controls(t) if "controls" in solution.fields else \
        np.zeros((*t.shape, sum(p.n_controls for p in system.parts)))
    return values[..., :complete.n_constraints], rolling, controls


def own_values(system, part, values):
    """Of `all_multipliers` those that one part sees."""
    every_part, (gamma, rolling, controls) = (system.complete or system).parts, values
    seen = [controls[..., _place(actuator, system.parts, lambda p: p.n_controls)] for actuator in part.controls]
    own = [gamma[..., _place(other, every_part, lambda p: len(p.constraint_names))]
           for other in (part, *part.reactions_of)]
    if part.kept_reactions is not None:
        own[1:] = [np.concatenate(own[1:], axis=-1)[..., list(part.kept_reactions)]]
    return [np.concatenate(own, axis=-1),
            rolling[..., _place(part, every_part, lambda p: len(p.nonholonomic_names))],
            np.concatenate([controls[..., :0], *seen], axis=-1)]


def _place(part, parts, size):
    """Slice of what a part has among that of all parts."""
    first = 0
    for other in parts:
        if getattr(other, "part", other) == part:
            return slice(first, first + size(other))
        first += size(other)
    return slice(0, 0)
