"""The solution of an estimation problem: the motion, and how certain it is."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...solution.solution import Solution

if TYPE_CHECKING:
    from .posterior import Posterior
    from .problem import Estimation
    from .program import EstimationProgram


class Estimate(Solution):
    """The most likely motion, with the posterior distribution about it."""

    posterior: Posterior | None

    def take(self, problem: Estimation, program: EstimationProgram, v: np.ndarray,
             posterior: Posterior | None) -> None:
        """What it knows besides the motion."""
        self.problem, self.program, self.posterior, self._v = problem, program, posterior, v

    @cached_property
    def log_evidence(self) -> float:
        """`log p(y)`: how likely what was measured is by the model and its noise."""
        return self.posterior.log_evidence()

    def state_covariance(self, i: int) -> np.ndarray:
        """Posterior covariance of the state (q, p) at node i, shape (n_z, n_z)."""
        return self.posterior.covariance(self._node(i))

    def _node(self, i):
        columns = self.program.chain.columns_of("state")
        return columns[0, 0] if i == 0 else columns[i - 1, -1]

    @property
    def numbers(self) -> np.ndarray:
        """Unknown numbers, in the order of `problem.unknown_names`."""
        return self.fields["constants"][-1, -1] if self.problem.n_constants else np.zeros(0)

    @cached_property
    def number_covariance(self) -> np.ndarray:
        """Their posterior covariance."""
        return self.posterior.covariance(self.program.chain.columns_of("constants")[-1, -1])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__
