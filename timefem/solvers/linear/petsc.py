"""PETSc, serial or distributed by rows. Every option reaches it through the prefix `timefem_`."""

import numpy as np

from ...errors import InputError, SolveError
from .base import LinearSolver

PREFIX = "timefem_"


class Solver(LinearSolver):
    """KSP with `preonly`, LU and MUMPS unless options say otherwise.

    Parameters
    ----------
    pattern : object with `indptr`, `indices`
        CSR pattern of the local rows, with global columns.
    options : dict
        PETSc options without prefix, for instance {"ksp_type": "gmres", "pc_type": "bjacobi"}.
    comm : PETSc communicator, optional
        Default: this process alone.
    """

    name = "petsc"

    def __init__(self, pattern, options, comm=None):
        from petsc4py import PETSc

        super().__init__(pattern, {})
        self.PETSc, n = PETSc, len(pattern.indptr) - 1
        self.comm = comm or PETSc.COMM_SELF
        self.indptr, self.indices = (np.asarray(a, dtype=PETSc.IntType) for a in (pattern.indptr, pattern.indices))
        self.sizes = ((n, None), (n, None))
        self.A, self.ksp = None, PETSc.KSP().create(self.comm)
        database = PETSc.Options()
        for key, value in options.items():
            database[PREFIX + key.removeprefix("-").removeprefix(PREFIX)] = value
        self.ksp.setOptionsPrefix(PREFIX)
        self.ksp.setType("preonly")
        self.ksp.pc.setType("lu")
        self.ksp.pc.setFactorSolverType("mumps")
        try:
            self.ksp.setFromOptions()
        except PETSc.Error as error:
            raise InputError(f"PETSc does not take the options {options}: {_reason(error)}") from error

    def factor(self, data):
        if self.A is None:
            self.A = self.PETSc.Mat().createAIJ(self.sizes, csr=(self.indptr, self.indices, data), comm=self.comm)
            self.ksp.setOperators(self.A)
            self.x, self.b = self.A.createVecs()
        else:
            self.A.setValuesCSR(self.indptr, self.indices, data)
            self.A.assemble()
        self._norm = self.A.norm(self.PETSc.NormType.INFINITY)
        try:
            self.ksp.setUp()
        except self.PETSc.Error as error:
            raise SolveError(f"backend 'petsc': {_reason(error)}") from error

    def _factor(self, matrix):
        raise NotImplementedError("PETSc keeps its own matrix")  # `factor` does it all

    def solve(self, b):
        self.b.array[:] = b
        try:
            self.ksp.solve(self.b, self.x)
        except self.PETSc.Error as error:
            raise SolveError(f"backend 'petsc': {_reason(error)}") from error
        if self.ksp.reason < 0:
            names = {v: k for k, v in vars(self.PETSc.KSP.ConvergedReason).items() if isinstance(v, int)}
            raise SolveError(f"backend 'petsc': KSP stopped with {names.get(self.ksp.reason, self.ksp.reason)} after "
                             f"{self.ksp.its} iterations")
        return self.x.array.copy()

    def _largest(self, values):
        local = float(np.abs(values).max(initial=0.0))
        return self.comm.tompi4py().allreduce(local, op=_mpi().MAX) if self.comm.size > 1 else local

    def _backward_error(self, x, b):
        self.x.array[:] = x
        product = self.b.duplicate()
        self.A.mult(self.x, product)
        residual = b - product.array
        scale = self._norm * self._largest(x) + self._largest(b)
        return residual, self._largest(residual) / scale if scale > 0 else 0.0


def _mpi():
    from mpi4py import MPI

    return MPI


def _reason(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else str(error)
