"""Where the solution of an optimal control problem starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .... import validate
from ....assembly import TimeMesh
from ....display import digits
from ....elements.form import velocities
from ....errors import InputError, NamedArguments, known_names
from ....mechanics.formulas.formula import check_takes
from ....mechanics.part import Part
from ....mechanics.values import rollout as rollouts
from ....records import frozen
from ....solvers.equations.outcome import transferred
from ....types import Vector
from ..options import OPTIONS
from .paths import Way, path, pumping
from .rates import balance, controls_along, going_on, rates_at_ends

if TYPE_CHECKING:
    from ..problem import OptimalControl


BENDS = 0.1, 0.4  # of paths that are tried where the straight one fails [m or rad]
ASIDE = 0.1, 0.3, 1.0  # how far motions of further starts go in the middle [m or rad], in turn


@frozen(eq=False)
class Guess(NamedArguments):
    """A motion and controls to start an optimal control problem from.

    Parameters
    ----------
    motion : Solution, callable or array_like, optional
        A solution of any kind of problem with bodies of the same names, stretched to the time span (its controls are
        taken as well); a function `t -> z` of an array of times; or states (n, n_z), at `times` or at equal distances.
        Default: bodies go straight and turn steadily from the start to the end, with joints closed; by cubics with
        the velocities given there where positions are given too, and actuators can follow.
    times : array_like, shape (n,), optional
        Of the states and controls that are given as arrays [s].
    controls : dict or array_like, optional
        Actuator, or its name -> a number, numbers of shape (n_controls,), an array (n, n_controls) at `times`, or a
        function of an array of times; or an array (n, n_controls) of all. Those left out are the ones that hold the
        motion at rest: static balance, or follow default cubics, or states of first order that bend. "zero": none.
    bend : float
        How far bodies go aside of the default motion in the middle [m or rad]: breaks a symmetry that Newton's method
        would keep.
    seed : int
        Of the directions in which they do.
    rollout : {False, True, "follow"} or callable
        March from the start: with the controls given here and held ones for the others (True), with a feedback that
        follows the default motion within the bounds ("follow"), or by a law `law(t, q, v)` -> all controls, with the
        efforts of ports for their velocities.
    duration : float, optional
        Of problems with free time [s]; default: that of their time span, to which motions are stretched.
    parameters : dict, optional
        Name of an unknown number -> its value, within its bounds, also "duration"; those left out are the present ones.

    Raises
    ------
    InputError
        For bad input; names it.
    """

    motion: Any = None
    _: KW_ONLY
    times: Vector | None = None
    controls: Any = None
    bend: float = 0.0
    seed: int = 0
    rollout: Any = False
    duration: float | None = None
    parameters: Mapping[str, float] | None = None
    halvings: ClassVar[int | None] = None  # of steps of rollouts

    def __post_init__(self):
        validate.real("Guess: bend", self.bend)
        validate.integer("Guess: seed", self.seed, minimum=0)
        if self.duration is not None:
            validate.real("Guess: duration", self.duration, positive=True)
        if not isinstance(self.parameters, Mapping | None):
            raise InputError(f"Guess: parameters must be a dict of unknown numbers by name, not {self.parameters!r}")
        if self.duration is not None and "duration" in (self.parameters or {}):
            raise InputError("Guess: duration is given twice; leave it out of parameters")
        if self.bend and self.motion is not None:
            raise InputError("Guess: bend belongs to the default motion; leave it or motion out")
        if not (callable(self.rollout) or self.rollout in (False, True, "follow")):
            raise InputError(f"Guess: rollout must be True, 'follow' or a law(t, q, v), not {self.rollout!r}")
        if callable(self.rollout):
            check_takes("Guess: rollout", self.rollout, (None,) * 3, ("t", "q", "v"))
        if self.rollout and (self.motion is not None or self.bend):
            raise InputError("Guess: a rollout is a motion of its own; leave motion and bend out, or the rollout")
        if self.rollout not in (False, True) and self.controls is not None:
            raise InputError("Guess: a rollout by a feedback has controls of its own; leave controls out, or take "
                             "rollout=True")
        if isinstance(self.controls, str) and self.controls != "zero":
            raise InputError(f"Guess: controls must be a dict, an array or 'zero', not {self.controls!r}")
        if self.times is not None:
            times = validate.array("Guess: times", self.times, (None,))
            if len(times) < 2 or np.any(np.diff(times) <= 0):
                raise InputError("Guess: times must be at least two, and increase")
            tables = self.controls.values() if isinstance(self.controls, dict) else [self.controls]
            if not any(np.ndim(table) for table in (self.motion, *tables) if not (callable(table) or table is None)):
                raise InputError("Guess: times belong to states or controls that are arrays, and none is given")

    @classmethod
    def of(cls, given: Any) -> Guess:
        """The guess that is meant: itself, a dict of controls, or a motion."""
        if isinstance(given, cls):
            return given
        return cls(controls=given) if isinstance(given, dict) else cls(given)

    def states(self, problem: OptimalControl, times: np.ndarray) -> tuple[np.ndarray, dict[Any, Any]]:
        """States at times of shape (n_elements, n_shapes), and controls that come with them."""
        n_z, flat = problem.system.n_z, times.ravel()
        still = np.zeros((2, problem.system.n_q))
        way = Way(problem.system, problem.z0, problem.conditions.state, problem.t_span, still)
        if not problem.free_start:
            way = going_on(way, problem.conditions)
        if self.rollout:
            return self._marched(problem, way, times)
        if self.motion is None:
            way, controls = _moving(problem, way)
            return path(way, times, self.bend, self.seed), controls
        if hasattr(self.motion, "nodal"):
            state, controls = sampled(way, problem.actuators, self.motion, flat, path(way, times).reshape(-1, n_z))
            return state.reshape(*times.shape, n_z), controls
        if callable(self.motion):
            check_takes("guess", self.motion, (flat,), ("t",))
            state = validate.array("guess(t)", self.motion(flat), (times.size, n_z))
        else:
            given = validate.array("guess", self.motion, (None, n_z))
            nodes = self._nodes(problem, len(given), "states")
            state = np.stack([np.interp(flat, nodes, column) for column in given.T], axis=1)
        return state.reshape(*times.shape, n_z), {}

    def _marched(self, problem, way, times):
        """States of a rollout, and its controls."""
        order, places = np.unique(times.ravel(), return_inverse=True)
        way, _ = _moving(problem, way)
        still = balance(problem.system, problem.bounds, order, path(way, order[None])[0])

        def at(given, t):
            return _controls(problem, given, still, np.array([t]))[0]

        if callable(self.rollout):
            law = self.rollout
        elif self.rollout == "follow":
            def along(t):
                z = path(way, np.array([[t]]))[0, 0]
                return z[:problem.system.n_q], rollouts.velocity(problem.system, t, z)

            law = rollouts.following(problem.system, along, partial(at, {}), problem.bounds, np.ptp(problem.t_span))
        else:
            given = self.given_controls(problem)

            def law(t, q, v):
                return at(given, t)

        found = rollouts.rollout(problem.system, way.first, order, law, halvings=self.halvings)
        states = found.states[places.ravel()].reshape(*times.shape, -1)
        return states, _by_actuator(problem, found.times, found.controls)

    def _nodes(self, problem, n, what):
        if self.times is None:
            return np.linspace(*problem.t_span, n)
        if len(self.times) != n:
            raise InputError(f"Guess: {n} {what} at {len(self.times)} times")
        return np.asarray(self.times, float)

    def forces(self, held: tuple[Any, ...], times: np.ndarray) -> np.ndarray:
        """Of the constraints at times of shape (n_elements, n), (n_elements, n, n_constraints): those of a march with
        contacts, or what `balance` found to hold the motion."""
        marched = getattr(self.motion, "marched_forces", None)
        return _interpolated(held[0], held[2], times) if marched is None else marched(times)

    def numbers(self, problem: OptimalControl) -> np.ndarray:
        """Unknown numbers of a problem, with free time the duration first, checked."""
        names, numbers = problem.unknown_names, np.array(problem.guesses, float)
        if self.duration is not None:
            if not problem.free_time:
                raise InputError("Guess: duration is for problems with free_time=True; leave it out")
            numbers[0] = self.duration
        for name, value in (self.parameters or {}).items():
            if name not in names:
                raise InputError(f"Guess: parameters: {name!r} is not an unknown number of the problem"
                                 f"{known_names(name, names)}")
            value = validate.real(f"Guess: parameters: {name}", value, positive=name == "duration")
            bounds = problem.number_bounds[:, names.index(name)]
            lower, upper = bounds + np.array([-OPTIONS.rounded, OPTIONS.rounded]) * np.abs(bounds)
            if not lower <= value <= upper:
                raise InputError(f"Guess: parameters: {name} = {digits(value, *bounds)} is outside of its bounds, "
                                 f"({digits(bounds[0])}, {digits(bounds[1])})")
            numbers[names.index(name)] = value
        return numbers

    def given_controls(self, problem: OptimalControl) -> dict[Any, Callable[[np.ndarray], np.ndarray]]:
        """Actuator -> function of times, of shape (n,) -> (n, n_controls)."""
        if self.controls is None or isinstance(self.controls, str):
            zero = {} if self.controls is None else {a: _constant(np.zeros(a.n_controls)) for a in problem.actuators}
            return zero
        if isinstance(self.controls, dict):
            return {actuator: self._function(problem, actuator, value)
                    for actuator, value in ((_actuator(problem, key), v) for key, v in self.controls.items())}
        values = validate.array("Guess: controls", self.controls, (None, problem.n_controls))
        stops = np.cumsum([a.n_controls for a in problem.actuators])
        return {a: self._function(problem, a, values[:, stop - a.n_controls:stop])
                for a, stop in zip(problem.actuators, stops, strict=True)}

    def _function(self, problem, actuator, value):
        label, n = problem.system.label(actuator), actuator.n_controls
        if callable(value):
            check_takes(f"guess of {label}", value, (None,), ("t",))
            return lambda t: validate.array(f"guess of {label}", np.reshape(value(t), (len(t), -1)), (len(t), n))
        if n == 1 and np.ndim(value) == 1 and len(value) > 1:
            value = np.reshape(value, (-1, 1))
        if np.ndim(value) == 2:
            table = validate.array(f"guess of {label}", value, (None, n))
            nodes = self._nodes(problem, len(table), f"controls of {label}")
            return lambda t: np.stack([np.interp(t, nodes, column) for column in table.T], axis=1)
        try:
            value = np.broadcast_to(np.asarray(value, float), (n,))
        except (TypeError, ValueError):
            raise InputError(f"guess of {label} must be a number, {n} numbers, a table (n, {n}) or a function of "
                             f"times, not {value!r}") from None
        return _constant(validate.array(f"guess of {label}", value, (n,)))


def _moving(problem, way):
    """A way with the velocities that are asked for at its ends, and controls; as it is where they cannot follow it."""
    rates = rates_at_ends(way, problem.start_conditions, problem.conditions)
    moving = way._replace(rates=np.where(way.rates != 0, way.rates, rates))
    if not moving.rates.any():
        return way, {}
    times, controls = controls_along(way, problem.bounds, lambda t: path(moving, t[None])[0])
    if controls is None:
        return way, {}
    return moving, _by_actuator(problem, times, controls)


def _by_actuator(problem, times, controls):
    """Actuator -> function of times, of a table of all controls, shape (n, n_controls)."""
    stops = np.cumsum([a.n_controls for a in problem.actuators])
    return {a: partial(_interpolated, times, controls[:, stop - a.n_controls:stop])
            for a, stop in zip(problem.actuators, stops, strict=True)}


def _constant(value):
    return lambda t: np.tile(value, (len(t), 1))


def _actuator(problem, key):
    own = problem.system.here(key) if isinstance(key, Part) else key
    for actuator in problem.actuators:
        if own is actuator or own == problem.system.label(actuator):
            return actuator
    known = ", ".join(map(problem.system.label, problem.actuators))
    raise InputError(f"guess: {key!r} is not an actuator of the problem, which has {known}")


def first_guess(problem, plan, mesh, guess):
    """All unknowns to start from: states, controls and joint forces that hold them, no costates.

    Parameters
    ----------
    guess : Guess, or what `Guess.of` takes
    """
    element, guess = plan.element, Guess.of(guess)
    numbers = guess.numbers(problem)
    times = mesh.points(element.state.basis)
    state, own = guess.states(problem, times)
    state = np.array(state, float)
    if not problem.free_start:
        state[0, 0] = problem.z0
    flat = state.reshape(-1, problem.system.n_z)
    order = np.unique(times.ravel(), return_index=True)[1]
    held = balance(problem.system, problem.bounds, times.ravel()[order], flat[order], guess.bend != 0)
    basis = element.multiplier.basis
    multipliers = np.zeros((mesh.n_elements, basis.n_shapes, plan.system.n_multipliers))
    m = problem.system.n_constraints
    multipliers[..., :m] = guess.forces(held, mesh.points(basis))
    values = element.nodal_values(plan.system, times, state, multipliers)
    names = list(element.trial)
    given = own if guess.rollout else own | guess.given_controls(problem)
    values[names.index("controls")][:] = _controls(problem, given, held,
                                                   mesh.points(element.trial["controls"].basis))
    if problem.unknown_names:
        values[names.index("constants")][:] = numbers / problem.units
    return np.concatenate([plan.columns.pack(*values), np.zeros(len(problem.conditions.combinations))])


def from_solution(problem, plan, mesh, solution):
    """All unknowns from the solution of a problem of the same kind, stretched to the mesh."""
    coarse = TimeMesh(stretched(solution.t, problem.t_span))
    sizes = {name: field.shape[1] for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)}
    multipliers = solution.nodal.multipliers[..., plan.element.kept_multipliers(plan.system)]
    own = {"controls": solution.fields["controls"][..., control_columns(problem.system, solution.system)]} \
        if "controls" in solution.fields else {}
    values = transferred({"state": solution.nodal.state, "multipliers": multipliers, **solution.fields, **own},
                         solution.element, coarse, plan.element, sizes, mesh)
    x = plan.columns.pack(*values.values())
    if not problem.free_start:
        x[plan.columns.first[0]] = problem.z0
        if "velocity" in sizes:
            place = plan.columns.fields[list(sizes).index("velocity")][0]
            x[place] = velocities(problem.system, mesh.nodes[0], problem.z0)
    return np.concatenate([x, np.zeros(len(problem.conditions.combinations))])


def control_columns(system, other):
    """Where the controls of a system stand among those of another one, by the names of actuators; None where that
    lacks some."""
    places, first = {}, 0
    for part in other.parts:
        places[other.label(part), part.n_controls] = range(first, first := first + part.n_controls)
    wanted = [(system.label(part), part.n_controls) for part in system.parts if part.n_controls]
    return [k for one in wanted for k in places[one]] if all(one in places for one in wanted) else None


def stretched(times, t_span):
    """Times, shape (n,), as parts of another span [s]."""
    return t_span[0] + (times - times[0]) * (t_span[1] - t_span[0]) / (times[-1] - times[0])


def _controls(problem, given, held, times):
    """Nodal values of all controls, shape (n_elements, n_shapes, n_controls): given ones, and those that hold."""
    controls, stop = _interpolated(held[0], held[1], times), 0
    for actuator in problem.actuators:
        start, stop = stop, stop + actuator.n_controls
        if actuator in given:
            controls[..., start:stop] = given[actuator](times.ravel()).reshape(*times.shape, -1)
    return controls


def _interpolated(nodes, values, times):
    """Tables (k, n) at nodes, at times of shape (...), shape (..., n)."""
    out = np.zeros((*times.shape, values.shape[1]))
    for i, column in enumerate(values.T):
        out[..., i] = np.interp(times, nodes, column)
    return out


def starts(problem, n):
    """The guesses number 0 to n - 1: the default one, then those of `waving` with other unknown numbers."""
    numbers = partial(drawn, problem.unknown_names, problem.number_bounds)
    return [None, *(replace(guess, parameters=numbers(guess.seed)) for guess in waving(problem, n - 1))][:n]


def waving(problem, n):
    """The guesses number 1 to n: motions that go aside, with waving controls in bounds."""
    own = problem.actuators, problem.bounds, problem.t_span
    return [Guess(bend=ASIDE[k % len(ASIDE)], seed=k, controls=waves(*own, k)) for k in range(1, n + 1)]


def swung(problem):
    """A guess whose controls put in energy until it is that of the target; None where the start is free, or that is of
    no use. Where the time is given the motion is stretched to that."""
    if problem.free_start:
        return None
    t0, t1 = problem.t_span
    longest = problem.number_bounds[1, 0] if problem.free_time else 2 * (t1 - t0)
    found = pumping(problem.system, problem.actuators, problem.bounds, problem.t_span,
                    (problem.z0, problem.conditions.state), longest)
    if found is None:
        return None
    z, t, controls = found
    duration = float(t[-1] - t0) if problem.free_time else None
    return Guess(z, times=stretched(t, problem.t_span), controls=controls, duration=duration)


def waves(actuators, bounds, t_span, seed):
    """Smooth functions of time between the bounds (2, n_controls) of controls that have two, by actuator; others are
    left out."""
    rng, found, first, (t0, t1) = np.random.default_rng(seed), {}, 0, t_span
    for actuator in actuators:
        lower, upper = bounds[:, first:first + actuator.n_controls]
        first += actuator.n_controls
        weights = rng.uniform(-1, 1, (OPTIONS.waves, actuator.n_controls))
        phases = rng.uniform(0, 2 * np.pi, weights.shape)
        if not (np.isfinite(lower) & np.isfinite(upper)).all():
            continue

        def wave(t, weights=weights, phases=phases, lower=lower, upper=upper):
            angle = np.pi * (np.asarray(t)[:, None] - t0) / (t1 - t0)
            sines = sum(w * np.sin((i + 1) * angle + p) for i, (w, p) in enumerate(zip(weights, phases, strict=True)))
            return (lower + upper) / 2 + sines / OPTIONS.waves * (upper - lower) / 2

        found[actuator] = wave
    return found or None


def drawn(names, bounds, seed):
    """Numbers anywhere between their bounds (2, n) where they have two, by name; others, and the duration, are left
    out."""
    rng, found = np.random.default_rng((seed, 1)), {}
    for name, (lower, upper) in zip(names, bounds.T, strict=True):
        share = rng.uniform()
        if name == "duration" or not np.isfinite([lower, upper]).all():
            continue
        apart = lower > 0 and upper > OPTIONS.wide * lower
        found[name] = float(lower * (upper / lower) ** share if apart else lower + share * (upper - lower))
    return found or None


def is_warm(system, plan, guess):
    """Whether a guess is a solution of the same kind, with the same unknowns."""
    if not hasattr(guess, "nodal"):
        return False
    if not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    sizes = {name: field.shape[1] for name, field in list(zip(plan.element.trial, plan.columns.fields))[2:]
             if field.size}
    own = {name: field.shape[-1] for name, field in guess.fields.items()}
    same = _labels(guess.system) == _labels(system) and guess.nodal.multipliers.shape[-1] == plan.system.n_multipliers
    if not same or set(own) != set(sizes) or control_columns(system, guess.system) is None:
        return False
    return all(own[name] == size for name, size in sizes.items() if name != "controls")


def _labels(system):
    return [(system.label(b), b.n_q) for b in system.bodies if b.n_q]


def prolonged(plan, coarse, mesh, values):
    """All dofs on a mesh, interpolated from nodal values on a coarser one; element by element where nodes coincide."""
    parent = np.clip(np.searchsorted(coarse.nodes, mesh.nodes[:-1] + mesh.lengths / 2, side="right") - 1, 0,
                     coarse.n_elements - 1)
    fine = []
    for nodal, space in zip(values, plan.columns.spaces, strict=True):
        if not hasattr(space.basis, "points"):  # costates of other tests than polynomials through nodes
            fine.append(nodal[parent])
            continue
        xi = (mesh.points(space.basis) - coarse.nodes[parent, None]) / coarse.lengths[parent, None]
        shapes = space.basis.values(xi.ravel()).reshape(*xi.shape, -1)
        fine.append(np.einsum("eis,esa->eia", shapes, nodal[parent]))
    return plan.columns.pack(*fine)


def sampled(way, actuators, solution, times, state):
    """Of a solution of any kind, stretched to the time span: states of bodies that both have, and controls.

    Parameters
    ----------
    way : Way
    actuators : sequence of Actuator
    solution : Solution
    times : ndarray, shape (n,)
    state : ndarray, shape (n, n_z)
        Where the solution does not have a body.

    Returns
    -------
    state : ndarray, shape (n, n_z)
    controls : dict
        Actuator -> function of times; none where the solution has none, zero for actuators that it lacks.
    """
    system, other, (t0, t1) = way.system, solution.system, way.t_span
    a, b = solution.t[0], solution.t[-1]
    stretch = (b - a) / (t1 - t0)

    def own(t):
        return np.clip(a + (np.asarray(t) - t0) * stretch, a, b)

    z, out = solution(own(times)), np.array(state)
    bodies = {(other.label(body), body.n_q): other.coordinates(body) for body in other.bodies}
    shared = [(system.coordinates(body), bodies[key]) for body in system.bodies
              if (key := (system.label(body), body.n_q)) in bodies]
    if not shared:
        raise InputError("the guess is a solution that has no body with a name of this system")
    for here, there in shared:
        out[:, here], out[:, system.n_q:][:, here] = z[:, there], stretch * z[:, other.n_q:][:, there]
    controls = {}
    if "controls" in solution.fields:
        named = {(other.label(p), p.n_controls): p for p in other.parts if p.n_controls}
        for actuator in actuators:
            found = named.get((system.label(actuator), actuator.n_controls))
            controls[actuator] = partial(_idle, actuator.n_controls) if found is None else \
                lambda t, found=found: solution.controls(own(t), found)
    return out, controls


def _idle(n, t):
    return np.zeros((len(t), n))
