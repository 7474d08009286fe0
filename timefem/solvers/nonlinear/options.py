"""Thresholds of nonlinear solvers other than those of `InteriorPointOptions`."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class NonlinearOptions(Options):
    """Thresholds of nonlinear solvers other than those of `InteriorPointOptions`."""

    # ---- centred
    centred_least: float = option(1e-5, "size that a variable is scaled by, at least")
    centred_relaxed: float = option(1e-8, "by which bounds are relaxed, as by the other methods")
    no_multiplier: float = option(1e-20, "multiplier that is none")

    # ---- enlarged
    small_objective: float = option(0.1, "objective below which it is scaled up")
    most_enlarged: float = option(1e6, "factor of this at most")

    # ---- fatrop
    fatrop_rough: float = option(1e-4, "tolerance of the first solve")
    fatrop_near: int = option(100, "iterations of a solve that starts near a solution; most take 4 to 20")
    fatrop_acceptable: float = option(1e-6, "error that is accepted where fatrop gives up")
    fatrop_unsolved: float = option(1e-5, "error of its answer from which on it is none")

    # ---- homotopy
    first_step: float = option(0.125, "first step of a homotopy")
    least_step: float = option(1e-4, "least step of a homotopy")
    quick: int = option(5, "iterations up to which the next step is longer")

    # ---- program
    opposed: float = option(1e-3, "multiplier of a limit, over the largest, from which on it stands against a solution")
    near_bound: float = option(1e-3, "distance to a bound, scaled, that is near")
    missed: float = option(1e-6, "violation from which on a row is reported")
    motion_share: float = option(
        0.01, "of what equations of motion miss, from which on what somebody asked for is named in their place")

    # ---- saddle point
    saddle_rounding: float = option(1e-8, "residual that may be rounding, if it falls no more")
    saddle_shortest: float = option(1e-4, "step of the line search")
    saddle_close: float = option(
        0.3, "relative size of a full Gauss-Newton step after which Newton's method takes over")
    saddle_share: float = option(0.2, "share of the costates below which there are none")
    saddle_escape: float = option(0.2, "relative size of a step away from a point that is not a minimum")
    saddle_escapes: int = option(3, "such steps")
    dense_eigenvalues: int = option(
        100, "unknowns up to which all eigenvalues are found, by no iteration that may fail")

    # ---- symmetric solver
    small_pivot: float = option(
        1e-12, "pivot, relative to the norm of the matrix, that an LU has to judge: it may be rounding")
    most_entries: float = option(
        5e6, "entries of the lower triangle up to which the places in blocks are worth their memory")


OPTIONS = NonlinearOptions()
