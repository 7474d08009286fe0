"""Increments of rigid bodies: displacement and Rodrigues parameters, see `RigidBodyBase.moved`; in symbols."""

import casadi as ca


def half(u):
    """The increment u (6,) of a rigid body half way: half the displacement, half the angle."""
    return ca.vertcat(u[:3] / 2, u[3:] / (1 + ca.sqrt(1 + ca.sumsqr(u[3:]) / 4)))


def rotation_vector(u):
    """Angle times axis of Rodrigues parameters u (3,)."""
    square = ca.sumsqr(u) / 4
    small = square < 1e-6
    r = ca.sqrt(ca.if_else(small, 1, square))
    return u * ca.if_else(small, 1 - square / 3 + square**2 / 5, ca.atan(r) / r)
