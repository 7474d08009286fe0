"""Whether elements resolve the motion that the controls of a solution make, and its cost, on finer elements."""

import numpy as np

from ....errors import UnderResolved, warn
from ....memory import Late
from ..options import OPTIONS
from ..transcription.sizes import has_contacts

controls_marched = Late("timefem.problems.controls_marched")

REMEDY = "take more elements, or a tolerance; sol.simulate() marches the controls"


def look_at_replay(phase, solution):
    """Warn of an element that misses the motion of its own controls, and of a cost that is another one between the
    points of the elements: where controls or forces vary within elements, which points do not see.

    Contacts are left out, whose forces are controls that would act where nothing touches.
    """
    if has_contacts(phase) or not phase.n_controls or len(solution.t) > OPTIONS.replayed_elements:
        return
    again = controls_marched.Replay(phase, solution, (0, OPTIONS.replayed_share))
    defects, told, cost = again.defects(), solution.statistics["objective"], again.objective
    worst = int(np.argmax(defects))
    if OPTIONS.unresolved < defects[worst] < np.inf:
        warn(f"element {worst}, at t = {solution.t[worst]:.6g}, misses the motion that its controls make by "
             f"{defects[worst]:.2g} of its size: {REMEDY}", UnderResolved)
    elif abs(cost - told) > max(OPTIONS.unresolved * max(abs(cost), abs(told)),
                                OPTIONS.unresolved_cost * again.size_of_objective):
        warn(f"the cost is {told:.6g} by the points of the elements, and {cost:.6g} by those of finer ones: what it "
             f"depends on varies within elements; {REMEDY}", UnderResolved)
