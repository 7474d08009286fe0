"""Initial guesses for windows and global solves."""

from functools import lru_cache

import numpy as np

from .. import validate
from ..assembly import TimeMesh
from ..elements import ElementPlan, MixedGalerkin
from ..errors import InputError, SolveError
from .march import march_problem
from .newton import Newton

RELATIVE_STEP = 0.02  # relative change of the state per step of the march: Newton needs a guess this good
MOST_SUBSTEPS = 16
GUESSES = ("mg1", "constant")
_ROUGH = Newton(tol_residual=1e-10, tol_increment=1e-5)


def initial_guess(guess, system, element, mesh, z0):
    """Nodal values to start Newton's method from.

    Parameters
    ----------
    guess : {"mg1", "constant"}, callable or ndarray
        An mG(1) march, the initial state everywhere, a function `t -> z` for an array of times (shape (n,) ->
        (n, n_z)), or nodal states of shape (degree n_elements + 1, n_z).
    system : System
    element : TimeElement
    mesh : TimeMesh
    z0 : ndarray, shape (n_z,)
        State at the start of the mesh.

    Returns
    -------
    state, multipliers : ndarray, shapes (n_elements, n_shapes, n_z), (n_elements, n, n_multipliers)

    Raises
    ------
    SolveError
        When the march fails.
    """
    times = mesh.points(element.state.basis)
    multiplier_times = mesh.points(element.multiplier.basis)
    if isinstance(guess, str):
        validate.choice("guess", guess, GUESSES)
        if guess == "mg1":
            return _march_guess(system, mesh, z0, times, multiplier_times)
        state = np.broadcast_to(z0, (*times.shape, system.n_z))
    elif callable(guess):
        state = np.asarray(guess(times.ravel()), float).reshape(*times.shape, system.n_z)
    else:
        nodes = validate.array("guess", guess, (element.degree * mesh.n_elements + 1, system.n_z))
        state = nodes[element.degree * np.arange(mesh.n_elements)[:, None] + np.arange(element.degree + 1)]
    if not np.all(np.isfinite(state)):
        raise InputError("guess must be finite")
    multipliers = system.consistent_multipliers(mesh.nodes[0], z0)
    return state, np.broadcast_to(multipliers, (*multiplier_times.shape, system.n_multipliers))


def _march_guess(system, mesh, z0, times, multiplier_times):
    nodes = np.append(times[:, :-1], times[-1, -1])
    change = _relative_rate(system, mesh.nodes[0], z0) * np.diff(nodes).max()
    substeps = int(np.clip(np.ceil(change / RELATIVE_STEP), 1, MOST_SUBSTEPS))
    fine = np.append((nodes[:-1, None] + np.diff(nodes)[:, None] * np.arange(substeps) / substeps).ravel(), nodes[-1])
    plan = _coarse_plan(system)
    x, _, status, _ = march_problem(system, plan, TimeMesh(fine), mesh.nodes[0], z0, _ROUGH)
    if not status.success:
        raise SolveError(f"the mG(1) march failed: {status.message}")
    state, multipliers = plan.columns.unpack(x)
    state = np.concatenate([state[:, 0], state[-1:, 1]])[::substeps]
    k = times.shape[1] - 1
    state = state[k * np.arange(mesh.n_elements)[:, None] + np.arange(k + 1)]
    middles = (fine[1:] + fine[:-1]) / 2
    multipliers = [np.interp(multiplier_times, middles, component) for component in multipliers[:, 0].T]
    return state, np.stack(multipliers, axis=-1) if multipliers else np.zeros((*multiplier_times.shape, 0))


@lru_cache(maxsize=1)
def _coarse_plan(system):
    """Plan of the guess; the windows of a solve share it."""
    return ElementPlan(system, MixedGalerkin(1))


def _relative_rate(system, t, z):
    """Size of zdot over size of z, mass-weighted [1/s]."""
    gradient, jacobian, _ = system.derivatives(t, z)
    gradient = gradient + jacobian.T @ system.consistent_multipliers(t, z)
    n = system.n_q
    root = np.sqrt(system.mass_scale)
    size = np.concatenate([root, 1 / root])
    rate = np.concatenate([gradient[n:], -gradient[:n]]) * size
    return np.abs(rate).max() / (np.abs(z * size).max() or 1.0)
