"""How well sensors fit a motion: residuals in standard deviations, outliers, and markers that look swapped."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

if TYPE_CHECKING:
    from .fit import Fit


class Misfits:
    """Residuals of all sensors at a fit.

    Attributes
    ----------
    chi_squared, n_numbers, n_free : float, int, int
        Sum of squares of residuals with their weights, numbers measured, and how many freedoms the frames have.
    """

    def __init__(self, found: Fit) -> None:
        self._fit = found
        self.chi_squared = 0.0
        self._of: dict[Any, np.ndarray] = {}
        for measured, weight in zip(found.smoother.measured, found.weights, strict=True):
            values = measured.residuals(found.x[measured.frames], found.c)
            self.chi_squared += float((values**2 * (1.0 if weight is None else weight)).sum())
            for sensor, part in zip(measured.sensors, measured.parts, strict=True):
                self._of[sensor] = values[:, part]
        self.n_numbers = sum(sensor.n_measured for sensor in self._of)
        self.n_free = len(found.x) * found.smoother.n_open

    @property
    def rms(self) -> dict[str, float]:
        """Title of each sensor -> root mean square of its residuals in standard deviations: about one where the noise
        stated is right, less where a sensor decides alone."""
        return {sensor.title: float(np.sqrt((values**2).sum() / sensor.n_measured))
                for sensor, values in self._of.items()}

    @cached_property
    def outliers(self) -> dict[str, np.ndarray]:
        """Title of a sensor -> times of its outliers: residuals that right ones have once in ten thousand times."""
        found = {}
        for sensor, values in self._of.items():
            n = np.maximum(sensor.measured.sum(axis=1), 1)
            limit = scipy.stats.chi2.isf(self._fit.smoother.options.false_outliers, n)
            times = sensor.times[(values**2).sum(axis=1) > limit]
            if len(times):
                found[sensor.title] = times
        return found

    @property
    def suspects(self) -> list[str]:
        """Titles of sensors that are outliers most of the time: on the wrong body or place, in other units, swapped."""
        most = self._fit.smoother.options.most_outliers
        lengths = {sensor.title: sensor.measured.any(axis=1).sum() for sensor in self._of}
        return [title for title, times in self.outliers.items() if len(times) > most * lengths[title]]

    @property
    def swapped(self) -> list[tuple[str, str]]:
        """Pairs of suspects each of which measured what the other should have."""
        sensors = [sensor for sensor in self._of if sensor.title in self.suspects]
        found = []
        for i, one in enumerate(sensors):
            for other in sensors[i + 1:]:
                if one.values.shape == other.values.shape and np.array_equal(one.times, other.times):
                    own = self._distance(one, one) + self._distance(other, other)
                    if self._distance(one, other) + self._distance(other, one) < own / 4:
                        found.append((one.title, other.title))
        return found

    def _distance(self, sensor, giver):
        """Median distance of what a sensor should have measured from what another one did."""
        inverse = np.linalg.pinv(sensor.whitening)
        raw = np.einsum("jab,jb->ja", inverse, self._of[sensor])  # y - h
        expected = np.where(sensor.measured, sensor.values - raw, np.nan)
        return float(np.nanmedian(np.linalg.norm(giver.values - expected, axis=1)))

    def __repr__(self):
        lines = [f"chi^2 {self.chi_squared:.4g} of {self.n_numbers} numbers, {self.n_free} freedoms of frames"]
        if self.outliers:
            lines.append("outliers: " + ", ".join(f"{title} ({len(times)})" for title, times in self.outliers.items()))
        lines += [f"{title} is an outlier most of the time: look at its body, place, units and name"
                  for title in self.suspects]
        lines += [f"{a} and {b} look swapped" for a, b in self.swapped]
        return "\n".join(lines)
