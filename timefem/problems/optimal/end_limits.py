"""A state at the end that limits allow, where the conditions alone leave the guess at one that they do not."""

from functools import partial

import casadi as ca
import numpy as np

from ...errors import InputError
from ..common.conditions import least_norm_search
from .limits import Limit
from .options import OPTIONS


def with_allowed_ends(phases):
    """Phases with guesses that end where limits at their ends allow; None where all do so already, or none is found."""
    moved = [phase.kept.thing("towards limits", phase, partial(towards_limits, phase)) for phase in phases]
    return [new or old for new, old in zip(moved, phases, strict=True)] if any(moved) else None


def towards_limits(phase):
    """The problem with its guess of the end, and what its conditions are reduced to, at a state that its limits at the
    end allow.

    None where the state at hand does so already, and where none is found.
    """
    conditions, t1 = phase.conditions, phase.t_span[1]
    rows = _rows(phase, t1)
    if rows is None:
        return None
    function, lower, upper = rows
    numbers, n, rng = conditions.numbers, len(conditions.state), np.random.default_rng(0)

    def broken(values):
        return np.maximum(lower - values, 0) - np.maximum(values - upper, 0)  # what is missing

    def evaluate(z):
        values, jacobian, _ = conditions.with_constraints(z, t1, numbers)
        of_limits, gradient = (np.array(x) for x in function(z, numbers))
        missing = broken(of_limits.ravel())
        gradient = np.where(missing[:, None] != 0, gradient, 0.0) * phase.system.state_scale
        return np.append(values, -missing), np.vstack([jacobian, gradient])

    if not (np.abs(broken(np.array(function(conditions.state, numbers)[0]).ravel())) > OPTIONS.limit_met).any():
        return None
    for k in range(OPTIONS.limit_searches):
        start = conditions.state + k * OPTIONS.limit_spread * phase.system.state_scale * rng.standard_normal(n)
        z, violated, _ = least_norm_search(evaluate, start, phase.system.state_scale, lambda z: 1.0)
        if violated is None:
            try:
                return phase.with_conditions(conditions.reduced_near(z, t1, numbers))
            except InputError:
                continue
    return None


def _rows(phase, t):
    """Function (z, numbers) -> values and gradients of the limits of the end that see no controls, and their bounds;
    None where there are none."""
    z, c, u = (ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("numbers", len(phase.guesses)),
                                                  ("u", phase.n_controls)))
    now, found = phase.now(z, ca.SX(t), c, u), []
    for limit in phase.limits:
        if isinstance(limit, Limit) and limit.at == "end":
            values, *bounds = limit.rows(now, u)
            found += [own for own in zip(ca.vertsplit(values), *bounds, strict=True) if not ca.depends_on(own[0], u)]
    if not found:
        return None
    values, lower, upper = zip(*found, strict=True)
    rows = ca.densify(ca.vertcat(*values))
    return ca.Function("limits", [z, c], [rows, ca.densify(ca.jacobian(rows, z))]), np.array(lower), np.array(upper)
