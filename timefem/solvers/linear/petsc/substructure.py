"""Time-chain substructuring as a PETSc preconditioner.

Each rank eliminates the inside of its slab of elements with the time-chain LU; what is left, the unknowns of the nodes
between slabs and those without a pivot inside, is eliminated in a tree of ranks, and then each rank recovers its
inside. With up-to-date factors this is a direct solver.
"""

import numpy as np

from .... import validate
from ....parallel import Counted, agree
from ..time_chain.slab_lu import SlabLU
from .rank_tree import RankTree
from .slab_rows import SlabRows


class Substructure:
    """Context of a PETSc preconditioner of type python.

    Parameters
    ----------
    pattern : object
        As in `SlabRows`.
    comm : PETSc communicator
    lag : int
        Factor in every lag-th call of `factor` only.

    Attributes
    ----------
    current : bool
        Whether the factors belong to the last matrix.
    factor_size : int
        Numbers stored for the factors of all slabs; those of the tree of ranks, which are few, are not counted.
    """

    def __init__(self, pattern, comm, lag=1):
        self.mpi = Counted(comm.tompi4py())
        self.lag, self._age = validate.integer("pc_chain_lag", lag, minimum=1), 0
        self.rows = r = SlabRows(pattern, self.mpi)
        self.lu = SlabLU(r.indptr, r.indices, r.column_starts, r.row_starts, r.left, r.right)
        self.tree = RankTree(r, self.mpi) if self.mpi.size > 1 else None
        self.current = False

    def factor(self, data, finite=False, now=False):
        """Take the matrix with the values `data` of the owned rows, known to be `finite` or not, and factor it when it
        is time, or `now`.

        Raises
        ------
        SingularMatrix, SolveError
            On all ranks, when a slab, or what is left of the slabs, cannot be factored.
        """
        if self._age and self._age < self.lag and not now:
            self._age, self.current = self._age + 1, False
            return
        self._age, self.current = 0, False
        values, error = self.rows.values(data), None
        try:
            self.lu.factor(values, finite)
        except Exception as failure:
            error = failure
        if self.tree is not None:
            error = self.tree.factor(self.lu, error)
        agree(self.mpi if self.mpi.size > 1 else None, error, f"slab {self.mpi.rank} of {self.mpi.size}")
        self._age, self.current = 1, True

    @property
    def factor_size(self):
        return self.mpi.allreduce(self.lu.fill) if self.mpi.size > 1 else self.lu.fill

    @property
    def facts(self):
        """Columns of this rank's slab without a pivot inside, and what it has sent to other ranks [bytes]."""
        return {"left_over": len(getattr(self.lu, "columns", ())), "messages": self.mpi.messages,
                "bytes_sent": self.mpi.bytes, "largest_message": self.mpi.largest, "factor_bytes": 8 * self.lu.fill}

    def apply(self, pc, b, x):
        """x = A^-1 b."""
        x.array[:] = self._solve(self.rows.to_slab(b.array_r), False)[self.rows.left[0]:]

    def applyTranspose(self, pc, b, x):
        """x = A^-T b."""
        x.array[:] = self.rows.to_owned(self._solve(np.concatenate([np.zeros(self.rows.left[0]), b.array_r]), True))

    def _solve(self, b, transposed):
        if self.tree is not None:
            return self.tree.solve(b, transposed)
        return self.lu.solve_transposed(b) if transposed else self.lu.solve(b)

    def view(self, pc, viewer):
        """Print what this is."""
        viewer.printfASCII(f"  time-chain substructuring, {self.mpi.size} slabs, factored in every call\n"
                           if self.lag == 1 else f"  time-chain substructuring, {self.mpi.size} slabs, factored in "
                           f"every call of {self.lag}\n")
