"""Thresholds of the estimation of motions."""

from ...records import frozen


@frozen
class EstimationOptions:
    """How the most likely motion is found, and from which sizes on a report tells of something.

    Attributes
    ----------
    near, rough : float
        Posterior standard deviations from the solution at which steps end: of the whole, and of windows that grow.
    weighing : float
        The same while weights of outliers change.
    rests : float
        Those within which steps may end that no longer shrink, to less than `steady` of the one before.
    steady : float
    most_steps, forgiven : int
        Full Gauss-Newton steps, and how often one may be longer than the one before.
    most_damped, corrections : int
        Damped steps, and corrections of each that bring the motion back to its equations.
    held, holds : float
        Violations of rows, scaled, that are rounding, and those that will do where they rest.
    rounds : int
        Of weights of outliers and of time offsets, each of which ends at a solution.
    rested : float
        Change of weights that is none.
    narrower : float
        By which wide priors are narrower in windows.
    growth : float
        Measured times of a window over those of the one before.
    astray : float
        Standard deviations of the sum of squares above what errors explain, from which on windows are tried.
    wide : float
        Standard deviations of what has no prior, over its size in the problem.
    same_time : float
        Difference of times, over the time span, that is none.
    tame : float
        Posterior variance over that of a prior, from which on it is made narrower in sweeps, to this.
    none : float
        The same that is none: constraints rule such a motion out. Seen: 1e-31 of these, 1e-19 of sharp readings.
    rounding : float
        Negative variances over the largest that are none.
    log_step, log_curvature, log_slope : float
        Of logarithms of noise levels: steps of differences, for slopes and for curvatures, and slopes that are none.
    log_most : float
        Largest change of them.
    symmetric : float
        Difference of opposite entries of a covariance, over the largest, that is rounding.
    fits : float
        Standard deviations of the sum of squares about its mean, within which errors explain it.
    outlier : float
        Probability, over all measurements, that the largest residual of normal errors is as large as a reported one.
    open : float
        Posterior standard deviation over that of a wide prior, from which on a number is not determined.
    bad : float
        Root of the mean square of a sensor's residuals, in standard deviations, from which on it is looked at.
    good : float
        The same up to which it is not what a sum of squares is large by.
    nearly : float
        Relative error of a factor of degrees.
    alike : float
        Correlation of measured and expected values from which on they are the same but for a sign.
    explains : float
        Share of the squares that goes with a cause, from which on it is reported.
    swapped : float
        Squares of ways to where another marker was, over those to its own place.
    exchanged : float
        Median distance of two markers from where the other one should be, over that from their own places.
    least_times : int
        From which on there is something to see.
    told, looked_at : int
        Outliers that a verdict names, and sensors that are left out to look at them.
    """

    near: float = 1e-8
    rough: float = 1.0
    weighing: float = 1e-2
    rests: float = 1e-5
    steady: float = 0.9
    most_steps: int = 60
    forgiven: int = 3
    most_damped: int = 100
    corrections: int = 10
    held: float = 1e-13
    holds: float = 1e-9
    rounds: int = 50
    rested: float = 1e-4
    narrower: float = 100.0
    growth: float = 1.5
    astray: float = 10.0
    wide: float = 1e3
    same_time: float = 1e-9
    tame: float = 1e-2
    none: float = 1e-25
    rounding: float = 1e-6
    log_step: float = 1e-3
    log_curvature: float = 0.05
    log_slope: float = 1e-5
    log_most: float = 12.0
    symmetric: float = 1e-9
    fits: float = 3.0
    outlier: float = 1e-4
    open: float = 0.5
    bad: float = 3.0
    good: float = 1.5
    nearly: float = 0.25
    alike: float = 0.8
    explains: float = 0.6
    swapped: float = 0.25
    exchanged: float = 0.25
    least_times: int = 4
    told: int = 8
    looked_at: int = 4


DEFAULTS = EstimationOptions()


@frozen
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
