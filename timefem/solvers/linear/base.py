"""Linear backends: factor the tangent, solve, and check the answer."""

import importlib.util
from abc import ABC, abstractmethod

import numpy as np
import scipy

from ... import validate
from ...errors import MissingBackend, SolveError
from .norms import infinity_norm

# name -> module (class LinearSolver there), modules needed, how to install them
BACKENDS = {
    "chain": ("time_chain.solver", (), ""),
    "superlu": ("superlu", (), ""),
    "petsc": ("petsc.solver", ("petsc4py", "mpi4py"), "make env, or pip install 'timefem[parallel]'"),
    "sksparse": ("cholmod", ("sksparse",), "make env, or pip install 'timefem[sparse]'"),
}

METHODS = {  # of the backend "petsc": options of PETSc
    "mumps": {"pc_type": "lu", "pc_factor_mat_solver_type": "mumps"},
    "chain": {"pc_type": "python"},
}

REFINE_ABOVE = 1e-14  # backward error from which one step of refinement is tried
REFUSE_ABOVE = 1e-6  # backward error that is no solution


def check_backend(name):
    """Return a known and installed backend's name.

    Raises
    ------
    InputError
        For an unknown name.
    MissingBackend
        When its packages are not installed; says how to install them.
    """
    validate.choice("backend", name, tuple(BACKENDS))
    missing = [m for m in BACKENDS[name][1] if importlib.util.find_spec(m) is None]
    if missing:
        raise MissingBackend(f"backend {name!r} needs {' and '.join(missing)}, which is not installed: "
                             f"{BACKENDS[name][2]}; backend 'chain' needs nothing")
    return name


def method_options(method, backend, options):
    """PETSc options of a method, with the given ones.

    Raises
    ------
    InputError
        For an unknown method, another backend, or options that contradict it.
    """
    validate.choice("method", method, tuple(METHODS))
    if backend != "petsc":
        raise validate.InputError(f"method is given, but the backend is {backend!r}: add backend='petsc'")
    given = {key.removeprefix("-").removeprefix("timefem_"): key for key in options or {}}
    for key in METHODS[method]:
        if key in given:
            raise validate.InputError(f"give either method or the PETSc option {given[key]!r}")
    return {**METHODS[method], **(options or {})}


def make_linear_solver(name, pattern, options=None):
    """The linear solver called `name`, for a `ChainPattern`."""
    check_backend(name)
    module = importlib.import_module(f".{BACKENDS[name][0]}", __package__)
    return module.Solver(pattern, options or {})


class LinearSolver(ABC):
    """A direct or iterative solver for one pattern and many matrices.

    Subclasses keep what they can between `factor` calls.
    """

    def __init__(self, pattern, options):
        if options:
            raise validate.InputError(f"backend {self.name!r} takes no options, but got {', '.join(options)}")
        self.pattern = pattern

    @abstractmethod
    def _factor(self, matrix):
        """Factor the CSR matrix; raise SolveError when it is singular."""

    @abstractmethod
    def solve(self, b):
        """Solution x of A x = b, shape (n,)."""

    def factor(self, data):
        """Factor the matrix with the given CSR values."""
        if not hasattr(self, "matrix"):
            n = len(self.pattern.indptr) - 1
            self.matrix = scipy.sparse.csr_matrix((data, self.pattern.indices, self.pattern.indptr), shape=(n, n))
        self.matrix.data = data
        self._norm = infinity_norm(self.pattern.indptr, data)
        self._factor(self.matrix)

    def multiply(self, x):
        """Product of the last matrix with x."""
        return self.matrix @ x

    def solve_checked(self, b):
        """Solution and its backward error |b - A x| / (|A| |x| + |b|), after one step of refinement where it helps.

        Raises
        ------
        SolveError
            When the answer is no solution.
        """
        x = self.solve(b)
        residual, error = self._backward_error(x, b)
        if error > REFINE_ABOVE:
            refined = x + self.solve(residual)
            _, refined_error = self._backward_error(refined, b)
            if refined_error < error:
                x, error = refined, refined_error
        if not error <= REFUSE_ABOVE:
            raise SolveError(f"backend {self.name!r} gave no solution: backward error {error:.1e}")
        return x, error

    def _backward_error(self, x, b):
        residual = b - self.multiply(x)
        scale = self._norm * np.abs(x).max() + np.abs(b).max()
        return residual, float(np.abs(residual).max() / scale) if scale > 0 else 0.0
