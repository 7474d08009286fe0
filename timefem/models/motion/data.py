"""Measured motions as files state them: paths of markers, and columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...display import digits
from ...errors import InputError, NamedArguments, known_names
from ...mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from ...mechanics.states.in_trees import tree_joint
from ...problems.estimation.noise import Loss
from ...problems.estimation.prior import Prior
from ...problems.estimation.sensors import JointSensor, Marker
from ...types import Matrix, Vector

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


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
