"""Forces and torques that parts exert on bodies, in space axes."""

import casadi as ca
import numpy as np

from .symbols import Symbols, applied_force, n_reactions
from .work import n_seen

_WRENCHES = {}


def generalized_forces(part, t, state, gamma, rolling, controls):
    """Generalized forces of a part on each of its bodies.

    `Q = -grad V + Q_applied + B u - Phi_q^T gamma - A^T gamma_n` with the multipliers of its constraints.

    Parameters
    ----------
    part : Part
    t : ndarray, shape (n,)
    state : tuple of ndarray, shapes (n, n_q_local)
        Local coordinates, momenta and velocities.
    gamma, rolling, controls : ndarray, shapes (n, m), (n, n_nonholonomic), (n, n_controls)
        The first of its own constraints, then of those of `reactions_of`.

    Returns
    -------
    ndarray, shape (n, n_q_local)
    """
    symbols = s, w, form, u = _symbols(part)
    name = ("force", part.kind)
    if name not in _WRENCHES:
        phi, q = part.constraints(s), ca.vertcat(*s.q)
        force = applied_force(part, s, u) - ca.gradient(ca.SX(part.potential_energy(s)), q)
        force -= ca.jtimes(phi, q, w[:phi.numel(), 0], True)
        further = part.multiplier_force(s, w)
        force = force if further is None else force + further
        if form.numel():
            force -= part.pfaffian(s)[0].T @ form
        _WRENCHES[name] = _function(symbols, force)
    return _values(_WRENCHES[name], part, t, state, gamma, rolling, controls)


def wrench(part, t, q, force, i):
    """Force and torque about the centre of mass of its body `i`, of generalized forces on it; (n, n_q) -> two (n, 3).

    The work of both is that of Q: `Q.qdot = F.v + m.omega`.
    """
    body = part.bodies[i]
    name = ("wrench", body.kind)
    if name not in _WRENCHES:
        x, y = ca.SX.sym("q", body.n_q), ca.SX.sym("Q", body.n_q)
        _WRENCHES[name] = ca.Function("wrench", [x, y], [ca.densify(ca.vertcat(*wrench_of(body, x, y)))])
    values = np.array(_WRENCHES[name].map(len(q))(q.T, force.T)).T if len(q) else np.zeros((0, 6))
    return values[:, :3], values[:, 3:]


def wrench_of(body, q, force):
    """Force and torque about the centre of mass of a body, of a generalized force on it: two SX (3,)."""
    free = body.null_space(q).T @ force
    place = ca.vertcat(free[:min(3, body.dimension)], ca.SX(3 - min(3, body.dimension), 1))
    return place, free[3:6] if body.has_orientation else ca.SX(3, 1)


def _symbols(part):
    s = Symbols(part)
    s.velocity = [ca.SX.sym("v", b.n_q) for b in part.bodies]
    gamma = ca.SX.sym("gamma", len(part.constraint_names) + n_reactions(part))
    return s, gamma, ca.SX.sym("rolling", len(part.nonholonomic_names)), ca.SX.sym("u", n_seen(part))


def _function(symbols, value):
    s, *others = symbols
    state = [ca.vertcat(*x) for x in (s.q, s.p, s.velocity)]
    return ca.Function("force", [*state, s.t, s.parameters, *others], [ca.densify(ca.SX(value))])


def _values(function, part, t, state, *others):
    n = len(t)
    if not n:
        return np.zeros((0, function.size1_out(0)))
    parameters = np.tile(part.parameters[:, None], n)
    return np.array(function.map(n)(*(x.T for x in state), t[None], parameters, *(x.T for x in others))).T
