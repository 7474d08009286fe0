"""What ties two ends of motions together: both ends of one, or the end of a phase to the start of the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from ...argument_names import NamedArguments
from ...errors import InputError
from ...mechanics.formula import call_vector, check_symbols
from ...mechanics.formula_text import TextFormula, as_formula, refuse_comparison
from ...types import Floats, UserFormula
from ..common.end_state import INDEPENDENT
from .point_rows import PointRows, View

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
        Zero both unless given, which is an equation; None where there is none.
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
        if lower is None and upper is None:
            raise InputError(f"{self.name}: give lower, upper or both")
        try:
            self.lower, self.upper = (np.atleast_1d(np.asarray(sign * np.inf if b is None else b, float))
                                      for b, sign in ((lower, -1), (upper, 1)))
            wrong = bool(np.any(~(self.lower <= self.upper)))
        except (TypeError, ValueError):
            wrong = True
        if wrong:
            raise InputError(f"{self.name}: bounds must be numbers, the lower one not above the upper one, not "
                             f"{lower!r} and {upper!r}")

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
        """Refuse what is no formula of two ends, given as (End, its symbols), by their names in texts."""
        others = getattr(self.formula, "used", set()) - {*names}
        if others:
            raise InputError(f"{self.name}: the formula is written in {' and '.join(names)}, not {min(others)!r}")
        check_symbols(self.name, self.rows(first[0], second[0]), first[1], second[1])

    def used(self, first: Any, second: Any) -> np.ndarray:
        """Which of the symbols of the first end it depends on, (n,) bool."""
        rows = self.rows(first[0], second[0])
        return np.array([ca.depends_on(rows, x) for x in ca.vertsplit(first[1])], bool)

    def at(self, first: Any, second: Any, views: Sequence[Any], block: int, time: float) -> PointRows:
        """Its `PointRows`, by the `View` of state and constants at both ends, in a block, at a time [s]."""
        return PointRows(self.name, (ca.vertcat(first[1], second[1]), ca.SX(0, 1)), self.rows(first[0], second[0]),
                         (self.lower, self.upper), View.joined(*views), np.array([block]), np.array([time]))


def periodic(conditions, size):
    """The coupling of equal states at both ends, of this size, as far as the constraints leave them open."""
    return Coupling(lambda start, end: ca.DM(conditions.tangent.T / size) @ (end.z - start.z), name="periodic")


def same_state(before, after, bodies=None, name="the state goes on"):
    """The coupling of equal states at the end of a problem and at the free start of another one.

    As far as the constraints after it leave them open; of all bodies, in the same order, or of those of these names.
    """
    def places(system):
        n = system.n_q
        own = np.arange(n) if bodies is None else np.concatenate([
            np.arange(n)[system.coordinates(system.find(body))] for body in bodies])
        return np.append(own, n + own)

    first, second = places(before.system), places(after.system)
    open_, values, _ = np.linalg.svd(after.start_conditions.tangent[second], full_matrices=False)
    open_ = open_[:, values > INDEPENDENT].T / after.system.state_scale[second]
    return Coupling(lambda one, two: ca.DM(open_) @ (two.z[second.tolist()] - one.z[first.tolist()]), name=name)
