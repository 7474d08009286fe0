"""Optimal control problems."""

import numpy as np

from .. import validate
from ..errors import InputError
from ..mechanics import Actuator, Cost, System
from ..mechanics.formula import call, call_vector, check_symbols
from .end_state import EndConditions, system_velocity
from .initial_value import InitialValueProblem


class OptimalControl:
    """Find the controls that bring a system from a state to another at the least cost.

    Minimise `end_cost(q, v, t) + integral of the costs` at the end of the time span, over the controls of the
    actuators, and over the final time if it is free, subject to the equations of motion and to conditions at the end.

    Parameters
    ----------
    system : System
        With or without the actuators and costs.
    start : dict
        State at the start, as in `InitialValueProblem`.
    end : dict, optional
        Body -> `EndState` (what it leaves out is free), or `Pose`, `Coordinates`, `CanonicalState` (everything is asked
        for). Bodies left out are free. A quaternion is taken with its sign, so that it also tells which way to turn.
    t_span : (float, float)
        Start and end [s]; with `free_time` it must start at zero, and the end is a guess.
    cost : Cost or sequence of Cost
        Integrands, for instance `Effort(actuator)`.
    actuators : Actuator or sequence of Actuator
        Those that are not in the system; actuators that a cost names need not be given.
    end_cost : callable, optional
        `end_cost(q, v, t)` -> scalar in CasADi symbols; q and v are the coordinates and velocities of all bodies, in
        the order of `system.bodies` (see `System.coordinates`).
    end_conditions : callable, optional
        `end_conditions(q, v, t)` -> expressions that are zero at the end.
    free_time : bool
        Whether the final time is to be found as well.
    bounds : dict, optional
        Actuator -> (lower, upper), numbers or arrays of shape (n_controls,), None where there is none; with free final
        time also "t_end". They hold for the nodal values of the controls. Problems with bounds or `path` go to IPOPT.
    path : callable, optional
        `path(q, v, u, t)` -> expressions that are at most zero, at the nodes of the state (all actuators' controls in u).

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
        For input that does not fit: a missing cost or actuator, unknown bodies, conditions that contradict each other or
        the constraints, a state that violates a constraint.
    """

    def __init__(self, system, start, end=None, t_span=(0.0, 1.0), cost=(), *, actuators=(), end_cost=None,
                 end_conditions=None, free_time=False, bounds=None, path=None):
        if not isinstance(system, System):
            raise InputError(f"system must be a System, not {system!r}")
        start_problem = InitialValueProblem(_joined(system, cost, actuators), start, t_span)
        self.system, self.z0, self.t_span = start_problem.system, start_problem.z0, start_problem.t_span
        self.free_time = validate.flag("free_time", free_time)
        if self.free_time and self.t_span[0] != 0:
            raise InputError(f"t_span must start at 0 when the final time is free, not at {self.t_span[0]:g}")
        self.actuators = [part for part in self.system.parts if part.n_controls]
        if not self.actuators:
            raise InputError("there is nothing to control: give actuators, for instance ControlTorque(body)")
        if end_cost is None and not any(isinstance(part, Cost) for part in self.system.parts):
            raise InputError("the cost is missing: give cost=Effort(actuator), another Cost, or end_cost")
        self.conditions = EndConditions(self.system, end or {}, end_conditions, self.t_span[1], self.z0)
        self.end_cost = end_cost
        self._check_end_cost()
        self.path = path
        self._check_path()
        self.bounds, self.t_end_bounds = self._bounds(bounds or {})
        self._check_costs_of_controls()

    @property
    def n_controls(self):
        return sum(a.n_controls for a in self.actuators)

    @property
    def bounded(self):
        """Whether there are inequalities, so that an interior-point method is needed."""
        return self.path is not None or bool(np.isfinite(self.bounds).any()) or np.isfinite(self.t_end_bounds).any()

    def control_name(self, i):
        """For messages: number and actuator of the i-th of all controls."""
        for actuator in self.actuators:
            if i < actuator.n_controls:
                return f"control {i} of {self.system.label(actuator)}"
            i -= actuator.n_controls
        raise IndexError(i)

    def terminal(self, z, t):
        """The end cost in CasADi symbols."""
        import casadi as ca

        if self.end_cost is None:
            return ca.SX(0)
        return call("end_cost", self.end_cost, 1, z[:self.system.n_q], system_velocity(self.system, z), t)

    def path_values(self, z, u, t):
        """The path inequalities in CasADi symbols."""
        return call_vector("path", self.path, z[:self.system.n_q], system_velocity(self.system, z), u, t)

    def _check_end_cost(self):
        import casadi as ca

        z, t = ca.SX.sym("z", self.system.n_z), ca.SX.sym("t")
        check_symbols("end_cost", self.terminal(z, t), z, t)

    def _check_path(self):
        import casadi as ca

        if self.path is not None:
            z, t, u = ca.SX.sym("z", self.system.n_z), ca.SX.sym("t"), ca.SX.sym("u", self.n_controls)
            check_symbols("path", self.path_values(z, u, t), z, t, u)

    def _bounds(self, bounds):
        if not isinstance(bounds, dict):
            raise InputError(f"bounds must be a dict from actuator to (lower, upper), not {bounds!r}")
        bounds = dict(bounds)
        t_end = _pair("t_end", bounds.pop("t_end", (None, None)), 1)[:, 0]
        if np.isfinite(t_end).any() and not self.free_time:
            raise InputError("bounds of t_end are given, but the final time is not free; add free_time=True")
        for key in bounds:
            if not any(key is a for a in self.actuators):
                raise InputError(f"bounds: {key!r} is no actuator of the problem")
        pairs = [_pair(self.system.label(a), bounds.get(a, (None, None)), a.n_controls) for a in self.actuators]
        return np.concatenate(pairs, axis=1), t_end

    def _check_costs_of_controls(self):
        """Refuse controls that cost nothing and have no bounds: nothing determines them."""
        costly = {id(a) for part in self.system.parts if isinstance(part, Cost) for a in part.controls}
        at = 0
        for a in self.actuators:
            free = ~np.isfinite(self.bounds[:, at:at + a.n_controls]).all(axis=0)
            at += a.n_controls
            if id(a) not in costly and free.any() and self.path is None:
                raise InputError(f"no cost depends on the controls of {self.system.label(a)}: add Effort, or bounds")

    def __repr__(self):
        return (f"OptimalControl({self.system!r}, t_span={self.t_span}, {self.n_controls} controls, "
                f"{len(self.conditions.combinations)} conditions at the end)")


def _joined(system, cost, actuators):
    """The system with the parts that it does not have yet."""
    cost, actuators = (list(x) if isinstance(x, list | tuple) else [x] for x in (cost, actuators))
    for part, cls, what in (*((c, Cost, "cost") for c in cost), *((a, Actuator, "actuators") for a in actuators)):
        if not isinstance(part, cls):
            raise InputError(f"{what}: {part!r} is no {cls.__name__}")
    costs = [*cost, *(part for part in system.parts if isinstance(part, Cost))]
    named = [actuator for part in costs for actuator in part.controls]
    further = [part for part in dict.fromkeys([*actuators, *named, *cost]) if part not in system.parts]
    return System([*system.parts, *further], redundant=system.redundant) if further else system


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
