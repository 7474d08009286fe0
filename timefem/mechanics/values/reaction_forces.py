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


def reaction_forces(system, t, z, multipliers):
    """Forces that depend on the constraints' multipliers, (n, n_q), and their derivatives by these, (n, n_q,
    n_multipliers), at times (n,) and states (n, n_z)."""
    force, by_forces = quantities_at(system, t, z, "multiplier force", "multiplier force by forces",
                                     multipliers=multipliers[:, :system.n_multipliers])
    return force, by_forces.dense()


def reaction_force(system, t, z, multipliers):
    """The same at one state, (n_q,) and (n_q, n_multipliers)."""
    force, by_forces = reaction_forces(system, np.full(1, float(t)), np.asarray(z, float)[None], multipliers[None])
    return force[0], by_forces[0]


def solved(step, x):
    """Fixed points of Newton's method, `step(x) -> x`, along the last axis, with unknowns of one size; NaN where they
    are not found."""
    last, fine = np.inf, np.zeros(x.shape[:-1], bool)
    for _ in range(OPTIONS.iterations):
        try:
            with np.errstate(all="ignore"):
                before, x = x, step(x)
        except np.linalg.LinAlgError:
            return np.full(x.shape, np.nan)
        change, size = (np.abs(values).max(axis=-1, initial=0.0) for values in (x - before, x))
        fine |= (change <= OPTIONS.rounding * size) | ((change <= OPTIONS.small * size) & (change >= last / 2))
        if (fine | ~np.isfinite(change)).all():
            break
        last = change
    return np.where(fine[..., None], x, np.nan)
