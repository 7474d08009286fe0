"""Coordinates, rates and reactions of a joint over time."""

import numpy as np

from ...errors import InputError
from ..joint_motion import joint_fields
from .plots import lines_over_time


def plot_joint(solution, joint, times=None, ax=None):
    """A figure of one joint: coordinates, rates, force and torque on body a in axes of space.

    Parameters
    ----------
    solution : Solution
    joint : Part or str
    times : array_like, optional
        Default: the ends of the elements.
    ax : sequence of Axes, or Figure, optional
        As many axes as there are units, or a figure to draw them in.

    Returns
    -------
    matplotlib.figure.Figure
    """
    name = solution.joint(joint).name
    fields = joint_fields(solution, times, (name,))[name]
    by_unit = {}
    for quantity, (values, unit) in fields.items():
        parts = {quantity: values} if values.ndim == 1 else {f"{quantity} {a}": v for a, v in
                                                             zip("xyz", values.T, strict=True)}
        by_unit.setdefault(unit, {}).update(parts)
    t = solution.t if times is None else np.asarray(times, float)
    axes = _axes(ax, name, list(by_unit))
    for ax, (unit, lines) in zip(axes, by_unit.items(), strict=True):
        name_of = next(iter(lines)) if len(lines) == 1 else next(iter(lines)).rpartition(" ")[0]
        lines_over_time(ax, t, lines, f"{name_of} [{unit}]")
    axes[0].set_title(name)
    return axes[0].figure


def _axes(given, name, units):
    """Axes for each unit: those given, or new ones, in a figure that is given or new."""
    n = len(units)
    if given is None:
        import matplotlib.pyplot as plt

        given = plt.figure(figsize=(7, 2.4 * n), layout="constrained")
    axes = np.ravel(given.subplots(n, 1) if hasattr(given, "subplots") else given)
    if len(axes) != n:
        raise InputError(f"plot_joint: {name} needs {n} axes, one for each of {', '.join(units)}, or a figure; ax has "
                         f"{len(axes)}")
    return axes
