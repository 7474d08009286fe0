"""Coordinates, rates and reactions of a joint over time."""

import numpy as np

from ..joint_motion import joint_fields
from .plots import lines_over_time


def plot_joint(solution, joint, times=None):
    """A figure of one joint: coordinates, rates, force and torque on body a in axes of space.

    Parameters
    ----------
    solution : Solution
    joint : Part or str
    times : array_like, optional
        Default: the ends of the elements.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    name = solution.joint(joint).name
    fields = joint_fields(solution, times, (name,))[name]
    by_unit = {}
    for quantity, (values, unit) in fields.items():
        parts = {quantity: values} if values.ndim == 1 else {f"{quantity} {a}": v for a, v in
                                                             zip("xyz", values.T, strict=True)}
        by_unit.setdefault(unit, {}).update(parts)
    t = solution.t if times is None else np.asarray(times, float)
    figure, axes = plt.subplots(len(by_unit), 1, figsize=(7, 2.4 * len(by_unit)), layout="constrained", squeeze=False)
    for ax, (unit, lines) in zip(axes[:, 0], by_unit.items(), strict=True):
        name_of = next(iter(lines)) if len(lines) == 1 else next(iter(lines)).rpartition(" ")[0]
        lines_over_time(ax, t, lines, f"{name_of} [{unit}]")
    axes[0, 0].set_title(name)
    return figure
