"""Nonholonomic constraints in time elements."""

import casadi as ca
import numpy as np

from ..polynomials import gauss_legendre
from .components import components

AVERAGE_POINTS = 3  # exact for Pfaffians up to degree 5 in the coordinates; those of quaternions have at most 3


def nonholonomic_values(element, system, times, state):
    """Guess of the multipliers of nonholonomic constraints: consistent at the first state, shape (n_elements, n, m).

    Arguments as for `TimeElement.nodal_values`. Second multipliers, of rates, are zero, and so are all of systems whose
    mass matrix has no inverse in symbols.
    """
    if not system.n_nonholonomic:
        return np.zeros((len(state), 1, 0))
    space = element.trial["nonholonomic"]
    values = np.zeros((len(state), space.basis.n_shapes, components(system, [space.components])[space.components].size))
    if len(state) and system.has_inverse_mass and not any(body.velocity_by_solve for body in system.bodies):
        values[..., :system.n_nonholonomic] = system.consistent_nonholonomic(times[0, 0], state[0, 0])
    return values


def velocity_form(s, q, velocity, t):
    """`A(q, t) velocity + a(q, t)` of a part in one step, SX; `s` are `StepSymbols`."""
    return s._terms("velocity_form", q, velocity, t) if s.part.nonholonomic_names else ca.SX(0, 1)


def averaged(f, q0, q1):
    """Average vector field, Gebhardt & Romero (89), (93): the mean of `f` on the line from q0 to q1."""
    points, weights = gauss_legendre(AVERAGE_POINTS)
    return sum(w * f(q0 + x * (q1 - q0)) for x, w in zip(points.tolist(), weights.tolist(), strict=True))


def transposed_form(s, q, multipliers, t):
    """`A(q, t)^T multipliers` of a part in one step, SX."""
    if not multipliers.numel():
        return ca.SX(q.numel(), 1)
    velocity = ca.SX.sym("v", q.numel())
    return ca.jtimes(velocity_form(s, q, velocity, t), velocity, multipliers, True)
