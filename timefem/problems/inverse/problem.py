"""Inverse dynamics: which controls keep outputs of a system on given trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ...errors import InputError, NamedArguments, check_class
from ...mechanics.contacts.reacting import refuse_reaction_forces
from ...mechanics.forces.actuators import Actuator
from ...mechanics.inversion.direct import DirectInversion, is_direct, is_settled
from ...mechanics.inversion.inversion import OPTIONS as STRUCTURE
from ...mechanics.inversion.inversion import Inversion
from ...mechanics.inversion.outputs import Output
from ...mechanics.numbers.changes import extended
from ...mechanics.states.assemble import assemble
from ...mechanics.states.given import states_of
from ...mechanics.system import System
from ...mechanics.time_formulas import Table, as_time_function
from ...mechanics.time_functions import Spline, first_jump, ordinal
from ...mechanics.values.of_parts import couples_inertia
from ...sparse import ROUNDING, balanced, eigen
from ...types import Floats
from ..end import lengths_of_rows, search
from ..initial.problem import InitialValueProblem, merged, uncovered
from .constraints import OPTIONS, ServoInversion, at_rest, held_at_rest

if TYPE_CHECKING:
    from ...mechanics.states.given import GivenStates


class InverseDynamics(NamedArguments):
    """Find the controls of actuators that keep as many outputs on given trajectories (servo constraints).

    The outputs are differentiated until the controls appear (see `mechanics.inversion`); one row per output is
    solved with the equations of motion, and the derivatives before it are conditions at the ends. What the outputs
    leave open, the internal dynamics, takes its conditions from the states given: its stable part at the start, its
    unstable part at the end (the system is then not minimum phase), so that the motion stays bounded in between, which
    no march can do.

    Of systems with a `Tree` where all that constraints leave open is driven (loops, free bases and other bodies among
    them), and of systems with many constraints that have as many outputs and controls as degrees of freedom, and no
    `end`, the coordinates follow from the outputs at each time, and the controls from these, exactly and without a
    mesh. Outputs may be fewer than motions: then the coordinates are as near as possible to those of `start`, by the
    mass. Controls may be more: then they are those with the least sum of squares of their numbers, of forces and
    torques alike, which depends on the unit of length where there are both. Trees with fewer drives, such as arms on
    free bases, take as many outputs as controls, which are constraints kept by the controls: without `end` the motion
    goes on from its start, element by element.

    Where inertia couples bodies, as with `mass="gauss"` or "consistent" of beams and ropes, there is no inverse of
    the mass matrix to differentiate with: outputs are then constraints, kept by the controls as multipliers, and
    elements `MixedGalerkin(k, form="energy")` or "impulse" solve for them. Motions then go from rest to rest: `start`
    and `end` are guesses of the equilibria there, `end={}` for one near that of the start.

    Parameters
    ----------
    system : System
        With or without the actuators.
    outputs : dict
        Output -> its trajectory: a `TimeFunction` such as `Transfer`, `Spline`, `Polynomial`, `Table`, `Formula`, a
        number, or a function of the CasADi symbol of the time.
    start : dict
        State at the start, as in `InitialValueProblem`. It must satisfy the constraints of the system; it is moved, as
        little as possible, to where the outputs and their derivatives fit the trajectories.
    end : dict, optional
        The same at the end. Without it all conditions are prescribed at the start, as a march would have it, and the
        internal dynamics must be stable.
    t_span : (float, float)
        Start and end [s].
    actuators : Actuator or sequence of Actuator
        Those that are not in the system.

    Attributes
    ----------
    system : System
    inversion : Inversion
    start, end : ndarray, shape (n_z,)
        States at the ends, fitted to the trajectories; without `end`, that of the start at both.
    relative_degrees : dict
        Output -> highest derivative of its trajectory that the controls depend on.
    internal : int
        Dimension of the internal dynamics.
    unstable : int
        How many of them are not stable at the start.

    Raises
    ------
    InputError
        When outputs and controls do not match in number; for controls that do nothing; for trajectories that are not
        smooth enough (names the derivative); for states that cannot be fitted.
    """

    marched = None  # the initial-value problem of a motion that its start settles

    def __init__(self, system: System, outputs: Mapping[Any, Any], start: GivenStates, end: GivenStates | None = None,
                 t_span: Sequence[float] = (0.0, 1.0), *, actuators: Actuator | Sequence[Actuator] = ()) -> None:
        check_class("system", system, "System")
        self._given, self._given_system = (outputs, start, end), system
        system = _joined(system, actuators)
        refuse_reaction_forces(system, "inverse dynamics", "find the controls by OptimalControl")
        if system.n_nonholonomic:
            raise InputError("InverseDynamics does not take nonholonomic constraints "
                             f"('{system.nonholonomic_names[0]}')")
        curved = [part for part in system.parts if part.controls and not getattr(part, "is_affine", True)]
        if curved:
            raise InputError(f"InverseDynamics takes controls that enter affinely, and {system.label(curved[0])} takes "
                             "its own in another way: find them by OptimalControl")
        first = InitialValueProblem(system, start, t_span)
        self.system, self.t_span = first.system, first.t_span
        self.outputs = checked_outputs(self.system, outputs, self.t_span)
        trajectories = [trajectory for _, trajectory in self.outputs]
        self._given = dict(zip(outputs, trajectories, strict=True)), start, end
        direct = is_direct(self.system, self.outputs, self.t_span[0], first.z0)
        if direct or (end is None and is_settled(self.system, self.outputs)):
            return self._follow(first.z0, end)
        n_controls = sum(p.n_controls for p in self.system.parts)
        if len(self.outputs) != n_controls:
            raise InputError(f"{len(self.outputs)} outputs are prescribed, but there are {n_controls} controls; give "
                             "as many outputs as controls, or a drive for each motion that is free")
        on_tree = any(body.velocity_by_solve for body in self.system.bodies)
        self.inversion = ServoInversion(self.system, self.outputs) if on_tree or couples_inertia(self.system) else \
            Inversion(self.system, self.outputs, self.t_span[0], first.z0, self.t_span[1] - self.t_span[0],
                      end is not None)
        check_smoothness(self.outputs, self.inversion.relative_degrees, self.t_span)
        if on_tree and end is None:
            return self._march(first.z0)
        self.has_end = end is not None
        if self.inversion.by_constraints:
            self._rest(first.z0, end)
        else:
            self.start = self.end = self.fitted(self.t_span[0], first.z0, "start")
            if self.has_end:
                self.end = self.fitted(self.t_span[1], self._state_at_end(end), "end")
        self._split()

    def _follow(self, z, end):
        """Where outputs settle the coordinates nothing is left open: no conditions at the ends, and no mesh."""
        if end is not None:
            raise InputError("end is given, but all joints are driven, so that the outputs determine the motion; leave "
                             "it out")
        n = self.system.n_q
        self.inversion = DirectInversion(self.system, self.outputs, z[:n])
        check_smoothness(self.outputs, self.inversion.relative_degrees, self.t_span)
        x, v, _ = self.inversion.at(self.t_span[0], self.inversion.start(z[:n]))
        self.start = self.end = self.inversion.state(self.t_span[0], x[:n], v[:n])
        self.has_end, self.internal, self.unstable, self.internal_eigenvalues = False, 0, 0, np.zeros(0)

    def _march(self, z):
        """Where trees have fewer drives than motions, outputs are constraints, and the motion goes on from its start.
        """
        t = self.t_span[0]
        self.inversion.check(t, z)
        states = states_of(self.system, z)
        self.marched = InitialValueProblem(self.inversion.system, assemble(self.inversion.system, states, t),
                                           self.t_span)
        self.start = self.end = self.marched.z0
        self.has_end, self.unstable, self.internal_eigenvalues = False, 0, np.zeros(0)
        self.internal = 2 * (self.system.n_q - self.system.n_constraints - len(self.outputs))

    def changed(self, system: System | None = None, start: Any = None, end: Any = None,
                t_span: Sequence[float] | None = None, outputs: Mapping[Any, Any] | None = None) -> InverseDynamics:
        """The same problem with other numbers; `start`, `end` and `outputs` of what they name."""
        system = self.system if system is None else system
        for output in outputs or {}:
            if output not in self._given[0]:
                raise InputError(f"outputs: {output!r} is not among those prescribed, which are "
                                 f"{', '.join(map(repr, self._given[0]))}")
        given = [merged(system, own, new) if own and new else new or own
                 for own, new in zip(self._given[1:], (start, end), strict=True)]
        asked = {output.on(system): trajectory for output, trajectory in (self._given[0] | (outputs or {})).items()}
        return type(self)(system, asked, *given, self.t_span if t_span is None else t_span)

    @property
    def relative_degrees(self) -> dict[Output, int]:
        return dict(zip(self._given[0], self.inversion.relative_degrees, strict=True))

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(t for _, trajectory in self.outputs for t in trajectory.kinks)

    def controls(self, t: Floats, z: np.ndarray) -> np.ndarray:
        """Controls at states of the solution, by the rows, shapes (n,), (n, n_z) -> (n, n_controls).

        As accurate as the states: of order 2k at the nodes, where the field `Solution.controls` has order k + 1 at
        best.

        Raises
        ------
        InputError
            Where outputs are kept as constraints: waves in time and space then have errors that cancel in the field.
        """
        if self.inversion.by_constraints and self.marched is None:
            raise InputError("controls that keep outputs as constraints are a field of the solution: take "
                             "solution.controls(t), best at the Gauss points of the elements")
        if self.inversion.direct:
            found, n = [], self.system.n_q
            for time, state in zip(np.atleast_1d(t), np.atleast_2d(z), strict=True):
                x, v, a = self.inversion.at(time, self.inversion.start(state[:n]))[:, :n]
                found.append(self.inversion.forces(time, x, v, a)[self.inversion.n_forces:])
            return np.array(found)
        m = self.inversion.n_forces
        pairs = zip(np.atleast_1d(t), np.atleast_2d(z), strict=True)
        return np.array([self.inversion.forces(time, state)[m:] for time, state in pairs])

    @property
    def scale(self) -> np.ndarray:
        """Size of `(q, p)`, by the mass and the unit of time."""
        n = self.system.n_q
        return self.system.state_scale * np.repeat([self.unit_of_time, 1.0], [n, n])

    @property
    def unit_of_time(self) -> float:
        """In which outputs and their derivatives count alike: by it, states are fitted by what is quick."""
        frequencies = getattr(self.inversion, "frequencies", None) or {0: STRUCTURE.modes / np.ptp(self.t_span)}
        return 1 / max(frequencies.values())

    def fitted(self, t: float, z: np.ndarray, where: str | None = None) -> np.ndarray:
        """The nearest state to `z` on the manifold of constraints and trajectories, by steps of least norm.

        Raises
        ------
        InputError
            When there is none near; names the output, and the end `where` or the time.
        """
        scale = self.scale

        def evaluate(z):
            values, jacobian = self.inversion.manifold(t, z)
            return values, jacobian * scale

        z, violated, (values, jacobian) = search(evaluate, z, scale, lambda z: 0.5 * np.abs(z / scale).max(initial=1.0),
                                                 finely=True)
        if violated is None:
            return z
        names = []
        for (output, _), n in zip(self.outputs, self.inversion.n_hidden, strict=True):
            names += [f"the trajectory of {output!r}" + f" in its {ordinal(j)}" * bool(j) for j in range(n)]
        bad = np.abs(values) / np.maximum(lengths_of_rows(jacobian), 1e-300)
        worst = names[int(np.argmax(np.where(np.isfinite(bad), bad, np.inf)[self.system.n_multipliers:]))]
        if where is None:
            raise InputError(f"no motion nearby fits {worst} at t = {t:g}: it is out of reach or passes a singular "
                             "position; change it, or give a guess")
        raise InputError(f"the state at the {where} cannot be fitted to {worst}; give a state closer to it")

    def _state_at_end(self, end):
        return InitialValueProblem(self._given_system, end, (self.t_span[1], self.t_span[1] + 1.0)).z0

    def _rest(self, z, end):
        """Equilibria at both ends; without a guess that at the end is reached through those at times between."""
        self.start = self.end = at_rest(self, self.t_span[0], z, "start")
        if end:
            self.end = at_rest(self, self.t_span[1], self._state_at_end(end), "end")
        elif self.has_end:
            last = held_at_rest(self, np.linspace(*self.t_span, OPTIONS.passed + 1)[1:])[0][-1]
            self.end = at_rest(self, self.t_span[1], np.append(last, np.zeros(self.system.n_q)), "end")

    def _split(self):
        """Which conditions on the internal dynamics belong to which end."""
        n_z, m = self.system.n_z, self.system.n_multipliers
        self.internal = n_z - m - sum(self.inversion.n_hidden)
        decompositions = []
        for where, t, z in (("start", self.t_span[0], self.start), ("end", self.t_span[1], self.end)):
            if where == "end" and not self.has_end:
                break
            coordinates, matrix = self.inversion.internal_rates(t, z, self.scale)
            if len(matrix) != self.internal:
                raise InputError(f"the outputs do not determine what they should at the {where}, a singular position: "
                                 f"{len(matrix)} directions are left free instead of {self.internal}")
            decompositions.append((coordinates, matrix))
        matrix = balanced(decompositions[0][1])[0]
        values, errors, _ = eigen(matrix, np.abs(matrix), ROUNDING)
        least = OPTIONS.neutral / (self.t_span[1] - self.t_span[0])
        self.unstable = int((values.real > np.maximum(errors, least)).sum())
        self.internal_eigenvalues = values
        n_end = self.unstable if self.has_end else 0
        self.conditions = (_left_space(*decompositions[0], self.internal - n_end, -1),
                           _left_space(*decompositions[-1], n_end, 1))

    def __repr__(self):
        return f"InverseDynamics({self.system!r}, {len(self.outputs)} outputs, t_span={self.t_span})"


def _left_space(coordinates, matrix, n, sign):
    """Rows that pick the n modes with the largest real parts (sign 1) or smallest (-1), of changes of the state.

    For `matrix` and `coordinates` see `internal_rates` of inversions.
    """
    if not n:
        return np.zeros((0, len(coordinates)))
    parts = np.sort(sign * np.linalg.eigvals(matrix).real)[::-1]
    limit = -np.inf if n == len(parts) else (parts[n - 1] + parts[n]) / 2
    _, vectors, found = scipy.linalg.schur(matrix.T, output="complex", sort=lambda x: sign * x.real > limit)
    space = vectors[:, :found]
    basis = np.linalg.svd(np.hstack([space.real, space.imag]))[0][:, :n]  # real, of the same space
    return basis.T @ coordinates.T


def _joined(system, actuators):
    """The system with the actuators that it does not have yet."""
    actuators = list(actuators) if isinstance(actuators, list | tuple) else [actuators]
    for actuator in actuators:
        if not isinstance(actuator, Actuator):
            raise InputError(f"actuators: {actuator!r} is not an Actuator such as ControlForce(body)")
    further = [a for a in actuators if a not in system.parts]
    return extended(system, further) if further else system


# ---- prescribed outputs and their trajectories, checked

def checked_outputs(system, outputs, t_span):
    """Pairs of output and `TimeFunction`, list.

    Raises
    ------
    InputError
        For outputs of bodies that are not in the system, and trajectories that do not cover the time span.
    """
    if not isinstance(outputs, dict):
        raise InputError(f"outputs must be a dict from output to trajectory, not {outputs!r}")
    pairs = []
    for output, trajectory in outputs.items():
        if not isinstance(output, Output):
            raise InputError(f"outputs: {output!r} is not an output such as JointOutput(joint), the coordinate of a "
                             "joint, or PositionOutput(body, 'x')")
        for body in output.bodies:
            if body not in system:
                raise InputError(f"outputs: {output!r} is of {body!r}, which is not in the system")
        output = output.on(system)
        trajectory = as_time_function(f"trajectory of {output!r}", trajectory)
        fault = uncovered(trajectory, t_span)
        if fault:
            raise InputError(f"trajectory of {output!r}: {fault}")
        if isinstance(trajectory, Table) and trajectory.kind == "cubic" and len(trajectory.times) > 3:
            trajectory = Spline(trajectory.times, trajectory.values, 3)  # the same, with derivatives at its entries
        pairs.append((output, trajectory))
    return pairs


def check_smoothness(outputs, relative_degrees, t_span):
    """InputError for a trajectory with a jump in a derivative that the controls need continuous."""
    for (output, trajectory), degree in zip(outputs, relative_degrees, strict=True):
        jump = first_jump(trajectory, degree - 1, t_span) if degree else None
        if jump is not None:
            raise InputError(f"the trajectory of {output!r} has a jump in its {ordinal(jump[0])} at t = "
                             f"{jump[1]:g}; relative degree {degree} needs it continuous")
