"""`periodic`: motions that repeat themselves, by Newton's method on their start."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..display import Card, Summarized
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import InputError, SolveError, named_arguments, warn
from ..memory import Late
from ..problems.initial.problem import InitialValueProblem
from ..progress import progress as progress_bar
from ..progress import showing
from ..solution.solution import Solution
from ..solving.keywords import Shown
from ..solving.solve import solve
from ..status import Answer, Reason, Status
from .chart import Chart
from .floquet import Floquet, check_held, monodromy_ends, of_ends, sizes_of_gaps
from .nearby import minimal_changes, moved, state_gap
from .options import OPTIONS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..elements.element import TimeElement
    from ..mechanics.bodies.states import CanonicalState
    from ..mechanics.part import Body
    from ..mechanics.states.given import GivenStates
    from ..mechanics.system import System
    from .reduction import Symmetry

node_tangents = Late("timefem.solvers.nonsmooth.derivatives.node_tangents")
states = Late("timefem.solvers.nonsmooth.states")


@dataclass(eq=False, repr=False)
class Periodic(Answer, Summarized):
    """A motion that ends as it begins.

    Attributes
    ----------
    solution : Solution
        Over one period.
    period : float
        [s]
    status : Status
    gap : float
        Between both ends, relative to the size of the motion.
    modulo : Symmetry or None
    angle : float
        By which the motion is turned about the axis of `modulo` in a period, between -pi and pi [rad].
    shift : ndarray, shape (3,)
        By which it is shifted then [m].
    """

    solution: Solution
    period: float
    status: Status
    gap: float
    iterations: int
    element: TimeElement | None = None
    modulo: Symmetry | None = None
    angle: float = 0.0
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))

    numbers = frozenset({"period", "solution", "angle", "shift"})

    @property
    def state(self) -> dict[Body, CanonicalState]:
        """State at the start: dict body -> `CanonicalState`, for another problem.

        Raises
        ------
        InputError
            Where no periodic motion was found.
        """
        self.refuse_if_failed("the periodic motion")
        return self._state

    @cached_property
    def floquet(self) -> Floquet:
        """`Floquet` multipliers and stability."""
        if not self.success:
            raise InputError(f"there is no periodic motion: {self.status.message}")
        first, last, back = monodromy_ends(self.solution, self.modulo)
        return of_ends(self.solution, first, last, None, back)

    # ---- what root loci ask of a family

    kernels = ()

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, shape (n,)."""
        return self.floquet.multipliers

    def neutral(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """Of each multiplier the `growth` that is none, as of `floquet`."""
        return self.floquet.neutral()

    def roots(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """The multipliers."""
        return self.floquet.roots()

    def growth(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """log |multiplier|."""
        return self.floquet.growth()

    def summary(self) -> Card:
        """As a table."""
        return Card("periodic motion", {"period": f"{vars(self)['period']:.10g} s", "status": self.status.message,
                                        "gap": f"{self.gap:.1e}", "iterations": self.iterations})


@named_arguments
def periodic(system: System, state: GivenStates, period: float, element: TimeElement | None = None,
             n_elements: int = 100, *, free_period: bool | None = None, t: float = 0.0,
             modulo: Symmetry | None = None, **shown: Unpack[Shown]) -> Periodic:
    """A periodic motion near one given by its start and its length.

    Newton's method on the start x0, in minimal coordinates, and on the period T where no drive determines it: `x(T; x0)
    = x0`, with the exact derivative of the discrete motion. The equations may leave a phase, an energy or a place open;
    then the nearest motion is taken (least squares, smallest change). Where a step leads away from it and what is near
    contracts (the determinant of the monodromy matrix is below one), the motion goes on by periods before the next
    step, twice as many each time: it comes nearer by itself to what attracts it. Elsewhere steps are damped.

    Parameters
    ----------
    system : System
    state : dict
        As for an `InitialValueProblem`, near the start of the motion; assembled if need be.
    period : float
        [s], or near it.
    element : TimeElement, optional
        One that can be marched; default `MixedGalerkin(2)`.
    n_elements : int
        In a period.
    free_period : bool, optional
        Whether the period is unknown; default: unless something in the system depends on the time.
    t : float
        Start [s].
    modulo : Symmetry, optional
        Turns and shifts by which the end may differ from the start (relative periodic motions): they are found as well,
        `g(angle, shift)^-1 x(T; x0) = x0`, and multipliers are those of the motion seen from there.
    progress : bool, optional
        As for `solve`.

    Returns
    -------
    Periodic
        Where no motion closes, `status` says so.

    Raises
    ------
    InputError
        For input that cannot be used.
    """
    t, period = validate.real("t", t), validate.real("period", period, positive=True)
    element = MixedGalerkin(2) if element is None else element
    n_elements = validate.integer("n_elements", n_elements, minimum=1)
    problem, history = _problem(system, state, t, period), []
    if any(part.period is not None for part in problem.system.parts):
        if free_period:
            raise InputError("free_period: feedback in discrete time determines the period; leave it out")
        check_held(problem.system, period)
        free_period = False
    damping, best, going_on, ahead = 1.0, None, 0, 1
    with showing(shown.get("progress")), progress_bar("periodic motion", OPTIONS.periodic_iterations) as bar:
        for iteration in range(OPTIONS.periodic_iterations + 1):
            if modulo is not None and not iteration:
                modulo.check(problem.system, t, problem.z0)
            try:
                trial = _evaluated(problem, element, n_elements, free_period, modulo, best and best.sizes)
            except (InputError, SolveError):  # the way led too far
                if best is None:
                    raise
                trial, going_on = None, 0
            if not going_on and best is not None and not (trial and trial.gap < best.gap * (1 - 1e-3 * damping)):
                if best.gap <= OPTIONS.periodic_gap:
                    break
                if trial and best.contracts and best.gap > 1e3 * OPTIONS.periodic_gap:
                    going_on, ahead = ahead, 2 * ahead
                damping = damping if going_on else damping / 4
                if damping < 1e-3:
                    break
            else:
                best, damping, going_on = trial, min(1.0, 4 * damping), max(going_on - 1, 0)
                history.append(best.gap)
                bar.iteration(iteration, best.gap)
                if best.gap <= 1e-3 * OPTIONS.periodic_gap:
                    break
            if going_on:
                problem = _problem(system, moved(best.last, 0 * best.difference), t, best.period)
                continue
            if best.step is None:
                best.step = _step(best)
            x, longer = best.step[0] * damping, best.step[1] * damping
            period = best.period + longer
            if period <= 0:
                break
            problem = _problem(system, moved(best.first, x), t, period)
    for one in best.heard:
        warn(str(one.message), one.category)
    success = best.gap <= 1e3 * OPTIONS.periodic_gap
    status = Status(True, residual_history=history) if success else Status(
        False, Reason.NOT_CONVERGED,
        f"not converged: after {iteration} iterations both ends differ by {best.gap:.1e} of the size of the motion; "
        "give a closer start or period, more elements, or follow the motion from an easier one", None, t, history)
    moved_by = {} if modulo is None else {"modulo": modulo, "angle": best.back.angle, "shift": best.back.shift}
    found = Periodic(best.solution, best.period, status, best.gap, iteration, element, **moved_by)
    found._state = moved(best.first, 0 * best.difference)
    return found


def _problem(system, state, t, period):
    try:
        return InitialValueProblem(system, state, (t, t + period))
    except InputError as error:
        if "violates the" not in str(error):
            raise
    return InitialValueProblem(system, state, (t, t + period), assemble=True)


class _Trial:
    """A motion over the period, its gap, and what the gap changes with; states of first order are measured by `sizes`,
    those of the first motion, for they may go to zero."""

    def __init__(self, solution, first, last, free_period, modulo, back, sizes):
        self.solution, self.first, self.last, self.step = solution, first, last, None
        self.period = float(solution.t[-1] - solution.t[0])
        self.difference = state_gap(last, first)
        y, s = first.chosen
        self.drive = np.concatenate([last.chart.rates[y], _acceleration(solution, last)[s]]) if free_period else None
        z = solution.z
        self.sizes = {place: (sizes or {}).get(place) or np.abs(z[:, place]).max() for place in first.at.flows}
        self.weight = 1 / sizes_of_gaps(solution, first, self.sizes)
        self.back, self.neutral = back, np.zeros((len(self.difference), 0))
        if modulo is not None:
            changes = modulo.tangents(solution.system, back(solution.z[-1]))
            self.neutral = minimal_changes(last, changes)
        self.gap = float(np.abs(self.weight * self.difference).max(initial=0))

    @property
    def contracts(self):
        """Whether volumes in the space of states near this motion shrink, by more than rounding."""
        sign, size = np.linalg.slogdet(self.monodromy)
        return sign == 0 or size < -OPTIONS.multiplier_rounding * len(self.monodromy)

    @property
    def monodromy(self):
        if not hasattr(self, "_monodromy"):
            self._monodromy = of_ends(self.solution, self.first, self.last, None, self.back).monodromy
        return self._monodromy


def _evaluated(problem, element, n_elements, free_period, modulo, sizes):
    with warnings.catch_warnings(record=True) as heard:  # of motions that are left again
        warnings.simplefilter("always")
        solution = solve(problem, element, n_elements, progress=False)
    if not solution.success:
        raise SolveError(f"the motion over one period could not be solved: {solution.status.message}")
    first, last, back = monodromy_ends(solution, modulo)
    free = not first.at.timed if free_period is None else validate.flag("free_period", free_period)
    trial = _Trial(solution, first, last, free, modulo, back, sizes)
    trial.heard = heard
    return trial


def _acceleration(solution, last):
    """Of all bodies at the end of a solution, in displacements: contacts that are closed there stay so."""
    at = last.at
    if not solution.system.rigid_contacts:
        return last.chart.acceleration
    nodes = node_tangents.NodeTangents(states.Contacts(solution.system), solution)
    return Chart(at.system, at.q, at.v, nodes.acceleration(len(solution.t) - 2, at.t, at.q, at.v)).acceleration


def _step(trial):
    """Smallest change of the start, and of the period, that closes the motion to first order."""
    w, n = trial.weight, len(trial.difference)
    matrix = (trial.monodromy - np.eye(n)) * w[:, None] / w
    right = -w * trial.difference
    if trial.drive is not None:
        unit = trial.period / (2 * np.pi)  # a phase counts like a displacement of the size of the motion
        matrix = np.column_stack([matrix, w * trial.drive * unit])
    matrix = np.column_stack([matrix, w[:, None] * trial.neutral])
    # ends of the spectrum of a conservative motion are rounding and errors of the element
    found = np.linalg.lstsq(matrix, right, rcond=OPTIONS.periodic_free)[0]
    x, longer = found[:n] / w, 0.0 if trial.drive is None else found[n] * unit
    size = max(np.abs(w * x).max(initial=0), abs(longer) / trial.period)
    factor = min(1.0, OPTIONS.periodic_step / size) if size else 1.0
    return factor * x, factor * longer
