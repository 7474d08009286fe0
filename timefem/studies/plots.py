"""Figures of convergence, conservation and conditioning studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timefem import InputError

from .. import validate
from ..display import COLOURS, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timefem import Conditioning

    from .conservation import Conservation
    from .convergence import Convergence

MARKERS = "os^Dv<>P"
PLACES = {"nodes": "-", "quadrature points": ":"}
FLOOR = 1e-17  # where exact zeros are drawn on a logarithmic axis


def plot_convergence(studies: Convergence | Sequence[Convergence], ax: Axes | None = None, against: str = "h") -> Axes:
    """Errors at the end over the length of the elements, or over wall time.

    Points of the round-off plateau are hollow; the fitted order is in the legend.

    Parameters
    ----------
    studies : sequence of Convergence
        Of one problem and quantity.
    ax : matplotlib Axes, optional
    against : {"h", "seconds"}

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    validate.choice("against", against, ("h", "seconds"))
    if not studies:
        raise InputError("there is no study to draw")
    ax = plt.subplots(figsize=(6.0, 4.5), layout="constrained")[1] if ax is None else ax
    for i, s in enumerate(studies):
        x, label = getattr(s, against), s.label
        label += "" if against == "seconds" or np.isnan(s.order) else rf": $h^{{{s.order:.2f}}}$"
        style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        good = np.isfinite(s.errors) & (s.errors > 0)
        ax.loglog(x[good], s.errors[good], linestyle=STYLES[i // len(COLOURS) % len(STYLES)], label=label, **style,
                  markerfacecolor="none")
        ax.loglog(x[s.used], s.errors[s.used], linestyle="none", **style)
    s = studies[0]
    unit = ", relative" if s.unit == "1" else f" [{s.unit}]"
    ax.set(xlabel={"h": "length of an element [s]", "seconds": "wall time of a solve [s]"}[against],
           ylabel=f"error of the {s.quantity} at the end{unit}")
    lengths = sorted({x for s in studies for x in s.h.tolist()})
    if against == "h" and len(lengths) <= 10:
        ax.set_xticks(lengths, [f"{x:.3g}" for x in lengths], rotation=30 if len(lengths) > 5 else 0)
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return ax


def plot_conservation(studies: Conservation | Sequence[Conservation], figure: Any = None) -> Any:
    """Changes of the invariants over time, one panel each, and the largest residuals of the constraints.

    Axes are logarithmic; exact zeros are drawn at 1e-17. Solid: at the nodes; dotted: at quadrature points.

    Parameters
    ----------
    studies : sequence of Conservation
        Of one problem.
    figure : matplotlib Figure, optional

    Returns
    -------
    matplotlib Figure
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    if not studies:
        raise InputError("there is no study to draw")
    units = {i.name: i.unit for s in studies for i in s.invariants}
    levels = list(dict.fromkeys(level for s in studies for level in s.constraints))
    n = len(units) + len(levels)
    columns = 2 if n > 1 else 1
    rows = -(-n // columns)
    figure = figure or plt.figure(figsize=(5.5 * columns, 2.6 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    colours = [COLOURS[i] if len(studies) <= len(COLOURS) else f"C{i % 10}" for i in range(len(studies))]
    meshes = {s.n_elements for s in studies}
    names = [s.method if len(meshes) == 1 else f"{s.method}, {s.n_elements} elements" for s in studies]
    keys = [Line2D([], [], color=c, label=name) for c, name in zip(colours, names, strict=True)]
    keys += [Line2D([], [], color="0.4", linestyle=line, label=where) for where, line in PLACES.items() if levels]
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 6), fontsize="small")
    for ax, (name, unit) in zip(axes, units.items(), strict=False):
        for i, s in enumerate(studies):
            for own in (x for x in s.invariants if x.name == name):
                ax.semilogy(own.t[1:], np.maximum(np.abs(own.change[1:]), FLOOR), color=colours[i], linewidth=1.0)
        ax.set(title=name, ylabel=f"|change| [{unit}]")
    for ax, level in zip(axes[len(units):], levels, strict=False):
        for i, s in enumerate(studies):
            for where, line in PLACES.items():
                if level in s.residuals:
                    ax.semilogy(s.residuals["t"], np.maximum(s.residuals[level][where], FLOOR), line, linewidth=1.0,
                                color=colours[i])
        ax.set(title=f"{level} constraints" if level == "nonholonomic" else f"constraints, {level} level",
               ylabel="largest residual [SI]")
    for ax in axes[:n]:
        ax.set_xlabel("t [s]")
        ax.grid(alpha=0.3)
    for ax in axes[n:]:
        ax.remove()
    return figure


def plot_conditioning(studies: Sequence[Conditioning], ax: Axes | None = None,
                      labels: Sequence[str] | None = None) -> Axes:
    """Condition numbers over the length of the elements, with the fitted powers of 1/h: May & Betsch (2025), Fig. 8.

    Parameters
    ----------
    studies : sequence of Conditioning
    ax : matplotlib Axes, optional
    labels : sequence of str, optional
        Default: the studies' own, with their scaling.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")[1] if ax is None else ax
    labels = labels or [f"{s.label}, scaling {s.scaling}" for s in studies]
    for study, label in zip(studies, labels, strict=True):
        fitted = "" if np.isnan(study.slope) else rf": $h^{{{-study.slope:.2f}}}$"
        ax.loglog(study.h, study.condition, "o-", label=label + fitted)
    ax.set(xlabel="length of an element [s]", ylabel=f"condition number, {studies[0].norm}-norm")
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return ax
