"""Eigenvalues of graded matrices: those that are zero by structure apart, the others with their errors."""

from __future__ import annotations

import numpy as np
import scipy

from ..mechanics.values.measures import TINY

ROUNDING = 64 * np.finfo(float).eps  # of a sum of terms, relative to these


def split_zeros(matrix, sizes=None, terms=None):
    """The part of a matrix without its eigenvalue zero, whose Jordan blocks rounding would spread.

    Motions that nothing opposes, such as the place on a plane or the speed of a vehicle, make chains of zeros: the
    kernels of the powers of A, where `A x = K c` leads to that of the next power from the basis K of the one before. A
    row counts as zero by the terms that it sums: slow modes of slender beams are 1e-14 of the fastest ones, but 1e-10
    of the forces that cancel in each row.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        Balanced.
    sizes : sequence of int, optional
        By how much the kernels grow; default: what singular values tell.
    terms : ndarray, shape (n, n), optional
        Sums of the absolute values of the terms of each entry; default: the entries.

    Returns
    -------
    rest : ndarray, shape (m, m)
    sizes : list of int
    basis : ndarray, shape (n, m)
        Orthonormal; `basis^T A basis = rest`.
    kernel : ndarray, shape (n, n - m)
        Orthonormal; its first columns are the kernel of A.
    """
    matrix, n = np.asarray(matrix, float), len(matrix)
    if not n:  # of what nothing can move
        return matrix, [], matrix, matrix
    rows, columns = _equilibrated(np.abs(matrix) if terms is None else terms)
    kernel, found, wanted = np.zeros((n, 0)), [], None if sizes is None else list(sizes)
    while kernel.shape[1] < n:
        known = rows[:, None] * kernel
        known /= np.maximum(np.linalg.norm(known, axis=0), 1e-300)
        _, values, v = np.linalg.svd(np.hstack([rows[:, None] * matrix * columns, -known]))
        values = np.append(values, np.zeros(len(v) - len(values)))
        grown = int((values <= ROUNDING * values[0]).sum()) - kernel.shape[1] if wanted is None else \
            wanted.pop(0) if wanted else 0
        if grown <= 0:
            break
        found.append(grown)
        more = columns[:, None] * v[-grown - kernel.shape[1]:, :n].T
        more -= kernel @ (kernel.T @ more)
        directions = np.linalg.svd(more / np.linalg.norm(more, axis=0).max(), full_matrices=False)[0]
        kernel = np.hstack([kernel, directions[:, :grown]])
    basis = scipy.linalg.qr(kernel)[0][:, kernel.shape[1]:]
    return basis.T @ matrix @ basis, found, basis, kernel


def _equilibrated(terms):
    """Scales of rows and columns with terms of at most about one, shapes (n,), (n,)."""
    rows, columns = np.ones(len(terms)), np.ones(len(terms))
    for _ in range(4):  # sweeps, of which two would do in general
        for axis, scale in ((1, rows), (0, columns)):
            most = (rows[:, None] * terms * columns).max(axis=axis, initial=0.0)
            scale /= np.where(most > 0, most, 1.0)
    return rows, columns


def balanced(matrix):
    """A balanced matrix and the scale d with `matrix = diag(d) balanced diag(1/d)`."""
    if not len(matrix):
        return matrix, np.ones(0)
    value, (scale, _) = scipy.linalg.matrix_balance(matrix, permute=False, separate=True)
    return value, scale


def eigen(matrix, terms, rounding):
    """Eigenvalues of a balanced matrix, how far rounding may have moved each, and right eigenvectors.

    Quotients `y^H A x / y^H x` of left and right vectors are exact to the second order in the errors of these: they
    keep the digits of slow motions that fast ones cost the QR algorithm, and the difference tells how many. Entries of
    A are off by `rounding` of their `terms`.
    """
    if not len(matrix):
        return np.zeros(0, complex), np.zeros(0), np.zeros((0, 0))
    values, left, right = scipy.linalg.eig(matrix, left=True, right=True)
    along = (left.conj() * right).sum(axis=0)
    along = np.where(np.abs(along) > TINY, along, TINY)  # zero of vectors that meet
    found = (left.conj() * (matrix @ right)).sum(axis=0) / along
    off = rounding * (np.abs(left) * (terms @ np.abs(right))).sum(axis=0) / np.abs(along)
    return found, off + np.abs(found - values), right


def spectrum(matrix, terms=None):
    """Eigenvalues and eigenvectors, exact zeros last, shapes (n,), (n, n); zeros beyond the kernel have NaN.

    In the order of the absolute value, of pairs the one with positive imaginary part first. `terms` as in
    `split_zeros`, not balanced.
    """
    value, scale = balanced(matrix)
    terms = np.abs(value) if terms is None else terms * scale / scale[:, None]
    rest, sizes, basis, out = split_zeros(value, terms=terms)
    n, m = len(matrix), len(rest)
    eigenvalues, _, w = eigen(rest, np.abs(basis.T) @ terms @ np.abs(basis), ROUNDING)
    order = sorted(range(m), key=lambda i: (float(f"{abs(eigenvalues[i]):.9g}"), -eigenvalues[i].imag))
    eigenvalues, w = eigenvalues[order], w[:, order]
    vectors = np.full((n, n), np.nan, complex)
    vectors[:, :m] = basis @ w
    if m < n:  # the space taken out is mapped into itself
        inner, coupling = out.T @ value @ out, out.T @ value @ (basis @ w)
        for i, mu in enumerate(eigenvalues):
            vectors[:, i] += out @ np.linalg.solve(mu * np.eye(n - m) - inner, coupling[:, i])
        vectors[:, m:m + sizes[0]] = out[:, :sizes[0]]
    return np.concatenate([eigenvalues, np.zeros(n - m)]), vectors * scale[:, None]
