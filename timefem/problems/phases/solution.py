"""The solution of a problem in phases."""

from dataclasses import dataclass

import numpy as np

from ...status import Status


@dataclass(eq=False)
class PhasedSolution:
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

    phases: list
    objective: float
    status: Status
    statistics: dict

    @property
    def success(self):
        return self.status.success

    @property
    def durations(self):
        """Of each phase [s]."""
        return np.array([phase.t[-1] - phase.t[0] for phase in self.phases])

    @property
    def starts(self):
        """When each phase starts, counted from the start of the first one [s]."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])[:-1]

    def __len__(self):
        return len(self.phases)

    def __getitem__(self, k):
        return self.phases[k]

    def __repr__(self):
        return f"PhasedSolution({len(self.phases)} phases, {self.durations.sum():g} s, {self.status.reason})"
