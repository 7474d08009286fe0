"""The interface system of slabs: what is left of all of them, solved by PETSc."""

import numpy as np

from ....errors import SingularMatrix
from ..time_chain.loops import ROUNDING
from .slab_rows import swap

NULL_PIVOTS, WORKSPACE = 24, 14  # controls of MUMPS, ICNTL
SMALLEST_PIVOT = 3  # CNTL: a smaller one, relative to the scaled matrix, is null
N_NULL_PIVOTS, SINGULAR = 28, -10  # INFOG, and INFOG(1) of a singular matrix


class Interface:
    """Sum of the Schur complements of the slabs, and its solver: MUMPS unless options say otherwise.

    Parameters
    ----------
    rows : SlabRows
    lu : SlabLU
        The factored slab of this rank.
    comm : PETSc communicator
    prefix : str
        Of the options, to which "interface_" is added.
    """

    def __init__(self, rows, lu, comm, prefix):
        from petsc4py import PETSc

        self.PETSc, mpi = PETSc, comm.tompi4py()
        # each slab numbers what it has left, but for what the slab before has numbered
        self.row_numbers = _number(mpi, lu.rows, lu.left_over.shape[0], rows.left[1], rows.right[1])
        self.column_numbers = _number(mpi, lu.columns, lu.left_over.shape[1], rows.left[0], rows.right[0])
        n_own = lu.left_over.shape[1] - rows.left[0]
        width = mpi.allreduce(2 * max(lu.left_over.shape[1], 1), op=_mpi().MAX)
        self.A = PETSc.Mat().createAIJ(((n_own, None), (n_own, None)), nnz=(width, width), comm=comm)
        self.A.setOption(PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
        add = PETSc.InsertMode.ADD_VALUES
        self.A.setValues(self.row_numbers, self.column_numbers, lu.left_over, addv=add)
        start, stop = self.A.getOwnershipRange()
        diagonal = np.arange(start, stop, dtype=PETSc.IntType)  # which PETSc's own factorisations ask for
        for i in diagonal:
            self.A.setValue(i, i, 0.0, addv=add)
        self.A.assemble()
        self.x, self.b = self.A.createVecs()
        self._scatters = {transposed: self._scatter(numbers) for transposed, numbers in
                          ((False, self.column_numbers), (True, self.row_numbers))}
        self.ksp = PETSc.KSP().create(comm)
        self.ksp.setOptionsPrefix(prefix + "interface_")
        self.ksp.setOperators(self.A)
        self.ksp.setType("preonly")
        self.ksp.pc.setType("lu")
        self.ksp.pc.setFactorSolverType("mumps")
        self.ksp.setFromOptions()
        self._set_up(ROUNDING * width)

    def _scatter(self, numbers):
        needed = self.PETSc.IS().createGeneral(numbers, comm=self.PETSc.COMM_SELF)
        part = self.PETSc.Vec().createSeq(len(numbers))
        return self.PETSc.Scatter().create(self.x, needed, part, None), part

    def _set_up(self, tolerance):
        pc = self.ksp.pc
        mumps = pc.getType() == "lu" and pc.getFactorSolverType() == "mumps"
        if mumps:
            pc.setFactorSetUpSolverType()
            factors = pc.getFactorMatrix()
            factors.setMumpsIcntl(NULL_PIVOTS, 1)
            factors.setMumpsIcntl(WORKSPACE, 100)
            factors.setMumpsCntl(SMALLEST_PIVOT, tolerance)
        self.ksp.setUp()
        if mumps and (factors.getMumpsInfog(1) == SINGULAR or factors.getMumpsInfog(N_NULL_PIVOTS) > 0):
            raise SingularMatrix("singular matrix (to working precision): the unknowns of the nodes between the slabs "
                                 "depend on each other; constraints that repeat each other, unknowns without an "
                                 "equation, missing conditions at an end, or unknowns far from a solution make them so")

    @property
    def package(self):
        """The package of the decomposition, "" where options ask for another preconditioner."""
        pc = self.ksp.pc
        return pc.getFactorSolverType() if pc.getType() in ("lu", "cholesky") else ""

    def destroy(self):
        """Free everything at once: PETSc would keep it until its garbage is collected."""
        for scatter, part in self._scatters.values():
            scatter.destroy()
            part.destroy()
        for thing in (self.ksp, self.A, self.x, self.b):
            thing.destroy()

    def solve(self, reduced, transposed=False):
        """Unknowns that are left over in this rank's slab, of its part of the right-hand side."""
        b, x = self.b, self.x
        b.zeroEntries()
        b.setValues(self.column_numbers if transposed else self.row_numbers, reduced,
                    addv=self.PETSc.InsertMode.ADD_VALUES)
        b.assemble()
        (self.ksp.solveTranspose if transposed else self.ksp.solve)(b, x)
        scatter, part = self._scatters[transposed]
        scatter.scatter(x, part)
        return part.array.copy()


def _number(mpi, left_over, n, n_left, n_right):
    """Numbers in the interface system of what is left over of a slab, in its order.

    The first `n_left` of the slab are numbered by the slab before, as its last ones.
    """
    from petsc4py import PETSc

    order = np.argsort(left_over)
    first = mpi.exscan(n - n_left) or 0
    numbers = np.empty(n, PETSc.IntType)
    numbers[order[n_left:]] = first + np.arange(n - n_left)
    from_left, _ = swap(mpi, None, first + n - n_left - n_right)
    if n_left:
        numbers[order[:n_left]] = from_left + np.arange(n_left)
    return numbers


def _mpi():
    from mpi4py import MPI

    return MPI
