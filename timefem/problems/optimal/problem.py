"""Optimal control problems."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ...mechanics import Actuator, Cost, System
from ...mechanics.forces.actuators import control_name
from ...mechanics.formula import call, check_symbols
from ..common.end import End
from ..common.parameters import by_part, checked_parameters
from ..initial.problem import InitialValueProblem
from .end_conditions import EndConditions
from .limits import Limit


@dataclass(eq=False, repr=False)
class OptimalControl:
    """Find the controls that bring a system from a state to another at the least cost.

    Minimise `end_cost + integral of the costs` over the controls of the actuators and, if asked for, over parameters
    and the final time, subject to the equations of motion and to conditions at the end.

    Parameters
    ----------
    system : System
        With or without the actuators and costs.
    start : dict
        State at the start, as in `InitialValueProblem`.
    end : dict, optional
        Body -> `EndState` (what it leaves out is free), or `Pose`, `Coordinates`, `CanonicalState` (everything is asked
        for, velocities too). Bodies left out are free. A quaternion is taken with its sign, so that it also tells which
        way to turn.
    t_span : (float, float)
        Start and end [s]; with `free_time` the end is a guess.
    cost : Cost or sequence of Cost
        Integrands, for instance `Effort(actuator)`.
    actuators : Actuator or sequence of Actuator
        Those that are not in the system; actuators that a cost names need not be given.
    end_cost : callable, optional
        `end_cost(end, parameters)` -> scalar in CasADi symbols. `end` gives `t`, `z`, `q(body)`, `rates(body)`,
        `position(body)`, `velocity(body)`, `rotation_matrix(body)`, `angular_velocity(body, frame)`, `energy()`;
        `parameters` is a dict of the unknown ones, with "duration" when the time is free.
    end_conditions : callable, optional
        `end_conditions(end, parameters)` -> expressions that are zero.
    parameters : dict, optional
        Name -> (joint or force, its number), such as `{"k": (spring, "stiffness")}`: numbers to be found as well, from
        their present values on, as in `BoundaryValueProblem`.
    free_time : bool
        Whether the final time is to be found as well.
    bounds : dict, optional
        Actuator, name of a parameter or "duration" -> (lower, upper), numbers or arrays of shape (n_controls,), None
        where there is none. They hold for the nodal values of the controls. Problems with bounds, `path` or `limits`
        are solved by an interior-point method.
    path : callable, optional
        `path(now, u)` -> expressions that are at most zero, at the nodes of the state; `now` is as `end`, and u are the
        controls of all actuators, in the order of the system.
    limits : Limit or sequence of Limit, optional
        Two-sided limits of formulas along the path or at its ends.

    Attributes
    ----------
    system : System
        With actuators and costs.
    z0 : ndarray, shape (n_z,)
    conditions : EndConditions
    actuators : list of Actuator

    Raises
    ------
    InputError
        For input that does not fit: a missing cost or actuator, unknown bodies, conditions that contradict each
        other or the constraints, a state that violates a constraint.
    """

    system: System
    start: InitVar[dict]
    end: InitVar[dict | None] = None
    t_span: tuple = (0.0, 1.0)
    cost: InitVar[Cost | Sequence] = ()
    _: KW_ONLY
    actuators: Actuator | Sequence = ()
    end_cost: Callable | None = None
    end_conditions: InitVar[Callable | None] = None
    parameters: dict | None = None
    free_time: bool = False
    bounds: dict | None = None
    path: InitVar[Callable | None] = None
    limits: Limit | Sequence = ()

    def __post_init__(self, start, end, cost, end_conditions, path):
        if not isinstance(self.system, System):
            raise InputError(f"system must be a System, not {self.system!r}")
        start_problem = InitialValueProblem(_joined(self.system, cost, self.actuators), start, self.t_span)
        self.system, self.z0, self.t_span = start_problem.system, start_problem.z0, start_problem.t_span
        self.free_time = validate.flag("free_time", self.free_time)
        self.actuators = [part for part in self.system.parts if part.n_controls]
        if not self.actuators:
            raise InputError("there is nothing to control: give actuators, for instance ControlTorque(body)")
        if self.end_cost is None and not any(isinstance(part, Cost) for part in self.system.parts):
            raise InputError("the cost is missing: give cost=Effort(actuator), another Cost, or end_cost")
        self.parameters = self.parameters or {}
        self.numbers, values = checked_parameters(self.system, self.parameters, refused=(Actuator, Cost))
        self.guesses = np.array([self.t_span[1] - self.t_span[0]] * self.free_time + values)
        self.limits = _limits(path, self.limits)
        self.conditions = EndConditions(self.system, end or {}, end_conditions, self._at_end, self.t_span[1], self.z0,
                                        self.guesses)
        self._check_formulas()
        self.bounds, self.number_bounds = self._bounds(self.bounds or {})
        self._check_costs_of_controls()

    @property
    def unknown_names(self):
        return ["duration"] * self.free_time + list(self.numbers)

    @property
    def n_controls(self):
        return sum(a.n_controls for a in self.actuators)

    @property
    def bounded(self):
        """Whether there are inequalities, so that an interior-point method is needed."""
        return bool(self.limits) or any(np.isfinite(b).any() for b in (self.bounds, self.number_bounds))

    def control_name(self, i):
        """For messages: number and actuator of the i-th of all controls."""
        return control_name(self.system, i)

    def _at_end(self, z, numbers):
        """The arguments of formulas of the end, in the symbols of the state there and of the unknown numbers."""
        unknowns = dict(zip(self.unknown_names, ca.vertsplit(numbers) if numbers.numel() else [], strict=True))
        t = self.t_span[0] + unknowns["duration"] if self.free_time else ca.SX(self.t_span[1])
        return self._end(z, t, unknowns), unknowns

    def _end(self, z, t, unknowns):
        numbers = by_part(self.numbers, (unknowns[name] for name in self.numbers))
        end = End(self.system, t, z, numbers)
        end.parameters = unknowns
        return end

    def terminal(self, z, numbers):
        """The end cost in CasADi symbols."""
        return ca.SX(0) if self.end_cost is None else call("end_cost", self.end_cost, 1, *self._at_end(z, numbers))

    def now(self, z, t, numbers):
        """A time in the symbols of the state there and of the unknown numbers, for limits."""
        return self._end(z, t, self._at_end(z, numbers)[1])

    def _check_formulas(self):
        z, c = ca.SX.sym("z", self.system.n_z), ca.SX.sym("numbers", len(self.guesses))
        check_symbols("end_cost", self.terminal(z, c), z, c)
        u, t = ca.SX.sym("u", self.n_controls), ca.SX.sym("t")
        for limit in self.limits:
            limit.check(self.now(z, t, c), (z, u, t, c), self.z0, self.t_span[0], self.guesses)

    def _bounds(self, bounds):
        if not isinstance(bounds, dict):
            raise InputError(f"bounds must be a dict from actuator or name to (lower, upper), not {bounds!r}")
        for key in bounds:
            if not any(key is a for a in self.actuators) and not (isinstance(key, str) and key in self.unknown_names):
                raise InputError(f"bounds: {key!r} is neither an actuator of the problem nor the name of an unknown "
                                 f"number ({', '.join(self.unknown_names) or 'there is none'})")
        none = None, None
        controls = [_pair(self.system.label(a), bounds.get(a, none), a.n_controls) for a in self.actuators]
        numbers = [_pair(name, bounds.get(name, none), 1) for name in self.unknown_names]
        return np.concatenate(controls, axis=1), np.concatenate([np.zeros((2, 0)), *numbers], axis=1)

    def _check_costs_of_controls(self):
        """Refuse controls that cost nothing and have no bounds: nothing determines them."""
        costly = {id(a) for part in self.system.parts if isinstance(part, Cost) for a in part.controls}
        at = 0
        for a in self.actuators:
            free = ~np.isfinite(self.bounds[:, at:at + a.n_controls]).all(axis=0)
            at += a.n_controls
            if id(a) not in costly and free.any() and not self.limits:
                raise InputError(f"no cost depends on the controls of {self.system.label(a)}: add Effort, or bounds")

    def __repr__(self):
        return (f"OptimalControl({self.system!r}, t_span={self.t_span}, {self.n_controls} controls, "
                f"{len(self.conditions.combinations)} conditions at the end)")


def _joined(system, cost, actuators):
    """The system with the parts that it does not have yet."""
    cost, actuators = (list(x) if isinstance(x, list | tuple) else [x] for x in (cost, actuators))
    for part, cls, what in (*((c, Cost, "cost") for c in cost), *((a, Actuator, "actuators") for a in actuators)):
        if not isinstance(part, cls):
            example = "Effort(ControlTorque(body))" if cls is Cost else "ControlForce(body)"
            raise InputError(f"{what}: {part!r} is no {cls.__name__} such as {example}")
    costs = [*cost, *(part for part in system.parts if isinstance(part, Cost))]
    named = [actuator for part in costs for actuator in part.controls]
    further = [part for part in dict.fromkeys([*actuators, *named, *cost]) if part not in system.parts]
    return System([*system.parts, *further], redundant=system.redundant) if further else system


def _limits(path, limits):
    limits = list(limits) if isinstance(limits, list | tuple) else [limits]
    for limit in limits:
        if not isinstance(limit, Limit):
            raise InputError(f"limits: {limit!r} is no Limit such as Limit(lambda now, u: now.q('body')[0], -1, 1)")
    return limits if path is None else [Limit(path, upper=0.0, name="path"), *limits]


def _pair(name, value, n):
    """Lower and upper bounds, shape (2, n)."""
    try:
        lower, upper = value
        out = np.array([np.broadcast_to(np.array(sign * np.inf if x is None else x, float), (n,))
                        for x, sign in ((lower, -1), (upper, 1))])
    except (TypeError, ValueError):
        raise InputError(f"bounds of {name} must be a pair (lower, upper) of numbers or of {n} numbers each, not "
                         f"{value!r}") from None
    if np.isnan(out).any() or np.any(out[0] >= out[1]):
        raise InputError(f"bounds of {name}: the lower one must be below the upper one, not {value!r}")
    return out
