"""A place that no coincidence singles out: what formulas are there, such as singular, they are everywhere."""

import numpy as np


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
