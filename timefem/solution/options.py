"""Thresholds of solutions: their audit, turns, and what is between nodes."""

from __future__ import annotations

from ..records import frozen
from ..validate.options import Options, documented, option


@documented
@frozen
class SolutionOptions(Options):
    """Thresholds of solutions: their audit, turns, and what is between nodes."""

    # ---- audit
    dropped_held: float = option(
        1e-6, "residual of a dropped constraint, relative to its terms: those kept hold to 1e-9 and better")
    dropped_more: float = option(10.0, "the same over the residual of those kept, where that is larger")
    violated: float = option(
        0.05, "residual of any constraint at the nodes, relative to its terms, beyond which there is no success")
    fast_turn: float = option(
        1.5, "turn per element and degree, of any body, that is too fast where all is solved at once [rad]")
    error_shown: float = option(
        0.01, "error of coordinates that were marched, over the amplitude of the body, that is reported")
    momenta_shown: float = option(0.5, "the same of momenta: from there on most of a vibration is missed")
    error_in_doubt: float = option(0.25, "part of these that an error is estimated to be, from which on it is measured")
    error_most: int = option(400_000, "unknowns of a mesh that is tried")
    rates_apart: float = option(
        0.3, "difference of a rate from what momenta say, over the largest: from there on the motion has little to do "
        "with that of the elements")
    sharp_bend: float = option(
        1.4, "turn from node to node of a beam that costs some per cent of its shape; half of it in directors [rad]")
    energy_missed: float = option(
        0.02, "energy that a method gains or loses, over what moves, beyond which its motion is in doubt")
    energy_rounding: float = option(1e-9, "energy over the potential energy that may be rounding")
    audit_piece: int = option(50_000, "nodes looked at at once")

    # ---- between nodes
    between_left: float = option(
        0.2, "of a constraint there, over the length of its gradient times the way from one to the other: of a bob on "
        "a rod sin(a / 2) / 4, where a is the angle it turns by from node to node; this is for 110 degrees")
    between_small: float = option(
        0.1, "way from node to node, over that of the whole motion, below which no motion goes far from a joint")
    between_seen: float = option(1e-3, "gradient by coordinates that a constraint depends on, over the largest")
    between_noise: float = option(1e-6, "change of coordinates that stay where they are, over the largest")
    between_places: int = option(200, "places that are looked at closely")

    # ---- costates
    costate_ends: int = option(3, "nodes inside from which values at both ends are extrapolated")

    # ---- turns
    largest_turn: float = option(0.5, "turn between points at which turns are counted [rad]")
    most_turn_points: int = option(2_000_000, "points at which turns are counted")


OPTIONS = SolutionOptions()
