"""How compiled loops over elements end, as data."""

from enum import IntEnum


class Code(IntEnum):
    """Of one linear solve, of one element, or of a march of many."""

    DONE = 0  # factored, converged, marched to the end
    NOT_CONVERGED = 1
    SINGULAR = 2
    NOT_FINITE = 3
    ROOM = 4  # no room for more elements
    PAUSE = 5  # to let the caller hear signals and show progress
    TOO_SMALL = 6  # the least step was reached


# Compiled loops return them as plain integers
DONE, NOT_CONVERGED, SINGULAR, NOT_FINITE, ROOM, PAUSE, TOO_SMALL = map(int, Code)
