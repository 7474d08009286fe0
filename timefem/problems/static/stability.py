"""What equilibria warn of: those that motions leave, and drives whose motion would decide which there are."""

import numpy as np
import scipy

from ...errors import Unstable, warn
from ...solution.motion_checks import by_radian
from ...sparse import ROUNDING, eigen
from .equations import StaticEquations, moved_most
from .options import OPTIONS


def warn_where_driven(found):
    """Warn of drives that turn something, where forces of inertia by that are no small part of what resists: the square
    of the rate beside that of the slowest vibration."""
    system, t = found.system, found.t
    state = np.append(vars(found)["q"], np.zeros(system.n_q))
    rates = np.abs(system.derivatives(t, state)[2][:system.n_constraints])
    if not rates.any():
        return
    rates /= by_radian(system, t, state)
    stiffness = _free(found)[1]
    slowest = np.linalg.eigvalsh((stiffness + stiffness.T) / 2).min(initial=np.inf)
    drive = rates.argmax()
    if rates[drive] ** 2 > OPTIONS.driven * slowest:
        warn(f"'{system.constraint_names[drive]}' turns at {rates[drive]:.3g} rad/s at t = {t:g}, and stands still in "
             "this equilibrium: forces of inertia by its motion are left out. What turns steadily is at rest with the "
             "drive held, and the energy of centrifugal forces: see 'Steady turning' in docs/how-to/analysis.md. With "
             "n_steps what is prescribed is a load that is raised")


def _free(found):
    """Motions that the constraints leave free, as columns in coordinates, by unit of mass; and what resists them."""
    equations, system = StaticEquations(found.system), found.system
    root, n_q = system.mass_scale**-0.5, system.n_q
    matrix = found.tangent.toarray()
    gradient = matrix[n_q:, :n_q] * root
    free = root[:, None] * (scipy.linalg.null_space(gradient) if equations.m else np.eye(n_q))
    return free, free.T @ matrix[:n_q, :n_q] @ free


def warn_where_unstable(found):
    """Warn of an equilibrium that motions leave, and name what goes furthest along the fastest of them.

    Where all forces have a potential these are as many as directions in which the energy falls. Others, such as moments
    that stay along an axis of space, may hold what falls, or not: motions of `M a + K q = 0` on the constraints tell.
    """
    if found.n_unstable > 0:
        equations, system = StaticEquations(found.system), found.system
        free, stiffness = _free(found)
        if np.abs(stiffness - stiffness.T).max() <= OPTIONS.increment * np.abs(stiffness).max():
            n, (values, vectors) = found.n_unstable, np.linalg.eigh(stiffness)
        else:
            mass = system.mass_matrix(found.t, np.append(vars(found)["q"], np.zeros(system.n_q)))
            values, errors, vectors = eigen(stiffness, np.abs(stiffness), ROUNDING, free.T @ (mass @ free))
            values = np.where((values.real < -errors) & np.isfinite(values), values.real, np.inf)
            n = np.count_nonzero(values < 0)
        if not n:
            return
        first = values.argmin()
        falls = system.label(moved_most(equations, np.abs(free @ vectors[:, first])))
        warn(f"the equilibrium is unstable in {n} direction{'s' * (n > 1)}, {falls} first: the least push leaves it; "
             "for a stable one give a guess beside it, on the side to which it would fall, or the end of a motion with "
             "dampers that comes to rest", Unstable)
