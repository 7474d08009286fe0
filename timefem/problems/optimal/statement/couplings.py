"""What ties two ends of motions together: both ends of one, or the end of a phase to the start of the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from ....errors import InputError, NamedArguments
from ....mechanics.formulas.formula import call_vector, check_symbols
from ....mechanics.formulas.text import TextFormula, as_formula, refuse_comparison
from ....mechanics.values.conserved import with_unit_lengths
from ....mechanics.values.of_parts import couples_inertia
from ....types import Floats, UserFormula
from ...end import INDEPENDENT
from ...targets import body_velocity
from ..transcription.point_rows import PointRows, View

BOTH_ENDS, LINK = ("start", "end"), ("before", "after")  # what texts call the two ends


class Coupling(NamedArguments):
    """`lower <= g(first, second) <= upper` of the states at two ends.

    Parameters
    ----------
    formula : callable, str or sequence of str
        `formula(first, second)` -> expressions in CasADi symbols, of the ends in the order of time: start and end of a
        motion, or the end of a phase and the start of the next one. Ends give `t`, `z`, `q(body)`, `rates(body)` and so
        on, as in `Limit`, and `parameters`. As text they are called `start` and `end`, in links of phases `before` and
        `after`: `"after.rates('ball') + 0.8 * before.rates('ball')"`.
    lower, upper : float or array_like, optional
        Zero both unless given, which is an equation; None, also of single expressions, where there is none.
    name : str, optional
        For reports.

    Raises
    ------
    InputError
        When there is no bound, or the lower one is above the upper one.
    """

    def __init__(self, formula: UserFormula, lower: Floats | None = 0.0, upper: Floats | None = 0.0, *,
                 name: str | None = None) -> None:
        self.name = name or "coupling"
        self.formula = as_formula(f"{self.name}: formula", formula, [*BOTH_ENDS, *LINK])
        refuse_comparison(f"{self.name}: formula", self.formula)
        try:
            self.lower, self.upper = (
                np.array([sign * np.inf if x is None else x for x in np.atleast_1d(np.asarray(b, object))], float)
                for b, sign in ((lower, -1), (upper, 1)))
            wrong = bool(np.any(~(self.lower <= self.upper)))
        except (TypeError, ValueError):
            wrong = True
        if wrong:
            raise InputError(f"{self.name}: bounds must be numbers, the lower one not above the upper one, not "
                             f"{lower!r} and {upper!r}")
        if not np.isfinite([*self.lower, *self.upper]).any():
            raise InputError(f"{self.name}: give lower, upper or both")

    def rows(self, first: Any, second: Any) -> ca.SX:
        """Expressions, SX (n,)."""
        ends = (first, second) * (2 if isinstance(self.formula, TextFormula) else 1)
        rows = call_vector(f"{self.name}: formula", self.formula, *ends)
        for bound in (self.lower, self.upper):
            if bound.size not in (1, rows.numel()):
                raise InputError(f"{self.name}: bounds have {bound.size} numbers, but there are {rows.numel()} "
                                 "expressions")
        return rows

    def check(self, first: Any, second: Any, names: Sequence[str] = BOTH_ENDS) -> None:
        """Refuse what is not a formula of two ends, given as (End, its symbols), by their names in texts."""
        others = getattr(self.formula, "used", set()) - {*names}
        if others:
            raise InputError(f"{self.name}: the formula is written in {' and '.join(names)}, not {min(others)!r}")
        check_symbols(self.name, self.rows(first[0], second[0]), first[1], second[1])

    def again(self, first: Any, second: Any) -> Coupling:
        """The same of problems whose conditions are reduced elsewhere."""
        return self

    def missed(self, one: Any, two: Any) -> float:
        """By how much states at both ends, each with its system before it, miss what it was reduced from, scaled."""
        return 0.0

    def used(self, first: Any, second: Any) -> np.ndarray:
        """Which of the symbols of the first end it depends on, (n,) bool."""
        rows = self.rows(first[0], second[0])
        return np.array([ca.depends_on(rows, x) for x in ca.vertsplit(first[1])], bool)

    def at(self, first: Any, second: Any, views: Sequence[Any], block: int, time: float) -> PointRows:
        """Its `PointRows`, by the `View` of state and constants at both ends, in a block, at a time [s]."""
        return PointRows(self.name, (ca.vertcat(first[1], second[1]), ca.SX(0, 1)), self.rows(first[0], second[0]),
                         (self.lower, self.upper), View.joined(*views), np.array([block]), np.array([time]))


class SameState(Coupling):
    """Equal states at two ends, as far as constraints leave them open near one of them.

    Of bodies whose inertia is not the same at both, velocities are equal, not momenta: what is dropped leaves with the
    velocity that it has.

    Parameters
    ----------
    first, second : OptimalControl
        At whose end, and at whose free start; one problem where a motion is periodic.
    bodies : sequence of str, optional
        Only of these bodies; default: of all, in the same order.
    closing : bool
        Whether the start is the earlier one in time; then whole turns of angles need not be the same.
    whole : bool
        Whether all components are asked for, those that constraints imply where the motion ends, too.
    """

    def __init__(self, first, second, bodies=None, name="the state goes on", closing=False, whole=False):
        self._bodies, self._closing = bodies, closing
        self._systems = first.system, second.system
        self._places = [_places(system, bodies, closing) for system in self._systems]
        self._other_inertia = [] if first is second else _of_other_inertia(first, second, bodies)
        conditions = first.conditions if first is second else second.start_conditions
        open_, values, _ = np.linalg.svd(conditions.tangent[self._places[1]], full_matrices=False)
        self._size = second.system.state_scale[self._places[1]]
        self._quaternions = _quaternions(second.system, self._places[1])
        open_ = ca.DM((np.eye(len(open_)) if whole else open_[:, values > INDEPENDENT].T) / self._size)

        def formula(*ends):
            own = [lambda i, end=end: end.own_parameters(end.system.bodies[i]) for end in ends]
            return open_ @ self._gap(*(end.z for end in ends), own)

        super().__init__(formula, name=name)

    def _gap(self, one, two, own, sign=-1.0):
        end, start = (two, one) if self._closing else (one, two)
        first, second = (places.tolist() for places in self._places)
        end, start = map(with_unit_lengths, self._systems, (end, start))
        end = self._with_velocities(end, *(own[::-1] if self._closing else own))
        return start[second] + sign * end[first]

    def _with_velocities(self, z, own, other):
        """The state with the momenta that bodies of other inertia have at the same velocities."""
        (system, later), state = self._systems, ca.SX(z)
        for i, j in self._other_inertia:
            place = system.coordinates(system.bodies[i])
            q, p = state[:system.n_q][place], state[system.n_q:][place]
            found = later.bodies[j].momenta_of_velocity(q, body_velocity(system.bodies[i], q, p, own(i)), other(j))
            state[(system.n_q + np.arange(place.start, place.stop)).tolist()] = found
        return state if isinstance(z, ca.SX) else np.array(ca.evalf(state)).ravel()

    def again(self, first, second):
        return SameState(first, second, self._bodies, self.name, self._closing, whole=True)

    def missed(self, one, two):
        """How far states are apart at most, scaled; a quaternion of the other sign is the same orientation."""
        own = [lambda i, system=system: system.bodies[i].own_parameters for system, _ in (one, two)]
        apart, turned = (np.abs(self._gap(*(z for _, z in (one, two)), own, sign)) / self._size for sign in (-1.0, 1.0))
        for places in self._quaternions:
            if turned[places].max() < apart[places].max():
                apart[places] = turned[places]
        return float(apart.max())


def _places(system, bodies, closing):
    n = system.n_q
    bodies = [body for body in system.bodies if not (closing and body.is_counter)] if bodies is None else bodies
    own = np.concatenate([np.arange(n)[system.coordinates(system.find(body))] for body in bodies])
    return np.append(own, n + own)


def _of_other_inertia(first, second, names):
    """Bodies, by their numbers at both ends, whose inertia is not the same, or is to be found."""
    systems = first.system, second.system
    pairs = zip(*(system.bodies if names is None else [system.find(name) for name in names] for system in systems),
                strict=False)
    found = [pair for pair in pairs if pair[0].n_q == pair[1].n_q and not any(body.first_order for body in pair)
             and not _same(*pair, first.numbers, second.numbers)]
    if any(couples_inertia(system) for system in systems):
        coupled = [[part for part in system.parts if part.couples_inertia] for system in systems]
        if found or len(coupled[0]) != len(coupled[1]) or not all(
                _same(*pair, first.numbers, second.numbers) for pair in zip(*coupled, strict=True)):
            raise InputError("the inertia that couples bodies changes between the phases; give a Coupling by rates "
                             "in place of the state that goes on")
    return [tuple(system.bodies.index(body) for system, body in zip(systems, pair, strict=True)) for pair in found]


def _same(one, two, *numbers):
    """Whether two parts differ in nothing, and no number of theirs is to be found."""
    return one.kind == two.kind and np.array_equal(one.own_parameters, two.own_parameters) and not any(
        part in own.following for own, part in zip(numbers, (one, two), strict=True))


def _quaternions(system, places):
    """Where in some places of a state each quaternion stands, with its momenta."""
    n, found = system.n_q, []
    for body in system.bodies:
        if getattr(body, "rotation", None) == "quaternion":
            own = np.arange(n)[system.coordinates(body)][-4:]
            found.append(np.flatnonzero(np.isin(places, np.append(own, n + own))))
    return [where for where in found if where.size]
