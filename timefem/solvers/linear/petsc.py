"""PETSc, serial or distributed by rows. Every option reaches it through the prefix `timefem_`."""

import ctypes

import numpy as np

from ...errors import InputError, SolveError
from .base import LinearSolver

PREFIX = "timefem_"
WORKSPACE = PREFIX + "mat_mumps_icntl_14"  # extra workspace of MUMPS in percent, for pivots that are delayed
WORKSPACE_PERCENT = (100, 400, 1600)
WORKSPACE_ERRORS = (-8, -9, -14, -15, -17, -20)  # INFOG(1) of MUMPS

_given = []  # options in PETSc's database that came from the last solver made here


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
        self.sizes = ((n, None), (n, None))
        first = self.comm.tompi4py().exscan(n) if self.comm.size > 1 else 0
        indptr, indices, self.places = _with_diagonal(pattern.indptr, pattern.indices, first or 0)
        self.indptr, self.indices = (np.asarray(a, dtype=PETSc.IntType) for a in (indptr, indices))
        self.A, self.ksp = None, PETSc.KSP().create(self.comm)
        self.options = PETSc.Options()
        while _given:
            self.options.delValue(_given.pop())
        self._unchecked = [PREFIX + key.removeprefix("-").removeprefix(PREFIX) for key in options]
        for key, value in zip(self._unchecked, options.values(), strict=True):
            self._set(key, value)
        self._own_workspace = not self.options.hasName(WORKSPACE)
        if self._own_workspace:
            self._set(WORKSPACE, WORKSPACE_PERCENT[0])
        self.ksp.setOptionsPrefix(PREFIX)
        self.ksp.setType("preonly")
        self.ksp.pc.setType("lu")
        self.ksp.pc.setFactorSolverType("mumps")
        try:
            self.ksp.setFromOptions()
        except PETSc.Error as error:
            raise InputError(f"PETSc does not take the options {options}: {_reason(error)}") from error

    def _set(self, key, value):
        self.options[key] = value
        _given.append(key)

    def factor(self, data):
        values = np.zeros(len(self.indices))
        values[self.places] = data
        if self.A is None:
            self.A = self.PETSc.Mat().createAIJ(self.sizes, csr=(self.indptr, self.indices, values), comm=self.comm)
            self.ksp.setOperators(self.A)
            self.x, self.b = self.A.createVecs()
        else:
            self.A.setValuesCSR(self.indptr, self.indices, values)
            self.A.assemble()
        self._norm = self.A.norm(self.PETSc.NormType.INFINITY)
        for percent in WORKSPACE_PERCENT:
            if self._own_workspace and percent > WORKSPACE_PERCENT[0]:
                self._set(WORKSPACE, percent)
                self.ksp.reset()
                self.ksp.setFromOptions()
                self.ksp.setOperators(self.A)
            self._call(self.ksp.setUp)
            if self._mumps_status() not in WORKSPACE_ERRORS:
                return

    def _mumps_status(self):
        """INFOG(1) of MUMPS, 0 where another solver is used."""
        pc = self.ksp.pc
        if pc.getType() not in ("lu", "cholesky") or pc.getFactorSolverType() != "mumps":
            return 0
        return pc.getFactorMatrix().getMumpsInfog(1)

    def _call(self, function, *args):
        try:
            return function(*args)
        except self.PETSc.Error as error:
            raise SolveError(f"backend 'petsc': {_reason(error)}") from error

    def _factor(self, matrix):
        raise AssertionError("PETSc keeps its own matrix: `factor` does it all")

    def solve(self, b):
        self.b.array[:] = b
        self._call(self.ksp.solve, self.b, self.x)
        self._check_options()
        if self.ksp.reason < 0:
            names = {v: k for k, v in vars(self.PETSc.KSP.ConvergedReason).items() if isinstance(v, int)}
            status = self._mumps_status()
            raise SolveError(f"backend 'petsc': KSP stopped with {names.get(self.ksp.reason, self.ksp.reason)} after "
                             f"{self.ksp.its} iterations" + (f" (MUMPS INFOG(1) = {status})" if status else ""))
        return self.x.array.copy()

    def _check_options(self):
        """Refuse options that PETSc has not looked at in the first solve: they are misspelt or belong elsewhere."""
        library, used = ctypes.CDLL(self.PETSc.__file__), ctypes.c_int(1)  # petsc4py 3.18 does not wrap this query
        while self._unchecked:
            name = self._unchecked.pop()
            library.PetscOptionsUsed(None, name.encode(), ctypes.byref(used))
            if not used.value:
                raise InputError(f"PETSc did not use the option -{name}: check its spelling")

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


def _with_diagonal(indptr, indices, first):
    """CSR pattern with all diagonal entries, which PETSc's own factorisations ask for, and the places of the others."""
    n = len(indptr) - 1
    rows = np.repeat(np.arange(n), np.diff(indptr))
    width = int(max(indices.max(), first + n)) + 1
    keys = rows * width + indices
    every = np.union1d(keys, np.arange(n) * width + first + np.arange(n))
    counts = np.bincount(every // width, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]), every % width, np.searchsorted(every, keys)


def _mpi():
    from mpi4py import MPI

    return MPI


def _reason(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else str(error)
