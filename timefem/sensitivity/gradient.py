"""Gradients and sensitivities of solutions, and parameters identified from measured trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from .. import validate
from ..errors import InputError, NamedArguments, NotSolved, SolveError, named_arguments, warn
from ..problems.controls_marched import OptimalSolution
from ..problems.phases.problem import PhasedSolution
from ..progress import progress as progress_bar
from ..progress import showing
from ..records import frozen
from ..solution.solution import Solution
from ..solving.solve import solve
from ..types import Floats, Matrix, UserFunction, Vector
from .derivatives import Derivatives
from .functionals import Values
from .linearization import BoundaryLinearization, Linearization
from .names import functionals_of, parameters_of, parameters_of_problem
from .optimum import OptimumLinearization
from .parameters import Family

if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..problems.initial.problem import InitialValueProblem
    from ..solution.solution import Solution
    from ..solvers.linear.base import LinearOptions
    from ..solving.keywords import OfRunShown, Unpack
    from .functionals import Functional

UNLIKELY = 10  # standard deviations that the misfit is above one


@named_arguments
def gradient(solution: Solution | Linearization, functional: Functional | str, parameters: Any, *,
             linear: LinearOptions | str | None = None) -> np.ndarray:
    """Gradient of a functional of a solution, by one transposed solve (adjoint method).

    The exact derivative of the discrete solution: `dJ/dc - w . dR/dc` with `A^T w = dJ/dx`, R the residual and A its
    tangent. The cost hardly depends on the number of parameters.

    Parameters
    ----------
    solution : Solution or Linearization
        Of an initial-value problem, marched or solved all at once, or of a boundary-value problem. A
        `Linearization(solution)` keeps its factors for several gradients.
    functional : Functional or str
        `EndValue`, `Integral`, `Peak` or `Values` of one formula; or its name, "end:BODY.position[0]",
        "integral:..." or "peak:...:SHARPNESS", as on the command line and in model files.
    parameters : Parameter, Initial, Family, str, or list of them
        Of boundary-value problems and optimal control also `Final`, of what is prescribed at the end. Names are
        "PART.NUMBER", "gravity[2]", "start:BODY.velocity[0]", and "end:BODY.position" of what is prescribed there.
    linear : LinearOptions or str, optional
        Linear solver of the tangent, such as `PETSc(method="substructuring")`, which shares it among the ranks under
        mpirun; default: the time-chain LU. A `Linearization` has its own.

    Returns
    -------
    ndarray, shape (n,)
        One entry per parameter, in the order given; arrays count as one parameter per entry.

    Raises
    ------
    InputError
        For solutions that failed, functionals with several values, unknown parameters (names those there are), and
        linear solvers without transposed solves.

    Notes
    -----
    Positions and velocities at the start stay as they are when a parameter changes, as far as the constraints allow
    (see `Initial`); the mesh stays. Of boundary-value problems what is prescribed at both ends stays; a parameter with
    other values of which bodies do not fit where they are prescribed to be takes a `Family` that moves them, too.
    """
    at = _linearized(solution, linear)
    functionals = _functionals(at, functional)
    if len(functionals) != 1:
        raise InputError(f"a gradient needs a functional with one value, not {len(functionals)}; use "
                         "sensitivities, or one component")
    return at.gradient(functionals[0], _parameters(at, parameters))


@named_arguments
def sensitivities(solution: Solution | Linearization, functional: Functional | str | Sequence[Functional | str],
                  parameters: Any, *, linear: LinearOptions | str | None = None) -> np.ndarray:
    """Derivatives of all values of a functional, by one solve per parameter (forward method).

    Parameters
    ----------
    solution, parameters
        As for `gradient`.
    functional : Functional or str, or list of them
        With any number of values; names as for `gradient`, without an index for all components.
    linear : LinearOptions or str, optional
        As for `gradient`; transposed solves are not needed.

    Returns
    -------
    ndarray, shape (m, n)
        Row i: derivatives of value i by all parameters.

    Raises
    ------
    InputError
        As `gradient`.
    """
    at = _linearized(solution, linear)
    return at.sensitivities(_functionals(at, functional), _parameters(at, parameters))


def _linearized(solution, linear):
    optimal = isinstance(solution, OptimalSolution | PhasedSolution | OptimumLinearization)
    if optimal and linear is not None:
        raise InputError("linear is given, but conditions of optimality have factors of their own; leave it out")
    if isinstance(solution, OptimalSolution | PhasedSolution):
        return OptimumLinearization(solution)
    if not isinstance(solution, Derivatives | OptimumLinearization | BoundaryLinearization):
        return Linearization(solution, linear)
    if linear is not None:
        raise InputError("linear is given, but the Linearization has its own: Linearization(solution, linear)")
    return solution



def _functionals(at, given):
    """Functionals, those given by name too."""
    found = []
    for one in given if type(given) in (list, tuple) else [given]:
        found += functionals_of(_system(at, one), [one]).values() if isinstance(one, str) else [one]
    return found


def _parameters(at, given):
    """Parameters, those given by name too."""
    if not isinstance(given, str) and not (type(given) in (list, tuple) and any(isinstance(one, str) for one in given)):
        return given
    found = []
    for one in [given] if isinstance(given, str) else given:
        if not isinstance(one, str):
            found.append(one)
        elif isinstance(at, Derivatives):
            found += parameters_of(at.system, at.start.z, [one])
        else:
            _system(at, one)
            found += parameters_of_problem(at.problem, [one])
    return found


def _system(at, name):
    system = getattr(at, "system", None) or getattr(at.problem, "system", None)
    if system is None:
        raise InputError(f"{name!r}: names are those of one system, and phases have their own; give a functional, or "
                         "a parameter, or InPhase(phase, ...) of it")
    return system


class Measurement(NamedArguments):
    """Measured values of formulas of the motion.

    Parameters
    ----------
    formula : callable
        As for a `Functional`: `formula(bodies, t)` -> expression or list of n of them.
    times : array_like, shape (n_times,)
        [s]
    values : array_like, shape (n_times,) or (n_times, n)
    deviation : float or array_like, shape (n,)
        Standard deviation of the noise.
    bodies : str or sequence of str, optional
        Names of the bodies that the formula sees; default: all.
    """

    def __init__(self, formula: UserFunction, times: Vector, values: Vector | Matrix, deviation: Floats,
                 bodies: str | Sequence[str] | None = None) -> None:
        self.functional = Values(formula, times, bodies)
        n = len(self.functional.times)
        values = np.asarray(values)
        self.values = validate.array("Measurement: values", values, (n, *[None] * (values.ndim - 1)))
        self.deviation = np.atleast_1d(np.asarray(deviation, float))
        if not (np.all(np.isfinite(self.deviation)) and np.all(self.deviation > 0)):
            raise InputError(f"Measurement: deviation must be positive, not {deviation!r}")
        try:
            self.weights = np.broadcast_to(1 / self.deviation, self.values.reshape(n, -1).shape).ravel()
        except ValueError:
            raise InputError(f"Measurement: deviation must be one number, or one per column of values "
                             f"{self.values.shape}, not of shape {self.deviation.shape}") from None

    def residual(self, at: Linearization) -> np.ndarray:
        """(model - measured) / deviation at a `Linearization`, shape (n_values,)."""
        model = at.value(self.functional)
        if model.size != self.values.size:
            raise InputError(f"Measurement: the formula gives {model.size} values, but {self.values.size} are measured")
        return (model - self.values.ravel()) * self.weights


@frozen(eq=False)
class Identification:
    """What was identified.

    Attributes
    ----------
    values, deviations : ndarray, shape (n,)
        Parameters and their standard deviations, by the linear model at the solution.
    covariance : ndarray, shape (n, n)
    labels : list of str
    misfit : float
        Sum of the squared residuals over their number minus n: about 1 when model and noise are as stated.
    solution : Solution
        The motion with these parameters.
    success : bool
    message : str
    n_solves : int
    """

    values: np.ndarray
    deviations: np.ndarray
    covariance: np.ndarray
    labels: list[str]
    misfit: float
    solution: Solution
    success: bool
    message: str
    n_solves: int

    def __str__(self):
        width = max(map(len, self.labels))
        rows = [f"{label:<{width}}  {value:12.6g} +- {deviation:.2g}"
                for label, value, deviation in zip(self.labels, self.values, self.deviations, strict=True)]
        return "\n".join([*rows, f"misfit {self.misfit:.3g}, {self.n_solves} solves: {self.message}"])


def identify(build: Callable[[Any], InitialValueProblem], guess: Vector, element: TimeElement, n_elements: int | None,
             measurements: Measurement | Sequence[Measurement], *, names: Sequence[str] | None = None,
             bounds: tuple[Floats, Floats] | None = None, max_solves: int = 50,
             **options: Unpack[OfRunShown]) -> Identification:
    """Find parameters with which a model moves as measured: least squares, weighted with the noise.

    Gauss-Newton steps in a trust region (`scipy.optimize.least_squares`) with exact Jacobians of the discrete
    equations, by forward sensitivities. Steps to values that the model refuses, or with which it cannot be solved, are
    undone.

    Parameters
    ----------
    build : callable
        `build(values)` -> `InitialValueProblem`, as for a `Family`. Functions that it passes on (formulas, laws) should
        be defined outside of it: each new one is compiled.
    guess : array_like, shape (n,)
    names : sequence of str, optional
        Of the parameters.
    element, n_elements
        As for `solve`.
    measurements : Measurement, or list of them
    bounds : (array_like, array_like), optional
        Smallest and largest values.
    max_solves : int
        Of the model, at most.
    options : Any
        For `solve`: driver, mesh, newton, progress, ... The linear solver of the driver also takes the sensitivities.

    Returns
    -------
    Identification

    Raises
    ------
    InputError
        For bad arguments, and parameters that the measurements do not determine; names them.
    SolveError
        When the model cannot be solved with the guess.

    Warns
    -----
    UserWarning
        Where the motion found is further from the measurements than their noise explains, as at a wrong minimum.
    NotSolved
        Where `max_solves` did not do.
    """
    guess = validate.array("guess", np.atleast_1d(guess), (None,))
    validate.integer("max_solves", max_solves, minimum=1)
    measurements = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    for measurement in measurements:
        if not isinstance(measurement, Measurement):
            raise InputError(f"measurements must be a list of Measurement, not {measurement!r}")
    if not measurements:
        raise InputError("measurements is empty: give at least one Measurement")
    low, high = _limits(bounds, guess)
    model = _Model(build, element, n_elements, measurements, options, names)
    title = "identification"
    with showing(options.get("progress"), title), progress_bar(title, max_solves) as bar:
        return _identified(model, guess, (low, high), max_solves, bar)


def _limits(bounds, guess):
    """Smallest and largest values, one for each number."""
    if bounds is None:
        return np.full(len(guess), -np.inf), np.full(len(guess), np.inf)
    try:
        low, high = (np.broadcast_to(np.asarray(bound, float), guess.shape) for bound in bounds)
    except (TypeError, ValueError):
        raise InputError(f"bounds must be a pair of the smallest and the largest values, one or {len(guess)} each, not "
                         f"{bounds!r}") from None
    for k in np.flatnonzero(~((low < high) & (low <= guess) & (guess <= high))):
        raise InputError(f"bounds of number {k}, {low[k]:g} to {high[k]:g}, do not fit its guess, {guess[k]:g}")
    return low, high


def _identified(model, guess, bounds, max_solves, bar):
    model.at(guess)
    if model.failure:
        raise SolveError(f"the model cannot be solved with the guess: {model.failure}")

    def residual(values):
        bar.step()
        return model.residual(values)

    found = scipy.optimize.least_squares(residual, guess, model.jacobian, bounds=bounds, x_scale="jac", ftol=1e-12,
                                         xtol=1e-10, gtol=1e-10, max_nfev=max_solves)
    model.at(found.x)
    covariance = _covariance(model.jacobian(found.x), model.labels, found.x)
    more = max(1, len(found.fun) - len(guess))
    misfit = 2 * found.cost / more
    if not found.success:
        warn(f"the parameters are those after max_solves = {max_solves} solves, which did not do: take more, or a "
             "nearer guess", NotSolved)
    elif misfit > 1 + UNLIKELY * np.sqrt(2 / more):
        warn(f"the motion found is off from the measurements by {np.sqrt(misfit):.3g} times their deviations, where 1 "
             "is to be expected: this may be one of several minima, so try other guesses; else the model, or the mesh, "
             "leaves something out, or the deviations are larger")
    return Identification(found.x, np.sqrt(np.diag(covariance)), covariance, model.labels, misfit, model.solution,
                          bool(found.success), found.message, model.n_solves)


class _Model:
    """Residuals and Jacobian at the last values asked for."""

    def __init__(self, build, element, n_elements, measurements, options, names):
        self.build, self.element, self.n_elements = build, element, n_elements
        self.measurements, self.options = measurements, options
        self.values, self.n_solves, self.names, self.labels = None, 0, names, None

    def at(self, values):
        if self.values is not None and np.array_equal(values, self.values):
            return
        self.values, self.failure = values.copy(), None
        try:
            problem = self.build(values)
        except InputError as error:
            if self.labels is None:
                raise
            self.failure = str(error)
            return
        self.solution = solve(problem, self.element, self.n_elements, **self.options)
        self.n_solves += 1
        if not self.solution.success:
            self.failure = self.solution.status.message
            return
        try:
            self.linearization = Linearization(self.solution, getattr(self.options.get("driver"), "linear", None))
        except InputError as error:  # of a motion that has no derivatives, as by impacts without end
            if self.labels is None:
                raise
            self.failure = str(error)
            return
        if self.labels is None:
            self.labels = self.linearization.labels(self._family())

    def _family(self):
        return Family(self.build, self.values, self.names)

    def residual(self, values):
        self.at(values)
        if self.failure:  # a step that is too long: the trust region shrinks
            return np.full(sum(m.values.size for m in self.measurements), 1e10)
        return np.concatenate([m.residual(self.linearization) for m in self.measurements])

    def jacobian(self, values):
        self.at(values)
        blocks = self.linearization.sensitivities([m.functional for m in self.measurements], self._family())
        return blocks * np.concatenate([m.weights for m in self.measurements])[:, None]


def _covariance(jacobian, labels, values):
    """Inverse of J^T J at these values; parameters that it does not tell are named."""
    size = np.linalg.norm(jacobian, axis=0)
    silent = [f"{label} = {value:.4g}" for label, value, s in zip(labels, values, size, strict=True) if s == 0]
    if silent:
        raise InputError(f"the measurements do not depend on {', '.join(silent)}: leave out, measure something else, "
                         "or guess a value that has an effect, as of friction with which contacts slide")
    _, s, v = np.linalg.svd(jacobian / size, full_matrices=False)
    if s[-1] < 1e-12 * s[0] or len(jacobian) < len(labels):
        mixed = [label for label, weight in zip(labels, np.abs(v[-1]), strict=True) if weight > 0.1]
        raise InputError(f"the measurements do not tell {', '.join(mixed)} apart: keep one fixed, or measure more")
    return (v.T / s**2) @ v / np.outer(size, size)
