"""Optimal control problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments, check_class
from ...mechanics.forces.actuators import Actuator, Cost, control_name
from ...mechanics.formulas.formula import call
from ...mechanics.formulas.text import as_formula, refuse_comparison
from ...mechanics.system import System
from ...types import Expression, UserFormula
from ..end import End
from ..initial.problem import merged
from ..parameters import checked_parameters, own_entries, own_parts
from ..targets import check_turns
from ..task import Kept
from .guesses.rates import with_known_states
from .statement.complementarity import Soft
from .statement.costs import (
    MINIMISED,
    all_of,
    check_costs_of_controls,
    check_element,
    check_formulas,
    check_numbers,
    limits_of,
    with_costs,
    with_integrands,
)
from .statement.couplings import Coupling, SameState
from .statement.end_conditions import EndConditions
from .statement.limits import Limit, bounds_of, by_actuator, rate_limits, stated
from .statement.start import counters_at_start, start_of

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ...mechanics.states.given import GivenStates
    from ..targets import EndState

REFUSED = (Cost,)  # parts whose numbers cannot be unknown


@dataclass(eq=False, repr=False)
class OptimalControl(NamedArguments):
    """Find the controls that bring a system from one state to another at least cost.

    Minimise `end_cost + integral of the costs` over the controls of the actuators and, if asked for, over parameters
    and the final time, subject to the equations of motion and to conditions at the end.

    Parameters
    ----------
    system : System
        With or without the actuators and costs.
    start : dict
        State at the start, as in `InitialValueProblem`; or body, link or joint of a tree -> `EndState`, which leaves
        free what it leaves out, so that it is found as well.
    end : dict, optional
        Body -> `EndState` (what it leaves out is free), or `Pose`, `Coordinates`, `CanonicalState` (everything is
        prescribed, including velocities). Bodies left out are free. A quaternion is taken with its sign, so that it
        also tells which way to turn. Links and joints of trees take an `EndState`, too; a tree takes a dict of its
        joints. With joints between bodies among the keys all bodies that hang together with these or with the ground
        follow from their coordinates and rates, as in `InitialValueProblem`; others are as without.
    t_span : (float, float)
        Start and end [s]; with `free_time` the end is a guess.
    cost : Cost, callable, str, or sequence of these
        Integrands, for instance `Effort(actuator)`, or formulas `cost(now, u)` as in `Limit`, of all but momenta.
    actuators : Actuator or sequence of Actuator
        Those that are not in the system; actuators that a cost, bounds or rates name need not be given.
    end_cost : callable or str, optional
        `end_cost(end, parameters)` -> scalar in CasADi symbols, or such a formula as text, `"end.t"`. `end` offers what
        `now` of a `Limit` does, except controls; `parameters` is a dict of the unknown ones, with "duration" when the
        time is free.
    end_conditions : callable, str or sequence of str, optional
        `end_conditions(end, parameters)` -> expressions that are zero.
    parameters : dict, optional
        Name -> (body, joint or force, its number), such as `{"k": (spring, "stiffness"), "m": (body, "mass")}`: numbers
        to be found as well, from their present values on, as in `BoundaryValueProblem`; also "PART.NUMBER" as text, and
        those of links and joints of trees, `(arm, "fore.mass")`, `(arm, "elbow.position[0]")`. Or name -> a number, the
        guess of one that stands in formulas alone. A body that moves at the start keeps its velocities, or its momenta
        where these are given.
    follows : dict, optional
        (part, its number), or "PART.NUMBER" -> formula `f(parameters)` of the unknown numbers, also as text: numbers
        that go with them, such as `{(rotor, "point[0]"): "parameters['arm']"}`.
    free_time : bool
        Whether the final time is to be found as well.
    bounds : dict, optional
        Actuator, name of a parameter or "duration" -> (lower, upper), numbers or arrays of shape (n_controls,), None
        where there is none, or of controls functions of the time, also as text. They hold for the nodal values of the
        controls. Problems with bounds, `path` or `limits` are solved by an interior-point method.
    rates : dict, optional
        Actuator -> (lower, upper) of the rates of its controls, per second, which then do not jump; where controls are
        constant over an element, of the differences between elements over the time between their middles.
    path : callable, str or sequence of str, optional
        `path(now, u)` -> expressions that are at most zero, at the nodes of the state; `now` is as `end`, and u are the
        controls of all actuators, in the order of the system.
    limits : Limit, Complementary, CoulombFriction or sequence of these, optional
        Two-sided limits of formulas along the path, at its ends or of integrals, complementary pairs, and friction.
    couplings : Coupling or sequence of Coupling, optional
        Conditions `formula(start, end)` on both ends together.
    periodic : bool
        Whether the state at the end equals that at the start, part of which must be free.
    near : dict, optional
        States as in `InitialValueProblem`, of bodies whose start is free, near which it is looked for: a guess.
    begins : str, optional
        Which of `parameters` is the time at which the motion starts [s], with `free_time`: for systems that depend on
        the time, as phases that begin when the one before ends. Default: the motion starts with `t_span`.

    Attributes
    ----------
    system : System
        With actuators and costs.
    z0 : ndarray, shape (n_z,)
    conditions : EndConditions
    start_conditions : EndConditions or None
        Where some of the start is free.
    actuators : list of Actuator
    held : ndarray or None
        Combinations (n, n_held) of the conditions that are met whatever actuators do, found by the last solve.
    sized_as : OptimalControl or None
        The problem as it was stated, whose states tell sizes; None where it is this one.

    Raises
    ------
    InputError
        For input that does not fit: a missing cost or actuator, unknown bodies, conditions that contradict each
        other or the constraints, a state that violates a constraint.
    """

    system: System
    start: InitVar[GivenStates | EndState]
    end: InitVar[GivenStates | EndState | None] = None
    t_span: Sequence[float] = (0.0, 1.0)
    cost: InitVar[Cost | UserFormula | Sequence[Cost | UserFormula]] = ()
    _: KW_ONLY
    actuators: Actuator | Sequence[Actuator] = ()
    end_cost: UserFormula | None = None
    end_conditions: InitVar[UserFormula | None] = None
    parameters: Mapping[str, Any] | None = None
    follows: Mapping[Any, Any] | None = None
    free_time: bool = False
    bounds: Mapping[Any, Any] | None = None
    path: InitVar[UserFormula | None] = None
    limits: Limit | Soft | Sequence[Limit | Soft] = ()
    rates: Mapping[Any, Any] | None = None
    couplings: Coupling | Sequence[Coupling] = ()
    periodic: bool = False
    near: GivenStates | None = None
    begins: str | None = None

    held = sized_as = None
    turns_go_on = False  # whether turns at a free start are those of a phase before

    def __post_init__(self, start, end, cost, end_conditions, path):
        check_class("system", self.system, "System")
        self._given = {"start": start, "end": end, "end_conditions": end_conditions, "bounds": self.bounds,
                       "rates": self.rates, "couplings": self.couplings, "periodic": self.periodic,
                       "near": self.near}
        self.free_time = validate.flag("free_time", self.free_time)
        self.parameters = self.parameters or {}
        system, formulas = with_costs(self.system, cost, self.actuators, [
            key for limited in (self.bounds, self.rates) if isinstance(limited, Mapping) for key in limited])
        system, _ = checked_parameters(system, self.parameters, self.follows, REFUSED)  # then formulas see lengths
        system = with_integrands(system, formulas, ["duration"] * self.free_time + list(self.parameters))
        like = self.__dict__.pop("_like", None)  # the problem that this one changes
        if like and all(own is other for own, other in ((system, like.system), (start, like._given["start"]),
                                                        (self.t_span, like.t_span), (self.near, like.near))):
            self.system, self.z0, self.start_conditions = system, like.z0, like.start_conditions
        else:
            self.system, self.z0, self.t_span, self.start_conditions = start_of(
                system, start, self.t_span, self.near, self._numbered)
        # formulas know the time span: that of the end, and what falls from the start on
        self._known = like.conditions.formulas if like and like.t_span == self.t_span else None
        self.actuators = [part for part in self.system.parts if part.n_controls]
        if self.end_cost is not None:
            self.end_cost = as_formula("end_cost", self.end_cost, ["end", "parameters"])
            refuse_comparison("end_cost", self.end_cost, MINIMISED)
        if not (self.actuators or self.parameters or self.free_start):
            raise InputError("there is nothing to control: give actuators, for instance ControlTorque(body), or "
                             "unknown numbers")
        if self.end_cost is None and not any(isinstance(part, Cost) for part in self.system.parts):
            raise InputError("the cost is missing: give cost=Effort(actuator), another Cost, or end_cost; "
                             "end_cost='0' where any motion will do, or in a phase that costs nothing by itself")
        self.numbers, self.guesses = self._numbered(self.system)
        if self.begins is not None and not (self.free_time and self.begins in self.parameters):
            raise InputError(f"begins must be one of the unknown numbers, of a problem with free_time=True, not "
                             f"{self.begins!r}")
        self.limits = self._given["limits"] = limits_of(path, self.limits)
        self.bounds, self.number_bounds, timed = bounds_of(self, self.bounds)
        self.limits = [*self.limits, *timed]
        check_turns(self.system, start, end)
        self.conditions = self._end_conditions()
        check_formulas(self)
        if self.free_time and not self.number_bounds[1, 0] > 0:
            raise InputError("bounds of duration: the upper one must be positive, not "
                             f"{digits(self.number_bounds[1, 0])}")
        self.rate_limits = rate_limits(self, self.rates)
        self.couplings = all_of("couplings", self.couplings, Coupling)
        if validate.flag("periodic", self.periodic):
            self.couplings.append(SameState(self, self, name="periodic", closing=True))
        for coupling in self.couplings:
            coupling.check(self.symbols_at(0), self.symbols_at(1))
        self.limits_itself = check_costs_of_controls(self)

    @property
    def tied_ends(self) -> list[Any]:
        """Couplings, each with its two ends as (phase, node), the earlier one first."""
        return [(coupling, (0, 0), (0, -1)) for coupling in self.couplings]

    def changed(self, system: System | None = None, start: Any = None, end: Any = None,
                t_span: Sequence[float] | None = None, bounds: Mapping[Any, Any] | None = None,
                rates: Mapping[Any, Any] | None = None, limits: Sequence[Limit | Soft] | None = None) -> OptimalControl:
        """The same problem with other numbers; `start`, `end`, `bounds` and `rates` of what they name.

        A system is one by `System.with_numbers`, with actuators and costs; limits are the same ones with other bounds.
        """
        system, given = self.system if system is None else system, dict(self._given)
        for name, states in (("start", start), ("end", end)):
            if states is not None:
                given[name] = merged(system, given[name] or {}, states)
        if limits is not None:
            given["limits"] = list(limits)
        for name, more in (("bounds", bounds), ("rates", rates)):
            pairs = {}
            for own in (given[name], more):
                pairs |= by_actuator(self.system, self.actuators, own or {}, self.unknown_names)
            given[name] = {key if isinstance(key, str) else system[key]: pair for key, pair in pairs.items()}
        other = object.__new__(type(self))
        other._like = self
        other.__init__(system, t_span=self.t_span if t_span is None else t_span, end_cost=self.end_cost,
                       parameters=own_parts(system, self.parameters), follows=own_entries(system, self.follows),
                       free_time=self.free_time, begins=self.begins, **given)
        return other

    def with_costs(self, system: System, cost: Any, bounds: Mapping[Any, Any],
                   limits: Sequence[Limit]) -> OptimalControl:
        """The same problem of a system with other costs, with bounds of further actuators and limits besides."""
        given = self._given | {"limits": [*self._given["limits"], *limits],
                               "bounds": dict(self._given["bounds"] or {}) | dict(bounds)}
        return type(self)(system, t_span=self.t_span, cost=cost, actuators=list(bounds), end_cost=self.end_cost,
                          parameters=own_parts(system, self.parameters), follows=own_entries(system, self.follows),
                          free_time=self.free_time, begins=self.begins, **given)

    def check_element(self, element: TimeElement) -> None:
        """Refuse elements that cannot have a free start, unknown masses of what moves at the start, rigid contacts."""
        check_element(self, element)

    def check_numbers(self, further: Sequence[tuple[ca.SX, ca.SX]] = ()) -> None:
        """Refuse unknown numbers that nothing depends on, nor `further` expressions by their own symbols of these."""
        check_numbers(self, further)

    def guessed_near(self, near: Mapping[Any, Any]) -> OptimalControl:
        """The same problem, whose free start is looked for near other states, by body."""
        other = self._copied()
        other.near, other._given = near, self._given | {"near": near}
        return other._started_again()

    def continued(self) -> OptimalControl:
        """The same problem, as a later phase: whole turns at its free start are not counted anew."""
        if self.turns_go_on or not self.counters_at_start:
            return self
        other = self._copied()
        other.turns_go_on = True
        return other._started_again()

    @property
    def counters_at_start(self) -> list[Any]:
        """Counters of turns whose values at a free start follow from the rest of the state."""
        return counters_at_start(self.system, self._given["start"])

    def given(self, name: str) -> Any:
        """What was given as "start", "end", "end_conditions", "bounds", "rates", "limits", "couplings" or "near"."""
        return self._given[name]

    def _started_again(self):
        _, self.z0, _, self.start_conditions = start_of(self.system, self._given["start"], self.t_span, self.near,
                                                        self._numbered, self.turns_go_on)
        self.conditions = self._end_conditions()
        return self

    def _numbered(self, system):
        """The unknown numbers of parts, and guesses of all, with free time the duration first."""
        _, numbers = checked_parameters(system, self.parameters, self.follows, REFUSED)
        return numbers, np.array([self.t_span[1] - self.t_span[0]] * self.free_time + numbers.values.tolist())

    def _end_conditions(self):
        formula = self._given["end_conditions"], self._at_end
        near = with_known_states(self.system, self.z0, self.t_span)
        if self.free_time:  # a mass that would be gone before the guess of the time is up
            near = np.where(near * self.z0 < 0, self.z0, near)
        found = EndConditions(self.system, self._given["end"], formula, self.t_span[1], near, self.guesses,
                              known=self._known)
        fixed = not (self.free_start or len(self.numbers))
        return found.with_conserved(self.z0, *self.t_span) if fixed else found

    @cached_property
    def stated(self) -> dict[str, Any]:
        """Costs, limits and couplings as plain data, with their formulas as text: "cost", "end_cost", "limits" and
        "couplings", by the arguments that make them; saved with solutions."""
        return stated(self)

    @cached_property
    def kept(self) -> Kept:
        """What solves of this problem on meshes that are not fine share."""
        return Kept(once=False)

    @cached_property
    def kinks(self) -> np.ndarray:
        """Times that become nodes: of loads, and of the bounds of limits, controls and rates."""
        limits = [*self.limits, *(limit for _, limit in self.rate_limits)]
        own = [t for limit in limits for t in getattr(limit, "kinks", ())]
        return np.unique(np.append(self.system.kinks, own)) if own else self.system.kinks

    @property
    def unknown_names(self) -> list[str]:
        """Names of the unknown numbers, "duration" first where the time is free."""
        return ["duration"] * self.free_time + list(self.numbers)

    @property
    def units(self) -> np.ndarray:
        """Unknown numbers over constants: the first of them is the length of time over that of the mesh."""
        return np.array([self.t_span[1] - self.t_span[0]] * self.free_time + [1.0] * len(self.numbers))

    @property
    def length(self) -> float | None:
        """Length of the time span of the mesh [s] where it is to be found."""
        return self.t_span[1] - self.t_span[0] if self.free_time else None

    @property
    def n_controls(self) -> int:
        """Number of controls of all actuators."""
        return sum(a.n_controls for a in self.actuators)

    @property
    def bounded(self) -> bool:
        """Whether there are inequalities, so that an interior-point method is needed."""
        return bool(self.limits or self.couplings or self.rate_limits or self.free_start) or any(
            np.isfinite(b).any() for b in (self.bounds, self.number_bounds))

    @property
    def free_start(self) -> bool:
        """Whether some of the state at the start is to be found."""
        return self.start_conditions is not None

    def control_name(self, i: int) -> str:
        """For messages: number and actuator of the i-th of all controls."""
        return control_name(self.system, i)

    def _at_end(self, z, numbers):
        """The arguments of formulas of the end, in the symbols of the state there and of the unknown numbers."""
        unknowns = dict(zip(self.unknown_names, ca.vertsplit(numbers) if numbers.numel() else [], strict=True))
        t = self.time(self.t_span[1], numbers / self.units) if self.free_time else ca.SX(self.t_span[1])
        return self._end(z, t, unknowns), unknowns

    def _end(self, z, t, unknowns, u=None):
        return End(self.system, t, z, self.numbers.at([unknowns[name] for name in self.numbers]), unknowns, u)

    def with_conditions(self, conditions: EndConditions) -> OptimalControl:
        """The problem with other conditions at the end."""
        other = self._copied()
        other.conditions = conditions
        return other

    def of_motion(self) -> OptimalControl:
        """The problem without limits and couplings."""
        other = self._copied()
        other.limits, other.rate_limits, other.couplings = [], [], []
        return other

    def with_limits(self, limits: Sequence[Limit | Soft]) -> OptimalControl:
        """The problem with its limits at other points."""
        other = self._copied()
        other.limits = list(limits)
        return other

    def held_at(self, duration: float, room: float = 0.02) -> OptimalControl:
        """The problem with its duration near one, by at most that share of it."""
        other = self._copied()
        lower, upper = self.number_bounds[:, 0]
        other.number_bounds = self.number_bounds.copy()
        other.number_bounds[:, 0] = max(lower, (1 - room) * duration), min(upper, (1 + room) * duration)
        return other

    def restated(self, start: EndConditions | None, end: EndConditions) -> OptimalControl:
        """The problem with its conditions reduced elsewhere, of the same sizes."""
        other = self.with_conditions(end)
        other.sized_as = self.sized_as or self
        if start is not None:
            other.start_conditions, other.z0 = start, start.state
        return other

    def _copied(self):
        """The same problem, to be changed: what is kept is of this one."""
        other = copy(self)
        other.__dict__.pop("kept", None)
        return other

    def terminal(self, z: ca.SX, numbers: ca.SX) -> Expression:
        """The end cost in CasADi symbols."""
        return ca.SX(0) if self.end_cost is None else call("end_cost", self.end_cost, 1, *self._at_end(z, numbers))

    def now(self, z: ca.SX, t: Expression, numbers: ca.SX, u: ca.SX | None = None) -> Any:
        """A time in the symbols of the state there, of the unknown numbers and, for limits, of all controls."""
        return self._end(z, t, self._at_end(z, numbers)[1], u)

    @property
    def begins_with(self) -> int | None:
        """Which of the unknown numbers is the time of the start; None where that is given."""
        return None if self.begins is None else self.unknown_names.index(self.begins)

    def time(self, tau: Expression, numbers: Any) -> Expression:
        """The time by that of the mesh, with unknown numbers over their units."""
        t0 = begins = self.t_span[0]
        if self.begins is not None:
            begins = numbers[self.begins_with]
        return begins + (tau - t0) * (numbers[0] if self.free_time else 1.0)

    def symbols_at(self, last: int) -> tuple[Any, ca.SX]:
        """An end, the last one or not, and the symbols of state and constants in which it is written."""
        z, c = ca.SX.sym("z", self.system.n_z), ca.SX.sym("c", len(self.guesses))
        return self.now(z, ca.SX(self.time(self.t_span[last], c)), c * self.units), ca.vertcat(z, c)

    def __repr__(self):
        return (f"OptimalControl({self.system!r}, t_span={self.t_span}, {self.n_controls} controls, "
                f"{len(self.conditions.combinations)} conditions at the end)")
