"""Boundary-value problems solved several times: all solutions found, and one followed to a harder problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .. import validate
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import InputError, NotSolved, refuse_unknown, warn
from ..mechanics.forces.actuators import Actuator
from ..mechanics.forces.controllers import Controller
from ..mechanics.numbers.records import made_of
from ..problems.initial.problem import InitialValueProblem
from ..problems.kinds import KINDS, check_able, kind_of, kinds_with_several
from ..progress import progress as progress_bar
from ..solution.solution import Solution
from ..solvers.nonlinear.newton import follow
from ..status import Reason, Status
from .keywords import OfSequences
from .solve import solve

if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..problems.boundary.problem import BoundaryValueProblem
    from ..problems.optimal.problem import OptimalControl
    from .keywords import OfSeveral, OfSolve, Unpack

UNSET = {"turns": 1, "n_starts": None, "guesses": (), "processes": None}  # what one kind of problem takes alone


def solve_all(problem: BoundaryValueProblem | OptimalControl, element: TimeElement, n_elements: int | None = None, *,
              turns: int = 1, guesses: Sequence[Any] = (), n_starts: int | None = None, same: float = 1e-6,
              progress: bool | None = None, **arguments: Unpack[OfSeveral]) -> list[Solution]:
    """Several solutions of a boundary-value problem, from several guesses, or of optimal control, from many starts.

    Parameters
    ----------
    problem : BoundaryValueProblem or OptimalControl
        Of a boundary-value problem both signs of the quaternions at the end are tried.
    n_starts : int, optional
        Of optimal control: how many guesses are tried, the default one and others that are the same in each call:
        beside its motion, with waving controls, and with unknown numbers anywhere between their bounds where they have
        two; 8 unless given. Under mpirun the ranks share them, else processes do.
    turns : int
        Of boundary-value problems: guesses with further turns, both ways: up to twice that many full turns about the
        axis from one orientation to the other, and up to that many about each body axis. Bodies without an orientation
        go around the points where springs hold them, or the origin.
    guesses : sequence
        Further ones, as for `solve`; of optimal control their numbers follow those of the `n_starts`, which may be 0
        then.
    same : float
        Solutions that differ by less, relative to their size, count as one.
    element, n_elements, progress, arguments
        As for `solve`; of optimal control also `processes`, as many as there are cores unless given.

    Returns
    -------
    list of Solution
        That differ, by increasing action of the kinetic energy (the integral of twice the kinetic energy); of optimal
        control by increasing cost, with the numbers of the starts that led there in `statistics["starts"]`, and those
        that led nowhere in `statistics["failed_starts"]`.

    Raises
    ------
    InputError
        For input that cannot be used, and arguments of the other kind of problem.
    """
    given = {"turns": turns, "n_starts": n_starts, "guesses": tuple(guesses),
             "processes": arguments.pop("processes", None)}
    kind = kind_of(problem)
    several, arguments["n_elements"] = kind.in_several, n_elements
    if several is None:
        raise InputError(f"solve_all is for {kinds_with_several()}, not {kind.title}")
    own = {name: given.pop(name) for name in several.arguments}
    for name, value in given.items():
        if value != UNSET[name]:
            owner = next(one for one in KINDS.values() if one.several and name in one.in_several.arguments)
            raise InputError(f"{name} is for {owner.title}; {kind.title} takes {several.number}")
    return several.solve(solve, problem, element, same=same, progress=progress, arguments=arguments, **own)


def continuation(make: Callable[[float], BoundaryValueProblem], element: TimeElement, n_elements: int | None,
                 start: float, end: float, *, first_step: float = 0.25, least_step: float = 1e-3,
                 progress: bool | None = None, **arguments: Unpack[OfSolve]) -> Solution:
    """Follow a solution from an easy problem to a hard one.

    Parameters
    ----------
    make : callable
        `make(value)` -> BoundaryValueProblem, for instance with a longer time span, or other end states or numbers.
    element, n_elements, progress, arguments
        As for `solve`; `guess` is the one at the start.
    start, end : float
        Values to go from and to.
    first_step, least_step : float
        Shares of the distance from start to end. Steps grow after quick solves, and shrink after failures.

    Returns
    -------
    Solution
        At the end; or the last one reached, with `status` "not reached", which says how far it came.
        `statistics["continuation"]` lists the values that were solved.

    Raises
    ------
    InputError
        For input that cannot be used; refusals of single values end the way there.
    """
    start, end = validate.real("start", start), validate.real("end", end)
    validate.real("first_step", first_step, positive=True)
    values, refused, first_guess = [start], "", arguments.pop("guess", None)

    def solve_at(s: float, guess: Any) -> tuple[Solution | None, int]:
        nonlocal refused
        value = end if s == 1 else start + s * (end - start)
        try:
            found = solve(make(value), element, n_elements, guess=guess, progress=progress, **arguments)
        except InputError as error:
            refused = f"; at {value:g}: {error}"
            return None, 0
        refused = ""
        if found.success:
            values.append(value)
            bar.advance(round(100 * s) - bar.done)
        return (found if found.success else None), found.statistics["newton_iterations"]["max"]

    with progress_bar("continuation", 100, progress) as bar:
        problem = make(start)
        check_able(problem, "follows", f"make({start:g})")
        sol = solve(problem, element, n_elements, guess=first_guess, progress=progress, **arguments)
        if not sol.success:
            raise InputError(f"continuation: there is no solution at the start, {start:g}: {sol.status.message}")
        sol, s = follow(solve_at, sol, first_step, least_step)
    sol.statistics["continuation"] = values
    if s < 1:
        reached = start + s * (end - start)
        sol.status = Status.failure(Reason.NOT_REACHED, len(sol.t) - 2, sol.t[-2], [],
                                    f"on the way from {start:g} to {end:g} the continuation got as far as "
                                    f"{reached:g}{refused}")
    return sol


if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..problems.phases.problem import PhasedSolution
    from .keywords import Unpack


def contact_sequences(problem: InitialValueProblem, actuators: Actuator | Sequence[Actuator], element: TimeElement,
                      n_elements: int = 8, *, cost: Any, sizes: Mapping[Actuator, float] | float, n_starts: int = 20,
                      **others: Unpack[OfSequences]) -> list[PhasedSolution]:
    """Motions with rigid contact of least cost, with sequences of contacts that are found.

    The problem is marched without controls, and with others that are drawn at random, which vary slowly. Each sequence
    of contacts that comes up becomes `Phases` (see `phases` of its solution), which have the marched motion as their
    guess and are solved with the sequence as it is. Those whose gaps, forces, friction or impulses do not hold are left
    out, and of several minima with the same sequence the least one stays. Nothing says that there is no better one.

    Parameters
    ----------
    problem : InitialValueProblem
        With rigid contacts, without the actuators; its duration is where the marches end.
    actuators : Actuator or sequence of Actuator
    element, n_elements
        Of the phases.
    cost
        As in `OptimalControl`.
    sizes : float or dict
        Of the controls that are drawn, their standard deviations [N or N m]; a dict by actuators.
    n_starts : int
        Marches.
    others
        Of the marches `march_elements` (40 unless given), and `seed` of the controls that are drawn; `progress`; and
        what `phases` of a march takes: `end`, `start`, `duration`, `bounds`, `limits`.

    Returns
    -------
    list of PhasedSolution
        One for each sequence that holds, by increasing cost. `statistics` has "sequence", the events by name, and
        "starts", the numbers of the marches with it.

    Raises
    ------
    InputError
        For input that cannot be used, and where no march becomes phases; the message says why.

    Warns
    -----
    NotSolved
        Where no sequence that came up was solved and holds: the list is then empty.

    Examples
    --------
    >>> import timefem as tf
    >>> ball = tf.PointMass(1.0, 1)
    >>> floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=0.8, name="floor")
    >>> start = tf.InitialValueProblem(tf.System([ball, floor], gravity=(-9.81, 0, 0)), {ball: tf.Pose((0.5, 0, 0))},
    ...                                (0, 0.65))
    >>> push = tf.ControlForce(ball, [(1, 0, 0)])
    >>> end = {ball: tf.EndState(position=(0.5, None, None), velocity=(0, None, None))}
    >>> found = tf.contact_sequences(start, push, tf.MixedGalerkin(2), 4, cost=tf.Effort(push), sizes=5.0, end=end,
    ...                              n_starts=1, march_elements=10, progress=False)
    >>> found[0].statistics["sequence"]
    ('floor closes',)
    """
    check_able(problem, "causal")
    if not problem.system.rigid_contacts:
        raise InputError("the system has no rigid contacts, whose sequence could be looked for; take solve")
    actuators = list(actuators) if isinstance(actuators, list | tuple) else [actuators]
    for one in actuators or [None]:
        if not isinstance(one, Actuator):
            raise InputError(f"actuators must be actuators such as ControlForce(body), not {one!r}")
    refuse_unknown("contact_sequences()", others, list(OfSequences.__annotations__))
    n_starts = validate.integer("n_starts", n_starts, minimum=1)
    march_elements = validate.integer("march_elements", others.pop("march_elements", 40), minimum=1)
    rng = np.random.default_rng(validate.integer("seed", others.pop("seed", 0), minimum=0))
    progress, size = others.pop("progress", None), _sizes(actuators, sizes)
    found, tried, refused = {}, {}, []
    shape = 3, len(size)  # waves of each, the first one constant: marches need not be like what is found
    with progress_bar("sequences of contacts", n_starts, progress) as bar:
        for k in range(n_starts):
            waves = np.zeros(shape) if k == 0 else rng.normal(size=shape) * size
            march = _march(problem, actuators, waves, march_elements)
            try:
                phases = march.phases(actuators=actuators, cost=cost, **others)
            except InputError as error:
                if k == 0 and march.success and not march.events:  # then it is what was asked for
                    raise
                refused.append(str(error))
                bar.advance()
                continue
            sequence = tuple(event.name for event, *_ in phases.links)
            tried.setdefault(sequence, []).append(k)
            unchecked = copy(phases)
            unchecked.check = None
            solution = solve(unchecked, element, n_elements, progress=False)
            better = sequence not in found or solution.objective < found[sequence].objective
            if solution.success and better and not phases.check.violations(solution):
                found[sequence] = solution
            bar.advance()
    if not tried:
        raise InputError(f"none of {n_starts} marches becomes phases; the first one because of {refused[0]}")
    if not found:
        names = "; ".join(", ".join(sequence) or "no event" for sequence in tried)
        warn(f"no sequence of contacts was solved and holds; tried were {names}", NotSolved)
    for sequence, solution in found.items():
        solution.statistics.update(sequence=sequence, starts=tried[sequence])
    return sorted(found.values(), key=lambda solution: solution.objective)


def _sizes(actuators, sizes):
    """Of all controls, shape (n_controls,)."""
    if isinstance(sizes, Mapping) and set(sizes) != set(actuators):
        raise InputError(f"sizes must have one number for each of the actuators {actuators}, not for {list(sizes)}")
    return np.concatenate([np.full(one.n_controls, validate.real(
        "sizes", sizes[one] if isinstance(sizes, Mapping) else sizes, positive=True)) for one in actuators])


def _march(problem, actuators, waves, n):
    """The motion with controls that are sums of cosines."""
    t0, t1 = problem.t_span

    def law(x, v, t, c):
        along = (t - t0) / (t1 - t0)
        own = ca.reshape(c, waves.shape[1], len(waves))
        return own @ ca.vertcat(*(ca.cos(i * np.pi * along) for i in range(len(waves))))

    driven = made_of(problem.system, [*problem.system.parts, Controller(actuators, law, inputs=[],
                                                                        parameters=waves.ravel())])
    return solve(InitialValueProblem(driven, problem.z0, problem.t_span), MixedGalerkin(1), n, progress=False)
