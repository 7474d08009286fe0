"""Strategies: other ways to a solution of optimal control where the first guess leads to none, tried in order.

Each says whether it applies, and why, and solves on the mesh on which the first guess failed. `Solution.attempts` lists
what was tried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .... import validate
from ....errors import InputError, SolveError
from ....solution.audit import unresolved_turns
from ....status import Reason
from ..guesses.guess import BENDS, Guess, first_guess, swung, waving
from ..options import OPTIONS
from ..transcription.nonlinear_program import OptimalProgram
from ..transcription.sizes import has_contacts

if TYPE_CHECKING:
    from ..problem import OptimalControl


FIRST_GUESS = "first guess"


class Strategy(ABC):
    """A way to a solution from another start, or by other problems on the way.

    Attributes
    ----------
    name : str
        By which `timefem.solve(strategies=...)` picks it.
    """

    name: ClassVar[str]

    @abstractmethod
    def applies(self, problem: OptimalControl) -> str:
        """Why it may help with a problem, in words; empty where it does not apply."""

    @abstractmethod
    def solve(self, run: Run, bar: Any) -> Any:
        """`(equations, x, status)` of the problem itself: of a success, or of the last failure; or None."""


class Run:
    """One mesh on which strategies solve.

    Parameters
    ----------
    one_mesh : OneMesh
    level : TimeMesh
    """

    def __init__(self, one_mesh, level):
        self._one_mesh, self.level, self.problem = one_mesh, level, one_mesh.problem

    def __call__(self, x, **options):
        """Solve from all unknowns x; raises Spent once all iterations are taken."""
        if self._one_mesh.spent:
            raise Spent
        return self._one_mesh(self.level, x, **options)

    def begin(self, strategy, why):
        """Further solves belong to a strategy, which applies for this reason."""
        self._one_mesh.begin(strategy.name, why)

    def guessed(self, guess):
        """All unknowns of a `Guess`."""
        return first_guess(self.problem, self._one_mesh.plan, self.level, guess)

    def first_of(self, guesses):
        """The first success from guesses, or what a signal stopped; else the last failure, or None."""
        found = None
        for guess in guesses:
            found = self(self.guessed(guess))
            if ended(found):
                return found
        return found


class Spent(Exception):
    """All iterations were taken."""


def ended(found):
    """Whether nothing more is to be tried: a success, or a stop by a signal."""
    return found is not None and (found[2].success or found[2].reason == Reason.STOPPED)


class EnergyPumping(Strategy):
    """A motion that swings higher and higher, as where actuators are too weak to lift what they move."""

    name = "energy pumping"

    def applies(self, problem):
        return "" if problem.free_start else "the end may have more energy than the actuators give at once"

    def solve(self, run, bar):
        guess = swung(run.problem)
        bar.note("from a motion that gains energy")
        return None if guess is None else run.first_of([guess])


class March(Strategy):
    """The motion from the start under the controls that hold it, where no end is asked for."""

    name = "march from the start"

    def applies(self, problem):
        if problem.free_start or len(problem.conditions.combinations):
            return ""
        return "nothing is prescribed at the end, so that a march from the start is a guess"

    def solve(self, run, bar):
        bar.note("from a march")
        try:
            return run(run.guessed(Guess(rollout=True)))
        except InputError:  # it passes a place that determines no accelerations
            return None


class HeldDurations(Strategy):
    """Nearly given durations first, then any."""

    name = "held durations"

    def applies(self, problem):
        return "the duration is free, within bounds" if problem.free_time and problem.bounded else ""

    def solve(self, run, bar):
        """From the first nearly given duration that has a solution; None where none has.

        Where the end does not depend on the time to first order, as of an oscillator after half a period, a search
        stops. For a given duration such problems can be convex.
        """
        problem, tried = run.problem, []
        lower, upper = problem.number_bounds[:, 0]
        first = problem.guesses[0]
        for duration in np.clip([2 * first, 4 * first, first], lower, upper):  # shorter ones may be out of reach
            if duration in tried or duration <= 0:
                continue
            tried.append(duration)
            bar.note(f"with a duration of {duration:.3g} s")
            found = run(run.guessed(Guess(duration=float(duration))), problem=problem.held_at(duration))
            if found[2].success:
                found = run(found[1])  # from inside: near the bounds the time would fall below what can be reached
            if ended(found):
                return found
        return None


class Perturbation(Strategy):
    """Paths that bend to one side or the other."""

    name = "perturbation"

    def applies(self, problem):
        return "a straight path may lead into a symmetry or an obstacle"

    def solve(self, run, bar):
        bar.note("from another path")
        return run.first_of(Guess(bend=bend) for bend in BENDS)


class WavingControls(Strategy):
    """Motions under controls that wave within their bounds, drawn from a fixed seed."""

    name = "waving controls"

    def applies(self, problem):
        return "controls have bounds to wave within" if problem.bounded else ""

    def solve(self, run, bar):
        bar.note("from another path")
        return run.first_of(waving(run.problem, OPTIONS.other_guesses))


STRATEGIES = {s.name: s for s in (EnergyPumping(), March(), HeldDurations(), Perturbation(), WavingControls())}


def named_strategies(names: Sequence[str] | None) -> list[Strategy]:
    """The strategies of these names in this order; all, in the order of the table, for None.

    Raises
    ------
    InputError
        Names one that there is not, and those that there are.
    """
    if names is None:
        return list(STRATEGIES.values())
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(f"strategies must be a list of names, of {', '.join(STRATEGIES)}, not {names!r}")
    for name in names:
        validate.choice("strategies", name, tuple(STRATEGIES))
    return [STRATEGIES[name] for name in names]


def otherwise(run: Run, strategies: Sequence[Strategy], bar: Any) -> Any:
    """What the first strategy that succeeds finds, or what a signal stopped.

    If all fail, or iterations run out, the first failure that says what stands in the way, as a least violation does;
    None where none does.

    Parameters
    ----------
    run : Run
    strategies : sequence of Strategy
    bar
        Of progress.
    """
    telling = None
    try:
        for strategy in strategies:
            why = strategy.applies(run.problem)
            if why:
                run.begin(strategy, why)
                found = strategy.solve(run, bar)
                if ended(found):
                    return found
                if found is not None and found[2].reason == Reason.NOT_FOUND:
                    telling = telling or found
    except Spent:
        pass
    return telling


def marched_steps(equations, x):
    """Unknowns to start from instead of `x`, and the report on a motion that the elements do not resolve; empty
    where they do.

    A step goes straight on in coordinates that turn. Of a wheel that spins, at whose end nothing is asked for, it has
    the right controls and a motion that is none; so the motion is that which its controls make, in these elements, as
    often as straight steps miss more than what they began with, and the march less.

    Parameters
    ----------
    equations : OptimalityEquations
        Of all elements.
    x : ndarray

    Returns
    -------
    x : ndarray
    text : str
    n : int
        Steps that were taken.
    """
    problem, steps = equations.problem, 0
    if not problem.n_controls or problem.unknown_names or problem.free_start or has_contacts(problem):
        return x, "", steps
    bodies = _free_to_spin(problem, equations.mesh.nodes[-1])
    if not bodies:
        return x, "", steps
    while steps < OPTIONS.marched_steps:
        missed, stepped = _step(equations, x)
        if stepped is None or not (_step(equations, stepped, False)[0] > missed if steps else
                                   _stretched(equations, stepped, bodies)):
            break
        steps += 1
        found, text = _marched(equations, stepped)
        if text is not None:
            return x, f"{text}; System(..., coordinates='joint') counts what hinges turn", steps
        if found is None or not _step(equations, found, False)[0] < missed:
            break
        x = found
    return x, "", steps


def _free_to_spin(problem, t):
    """Bodies and trees that turn without counting, and of whose end, at time t, nothing is asked."""
    system, conditions = problem.system, problem.conditions
    asked = np.zeros((0, system.n_z)) if not conditions.names else conditions.jacobian(t)[-len(conditions.names):]
    seen = np.any(asked != 0, axis=0)
    return [body for body in system.bodies
            if (body.quaternions or (body.has_orientation and body.constraint_names))
            and not seen.reshape(2, -1)[:, system.coordinates(body)].any()]


def _step(equations, x, solve=True):
    """What the equations miss at x, over the size of the motion, and the unknowns after a step of Gauss and Newton, or
    None where there is none."""
    base = equations.with_costates(x, 0)
    residual, dual = equations.evaluate(base), equations.dual
    missed = equations.norm(residual[dual]) / max(1.0, equations.norm(equations.scaled(x)[~dual]))
    if not (solve and np.isfinite(residual).all()):
        return missed, None
    try:
        return missed, equations.moved(base, -equations.linear_step(residual), 1.0)
    except SolveError:  # no cost depends on controls, or none moves the end
        return missed, None


def _stretched(equations, x, bodies):
    """Whether bodies are no longer rigid by as much as their coordinates: they were to turn by about half a turn."""
    system, state = equations.problem.system, equations.nodal(x, "state")
    z = np.concatenate([state[:1, 0], state[:, -1]])
    if not np.isfinite(z).all():
        return False
    rows = np.concatenate([np.full(len(part.constraint_names), part in bodies) for part in system.parts])
    phi = np.array([system.constraints(t, own)[:system.n_constraints][rows]
                    for t, own in zip(equations.mesh.nodes, z, strict=True)])
    every = np.arange(equations.problem.system.n_q)
    free = [every[equations.problem.system.coordinates(body)][list(places)]
            for body in bodies for places in body.quaternions]
    lengths = (z[:, np.array(free, int).reshape(-1, 4)]**2).sum(axis=-1) - 1  # of trees, which have no constraint
    return bool(max(np.abs(phi).max(initial=0.0), np.abs(lengths).max(initial=0.0)) > OPTIONS.stretched)


class Sketch(Guess):
    """A guess that nobody asked for: its march ends early where it would take far more steps than the mesh has."""

    halvings = OPTIONS.sketch_halvings


def _marched(equations, x):
    """Unknowns with the motion that the controls of x make, or None, and the report on one that is not resolved."""
    problem, plan, mesh = equations.problem, equations.plan, equations.mesh
    times, order = np.unique(mesh.points(plan.element.trial["controls"].basis), return_index=True)
    controls = equations.nodal(x, "controls")
    table = np.clip(controls.reshape(-1, controls.shape[-1])[order], *problem.bounds)
    try:
        x = first_guess(problem, plan, mesh, Sketch(times=times, controls=table, rollout=True))
    except (InputError, SolveError):
        return None, None
    x = equations.take(x)
    state = equations.nodal(x, "state")
    text = unresolved_turns(plan.system, plan.element, mesh.nodes, np.concatenate([state[:1, 0], state[:, -1]]))
    if text is not None:
        return None, text
    program = OptimalProgram(equations, x)
    v = program.marched(program.start)
    return None if v is None else program.place(v, np.zeros(program.n_equations)), None
