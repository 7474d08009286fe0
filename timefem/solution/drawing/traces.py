"""Paths that points draw in pictures, films and pages."""

import numpy as np

from ... import validate
from ...errors import InputError


def traces_of(solution, traces, times, bodies):
    """Places of the points whose paths are drawn, list of arrays (n_times, 3).

    Parameters
    ----------
    solution : Solution
    traces : bool, or a point, or a sequence of points
        True for the centres of all bodies. A point is a body, a place of a beam or rope (`beam.at(s)`, `rope.end`), a
        link of a tree (`tree.link(name, point)`), a name of these, or a pair of one and a point in its axes [m].
    times : ndarray, shape (n_times,)
    bodies : list of DrawnBody
        At these times.
    """
    if isinstance(traces, bool | np.bool_):
        return [body.position for body in bodies] if traces else []
    given = list(traces) if isinstance(traces, list | tuple) and not _is_pair(traces) else [traces]
    return [_path(solution, point, times) for point in given]


def _is_pair(given):
    return isinstance(given, list | tuple) and len(given) == 2 and isinstance(given[1], list | tuple | np.ndarray) \
        and len(given[1]) == 3 and np.isrealobj(given[1])


def _path(solution, point, times):
    body, place = point if _is_pair(point) else (point, None)
    if not isinstance(body, str) and not hasattr(body, "is_body"):
        raise InputError("traces: give True, False, or what has a place in space: a body, beam.at(s), "
                         f"tree.link(name), or a pair of one and a point in its axes [m]; not {body!r}")
    path = solution.position(body, times)
    if place is not None:
        place = validate.array("traces: point", place, (3,))
        path = path + solution.rotation_matrix(body, times) @ place
    return path
