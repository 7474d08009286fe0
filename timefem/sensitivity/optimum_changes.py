"""What is varied of optimal control and boundary values: problems that differ in one number."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validate
from ..errors import InputError, known_names, named_arguments
from ..mechanics.bodies import rotations
from ..mechanics.bodies.states import Coordinates
from ..mechanics.numbers.arguments import number_at
from ..mechanics.numbers.names import resolve
from ..mechanics.system import System
from ..problems.kinds import KINDS, kind_of
from ..problems.optimal.statement.limits import by_actuator
from .parameters import Family, Initial, Parameter, directions

if TYPE_CHECKING:
    from ..mechanics.body_frame import BodyFrame
    from ..problems.optimal.problem import OptimalControl
    from ..problems.phases.problem import Phases
    from .functionals import UnknownNumber

SIDES = {"lower": (0,), "upper": (1,), "both": (0, 1)}
ATTRIBUTES = "position", "rotation", "velocity", "angular_velocity", "q", "v", "p"  # of states
OF_ORIENTATION = "rotation", "angular_velocity"


class Final(NamedTuple):
    """What an optimal control or boundary-value problem prescribes for a body at the end.

    Parameters
    ----------
    body : Body or str
    name : {"position", "rotation", "velocity", "angular_velocity"} or {"q", "v", "p"}
        As the state in `end` calls it; "rotation" is a rotation vector in space axes [rad] that turns its orientation.
    index : int, optional
        Component; without it all that are given.
    """

    body: BodyFrame | str
    name: str
    index: int | None = None


class Bound(NamedTuple):
    """A bound of an optimal control problem.

    Parameters
    ----------
    of : Actuator, Limit or str
        An actuator, whose controls are bounded; an unknown number such as "duration"; a `Limit`, or its name.
    side : {"lower", "upper", "both"}
        "both" of limits whose bounds are the same.
    index : int, optional
        Control, or expression; without it all whose bounds are finite.
    rate : bool
        Whether the bound is one of `rates`.
    """

    of: Any
    side: str
    index: int | None = None
    rate: bool = False


class InPhase(NamedTuple):
    """What is varied, or asked for, in one phase of `Phases`.

    Without it numbers of parts are varied in all phases that have the part, `Initial` is of the first start, `Final`
    and `EndValue` of the last end, and `Objective` of all.

    Parameters
    ----------
    phase : int or str
        Its number, from 0 on, or its name.
    of : Parameter, Initial, Final, Bound, Functional or UnknownNumber
        There.
    """

    phase: int | str
    of: Any


for cls in (Final, Bound, InPhase):
    cls.__new__ = staticmethod(named_arguments(cls.__new__))


class Change(NamedTuple):
    """One number that a problem depends on.

    Attributes
    ----------
    label : str
    at : float
        What it is.
    problem : callable
        Another value of it -> the problem, an `OptimalControl` or `Phases`.
    affine : bool
        Whether the problem is affine in it, as in bounds.
    made_anew : bool
        Whether that of the present value is another object, which may differ.
    """

    label: str
    at: float
    problem: Callable[[float], Any]
    affine: bool = False
    made_anew: bool = False


def phases_of(problem: OptimalControl | Phases) -> list[OptimalControl]:
    """The problem of each phase, or the one problem."""
    return getattr(problem, "phases", [problem])


def phase_number(problem: OptimalControl | Phases, of: InPhase) -> int:
    """Which of the phases is meant."""
    names = getattr(problem, "names", None)
    if names is None:
        raise InputError("InPhase: the problem has no phases; give what is in it alone")
    number = names.index(of.phase) if of.phase in names else of.phase
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(names):
        raise InputError(f"InPhase: {of.phase!r} is no phase; there are 0 to {len(names) - 1}, {', '.join(names)}")
    return number


def number_of_unknown(problem: Any, functional: UnknownNumber) -> int:
    """Which of the unknown numbers of a problem is asked for."""
    names = problem.unknown_names
    if functional.name not in names:
        raise InputError(f"UnknownNumber: {functional.name!r} is not an unknown number of the problem"
                         f"{known_names(functional.name, names, 'there are')}")
    return names.index(functional.name)


def changes_of(problem: OptimalControl | Phases, parameters: Any) -> list[Change]:
    """`Change` for each entry of parameters of a problem.

    Raises
    ------
    InputError
        For what the problem does not have, and for what it leaves free.
    """
    given = parameters if type(parameters) in (list, tuple) else [parameters]
    found: list[Change] = []
    for parameter in given:
        phased = hasattr(problem, "phases") and not isinstance(parameter, Family)
        found += (_in_phases if phased else _of_one)(problem, parameter)
    if not found:
        raise InputError("there are no parameters to differentiate by")
    return found


def _of_one(problem, parameter):
    kind = next((make for cls, make in MAKERS.items() if isinstance(parameter, cls)), None)
    if kind is None:
        raise InputError("parameters of an optimum must be Parameter, Initial, Final, Bound or Family, or a list of "
                         f"them, not {parameter!r}")
    return kind(problem, parameter)


def _in_phases(problem, parameter):
    phases = problem.phases
    if isinstance(parameter, InPhase):
        k = phase_number(problem, parameter)
        return [_together(problem, {k: change}, f"{problem.names[k]}: {change.label}")
                for change in _of_one(phases[k], parameter.of)]
    if isinstance(parameter, Initial | Final):
        k = 0 if isinstance(parameter, Initial) else len(phases) - 1
        return [_together(problem, {k: change}, change.label) for change in _of_one(phases[k], parameter)]
    if not isinstance(parameter, Parameter):
        raise InputError(f"{type(parameter).__name__}: of which phase? Give InPhase(phase, ...)")
    found, refused = {}, None
    for k, phase in enumerate(phases):
        try:
            changes = _of_one(phase, parameter)
        except InputError as error:  # a part of other phases
            refused = error
            continue
        for change in changes:
            found.setdefault(change.label, {})[k] = change
    if not found:
        raise refused
    for label, changes in found.items():
        if len({change.at for change in changes.values()}) > 1:
            raise InputError(f"{label} is not the same in all phases; give InPhase(phase, ...)")
    return [_together(problem, changes, label) for label, changes in found.items()]


def _together(problem, changes, label):
    """One number of some phases as a change of all of them."""
    def problem_of(x):
        other = copy(problem)
        other.phases = [changes[k].problem(x) if k in changes else phase for k, phase in enumerate(problem.phases)]
        return other

    first = next(iter(changes.values()))
    return Change(label, first.at, problem_of, all(change.affine for change in changes.values()))


def _of_numbers(problem, parameter):
    system = problem.system
    z0 = problem.conditions_at_ends.z0 if hasattr(problem, "conditions_at_ends") else problem.z0
    labels = directions(system, z0, parameter).labels
    if isinstance(parameter.part, System):
        labels = [f"gravity{label[label.rindex('['):]}" for label in labels]
    changes = []
    for label in labels:
        try:
            at = number_at(*resolve(system, label)[0])
        except InputError:
            raise InputError(f"{label} has no name by which it could be changed; take a Family") from None
        changes.append(Change(label, float(at), lambda x, label=label: problem.changed(
            system=problem.system.with_numbers({label: x}))))
    return changes


def _of_states(which):
    def make(problem, parameter):
        system, name, given = problem.system, parameter.name, problem._given[which]
        body = _asked(system, parameter.body)
        title = f"{type(parameter).__name__}: {name} of {system.label(body)}"
        given = given if isinstance(given, dict) else {} if given is None else {system.bodies[0]: given}
        key, state = next(((key, state) for key, state in given.items() if _asked(system, key) is body), (None, None))
        plain = not (state is None or isinstance(state, dict) or dataclasses.is_dataclass(state))  # numbers
        if plain and getattr(body, "first_order", False):
            state, plain = Coordinates(np.atleast_1d(np.asarray(state, float))), False
        free = which == "end" or getattr(problem, "free_start", True)
        if plain and np.size(state) == 1 and not free:
            state = (*np.atleast_1d(state), 0.0)  # at rest
        if plain and name in ("q", "v")[:np.size(state)] and parameter.index in (None, 0):
            return [_of_joint(problem, which, key, np.atleast_1d(state).astype(float), name)]
        if plain or isinstance(state, dict) or (state is None and body not in system.bodies):
            if not free and name in ("q", "v"):
                return _of_joints(problem, body, name, parameter.index, title)
            raise InputError(f"{title}: a state given by joints can be changed by a Family only, except q and v of a "
                             "start that is given as a whole")
        attributes = {one: "orientation" if one == "rotation" else one for one in ATTRIBUTES
                      if body.has_orientation or one not in OF_ORIENTATION}
        there = [one for one, own in attributes.items() if getattr(state, own, None) is not None]
        if name not in there:
            raise InputError(f"{title} is not given in {which}{known_names(name, there, 'there are')}")
        attribute = attributes[name]
        present = np.zeros(3) if name == "rotation" else np.array(getattr(state, name), float)
        given_ones = np.flatnonzero(np.isfinite(present)).tolist()
        chosen = _chosen(title, parameter.index, given_ones)

        def problem_of(x, i):
            values = present.copy()
            values[i] = x
            if name == "rotation":
                angle = np.linalg.norm(values)
                turn = np.append(np.cos(angle / 2), values * np.sinc(angle / (2 * np.pi)) / 2)
                values = np.array(rotations.product(turn, rotations.as_quaternion(state.orientation))).ravel()
            return problem.changed(**{which: {body: dataclasses.replace(state, **{attribute: values})}})

        return [Change(f"{which}: {system.label(body)}.{name}[{i}]", float(present[i]), lambda x, i=i: problem_of(x, i))
                for i in chosen]

    return make


def _asked(system, thing):
    """A body, or a joint by whose coordinates bodies are placed."""
    return next((part for part in system.parts if part.whole.coordinates
                 and thing in (part, part.whole, system.label(part))), None) or system.find(thing)


def _of_joint(problem, which, key, given, name):
    """The coordinate of a joint at one end, or its rate where that is given, too."""
    def problem_of(x):
        values = given.copy()
        values["qv".index(name)] = x
        return problem.changed(**{which: {key: float(values[0]) if len(values) == 1 else tuple(values.tolist())}})

    label = problem.system.label(_asked(problem.system, key))
    return Change(f"{which}: {label}.{name}[0]", float(given["qv".index(name)]), problem_of)


def _of_joints(problem, body, name, index, title):
    """Coordinates or rates at the start of a tree, or of one of its joints, that are given by joints."""
    system, every = problem.system, np.arange(problem.system.n_q)
    own = every[system.coordinates(body)]
    tree = next(one for one in system.bodies if np.isin(own, every[system.coordinates(one)]).all())
    place = system.coordinates(tree)
    q, v = problem.z0[:system.n_q][place], system.velocity(problem.t_span[0], problem.z0)[place]
    places = own - every[place][0]

    def problem_of(x, i):
        own = {"q": q.copy(), "v": v.copy()}
        own[name][places[i]] = x
        return problem.changed(start={tree: Coordinates(**own)})

    present = {"q": q, "v": v}[name][places]
    return [Change(f"start: {system.label(body)}.{name}[{i}]", float(present[i]), lambda x, i=i: problem_of(x, i))
            for i in _chosen(title, index, list(range(len(places))))]


def _chosen(title, index, there):
    """Indices that are meant, of those that there are."""
    if index is None:
        return there
    if index not in there:
        raise InputError(f"{title}: there is no number {index!r} that is given; there are {there}")
    return [int(index)]


def _of_bounds(problem, parameter):
    of, side, index, rate = parameter
    sides = SIDES[validate.choice("Bound: side", side, tuple(SIDES))]
    limits = [limit for limit in problem._given["limits"] if hasattr(limit, "lower")]
    limit = next((one for one in limits if one is of or (isinstance(of, str) and one.name == of)), None)
    if limit is not None and not rate:
        return _of_limit(problem, limit, side, sides, index)
    names, actuators = problem.unknown_names, problem.actuators
    key = next(iter(by_actuator(problem.system, actuators, {of: None}, names)))
    known = [*map(problem.system.label, actuators), *names, *(limit.name for limit in limits)]
    if rate and key in actuators:
        found = dict(zip(actuators, _rates_by_actuator(problem), strict=True))[key]
    elif key in actuators:
        first = sum(a.n_controls for a in actuators[:actuators.index(key)])
        found = problem.bounds[:, first:first + key.n_controls]
    elif key in names:
        i = names.index(key)
        found = problem.number_bounds[:, i:i + 1]
    else:
        raise InputError(f"Bound: {of!r} is not an actuator, unknown number or limit of the problem"
                         f"{known_names(of, known, 'there are')}")
    label = key if isinstance(key, str) else problem.system.label(key)
    title = f"{side} bound of {'rates of ' if rate else ''}{label}"
    here = np.flatnonzero(np.isfinite(found[list(sides)]).all(axis=0)).tolist()
    if not here:
        raise InputError(f"there is no {title} that is a number")

    def problem_of(x, i):
        pair = found.copy()
        pair[list(sides), i] = x
        return problem.changed(**{"rates" if rate else "bounds": {key: tuple(pair.tolist())}})

    return [Change(f"{title}[{i}]", float(found[sides[0], i]), lambda x, i=i: problem_of(x, i), True)
            for i in _chosen(title, index, here)]


def _rates_by_actuator(problem):
    """Bounds of rates, arrays (2, n), NaN where they are functions of the time."""
    first, found = 0, []
    limits = {place.start: limit for place, limit in problem.rate_limits}
    for actuator in problem.actuators:
        pair = np.array([[-np.inf], [np.inf]]) * np.ones(actuator.n_controls)
        if first in limits:
            for row, bound in zip(pair, (limits[first].lower, limits[first].upper), strict=True):
                row[:] = np.nan if callable(bound) else [np.nan if callable(b) else b for b in bound]
        found.append(pair)
        first += actuator.n_controls
    return found


def _of_limit(problem, limit, side, sides, index):
    title, bounds = f"{side} bound of {limit.name}", ("lower", "upper")
    values = [[] if callable(getattr(limit, bounds[s])) else list(getattr(limit, bounds[s])) for s in sides]
    here = [i for i in range(min(map(len, values))) if all(not callable(v[i]) and np.isfinite(v[i]) for v in values)]
    if not here:
        raise InputError(f"there is no {title} that is a number")

    def problem_of(x, i):
        other = copy(limit)
        for s, own in zip(sides, values, strict=True):
            setattr(other, bounds[s], [*own[:i], x, *own[i + 1:]])
        return problem.changed(limits=[other if one is limit else one for one in problem._given["limits"]])

    return [Change(f"{title}[{i}]", float(values[0][i]), lambda x, i=i: problem_of(x, i), True)
            for i in _chosen(title, index, here)]


def _of_family(problem, family):
    values = validate.array("Family: values", np.atleast_1d(family.values), (None,))
    names = [f"values[{i}]" for i in range(len(values))] if family.names is None else list(family.names)
    if len(names) != len(values):
        raise InputError(f"Family: {len(names)} names for {len(values)} values")

    def problem_of(x, i):
        made = family.build(np.where(np.arange(len(values)) == i, x, values))
        if KINDS.of(made) is not kind_of(problem):
            raise InputError(f"what build of a Family returns must be {kind_of(problem).title}, not {made!r}")
        return made

    return [Change(name, float(values[i]), lambda x, i=i: problem_of(x, i), made_anew=True)
            for i, name in enumerate(names)]


def _of_no_phase(problem, parameter):
    phase_number(problem, parameter)


MAKERS = {InPhase: _of_no_phase, Parameter: _of_numbers, Initial: _of_states("start"), Final: _of_states("end"),
          Bound: _of_bounds, Family: _of_family}
