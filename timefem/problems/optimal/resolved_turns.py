"""How large controls may be that turn velocities, where nothing else bounds them: elements see no more.

The push of a wire on a bead turns its velocity and does no work, so that a motion in least time needs no bound of it.
Within one element velocities that turn by more than a radian or two gain energy by the errors of the element alone.
"""

import warnings

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError, UnderResolved
from ...mechanics.values.equations_of_motion import EquationsOfMotion

TURN, REACHED = 1.0, 0.9  # rad per element and degree, and the share of that from which on it is told


def most_of_controls(phase, mesh, degree):
    """Largest controls in magnitude, shape (n_controls,); infinite where costs or bounds say enough."""
    most = np.full(phase.n_controls, np.inf)
    if not phase.limits_itself.any():
        return most
    system = phase.system
    q, scale, none = phase.z0[:system.n_q], np.sqrt(system.mass_scale), np.zeros(phase.n_controls)

    def by_controls(v):
        return scale[:, None] * EquationsOfMotion(system, phase.t_span[0], q, v, none).by_controls()

    try:
        still = by_controls(np.zeros(system.n_q))
        turns = np.array([by_controls(v) - still for v in np.diag(1 / scale)])  # (along, n_q, n_controls)
    except (InputError, np.linalg.LinAlgError):
        return most
    rates = np.linalg.norm(turns, ord=2, axis=(0, 1))
    least = TURN * degree / (mesh.lengths.max() * np.maximum(rates, 1e-300))
    return np.where(phase.limits_itself & (rates > 0), least, np.inf)


def look_at_turns(phase, solution):
    """Warn of controls that are as large as elements see, which more of them would let grow."""
    if not phase.limits_itself.any():
        return
    most = most_of_controls(phase, TimeMesh(solution.t), solution.element.degree)
    largest = np.abs(solution.fields["controls"]).max(axis=(0, 1))
    for i in np.flatnonzero(largest >= REACHED * most):
        warnings.warn(f"{phase.control_name(i)} has no bounds, and turns velocities as fast as elements see, by "
                      f"{largest[i]:.3g}: take more elements, or give it bounds", UnderResolved, stacklevel=8)
