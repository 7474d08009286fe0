"""First derivatives of a system at many states, as dense arrays."""

import numpy as np

from .one_state import at_one_state
from .point_functions import evaluate


def dense_derivatives(system, t, z):
    """As `System.derivatives`, at many states; Theta of trees at fixed velocities.

    Parameters
    ----------
    system : System
    t, z : ndarray, shapes (n,), (n, n_z)

    Returns
    -------
    gradient : ndarray, shape (n, n_z)
        grad H - (Q, 0).
    jacobian, rate, theta : ndarray, shapes (n, 2 m, n_z), (n, 2 m), (n, 2 m)
        Of Theta, its partial time derivative, and Theta itself.
    """
    n = len(z)
    gradient = np.zeros((n, system.n_z))
    jacobian = np.zeros((n, system.n_multipliers, system.n_z))
    rate, theta = np.zeros((2, n, system.n_multipliers))
    for group, functions, local in system.local_states(t, z):
        index, rows = group.state_index, group.multiplier_index
        values = evaluate(functions["derivatives"], local, t, group.parameters)
        width, m = index.shape[1], rows.shape[1]
        if len(index) == 1:
            gradient[:, index[0]] += values[:, 0, :width]
        else:
            np.add.at(gradient, (slice(None), index), values[:, :, :width])
        if m:
            blocks = values[:, :, width:width + width * m].reshape(n, len(index), width, m)  # column by column
            jacobian[:, rows[:, :, None], index[:, None, :]] = blocks.swapaxes(2, 3)
            rate[:, rows] = values[:, :, width + width * m:width + width * m + m]
            theta[:, rows] = values[:, :, width + width * m + m:]
    return gradient, jacobian, rate, theta


def constraints_at(system, t, z):
    """Constraints on both levels at one state, shape (2 m,), and their Jacobian, (2 m, n_z)."""
    here = at_one_state(system, t, z)
    if here:
        return here.theta.copy(), here.jacobian.copy()
    return system.constraints(t, z), system.derivatives(t, z)[1].toarray()


def constraints_and_derivatives(system, t, z):
    """Constraints on both levels at one state, their Jacobian, and their partial time derivative.

    The Jacobian is sparse unless the system is small, where NumPy is faster, and SciPy's sparse matrices take 0.05 s to
    import.
    """
    if here := at_one_state(system, t, z):
        return here.theta.copy(), here.jacobian.copy(), here.rate.copy()
    return system.constraints(t, z), *system.derivatives(t, z)[1:]


def constraint_sizes(system, t, z):
    """Size of the terms that make up each constraint, on both levels, at one state, shape (2 m,); at least one."""
    here = at_one_state(system, t, z)
    return here.size.copy() if here else np.maximum(1.0, abs(system.derivatives(t, z)[1]) @ np.abs(z))


def surely_fine(system, t, q, tolerance):
    """Whether all parts are finite at coordinates (n_q,) and rest, and these hold the constraints, relative to the size
    of their terms; False where that takes a closer look."""
    here = at_one_state(system, t, np.concatenate([q, np.zeros(len(q))]))
    return here is not None and here.fine(tolerance)


def positions_hold(system, t, q, tolerance):
    """Whether coordinates (n_q,) hold the constraints, relative to the size of the terms that make them up."""
    m, z = system.n_constraints, np.append(q, np.zeros(system.n_q))
    theta = constraints_at(system, t, z)[0]
    return bool(np.all(np.abs(theta[:m]) <= tolerance * constraint_sizes(system, t, z)[:m]))
