"""Noise levels by maximum likelihood: spectral densities and errors for which what was measured is most likely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, known_names, named_arguments
from ...memory import Late
from ...progress import progress
from ...records import frozen
from ..initial.global_driver import Global
from ..task import Task
from .dynamic.search import Search
from .options import DEFAULTS

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from .problem import Estimation

scipy = Late("scipy")


@frozen(eq=False)
class NoiseLevels:
    """Noise levels that make what was measured most likely.

    Attributes
    ----------
    factors : dict
        Key of `noise`, or name of a measurement -> factor of its spectral density, or of its variances.
    std : dict
        Standard deviations of the logarithms of these, by the curvature of the evidence.
    log_evidence : float
    problem : Estimation
        The same with these levels.
    """

    factors: dict[Any, float]
    std: dict[Any, float]
    log_evidence: float
    problem: Any


@named_arguments
def most_likely_noise(problem: Estimation, element: TimeElement, n_elements: int = 1, *,
                      vary: Sequence[Any] | None = None) -> NoiseLevels:
    """Noise levels by maximum likelihood: factors of spectral densities and of variances with the largest evidence.

    Quasi-Newton steps in the logarithms of the factors, with differences of `log p(y)`.

    Parameters
    ----------
    problem : Estimation
    element, n_elements
        As for `solve`.
    vary : sequence, optional
        Keys of `noise`, and names of measurements; default: all.

    Returns
    -------
    NoiseLevels

    Raises
    ------
    InputError
        For what is neither, and where no motion is found.
    """
    known = [*problem.noise_keys, *(sensor.title for sensor in problem.measurements)]
    names = known if vary is None else list(vary)
    for name in names:
        if name not in known:
            labels = [name if isinstance(name, str) else problem.system.label(name) for name in known]
            raise InputError(f"vary: {name!r} is neither a key of noise nor a measurement{known_names(name, labels)}")
    evidence = _Evidence(problem, element, n_elements, names)
    found = scipy.optimize.minimize(evidence, np.zeros(len(names)), jac=evidence.slope, method="L-BFGS-B",
                                    bounds=[(-DEFAULTS.log_most, DEFAULTS.log_most)] * len(names),
                                    options={"gtol": DEFAULTS.log_slope, "ftol": DEFAULTS.log_slope**2})
    for name, x in zip(names, found.x, strict=True):
        if abs(x) >= DEFAULTS.log_most:
            raise InputError(f"{name!r}: the evidence has no maximum, it grows towards a level that is "
                             f"{'very large' if x > 0 else 'zero'}; leave it out of vary")
    wide = DEFAULTS.log_curvature * np.eye(len(names))
    curvature = np.array([(evidence.slope(found.x + d) - evidence.slope(found.x - d)) / (2 * DEFAULTS.log_curvature)
                          for d in wide])
    deviations = np.sqrt(np.abs(np.diag(np.linalg.pinv((curvature + curvature.T) / 2))))
    factors = dict(zip(names, np.exp(found.x).tolist(), strict=True))
    return NoiseLevels(factors, dict(zip(names, deviations.tolist(), strict=True)), -float(found.fun),
                       problem.with_levels(factors))


class _Evidence:
    """Minus the evidence by logarithms of factors; each solve begins where the last one ended."""

    def __init__(self, problem, element, n_elements, names):
        self._problem, self._names, self._last = problem, names, None
        self._task = Task(problem, element, n_elements, driver=Global(), progress=False)
        self._mesh = self._task.mesh_through(problem.kinks)

    def __call__(self, x):
        problem = self._problem.with_levels(dict(zip(self._names, np.exp(x), strict=True)))
        with progress("estimation", show=False) as bar:
            search = Search(self._task.of(problem), bar)
            found = search(self._mesh, self._last)
        if not found.status.success:
            raise InputError(f"the noise levels were not found, because no motion was: {found.status.message}")
        self._last = found.x
        return -found.posterior.log_evidence()

    def slope(self, x):
        """Its derivatives, by differences."""
        h = DEFAULTS.log_step
        return np.array([(self(x + d) - self(x - d)) / (2 * h) for d in h * np.eye(len(x))])
