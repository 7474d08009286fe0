"""Thresholds of the estimation without dynamics."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KinematicOptions:
    """How a motion without dynamics is found.

    Attributes
    ----------
    tolerance : float
        Root mean square of the change that is left at the end, in standard deviations of the unknowns; constraints
        are closed to rounding whatever it is.
    weights : float
        Largest change of a weight of a robust loss that is left.
    iterations, halvings : int
        Of Gauss-Newton on all frames, and of a step that leads astray.
    patient : int
        Iterations after which steps must not make the misfit larger.
    closing : int
        Newton steps that close constraints at the end.
    near : float
        Gap, over the coordinates or one, after which a Newton step leaves rounding.
    piece : int
        Frames that are linearized at once; arrays of more leave the caches.
    stride : int
        Frames from one that is solved by itself for a start to the next; those between are interpolated.
    frame_iterations : int
        Damped steps of frames by themselves.
    frame_tolerance : float
        Length of their steps, in standard deviations, that is short enough for a start.
    largest : float
        Largest change of a coordinate in one of these steps, over the larger of one and the coordinates [rad, m].
    worse : float
        Misfit per number, over the median of all frames, from which on a frame starts again from its neighbours.
    between : float
        How many times as large it is where a frame between those is solved by itself.
    barrier, last_barrier, falls : float
        Weight of the barrier of limits, of the cost, at first and last, and by what it falls.
    room : float
        Distance from a limit at which it begins, over that between both [else rad, m].
    beside : float
        Distance from a frame, of the mean one, up to which a sensor of unknown clock has none of its own.
    shown : int
        Coordinates that messages name.
    dependent : float
        Singular values of rows of unit length, relative to the largest, that count as zero.
    close : float
        Pivots of rows of unit length, relative to the largest, up to which their rank is that of singular values.
    pays : float
        Instructions of all evaluations of a formula from which on machine code pays.
    longest : int
        Instructions of a formula up to which it is compiled: that takes a second for some ten thousand.
    """

    tolerance: float = 2e-3
    weights: float = 1e-2
    iterations: int = 100
    halvings: int = 8
    patient: int = 15
    closing: int = 8
    near: float = 1e-9
    piece: int = 128
    stride: int = 16
    frame_iterations: int = 60
    frame_tolerance: float = 0.1
    largest: float = 0.5
    worse: float = 9.0
    between: float = 16.0
    barrier: float = 1.0
    last_barrier: float = 1e-6
    falls: float = 0.1
    room: float = 0.01
    beside: float = 1e-2
    shown: int = 4
    dependent: float = 1e-9
    close: float = 1e-6
    pays: float = 2e6
    longest: int = 40_000


DEFAULT = KinematicOptions()
