"""Linear solvers: factor the tangent, solve, and check the answer; and those of other packages, SuperLU and CHOLMOD.

A solver is one file with two classes: a frozen dataclass with its options, `LinearOptions`, and what it makes for a
matrix, a `LinearSolver`. One entry in the table of `timefem.validate.options` makes it known by a name.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import validate
from ...errors import InputError, MissingBackend, NamedArguments, SingularMatrix, SolveError
from ...memory import Late
from ...sparse import CompressedRows, estimated_norm, infinity_norm, sparse_lu
from ...validate.options import LINEAR_SOLVERS, said

scipy = Late("scipy")

REFINE_ABOVE = 1e-14  # backward error from which one step of refinement is tried
REFUSE_ABOVE = 1e-6  # backward error that is no solution
CONDITION_LIMIT = 1e15  # of A^T A for CHOLMOD: beyond it, refinement no longer converges


@dataclass(frozen=True)
class LinearOptions(NamedArguments, ABC):
    """Options of a linear solver: a value that says which solver, and how; validated when it is made.

    Attributes
    ----------
    name : str
        Shorthand of the solver, in the table and in messages.
    needs : tuple of str
        Packages without which it does not run.
    install : str
        How to get them.
    distributed : bool
        Whether it shares a matrix among the ranks of a communicator: `make` then takes that as its second argument.
    by_slabs : bool
        Whether it eliminates slabs of elements on their own, so that they should be of equal work, not size.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    install: ClassVar[str] = ""
    distributed: ClassVar[bool] = False
    by_slabs = False

    @abstractmethod
    def make(self, pattern: Any) -> Any:
        """The `LinearSolver` of matrices with a pattern: an object with `indptr`, `indices` (CSR), and in time order
        `column_starts`, `row_starts` (see `ChainLU`)."""

    @classmethod
    def check(cls) -> None:
        """Refuse a solver whose packages are not installed.

        Raises
        ------
        MissingBackend
            Says how to install them.
        """
        missing = [m for m in cls.needs if importlib.util.find_spec(m) is None]
        if missing:
            raise MissingBackend(f"backend {cls.name!r} needs {' and '.join(missing)}, which is not installed: "
                                 f"{cls.install}; backend 'chain' needs nothing")


class LinearSolver(ABC):
    """Solves `A x = b` and `A^T x = b` for one pattern and many matrices A.

    A new solver states `_factor`, `solve` and `solve_transposed`; it keeps what it can between `factor` calls. On
    several ranks vectors are those of the rows and columns that a rank owns, and norms are those of all.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.

    Attributes
    ----------
    name : str
    comm : mpi4py communicator or None
        Of the ranks that share the matrix.
    ordering : str
        In which order it eliminates, where it has a choice.
    direct : bool
        Whether a solve costs little beside the factorisation.
    no_transpose : str
        Why it cannot solve with the transposed matrix; empty where it can.
    needs_numbers_only : bool
        Whether `_factor` takes nothing but `data` of the matrix, which then is none of SciPy's.
    """

    name: ClassVar[str]
    comm = None
    ordering = ""
    direct = True
    no_transpose = ""
    needs_numbers_only = False

    def __init__(self, pattern: Any) -> None:
        self.pattern, self._matrix = pattern, None

    @abstractmethod
    def _factor(self, matrix):
        """Factor the CSR matrix; raise SingularMatrix when it is singular."""

    @abstractmethod
    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solution x of `A x = b`, shape (n,)."""

    @abstractmethod
    def solve_transposed(self, b: np.ndarray) -> np.ndarray:
        """Solution x of `A^T x = b`, shape (n,), on the same factors.

        Raises
        ------
        InputError
            Where the solver has no such solve; says which has.
        """

    @property
    def factor_size(self) -> int | None:
        """Numbers stored for the factors, on all ranks; None where the solver does not tell."""
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """What this rank can tell of its share of the work, numbers by name."""
        return {}

    def factor(self, data: np.ndarray) -> None:
        """Factor the matrix with the CSR values `data`, of which it may keep a reference.

        Raises
        ------
        SolveError
            When it cannot be factored; SingularMatrix when it is singular.
        """
        if self._matrix is None:
            self._matrix = self._new_matrix(data)
        self._matrix.data = data
        self._norms = {False: infinity_norm(self.pattern.indptr, data)}
        self._factor(self._matrix)

    # ---- the matrix, in which solvers may hold it as they like

    def _new_matrix(self, data):
        if self.needs_numbers_only:
            return CompressedRows(self.pattern.indptr, self.pattern.indices, data)
        n = len(self.pattern.indptr) - 1
        return scipy.sparse.csr_matrix((data, self.pattern.indices, self.pattern.indptr), shape=(n, n))

    def multiply(self, x: np.ndarray) -> np.ndarray:
        """Product `A x` of the last matrix."""
        return self._matrix @ x

    def multiply_transposed(self, x: np.ndarray) -> np.ndarray:
        """Product `A^T x`."""
        return self._matrix.T @ x

    def norm(self, transposed: bool = False) -> float:
        """Largest sum of magnitudes of a row of A, the maximum norm; of a column, the 1-norm, for `A^T`."""
        if transposed not in self._norms:
            self._norms[transposed] = self._one_norm()
        return self._norms[transposed]

    def _one_norm(self):
        return float(np.bincount(self.pattern.indices, np.abs(self._matrix.data)).max(initial=0.0))

    def largest(self, *vectors: np.ndarray) -> list[float]:
        """Largest magnitude of each, on all ranks."""
        return [float(np.maximum(v.max(initial=0.0), -v.min(initial=0.0))) for v in vectors]

    # ---- answers that are checked

    def check_transpose(self) -> None:
        """Refuse, by name, a solver without transposed solves.

        Raises
        ------
        InputError
        """
        if self.no_transpose:
            raise InputError(f"{self.no_transpose}; backend 'chain' and PETSc's MUMPS have transposed solves")

    def backward_error(self, x: np.ndarray, b: np.ndarray,
                       transposed: bool = False) -> tuple[float, np.ndarray]:
        """`|b - A x| / (|A| |x| + |b|)` in the maximum norm: the relative change of A and b of which x is the solution.

        Returns
        -------
        error : float
        residual : ndarray
            `b - A x`; for the transposed matrix `b - A^T x`.
        """
        residual = b - (self.multiply_transposed if transposed else self.multiply)(x)
        of_x, of_b, of_residual = self.largest(x, b, residual)
        scale = self.norm(transposed) * of_x + of_b
        return 0.0 if scale == 0 else of_residual / scale, residual

    def _answer(self, b, transposed):
        """What it says to `b`, whether or not it works in `b` and keeps what it returns."""
        x = (self.solve_transposed if transposed else self.solve)(b.copy())
        if not isinstance(x, np.ndarray) or (self.comm is None and x.shape != b.shape):
            told = f"one of shape {x.shape}" if isinstance(x, np.ndarray) else repr(x)
            raise SolveError(f"backend {self.name!r} must answer by an array of shape {b.shape}, not {told}")
        return x.copy()

    def solve_checked(self, b: np.ndarray, transposed: bool = False,
                      refine_above: float = REFINE_ABOVE) -> tuple[np.ndarray, float]:
        """Solution and its backward error, after one step of refinement where that helps.

        Parameters
        ----------
        b : ndarray
        transposed : bool
        refine_above : float
            Backward error from which refinement is tried.

        Raises
        ------
        SolveError
            When the answer is no solution.
        InputError
            For a solver without transposed solves.
        """
        if transposed:
            self.check_transpose()
        x = self._answer(b, transposed)
        error, residual = self.backward_error(x, b, transposed)
        if error > refine_above:
            refined = x + self._answer(residual, transposed)
            refined_error, _ = self.backward_error(refined, b, transposed)
            if refined_error < error:
                x, error = refined, refined_error
        if not error <= REFUSE_ABOVE:
            raise SolveError(f"backend {self.name!r} gave no solution: backward error {error:.1e}")
        return x, error


def linear_options(choice=None, *, method=None, options=None):
    """The options of a linear solver, of an object or a shorthand, whose packages are installed.

    Parameters
    ----------
    choice : LinearOptions or str, optional
        Or a shorthand: "chain" (unless given), "superlu", "petsc", "sksparse".
    method, options : optional
        Those of `PETSc`, for the shorthand "petsc".

    Raises
    ------
    InputError
        For an unknown name, or options of another solver.
    MissingBackend
        When its packages are not installed; says how to install them.
    """
    if isinstance(choice, type) and issubclass(choice, LinearOptions):
        raise InputError(f"backend must be an object, {choice.__name__}(), not the class itself")
    name = getattr(choice, "name", choice) or "chain"
    if not isinstance(choice, LinearOptions):
        validate.choice("backend", name, tuple(LINEAR_SOLVERS))
    for argument, given, verb in (("method", method, "is"), ("petsc_options", options, "are")):
        if given and choice != "petsc":
            raise InputError(f"{argument} {verb} given, but the backend is {name!r}: add {said('backend', 'petsc')}"
                             if name != "petsc" else f"{argument} {verb} given beside {choice!r}, which has its own")
    if not isinstance(choice, LinearOptions):
        choice = LINEAR_SOLVERS[name](*((options, method) if name == "petsc" else ()))
    choice.check()
    return choice


class SuperLUSolver(LinearSolver):
    """Columns in time order, which is a good order already."""

    name = "superlu"

    def _factor(self, matrix):
        try:
            self._lu = sparse_lu(matrix.tocsc(), permc_spec="NATURAL")
        except RuntimeError as error:
            raise SingularMatrix(f"backend 'superlu': {error}") from error

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve(b, trans="T")

    @property
    def factor_size(self):
        return self._lu.nnz


@dataclass(frozen=True)
class SuperLU(LinearOptions):
    """SuperLU with partial pivoting, columns in time order (X. S. Li, ACM TOMS 31 (2005)); needs nothing."""

    name = "superlu"

    def make(self, pattern: Any) -> Any:
        return SuperLUSolver(pattern)


class CholmodSolver(LinearSolver):
    """`A^T A x = A^T b` by Cholesky, refined on `A x = b`; `A^T x = b` as `x = A y` of `A^T A y = b`.

    The condition number is squared. The solver estimates it and refuses when no digits would be left.
    """

    name = "sksparse"

    def _factor(self, matrix):
        from sksparse.cholmod import CholmodError, cholesky

        self._rows = 1 / np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        self._scaled = scipy.sparse.diags(self._rows) @ matrix
        normal = (self._scaled.T @ self._scaled).tocsc()
        try:
            self._cholesky = cholesky(normal)
        except CholmodError as error:
            raise SolveError("backend 'sksparse': the normal equations are not positive definite to working "
                             "precision (their condition is that of the tangent squared); use backend 'chain'"
                             ) from error
        inverse = scipy.sparse.linalg.LinearOperator(normal.shape, matvec=self._cholesky, rmatvec=self._cholesky,
                                                     dtype=float)
        condition = estimated_norm(inverse) * abs(normal).sum(axis=0).max()
        if condition > CONDITION_LIMIT:
            raise SolveError(f"backend 'sksparse': the normal equations have condition {condition:.1e}, so that no "
                             "digits would be left; use backend 'chain', or shorter windows")

    def solve(self, b):
        b = b * self._rows
        return _refined(lambda b: self._cholesky(self._scaled.T @ b), lambda x: b - self._scaled @ x, b)

    def solve_transposed(self, b):
        return self._rows * _refined(lambda b: self._scaled @ self._cholesky(b), lambda x: b - self._scaled.T @ x, b)

    @property
    def factor_size(self):
        return self._cholesky.L().nnz


def _refined(solve, residual, b):
    """Solution, refined until its corrections are rounding: this gains the digits that squaring the condition lost."""
    x = solve(b)
    for _ in range(10):
        correction = solve(residual(x))
        x = x + correction
        if np.abs(correction).max() <= 1e-15 * np.abs(x).max():
            break
    return x


@dataclass(frozen=True)
class Cholmod(LinearOptions):
    """CHOLMOD on the normal equations; needs scikit-sparse."""

    name = "sksparse"
    needs = ("sksparse",)
    install = "make env, or pip install 'timefem[sparse]'"

    def make(self, pattern: Any) -> Any:
        return CholmodSolver(pattern)
