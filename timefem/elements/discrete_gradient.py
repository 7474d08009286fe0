"""Discrete gradients: what takes the place of a gradient so that a function changes exactly by its work."""

import casadi as ca


def discrete_gradient(f, x0, x1, direction=None):
    """Gonzalez' midpoint discrete gradient, Kinon & Betsch (71): `g . (x1 - x0) = f(x1) - f(x0)`.

    For a quadratic function it is the gradient at the midpoint.

    Parameters
    ----------
    f : callable
        SX (n,) -> SX scalar.
    x0, x1 : SX, shape (n,)
    direction : callable, optional
        `direction(middle, step)` is what the gradient at the midpoint is corrected along, SX (n,), a projection of the
        step x1 - x0 where the correction must leave something as it is; the step itself where none is given.

    Returns
    -------
    SX, shape (n,)
    """
    x = ca.SX.sym("x", x0.numel())
    value = ca.SX(f(x))
    hessian, gradient = ca.hessian(value, x)
    middle = (x0 + x1) / 2
    at_middle = ca.substitute(gradient, x, middle)
    if not ca.depends_on(hessian, x):
        return at_middle
    step = x1 - x0
    along = step if direction is None else direction(middle, step)
    square = ca.dot(along, step)
    # where nothing moves the correction is round-off; it is of third order in the step
    moves = square > 1e-14 * (ca.sumsqr(middle) + 1e-30)
    gap = f(x1) - f(x0) - ca.dot(at_middle, step)
    return at_middle + ca.if_else(moves, gap / ca.if_else(moves, square, 1), 0) * along


def gradient_at(f, x):
    """Gradient of `f` at the expression `x`, SX (n,)."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.gradient(ca.SX(f(symbol)), symbol), symbol, x)


def transposed_product(f, x, y):
    """(df/dx)^T y of a vector function `f` at the expression `x`."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.jtimes(f(symbol), symbol, y, True), symbol, x)
