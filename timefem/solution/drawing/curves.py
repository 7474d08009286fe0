"""Beams in pictures: the surface that the shape of the section sweeps."""

from dataclasses import dataclass

import numpy as np

from ...mechanics.composites.beam.along import along
from ...mechanics.composites.beam.mesh import CurveMesh
from .options import OPTIONS


@dataclass(frozen=True, eq=False)
class DrawnCurve:
    """A curve of a beam at the times of a scene.

    Attributes
    ----------
    name : str
    beam : Beam
    centre, velocity, angular_velocity : ndarray, shape (n_times, n_stations, 3)
        In space axes [m, m/s, rad/s].
    rotation : ndarray, shape (n_times, n_stations, 3, 3)
        Section axes in space.
    outline : ndarray, shape (n_corners, 2)
        Of the section, along its axes 2 and 3 [m].
    """

    name: str
    beam: object
    centre: np.ndarray
    velocity: np.ndarray
    rotation: np.ndarray
    angular_velocity: np.ndarray
    outline: np.ndarray

    def surface(self, n):
        """Points on the surface at the time number n, shape (n_stations, n_corners, 3)."""
        arms = np.einsum("sab,cb->sca", self.rotation[n][..., 1:], self.outline)
        return self.centre[n][:, None] + arms

    def velocity_of_surface(self, n):
        """Velocities of these points, shape (n_stations, n_corners, 3)."""
        arms = self.surface(n) - self.centre[n][:, None]
        return self.velocity[n][:, None] + np.cross(self.angular_velocity[n][:, None], arms)

    def faces(self, n):
        """Four corners of each face at the time number n, shape (n_faces, 4, 3)."""
        return sides(self.surface(n))


def sides(x):
    """Four corners of each face between stations, (n_stations, n_corners, 3) -> (n_faces, 4, 3)."""
    y = np.roll(x, -1, axis=1)
    return np.stack([x[:-1], y[:-1], y[1:], x[1:]], axis=2).reshape(-1, 4, 3)


def outline(section):
    """Corners of the shape of a section, shape (n, 2); none where it has none."""
    shape, *sizes = getattr(section, "shape", None) or ("line",)
    if shape == "line":
        return np.zeros((0, 2))
    if shape == "rectangle":
        return np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * np.array(sizes) / 2
    angle = 2 * np.pi * np.arange(OPTIONS.circle_corners) / OPTIONS.circle_corners
    return sizes[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def has_surface(composite):
    """Whether it is a beam whose section has a shape."""
    return isinstance(composite, CurveMesh) and len(outline(composite.section)) > 0


def curves_of(system, state):
    """`DrawnCurve` of every curve of the beams of a system whose sections have a shape.

    Parameters
    ----------
    system : System
    state : tuple
        Times (n_times,), coordinates (n_times, n_q), and rates (n_times, n_q).
    """
    return [curve for beam in system.composites if has_surface(beam) for curve in _curves(system, beam, state)]


def _curves(system, beam, state):
    several, q = len(beam.legs) > 1, state[1]
    n = min(OPTIONS.curve_stations, OPTIONS.curve_per_element * beam.n_elements) + 1
    for j in range(len(beam.legs)):
        a = along(system, beam, j + np.linspace(0, 1, n), state)
        # the last station is the first one of the next curve, with the section of this one
        places = [beam.make_place(j + x, *_within(beam, j, x)) for x in np.linspace(0, 1, n)]
        rotation = np.stack([p.section_axes(q[:, system.coordinates(p)]) for p in places], axis=1)
        yield DrawnCurve(system.label(beam) + f" {j + 1}" * several, beam, a.position, a.velocity, rotation,
                         a.angular_velocity, outline(beam.section))


def _within(beam, j, x):
    """Curve, element, and place in it, of the part x of a curve."""
    e = min(int(x * beam.n_elements), beam.n_elements - 1)
    return j, e, x * beam.n_elements - e
