"""The solution of a problem in phases."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...status import Answer, Status

if TYPE_CHECKING:
    from ...solution.solution import Solution
    from .problem import Phases


@dataclass(eq=False)
class PhasedSolution(Answer):
    """One `Solution` for each phase, in the order of time.

    Attributes
    ----------
    phases : list of Solution
        Each counts the time from the start of its own time span.
    objective : float
        Sum of the costs of all phases.
    status : Status
    statistics : dict
    """

    phases: list[Solution]
    objective: float
    status: Status
    statistics: dict[str, Any]

    numbers = frozenset({"objective", "durations", "starts"})
    _problem = None  # the `Phases`, where known

    def of_problem(self, problem: Phases) -> PhasedSolution:
        """The solution, which knows its problem."""
        self._problem = problem
        return self

    @property
    def durations(self) -> np.ndarray:
        """Of each phase [s]."""
        return np.array([phase.t[-1] - phase.t[0] for phase in self.phases])

    @property
    def starts(self) -> np.ndarray:
        """When each phase starts, counted from the start of the first one [s]."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])[:-1]

    def save(self, path: str) -> list[str]:
        """Write the solution of each phase to an HDF5 file of its own: of a.h5 the first to a-1.h5, and so on.

        Returns
        -------
        list of str
            Their names; `timefem.load` reads each.
        """
        root, ending = os.path.splitext(path)
        files = [f"{root}-{number}{ending}" for number in range(1, len(self.phases) + 1)]
        for file, phase in zip(files, self.phases, strict=True):
            phase.save(file)
        return files

    def __len__(self) -> int:
        return len(self.phases)

    def __getitem__(self, k: int) -> Solution:
        return self.phases[k]

    def __repr__(self):
        time = sum(phase.t[-1] - phase.t[0] for phase in self.phases)
        return f"PhasedSolution({len(self.phases)} phases, {time:g} s, {self.status.reason})"
