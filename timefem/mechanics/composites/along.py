"""What goes on along a beam or rope: positions, rotations, strains, section forces and moments at any place."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError, known_names, needed
from ...memory import Recent
from ...polynomials import LagrangeBasis, gauss_legendre
from ...records import frozen
from ..symbols import Symbols
from ..values.evaluate import evaluate
from .mesh import CurveMesh

PER_ELEMENT = 4  # intervals between places, where none are given

UNITS = {"position": "m", "rotation_matrix": "1", "strain": "1, 1/m", "force": "N", "moment": "N m", "velocity": "m/s",
         "angular_velocity": "rad/s"}
_FUNCTIONS = Recent()


@frozen(eq=False)
class Along:
    """Values along a beam or rope; leading axes are those of the time.

    Strains are polynomials of degree p - 1 through those at the p Gauss points of each element, where the weak form
    takes them and they are accurate; where elements meet they may jump, and those of the later element are given.
    Stresses include damping, `C (e + tau edot)`. What a rope does not have is None.

    Attributes
    ----------
    s : ndarray, shape (n,)
        Places, as `at` takes them.
    t : ndarray or float
        [s]
    position : ndarray, shape (..., n, 3)
        [m]
    rotation_matrix : ndarray, shape (..., n, 3, 3)
        Axes of the nodes: those of the section unless `triads="space"`.
    strain : ndarray, shape (..., n, 6)
        Gamma (stretch, shear along axes 2 and 3) and kappa (twist, bending about axes 2 and 3) [1/m]; of a rope
        (..., n), its strain.
    force : ndarray, shape (..., n, 3)
        N: normal force, and shear forces along section axes 2 and 3, on the part before the place by that behind
        it [N]; of a rope its tension times the direction, in axes of space.
    moment : ndarray, shape (..., n, 3)
        M: torque, and bending moments about section axes 2 and 3 [N m].
    velocity, angular_velocity : ndarray, shape (..., n, 3)
        In space axes [m/s, rad/s]; None of a body at rest.
    """

    s: np.ndarray
    t: Any
    position: np.ndarray
    rotation_matrix: np.ndarray
    strain: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    velocity: np.ndarray = None
    angular_velocity: np.ndarray = None

    def to_xarray(self) -> Any:
        """As an xarray Dataset with dimensions `time` (where there is one), `s`, and components.

        Raises
        ------
        MissingBackend
            When xarray is not installed.
        """
        xarray = needed("xarray", "to_xarray")
        lead = ("time",) * np.ndim(self.t)
        data = {}
        for name, values in self._values():
            inner = {(3,): ("axis",), (6,): ("component",), (3, 3): ("row", "column"), (): ()}
            data[name] = ((*lead, "s", *inner[values.shape[len(lead) + 1:]]), values, {"units": UNITS[name]})
        coordinates = {"s": self.s} | ({"time": ("time", self.t, {"units": "s"})} if lead else {"time": self.t})
        return xarray.Dataset(data, coordinates)

    def to_pandas(self) -> Any:
        """As a pandas DataFrame: a row per time and place, columns such as `x [m]`, `N1 [N]`, `kappa3 [1/m]`.

        Raises
        ------
        MissingBackend
            When pandas is not installed.
        """
        return needed("pandas", "to_pandas").DataFrame(self.columns())

    def columns(self) -> dict[str, np.ndarray]:
        """Column name -> values, shape (n_times * n,)."""
        t = np.ravel(self.t)
        found = {"t [s]": np.repeat(t, len(self.s)), "s": np.tile(self.s, len(t))}
        labels = {"position": ("x", "y", "z"), "velocity": ("vx", "vy", "vz"), "moment": ("M1", "M2", "M3"),
                  "force": ("N1", "N2", "N3") if self.moment is not None else ("Nx", "Ny", "Nz"),
                  "angular_velocity": ("omega_x", "omega_y", "omega_z"),
                  "rotation_matrix": tuple(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)),
                  "strain": ("Gamma1", "Gamma2", "Gamma3", "kappa1", "kappa2", "kappa3")}
        for name, values in self._values():
            flat = values.reshape(len(t) * len(self.s), -1)
            names = labels[name] if flat.shape[1] > 1 else ("strain",)
            for label, column in zip(names, flat.T, strict=True):
                unit = UNITS[name] if name != "strain" else "1/m" if label.startswith("kappa") else "1"
                found[f"{label} [{unit}]"] = column
        return found

    def _values(self):
        pairs = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name not in ("s", "t")]
        return [(name, values) for name, values in pairs if values is not None]


def along(system, beam, s, state):
    """`Along` of a beam or rope of a system.

    Parameters
    ----------
    system : System
    beam : Beam, Rope or str
    s : array_like, shape (n,), optional
        Places; default: four intervals per element.
    state : tuple
        Times, coordinates (..., n_q), and velocities qdot (..., n_q) or None at rest.

    Raises
    ------
    InputError
        For what is not a beam or a rope of the system, and places beyond its ends.
    """
    beam = _beam(system, beam)
    if s is None:
        s = np.linspace(0, len(beam.legs), PER_ELEMENT * beam.n_elements * len(beam.legs) + 1)
    s = validate.array("s", np.atleast_1d(s), (None,))
    t, q, rate = state
    where = [beam.locate(float(x)) for x in s]
    places = [beam.make_place(float(x), j, e, xi) for x, (j, e, _, xi) in zip(s, where, strict=True)]
    own = [system.coordinates(place) for place in places]

    def each(values):
        return None if values is None else np.stack(values, axis=len(np.shape(t)))

    turns = beam.nodes[0].has_orientation
    position = each([place.position(q[..., c]) for place, c in zip(places, own, strict=True)])
    rotation = each([place.rotation_matrix(q[..., c]) for place, c in zip(places, own, strict=True)]) if turns else None
    velocity = omega = None
    if rate is not None:
        moving = [place.moving(q[..., c], rate[..., c]) for place, c in zip(places, own, strict=True)]
        velocity, omega = each([m[0] for m in moving]), each([m[1] for m in moving]) if turns else None
    gauss = LagrangeBasis(beam.degree - 1, "gauss")
    weights = gauss.values(np.array([xi for *_, xi in where]))
    strain, stress = (np.einsum("nr,...nra->...na", weights, v) for v in _at_gauss_points(system, beam, where, q, rate))
    if turns:
        return Along(s, t, position, rotation, strain, stress[..., :3], stress[..., 3:], velocity, omega)
    d = beam.dimension
    slope = each([np.tensordot(q[..., c].reshape(*q.shape[:-1], -1, d), place.slopes, (-2, 0))
                  for place, c in zip(places, own, strict=True)])
    slope = np.concatenate([slope, np.zeros((*slope.shape[:-1], 3 - d))], axis=-1)
    tension = stress * (slope / np.linalg.norm(slope, axis=-1, keepdims=True) if beam.strain == "linear" else slope)
    return Along(s, t, position, None, strain[..., 0], tension, None, velocity)


def _beam(system, beam):
    known = {system.label(c): c for c in system.composites if isinstance(c, CurveMesh)}
    found = known.get(beam, beam) if isinstance(beam, str) else beam
    if found not in known.values():
        raise InputError(f"{beam!r} is not a beam or a rope of the system{known_names(beam, known)}")
    return found


def _at_gauss_points(system, beam, where, q, rate):
    """Strains and stresses at the Gauss points of the elements of places, shape (..., n, p, 6 or 1)."""
    lead = q.shape[:-1]
    q = q.reshape(-1, system.n_q)
    rate = np.zeros_like(q) if rate is None else rate.reshape(-1, system.n_q)
    numbers = [(j * beam.n_elements + e) * beam.degree + g for j, e, *_ in where for g in range(beam.degree)]
    parts = [beam.elements[i] for i in numbers]
    every = np.arange(system.n_q)
    index = np.array([np.concatenate([every[system.coordinates(b)] for b in part.bodies]) for part in parts])
    function = _function(parts[0])
    motion = np.concatenate([q[:, index], rate[:, index]], axis=2)
    values = evaluate(function, motion, np.zeros(len(q)), np.array([part.own_parameters for part in parts]))
    values = values.reshape(*lead, len(where), beam.degree, 2, -1)
    _, w = gauss_legendre(beam.degree)
    lengths = np.array([beam.curve[j].length / beam.n_elements for j, *_ in where])
    return values[..., 0, :], values[..., 1, :] / (lengths[:, None] * w)[..., None]


def _function(part):
    if part.kind not in _FUNCTIONS:
        s = Symbols(part)
        q = ca.vertcat(*s.q)
        rate = ca.SX.sym("rate", q.numel())
        e = ca.SX(part.strains(s))
        stress = part.stress(s, e, ca.jtimes(e, q, rate))
        _FUNCTIONS[part.kind] = ca.Function("strains", [ca.vertcat(q, rate), s.t, s.own],
                                            [ca.densify(ca.vertcat(e, stress))])
    return _FUNCTIONS[part.kind]
