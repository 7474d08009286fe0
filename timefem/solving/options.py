"""Thresholds of solves that are shared, repeated and compared."""

from __future__ import annotations

from ..records import frozen
from ..validate.options import Options, documented, option


@documented
@frozen
class SolvingOptions(Options):
    """Thresholds of solves that are shared, repeated and compared."""

    # ---- agreement
    close: float = option(
        1e-12, "difference of numbers of two ranks, relative; they may run on different machines, which round "
        "differently")
    most_numbers: int = option(100_000, "numbers of an array that are reported in full; of larger ones the checksum")

    # ---- many runs
    runs_together: int = option(8, "runs that a process takes at once")

    # ---- runs
    runs_of_a_thread: int = option(32, "runs that a thread takes at once")


OPTIONS = SolvingOptions()
