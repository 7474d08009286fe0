"""Thresholds of equilibria and paths of them."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class StaticOptions(Options):
    """Thresholds of equilibria and paths of them."""

    # ---- equilibrium
    iterations: int = option(40, "iterations of Newton's method at a load")
    tolerance: float = option(1e-11, "of the residual, relative to the forces that make it up")
    increment: float = option(1e-9, "of the coordinates, relative to them: quadratic convergence makes it round-off")
    furthest: float = option(1e12, "of the coordinates, that a step may go: it diverges")
    least_step: float = option(1e-6, "step of the load, of all its way, at least")
    least_share: float = option(1e-2, "the same of what a guess leaves unbalanced: what falls without end has none")
    singular: float = option(2e-15, "resistance against the largest that is none; thin beams of 40 elements have 8e-15")
    unbalanced: float = option(10.0, "resistance against the largest, over the error, that what is unbalanced may make")
    shared: float = option(1e-12, "resistance of constraints that repeat each other, against that of the masses")
    apart: float = option(0.1, "of what its terms are, by which a guess violates a constraint that a failure names")
    coincide: float = option(1e-3, "of sizes, by which points that coincide are set apart; springs find back from any")
    pivots: float = option(1e-3, "error of a solve by pivots on the diagonal, up to which their signs are counted")
    neutral: float = option(1e-8, "way in a rigid motion, against the size of the system, that is none")
    added_inertia: float = option(1e-4, "size of the mass that is added to singular tangents")
    most_singular: int = option(3, "singular tangents in a row to which inertia is added, at most")

    driven: float = option(0.01, "square of the rate of a drive, over that of the slowest vibration, to report")

    # ---- path
    path_iterations: int = option(12, "iterations of Newton's method at a step along a path")
    path_distance: float = option(
        0.3, "of the corrected point from the tangent, relative to the step: further away is another branch")
    path_steps: int = option(2000, "steps of a path unless more are asked for")
    path_beyond: float = option(1e-3, "of the change of load, how far ahead of a corner loads are looked at")
    path_bisections: int = option(60, "halvings of a step at a critical point")


OPTIONS = StaticOptions()
