"""The kinetic energy by a mass matrix that is factored in symbols; places in general position."""

import casadi as ca
import numpy as np


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


# ---- A place that no coincidence singles out: what formulas are there, such as singular, they are everywhere

def general_position(*shape: int) -> np.ndarray:
    """Numbers from 0.1 to 1, of which no polynomial with rational coefficients takes the sines and cosines to zero.

    Roots of primes, taken between 0 and 1, are linearly independent over the rationals, also of 1. By the theorem of
    Lindemann and Weierstrass their exponentials are then algebraically independent. The determinant of a mass matrix is
    such a polynomial in the sines and cosines of joints' angles: where it vanishes here, it vanishes everywhere.
    """
    n = int(np.prod(shape))
    roots = np.sqrt(_primes(n))
    return (0.1 + 0.9 * (roots - np.floor(roots))).reshape(shape)  # away from zero, where users like to put things


def _primes(n):
    """The first ones, by the sieve of Eratosthenes."""
    most = int(n * (np.log(n + 2) + np.log(np.log(n + 3)))) + 12  # above the n-th one (Rosser)
    prime = np.ones(most, bool)
    prime[:2] = False
    for i in range(2, int(most**0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return np.flatnonzero(prime)[:n]
