"""Square nonlinear equations: what Newton's method and homotopies see, and all that they see; and a warning of
ill-conditioned tangents, from five solves with factors that are at hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...assembly import Scaling
from ...errors import IllConditioned, warn
from ...mechanics.parts import body_of
from ...memory import Late
from ...sparse import estimated_norm, product_of_magnitudes

scipy = Late("scipy")

WARN_ABOVE = 1e-6  # estimated relative forward error
EPS = np.finfo(float).eps
SORTS = {"state": ("coordinates", "momenta"),
         "multipliers": ("position-level multipliers", "velocity-level multipliers")}


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


def warn_if_ill_conditioned(equations, x):
    """Warn when rounding alone may cost a solve more than 1e-6 of its answer.

    Parameters
    ----------
    equations : ElementEquations
        On one process, without blocks at the ends, its tangent factored.
    x : ndarray
        All dofs, at which the tangent was taken.
    """
    error, worst = forward_error(equations, x)
    if not error > WARN_ABOVE:
        return
    pattern = equations.assembler.pattern
    dof = np.arange(pattern.n_columns_full)[pattern.column_index][worst]
    unknown, element = name_unknown(equations.plan, dof)
    scaling = equations.assembler.scaling
    if scaling.name == "full":
        remedy = "with driver='windows', or longer elements, it would be smaller"
    else:
        plan, mesh = equations.plan, equations.mesh
        full = Scaling.of("full", plan.system, plan.element, mesh.nodes[0], x[:plan.system.n_z])
        scaled = full.columns(plan.columns, mesh.lengths)
        remedy = f"with scaling='full' it would be {forward_error(equations, x, scaled)[0]:.0e}"
    warn(f"ill-conditioned tangent: with scaling={scaling.name!r}, rounding may cost {error:.0e} of the "
         f"answer, at worst in the {unknown} in element {element + equations.first_element}; {remedy}",
         IllConditioned)


def forward_error(equations, x, sizes=None):
    """Estimated forward error of the unknowns by rounding, and the unknown for which it is largest.

    The bound `eps | |A^-1| |A| |x| | / |x|` in the maximum norm of the scaled unknowns x, as in LAPACK's error bounds;
    it does not depend on the weights of the rows. Takes about five solves.

    Parameters
    ----------
    equations, x
        As in `warn_if_ill_conditioned`.
    sizes : ndarray, optional
        Sizes of all unknowns in whose norm to measure; default: those of the equations.

    Returns
    -------
    float
        Relative to the largest scaled unknown.
    int
        Number of a free column.
    """
    columns, linear, n = equations.assembler.pattern.column_index, equations.linear, equations.n_unknowns
    own = equations.assembler.column_scale[columns]
    scaled = np.abs(x[columns] / own)
    if not scaled.any():
        return 0.0, 0
    size = own if sizes is None else sizes[columns]
    pattern = equations.assembler.pattern
    rounding = product_of_magnitudes(pattern.indptr, pattern.indices, equations.data, scaled)
    weight = own / size

    def transposed(b):
        return rounding * linear.solve_transposed(weight * b.ravel())

    def plain(b):
        return weight * linear.solve(rounding * b.ravel())

    inverse = scipy.sparse.linalg.LinearOperator((n, n), transposed, rmatvec=plain, dtype=float)
    bound, direction = estimated_norm(inverse, t=1, itmax=2, compute_v=True)
    return float(EPS * bound / (scaled * weight).max()), int(np.argmax(np.abs(direction)))


def name_unknown(plan, dof):
    """What an unknown is, in words, and the number of its element; `dof` counts all dofs in time order."""
    numbering, system = plan.columns, plan.system
    element = max(dof - numbering.n_node, 0) // numbering.step
    found = {name: np.argwhere(places == dof - element * numbering.step)
             for name, places in zip(plan.element.trial, numbering.fields, strict=True)}
    name = next(n for n, places in found.items() if len(places))
    component = found[name][0, 1]
    if name not in SORTS:  # a further field of a one-step scheme
        return name, element
    half = system.n_q if name == "state" else system.n_constraints
    level, component = divmod(component, half)
    if name == "multipliers":
        return f"{SORTS[name][level]} of '{system.constraint_names[component]}'", element
    return f"{SORTS[name][level]} of '{system.label(body_of(system, component))}'", element
