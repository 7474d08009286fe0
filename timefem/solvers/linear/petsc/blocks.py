"""Blocks of unknowns that PETSc's preconditioners may take: slabs in time, or states and multipliers.

Rows and columns of a block have the same numbers in PETSc. A slab is a run of elements, whose rows and columns are in
time order anyway. Rows of constraints are brought to the places of the multipliers: the first block of the Schur
complement is then the motion without constraints.
"""

import itertools

import numpy as np

from .... import validate
from ....errors import InputError
from .library import petsc

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
