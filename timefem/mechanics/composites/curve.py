"""Rest shapes of beams: positions and section axes along a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from ... import validate
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...types import Converted, Floats, Matrix, Vector
from ..bodies import rotations

STATIONS = 4000  # at which arc length and frames of a curve are tabulated


@frozen(eq=False)
class Curve(NamedArguments):
    """A curve in space with section axes, parametrised by its arc length.

    Parameters
    ----------
    position : callable or array_like, shape (n, 3)
        `position(u)` -> points (n, 3) [m], for parameters u (n,) that need not be arc lengths; or points at equal steps
        of these, through which a cubic spline goes. Files and other processes get points in place of a function.
    stop : float
        Last parameter; the first is zero.
    axis : array_like, shape (3,), optional
        Direction of section axis 2 at the start, as far as it is across the curve; default: as little turned from the
        axes of space as the tangent demands.
    twist : float
        Turn of the section about the tangent over the whole length [rad], added to the frame without twist (Bishop).

    Raises
    ------
    InputError
        For a curve that has a corner, stands still, or is not finite; names where.

    Attributes
    ----------
    stated : dict
        What files hold in place of a function: "position", points (n, 3) at equal steps of the parameter.
    """

    position: Converted[Callable[[np.ndarray], Any] | Matrix, Callable[[np.ndarray], Any]]
    stop: float
    axis: Vector | None = None
    twist: float = 0.0

    def __post_init__(self):
        stop = validate.real("curve: stop", self.stop, positive=True)
        u = np.linspace(0, stop, STATIONS + 1)
        if not callable(self.position):
            points = validate.array("curve: position", self.position, (None, 3))
            if len(points) < 2:
                raise InputError("curve: position must be a function, or two points or more")
            along = np.linspace(0, stop, len(points))
            object.__setattr__(self, "position", scipy.interpolate.CubicSpline(along, points))
        try:
            x = np.asarray(self.position(u), float)
        except Exception as error:
            raise InputError("curve: position takes an array of parameters u (n,) and gives points (n, 3), but failed: "
                             f"{error}") from None
        if x.shape != (len(u), 3) or not np.isfinite(x).all():
            found = f"of shape {x.shape}" if x.shape != (len(u), 3) else "some that are not finite"
            raise InputError(f"curve: position must give finite points (n, 3) for parameters u (n,), here of shape "
                             f"{(len(u), 3)}, not {found}")
        spline = scipy.interpolate.CubicSpline(u, x)
        speed = np.linalg.norm(spline(u, 1), axis=1)
        if speed.min() <= 1e-9 * speed.max():
            raise InputError(f"curve: its speed is zero at u = {u[speed.argmin()]:g}")
        chords = np.diff(x, axis=0)
        chords /= np.linalg.norm(chords, axis=1)[:, None]
        bend = np.arccos(np.clip((chords[1:] * chords[:-1]).sum(axis=1), -1, 1))
        if bend.max() > 0.2:
            raise InputError(f"curve: it breaks at u = {u[1 + bend.argmax()]:g}, by {np.degrees(bend.max()):.3g} "
                             "degrees; take two beams with a common node")
        arc = scipy.interpolate.CubicSpline(u, speed).antiderivative()(u)
        object.__setattr__(self, "length", float(arc[-1]))
        object.__setattr__(self, "_parameter", scipy.interpolate.CubicSpline(arc, u))
        object.__setattr__(self, "_spline", spline)
        object.__setattr__(self, "stated", {"position": x})
        object.__setattr__(self, "_frames", self._transported(arc, spline(u, 1) / speed[:, None]))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "position": self._spline}  # other processes may not have the function

    def _transported(self, arc, tangents):
        """Frame without twist at the stations, by the double reflection of Wang et al. (2008), as quaternions."""
        frame = first_axes(tangents[0], self.axis)
        normals, points = [frame[:, 1]], self._spline(self._parameter(arc))
        for i in range(len(arc) - 1):
            v = points[i + 1] - points[i]
            c = v @ v
            across = normals[-1] - 2 / c * (v @ normals[-1]) * v
            along = tangents[i] - 2 / c * (v @ tangents[i]) * v
            w = tangents[i + 1] - along
            square = w @ w
            normals.append(across - 2 / square * (w @ across) * w if square > 0 else across)
        normals = np.array(normals)
        return scipy.interpolate.CubicSpline(arc, normals)

    def at(self, s: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) and rotation matrices (n, 3, 3), section axes as columns, at arc lengths s (n,)."""
        u = np.clip(self._parameter(s), 0, self.stop)
        tangent = self._spline(u, 1)
        tangent /= np.linalg.norm(tangent, axis=1)[:, None]
        across = self._frames(s)
        across -= (across * tangent).sum(axis=1)[:, None] * tangent
        across /= np.linalg.norm(across, axis=1)[:, None]
        third = np.cross(tangent, across)
        angle = (self.twist * np.asarray(s) / self.length)[:, None]
        second = np.cos(angle) * across + np.sin(angle) * third
        return np.asarray(self.position(u), float), np.stack([tangent, second, np.cross(tangent, second)], axis=2)


@frozen(eq=False)
class Line(NamedArguments):
    """A straight line; arguments as for `Curve`.

    Parameters
    ----------
    start, end : array_like, shape (3,)
        [m]
    """

    start: Converted[Vector, np.ndarray]
    end: Converted[Vector, np.ndarray]
    axis: Vector | None = None
    twist: float = 0.0

    def __post_init__(self):
        for name in ("start", "end"):
            object.__setattr__(self, name, validate.array(f"line: {name}", getattr(self, name), (3,)))
        if not np.linalg.norm(self.end - self.start) > 0:
            raise InputError("line: start and end are the same point")

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.end - self.start))

    def at(self, s: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) and rotation matrices (n, 3, 3), section axes as columns, at arc lengths s (n,)."""
        part = (np.asarray(s) / self.length)[:, None]
        frame = first_axes((self.end - self.start) / self.length, self.axis)
        angle = self.twist * part
        second = np.cos(angle) * frame[:, 1] + np.sin(angle) * frame[:, 2]
        tangent = np.broadcast_to(frame[:, 0], second.shape)
        return self.start + part * (self.end - self.start), \
            np.stack([tangent, second, np.cross(tangent, second)], axis=2)


def first_axes(tangent, axis=None):
    """Section axes with the first along the tangent: (3, 3), axes as columns."""
    if axis is not None:
        axis = validate.array("axis", axis, (3,))
        across = axis - (axis @ tangent) * tangent
        size = np.linalg.norm(across)
        if size <= 1e-9 * np.linalg.norm(axis) or size == 0:
            raise InputError("axis must not be along the beam")
        across = across / size
        return np.column_stack([tangent, across, np.cross(tangent, across)])
    if tangent[0] < -1 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    half = np.array([1 + tangent[0], 0, -tangent[2], tangent[1]])  # of the least turn from e1 to the tangent
    return rotations.matrix_from_quaternion(half / np.linalg.norm(half))
