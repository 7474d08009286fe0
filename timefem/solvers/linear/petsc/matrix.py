"""Distributed PETSc matrices from the CSR rows of each rank."""

import numpy as np
import scipy


class AssembledMatrix:
    """Matrix in PETSc's own format, for its preconditioners; parameters as of `RowMatrix`.

    `rows`, shape (n,), says where each row of this rank goes among its rows; default: where it is.
    """

    def __init__(self, pattern, comm, rows=None):
        from petsc4py import PETSc

        n = len(pattern.indptr) - 1
        first = comm.tompi4py().exscan(n) if comm.size > 1 else 0
        places = np.arange(n) if rows is None else rows
        indptr, indices, self.places = _with_diagonal(places, pattern.indptr, pattern.indices, first or 0)
        self.indptr, self.indices = (np.asarray(a, dtype=PETSc.IntType) for a in (indptr, indices))
        self.values = np.zeros(len(self.indices))
        self.mat = PETSc.Mat().createAIJ(((n, None), (n, None)), csr=(self.indptr, self.indices, self.values),
                                         comm=comm)

    def take(self, data):
        """Use the values `data`."""
        self.values[self.places] = data
        self.mat.setValuesCSR(self.indptr, self.indices, self.values)
        self.mat.assemble()

    def one_norm(self):
        """Largest sum of magnitudes of a column, on all ranks."""
        from petsc4py import PETSc

        return float(self.mat.norm(PETSc.NormType.NORM_1))


class RowMatrix:
    """PETSc matrix that multiplies with the CSR rows themselves, without a copy.

    Parameters
    ----------
    pattern : object with `indptr`, `indices`
        CSR pattern of the owned rows, global columns.
    comm : PETSc communicator
    """

    def __init__(self, pattern, comm):
        from petsc4py import PETSc

        n = len(pattern.indptr) - 1
        # PETSc keeps the context, which must not know the matrix: Python could never free such a ring
        self._context = _Rows(pattern)
        self.mat = PETSc.Mat().createPython(((n, None), (n, None)), context=self._context, comm=comm)
        self.mat.setUp()
        self._context.connect(self.mat.createVecRight())

    def take(self, data):
        """Use the values `data`, which are not copied."""
        self._context.rows.data = data
        self.mat.assemble()  # tells PETSc that it has changed

    def one_norm(self):
        """As in `AssembledMatrix`: the product of magnitudes of the transposed matrix with ones."""
        sums, ones = self.mat.createVecs()
        ones.set(1.0)
        context, data = self._context, self._context.rows.data
        context.rows.data = np.abs(data)
        context.multTranspose(self.mat, ones, sums)
        context.rows.data = data
        return float(sums.max()[1])


class _Rows:
    """What PETSc calls to multiply."""

    def __init__(self, pattern):
        n, (first, last) = len(pattern.indptr) - 1, (int(f(pattern.indices)) for f in (np.min, np.max))
        kind = np.int32 if len(pattern.indices) < 2**31 else np.int64
        indices = np.empty(len(pattern.indices), kind)
        np.subtract(pattern.indices, first, out=indices, casting="unsafe")
        self.first, width = first, last + 1 - first
        self.rows = scipy.sparse.csr_matrix((n, width))
        self.rows.indptr, self.rows.indices = pattern.indptr.astype(kind), indices

    def connect(self, whole):
        from petsc4py import PETSc

        width, self.add = self.rows.shape[1], (PETSc.InsertMode.ADD_VALUES, PETSc.ScatterMode.REVERSE)
        self.part = PETSc.Vec().createSeq(width)
        needed = PETSc.IS().createStride(width, self.first, 1, comm=PETSc.COMM_SELF)
        self.scatter = PETSc.Scatter().create(whole, needed, self.part, None)

    def mult(self, mat, x, y):
        """y = A x."""
        self.scatter.scatter(x, self.part)
        y.array[:] = self.rows @ self.part.array_r

    def multTranspose(self, mat, x, y):
        """y = A^T x."""
        self.part.array[:] = self.rows.T @ x.array_r
        y.zeroEntries()
        self.scatter.scatter(self.part, y, *self.add)


def _with_diagonal(places, indptr, indices, first):
    """CSR pattern with all diagonal entries, which PETSc's own factorisations ask for, and the places of the others;
    row i goes to places[i]."""
    n = len(indptr) - 1
    rows = np.repeat(places, np.diff(indptr))
    width = int(max(indices.max(), first + n)) + 1
    keys = rows * width + indices
    every = np.union1d(keys, np.arange(n) * width + first + np.arange(n))
    counts = np.bincount(every // width, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]), every % width, np.searchsorted(every, keys)
