"""Discrete gradients: what takes the place of a gradient so that a function changes exactly by its work."""

import casadi as ca


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
    moves = square > 1e-14 * size
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


class MassMetric:
    """What discrete gradients of a part are corrected along: `M (q1 - q0)`, with the mass matrix M of its bodies.

    Where rigid motions of space leave the part as it is, the nearest of these is taken off the step first: then the
    correction has none of the momenta of those motions. Coordinates of bodies without a regular
    mass of their own count as they are.

    Parameters
    ----------
    part : Part
    at : Symbols
        Its mechanical symbols.
    split : callable
        Coordinates of the part -> those of each body that carries it.
    """

    def __init__(self, part, at, split):
        self.bodies, self.split = part.frames, split
        given = part.bodies if part.bodies == part.frames else ()
        self.numbers = at.bodies if given else [None] * len(self.bodies)
        self._symmetry = part.symmetry(at)

    def momentum(self, q, v):
        """M(q) v, SX."""
        return ca.vertcat(*(_momentum(*of_body) for of_body in zip(
            self.bodies, self.numbers, self.split(q), self.split(v), strict=True)))

    def size(self, q):
        """q.M q, to compare steps with."""
        return ca.dot(q, self.momentum(q, q))

    def __call__(self, middle, step):
        return self.momentum(middle, step - self._rigid_motion(middle, step))

    def _rigid_motion(self, q, step):
        """What of a step is a rigid motion that the part does not see: the one whose rest has none of its momenta."""
        rates = [body.rigid_motion(x) for body, x in zip(self.bodies, self.split(q), strict=True)]
        if not self._symmetry.numel() or any(rate is None for rate in rates):
            return ca.SX(step.numel(), 1)
        motions = ca.vertcat(*rates) @ self._symmetry
        momenta = ca.horzcat(*(self.momentum(q, column) for column in ca.horzsplit(motions)))
        return motions @ _solved(motions.T @ momenta, momenta.T @ step)


def _momentum(body, c, q, v):
    if c is None or not body.has_inverse_mass:
        return v
    x = ca.SX.sym("v", v.numel())
    return ca.substitute(ca.gradient(ca.SX(body.kinetic_of_velocity(q, x, c)), x), x, ca.densify(v))


def _solved(matrix, right):
    """Solution of an equation with a symmetric matrix (3, 3) or (6, 6)."""
    if matrix.shape[0] == 3:
        return ca.inv(matrix) @ right
    a, b, c = matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:]
    by_a = ca.inv(a) @ ca.horzcat(b, right[:3])
    turning = ca.inv(c - b.T @ by_a[:, :3]) @ (right[3:] - b.T @ by_a[:, 3])
    return ca.vertcat(by_a[:, 3] - by_a[:, :3] @ turning, turning)
