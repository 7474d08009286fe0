"""Eigenvalues of a linear motion, with those that are zero by its structure taken out exactly."""

import numpy as np
import scipy

ZERO = 3e-12  # singular values that are none, relative to the largest, of a balanced matrix: stiff parts reach far


def split_zeros(matrix, sizes=None):
    """The part of a matrix without its eigenvalue zero, whose Jordan blocks rounding would spread.

    A kernel is taken out, A is restricted to the rest, and so on (staircase): motions that nothing opposes, such as
    the place on a plane or the speed of a vehicle, make chains of zeros.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        Balanced.
    sizes : sequence of int, optional
        Dimensions of the kernels; default: what singular values tell.

    Returns
    -------
    rest : ndarray, shape (m, m)
    sizes : list of int
    basis : ndarray, shape (n, m)
        Orthonormal; `basis^T A basis = rest`.
    """
    rest, basis, found = np.array(matrix, float), np.eye(len(matrix)), []
    largest = np.linalg.norm(rest, 2) if len(rest) else 0.0
    wanted = None if sizes is None else list(sizes)
    while len(rest):
        _, values, v = np.linalg.svd(rest)
        n = int((values <= ZERO * largest).sum()) if wanted is None else wanted.pop(0) if wanted else 0
        if not n:
            break
        found.append(n)
        keep = v[:len(rest) - n].T
        rest, basis = keep.T @ rest @ keep, basis @ keep
    return rest, found, basis


def balanced(matrix):
    """A balanced matrix and the scale d with `matrix = diag(d) balanced diag(1/d)`."""
    value, (scale, _) = scipy.linalg.matrix_balance(matrix, permute=False, separate=True)
    return value, scale


def spectrum(matrix):
    """Eigenvalues and eigenvectors, exact zeros last, shapes (n,), (n, n); zeros beyond the kernel have NaN.

    In the order of the absolute value, of pairs the one with positive imaginary part first.
    """
    value, scale = balanced(matrix)
    rest, sizes, basis = split_zeros(value)
    n, m = len(matrix), len(rest)
    eigenvalues, w = scipy.linalg.eig(rest) if m else (np.zeros(0, complex), np.zeros((0, 0)))
    order = sorted(range(m), key=lambda i: (float(f"{abs(eigenvalues[i]):.9g}"), -eigenvalues[i].imag))
    eigenvalues, w = eigenvalues[order], w[:, order]
    vectors = np.full((n, n), np.nan, complex)
    vectors[:, :m] = basis @ w
    if m < n:  # the space taken out is mapped into itself
        out = scipy.linalg.null_space(basis.T) if m else np.eye(n)
        inner, coupling = out.T @ value @ out, out.T @ value @ (basis @ w) if m else None
        for i, mu in enumerate(eigenvalues):
            vectors[:, i] += out @ np.linalg.solve(mu * np.eye(n - m) - inner, coupling[:, i])
        vectors[:, m:m + sizes[0]] = np.linalg.svd(value)[2][n - sizes[0]:].T
    return np.concatenate([eigenvalues, np.zeros(n - m)]), vectors * scale[:, None]
