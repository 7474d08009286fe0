"""Thresholds of initial-value problems."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class InitialValueOptions(Options):
    """Thresholds of initial-value problems."""

    # ---- checkpoint
    copied_at_once: int = option(65536, "elements of a checkpoint that are copied at once")

    # ---- drivers
    gather_below: int = option(2**30, "bytes of nodal values up to which every rank of a distributed solve gets all")

    # ---- faults
    held: float = option(1e-9, "residual of constraints that hold at the start, relative to the size of their terms")

    # ---- identity
    fingerprint_times: int = option(5, "times at which a fingerprint looks at functions")

    # ---- windows driver
    first_window: int = option(64, "elements of the first window where the size is chosen here")
    few_iterations: int = option(5, "iterations of Newton's method up to which the next window is twice as long")
    many_iterations: int = option(9, "iterations from which on it is half as long")


OPTIONS = InitialValueOptions()
