"""Marches with rigid contact to a tolerance: on meshes that are halved until the motion and its events stay."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ...solvers.march.motion import size_of_motion
from ..refinement.loop import ErrorEstimate, Estimated

if TYPE_CHECKING:
    from ...assembly import TimeMesh
    from ...solution import Solution


class ContactErrors(ErrorEstimate):
    """Of marches with rigid contact, from the difference of one and that on elements of twice the length.

    Momenta jump at events, which are at slightly different times: states are compared at the nodes that both meshes
    share with as many events before, and the times of events, relative to the time span. Where the sequences of events
    part, only coordinates are compared from there on, which do not jump. Differences fall by a factor r from mesh to
    mesh, 2^p at most for elements of order p; the error is 1 / (r - 1) of the last one.
    """

    grades = False

    def __init__(self, problem, element):
        super().__init__(problem, element)
        self._before, self._difference, self._alike, self._longer = None, np.inf, -1, True

    def __call__(self, sol: Solution, mesh: TimeMesh, goal: float) -> Estimated:
        before, last, self._before = self._before, self._difference, sol
        errors = {"state": np.inf}
        if before is not None:
            errors, alike = self._differences(before, sol)
            self._difference = difference = max(errors.values())
            fall = np.clip(last / difference if difference else np.inf, 2.0, 2.0**self.element.order)
            if not np.isfinite(last):  # one difference does not tell how they fall
                fall = 2.0
            errors = {name: float(value / (fall - 1)) for name, value in errors.items()}
            self._longer, self._alike = alike > self._alike, alike
        return Estimated(max(errors.values()), np.ones(mesh.n_elements), 2 * mesh.n_elements, errors)

    def is_stuck(self, error: float) -> bool:
        """Not as long as more events are alike than on the mesh before."""
        return not self._longer

    def size(self, sol: Solution) -> np.ndarray:
        """By accelerations within elements: jumps of momenta have none."""
        starts = np.concatenate([sol.nodal_state[:, 0], sol.z[-1:]])
        return size_of_motion(self.problem.system, sol.t, starts, sol.nodal_state[:, -1])

    def _differences(self, before, now):
        """Relative differences of two marches by what differs, and how many of their first events are alike."""
        t = np.intersect1d(before.t, now.t)
        span = self.problem.t_span[1] - self.problem.t_span[0]
        pairs = list(zip(before.events, now.events, strict=False))
        alike = len(list(takewhile(lambda pair: _same(*pair), pairs)))
        first, second = ([event.t for event in motion.events] for motion in (before, now))
        shifts = np.abs(np.subtract(first[:alike], second[:alike]))
        parts = min([*first[alike:alike + 1], *second[alike:alike + 1], np.inf])
        counts = [np.searchsorted(times, t, side="right") for times in (first, second)]
        change = np.abs(now(t) - before(t)) / self.size(now)
        comparable = (counts[0] == counts[1]) & (t < parts) & ~np.isin(t, [*first, *second])
        n_q = self.problem.system.n_q
        state = max(change[comparable].max(initial=0.0), change[:, :n_q].max(initial=0.0))
        return {"state": float(state), "times of events": float(shifts.max(initial=0.0) / span)}, alike


def _same(one, other):
    return one.kind == other.kind and one.contacts == other.contacts
