"""Bodies that turn further in an element than their coordinates can tell: told while a solve goes on, which may take
minutes, and of a solution."""

import numpy as np

from ....assembly import TimeMesh
from ....errors import UnderResolved, warn
from ....solution.audit import unresolved_turns
from ..options import OPTIONS
from ..transcription.sizes import most_of_controls


class WatchedTurns:
    """A program's callback at each iteration: passes it on, and after a while looks at the motion, once.

    Parameters
    ----------
    step : callable
        `step(residual)`, of progress.
    plan : ElementPlan
        Of the optimality system.
    free_time : bool

    Attributes
    ----------
    program : OptimalProgram or None
        To be set before the first iteration; None where ranks share the elements, which is not looked at.

    Warns
    -----
    UnderResolved
        Names the body, and the number of elements that would do.
    """

    program = None

    def __init__(self, step, plan, free_time):
        self._step, self._plan, self._free_time, self._left = step, plan, free_time, OPTIONS.turns_looked_at

    def __call__(self, residual=None):
        self._left -= 1
        if self._left == 0 and self.program is not None:
            self._look()
        return self._step(residual)

    def _look(self):
        chain, plan = self.program.chain, self._plan
        x, nodes = self.program.x, chain.mesh.nodes
        state = plan.columns.unpack(chain.dofs(x))[list(plan.element.trial).index("state")]
        z = np.concatenate([state[:1, 0], state[:, -1]])
        if self._free_time:
            nodes = nodes * (chain.numbers(x)[0] / (nodes[-1] - nodes[0]))
        text = unresolved_turns(plan.system, plan.element, nodes, z) if np.isfinite(z).all() else None
        if text is not None:
            more = "" if not plan.system.n_constraints else "; System(..., coordinates='joint') counts what hinges turn"
            warn(f"after {OPTIONS.turns_looked_at} iterations there is no solution yet, and {text}{more}",
                 UnderResolved)


def look_at_turns(phase, solution):
    """Warn of controls that are as large as elements see, which more of them would let grow."""
    if not phase.limits_itself.any():
        return
    most = most_of_controls(phase, TimeMesh(solution.t), solution.element.degree)
    largest = np.abs(solution.fields["controls"]).max(axis=(0, 1))
    for i in np.flatnonzero(largest >= OPTIONS.turn_reached * most):
        warn(f"{phase.control_name(i)} has no bounds, and turns velocities as far as elements can resolve, by "
             f"{largest[i]:.3g}: take more elements, or give it bounds", UnderResolved)
