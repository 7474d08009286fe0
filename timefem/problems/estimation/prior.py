"""What is known of numbers before anything is measured."""

from __future__ import annotations

import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments
from ...records import frozen
from ...types import Floats, Matrix, Vector
from .options import DEFAULTS


@frozen(eq=False)
class Prior(NamedArguments):
    """A normal distribution of unknown numbers: of a bias, a mass, the place of a sensor.

    Parameters
    ----------
    mean : float or array_like, shape (n,)
    sigma : float or array_like, shape (n,), optional
        Standard deviations, in the units of the numbers.
    covariance : array_like, shape (n, n), optional
        Instead of `sigma`, where errors of the numbers depend on each other.
    lower, upper : float or array_like, shape (n,), optional
        Bounds of unknown numbers. One that ends at its bound has no standard deviation, and those of the others hold it
        there.

    Raises
    ------
    InputError
        For a covariance that is not symmetric and positive, for a sigma that is not positive, and for a mean that is
        not within its bounds.
    """

    mean: Floats = 0.0
    sigma: float | Vector | None = None
    covariance: Matrix | None = None
    lower: Floats | None = None
    upper: Floats | None = None

    def bounds_of(self, title: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of so many numbers, shape (n,), infinite where there are none."""
        mean = self.of_size(title, n)[0]
        lower, upper = (np.full(n, none) if given is None else numbers_of(f"{title}: {name}", given, n)
                        for name, given, none in (("lower", self.lower, -np.inf), ("upper", self.upper, np.inf)))
        if not np.all(lower < upper):
            raise InputError(f"{title}: lower, {digits(lower.max(), upper.min())}, must be below "
                             f"upper, {digits(upper.min(), lower.max())}")
        if not np.all((lower <= mean) & (mean <= upper)):
            raise InputError(f"{title}: the mean, {digits(mean[0] if n == 1 else mean)}, must be within lower and "
                             "upper")
        return lower, upper

    def of_size(self, title: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean, shape (n,), and covariance, shape (n, n), of so many numbers."""
        return numbers_of(f"{title}: mean", self.mean, n), covariance_of(title, n, self.sigma, self.covariance)


def numbers_of(title: str, given: Floats, n: int) -> np.ndarray:
    """One number for all of n, or one for each, shape (n,)."""
    if np.asarray(given, dtype=object).ndim == 0:
        return np.full(n, validate.real(title, given))
    return validate.array(title, given, (n,))


def covariance_of(title: str, n: int, sigma: float | Vector | None, covariance: Matrix | None) -> np.ndarray:
    """The covariance of n numbers, shape (n, n), by standard deviations or as a whole."""
    if (sigma is None) == (covariance is None):
        raise InputError(f"{title}: give sigma, the standard deviation of each number, or covariance; one of both")
    if sigma is not None:
        values = numbers_of(f"{title}: sigma", sigma, n)
        if not np.all(values > 0):
            raise InputError(f"{title}: sigma must be positive, not {digits(values.min())}; a number that is known for "
                             "sure is given as a number")
        return np.diag(values**2)
    return checked_covariance(f"{title}: covariance", covariance, n)


def deviations_of(covariance: np.ndarray) -> np.ndarray:
    """Standard deviations, shape (..., n), of covariances, shape (..., n, n)."""
    return np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))


def checked_covariance(title: str, covariance: Matrix, n: int) -> np.ndarray:
    """A symmetric positive definite matrix, shape (n, n)."""
    if n == 1 and np.ndim(covariance) == 0:
        covariance = [[validate.real(title, covariance)]]
    values = validate.array(title, covariance, (n, n))
    largest = np.abs(values).max()
    if np.abs(values - values.T).max() > DEFAULTS.symmetric * largest:
        raise InputError(f"{title} must be symmetric, but entries of both triangles differ by "
                         f"{np.abs(values - values.T).max():.3g}")
    values = (values + values.T) / 2
    least = np.linalg.eigvalsh(values)[0]
    if not least > 0:
        raise InputError(f"{title} must be positive definite, but its least eigenvalue is {least:.3g}; "
                         "what is known for sure needs a small variance, not none")
    return values
