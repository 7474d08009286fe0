"""Costates from multipliers of continuous test functions (`docs/theory/control.md`)."""

import numpy as np

from ..polynomials import LagrangeBasis, gauss_legendre
from .options import OPTIONS

FIELD = "costate of state"


def costates_of(sol):
    """Nodal values, shape (n_e, n_shapes, n_z), and basis of the costates of a solution of optimal control."""
    sol.field(FIELD, sol.t[:1])  # refuses solutions that have none
    multipliers, space = sol.fields[FIELD], sol.element.trial[FIELD]
    if not space.continuous:
        return multipliers, space.basis
    nodes = recovered(sol.t, space.basis, multipliers)
    return np.stack([nodes[:-1], nodes[1:]], axis=1), LagrangeBasis(1)


def recovered(t, basis, multipliers):
    """Costates at the ends of the elements, of second order.

    Multipliers of degree k carry a wave `(-1)^(k e) c P_k` that does not fall with the length of elements, since they
    are zero at the end where tests are left out. It vanishes at the k Gauss points; of what it leaves in the others, of
    first order and of opposite sign on both sides of a node, the mean over both sides is free.

    Parameters
    ----------
    t : ndarray, shape (n_e + 1,)
    basis : LagrangeBasis
        Of the multipliers, degree k.
    multipliers : ndarray, shape (n_e, k + 1, n)

    Returns
    -------
    ndarray, shape (n_e + 1, n)
    """
    k = basis.n_shapes - 1
    xi, _ = gauss_legendre(k)
    to_ends = np.vander([0.0, 1.0], k, increasing=True) @ np.linalg.inv(np.vander(xi, k, increasing=True))
    left, right = np.einsum("sg,gi,eia->sea", to_ends, basis.values(xi), multipliers)
    out = np.concatenate([left[:1], (right[:-1] + left[1:]) / 2, right[-1:]])
    inside, values = t[1:-1], out[1:-1].copy()
    for end, nearest in ((0, slice(OPTIONS.costate_ends)), (-1, slice(-OPTIONS.costate_ends, None))):
        if len(inside) > 1:
            powers = np.vander((inside[nearest] - t[end]) / (t[-1] - t[0]), increasing=True)
            out[end] = np.linalg.solve(powers, values[nearest])[0]
    return out
