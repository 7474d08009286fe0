"""Tables of numbers over the time: OpenSim's .mot and .sto, and CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence

import numpy as np

from ...argument_names import named_arguments
from ...errors import InputError
from . import c3d, trc
from .data import MotionTable
from .text import lines_of, number


@named_arguments
def read_mot(path: str | os.PathLike[str]) -> MotionTable:
    """Columns of a .mot or .sto file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MotionTable
        Values as they stand there; `in_degrees` says what the file states of its angles.

    Raises
    ------
    InputError
        For a file without `endheader` or without a column called time, and for rows that do not fit; names the line.
    """
    path = os.fspath(path)
    lines = lines_of(path)
    end = next((i for i, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if end is None:
        raise InputError(f"{path}: there is no line 'endheader', so it is not a .mot or .sto file")
    header = {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines[:end])}
    start = next((i for i, line in enumerate(lines[end + 1:], end + 1) if line.strip()), len(lines))
    if start == len(lines):
        raise InputError(f"{path}: nothing follows 'endheader'")
    names = lines[start].split()
    rows = [(i, line.split()) for i, line in enumerate(lines[start + 1:], start + 2) if line.strip()]
    announced = header.get("nrows") or header.get("datarows")
    if announced and int(number(path, 1, announced)) != len(rows):
        raise InputError(f"{path}: its header announces {announced} rows, but there are {len(rows)}; it may be cut off")
    return _table(path, names, rows, header.get("indegrees", "no").lower() == "yes")


@named_arguments
def read_csv(path: str | os.PathLike[str], *, time: str | None = None) -> MotionTable:
    """Columns of a file of values that commas, semicolons or tabs separate, the first line being their names.

    Parameters
    ----------
    path : str or path-like
    time : str, optional
        Name of the column of times [s]; the first one, or the one called time or t, unless given.

    Raises
    ------
    InputError
        For rows that do not fit and fields that are not numbers; names the line.
    """
    path = os.fspath(path)
    lines = lines_of(path)
    if not lines:
        raise InputError(f"{path}: it is empty")
    delimiter = max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=delimiter))
    names = [name.strip() for name in rows[0]]
    if time is None:
        time = next((name for name in names if name.lower() in ("time", "t")), names[0])
    if time not in names:
        raise InputError(f"{path}: there is no column {time!r}; it has {', '.join(names)}")
    return _table(path, names, [(i, row) for i, row in enumerate(rows[1:], 2) if any(x.strip() for x in row)], False,
                  time)


def _table(path: str, names: Sequence[str], rows: list[tuple[int, list[str]]], in_degrees: bool,
           time: str = "time") -> MotionTable:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InputError(f"{path}: two columns are called {doubled[0]!r}")
    if time not in names:
        raise InputError(f"{path}: there is no column {time!r}")
    values = np.empty((len(rows), len(names)))
    for k, (i, row) in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"{path}, line {i}: it has {len(row)} values, but there are {len(names)} columns")
        values[k] = [number(path, i, x, empty=True) for x in row]
    first = names.index(time)
    others = [i for i in range(len(names)) if i != first]
    return MotionTable(path, values[:, first], tuple(names[i] for i in others), values[:, others], in_degrees)


def read_table(path: str) -> MotionTable:
    """Columns of any of the files that are read; of paths of markers NAME_x, NAME_y, NAME_z [m].

    Raises
    ------
    InputError
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".mot", ".sto"):
        return read_mot(path)
    if ending not in (".trc", ".c3d"):
        return read_csv(path)
    data = (trc.read_trc if ending == ".trc" else c3d.read_c3d)(path)
    names = tuple(f"{name}_{axis}" for name in data.names for axis in "xyz")
    return MotionTable(path, data.times, names, data.positions.reshape(len(data.times), -1))
