"""PETSc, serial or distributed by rows. Every option reaches it through the prefix `timefem_`."""

from __future__ import annotations

import atexit
import ctypes
import gc
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import validate
from ...errors import InputError, SolveError
from ...sparse import infinity_norm
from ...validate.options import KRYLOV, PETSC_METHODS, SHORTHANDS
from .base import REFINE_ABOVE, LinearOptions, LinearSolver
from .petsc_matrix import AssembledMatrix, Blocks, RowMatrix, check_numpy, petsc
from .petsc_substructure import Substructure

PREFIX = "timefem_"
WORKSPACE = PREFIX + "mat_mumps_icntl_14"  # extra workspace of MUMPS in percent, for pivots that are delayed
WORKSPACE_PERCENT = (100, 400, 1600)
LAG = PREFIX + "pc_chain_lag"  # time-chain substructuring factors in every lag-th Newton iteration only
WORKSPACE_ERRORS = (-8, -9, -14, -15, -17, -20)  # INFOG(1) of MUMPS
FACTOR_ENTRIES = 29  # INFOG of MUMPS: numbers in the factors, negative in millions
ADVICE = "; errors travel through all of the time span, which takes many iterations: take method='substructuring'"
NO_TRANSPOSE = ("superlu_dist",)  # solves with A where A^T is asked for, and says nothing
SLABS = PREFIX + "pc_time_slabs"  # slabs of elements on each rank, for pc_type fieldsplit and asm
DIRECT = {"ksp_type": "preonly", "pc_type": "lu", "pc_factor_mat_solver_type": "mumps"}  # of blocks
SCHUR = {"ksp_type": "gmres", "ksp_rtol": 1e-12, "ksp_gmres_restart": 200, "pc_type": "none"}  # of the complement

_given = []  # options in PETSc's database that came from the last solver made here
_alive = weakref.WeakSet()  # solvers
_comms = []  # of solvers on several ranks, alike on all of them


class PETScSolver(LinearSolver):
    """KSP with `preonly`, LU and MUMPS unless options say otherwise; `pc_type python` is time-chain substructuring.

    Parameters
    ----------
    pattern : object with `indptr`, `indices`
        CSR pattern of the local rows, with global columns. For substructuring also the slabs, see `SlabRows`.
    options : dict
        PETSc options, for instance {"ksp_type": "gmres", "pc_type": "bjacobi"}.
    comm : mpi4py communicator, optional
        Default: this process alone.
    """

    name = "petsc"

    def __init__(self, pattern, options, comm=None):
        PETSc = petsc()
        self.PETSc, self.pattern, self.comm = PETSc, pattern, comm if comm is not None and comm.size > 1 else None
        self._comm = PETSc.COMM_SELF if comm is None else PETSc.Comm(comm)
        if not _alive:
            atexit.unregister(_destroy_all)
            atexit.register(_destroy_all)  # before PETSc ends, whose exit was registered when it was imported
        _alive.add(self)
        if self.comm is not None and self._comm not in _comms:
            _comms.append(self._comm)
        PETSc.garbage_cleanup(self._comm)  # what Python let go of is freed only here
        self.ksp = PETSc.KSP().create(self._comm)
        self.options = PETSc.Options()
        while _given:
            self.options.delValue(_given.pop())
        self._unchecked = [PREFIX + _bare(key) for key in options]
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
        self.n_iterations = 0
        self.direct, kind = self.ksp.getType() == "preonly", self.ksp.pc.getType()
        self.slabs = self._make_slabs(pattern) if kind == "python" else None
        self._order, self._by_schur = None, False
        if kind == "asm":
            self._make_pieces(pattern)
        elif kind == "fieldsplit":
            self._make_splits(pattern)
        self._rows = RowMatrix(pattern, self._comm) if self.slabs else AssembledMatrix(pattern, self._comm, self._order)
        self.A = self._rows.mat
        self.ksp.setOperators(self.A)
        self.x, self.b = self.A.createVecs()

    def _make_slabs(self, pattern):
        lag = self._integer(LAG, 1)
        if lag > 1 and self.ksp.getType() == "preonly":
            raise InputError(f"-{LAG} {lag} needs a Krylov method, for instance -{PREFIX}ksp_type gmres")
        slabs = Substructure(pattern, self._comm, lag)
        self.ksp.pc.setPythonContext(slabs)
        return slabs

    def _make_pieces(self, pattern):
        """Slabs with an overlap for additive Schwarz, where they are asked for; else PETSc cuts by itself."""
        sets = self.options.getString(PREFIX + "pc_asm_sets", "")
        if not sets:
            return
        blocks = Blocks(sets, pattern, self._comm, self._slabs_here(), ("slabs",))
        pieces = blocks.pieces(self._integer(PREFIX + "pc_asm_overlap", 1))
        self.ksp.pc.setASMLocalSubdomains(len(pieces), pieces, blocks.pieces(0))
        self.ksp.pc.setASMOverlap(0)
        self._solve_blocks("sub_", DIRECT)

    def _make_splits(self, pattern):
        """The blocks of a fieldsplit; of a Schur complement the second one is solved by iterations."""
        sets = self.options.getString(PREFIX + "pc_fieldsplit_sets", "slabs")
        blocks = Blocks(sets, pattern, self._comm, self._slabs_here())
        self._by_schur = self.options.getString(PREFIX + "pc_fieldsplit_type", "") == "schur"
        self.ksp.pc.setFieldSplitIS(*blocks)
        for number, name in enumerate(blocks.names):
            self._solve_blocks(f"fieldsplit_{name}_", SCHUR if self._by_schur and number else DIRECT)
        self._order = blocks.rows

    def _solve_blocks(self, prefix, options):
        """Solve the blocks with this prefix so, unless options say otherwise."""
        for key, value in options.items():
            if not self.options.hasName(PREFIX + prefix + key):
                self._set(PREFIX + prefix + key, value)

    def _slabs_here(self):
        return self._integer(SLABS, 1 if self.comm else 4)

    def _integer(self, name, default):
        try:
            return self.options.getInt(name, default)
        except self.PETSc.Error as error:
            raise InputError(f"-{name} must be an integer: {_reason(error)}") from error

    def _set(self, key, value):
        self.options[key] = value
        _given.append(key)

    def factor(self, data):
        self._rows.take(data)
        self._data, self._norms = data, {False: self.largest(np.array([infinity_norm(self.pattern.indptr, data)]))[0]}
        if self.slabs:
            self._call(self.slabs.factor, data, np.isfinite(self._norms[False]))
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

    def _factored_by(self):
        """The package of PETSc's LU or Cholesky decomposition, "" with other preconditioners."""
        pc = self.ksp.pc
        return pc.getFactorSolverType() if pc.getType() in ("lu", "cholesky") else ""

    def _mumps_status(self):
        """INFOG(1) of MUMPS, 0 where another solver is used."""
        return self.ksp.pc.getFactorMatrix().getMumpsInfog(1) if self._factored_by() == "mumps" else 0

    @property
    def no_transpose(self):
        package = "" if self.slabs else self._factored_by()
        return f"PETSc's {package} has no transposed solves" if package in NO_TRANSPOSE else ""

    @property
    def factor_size(self):
        if self.slabs:
            return self.slabs.factor_size
        if self._factored_by() != "mumps":
            return None
        size = self.ksp.pc.getFactorMatrix().getMumpsInfog(FACTOR_ENTRIES)
        return size if size >= 0 else -10**6 * size

    @property
    def facts(self):
        iterations = {} if self.direct else {"krylov_iterations": self.n_iterations}
        return iterations | (self.slabs.facts if self.slabs else {})

    def _call(self, function, *args):
        try:
            return function(*args)
        except self.PETSc.Error as error:
            raise SolveError(f"backend 'petsc': {_reason(error)}") from error

    def _factor(self, matrix):
        raise AssertionError("PETSc keeps its own matrix: `factor` does it all")

    def solve(self, b):
        self._put_rows(b)
        self._solve(self.ksp.solve, self.b, self.x)
        return self.x.array.copy()

    def solve_transposed(self, b):
        self.check_transpose()
        self.x.array[:] = b
        self._solve(self.ksp.solveTranspose, self.x, self.b)
        return self._get_rows()

    def _put_rows(self, values):
        self.b.array[slice(None) if self._order is None else self._order] = values

    def _get_rows(self):
        return self.b.array.copy() if self._order is None else self.b.array[self._order]

    def _solve(self, solve, right, solution):
        self._call(solve, right, solution)
        self._check_options()
        self.n_iterations = max(self.n_iterations, self.ksp.its, self._iterations_of_complement())
        if self.ksp.reason < 0 and self.slabs and not self.slabs.current:  # the factors are too old
            self._call(self.slabs.factor, self._data, True, True)
            self._call(solve, right, solution)
        if self.ksp.reason < 0:
            names = {v: k for k, v in vars(self.PETSc.KSP.ConvergedReason).items() if isinstance(v, int)}
            status = self._mumps_status()
            raise SolveError(f"backend 'petsc': KSP stopped with {names.get(self.ksp.reason, self.ksp.reason)} after "
                             f"{self.ksp.its} iterations" + (f" (MUMPS INFOG(1) = {status})" if status else "")
                             + ("" if self.direct else ADVICE))

    def _iterations_of_complement(self):
        """Of the last solve with the Schur complement of the multipliers, in which the work of that method is."""
        return self.ksp.pc.getFieldSplitSchurGetSubKSP()[1].its if self._by_schur else 0

    def solve_checked(self, b, transposed=False, refine_above=REFINE_ABOVE):
        try:
            return super().solve_checked(b, transposed, refine_above)
        except SolveError as error:
            raise error if self.direct or ADVICE in str(error) else SolveError(f"{error}{ADVICE}") from error

    def _check_options(self):
        """Refuse options that PETSc has not looked at in the first solve: they are misspelt or belong elsewhere."""
        library, used = ctypes.CDLL(self.PETSc.__file__), ctypes.c_int(1)  # petsc4py 3.18 does not wrap this query
        while self._unchecked:
            name = self._unchecked.pop()
            library.PetscOptionsUsed(None, name.encode(), ctypes.byref(used))
            if not used.value:
                raise InputError(f"PETSc did not use the option -{name}: check its spelling")

    def largest(self, *vectors):
        local = super().largest(*vectors)
        if self.comm is None:
            return local
        every = np.array(local)
        self.comm.Allreduce(_mpi().IN_PLACE, every, op=_mpi().MAX)
        return every.tolist()

    def multiply(self, x):
        self.x.array[:] = x
        self.A.mult(self.x, self.b)
        return self._get_rows()

    def multiply_transposed(self, x):
        self._put_rows(x)
        self.A.multTranspose(self.b, self.x)
        return self.x.array.copy()

    def _one_norm(self):
        return self._rows.one_norm()


def _destroy_all():
    """Free what refers to Python objects while there is Python: PETSc's end would call what is gone."""
    for solver in list(_alive):
        if solver.comm is None:
            for thing in (solver.ksp, solver.A, solver.x, solver.b):
                thing.destroy()
        else:  # some ranks may have let go of it before: PETSc destroys what all have let go of
            solver.ksp = solver.A = solver.x = solver.b = solver.slabs = solver._rows = None
    gc.collect()
    for comm in _comms:
        petsc().garbage_cleanup(comm)


def _mpi():
    from mpi4py import MPI

    return MPI


def _reason(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else str(error)


def _bare(key):
    return key.removeprefix("-").removeprefix(PREFIX)


@dataclass(frozen=True)
class PETSc(LinearOptions):
    """PETSc: MUMPS, time-chain substructuring, or what its options say; shared among ranks under mpirun.

    Parameters
    ----------
    options : dict, optional
        PETSc options, with or without the prefix `timefem_`, for instance {"ksp_type": "gmres", "pc_type": "asm"}.
    method : {"mumps", "substructuring", "block-jacobi", "gauss-seidel", "schwarz", "schur"}, optional
        The general direct solver MUMPS (unless options say otherwise), or time-chain substructuring: each rank
        eliminates the inside of its slab of elements, which is several times faster. "chain" is short for the latter.
        The others are GMRES around blocks that MUMPS solves, for studies: slabs of elements (`pc_time_slabs` on each
        rank, default 4 on one and 1 on several) side by side, one after the other or with an overlap of
        `pc_asm_overlap` elements, and the Schur complement of the multipliers.

    Raises
    ------
    InputError
        For an unknown method, or options that contradict it.
    """

    name = "petsc"
    needs = ("petsc4py", "mpi4py")
    install = "make env, or pip install 'timefem[parallel]'"
    distributed = True

    options: dict = field(default_factory=dict, hash=False)
    method: str | None = None

    @classmethod
    def check(cls) -> None:
        super().check()
        check_numpy()

    def __post_init__(self):
        if self.options is not None and not isinstance(self.options, Mapping):
            raise InputError(f"options must be a dict of PETSc options, not {self.options!r}")
        given = dict(self.options or {})
        for key, value in given.items():
            if not isinstance(key, str) or not _bare(key):
                raise InputError(f"PETSc options have names such as 'ksp_type', not {key!r}")
            if not (value is None or isinstance(value, str | int | float | bool)):
                raise InputError(f"the PETSc option {key!r} must be text, a number or a bool, not {value!r}")
        method = SHORTHANDS.get(self.method, self.method)
        if method is not None:
            validate.choice("method", method, tuple(PETSC_METHODS))
            for key in given:
                if _bare(key) in PETSC_METHODS[method] and _bare(key) not in (*KRYLOV, "pc_asm_overlap"):
                    raise InputError(f"give either method or the PETSc option {key!r}")
        object.__setattr__(self, "options", given)
        object.__setattr__(self, "method", method)

    @property
    def settings(self) -> dict[str, Any]:
        """All PETSc options, those of the method included."""
        return {**PETSC_METHODS.get(self.method, {}), **self.options}

    @property
    def own_slabs(self) -> bool:
        """Whether nothing but substructuring, if anything, is asked for, so that timefem's own slabs may do it."""
        return not self.options and self.method in (None, "substructuring")

    @property
    def by_slabs(self) -> bool:
        """Whether slabs of elements are eliminated on their own, by options given here."""
        return any(_bare(key) == "pc_type" and value == "python" for key, value in self.settings.items())

    def make(self, pattern: Any, comm: Any = None) -> Any:
        """The solver of rows that the ranks of an mpi4py communicator own; default: of this process alone."""
        return PETScSolver(pattern, self.settings, comm)
