"""Quantities of a solution over time. Line styles differ as well as colours, so that they can be read in print."""

import itertools

import numpy as np

from ... import validate
from ...display import COLOURS, STYLES
from .options import OPTIONS


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
    work = solution.work()
    what = "largest change of the total energy" + " less the work done" * bool(np.any(work))
    ax.set_title(f"{what}: {np.abs(energy - energy[0] - work).max():.1e} J", fontsize="medium")
    return ax


def _largest(parts):
    """Of many energies over time those that change most, and the sum of the others."""
    names = sorted(parts, key=lambda name: -np.ptp(parts[name]))[:OPTIONS.most_energies - 1]
    if len(parts) <= OPTIONS.most_energies:
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
    lines = {f"{name} level": np.maximum(r, OPTIONS.floor)
             for name, r in zip(("configuration", "velocity"), levels, strict=True)}
    ax = lines_over_time(ax, solution.t, lines, "largest constraint residual [SI units]")
    ax.set_yscale("log")
    ax.set_ylim(OPTIONS.floor / 3, 10 * max(max(r.max() for r in lines.values()), 1e-13))
    if any(np.any(r < OPTIONS.floor) for r in levels):
        ax.axhline(OPTIONS.floor, color="0.7", linewidth=0.8, zorder=0)
        ax.annotate(f"zeros are drawn at {OPTIONS.floor:.0e}", (0.99, OPTIONS.floor), xytext=(0, 3),
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
