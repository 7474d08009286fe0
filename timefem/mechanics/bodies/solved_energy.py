"""The kinetic energy of momenta by a mass matrix that is factored in symbols."""

import casadi as ca


def solved_energy(mass, p, order):
    """`1/2 p.M^-1 p = 1/2 |D^-1/2 L^-1 p|^2` with `M = L D L^T`, SX scalar; zeros of M that elimination keeps stay.

    Parameters
    ----------
    mass : SX, shape (n, n)
        M, positive definite, so that no pivots are needed; symmetric, whole.
    p : SX, shape (n,)
    order : iterable of int
        Columns in the order in which they are eliminated.
    """
    m, y, energy, order = ca.SX(mass), ca.vertsplit(p), 0, list(order)
    for k, j in enumerate(order):
        energy += y[j] ** 2 / m[j, j] / 2
        left = sorted(i for i in order[k + 1:] if not m[i, j].is_zero())
        for i in left:
            factor = m[i, j] / m[j, j]
            y[i] -= factor * y[j]
            for l in left:
                if l <= i:
                    m[i, l] -= factor * m[l, j]
                    m[l, i] = m[i, l]
    return energy
