"""Thresholds of linear analysis, of periodic motions and of studies of parameters."""

from __future__ import annotations

from ..records import frozen
from ..validate.options import Options, documented, option


@documented
@frozen
class AnalysisOptions(Options):
    """Thresholds of linear analysis, of periodic motions and of studies of parameters."""

    # ---- floquet
    neutral_multiplier: float = option(
        1e-6, "log |multiplier| that is rounding, which multipliers that meet on the unit circle feel by its root")
    multiplier_rounding: float = option(1e-14, "rounding of a monodromy matrix, relative to its norm",
                                        "100 elements: 1e-15")
    rest: float = option(1e-9, "motion, relative to the coordinates, weighted by the masses, that is rest")
    closes: float = option(1e-6, "gap between both ends of a period, relative to the size of the motion, at most")

    # ---- linear model
    listed_states: int = option(24, "states that a summary names")
    named_displacements: int = option(3, "displacements of a mode that are named")
    least_share: float = option(0.05, "share of the kinetic energy of a displacement that is named")

    # ---- lyapunov
    piece: int = option(50, "elements between two orthogonalisations")

    # ---- modes
    listed_modes: int = option(12, "modes that a summary lists, besides those that grow")

    # ---- mode motion
    frames_of_mode: int = option(48, "pictures of a period of a mode")

    # ---- parameter study
    narrow: float = option(0.03, "width of an interval, of the range, from which on the growth is followed to its zero")
    narrowest: float = option(3e-15, "width of the last interval, of the range: as far as halving goes")
    listed_values: int = option(12, "values of the parameter that a summary lists")

    # ---- periodic
    periodic_iterations: int = option(30, "iterations to a periodic motion")
    periodic_gap: float = option(1e-11, "of the gap between the ends, relative to the size of the motion")
    periodic_free: float = option(
        1e-7, "singular values of the equations for the start that count as zero: phase, energy, cyclic coordinates")
    periodic_step: float = option(0.5, "change in one iteration, relative to the size of the motion")

    # ---- reduction
    turns_first: float = option(8.0, "weight by which rotations are preferred to positions as independent coordinates")
    moved: float = option(1e-3, "of a turn, or of the time of the fastest motion, after which matrices are compared")
    rounding: float = option(1e-13, "value that is rounding, relative to the sum of the absolute values of its terms")
    steady: float = option(1e-7, "acceleration of a steady motion, relative to those that single forces give")

    # ---- settle
    rest_iterations: int = option(200, "iterations to a state of rest")
    at_rest: float = option(1e-12, "acceleration, relative to those that single forces give")
    rest_step: float = option(0.5, "displacement in an iteration [m or rad]")

    # ---- symmetry
    symmetry_angle: float = option(1e-5, "angle of a difference [rad]")
    same_acceleration: float = option(1e-8, "relative difference of accelerations that are the same")


OPTIONS = AnalysisOptions()
