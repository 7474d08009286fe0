"""Quantities of a solution over time, and surfaces of beams.

Line styles differ as well as colours, so that they can be read in print.
"""

import itertools

import numpy as np

from ... import validate
from ...display import COLOURS, STYLES
from ...mechanics.composites.along import along
from ...mechanics.composites.mesh import CurveMesh
from ...records import frozen
from ..options import DRAWING


def plot_energy(solution, ax=None, by_part=False):
    """Total energy at the element ends; with forces also the kinetic and the potential energy.

    The title says how much energy the method gained or lost: the work of loads, dampers and controls is taken off.

    Parameters
    ----------
    solution : Solution
    ax : Axes, optional
    by_part : bool
        Show what each part adds, see `System.energy_by_part`, in place of the two sums; of many parts those that change
        most, and the sum of the others.

    Returns
    -------
    matplotlib.axes.Axes
    """
    energy = solution.energy()
    potential = solution.system.potential(solution.t, solution.z)
    lines = {"total": energy}
    if validate.flag("by_part", by_part):
        lines |= _largest(solution.system.energy_by_part(solution.t, solution.z))
    elif np.any(potential):
        lines |= {"kinetic": energy - potential, "potential": potential}
    ax = lines_over_time(ax, solution.t, lines, "energy [J]")
    work = solution.energy.work()
    what = "largest change of the total energy" + " less the work done" * bool(np.any(work))
    ax.set_title(f"{what}: {np.abs(energy - energy[0] - work).max():.1e} J", fontsize="medium")
    return ax


def _largest(parts):
    """Of many energies over time those that change most, and the sum of the others."""
    names = sorted(parts, key=lambda name: -np.ptp(parts[name]))[:DRAWING.most_energies - 1]
    if len(parts) <= DRAWING.most_energies:
        return parts
    others = {name: values for name, values in parts.items() if name not in names}
    return {name: parts[name] for name in parts if name in names} | {f"{len(others)} others": sum(others.values())}


def plot_momentum(solution, ax=None, kind="angular"):
    """Components of the angular momentum about the origin, or of the linear momentum, at the element ends.

    Parameters
    ----------
    solution : Solution
    ax : Axes, optional
    kind : {"angular", "linear"}

    Returns
    -------
    matplotlib.axes.Axes
    """
    validate.choice("kind", kind, ("angular", "linear"))
    values = getattr(solution, f"{kind}_momentum")()
    letter, unit = ("L", "kg m²/s") if kind == "angular" else ("p", "kg m/s")
    lines = {f"${letter}_{a}$": v for a, v in zip("xyz", values.T, strict=True)}
    ax = lines_over_time(ax, solution.t, lines, f"{kind} momentum [{unit}]")
    change = np.abs(values - values[0]).max(axis=0)
    ax.set_title("largest change of x, y, z: " + ", ".join(f"{c:.1e}" for c in change) + f" {unit}", fontsize="medium")
    return ax


def plot_constraints(solution, ax=None):
    """Largest residual of the constraints on configuration and on velocity level at the element ends.

    The axis is logarithmic; values below `FLOOR`, exact zeros among them, are drawn at `FLOOR`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    levels = [np.abs(r).max(axis=-1, initial=0.0) for r in solution.constraints()]
    lines = {f"{name} level": np.maximum(r, DRAWING.floor)
             for name, r in zip(("configuration", "velocity"), levels, strict=True)}
    ax = lines_over_time(ax, solution.t, lines, "largest constraint residual [SI units]")
    ax.set_yscale("log")
    ax.set_ylim(DRAWING.floor / 3, 10 * max(max(r.max() for r in lines.values()), 1e-13))
    if any(np.any(r < DRAWING.floor) for r in levels):
        ax.axhline(DRAWING.floor, color="0.7", linewidth=0.8, zorder=0)
        ax.annotate(f"zeros are drawn at {DRAWING.floor:.0e}", (0.99, DRAWING.floor), xytext=(0, 3),
                    xycoords=("axes fraction", "data"), textcoords="offset points", ha="right", fontsize="small",
                    color="0.4")
    return ax


def new_axes(ax, size=(6.4, 3.6)):
    """The given axes, or new ones of this size [in]."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def lines_over_time(ax, t, lines, ylabel, looks=None):
    """Lines over time in the common style; the values are not shifted, and round-off does not fill the axis."""
    ax = new_axes(ax)
    looks = zip(itertools.cycle(STYLES), itertools.cycle(COLOURS)) if looks is None else looks
    for (label, values), (style, colour) in zip(lines.items(), looks, strict=False):
        ax.plot(t, values, style, color=colour, label=label, linewidth=1.5, marker="o" if len(t) == 1 else None)
    if len(t) > 1:
        ax.set_xlim(t[0], t[-1])
    low, high = min(v.min() for v in lines.values()), max(v.max() for v in lines.values())
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size or size < 1e-12:
        # conserved: a drift of 1e-13 has to look like a straight line, next to zero for scale
        ax.set_ylim(*((min(0, 1.25 * low), max(0, 1.25 * high)) if size >= 1e-12 else (-1, 1)))
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(ylabel)
    ax.grid(True, linewidth=0.5, color="0.85")
    ax.tick_params(direction="in", top=True, right=True)
    if len(lines) > 1:
        ax.legend(frameon=True, framealpha=0.9, edgecolor="0.8", fontsize="small")
    return ax


# ---- Beams in pictures: the surface that the shape of the section sweeps

@frozen(eq=False)
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
    angle = 2 * np.pi * np.arange(DRAWING.circle_corners) / DRAWING.circle_corners
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
    n = min(DRAWING.curve_stations, DRAWING.curve_per_element * beam.n_elements) + 1
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


# ---- Controls over time, units apart, with their bounds

BOUND = {"linestyle": (0, (7, 4)), "linewidth": 1.0, "zorder": 1}


def plot_controls(solution, ax=None):
    """Controls of all actuators over time, of problems that determine them; they may jump between elements.

    Each unit has an axis of its own. Bounds of an `OptimalControl` are long dashes, in the colour of the control, or
    grey where all controls of an axis have them.

    Returns
    -------
    matplotlib.axes.Axes
    """
    inside = np.linspace(0.0, 1.0, 7)[1:-1]
    times = (solution.t[:-1, None] + np.diff(solution.t)[:, None] * inside).ravel()
    values, bounds = solution.controls(times).T, bounds_of(solution).T
    by_unit, ax, column = {}, new_axes(ax), 0
    for part in solution.system.parts:
        for i in range(part.n_controls):
            name = solution.system.label(part) + f" {i + 1}" * (part.n_controls > 1)
            by_unit.setdefault(part.unit, {})[name] = column
            column += 1
    looks = zip(itertools.cycle(STYLES), itertools.cycle(COLOURS), strict=False)
    axes = [ax] + [ax.twinx() for _ in range(len(by_unit) - 1)]
    for n, (one, (unit, columns)) in enumerate(zip(axes, by_unit.items(), strict=True)):
        lines = {name: values[column] for name, column in columns.items()}
        what = next(iter(lines)) if len(lines) == 1 else "controls"
        lines_over_time(one, times, lines, what + f" [{unit}]" * bool(unit), looks)
        _draw_bounds(one, one.get_lines(), bounds[list(columns.values())])
        if n:  # scales of their own, beside each other
            one.spines["right"].set_position(("outward", DRAWING.scales_apart * (n - 1)))
            one.grid(False)
    drawn = [(line, unit) for one, unit in zip(axes, by_unit, strict=True) for line in one.get_lines()
             if not line.get_label().startswith("_")]
    if len(drawn) > 1:
        for one in axes:
            if one.get_legend():
                one.get_legend().remove()
        names = [line.get_label() + f" [{unit}]" * bool(unit and len(axes) > 1) for line, unit in drawn]
        axes[-1].legend([line for line, _ in drawn], names, fontsize="small", framealpha=0.9)
    return ax


def bounds_of(solution):
    """Lower and upper bounds of the controls, shape (2, n_controls), infinite where there are none."""
    none = np.full((2, sum(part.n_controls for part in solution.system.parts)), np.inf) * [[-1], [1]]
    given = np.array(solution.statistics.get("control_bounds", none), float)
    return np.where(np.isnan(given), none, given)


def _draw_bounds(ax, lines, bounds):
    """Bounds (n, 2) of the controls that these lines show."""
    if not np.isfinite(bounds).any():
        return
    shared = [np.unique(side).size == 1 for side in bounds.T]
    for line, own in zip(list(lines), bounds, strict=True):
        for value, same in zip(own, shared, strict=True):
            if np.isfinite(value) and (not same or line is lines[0]):
                ax.axhline(value, color="0.35" if same else line.get_color(), **BOUND)
    ax.relim()
    ax.autoscale(axis="y")
