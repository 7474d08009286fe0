"""Quaternions in CasADi symbols, scalar first."""

import casadi as ca


def product(a, b):
    """Quaternion product a o b, SX (4,)."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


def exponential(u):
    """exp(0, u), SX (4,): the rotation by the angle 2 |u| about u; smooth at u = 0."""
    square = ca.sumsqr(u)
    small = square < 1e-2  # there the series up to |u|^10 are exact to rounding
    angle = ca.sqrt(ca.if_else(small, 1, square))
    cosine, sine = _series(square, 0), _series(square, 1)
    return ca.vertcat(ca.if_else(small, cosine, ca.cos(angle)), ca.if_else(small, sine, ca.sin(angle) / angle) * u)


def _series(square, first):
    """cos x (first = 0) or sin(x) / x (first = 1) as a polynomial in x^2, by Horner."""
    value = 1
    for n in (10, 8, 6, 4, 2):
        value = 1 - square / ((n + first) * (n + first - 1)) * value
    return value
