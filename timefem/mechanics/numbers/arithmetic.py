"""Vectors and matrices of floats (NumPy) or of expressions (CasADi), in formulas that are stated once for both.

Vectors are ndarray (n,) or SX (n, 1), matrices ndarray (m, n) or SX. Sums, products with numbers and products by `@` of
matrices need nothing of this; what differs does.
"""

import casadi as ca
import numpy as np


def is_symbolic(*values):
    """Whether there are expressions among the values, or in a list or tuple among them."""
    return any(isinstance(x, ca.SX) or (isinstance(x, list | tuple) and is_symbolic(*x)) for x in values)


def as_symbols(value):
    """An array of floats, shape (n,) or (m, n), or expressions, as SX; zeros are structural."""
    return ca.sparsify(ca.SX(ca.DM(value))) if isinstance(value, np.ndarray) else value


def size(value):
    """How many numbers a value has."""
    if isinstance(value, ca.SX):
        return value.numel()
    return sum(map(size, value)) if is_symbolic(value) else np.size(value)


def cross(a, b):
    if is_symbolic(a, b):
        return ca.cross(a, b)
    (x, y, z), (u, v, w) = np.asarray(a, float).tolist(), np.asarray(b, float).tolist()
    return np.array((y * w - z * v, z * u - x * w, x * v - y * u))  # in a tenth of NumPy's time


def dot(a, b):
    return ca.dot(a, b) if is_symbolic(a, b) else a @ b


def sqrt(x):
    return ca.sqrt(x) if is_symbolic(x) else np.sqrt(x)


def unit(a):
    """A vector over its length."""
    return a / sqrt(dot(a, a))


def outer(a, b):
    return a @ b.T if is_symbolic(a, b) else np.outer(a, b)


def trace(matrix):
    """Of a matrix (3, 3)."""
    return matrix[0, 0] + matrix[1, 1] + matrix[2, 2]


def inverse(matrix):
    """Of a matrix (3, 3)."""
    return ca.inv_minor(ca.densify(matrix)) if is_symbolic(matrix) else np.linalg.inv(matrix)


def matrix_of(*rows):
    """The matrix of rows of numbers, tuples."""
    return ca.vertcat(*(ca.horzcat(*row) for row in rows)) if is_symbolic(*rows) else np.array(rows)


def columns(*vectors):
    """The matrix of some columns."""
    return ca.horzcat(*vectors) if is_symbolic(*vectors) else np.column_stack(vectors)


def diagonal(matrix):
    return ca.diag(matrix) if is_symbolic(matrix) else np.diag(matrix)


def upper_triangle(matrix):
    """Entries of a matrix on and above the diagonal, row by row."""
    if not is_symbolic(matrix):
        return matrix[np.triu_indices(len(matrix))]
    n = matrix.shape[0]
    return ca.vertcat(*(matrix[i, j] for i in range(n) for j in range(i, n)))


def by_rows(value):
    """All entries of a number, vector or matrix, row by row."""
    if is_symbolic(value):
        return ca.vec(value.T) if isinstance(value, ca.SX) else ca.vertcat(*map(by_rows, value))
    return np.ravel(value)


def joined(*values):
    """One vector of numbers, vectors and matrices (row by row), and lists of these."""
    if is_symbolic(*values):
        return ca.vertcat(ca.SX(0, 1), *(ca.densify(ca.SX(by_rows(x))) for x in values))
    return np.concatenate([np.zeros(0), *map(np.ravel, values)])


def chosen(condition, value, otherwise):
    """One of two vectors or numbers. Both are worked out for expressions, and have to be finite."""
    return ca.if_else(condition, value, otherwise) if is_symbolic(condition) else value if condition else otherwise


def least_axis(a):
    """Unit vector of the axis that is least along a vector (3,), the first of several."""
    if not is_symbolic(a):
        return np.eye(3)[np.argmin(np.abs(a))]
    x, y, z = (ca.fabs(a[i]) for i in range(3))
    first = ca.logic_and(x <= y, x <= z)
    second = ca.logic_and(ca.logic_not(first), y <= z)
    return ca.vertcat(first, second, 1 - first - second)


def rotation_matrix(quaternion):
    """Of a quaternion of any length, scalar first."""
    q = unit(quaternion)
    a, x, y, z = (q[i] for i in range(4))
    return matrix_of((a * a + x * x - y * y - z * z, 2 * (x * y - a * z), 2 * (x * z + a * y)),
                     (2 * (x * y + a * z), a * a - x * x + y * y - z * z, 2 * (y * z - a * x)),
                     (2 * (x * z - a * y), 2 * (y * z + a * x), a * a - x * x - y * y + z * z))
