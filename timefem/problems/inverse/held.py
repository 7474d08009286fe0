"""Systems held at rest by controls that keep the outputs where they are to be."""

import numpy as np

from ...errors import InputError
from ..static.equations import StaticEquations
from ..static.equilibrium import newton


def held_at_rest(problem, times):
    """Coordinates and forces of equilibria with the outputs where they are to be, shapes (n, n_q), (n, n_forces)."""
    equations, n = StaticEquations(problem.inversion.system), problem.system.n_q
    x, found = np.append(problem.start[:n], problem.inversion.forces(times[0], problem.start)), []
    for t in times:
        rest = newton(equations, x, t)
        x = np.append(rest.q, rest.multipliers) if rest.success else x
        found.append(x)
    return np.split(np.array(found), [n], axis=1)


def at_rest(problem, t, z, where):
    """The equilibrium near a state, with the outputs on their trajectories and held by the controls.

    Raises
    ------
    InputError
        When there is none near, or an output moves; names it, and the end `where`.
    """
    servo, n = problem.inversion.system, problem.system.n_q
    z = np.append(problem.fitted(t, z, where)[:n], np.zeros(n))
    moving = np.flatnonzero(servo.derivatives(t, z)[2][problem.inversion.n_forces:servo.n_constraints])
    if len(moving):
        raise InputError(f"the trajectory of {problem.outputs[moving[0]][0]!r} moves at the {where}; outputs that are "
                         "kept as constraints begin and end at rest: let the time span begin earlier, or end later")
    found = newton(StaticEquations(servo), np.append(z[:n], problem.inversion.forces(t, z)), t)
    if not found.success:
        raise InputError(f"no equilibrium was found at the {where} that the controls hold: {found.status.message}")
    return np.append(found.q, np.zeros(n))
