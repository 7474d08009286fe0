"""Multipliers that keep the constraints at a state."""

import numpy as np
import scipy

from ...errors import InputError
from .redundant_rows import factored, redundant_constraints


def multipliers_at(system, t, z):
    """Multipliers of Theta, and of the pairs (A qdot + a, its rate) of nonholonomic constraints.

    For which d/dt Theta = 0; see `System.consistent_multipliers`.
    """
    if not system.n_multipliers + system.n_nonholonomic:
        return np.zeros(0)
    grad, jac, rate = system.derivatives(t, z)
    if system.n_nonholonomic:
        a, derivative, drift, drift_rate = system.nonholonomic_derivatives(t, z)
        none = scipy.sparse.csr_array((system.n_nonholonomic, system.n_q))
        jac = scipy.sparse.vstack([jac, scipy.sparse.hstack([a, none]), derivative], format="csr")
        rate = np.concatenate([rate, drift, drift_rate])
    n = system.n_q
    jac_j = scipy.sparse.hstack([-jac[:, n:], jac[:, :n]])  # grad Theta J
    size = np.sqrt(jac.multiply(jac).sum(axis=1))
    scale = scipy.sparse.diags_array(1 / np.where(size > 0, size, 1.0))
    matrix = scipy.sparse.csc_matrix(scale @ jac_j @ jac.T @ scale)
    solve, inverse = factored(matrix)
    if not abs(matrix).sum(axis=0).max() * inverse < 1e12:
        names = redundant_constraints(system, t, z)
        if not names:
            raise InputError("the constraints are nearly redundant at the initial state: move the mechanism away "
                             "from the singular position" +
                             ", or remove nonholonomic constraints that repeat others" * bool(system.n_nonholonomic))
        shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
        raise InputError(f"the constraints are redundant at the initial state: {shown} can be left out, because "
                         "other constraints imply them; do so, or give System(..., redundant='drop')")
    return scale @ solve(-(scale @ (jac_j @ grad + rate)))
