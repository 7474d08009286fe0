"""Square nonlinear equations: what Newton's method and homotopies see, and all that they see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class NonlinearEquations(ABC):
    """Square nonlinear equations `R(x) = 0` with the tangent `A = dR/dx`.

    `x` is an array that the equations know how to read; it may hold more than the unknowns, such as prescribed values.
    Residuals and steps have one number per unknown, `(n,)`, and are scaled, so that one norm measures them all. `R`,
    `A`, norms and products are stated here for `x` that is the array of unknowns, unscaled: then `evaluate` and
    `linear_step` are all that a subclass has to state.

    On several ranks `x`, residuals and steps are the part that a rank keeps; norms and products are those of all, and
    every rank calls every method. An error of one rank is raised on all of them, at the latest by `norm`.

    Attributes
    ----------
    comm : mpi4py communicator or None
        Of the ranks that share the equations.
    emphasis : ndarray, shape (n,), or None
        Factors by which steps of some unknowns count more than in `norm`; None on all ranks where there are none.
    state_unknowns : ndarray, shape (n,), or None
        1 for unknowns that have to settle, 0 for others, such as multipliers, which singular positions leave open.
    """

    comm = emphasis = state_unknowns = None

    @abstractmethod
    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """Residual R(x), shape (n,), which the next call may overwrite; keeps what `linear_step` needs of the tangent.
        """

    @abstractmethod
    def linear_step(self, residual: np.ndarray) -> np.ndarray:
        """Solution s of `A s = residual`, shape (n,), with the tangent of the last `evaluate`.

        Raises
        ------
        SolveError
            When there is none; SingularMatrix when A is singular.
        """

    # ---- unknowns

    def moved(self, x: np.ndarray, step: np.ndarray, length: float) -> np.ndarray:
        """`x + length * step`, a new array, for a scaled step."""
        return x + length * step

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """The unknowns among `x`, scaled, shape (n,)."""
        return x

    def take(self, x: np.ndarray) -> np.ndarray:
        """The part of all unknowns `x` that this rank keeps."""
        return x

    def gather(self, x: np.ndarray, root: int | None = None) -> np.ndarray | None:
        """All unknowns on every rank, or on rank `root` alone (None on the others), of the part that each keeps."""
        return x

    # ---- sizes

    def norm(self, values: np.ndarray) -> float:
        """Largest magnitude of a residual or a step; infinite or NaN where it is not finite."""
        return float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))  # no array of magnitudes

    def dot(self, a: np.ndarray, b: np.ndarray) -> float:
        """Scalar product of two residuals or steps."""
        return float(a @ b)

    def size(self, x: np.ndarray) -> float:
        """Largest magnitude of the scaled unknowns."""
        return self.norm(self.scaled(x))

    # ---- places, for messages

    @property
    def start(self) -> dict[str, Any]:
        """Where the equations start, as keywords of `Status.failure`: "element" and "time" [s], None without any."""
        return {"element": None, "time": None}

    def worst(self, residual: np.ndarray, x: np.ndarray | None = None) -> dict[str, Any]:
        """Where the residual is largest, or, when `x` is given, where R(x) is not finite first; as `start`.

        On several ranks also the "rank" and its "slab", first and last element.
        """
        return self.start


class SaddleEquations(NonlinearEquations):
    """Stationarity of a Lagrangian, `grad (J(x) + y . c(x)) = 0`, whose unknowns are x and the costates y.

    The tangent is symmetric, of the Hessian W of the Lagrangian and the Jacobian of c. The methods see the equations
    with part of the costates (Gauss-Newton: with none), and steps that use the factors at hand once more.

    Attributes
    ----------
    dual : ndarray of bool, shape (n,)
        Which unknowns are costates, and which rows are the conditions c.
    objective_size : float
        What J is over in the scaled equations.
    """

    dual: np.ndarray
    objective_size = 1.0

    @abstractmethod
    def with_costates(self, x: np.ndarray, factor: float) -> np.ndarray:
        """`x` with its costates multiplied."""

    @abstractmethod
    def objective(self, x: np.ndarray) -> float:
        """J, on all ranks."""

    def excess(self) -> int | None:
        """How many eigenvalues of the tangent of the last `evaluate` are negative beyond one per condition, 0 at a
        minimum; None where that is not known."""
        return None

    def excess_of_factors(self) -> int | None:
        """As `excess`, of the tangent that was factored last, where its factors tell."""
        return None

    @abstractmethod
    def factor(self) -> None:
        """Factor the tangent of the last `evaluate`, for `solve`; `linear_step` does so itself.

        Raises
        ------
        SolveError
        """

    @abstractmethod
    def solve(self, residual: np.ndarray) -> np.ndarray:
        """As `linear_step`, on the factors that are there, unchecked."""

    @abstractmethod
    def multiply(self, step: np.ndarray) -> np.ndarray:
        """Product of the tangent that was factored last with a step, shape (n,)."""
