"""Thresholds of solutions: their audit, turns, and what is between nodes; and of their pictures."""

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


# ---- pictures

@documented
@frozen
class DrawingOptions(Options):
    """Thresholds of pictures: sizes, distances, and how many points are drawn."""

    # ---- animation
    frames_per_second: int = option(25, "frames of a film in a second")

    # ---- artists
    filling: int = option(4, "corrections of the scale until axes fill a region")
    smooth_corners: int = option(8, "corners of an object from which on its edges are not drawn")
    tick_pad: int = option(8, "what mplot3d adds to the pads of ticks [points]")
    label_pad: int = option(21, "what mplot3d adds to the pads of labels [points]")
    most_pad: float = option(3.0, "by which these are stretched at most")
    spring_turns: int = option(8, "turns of a drawn spring")
    spring_radius: float = option(0.012, "radius of a drawn spring, of the scene")

    # ---- controls
    scales_apart: float = option(55.0, "of the scales of third and further units [pt]")

    # ---- curves
    curve_per_element: int = option(4, "intervals between stations of a curve, per element")
    curve_stations: int = option(80, "intervals along a curve, at most")
    circle_corners: int = option(12, "corners of a circle")

    # ---- page
    page_width: float = option(14.0, "width of the page [in]")
    picture_width: float = option(8.0, "width of the picture beside plots [in]")
    row_height: float = option(2.7, "height of a row of plots [in]")
    title_height: float = option(0.35, "height of the title of a page [in]")
    margin: float = option(0.1, "margin of a page [in]")
    picture_height: float = option(7.0, "height of the picture above the plots, at most [in]")
    plots_in_a_row: int = option(3, "plots in a row")

    # ---- phase
    phase_per_element: int = option(4, "points between the ends of an element in phase portraits")
    phase_points: int = option(4000, "points along a curve in phase portraits")

    # ---- plots
    most_energies: int = option(8, "parts whose energies are distinguished")
    floor: float = option(1e-17, "where exact zeros are drawn on a logarithmic axis")

    # ---- scene
    frames: int = option(200, "frames of a motion whose times are not given")

    # ---- snapshots
    snapshot_title: float = option(0.3, "height of the title of snapshots [in]")

    # ---- times beside
    time_aside: float = option(0.05, "distance of the name of a time from its snapshot, of the picture")
    time_own: float = option(0.035, "the same at least")
    time_others: float = option(0.05, "its distance from others and their names")
    time_points: int = option(100, "points of a snapshot beside which a name may stand")

    # ---- view
    elevation: float = option(22.0, "of the view [degrees]")
    azimuth: float = option(-60.0, "of the view [degrees]")
    flat: float = option(1e-6, "of the extent: what moves in a plane is looked at from its normal")

    # ---- viewer
    digits: int = option(6, "significant digits of places and rotations: finer than a pixel")


DRAWING = DrawingOptions()
