"""A state of rest near a given one, also where rest leaves motions free."""

import numpy as np

from ..errors import SolveError
from ..mechanics.bodies.states import CanonicalState
from ..mechanics.values.equations_of_motion import EquationsOfMotion, put_efforts
from .chart import moving
from .nearby import moved
from .options import OPTIONS
from .reduction import Reduction


def settle(system, state, t=0.0):
    """Where a system comes to rest from a state, its velocities left out.

    Pseudo-transient continuation: implicit Euler steps of `ydot = a(y)`, a the accelerations from rest in minimal
    coordinates, that grow as a falls; in the end they are those of Newton's method. Motions that nothing opposes stay
    where they are.

    Parameters
    ----------
    system : System
        Without nonholonomic constraints that prescribe a velocity, and without redundant constraints.
    state : dict
        Body -> `CanonicalState`, consistent.
    t : float
        Time of the loads [s].

    Returns
    -------
    dict
        Body -> `CanonicalState`.

    Raises
    ------
    SolveError
        When it does not come to rest.
    """
    q = np.zeros(system.n_q)
    _put(system, q, state)
    at, step = _rest(system, t, q), None
    for _ in range(OPTIONS.rest_iterations):
        reduction = Reduction(at, turning=False)
        y, s = reduction.chosen
        rows = reduction.chart.y[y]
        acceleration = rows @ at.acceleration
        norm = np.linalg.norm(np.sqrt(np.abs(np.diag(reduction.mass))) * (reduction.chart.y @ at.acceleration))
        if norm <= OPTIONS.at_rest * at.size or not norm:
            return {b: CanonicalState(at.q[system.coordinates(b)], np.zeros(b.n_q)) for b in moving(system)}
        stiffness = -(rows @ at.tangent(reduction.dq[:, :len(y)], np.zeros_like(reduction.dq[:, :len(y)]))[0])
        if step is None:
            step, last = 1 / (np.linalg.norm(stiffness, 2) or 1.0), norm
        step, last = step * np.clip(last / norm, 0.2, 10.0), norm
        # an unstable direction must not be followed to where it is at rest
        shift = max(1 / step, -1.5 * np.linalg.eigvals(stiffness).real.min(initial=0))
        change = np.linalg.solve(stiffness + shift * np.eye(len(y)), acceleration)
        x = np.concatenate([change, np.zeros(len(s))])
        size = np.abs(reduction.displacements @ x).max()
        moved_to = moved(reduction, x * min(1.0, OPTIONS.rest_step / size))
        q = at.q.copy()
        _put(system, q, moved_to)
        at = _rest(system, t, q)
    raise SolveError(f"the system does not come to rest near this state: after {OPTIONS.rest_iterations} iterations "
                     f"its acceleration is {norm / at.size:.1e} of those of single forces; give a state nearer to rest")


def _put(system, q, states):
    for body in moving(system):
        q[system.coordinates(body)] = states[body].q


def _rest(system, t, q):
    u = np.zeros(sum(p.n_controls for p in system.parts))
    v = np.zeros_like(q)
    put_efforts(system, q, v)
    return EquationsOfMotion(system, t, q, v, u)
