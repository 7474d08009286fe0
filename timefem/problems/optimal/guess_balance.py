"""Controls and joint forces that hold a system still along a path: static balance."""

import numpy as np

from ...errors import InputError
from ...mechanics.values.equations_of_motion import EquationsOfMotion

SAMPLES = 9  # along the path; between them balance is interpolated
INSIDE = 0.1  # of the range between bounds, that controls keep from them


def balance(system, bounds, times, states):
    """Controls and configuration multipliers that leave the least acceleration at rest.

    `M a = Q + B u - G^T gamma` with |a| as small as the controls, within their bounds, can make it, and then as little
    off the middle of bounds, or off zero.

    Parameters
    ----------
    system : System
    bounds : ndarray, shape (2, n_controls)
        Lower and upper ones; infinite where there are none.
    times : ndarray, shape (n,)
        Increasing [s].
    states : ndarray, shape (n, n_z)

    Returns
    -------
    times, controls, multipliers : ndarray, shapes (k,), (k, n_controls), (k, n_constraints)
        At some of these times; as without loads where accelerations are not determined.
    """
    middle, lower, upper = range_inside(bounds)
    places = np.unique(np.linspace(0, len(times) - 1, SAMPLES).astype(int))
    controls = np.tile(middle, (len(places), 1))
    multipliers = np.zeros((len(places), system.n_constraints))
    for i, place in enumerate(places):
        q = states[place, :system.n_q]
        still = np.zeros(system.n_q)
        try:
            at = EquationsOfMotion(system, float(times[place]), q, still, middle)
            controls[i] = np.clip(at.balance(), lower, upper)
            multipliers[i] = at.multipliers_with(controls[i])[:system.n_constraints]
        except (InputError, np.linalg.LinAlgError, ValueError):
            continue
    fine = np.isfinite(controls).all(axis=1) & np.isfinite(multipliers).all(axis=1)
    return times[places], np.where(fine[:, None], controls, middle), np.where(fine[:, None], multipliers, 0.0)


def range_inside(bounds):
    """The middle of bounds (2, n_controls), zero where there are none, and the range that keeps from them."""
    bounded = np.isfinite(bounds).all(axis=0)
    # controls that nothing asks for stand in the middle of their bounds, and none at a bound
    middle = np.where(bounded, bounds, 0.0).sum(axis=0) / 2
    inset = np.where(bounded, INSIDE * np.ptp(np.where(bounded, bounds, 0.0), axis=0), 0.0)
    return middle, bounds[0] + inset, bounds[1] - inset
