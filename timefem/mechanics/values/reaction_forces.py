"""Constraint forces at a state where other forces depend on them, by Newton's method."""

from dataclasses import dataclass

import numpy as np

from .evaluate import quantities_at


@dataclass(frozen=True)
class ReactionOptions:
    """When Newton's method ends, by steps relative to the unknowns."""

    iterations: int = 50
    small: float = 1e-9  # steps from here on may stop falling
    rounding: float = 1e-15


OPTIONS = ReactionOptions()


def has_reaction_forces(system):
    """Whether some forces depend on those of constraints."""
    return any(group.part.reactions_of for group in system.groups)


def reaction_force(system, t, z, multipliers):
    """Force that depends on the constraints' multipliers, (n_q,), and its derivative by them (n_q, n_multipliers), at
    one state."""
    given = np.asarray(multipliers, float)[None, :system.n_multipliers]
    force, by_forces = quantities_at(system, np.full(1, float(t)), np.asarray(z, float)[None], "multiplier force",
                                     "multiplier force by forces", multipliers=given)
    return force[0], by_forces.dense()[0]


def solved(step, x):
    """Fixed point of Newton's method, `step(x) -> x`, with unknowns of one size; None where it is not found."""
    last = np.inf
    for _ in range(OPTIONS.iterations):
        try:
            before, x = x, step(x)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(x).all():
            return None
        change, size = (np.abs(values).max(initial=0.0) for values in (x - before, x))
        if change <= OPTIONS.rounding * size or (change <= OPTIONS.small * size and change >= last / 2):
            return x
        last = change
    return None
