"""Files of marker paths with the ending .trc, as Motion Analysis and OpenSim write them."""

from __future__ import annotations

import os

import numpy as np

from ...argument_names import named_arguments
from ...errors import InputError
from .data import MarkerData, scale_of
from .text import lines_of, number


@named_arguments
def read_trc(path: str | os.PathLike[str]) -> MarkerData:
    """Paths of markers from a .trc file; fields that are empty were not seen.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MarkerData
        In metres, in the axes of the file (`turned` makes y up to z up).

    Raises
    ------
    InputError
        For what is not such a file, and for rows and columns that its header does not announce; names the line.
    """
    path = os.fspath(path)
    lines = lines_of(path)
    if len(lines) < 6 or not lines[0].startswith("PathFileType"):
        raise InputError(f"{path}: it is not a .trc file, whose first line starts with PathFileType")
    header = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=False))
    header = {key.strip(): value.strip() for key, value in header.items()}
    for key in ("NumMarkers", "Units"):
        if key not in header:
            raise InputError(f"{path}, line 2: there is no {key}")
    n = int(number(path, 3, header["NumMarkers"]))
    scale = scale_of(f"{path}, line 3", header["Units"])
    names = [name.strip() for name in lines[3].split("\t")[2:] if name.strip()]
    if len(names) != n:
        raise InputError(f"{path}: line 3 announces {n} markers, but line 4 names {len(names)}")
    times, rows = [], []
    for i, line in enumerate(lines[5:], 6):
        fields = line.rstrip("\r\n").split("\t")
        if not "".join(fields).strip():
            continue
        own = fields[2:2 + 3 * n]
        if len([x for x in fields[2 + 3 * n:] if x.strip()]):
            raise InputError(f"{path}, line {i}: it has {len(fields) - 2} coordinates, but {n} markers have {3 * n}")
        times.append(number(path, i, fields[1] if len(fields) > 1 else ""))
        rows.append([number(path, i, x, empty=True) for x in own] + [np.nan] * (3 * n - len(own)))
    announced = header.get("NumFrames")
    if announced and int(number(path, 3, announced)) != len(rows):
        raise InputError(f"{path}: line 3 announces {announced} frames, but there are {len(rows)}; it may be cut off")
    positions = np.reshape(np.array(rows, float), (len(rows), n, 3)) * scale
    positions[np.isnan(positions).any(axis=2)] = np.nan
    return MarkerData(path, np.array(times), tuple(names), positions)
