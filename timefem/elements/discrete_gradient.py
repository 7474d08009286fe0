"""Discrete gradients: what takes the place of a gradient so that a function changes exactly by its work."""

import casadi as ca

ROUND_OFF = 1e-14  # of the square of a step, relative


def discrete_gradient(f, x0, x1, along=None):
    """Gonzalez' midpoint discrete gradient, Kinon & Betsch (71): `g . (x1 - x0) = f(x1) - f(x0)`.

    For a quadratic function it is the gradient at the midpoint.

    Parameters
    ----------
    f : callable
        SX (n,) -> SX scalar.
    x0, x1 : SX, shape (n,)
    along : callable, optional
        `along(middle, step)`, SX (n,), is what the gradient at the midpoint is corrected along, in the units of a
        gradient: the step x1 - x0 times a mass matrix, less what the correction must leave as it is. The step itself
        where none is given, for components of one unit.

    Returns
    -------
    SX, shape (n,)
    """
    x = ca.SX.sym("x", x0.numel())
    value = ca.SX(f(x))
    hessian, gradient = ca.hessian(value, x)
    middle, step = (x0 + x1) / 2, x1 - x0
    at_middle = ca.substitute(gradient, x, middle)
    if not ca.depends_on(hessian, x):
        return at_middle
    direction, size = (step, ca.sumsqr(middle)) if along is None else (along(middle, step), along.size(middle))
    square = ca.dot(direction, step)
    # where nothing moves the correction is round-off; it is of third order in the step
    moves = square > ROUND_OFF * size
    gap = f(x1) - f(x0) - ca.dot(at_middle, step)
    return at_middle + ca.if_else(moves, gap / ca.if_else(moves, square, 1), 0) * direction


def gradient_at(f, x):
    """Gradient of `f` at the expression `x`, SX (n,)."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.gradient(ca.SX(f(symbol)), symbol), symbol, x)


def transposed_product(f, x, y):
    """(df/dx)^T y of a vector function `f` at the expression `x`."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.jtimes(f(symbol), symbol, y, True), symbol, x)
