"""Figure of a conditioning study, May & Betsch (2025), Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .conditioning import Conditioning


def plot_conditioning(studies: Sequence[Conditioning], ax: Axes | None = None,
                      labels: Sequence[str] | None = None) -> Axes:
    """Condition numbers over the length of the elements, with the fitted powers of 1/h.

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
