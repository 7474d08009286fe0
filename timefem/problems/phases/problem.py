"""Optimal control in several phases, one after the other, and its solution."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError, NamedArguments
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.contacts.rigid import refuse_events
from ...status import Answer, Attempted, Status
from ..end import search
from ..optimal.statement.couplings import BOTH_ENDS, LINK, Coupling, SameState
from ..optimal.statement.limits import coupled

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ...mechanics.system import System
    from ...solution.solution import Solution
    from ..optimal.problem import OptimalControl
    from ..optimal.statement.complementarity import Soft
    from ..optimal.statement.limits import Limit


@dataclass(eq=False, repr=False)
class Phases(NamedArguments):
    """Several problems of optimal control in a row, each with its own system, duration, bounds and cost.

    Minimise the sum of all costs, subject to what each phase asks for and to links between the end of each phase and
    the start of the next one, such as the jump of the state at an impact.

    Parameters
    ----------
    phases : sequence of OptimalControl
        In the order of time. The start of a later phase is free where it is given as `EndState()`; it is guessed from
        where the phase before ends, unless it has `near`. Each counts time from the start of its own `t_span`.
    links : sequence, optional
        For each pair of neighbours a `Coupling` of `(before, after)`, a list of these, or None for a state that goes on
        as it is: of bodies whose inertia changes their velocities; the last one for all unless given. Whole turns go
        on unless a link says otherwise.
    couplings : Coupling or sequence of Coupling
        Of the start of the first phase and the end of the last one, `formula(start, end)`.
    names : sequence of str, optional
        Of the phases, for reports.
    guess : Any, optional
        The guess where `solve` is given none: what `solve` takes as one.
    check : callable, optional
        `check(solution)` of a `PhasedSolution` that was found, to warn of what it violates.

    Attributes
    ----------
    links : list of list of Coupling
    systems : list of System

    Raises
    ------
    InputError
        For phases that are not problems of optimal control, and links that do not fit their number or their systems.
    """

    phases: Sequence[OptimalControl]
    links: Sequence[Coupling | Sequence[Coupling] | None] | None = None
    couplings: Coupling | Sequence[Coupling] = ()
    names: Sequence[str] | None = None
    guess: Any = None
    check: Callable[[Any], Any] | None = None

    bounded = True

    def __post_init__(self):
        if not isinstance(self.phases, list | tuple) or not self.phases:
            raise InputError(f"phases must be a list of OptimalControl problems, not {self.phases!r}")
        self.phases = list(self.phases)
        for k, phase in enumerate(self.phases):
            if not hasattr(phase, "symbols_at"):
                raise InputError(f"phases[{k}] must be an OptimalControl, not {phase!r}")
            if phase.couplings:
                raise InputError(f"phases[{k}]: couplings of both ends of a phase are not taken; give couplings of the "
                                 "first start and the last end to Phases")
        names = [f"phase {k}" for k in range(len(self.phases))] if self.names is None else self.names
        if not isinstance(names, list | tuple) or len(names) != len(self.phases):
            raise InputError(f"names must be {len(self.phases)} texts, one for each phase, not {names!r}")
        self.names = list(names)
        n_pairs = len(self.phases) - 1
        links = [None] * n_pairs if self.links is None else self.links
        if not isinstance(links, list | tuple) or len(links) != n_pairs:
            raise InputError(f"links must have {n_pairs} entries, one between neighbours of {len(self.phases)} "
                             f"phases, not {links!r}")
        self.links = []
        for k, given in enumerate(links):
            before, after = self.phases[k], self.phases[k + 1].continued()
            near = _near_the_end(before, after)
            link = _link(k, given, before, near)
            linked = near if after.near is not None else _as_linked(before, near, link)
            self.phases[k + 1] = linked
            self.links.append(link if linked is near else _link(k, given, before, linked))
        self.couplings = _couplings("couplings", self.couplings)
        for coupling in self.couplings:
            coupling.check(self.phases[0].symbols_at(0), self.phases[-1].symbols_at(1))

    @property
    def system(self) -> System:
        """That of the first phase."""
        return self.phases[0].system

    @property
    def tied_ends(self) -> list[Any]:
        """Links and couplings, each with its two ends as (phase, node), the earlier one first."""
        return [(link, (k, -1), (k + 1, 0)) for k, links in enumerate(self.links) for link in links] + \
            [(coupling, (0, 0), (len(self.phases) - 1, -1)) for coupling in self.couplings]

    @property
    def systems(self) -> list[System]:
        return [phase.system for phase in self.phases]

    @property
    def t_span(self) -> Sequence[float]:
        return self.phases[0].t_span

    @cached_property
    def stated(self) -> dict[str, Any]:
        """Plain data, with formulas as text: "phases", "stated" of each, "links", a list for each pair, "couplings"."""
        pairs = zip(self.phases[:-1], self.phases[1:], self.links, strict=True)
        return {"phases": [phase.stated for phase in self.phases],
                "links": [coupled(*pair, link, LINK, (1, 0)) for *pair, link in pairs],
                "couplings": coupled(self.phases[0], self.phases[-1], self.couplings, BOTH_ENDS, (0, 1))}

    @property
    def limits(self) -> list[Limit | Soft]:
        """Of all phases."""
        return [limit for phase in self.phases for limit in phase.limits]

    def check_element(self, element: TimeElement) -> None:
        """Refuse elements that cannot solve one of the phases."""
        for k, phase in enumerate(self.phases):
            refuse_events(phase.system, "a phase")
            element.check(phase.system)
            phase.check_element(element)
            phase.check_numbers(self._linked(k))

    def _linked(self, k):
        """Expressions of links and couplings of a phase, and the symbols of its unknown numbers in them."""
        last, found = len(self.phases) - 1, []
        pairs = [((j, 1), (j + 1, 0), link) for j, link in enumerate(self.links)]
        for *ends, couplings in [*pairs, ((0, 0), (last, 1), self.couplings)]:
            (first, _), (second, _) = both = [self.phases[j].symbols_at(at) for j, at in ends]
            for (j, _), (_, symbols) in zip(ends, both, strict=True):
                if j == k:
                    found += [(coupling.rows(first, second), symbols[self.phases[k].system.n_z:])
                              for coupling in couplings]
        return found

    def __repr__(self):
        return f"Phases({len(self.phases)} phases, {self.phases[0]!r}, ...)"


def _near_the_end(before, after):
    """A phase whose free start is guessed where the one before it ends, by bodies that both have, unless it is given a
    guess of its own."""
    system, names = before.system, {(before.system.label(body), body.n_q): body for body in before.system.bodies}
    if not after.free_start or after.near is not None or after.system.complete is not None:
        return after
    (q, p), places = np.split(before.conditions.state, 2), {
        body: system.coordinates(names[after.system.label(body), body.n_q]) for body in after.system.bodies
        if (after.system.label(body), body.n_q) in names}
    try:
        return after.guessed_near({body: CanonicalState(q[place], p[place]) for body, place in places.items()})
    except InputError:  # from there no state is found
        return after


def _as_linked(before, after, links):
    """A phase whose free start is guessed where links to the end of the one before it hold, near the guess that it has:
    without the mass of a stage that is dropped, say."""
    if not after.free_start or not links:
        return after
    (first, known), (second, symbols) = before.symbols_at(1), after.symbols_at(0)
    rows = [link.rows(first, second) for link in links]
    lower, upper = (np.concatenate([np.broadcast_to(bound, row.numel()) for bound, row in zip(own, rows, strict=True)])
                    for own in ([link.lower for link in links], [link.upper for link in links]))
    rows, n, size = ca.densify(ca.vertcat(*rows)), after.system.n_z, after.system.state_scale
    function = ca.Function("links", [known, symbols], [rows, ca.densify(ca.jacobian(rows, symbols[:n]))])
    end = np.append(before.conditions.state, before.guesses / before.units)

    def evaluate(z):
        values, jacobian = (np.array(x) for x in function(end, np.append(z, after.guesses / after.units)))
        off = values.ravel() - np.clip(values.ravel(), lower, upper)
        return off, np.where(off[:, None] == 0, 0.0, jacobian * size)

    z, violated, _ = search(evaluate, after.z0, size, lambda z: 1.0)
    if violated is not None or np.array_equal(z, after.z0):
        return after
    q, p = np.split(z, 2)
    places = {body: after.system.coordinates(body) for body in after.system.bodies}
    try:
        return after.guessed_near({body: CanonicalState(q[place], p[place]) for body, place in places.items()})
    except InputError:  # from there no state is found
        return after


def _couplings(what, given):
    given = list(given) if isinstance(given, list | tuple) else [given]
    for one in given:
        if not isinstance(one, Coupling):
            raise InputError(f"{what}: {one!r} is not a Coupling such as Coupling(lambda before, after: after.z - "
                             "before.z)")
    return given


def _link(k, given, before, after):
    if given is None:
        if before.system.n_z != after.system.n_z:
            raise InputError(f"links[{k}]: the systems of phases {k} and {k + 1} have {before.system.n_z} and "
                             f"{after.system.n_z} coordinates and momenta; give a Coupling")
        if not after.free_start:
            raise InputError(f"links[{k}]: the start of phase {k + 1} is given as a whole; leave it free with "
                             "EndState(), or give a Coupling")
        given = SameState(before, after)
    found = _couplings(f"links[{k}]", given)
    for coupling in found:
        coupling.check(before.symbols_at(1), after.symbols_at(0), LINK)
    return found + _turns(before, after, found)


def _turns(before, after, links):
    """Links of counters of turns that both phases have, and of which these say nothing."""
    if not after.turns_go_on:
        return []
    (first, _), (second, symbols) = before.symbols_at(1), after.symbols_at(0)
    told = ca.vertcat(*(link.rows(first, second) for link in links))
    used = np.array([ca.depends_on(told, x) for x in ca.vertsplit(symbols)])
    here = {before.system.label(body) for body in before.system.bodies if body.is_counter}
    names = [after.system.label(body) for body in after.counters_at_start
             if after.system.label(body) in here and not used[after.system.coordinates(body)].any()]
    return [SameState(before, after, names, "turns go on")] if names else []


@dataclass(eq=False)
class PhasedSolution(Answer, Attempted):
    """One `Solution` for each phase, in the order of time.

    Attributes
    ----------
    phases : list of Solution
        Each counts the time from the start of its own time span.
    objective : float
        Sum of the costs of all phases.
    status : Status
    statistics : dict
    """

    phases: list[Solution]
    objective: float
    status: Status
    statistics: dict[str, Any]

    numbers = frozenset({"objective", "durations", "starts"})
    _problem = None  # the `Phases`, where known

    def of_problem(self, problem: Phases) -> PhasedSolution:
        """The solution, which knows its problem."""
        self._problem = problem
        return self

    @property
    def durations(self) -> np.ndarray:
        """Of each phase [s]."""
        return np.array([phase.t[-1] - phase.t[0] for phase in self.phases])

    @property
    def starts(self) -> np.ndarray:
        """When each phase starts, counted from the start of the first one [s]."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])[:-1]

    def save(self, path: str) -> list[str]:
        """Write the solution of each phase to an HDF5 file of its own: of a.h5 the first to a-1.h5, and so on.

        Returns
        -------
        list of str
            Their names; `timefem.load` reads each.
        """
        root, ending = os.path.splitext(path)
        files = [f"{root}-{number}{ending}" for number in range(1, len(self.phases) + 1)]
        for file, phase in zip(files, self.phases, strict=True):
            phase.save(file)
        return files

    def __len__(self) -> int:
        return len(self.phases)

    def __getitem__(self, k: int) -> Solution:
        return self.phases[k]

    def __repr__(self):
        time = sum(phase.t[-1] - phase.t[0] for phase in self.phases)
        return f"PhasedSolution({len(self.phases)} phases, {time:g} s, {self.status.reason})"
