"""Measured motions as files state them: paths of markers, and columns of numbers over the time: OpenSim's .mot and
.sto, and CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..display import digits
from ..errors import InputError, MissingBackend, NamedArguments, known_names, named_arguments
from ..mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from ..mechanics.states.given import tree_joint
from ..problems.estimation.noise import Loss
from ..problems.estimation.prior import Prior
from ..problems.estimation.sensors import JointSensor, Marker
from ..records import frozen
from ..types import Matrix, Vector
from .document import read_file


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
    data = (read_trc if ending == ".trc" else read_c3d)(path)
    names = tuple(f"{name}_{axis}" for name in data.names for axis in "xyz")
    return MotionTable(path, data.times, names, data.positions.reshape(len(data.times), -1))


# ---- text files of numbers, with the numbers of their lines

def lines_of(path):
    """Lines of a text file without their ends.

    Raises
    ------
    InputError
    """
    try:
        data = read_file(path, 10**9)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return data.decode("latin-1").splitlines()


def number(path, line, text, empty=False):
    """A number in a line; NaN of an empty field where these are allowed."""
    text = text.strip()
    if empty and not text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        point = "; write a decimal point" if text.count(",") == 1 else ""
        raise InputError(f"{path}, line {line}: {text!r} is not a number{point}") from None


# ---- files of marker paths with the ending .trc, as Motion Analysis and OpenSim write them

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


# ---- C3D files, by ezc3d (the extra `motion`)

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


METERS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "meters": 1.0, "millimeters": 0.001}


def scale_of(path: str, units: str) -> float:
    """Metres of a unit of length.

    Raises
    ------
    InputError
    """
    if units.lower() not in METERS:
        raise InputError(f"{path}: units must be one of {', '.join(METERS)}, not {units!r}")
    return METERS[units.lower()]


@frozen(eq=False)
class MarkerData(NamedArguments):
    """Paths of markers.

    Attributes
    ----------
    path : str
    times : ndarray, shape (n_times,)
        [s]
    names : tuple of str
    positions : ndarray, shape (n_times, n_markers, 3)
        [m], NaN where a marker was not seen.
    """

    path: str
    times: np.ndarray
    names: tuple[str, ...]
    positions: np.ndarray

    def __post_init__(self):
        check_times(self.path, self.times)
        doubled = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubled:
            raise InputError(f"{self.path}: two markers are called {doubled[0]!r}; give each its own name")

    def __repr__(self):
        return f"MarkerData({len(self.names)} markers, {len(self.times)} times, {self.missing:.1%} missing)"

    @property
    def missing(self) -> float:
        """Share of places that were not seen."""
        return float(np.isnan(self.positions).any(axis=2).mean())

    def place(self, name: str) -> np.ndarray:
        """Path of a marker [m], shape (n_times, 3).

        Raises
        ------
        InputError
            When there is no such marker.
        """
        if name not in self.names:
            raise InputError(f"{self.path}: no marker {name!r}{known_names(name, self.names)}")
        return self.positions[:, self.names.index(name)]

    def turned(self, orientation: Vector | Matrix = ((1, 0, 0), (0, 0, -1), (0, 1, 0))) -> MarkerData:
        """The same in other axes: a rotation matrix or unit quaternion times places; y up becomes z up by default."""
        turn = matrix_from_quaternion(as_quaternion(orientation))
        return replace(self, positions=self.positions @ turn.T)

    def between(self, start: float, end: float) -> MarkerData:
        """The same of some time only.

        Parameters
        ----------
        start, end : float
            [s]

        Raises
        ------
        InputError
            When there is no time in between.
        """
        inside = (self.times >= start) & (self.times <= end)
        if not inside.any():
            raise InputError(f"{self.path}: there is no time between {start:g} and {end:g} s; it has "
                             f"{self.times[0]:g} to {self.times[-1]:g} s")
        return replace(self, times=self.times[inside], positions=self.positions[inside])

    def sensors(self, places: Mapping[str, tuple[Any, Vector | Prior]], sigma: float | Mapping[str, float], *,
                loss: Loss | str | None = None) -> list[Marker]:
        """A `Marker` for each marker that a model has, of those that were seen.

        Parameters
        ----------
        places : dict
            Name -> (body, point), the point in body axes [m] or a `Prior` of it, such as `OsimModel.markers`. Markers
            of the file that are not in it are left out.
        sigma : float or dict
            Standard deviation of places [m]; of each marker by name.
        loss : {"huber", "student"}, Huber or Student, optional

        Raises
        ------
        InputError
            Where there is none that both have, or a marker has no sigma.
        """
        found = []
        for name in self.names:
            seen = ~np.isnan(self.place(name)).any(axis=1)
            if name not in places or not seen.any():
                continue
            body, point = places[name]
            found.append(Marker(body, point, times=self.times, values=self.place(name),
                                sigma=_sigma_of("marker", name, sigma), missing="skip", loss=loss, name=name))
        if not found:
            raise InputError(f"{self.path}: none of its markers ({', '.join(self.names[:6])}, ...) is among the places "
                             f"({', '.join(list(places)[:6])}, ...)")
        return found


@frozen(eq=False)
class MotionTable(NamedArguments):
    """Columns of numbers over the time, such as coordinates of joints.

    Attributes
    ----------
    path : str
    times : ndarray, shape (n_times,)
        [s]
    names : tuple of str
    values : ndarray, shape (n_times, n_columns)
    in_degrees : bool
        Whether the file says that angles are in degrees; `values` are as they stand there.
    """

    path: str
    times: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray
    in_degrees: bool = False

    def __post_init__(self):
        check_times(self.path, self.times)

    def __repr__(self):
        return f"MotionTable({len(self.names)} columns, {len(self.times)} times)"

    def column(self, name: str) -> np.ndarray:
        """A column as it stands in the file, shape (n_times,).

        Raises
        ------
        InputError
            When there is no such column.
        """
        if name not in self.names:
            raise InputError(f"{self.path}: no column {name!r}{known_names(name, self.names)}")
        return self.values[:, self.names.index(name)]

    def sensors(self, system: Any, sigma: float | Mapping[str, float], *,
                joints: Mapping[str, Any] | None = None) -> list[JointSensor]:
        """A `JointSensor` for each column that is called as a joint of a tree of the system, angles in radians.

        Parameters
        ----------
        system : System
        sigma : float or dict
            Standard deviation [rad or m], of all or by column.
        joints : dict, optional
            Column -> joint, or (joint, coordinate), where names differ.

        Raises
        ------
        InputError
            When no column is a joint of a tree of the system, or `joints` names something else.
        """
        found = []
        for name in self.names:
            joint = (joints or {}).get(name, name)
            joint, coordinate = joint if isinstance(joint, tuple) else (joint, None)
            own = tree_joint(system, joint)
            if own is None:
                if joints and name in joints:
                    raise InputError(f"joints: {name!r} stands for {joint!r}, which is not a joint of a tree of the "
                                     "system")
                continue
            units = {c.name: c.unit for c in own.coordinates}
            unit = units.get(coordinate) if coordinate else next(iter(units.values()), "rad")
            factor = np.pi / 180 if self.in_degrees and unit == "rad" else 1.0
            found.append(JointSensor(joint if isinstance(joint, str) else own, coordinate, times=self.times,
                                     values=self.column(name) * factor, sigma=_sigma_of("column", name, sigma),
                                     missing="skip", name=name))
        if not found:
            raise InputError(f"{self.path}: none of its columns ({', '.join(self.names[:6])}, ...) is a joint of a "
                             "tree of the system; say which by joints={column: joint}")
        return found

    def markers(self, units: str = "m") -> MarkerData:
        """Columns in threes that end in x, y and z, such as "hand_x", "hand_y", "hand_z", as paths of markers.

        Parameters
        ----------
        units : {"m", "cm", "mm"}
            Of the file.

        Raises
        ------
        InputError
            When no columns have such names.
        """
        bases: dict[str, dict[str, int]] = {}
        for i, name in enumerate(self.names):
            if len(name) > 1 and name[-1].lower() in "xyz":
                bases.setdefault(name[:-1].rstrip("_.: "), {})[name[-1].lower()] = i
        whole = {base: axes for base, axes in bases.items() if len(axes) == 3 and base}
        if not whole:
            raise InputError(f"{self.path}: there are no columns in threes called like hand_x, hand_y, hand_z")
        places = np.stack([self.values[:, [axes["x"], axes["y"], axes["z"]]] for axes in whole.values()], axis=1)
        return MarkerData(self.path, self.times, tuple(whole), places * scale_of(self.path, units))


def _sigma_of(what, name, sigma):
    """The standard deviation of a marker or column, which are one for all or one by name."""
    if not isinstance(sigma, Mapping):
        return sigma
    if name not in sigma:
        raise InputError(f"sigma: there is none for {what} {name!r}")
    return sigma[name]


def check_times(path: str, times: Sequence[float] | np.ndarray) -> None:
    """InputError for times that are not numbers, or do not increase; names the row."""
    values = np.asarray(times, float)
    if not len(values):
        raise InputError(f"{path}: there are no rows of data")
    if not np.isfinite(values).all():
        raise InputError(f"{path}: row {int(np.argmin(np.isfinite(values))) + 1} of the data has no time; drop it, or "
                         "say when it was")
    steps = np.diff(values)
    if np.any(steps <= 0):
        i = int(np.argmax(steps <= 0))
        raise InputError(f"{path}: times must increase, but row {i + 2} of the data has {digits(values[i + 1])} s "
                         f"after {digits(values[i])} s; sort the rows, and drop those that come twice")
