"""C3D files, by ezc3d (the extra `motion`)."""

from __future__ import annotations

import os

import numpy as np

from ...argument_names import named_arguments
from ...errors import InputError, MissingBackend
from .data import MarkerData, scale_of


@named_arguments
def read_c3d(path: str | os.PathLike[str]) -> MarkerData:
    """Paths of the markers of a C3D file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MarkerData
        In metres, in the axes of the laboratory; NaN where a marker was not seen.

    Raises
    ------
    MissingBackend
        Where ezc3d is not installed.
    InputError
        For what is not a C3D file, and for one without points.
    """
    path = os.fspath(path)
    try:
        import ezc3d
    except ImportError:
        raise MissingBackend("C3D files are read by ezc3d, which is not installed: pip install timefem[motion]"
                             ) from None
    if not os.path.isfile(path):
        raise InputError(f"{path} cannot be read: there is no such file")
    try:
        found = ezc3d.c3d(path)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{path} is not a C3D file: {error}") from None
    points = found["parameters"]["POINT"]
    values = np.asarray(found["data"]["points"], float)[:3]  # (3, n_markers, n_times)
    if not values.size:
        raise InputError(f"{path}: it has no points")
    names = [name.strip() for key in sorted(key for key in points if key.startswith("LABELS"))
             for name in points[key]["value"]][:values.shape[1]]
    names += [f"point {i + 1}" for i in range(len(names), values.shape[1])]
    units = (points["UNITS"]["value"] or ["mm"])[0] if "UNITS" in points else "mm"
    positions = values.transpose(2, 1, 0) * scale_of(path, units)
    residuals = np.asarray(found["data"]["meta_points"]["residuals"], float)[0].T
    positions[residuals < 0] = np.nan
    header = found["header"]["points"]
    times = (header["first_frame"] + np.arange(len(positions))) / float(points["RATE"]["value"][0])
    return MarkerData(path, times, tuple(names), positions)
