"""Rest shapes of beams, positions and section axes along a curve; and their cross-sections, stiffness and inertia per
length."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import scipy

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...types import Converted, Floats, Matrix, Vector
from ..bodies import rotations
from ..numbers.arguments import joined

if TYPE_CHECKING:
    from typing_extensions import Unpack

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


class MoreOfSection(TypedDict, total=False):
    """Types of further arguments of a `Section`, for what makes one of a shape."""

    damping: float


@frozen
class Section(NamedArguments):
    """Stiffness and inertia of a cross-section, in its axes: 1 along the beam, 2 and 3 across.

    Stress resultants `N = (EA Gamma_1, GA_2 Gamma_2, GA_3 Gamma_3)` and `M = (GJ kappa_1, EI_2 kappa_2, EI_3 kappa_3)`.

    Parameters
    ----------
    EA : float
        Axial stiffness [N].
    GA : float or (float, float)
        Shear stiffness along axes 2 and 3 [N], shear factors included.
    GJ : float
        Torsional stiffness [N m^2].
    EI : float or (float, float)
        Bending stiffness about axes 2 and 3 [N m^2].
    mass : float
        Per length [kg/m].
    inertia : array_like, shape (3,)
        Of the section about its axes, per length [kg m]: for a homogeneous one rho (I_2 + I_3, I_2, I_3).
    damping : float
        Retardation time [s] of the material: stresses are those of the strains plus `damping` times their rates.
    shape : tuple, optional
        ("circle", radius), ("rectangle", width, height) or ("tube", outer, inner radius) [m], for pictures.

    Raises
    ------
    InputError
        For numbers that are not positive (damping: negative), or an inertia that violates the triangle inequality.
    """

    EA: float
    GA: Converted[float | Vector, tuple[float, float]]
    GJ: float
    EI: Converted[float | Vector, tuple[float, float]]
    mass: float
    inertia: Converted[Vector, tuple[float, float, float]]
    damping: float = 0.0
    shape: tuple | None = None

    def __post_init__(self):
        for name in ("EA", "GJ", "mass"):
            object.__setattr__(self, name, validate.real(f"section: {name}", getattr(self, name), positive=True))
        for name in ("GA", "EI"):
            object.__setattr__(self, name, _pair(name, getattr(self, name)))
        inertia = validate.array("section: inertia", self.inertia, (3,))
        if inertia.min() <= 0:
            raise InputError(f"section: inertia must be positive, but is {digits(inertia)}")
        largest = inertia.max()
        if 2 * largest > inertia.sum() * (1 + 1e-12):
            raise InputError(f"section: inertia {digits(inertia)} violates the triangle inequality; of a plane "
                             "section the first, about the axis of the beam, is the sum of the two others")
        object.__setattr__(self, "inertia", tuple(inertia.tolist()))
        object.__setattr__(self, "damping", _damping(self.damping))

    @classmethod
    def from_file(cls, entry: dict[str, Any]) -> Section:
        """The section of a table in a file: of its numbers, or `circle`, `tube` or `rectangle` with theirs."""
        for shape in ("circle", "tube", "rectangle"):
            if shape in entry:
                return getattr(cls, shape)(**entry[shape])
        return cls(**entry)

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON schema of that table."""
        number, pair = {"$ref": "#/$defs/positive"}, {"anyOf": [
            {"$ref": "#/$defs/positive"}, {"type": "array", "items": {"$ref": "#/$defs/positive"}, "minItems": 2,
                                           "maxItems": 2}]}
        material = {"E": number, "nu": {"$ref": "#/$defs/number"}, "density": number, "shear_factor": number,
                    "damping": {"$ref": "#/$defs/not_negative"}}
        shapes = {"circle": ("radius",), "tube": ("outer", "inner"), "rectangle": ("width", "height")}
        plain = {"EA": number, "GA": pair, "GJ": number, "EI": pair, "mass": number,
                 "inertia": {"$ref": "#/$defs/vector"}, "damping": {"$ref": "#/$defs/not_negative"}}
        ways = [_table(plain, [name for name in plain if name != "damping"])]
        ways += [_table({shape: _table(material | dict.fromkeys(own, number), ["E", "nu", "density", *own])}, [shape])
                 for shape, own in shapes.items()]
        return {"description": "a table with EA, GA, GJ, EI, mass and inertia, or with one of circle, tube, rectangle",
                "anyOf": ways}

    @property
    def stiffness(self) -> np.ndarray:
        """Of Gamma and kappa, shape (6,)."""
        return joined(self.EA, *self.GA, self.GJ, *self.EI)

    @classmethod
    def circle(cls, E: float, nu: float, density: float, radius: float, shear_factor: float | None = None,
               **others: Unpack[MoreOfSection]) -> Section:
        """A full circle: a `tube` without a hole.

        Parameters
        ----------
        E : float
            Young's modulus [N/m^2].
        nu : float
            Poisson's ratio, above -1 and at most 0.5.
        density : float
            [kg/m^3]
        radius : float
            [m]
        shear_factor : float, optional
            Default: by Cowper (1966).
        others
            Further arguments of `Section`, such as `damping`.

        Raises
        ------
        InputError
            For numbers out of range.
        """
        return cls.tube(E, nu, density, radius, 0.0, shear_factor, **others)

    @classmethod
    def tube(cls, E: float, nu: float, density: float, outer: float, inner: float, shear_factor: float | None = None,
             **others: Unpack[MoreOfSection]) -> Section:
        """A ring.

        Parameters
        ----------
        E : float
            Young's modulus [N/m^2].
        nu : float
            Poisson's ratio, above -1 and at most 0.5.
        density : float
            [kg/m^3]
        outer, inner : float
            Radii [m].
        shear_factor : float, optional
            Default: by Cowper (1966).
        others
            Further arguments of `Section`, such as `damping`.

        Raises
        ------
        InputError
            For numbers out of range.
        """
        outer = validate.real("section: outer radius", outer, positive=True)
        inner = validate.real("section: inner radius", inner)
        if not 0 <= inner < outer:
            raise InputError(f"section: the inner radius {digits(inner, outer)} must be between zero and the outer "
                             f"one, {digits(outer, inner)}")
        area, second = np.pi * (outer**2 - inner**2), np.pi / 4 * (outer**4 - inner**4)
        if shear_factor is None:
            m = (inner / outer) ** 2
            shear_factor = 6 * (1 + nu) * (1 + m) ** 2 / ((7 + 6 * nu) * (1 + m) ** 2 + (20 + 12 * nu) * m)
        shape = ("tube", outer, inner) if inner else ("circle", outer)
        return cls._of_material((E, nu, density), area, (second, second), 2 * second, shear_factor,
                                {"shape": shape, **others})

    @classmethod
    def rectangle(cls, E: float, nu: float, density: float, width: float, height: float, shear_factor: float = 5 / 6,
                  **others: Unpack[MoreOfSection]) -> Section:
        """A rectangle; torsion by Saint-Venant's series.

        Parameters
        ----------
        E : float
            Young's modulus [N/m^2].
        nu : float
            Poisson's ratio, above -1 and at most 0.5.
        density : float
            [kg/m^3]
        width, height : float
            Along axis 2 and axis 3 [m].
        shear_factor : float
            Of shear stiffness; default 5/6.
        others
            Further arguments of `Section`, such as `damping`.

        Raises
        ------
        InputError
            For numbers out of range.
        """
        width = validate.real("section: width", width, positive=True)
        height = validate.real("section: height", height, positive=True)
        second = width * height**3 / 12, height * width**3 / 12
        a, b = max(width, height), min(width, height)
        n = np.arange(1, 200, 2)
        torsion = a * b**3 / 3 * (1 - 192 * b / (np.pi**5 * a) * (np.tanh(n * np.pi * a / (2 * b)) / n**5.0).sum())
        return cls._of_material((E, nu, density), width * height, second, torsion, shear_factor,
                                {"shape": ("rectangle", width, height), **others})

    @classmethod
    def _of_material(cls, material, area, second, torsion, shear_factor, others):
        E, nu, density = material
        E, density = (validate.real(f"section: {name}", value, positive=True)
                      for name, value in (("E", E), ("density", density)))
        nu = validate.real("section: nu", nu)
        if not -1 < nu <= 0.5:
            raise InputError(f"section: nu must be above -1 and at most 0.5, but is {digits(nu, -1, 0.5)}")
        G = E / (2 * (1 + nu))
        factor = validate.real("section: shear_factor", shear_factor, positive=True)
        return cls(E * area, factor * G * area, G * torsion, tuple(E * i for i in second), density * area,
                   (density * sum(second), density * second[0], density * second[1]), **others)


@frozen
class RopeSection(NamedArguments):
    """Stiffness and mass of a rope or string.

    Parameters
    ----------
    EA : float
        Stiffness [N].
    mass : float
        Per length [kg/m].
    damping : float
        Retardation time of the material [s].
    """

    EA: float
    mass: float
    damping: float = 0.0

    def __post_init__(self):
        for name in ("EA", "mass"):
            object.__setattr__(self, name, validate.real(f"section: {name}", getattr(self, name), positive=True))
        object.__setattr__(self, "damping", _damping(self.damping))

    @classmethod
    def from_file(cls, entry: dict[str, Any]) -> RopeSection:
        """The section of a table in a file."""
        return cls(**entry)

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON schema of that table."""
        number = {"$ref": "#/$defs/positive"}
        return {"description": "a table with EA and mass", **_table(
            {"EA": number, "mass": number, "damping": {"$ref": "#/$defs/not_negative"}}, ["EA", "mass"])}


def _table(properties, required):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _damping(value):
    value = validate.real("section: damping", value)
    if value < 0:
        raise InputError(f"section: damping must not be negative, but is {digits(value)}")
    return value


def _pair(name, value):
    if np.ndim(value) == 0:
        value = (value, value)
    values = validate.array(f"section: {name}", value, (2,))
    if values.min() <= 0:
        raise InputError(f"section: {name} must be positive, but is {digits(values)}")
    return tuple(values.tolist())
