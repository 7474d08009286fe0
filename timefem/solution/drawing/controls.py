"""Controls over time, units apart, with their bounds."""

import itertools

import numpy as np

from ...display import COLOURS, STYLES
from .options import OPTIONS
from .plots import lines_over_time, new_axes

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
            one.spines["right"].set_position(("outward", OPTIONS.scales_apart * (n - 1)))
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
