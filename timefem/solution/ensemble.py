"""Many motions of one model with different numbers: their states as arrays, and what failed as data."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic_write import replacing
from ..display import Card, Summarized, counted
from ..errors import InputError, known_names, needed
from ..mechanics.system import System
from ..mechanics.values.of_parts import uncoupled
from ..status import Reason
from ..types import FilePath
from . import output
from .output.tables import BODY_FIELDS, COORDINATES, _cell

RATES = "velocity", "angular_velocity", "rates"

if TYPE_CHECKING:
    from ..mechanics.body_frame import BodyFrame
    from .solution import Solution


@dataclass(eq=False, repr=False)
class Ensemble(Summarized):
    """Solutions of many runs, made by `Solver.solve_many`.

    Attributes
    ----------
    system : System
        As it was prepared.
    times : ndarray, shape (n_runs, n_times)
        Times that are kept [s]: the start and the end, or nodes in between; NaN behind a failure.
    z : ndarray, shape (n_runs, n_times, n_z)
        States there; NaN behind a failure.
    reasons : list of str
        "converged"; "input: ..." where numbers could not be used; else the `reason` of the status of that run.
    messages : dict
        Run -> details, of runs that failed or whose elements were halved.
    parameters : dict
        Name -> values, shape (n_runs, ...), that were asked for.
    values : dict
        Name -> (n_runs,): "iterations" of Newton's method, and what the kind of problem reports of a solution: the
        objective, numbers that were found.
    statistics : dict
        "seconds", "n_workers", "n_ranks".
    """

    system: System
    times: np.ndarray
    z: np.ndarray
    reasons: list[str]
    messages: dict[int, str]
    parameters: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    statistics: dict[str, Any]
    _again: Any = field(default=None)  # run -> Solution
    _system_of: Any = field(default=None)  # run -> System, where numbers of parts differ

    def __len__(self) -> int:
        return len(self.z)

    def __repr__(self):
        return (f"Ensemble({counted(len(self), 'run')}, {self.success.sum()} converged, "
                f"{counted(self.times.shape[1], 'time')} each)")

    @property
    def success(self) -> np.ndarray:
        """Whether each run succeeded, ndarray of bool, shape (n_runs,)."""
        return np.array([reason == Reason.CONVERGED for reason in self.reasons], bool)

    def solution(self, run: int) -> Solution:
        """The whole `Solution` of a run, solved once more."""
        if not -len(self) <= run < len(self):
            raise InputError(f"there are the runs 0 to {len(self) - 1}, and no run {run!r}")
        return self._again(run % len(self))

    def summary(self) -> Card:
        """Numbers of runs by how they ended, as a table."""
        counts = Counter(reason.partition(":")[0] for reason in self.reasons)
        facts = {"runs": len(self), **dict(counts.most_common()),
                 "time taken": f"{self.statistics['seconds']:.3g} s on {self.statistics['n_workers']} threads or "
                               f"processes of {counted(self.statistics['n_ranks'], 'rank')}"}
        return Card("Ensemble", facts, {})

    # ---- quantities of bodies

    def position(self, body: BodyFrame | str) -> np.ndarray:
        """Place [m], shape (n_runs, n_times, 3): centre of mass; of a link of a tree the origin of its frame."""
        return self.quantity(body, "position")

    def quantity(self, body: BodyFrame | str, name: str) -> np.ndarray:
        """A quantity of a body: "position", "quaternion", "rotation_matrix", "velocity", "angular_velocity" (body
        axes), or "coordinates" and "rates" of a body without a position, shape (n_runs, n_times, ...)."""
        known = {f[0]: f[3] for f in (*BODY_FIELDS, *COORDINATES)}
        found = self.system.find(body)
        names = [f for f in known if f in self._names(found)]
        if name not in names:
            raise InputError(f"{self.system.label(found)} has no {name!r}{known_names(name, names)}")
        if self._system_of is None:
            states = self.z.reshape(-1, self.z.shape[2])
            flat = _values(self.system, found, known[name], name, self.times.ravel(), states)
            return flat.reshape(*self.z.shape[:2], *flat.shape[1:])
        systems = [self._system_of(i) or self.system for i in range(len(self))]  # without one its states are NaN
        return np.array([_values(system, system.find(found), known[name], name, t, z)
                         for system, t, z in zip(systems, self.times, self.z, strict=True)])

    @staticmethod
    def _names(body):
        if not body.has_position:
            return [f[0] for f in COORDINATES]
        return [f[0] for f in BODY_FIELDS if hasattr(body, f[0])]

    # ---- for other programs

    def to_xarray(self) -> Any:
        """The data as an xarray Dataset with the dimensions `run`, `time` (numbers), and those of each quantity.

        Raises
        ------
        MissingBackend
            When xarray is not installed.
        """
        needed("xarray", "to_xarray")
        units = {name: unit for name, unit, _, _ in (*BODY_FIELDS, *COORDINATES)}
        data = {"t": (("run", "time"), self.times, {"units": "s"}), "success": ("run", self.success),
                "reason": ("run", np.array(self.reasons, object))}
        for body in (body for body in self.system.bodies if not body.helper):
            label = self.system.label(body)
            for name in self._names(body):
                values = self.quantity(body, name)
                own = [f"{label} {name} {k + 1}" for k in range(values.ndim - 2)]
                data[f"{label} {name}"] = (("run", "time", *own), values, {"units": units[name]})
        data |= {name: ("run", values) for name, values in self.values.items()}
        coordinates = {"run": np.arange(len(self))}
        for name, values in self.parameters.items():
            coordinates[name] = (("run", *(f"{name} {k + 1}" for k in range(values.ndim - 1))), values)
        return output.dataset.Dataset(data, coordinates)

    def to_csv(self, path: FilePath) -> None:
        """Write a table with one row per run: parameters, how it ended, and states of the bodies at the end."""
        columns = {"run": range(len(self)), **self.parameter_columns(), "success": self.success.astype(int).tolist(),
                   "reason": self.reasons, **self.end_columns()}
        with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(map(_cell, columns))
            for row in zip(*columns.values(), strict=True):
                writer.writerow(["" if isinstance(v, float) and np.isnan(v) else v for v in row])

    def parameter_columns(self) -> dict[str, list[float]]:
        """Name -> number of each run, of all parameters."""
        columns: dict[str, list[float]] = {}
        for name, values in self.parameters.items():
            flat = values.reshape(len(self), -1)
            columns |= {name if values.ndim == 1 else f"{name}[{k}]": flat[:, k].tolist() for k in range(flat.shape[1])}
        return columns

    def end_columns(self) -> dict[str, list[float]]:
        """Name and unit -> number at the end of each run: time, what was found, and states of the bodies."""
        columns = {"t [s]": self.times[:, -1].tolist()}
        columns |= {name: np.asarray(values).tolist() for name, values in self.values.items()}
        for body in (body for body in self.system.bodies if not body.helper):
            label = self.system.label(body)
            for name, unit, components, _ in BODY_FIELDS:
                if name in self._names(body):
                    flat = self.quantity(body, name)[:, -1].reshape(len(self), -1)
                    columns |= {f"{label}.{c} [{unit}]": v.tolist() for c, v in zip(components, flat.T, strict=True)}
            for name, unit, symbol, _ in COORDINATES:
                if name in self._names(body):
                    for k, v in enumerate(self.quantity(body, name)[:, -1].T):
                        columns[f"{label}.{symbol}{k + 1} [{unit}]"] = v.tolist()
        return columns


def _values(system, body, formula, name, t, z):
    """A quantity of a body at states (n, n_z), NaN where these are."""
    there = np.isfinite(z).all(axis=1)
    states = z[there] if there.any() else np.zeros((1, z.shape[1]))  # for its shape
    if name in RATES and there.any():
        states = uncoupled(system, t[there], states)
    q, p = system.local_state(body, states)
    with np.errstate(all="ignore"):
        found = np.asarray(p if name == "rates" and not body.is_body else formula(body, q, p))
    values = np.full((len(z), *found.shape[1:]), np.nan)
    values[there] = found if there.any() else 0.0
    return values
