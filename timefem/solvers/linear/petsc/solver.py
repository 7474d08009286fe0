"""PETSc, serial or distributed by rows. Every option reaches it through the prefix `timefem_`."""

import atexit
import ctypes
import weakref

import numpy as np

from ....errors import InputError, SolveError
from ..base import LinearSolver
from ..norms import infinity_norm
from .matrix import AssembledMatrix, RowMatrix
from .substructure import Substructure

PREFIX = "timefem_"
WORKSPACE = PREFIX + "mat_mumps_icntl_14"  # extra workspace of MUMPS in percent, for pivots that are delayed
WORKSPACE_PERCENT = (100, 400, 1600)
LAG = PREFIX + "pc_chain_lag"  # time-chain substructuring factors in every lag-th Newton iteration only
WORKSPACE_ERRORS = (-8, -9, -14, -15, -17, -20)  # INFOG(1) of MUMPS

_given = []  # options in PETSc's database that came from the last solver made here
_alive = weakref.WeakSet()  # solvers


class Solver(LinearSolver):
    """KSP with `preonly`, LU and MUMPS unless options say otherwise; `pc_type python` is time-chain substructuring.

    Parameters
    ----------
    pattern : object with `indptr`, `indices`
        CSR pattern of the local rows, with global columns. For substructuring also the slabs, see `SlabRows`.
    options : dict
        PETSc options without prefix, for instance {"ksp_type": "gmres", "pc_type": "bjacobi"}.
    comm : PETSc communicator, optional
        Default: this process alone.
    """

    name = "petsc"

    def __init__(self, pattern, options, comm=None):
        from petsc4py import PETSc

        self.PETSc, self.comm, self._row_starts = PETSc, comm or PETSc.COMM_SELF, pattern.indptr
        if not _alive:
            atexit.unregister(_destroy_all)
            atexit.register(_destroy_all)  # before PETSc ends, whose exit was registered when it was imported
        _alive.add(self)
        PETSc.garbage_cleanup(self.comm)  # what Python let go of is freed only here
        self.ksp = PETSc.KSP().create(self.comm)
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
        self.chain = self._make_chain(pattern) if self.ksp.pc.getType() == "python" else None
        self.matrix = RowMatrix(pattern, self.comm) if self.chain else AssembledMatrix(pattern, self.comm)
        self.A = self.matrix.mat
        self.ksp.setOperators(self.A)
        self.x, self.b = self.A.createVecs()

    def _make_chain(self, pattern):
        try:
            lag = self.options.getInt(LAG, 1)
        except self.PETSc.Error as error:
            raise InputError(f"-{LAG} must be an integer: {_reason(error)}") from error
        if lag > 1 and self.ksp.getType() == "preonly":
            raise InputError(f"-{LAG} {lag} needs a Krylov method, for instance -{PREFIX}ksp_type gmres")
        chain = Substructure(pattern, self.comm, PREFIX, lag)
        self.ksp.pc.setPythonContext(chain)
        return chain

    def _set(self, key, value):
        self.options[key] = value
        _given.append(key)

    def factor(self, data):
        self.matrix.take(data)
        self._data, self._norm = data, self._largest(np.array([infinity_norm(self._row_starts, data)]))
        if self.chain:
            self._call(self.chain.factor, data)
            return
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
        return self._solve(self.ksp.solve, self.b, b, self.x)

    def solve_transposed(self, b):
        """Solution x of A^T x = b, shape (n,)."""
        return self._solve(self.ksp.solveTranspose, self.x, b, self.b)

    def _solve(self, solve, right, b, solution):
        right.array[:] = b
        self._call(solve, right, solution)
        self._check_options()
        if self.ksp.reason < 0 and self.chain and not self.chain.current:  # the factors are too old
            self._call(self.chain.factor, self._data, True)
            self._call(solve, right, solution)
        if self.ksp.reason < 0:
            names = {v: k for k, v in vars(self.PETSc.KSP.ConvergedReason).items() if isinstance(v, int)}
            status = self._mumps_status()
            raise SolveError(f"backend 'petsc': KSP stopped with {names.get(self.ksp.reason, self.ksp.reason)} after "
                             f"{self.ksp.its} iterations" + (f" (MUMPS INFOG(1) = {status})" if status else ""))
        return solution.array.copy()

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

    def multiply(self, x):
        self.x.array[:] = x
        self.A.mult(self.x, self.b)
        return self.b.array.copy()

    def _backward_error(self, x, b):
        residual = b - self.multiply(x)
        scale = self._norm * self._largest(x) + self._largest(b)
        return residual, self._largest(residual) / scale if scale > 0 else 0.0


def _destroy_all():
    """Free what refers to Python objects while there is Python: PETSc's end would call what is gone."""
    for solver in list(_alive):
        for thing in (solver.ksp, solver.A, solver.x, solver.b):
            thing.destroy()


def _mpi():
    from mpi4py import MPI

    return MPI


def _reason(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else str(error)
