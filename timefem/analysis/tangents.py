"""Condition numbers of tangents against the length of the elements, and the rank of their multipliers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from .. import validate
from ..assembly import Assembler, Scaling, TimeMesh
from ..elements.bubnov_galerkin import BubnovGalerkin
from ..elements.element import TimeElement
from ..elements.evaluation.plan import ElementPlan
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import IllConditioned, InputError, SolveError, named_arguments
from ..parallel import own_world
from ..problems.initial.global_driver import Global
from ..problems.initial.march_driver import March
from ..problems.kinds import check_able
from ..records import frozen
from ..solution.solution import Solution
from ..solvers.equations.distributed import make_equations
from ..solvers.equations.ends import Ends
from ..solvers.linear.base import linear_options
from ..solvers.linear.time_chain.solver import TimeChain
from ..solving.solve import solve
from ..sparse import estimated_norm

if TYPE_CHECKING:
    from ..problems.initial.problem import InitialValueProblem
    from ..solvers.linear.base import LinearOptions


TANGENTS = ("assembled", "step")


@frozen
class Conditioning:
    """Condition numbers of one method on several meshes.

    Attributes
    ----------
    element : TimeElement
    scaling, tangent : str
    norm : int
    n_elements, n_unknowns : ndarray of int, shape (n,)
    h : ndarray, shape (n,)
        Length of the elements [s].
    largest, smallest : ndarray, shape (n,)
        `|A|` and `1 / |A^-1|`; in the 2-norm the extreme singular values.
    """

    element: TimeElement
    scaling: str
    norm: int
    tangent: str
    n_elements: np.ndarray
    n_unknowns: np.ndarray
    h: np.ndarray
    largest: np.ndarray
    smallest: np.ndarray

    @property
    def condition(self) -> np.ndarray:
        """Condition numbers, shape (n,)."""
        return self.largest / self.smallest

    @property
    def slopes(self) -> np.ndarray:
        """Powers of 1/h from one mesh to the next, shape (n - 1,)."""
        return -np.diff(np.log(self.condition)) / np.diff(np.log(self.h))

    @property
    def slope(self) -> float:
        """Power of 1/h, fitted over all meshes; NaN for a single mesh."""
        if len(self.h) < 2:
            return float("nan")
        return float(-np.polyfit(np.log(self.h), np.log(self.condition), 1)[0])

    @property
    def label(self) -> str:
        """Short name of the method, for tables and figures."""
        multipliers = getattr(self.element, "multipliers", None)
        name = f"{'mG' if self.element.name == 'mg' else 'BG'}({self.element.degree})"
        return ", ".join(filter(None, (name, multipliers, "one step" if self.tangent == "step" else None)))

    def facts(self) -> dict[str, Any]:
        """Everything as plain data."""
        numbers = {name: getattr(self, name).tolist()
                   for name in ("n_elements", "n_unknowns", "h", "largest", "smallest", "condition", "slopes")}
        return {"element": self.element.name, "degree": self.element.degree,
                "multipliers": getattr(self.element, "multipliers", "discontinuous"), "scaling": self.scaling,
                "norm": self.norm, "tangent": self.tangent, **numbers, "slope": self.slope}


def conditioning(problem: Any, element: TimeElement, n_elements: Sequence[int] = (50, 100, 200), *,
                 scaling: str = "none", norm: int = 2, tangent: str = "assembled", trajectory: Any = None,
                 linear: LinearOptions | str | None = None, **earlier: Any) -> Conditioning:
    """Condition numbers of the tangent at the solved trajectory.

    The inverse is not formed: extreme singular values by Lanczos' method on `A^T A` and on the factorised inverse, the
    1-norm of the inverse by Higham's estimator. Their dependence on the scaling is why the scaling has to be named.

    Parameters
    ----------
    problem : InitialValueProblem or Case
    element : MixedGalerkin or BubnovGalerkin
    n_elements : sequence of int
        Numbers of elements of equal length.
    scaling : {"none", "reference", "weights", "full"}
        See `timefem.assembly.scaling`.
    norm : {2, 1}
    tangent : {"assembled", "step"}
        Of all elements at once, or of the first one alone, as in a march.
    trajectory : Solution, optional
        A solution of the problem at which to take the tangents, where the element itself finds none; default: the
        element's own on each mesh.
    linear : LinearOptions or str, optional
        Linear solver of the assembled tangent, or its shorthand ("chain" unless given). Under mpirun a distributed one,
        `PETSc()`, shares products and solves among the ranks.
    earlier
        `backend`, the earlier name of `linear`.

    Returns
    -------
    Conditioning

    Raises
    ------
    InputError
        For input that cannot be used.
    SolveError
        When there is no trajectory, or a tangent is singular.
    """
    problem = problem.make() if hasattr(problem, "make") else problem
    check_able(problem, "causal", besides=" or a Case")
    if not isinstance(element, MixedGalerkin | BubnovGalerkin):
        raise InputError(f"element must be a MixedGalerkin or a BubnovGalerkin, not {element!r}")
    counts = [validate.integer("n_elements", n, minimum=1) for n in np.atleast_1d(n_elements).tolist()]
    if not counts or len(set(counts)) < len(counts):
        raise InputError(f"n_elements must be different numbers, not {counts}")
    validate.choice("norm", norm, (2, 1))
    validate.choice("tangent", tangent, TANGENTS)
    scale = Scaling.of(scaling, problem.system, element, problem.t_span[0], problem.z0)
    linear = _linear(linear, earlier)
    if linear is not None and tangent == "step":
        raise InputError("linear is given, but tangent='step' does not use it")
    linear = linear_options(linear)
    if trajectory is not None and not isinstance(trajectory, Solution):
        raise InputError(f"trajectory must be a Solution, not {trajectory!r}")
    plan = ElementPlan(problem.system, element)
    sizes, values = [], []
    for n in counts:
        mesh = TimeMesh.uniform(problem.t_span, n)
        state, multipliers = _nodal_values(problem, element, mesh, trajectory, linear)
        if tangent == "step":
            mesh, state, multipliers = mesh.part(0, 1), state[:1], multipliers[:1]
        operator = _tangent(plan, mesh, scale, linear, plan.pack(mesh, state, multipliers))
        sizes.append(operator.n)
        values.append(extreme_values(operator, norm))
    counts, (largest, smallest) = np.array(counts), np.array(values).T
    span = problem.t_span[1] - problem.t_span[0]
    return Conditioning(element, scaling, norm, tangent, counts, np.array(sizes), span / counts, largest, smallest)


def _nodal_values(problem, element, mesh, trajectory, linear):
    if trajectory is not None:
        return (trajectory(mesh.points(element.state.basis)),
                trajectory.multipliers(mesh.points(element.multiplier.basis), kind="element"))
    driver = March(keep_mesh=True) if element.can_march else Global(linear, gather=True if linear.distributed else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditioned)  # the study says it better
        solution = solve(problem, element, mesh=mesh, driver=driver, progress=False)
    if not solution.success:
        raise SolveError(f"no trajectory on {mesh.n_elements} elements: {solution.status.message}; take more elements, "
                         "or give a solution of another element as trajectory")
    return solution.nodal.state, solution.nodal.multipliers


def _tangent(plan, mesh, scale, linear, x):
    equations = make_equations(plan, mesh, scale, linear=linear, comm=own_world() if linear.distributed else None)
    equations.evaluate(equations.take(x))
    return (Tangent if equations.comm is None else DistributedTangent)(equations)


def _linear(linear, earlier):
    """The linear solver, or what was given for it by its earlier name."""
    for name in earlier:
        if name != "backend":
            raise TypeError(f"conditioning() got an unexpected keyword argument {name!r}")
    return earlier.get("backend") if linear is None else linear


# ---- A tangent and its inverse as linear operators, on one process or on all ranks
# Extreme singular values and norms come from SciPy: Lanczos' method (ARPACK) on A^T A and on A^-1 A^-T, and Higham's
# estimator of 1-norms. Under mpirun SciPy runs on rank 0 only, which hands whole vectors to the others; products and
# solves are distributed, and the inverse is never formed.

TOLERANCE = 5e-3  # of the residual of squared singular values, hence half of it in the values, at most
COLUMNS = 8  # of the block with which 1-norms are estimated


class Tangent:
    """Products and solves with a tangent on this process."""

    comm = None

    def __init__(self, equations):
        equations.linear.check_transpose()
        equations.factor()
        self.linear, self.n = equations.linear, equations.n_unknowns

    def apply(self, operation, v):
        """`A v`, `A^T v`, `A^-1 v` or `A^-T v`, shape (n,)."""
        return getattr(self.linear, operation)(v)

    def one_norm(self):
        """Largest sum of magnitudes of a column."""
        return self.linear.norm(transposed=True)

    def lead(self, work):
        """The value of `work()`, which may call `apply`."""
        return work()


class DistributedTangent(Tangent):
    """The same on all ranks; vectors are whole on rank 0, and every rank has its part of the work."""

    def __init__(self, equations):
        super().__init__(equations)
        self.comm = equations.comm
        counts = self.comm.allgather(equations.own[1] - equations.own[0])
        self.counts, self.n = counts, sum(counts)

    def lead(self, work):
        if self.comm.rank:
            while (operation := self.comm.bcast(None)) is not None:
                with suppress(SolveError):  # all ranks fail alike, and rank 0 tells
                    self._shared(operation, None)
            value, error = self.comm.bcast(None)
        else:
            value, error = None, None
            try:
                value = work()
            except Exception as failure:  # the other ranks wait
                error = failure
            self.comm.bcast(None)
            self.comm.bcast((value, error))
        if error is not None:
            raise error
        return value

    def apply(self, operation, v):
        self.comm.bcast(operation)
        return self._shared(operation, np.ascontiguousarray(v))

    def _shared(self, operation, v):
        part = np.empty(self.counts[self.comm.rank])
        self.comm.Scatterv((v, self.counts), part)
        part = getattr(self.linear, operation)(part)
        whole = np.empty(self.n) if self.comm.rank == 0 else None
        self.comm.Gatherv(part, (whole, self.counts))
        return whole


def extreme_values(tangent, norm):
    """`|A|` and `1 / |A^-1|` in the 2-norm (the extreme singular values) or the 1-norm."""
    if norm == 1:
        return tangent.one_norm(), 1 / tangent.lead(lambda: _inverse_one_norm(tangent))
    return tangent.lead(lambda: (_largest(tangent, "multiply", "multiply_transposed"),
                                 1 / _largest(tangent, "solve_transposed", "solve")))


def _largest(tangent, first, second):
    """Largest singular value of the operator `first`, whose transpose is `second`."""
    squared = scipy.sparse.linalg.LinearOperator(
        (tangent.n,) * 2, lambda v: tangent.apply(second, tangent.apply(first, v.ravel())), dtype=float)
    start = np.random.default_rng(0).standard_normal(tangent.n)
    try:
        values = scipy.sparse.linalg.eigsh(squared, 1, tol=TOLERANCE, v0=start, return_eigenvectors=False)
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise SolveError(f"Lanczos' method did not find an extreme singular value: {error}") from error
    return float(np.sqrt(values[0]))


def _inverse_one_norm(tangent):
    inverse = scipy.sparse.linalg.LinearOperator((tangent.n,) * 2, lambda v: tangent.apply("solve", v.ravel()),
                             rmatvec=lambda v: tangent.apply("solve_transposed", v.ravel()), dtype=float)
    return float(estimated_norm(inverse, t=min(COLUMNS, tangent.n)))


# ---- rank of the multiplier space: whether the motion determines all multipliers

ROUNDING = 1e-7  # singular values below it, relative to the largest, are zero: they are found as roots of squares


@frozen
class MultiplierRank:
    """Extreme singular values of the constraint block.

    Attributes
    ----------
    element : TimeElement
    all_multipliers : bool
    n_elements : ndarray of int, shape (n,)
    n_multipliers, n_tests : ndarray of int, shape (n,)
        Columns and rows of the block.
    smallest : ndarray, shape (n,)
        Smallest singular value over the largest.
    """

    element: TimeElement
    all_multipliers: bool
    n_elements: np.ndarray
    n_multipliers: np.ndarray
    n_tests: np.ndarray
    smallest: np.ndarray

    @property
    def full_rank(self) -> np.ndarray:
        """Whether the smallest singular values stand above rounding, shape (n,) of bool."""
        return self.smallest > ROUNDING

    @property
    def slope(self) -> float:
        """Power of h with which the smallest singular value falls; 0 for a sound space."""
        h = 1 / self.n_elements
        return float(np.polyfit(np.log(h), np.log(np.maximum(self.smallest, 1e-16)), 1)[0])


@named_arguments
def multiplier_rank(problem: InitialValueProblem, element: TimeElement, n_elements: Sequence[int] = (20, 40, 80), *,
                    all_multipliers: bool = False) -> MultiplierRank:
    """Smallest singular value of the constraint block of the assembled tangent, over its largest.

    The block has the tests of the equations of motion as rows, the free multipliers as columns, and entries
    `int phi_i grad Theta^T psi_j dt`, scaled as by scaling="full". Where its columns depend on each other, the motion
    does not determine the multipliers; where that is nearly so, the condition number has a power of 1/h more.

    Parameters
    ----------
    problem : InitialValueProblem
    element : MixedGalerkin or BubnovGalerkin
    n_elements : sequence of int
    all_multipliers : bool
        Count the multipliers of the first node as unknowns as well, although its tests are left out (continuous
        multipliers only): the choice that the method avoids.

    Returns
    -------
    MultiplierRank

    Raises
    ------
    InputError
        For systems without constraints, and `all_multipliers` of an element whose multipliers are discontinuous.
    SolveError
        When there is no trajectory.
    """
    if all_multipliers and not element.multiplier.continuous:
        raise InputError("all_multipliers=True needs continuous multipliers: all others are unknowns already")
    plan, results = ElementPlan(problem.system, element), []
    if not problem.system.n_multipliers:
        raise InputError("the system has no constraints, hence no multipliers")
    scale = Scaling.of("full", problem.system, element, problem.t_span[0], problem.z0)
    for n in n_elements:
        mesh = TimeMesh.uniform(problem.t_span, validate.integer("n_elements", n, minimum=1))
        block = _block(plan, mesh, scale, _nodal_values(problem, element, mesh, None, TimeChain()), all_multipliers)
        results.append((n, block.shape[1], block.shape[0], _ratio(block)))
    counts, columns, rows, smallest = (np.array(v) for v in zip(*results, strict=True))
    return MultiplierRank(element, all_multipliers, counts, columns, rows, smallest)


def _block(plan, mesh, scale, values, all_multipliers):
    ends = Ends.initial_value(plan)
    if all_multipliers:
        ends.free[0][plan.columns.fields[1][0]] = True
    assembler = Assembler(plan, mesh, ends.free, ends.kept, scale)
    _, data = assembler.evaluate(plan.pack(mesh, *values))
    pattern = assembler.pattern
    shape = len(pattern.indptr) - 1, pattern.n_columns
    matrix = scipy.sparse.csr_matrix((data, pattern.indices, pattern.indptr), shape=shape)
    tests = _belongs(plan.rows, 0, mesh.n_elements)[pattern.row_index]
    multipliers = _belongs(plan.columns, 1, mesh.n_elements)[pattern.column_index]
    return matrix[tests][:, multipliers]


def _belongs(numbering, field, n_elements):
    """Whether each dof of elements in time order belongs to the field."""
    places = numbering.step * np.arange(n_elements)[:, None, None] + numbering.fields[field]
    belongs = np.zeros(numbering.n_node + n_elements * numbering.step, bool)
    belongs[places.ravel()] = True
    return belongs


def _ratio(block):
    """Smallest singular value of a sparse matrix over its largest, by inverse iteration on the normal equations."""
    if block.shape[1] > block.shape[0]:
        return 0.0
    normal = scipy.sparse.csc_matrix(block.T @ block)
    start = np.random.default_rng(0).standard_normal(normal.shape[0])
    largest = scipy.sparse.linalg.eigsh(normal, 1, v0=start, tol=1e-4, return_eigenvectors=False)[0]
    shift = 1e-15 * largest  # off zero, so that a singular block has factors as well
    smallest = scipy.sparse.linalg.eigsh(normal, 1, sigma=-shift, v0=start, tol=1e-4, return_eigenvectors=False)[0]
    return float(np.sqrt(max(smallest, 0.0) / largest))
