"""Sparse matrices: LU factors that are safe for singular ones, products and sums of entries, compiled or without
SciPy's import, and norms; eigenvalues of dense ones."""

import numpy as np

from .kernels.lanes import load, store
from .kernels.loops import compiled
from .memory import Late

scipy = Late("scipy")

TINY = np.finfo(float).tiny
ROUNDING = 64 * np.finfo(float).eps  # of a sum of terms, relative to these


def sparse_lu(matrix, permc_spec=None, **options):
    """`scipy.sparse.linalg.splu` of a square matrix in CSC.

    Raises
    ------
    RuntimeError
        For a singular matrix, also by where its entries stand: of some of these SuperLU writes beside its memory
        and ends the process.
    """
    if structural_rank(matrix) < matrix.shape[0]:
        raise RuntimeError("Factor is singular by structure")
    return scipy.sparse.linalg.splu(matrix, permc_spec, **options)


def structural_rank(matrix):
    """How many columns of a square matrix in CSC can have a row each in which they have an entry."""
    n = matrix.shape[0]
    return _rank(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), np.empty((7, n), np.int64))


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _rank(indptr, indices, work):
    """The method of Pothen and Fan: paths from columns without a row to free rows, which share no columns in a round,
    and look for a free row first. SciPy's takes minutes for some matrices of 5000 rows."""
    column_of, ahead, at, seen, path, through, without = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    n, turn = column_of.shape[0], 0
    column_of[:] = -1
    seen[:] = -1
    for column in range(n):
        ahead[column], without[column] = indptr[column], column
    left, before = n, n + 1
    while 0 < left < before:
        before, left = left, 0
        for k in range(before):
            depth, path[0], at[without[k]], seen[without[k]] = 0, without[k], indptr[without[k]], turn
            while depth >= 0:
                own, end, row = path[depth], indptr[path[depth] + 1], -1
                while ahead[own] < end and row < 0:
                    if column_of[indices[ahead[own]]] < 0:
                        row = indices[ahead[own]]
                    ahead[own] += 1
                if row >= 0:
                    through[depth] = row
                    for i in range(depth + 1):
                        column_of[through[i]] = path[i]
                    break
                while at[own] < end and row < 0:
                    if seen[column_of[indices[at[own]]]] != turn:
                        row = indices[at[own]]
                    at[own] += 1
                if row < 0:
                    depth -= 1
                    continue
                through[depth] = row
                depth += 1
                path[depth] = column_of[row]
                at[path[depth]], seen[path[depth]] = indptr[path[depth]], turn
            else:
                without[left] = without[k]
                left += 1
        turn += 1
    return n - left


# ---- products with a sparse matrix of compressed rows, without SciPy's, which take 0.05 s to import

class CompressedRows:
    """A sparse matrix in compressed rows (CSR).

    Parameters
    ----------
    indptr, indices : ndarray of int
    data : ndarray
        May be replaced.
    """

    def __init__(self, indptr, indices, data):
        self.indptr, self.indices, self.data = indptr, indices, data

    def __matmul__(self, x):
        out = np.empty(len(self.indptr) - 1)
        _product(self.indptr, self.indices, self.data, x, out)
        return out

    @property
    def T(self):
        return _Transposed(self)


class _Transposed:
    def __init__(self, matrix):
        self._matrix = matrix

    def __matmul__(self, x):
        a, out = self._matrix, np.zeros(len(x))
        add_transposed_product(a.indptr, a.indices, a.data, x, out)
        return out


@compiled(_nrt=False, fastmath={"contract"})
def _product(indptr, indices, data, x, out):
    for r in range(len(out)):
        total = 0.0
        for k in range(load(indptr, r), load(indptr, r + 1)):
            total += load(data, k) * load(x, load(indices, k))
        store(out, r, total)


@compiled(_nrt=False, fastmath={"contract"})
def add_transposed_product(indptr, indices, data, x, out):
    """Add `A^T x` in place."""
    for r in range(len(x)):
        value = load(x, r)
        for k in range(load(indptr, r), load(indptr, r + 1)):
            at = load(indices, k)
            store(out, at, load(out, at) + load(data, k) * value)


# ---- norms of large sparse matrices without copies: a copy of the numbers costs as much as the assembly

@compiled(fastmath={"reassoc"})  # sums in any order, for SIMD
def infinity_norm(indptr, data):
    """Largest sum of magnitudes of a row of a CSR matrix; NaN and infinity come through."""
    norm = 0.0
    for r in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[r], indptr[r + 1]):
            total += abs(data[k])
        if not total <= norm:
            norm = total
            if np.isnan(norm):
                break
    return norm


@compiled(interpreted=True)
def product_of_magnitudes(indptr, indices, data, v):
    """`|A| |v|` of a CSR matrix."""
    product = np.zeros(len(indptr) - 1)
    for r in range(len(product)):
        for k in range(indptr[r], indptr[r + 1]):
            product[r] += abs(data[k] * v[indices[k]])
    return product


# ---- the 1-norm of a matrix that is known by its products alone

def estimated_norm(operator, **options):
    """`scipy.sparse.linalg.onenormest`, with the same random columns each time, so that studies can be repeated.

    Parameters
    ----------
    operator : LinearOperator
    **options
        As SciPy takes them.

    Returns
    -------
    float, or what `options` ask for besides
    """
    state = np.random.get_state()  # noqa: NPY002, which is what SciPy draws from
    np.random.seed(0)  # noqa: NPY002
    try:
        return scipy.sparse.linalg.onenormest(operator, **options)
    finally:
        np.random.set_state(state)  # noqa: NPY002


# ---- eigenvalues of graded matrices: those that are zero by structure apart, the others with their errors

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
    value, *_, scale, _ = scipy.linalg.lapack.dgebal(matrix, scale=1, permute=0)
    return value, scale


def eigen(matrix, terms, rounding, mass=None):
    """Eigenvalues of a balanced matrix, how far rounding may have moved each, and right eigenvectors.

    Quotients `y^H A x / y^H x` of left and right vectors are exact to the second order in the errors of these: they
    keep the digits of slow motions that fast ones cost the QR algorithm, and the difference tells how many. Entries of
    A are off by `rounding` of their `terms`. With a mass M those of `A x = w M x`; infinite ones are not finite.
    """
    if not len(matrix):
        return np.zeros(0, complex), np.zeros(0), np.zeros((0, 0))
    values, left, right = scipy.linalg.eig(matrix, mass, left=True, right=True)
    along = (left.conj() * (right if mass is None else mass @ right)).sum(axis=0)
    along = np.where(np.abs(along) > TINY, along, TINY)  # zero of vectors that meet
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.where(np.isfinite(values), (left.conj() * (matrix @ right)).sum(axis=0) / along, values)
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


@compiled(error_model="numpy")
def add_product(rows, columns, data, x, factor, out):
    """Add `factor A x` in place; of rows and columns interchanged A^T."""
    for k in range(len(data)):
        at = load(rows, k)
        store(out, at, load(out, at) + factor * load(data, k) * load(x, load(columns, k)))


@compiled(error_model="numpy")
def largest_in_rows(rows, data, least, m):
    """Largest magnitude in each of m rows, `least` at least; entries of further rows are left out."""
    out = np.full(m, least)
    for k in range(len(data)):
        row, size = load(rows, k), abs(load(data, k))
        if row < m and not size <= out[row]:
            out[row] = size
    return out


@compiled(error_model="numpy")
def add_hessian_and_rows(hessian, jacobian, d, y, n, m, of_v, of_rows):
    """Add `H d + J^T y` and `J d` in place, of the symmetric H by one triangle; unknowns of others, from n on, and
    their rows, from m on, are left out.

    Matrices are (rows, columns, entries); what entries of one row that follow each other add to it stays in a register.
    """
    first, second, data = hessian
    last, of_last, own = -1, 0.0, 0.0
    for k in range(len(data)):
        i, j, value = load(first, k), load(second, k), load(data, k)
        if i != last:
            if 0 <= last < n:
                store(of_v, last, of_last)
            last, own, of_last = i, load(d, i), load(of_v, i) if i < n else 0.0
        of_last += value * load(d, j)
        if j != i and j < n:
            store(of_v, j, load(of_v, j) + value * own)
    if 0 <= last < n:
        store(of_v, last, of_last)
    rows, columns, data = jacobian
    last = -1
    for k in range(len(data)):
        row, column, value = load(rows, k), load(columns, k), load(data, k)
        if row != last:
            if 0 <= last < m:
                store(of_rows, last, of_last)
            last, own, of_last = row, load(y, row), load(of_rows, row) if row < m else 0.0
        of_last += value * load(d, column)
        if column < n:
            store(of_v, column, load(of_v, column) + value * own)
    if 0 <= last < m:
        store(of_rows, last, of_last)


@compiled()
def gathered(start, columns, factors, x):
    """`start + sum over s of factors x[columns]`, shape (n_points, n_w), without columns that are negative."""
    out = start.copy()
    for p in range(columns.shape[0]):
        for w in range(columns.shape[1]):
            for s in range(columns.shape[2]):
                if columns[p, w, s] >= 0:
                    out[p, w] += factors[p, w, s] * x[columns[p, w, s]]
    return out


@compiled(error_model="numpy")
def add_spread(slots, sources, factors, values, out):
    """Add `factors values[sources]` in slots, in place."""
    for k in range(len(slots)):
        at = load(slots, k)
        store(out, at, load(out, at) + load(factors, k) * load(values, load(sources, k)))


@compiled(error_model="numpy", _nrt=False)
def count_parts(indptr, indices, variable, equation):
    """How many entries of a symmetric matrix, by rows, are in the upper triangle of the Hessian, and in the Jacobian.

    `variable` and `equation` are numbers of those that unknowns are, -1 else.
    """
    of_hessian, of_jacobian = 0, 0
    for row in range(len(indptr) - 1):
        first, is_equation = load(variable, row), load(equation, row) >= 0
        for k in range(indptr[row], indptr[row + 1]):
            column = load(variable, load(indices, k))
            of_hessian += first >= 0 and column >= first
            of_jacobian += is_equation and column >= 0
    return of_hessian, of_jacobian


@compiled(error_model="numpy", _nrt=False)
def find_parts(indptr, indices, numbers, hessian, jacobian):
    """Fill in (entries, rows, columns) of both; `numbers` are (variable, equation) as of `count_parts`."""
    (variable, equation), i, j = numbers, 0, 0
    for row in range(len(indptr) - 1):
        first, own = load(variable, row), load(equation, row)
        for k in range(indptr[row], indptr[row + 1]):
            column = load(variable, load(indices, k))
            if first >= 0 and column >= first:
                hessian[0][i], hessian[1][i], hessian[2][i] = k, first, column
                i += 1
            if own >= 0 and column >= 0:
                jacobian[0][j], jacobian[1][j], jacobian[2][j] = k, own, column
                j += 1


@compiled(error_model="numpy")
def take(values, places, factor, n):
    """`factor values[places]`, and zeros behind, shape (n,)."""
    out = np.zeros(n)
    for k in range(len(places)):
        store(out, k, factor * load(values, load(places, k)))
    return out
