"""Boundary-value problems solved several times: all solutions found, and one followed to a harder problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import validate
from ..errors import InputError
from ..problems.kinds import KINDS, check_able, kind_of, kinds_with_several
from ..progress import progress as progress_bar
from ..solution.solution import Solution
from ..solvers.nonlinear.homotopy import follow
from ..status import Reason, Status
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
        Further ones, as for `solve`.
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
