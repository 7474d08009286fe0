"""Systems held at rest by controls that keep the outputs where they are to be."""

import numpy as np

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
