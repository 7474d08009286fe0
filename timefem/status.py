"""How a solve ended, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from math import isfinite
from types import NoneType
from typing import Any, ClassVar, NamedTuple

from .errors import InputError, NotSolved, warn
from .types import Vector
from .validate.options import in_words


class Reason(str, Enum):
    """Why a solve ended: a text, as it stands in files, tables and messages, and what would fix it.

    Code asks which of them it is, or whether it is among `RETRY`, `FINAL` or `SHORTER`; it compares no texts.

    Attributes
    ----------
    remedy : str
        For people; options are in braces.
    """

    def __new__(cls, text: str, remedy: str = "") -> Reason:
        reason = str.__new__(cls, text)
        reason._value_, reason.remedy = text, remedy
        return reason

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged", "use a smaller step (more elements), a better guess or {line_search=True}"
    SINGULAR_TANGENT = ("singular tangent",
                        "use a smaller step, or look for a position where constraints repeat each other")
    LINEAR_SOLVER_FAILED = "linear solver failed", "use {backend=chain}, or other options"
    NOT_FINITE = "not finite", "the model gave NaN or infinity: use a smaller step or check loads and potentials"
    NOT_REACHED = "not reached", ("ask for less, give a better guess, or follow the solution from an easier problem "
                                  "with {continuation}")  # by a homotopy; the message says how far it came
    INFEASIBLE = "infeasible", "loosen bounds and conditions, or give more time"  # of linear rows: nothing holds them
    NOT_FOUND = "not found", ("from this guess what is missed has a least that is not zero: give another guess, loosen "
                              "bounds and conditions, or give more time")
    UNBOUNDED = "unbounded", "give bounds of controls or limits, or correct the sign of a cost"
    NOT_ACCURATE = ("not accurate",
                    "loosen the tolerance, which may be beyond rounding, or take an element of higher degree")
    NO_GUESS = "no guess", "use a smaller step (more elements) or {guess=constant}"
    STEP_TOO_SMALL = ("step too small",
                      "loosen the tolerance, allow a smaller min_step, or check the model near this time")
    CONSTRAINTS_VIOLATED = ("constraints violated",
                            "the elements are too long for the motion: use more elements or a higher degree")
    NO_MODE = "no consistent mode", ("give the contacts less friction or a stiffness, or leave out those that repeat "
                                     "others: what is wedged has no forces within the cones of friction, or many")
    BLOCKED = "motion blocked", ("constraints move on, whatever the force, what these contacts are to stop: prescribe "
                                 "another motion, or drive it by a force")
    IMPACT_BUDGET = "budget of impacts", "give these contacts a stiffness or less friction, or leave some of them out"
    TURNS_NOT_COUNTED = "turns not counted", "use MixedGalerkin, which counts them, or shorter elements"
    CONSTRAINTS_NOT_REDUNDANT = ("constraints not redundant",
                                 "it repeats others at the start, but not later: leave out the constraint that is not "
                                 "intended, or start where they do not repeat each other")
    STOPPED = "stopped", "continue from the checkpoint with {restart}, or use what was solved as a guess"
    INPUT_REFUSED = "input", "give other numbers"  # of one run of many; what is wrong with them follows its text

    __str__, __repr__, __format__ = str.__str__, str.__repr__, str.__format__


# What may help: another start, or another method; nothing but other data; a shorter element
RETRY = frozenset({Reason.NOT_CONVERGED, Reason.SINGULAR_TANGENT, Reason.LINEAR_SOLVER_FAILED, Reason.NOT_FINITE,
                   Reason.INFEASIBLE, Reason.NOT_FOUND, Reason.CONSTRAINTS_VIOLATED})
FINAL = frozenset({Reason.STOPPED, Reason.UNBOUNDED})
SHORTER = frozenset({Reason.NOT_CONVERGED, Reason.SINGULAR_TANGENT, Reason.NOT_FINITE})
REFUSED = f"{Reason.INPUT_REFUSED}: "  # before what is wrong with the numbers of a run
GROWN = 100.0  # growth of the residuals from which on what follows is Newton's method gone astray
ASTRAY = {Reason.SINGULAR_TANGENT: "the residuals grew until the tangent was singular",
          Reason.NOT_FINITE: "the residuals grew beyond all bounds"}


@dataclass
class Status:
    """Outcome of a solve.

    Attributes
    ----------
    success : bool
    reason : Reason
        Which is a text as well: "converged", "not converged", "singular tangent", "linear solver failed", "not finite",
        "no guess", "not reached" (by a homotopy; the message says how far it came), "infeasible", "not found" and
        "unbounded" (of optimal control with linear conditions that contradict each other, with conditions that are not
        met from the guess, and with a cost without a least value), "not accurate" (after mesh refinement, and of
        optimal control on elements that miss its motion and its cost), "step too small" (of step-size control),
        "constraints violated" at the nodes, or in optimal control between them, "constraints not redundant"
        (of those that were dropped as redundant), "turns not counted" (of a spring or stop), "no consistent mode" (of
        rigid contacts), "motion blocked" (by a contact, where it is prescribed), "budget of impacts" (whose law was not
        solved with the work that it may take), or "stopped" (by SIGINT or SIGTERM).
    message : str
        One line for people: what happened, where, and a remedy.
    element : int or None
        Element that failed, counted from 0; None for equations without elements.
    time : float or None
        Start of that element [s].
    residual_history : list of float
        Scaled residual norm per Newton iteration, of the failed element or window, or of a global solve.
    rank : int or None
        Rank that failed, where elements are shared among ranks.
    slab : list of int or None
        First and last element of that rank.
    """

    success: bool
    reason: Reason = Reason.CONVERGED
    message: str = "converged"
    element: int | None = None
    time: float | None = None
    residual_history: list[float] = field(default_factory=list)
    rank: int | None = None
    slab: list[Any] | None = None

    def __post_init__(self) -> None:
        self.reason = Reason(self.reason)

    as_dict = asdict

    @property
    def outcome(self) -> str:
        """Of an attempt: "solved", or the reason of the failure."""
        return "solved" if self.success else str(self.reason)

    def later(self, n: int) -> Status:
        """The same failure in the element that comes n elements later."""
        if self.element is None:
            return self
        place = " in element {} at".format
        message = self.message.replace(place(self.element), place(self.element + n), 1)
        return replace(self, element=self.element + n, message=message)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Status:
        """The status of `as_dict`, from a file.

        Raises
        ------
        InputError
            When an entry is unknown, missing or of the wrong type.
        """
        number = (int, float)
        kinds = {"success": bool, "reason": str, "message": str, "element": (int, NoneType),
                 "time": (*number, NoneType), "residual_history": list, "rank": (int, NoneType),
                 "slab": (list, NoneType)}
        if not isinstance(data, dict) or set(data) != set(kinds):
            raise InputError(f"its status must have {', '.join(kinds)}, not {data!r:.80}")
        values = [(name, data[name], kind) for name, kind in kinds.items()]
        values += [(name, v, number) for name in ("residual_history", "slab") for v in data[name] or ()]
        for name, value, kind in values:
            if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
                raise InputError(f"{name} of its status cannot be {value!r:.60}")
        if data["reason"] not in set(Reason):
            raise InputError(f"reason of its status cannot be {data['reason']!r:.60}")
        return cls(**data)

    @classmethod
    def with_free_forces(cls, times: Vector, **values: Any) -> Status:
        """Success, with the times [s] of elements where singular positions leave forces of constraints open, if any.

        None stands for a time that is not known.
        """
        if not len(times):
            return cls(True, **values)
        places = ", ".join(f"t = {t:.6g}" for t in times[:4] if t is not None) + ", ..." * (len(times) > 4)
        return cls(True, message="converged; the motion has settled, but forces of constraints are not determined "
                   f"{'near ' + places if places else 'at some time'}: the mechanism passes a singular position",
                   **values)

    @classmethod
    def failure(cls, reason: Reason, element: int | None, time: float | None, history: Vector, detail: str = "",
                rank: int | None = None, slab: Any = None, remedy: str | None = None) -> Status:
        """A failed solve, with a remedy: the one that fits the reason unless it is given.

        A singular tangent, or a residual that is not finite, after residuals that grew is not a fault of the model:
        Newton's method did not converge.
        """
        reason, history = Reason(reason), [float(r) for r in history]
        finite = [r for r in history if isfinite(r)]
        if reason in ASTRAY and finite and finite[-1] > GROWN * finite[0]:
            reason, detail = Reason.NOT_CONVERGED, ASTRAY[reason]
        trail = ", ".join(f"{r:.2e}" for r in history[-6:])
        place = "" if element is None else f" in element {element} at t = {time:g}"
        message = (reason + place
                   + (f", on rank {rank} (elements {slab[0]} to {slab[1]})" if rank is not None else "")
                   + (f" (residuals {trail})" if trail else "") + (f" [{detail}]" if detail else "")
                   + f": {in_words(remedy or reason.remedy)}")
        return cls(False, reason, message, None if element is None else int(element),
                   None if time is None else float(time), history, rank, slab)


class Answer:
    """Base of results that have a `status`: where the solve failed, their `numbers` warn when they are read.

    Attributes
    ----------
    numbers : frozenset of str
        Attributes and methods that a failed solve leaves at those of its last iterate.
    """

    numbers: ClassVar[frozenset[str]] = frozenset()
    status: Status

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).numbers:
            status = object.__getattribute__(self, "status")
            if not status.success:
                warn(f"{name} of what failed ({status.reason}): numbers of the last iterate, no solution",
                     NotSolved)
        return object.__getattribute__(self, name)

    @property
    def success(self) -> bool:
        """Whether the solve succeeded; `status` says why not."""
        return self.status.success

    def refuse_if_failed(self, what: str) -> None:
        """Raise `InputError` where the solve failed: its last iterate cannot start anything."""
        if not self.status.success:
            raise InputError(f"{what} failed ({self.status.message}), so that it has no state to start from")


class Attempt(NamedTuple):
    """What was tried in a solve of optimal control.

    Attributes
    ----------
    name : str
        Of the strategy; "first guess" is none.
    why : str
        It applied.
    iterations : int
    outcome : str
        "solved", or the reason of the failure.
    cost : float, optional
        Of what it solved.
    """

    name: str
    why: str
    iterations: int
    outcome: str
    cost: float | None = None


class Attempted:
    """Base of solutions of optimal control, in one phase or several."""

    statistics: dict[str, Any]

    @property
    def attempts(self) -> list[Attempt]:
        """What was tried to solve a problem of optimal control, in order."""
        return [Attempt(**attempt) for attempt in self.statistics.get("attempts", [])]
