"""Distributed PETSc matrices from the CSR rows of each rank."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import scipy

from ... import validate
from ...errors import InputError, MissingBackend

REMEDY = ("pip install 'numpy<2' in this environment (in that of `make env` pip keeps to it by itself), or a petsc4py "
          "that was compiled for this NumPy")


def check_numpy():
    """Refuse a petsc4py that was compiled for NumPy 1 beside NumPy 2, without loading it, which would start MPI.

    Raises
    ------
    MissingBackend
        Says what to install.
    """
    found = importlib.util.find_spec("petsc4py")
    if int(np.__version__.split(".")[0]) < 2 or found is None or not found.submodule_search_locations:
        return
    files = [f for folder in found.submodule_search_locations for f in Path(folder).glob("**/PETSc.*so")]
    # what is compiled for NumPy 2 looks for its new modules, and then for the old ones
    if files and not any(b"numpy._core" in file.read_bytes() for file in files):
        raise MissingBackend("petsc4py was compiled for NumPy 1 and does not load with NumPy "
                             f"{np.__version__}: {REMEDY}")


def petsc():
    """The module `petsc4py.PETSc`.

    Raises
    ------
    MissingBackend
        When it does not fit the NumPy that is installed.
    """
    try:
        from petsc4py import PETSc
    except (ImportError, ValueError, AttributeError) as error:
        if "numpy" not in str(error).lower():
            raise
        raise MissingBackend(f"petsc4py does not load with NumPy {np.__version__} ({error}): "
                             f"{REMEDY}") from None
    return PETSc


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


# ---- blocks of unknowns that PETSc's preconditioners may take: slabs in time, or states and multipliers

SETS = ("slabs", "states")


def rows_beside(multipliers, constraints):
    """Where each row goes so that rows of constraints have the numbers of the multipliers, shape (n,).

    Parameters
    ----------
    multipliers, constraints : ndarray of bool, shape (n,)
        Which columns and which rows are of multipliers and of constraints.

    Raises
    ------
    InputError
        Where there are not as many of the ones as of the others.
    """
    if np.count_nonzero(multipliers) != np.count_nonzero(constraints):
        raise InputError(f"states and multipliers are no blocks here: {np.count_nonzero(multipliers)} multipliers and "
                         f"{np.count_nonzero(constraints)} rows of constraints on one rank; take slabs")
    places = np.empty(len(multipliers), np.int64)
    for rows, columns in ((constraints, multipliers), (~constraints, ~multipliers)):
        places[rows] = np.flatnonzero(columns)
    return places


def of_slabs(starts, n_slabs):
    """First column of each of `n_slabs` runs of as many elements, and the end, shape (n_slabs + 1,).

    Meshes of fewer elements, on which guesses are found, have a slab for each.

    Parameters
    ----------
    starts : ndarray of int, shape (n + 1,)
        First column of each element, and the end.
    n_slabs : int
    """
    n_elements = len(starts) - 1
    n_slabs = min(validate.integer("pc_time_slabs", n_slabs, minimum=1), n_elements)
    return starts[np.arange(n_slabs + 1) * n_elements // n_slabs]


class Blocks:
    """Index sets of the columns of a matrix of a chain of elements, by name.

    Parameters
    ----------
    which : str
        "slabs" in time, or "states" and multipliers.
    pattern : object
        `column_starts` and `multipliers`, a function that returns which columns and which rows of this rank are of
        multipliers and of constraints.
    comm : PETSc communicator
    n_slabs : int
        Slabs on each rank.
    known : tuple of str
        What `which` may be here.

    Attributes
    ----------
    rows : ndarray or None
        Where each row of this rank goes among its rows; None where it is.
    """

    def __init__(self, which, pattern, comm, n_slabs, known=SETS):
        if which not in known:
            raise InputError(f"sets of blocks are {' or '.join(known)}, not {which!r}")
        if not hasattr(pattern, "column_starts"):
            raise InputError("blocks in time need a matrix of a chain of elements")
        self._comm, self.rows, n = comm, None, len(pattern.indptr) - 1
        mpi = comm.tompi4py()
        self._first = (mpi.exscan(n) or 0) if mpi.size > 1 else 0
        if which == "states":
            multipliers, constraints = pattern.multipliers()
            self.rows = rows_beside(multipliers, constraints)
            self._sets = {"states": np.flatnonzero(~multipliers), "multipliers": np.flatnonzero(multipliers)}
            if not mpi.allreduce(len(self._sets["multipliers"])):
                raise InputError("states and multipliers are no blocks of a system without constraints: take slabs")
        else:
            starts = np.asarray(pattern.column_starts) - self._first
            starts = np.delete(starts, 1) if mpi.rank == 0 else starts  # node 0 belongs to the first element
            ends = of_slabs(starts, min([n_slabs, *mpi.allgather(len(starts) - 1)]))
            ends[0], ends[-1], n_slabs = 0, n, len(ends) - 1
            own = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
            self._sets = {}
            for rank in range(mpi.size):
                for k in range(n_slabs):
                    mine = own[k] if rank == mpi.rank else own[k][:0]
                    self._sets[f"slab{rank * n_slabs + k}"] = mine
            self._own, self._n, self._step = own, mpi.allreduce(n), int(np.median(np.diff(starts)))

    def __iter__(self):
        """Names and index sets, over the ranks of the communicator."""
        for name, numbers in self._sets.items():
            yield name, _index_set(numbers + self._first, self._comm)

    @property
    def names(self):
        return list(self._sets)

    def pieces(self, overlap):
        """Index sets of the slabs of this rank with `overlap` elements more at both sides, of this rank alone."""
        more, pieces = overlap * self._step, []
        for own in self._own:
            first, last = self._first + own[0], self._first + own[-1]
            pieces.append(np.arange(max(0, first - more), min(self._n, last + 1 + more)))
        return [_index_set(piece, petsc().COMM_SELF) for piece in pieces]


def _index_set(numbers, comm):
    return petsc().IS().createGeneral(numbers.astype(petsc().IntType), comm=comm)
