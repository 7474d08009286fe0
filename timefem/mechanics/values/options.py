"""Thresholds of what a system is worth at states: how it is evaluated, and what is rounding."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class ValuesOptions(Options):
    """Thresholds of what a system is worth at states: how it is evaluated, and what is rounding."""

    # ---- at start
    dense: int = option(
        100_000, "entries of the gradient of the constraints up to which dense arrays are faster than sparse ones")
    few_multipliers: int = option(
        64, "multipliers up to which plain elimination in a loop is faster than LAPACK called from Python")

    # ---- sizes of terms
    of_largest: float = option(0.1, "of what the largest component makes, that a term is taken to be at least")
    tiny: float = option(1e-300, "instead of sizes that are zero")
    rounding: float = option(1e-12, "of terms, beyond which what is off is looked at closer: are there constants?")

    # ---- evaluate
    piece: int = option(1 << 18, "numbers of local values that are made at once")
    pays: int = option(
        1_000, "evaluations of each kind of part from which on machine code pays, though it is to be made")
    pays_to_compile: int = option(500_000, "the same where the loop of all is to be compiled, too")

    # ---- quantities
    most_kinds: int = option(
        200, "kinds of parts whose formulas are kept: formulas make a kind each, and loops over formulas would "
        "fill the memory")

    # ---- velocities
    no_mass: float = option(1e-13, "pivots, relative, of motions without mass")
    solved: float = option(1e-8, "residual of equations for velocities that hold")

    # ---- ranks
    looks: int = option(41, "nodes of a failed march at which it is looked whether constraints come to repeat others")
    soon: float = option(1e-2, "share of the time that was marched, within which they are about to")

    # ---- rollouts
    step_error: float = option(1e-3, "largest error of a step, relative to the fastest motion on the way")
    halvings: int = option(10, "of steps between two times, at most: what is stiffer is not for explicit steps")


OPTIONS = ValuesOptions()
