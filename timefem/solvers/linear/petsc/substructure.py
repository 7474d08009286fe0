"""Time-chain substructuring as a PETSc preconditioner.

Each rank eliminates the inside of its slab of elements with the time-chain LU; what is left, the unknowns of the nodes
between slabs and those without a pivot inside, goes to an interface system, and then each rank recovers its inside.
With up-to-date factors this is a direct solver.
"""

import numpy as np

from .... import validate
from ....parallel import agree
from ..time_chain.slab_lu import SlabLU
from .interface import Interface
from .slab_rows import SlabRows


class Substructure:
    """Context of a PETSc preconditioner of type python.

    Parameters
    ----------
    pattern : object
        As in `SlabRows`.
    comm : PETSc communicator
    prefix : str
        Of its options.
    lag : int
        Factor in every lag-th call of `factor` only.

    Attributes
    ----------
    current : bool
        Whether the factors belong to the last matrix.
    factor_size : int
        Numbers stored for the factors of all slabs; those of the interface system, which are few, are not counted.
    """

    def __init__(self, pattern, comm, prefix="", lag=1):
        self.comm, self.mpi, self.prefix = comm, comm.tompi4py(), prefix
        self.lag, self._age = validate.integer("pc_chain_lag", lag, minimum=1), 0
        self.rows = r = SlabRows(pattern, self.mpi)
        self.lu = SlabLU(r.indptr, r.indices, r.column_starts, r.row_starts, r.left, r.right)
        self._interface, self.current = None, False

    def factor(self, data, now=False):
        """Take the matrix with the values `data` of the owned rows, and factor it when it is time, or `now`.

        Raises
        ------
        SingularMatrix, SolveError
            On all ranks, when a slab or the interface system cannot be factored.
        """
        if self._age and self._age < self.lag and not now:
            self._age, self.current = self._age + 1, False
            return
        if self._interface is not None:
            self._interface.destroy()
        self._age, self.current, self._interface = 0, False, None
        values, error = self.rows.values(data), None
        try:
            self.lu.factor(values)
        except Exception as failure:
            error = failure
        agree(self.mpi if self.mpi.size > 1 else None, error, f"slab {self.mpi.rank} of {self.mpi.size}")
        left = self.mpi.allreduce(self.lu.left_over.size) if self.mpi.size > 1 else 0
        if left:
            self._interface = Interface(self.rows, self.lu, self.comm, self.prefix)
        self._age, self.current = 1, True

    @property
    def factor_size(self):
        return self.mpi.allreduce(self.lu.fill) if self.mpi.size > 1 else self.lu.fill

    @property
    def interface_package(self):
        """The package that solves the interface system, "" where there is none or it is not factored."""
        return self._interface.package if self._interface is not None else ""

    def apply(self, pc, b, x):
        """x = A^-1 b."""
        work, reduced = self.lu.eliminate(self.rows.to_slab(b.array_r))
        x.array[:] = self._finish(work, reduced, False)[self.rows.left[0]:]

    def applyTranspose(self, pc, b, x):
        """x = A^-T b."""
        work, reduced = self.lu.eliminate(np.concatenate([np.zeros(self.rows.left[0]), b.array_r]), True)
        x.array[:] = self.rows.to_owned(self._finish(work, reduced, True))

    def _finish(self, work, reduced, transposed):
        if self._interface is not None:
            reduced = self._interface.solve(reduced, transposed)
        return self.lu.recover(work, reduced, transposed)

    def view(self, pc, viewer):
        """Print what this is."""
        viewer.printfASCII(f"  time-chain substructuring, {self.mpi.size} slabs, factored in every call\n"
                           if self.lag == 1 else f"  time-chain substructuring, {self.mpi.size} slabs, factored in "
                           f"every call of {self.lag}\n")
