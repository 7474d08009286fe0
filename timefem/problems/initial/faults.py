"""What is wrong with a state at the start."""

import numpy as np

from ...mechanics.values.at_start import at_start
from ...mechanics.values.of_parts import not_finite
from .options import OPTIONS

ASSEMBLED = ", or those of tf.assemble(system, state); assemble=True of an InitialValueProblem does the same"


def fault(system, t, z, tolerance=OPTIONS.held):
    """What is wrong with a state, in words, or None.

    That a part is not finite there, that a constraint has no direction, or that one is violated, on configuration or
    velocity level.

    Parameters
    ----------
    system : System
    t : float
    z : ndarray, shape (n_z,)
    tolerance : float

    Returns
    -------
    str or None
    """
    if at_start(system, t, z).fine(tolerance) and not system.n_nonholonomic:
        return None
    for part in not_finite(system, t, z):
        if not getattr(part, "is_affine", True):  # of controls that are not zero
            continue
        return (f"{system.label(part)} is not finite at the initial state, t = {t:g}: "
                "set points apart that coincide, or mend its formula")
    return _of_constraints(system, t, z, tolerance) or _of_nonholonomic(system, t, z, tolerance)


def _of_constraints(system, t, z, tolerance):
    theta = system.constraints(t, z)
    _, jacobian, _ = system.derivatives(t, z)
    # a violation counts against the size of the terms that make up the constraint
    size = np.maximum(1.0, abs(jacobian) @ np.abs(z))
    worst = np.argmax(np.abs(theta) / size) if len(theta) else None
    if worst is None or abs(theta[worst]) <= tolerance * size[worst]:
        return None
    names, m = system.constraint_names, system.n_constraints
    if not abs(jacobian[[worst % m], :system.n_q]).sum():
        return (f"the constraint '{names[worst % m]}' has no direction at the initial state, where its "
                "points coincide; set them apart, or use a Spherical joint")
    level = "configuration" if worst < len(names) else "velocity"
    what = "position and orientation" if level == "configuration" else "velocities (momenta)"
    return (f"the initial state violates the constraint '{names[worst % len(names)]}' on {level} level "
            f"by {abs(theta[worst]):.3g}; give {what} that satisfy it{ASSEMBLED}")


def _of_nonholonomic(system, t, z, tolerance):
    if not system.n_nonholonomic:
        return None
    form = system.nonholonomic(t, z)
    _, jacobian, _, _ = system.nonholonomic_derivatives(t, z)
    size = np.maximum(1.0, abs(jacobian) @ np.abs(z))
    worst = np.argmax(np.abs(form) / size)
    if abs(form[worst]) <= tolerance * size[worst]:
        return None
    return (f"the initial state violates the nonholonomic constraint '{system.nonholonomic_names[worst]}' by "
            f"{abs(form[worst]):.3g}; give velocities (momenta) that satisfy it{ASSEMBLED}")
