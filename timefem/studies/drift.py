"""Does a number that should stay constant drift, or does it only oscillate?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy

BLOCKS = 10
CONFIDENCE = 0.95  # two-sided
SHARE = 0.2  # of the range of the values: what a drift has to reach within the series
ROUNDING = 1e-10  # relative change that rounding and Newton's tolerance explain


@dataclass(frozen=True)
class Drift:
    """Change of one number in time.

    Attributes
    ----------
    name, unit : str
    scale : float
        Size of the number, or of what it is made of.
    largest : float
        Largest distance from the first value.
    slope, uncertainty : float
        Drift per second, and half the width of its 95 % confidence interval; NaN for a short series.
    verdict : {"rounding", "bounded", "drifting", "short"}
        "rounding": the largest change is below 1e-10 of the scale. "short": fewer than 20 values. "drifting": the slope
        is surely not zero, and makes a fifth of the range of the values or more. Otherwise "bounded".
    t, change : list of float
        At most 500 of the values, for figures.
    """

    name: str
    unit: str
    scale: float
    largest: float
    slope: float
    uncertainty: float
    verdict: str
    t: list[float]
    change: list[float]

    def facts(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)


def drift(name, unit, t, values, scale):
    """Judge a series.

    The slope is that of the straight line through the means of ten blocks of equal numbers of values, its uncertainty
    from Student's distribution with eight degrees of freedom. The means take out oscillations that are shorter than a
    block, whose values are correlated, so that a fit through all values would look surer than it is. A regular
    oscillation leaves regular means, which pass for a line now and then; its slope is small against its range when the
    series has several periods. What oscillates more slowly cannot be distinguished from a drift.

    Parameters
    ----------
    name, unit : str
    t, values : ndarray, shape (n,)
    scale : float

    Returns
    -------
    Drift
    """
    t, change = np.asarray(t, float), np.asarray(values, float) - values[0]
    largest = float(np.abs(change).max())
    slope, uncertainty = _slope(t, change) if len(t) >= 2 * BLOCKS else (float("nan"), float("nan"))
    if largest <= ROUNDING * scale:
        verdict = "rounding"
    elif np.isnan(slope):
        verdict = "short"
    else:
        grows = abs(slope) > uncertainty and abs(slope) * (t[-1] - t[0]) > SHARE * np.ptp(change)
        verdict = "drifting" if grows else "bounded"
    kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), 500)).round().astype(int))
    return Drift(name, unit, float(scale), largest, slope, uncertainty, verdict, t[kept].tolist(),
                 change[kept].tolist())


def _slope(t, change):
    blocks = np.array_split(np.arange(len(t)), BLOCKS)
    fit = scipy.stats.linregress([t[b].mean() for b in blocks], [change[b].mean() for b in blocks])
    return float(fit.slope), float(fit.stderr * scipy.stats.t.ppf((1 + CONFIDENCE) / 2, BLOCKS - 2))
