"""Losses that let outliers count less than squares do, as weights of whitened residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...errors import InputError


class Loss(NamedArguments, ABC):
    """How much residuals count, of their length r in standard deviations."""

    @abstractmethod
    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Weights, shape of r, of squares of residuals of length r with n numbers each."""

    @abstractmethod
    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        """What they cost instead of r^2 / 2, shape of r: the function whose slope by r is the weight times r."""

    def excess(self, r: np.ndarray, n: np.ndarray) -> float:
        """Costs above those of squares with the weights, of all together."""
        return float(np.sum(self.costs(r, n) - self.weights(r, n) * r**2 / 2))

    def of_normal(self, n: int) -> tuple[float, float]:
        """Mean and variance of twice the costs of n numbers with normal errors; of squares n and 2 n."""
        r = (np.arange(4000) + 0.5) / 4000 * (np.sqrt(n) + 12.0)
        density = np.exp((n - 1) * np.log(r / np.sqrt(n)) - (r**2 - n) / 2)
        density /= density.sum()
        costs = 2 * self.costs(r, np.full(len(r), n))
        mean = float(density @ costs)
        return mean, float(density @ (costs - mean)**2)


@dataclass(frozen=True)
class Huber(Loss):
    """Squares up to `k` standard deviations, straight lines beyond: weights min(1, k / r) (Huber 1964).

    Parameters
    ----------
    k : float
        1.345 keeps 95 % of the accuracy of squares where errors are normal.
    """

    k: float = 1.345

    def __post_init__(self):
        validate.real("Huber: k", self.k, positive=True)

    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self.k / np.maximum(r, 1e-300))

    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        near = np.minimum(r, self.k)
        return near * (r - near / 2)


@dataclass(frozen=True)
class Student(Loss):
    """Errors with Student's distribution: weights (nu + n) / (nu + r^2), which let large outliers count for nothing.

    Parameters
    ----------
    nu : float
        Degrees of freedom; the fewer, the more outliers are expected.
    """

    nu: float = 4.0

    def __post_init__(self):
        validate.real("Student: nu", self.nu, positive=True)

    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (self.nu + n) / (self.nu + r**2)

    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (self.nu + n) / 2 * np.log1p(r**2 / self.nu)


def of_normal_errors(measured: list[np.ndarray], losses: list[Loss | None]) -> tuple[float, float]:
    """Mean and variance of twice the costs of all sensors where errors are normal, by what each `measured`."""
    total = np.zeros(2)
    for own, loss in zip(measured, losses, strict=True):
        for n, times in zip(*np.unique(own.sum(axis=1), return_counts=True), strict=True):
            total += times * np.array((n, 2 * n) if loss is None or not n else loss.of_normal(int(n)))
    return float(total[0]), float(total[1])


LOSSES = {"huber": Huber(), "student": Student()}


def as_loss(title, value):
    """A `Loss`, that of a name, or None for squares."""
    if value is None or isinstance(value, Loss):
        return value
    if isinstance(value, str) and value in LOSSES:
        return LOSSES[value]
    raise InputError(f"{title} must be 'huber', 'student', Huber(k), Student(nu) or None for squares, not {value!r}")
