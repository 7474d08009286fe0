"""Settings and problems as plain data, of a model file or a command line: from them the objects that `solve` takes."""

import dataclasses

import numpy as np

from ..elements.element import ELEMENT_OPTIONS, name_of, named_element
from ..errors import InputError
from ..mechanics.states.given import given_states
from ..mechanics.states.redundancy import redundant_rows
from ..mechanics.system import idle_coordinates
from ..mechanics.values.at_start import at_start, constraints_at
from ..mechanics.values.of_parts import nonholonomic_off, not_finite, remedy_of
from ..problems.initial.drivers import DRIVERS, Checkpoint
from ..problems.initial.problem import OPTIONS as INITIAL
from ..problems.kinds import KINDS
from ..solvers.linear.base import linear_options
from ..solvers.march.step_control import StepControl
from ..solvers.nonlinear.newton import Newton
from ..solvers.nonlinear.program import METHODS
from ..validate.options import OPTIONS, names, one_of, said, said_any, spelling, spelt

UNUSED = {"options": "is not used: --driver is", "file": "is not used by driver"}
LINEAR = "backend", "method", "petsc_options"
CHECKPOINTS = {"checkpoint": "path", "checkpoint_every": "every", "restart": "restart"}


def element_of(settings):
    """The time element of plain settings."""
    own = {name: settings[name] for name in ELEMENT_OPTIONS if settings.get(name) is not None}
    stated = settings.get("element", "mg")
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()
              if name != "name"} if isinstance(stated, dict) else {}
    if twice := own.keys() & fields.keys():
        raise InputError(f"element: {min(twice)} is given twice, in its table and beside it")
    return named_element(name_of(stated), **own | fields)


def arguments_of(settings, kind, element, who):
    """Arguments of `solve`: driver, guess, newton, tolerance, checkpoint.

    Parameters
    ----------
    settings : dict
        Declared options by name, those that are given; besides "petsc_options", a dict.
    kind : Kind
    element : TimeElement
    who : str
        What the problem is called in messages.

    Raises
    ------
    InputError
        For an option that the kind of problem, or the driver, does not use.
    """
    is_it = f"{who} is {kind.title}"
    if kind.elements and element.name not in kind.elements:
        takes = " or ".join(kind.elements)
        raise InputError(f"{said('element', element.name)} is not possible: {is_it}, which takes {takes}; it must be "
                         f'"{takes}"')
    given = {name: value for name, value in settings.items() if name not in ("element", *ELEMENT_OPTIONS)}
    for name in given:
        if not _used(name, kind):
            raise InputError(f"{spelt(name)} is not used: {is_it}; leave it out")
    method = given.get("method")
    if isinstance(method, dict):
        method = _method(method)
        given["method"] = method.name
    by_inequalities = given.get("method") in METHODS
    if by_inequalities and not hasattr(kind.problem, "bounded"):
        raise InputError(f"{said('method', given['method'])} is for inequalities of optimal control, but {is_it}")
    linear = {name: given[name] for name in LINEAR if name in given and not (name == "method" and by_inequalities)}
    if linear:
        linear = {"linear": linear_options(linear.get("backend"), method=linear.get("method"),
                                           options=linear.get("petsc_options"))}
    cls = _driver(given, kind, element, is_it)
    for name in given:
        users = OPTIONS[name].of if name in OPTIONS else ("windows", "global")
        if set(users) & set(DRIVERS) and cls.name not in users:
            users = [user for user in users if DRIVERS[user] in kind.drivers]
            raise InputError(f"{spelt(name)} {UNUSED[spelling()]} {cls.name}; leave it out, or give "
                             f"{said_any('driver', users)}")
    fields = {name: given[name] for name in names(cls) if name in given}
    arguments = {"driver": cls(**fields, **linear)}
    if by_inequalities:
        arguments["method"] = method
    arguments |= {name: given[name] for name in ("guess", "tolerance") if name in given}
    if isinstance(given.get("tolerance"), dict):
        if cls.name != "march":
            raise InputError(f"tolerance is a table of steps of a march, but the driver is {cls.name}: give a number")
        arguments["tolerance"] = StepControl(**given["tolerance"])
    if "guess" in given and given["guess"] not in kind.guesses:
        raise InputError(f"guess must be {one_of(kind.guesses)}, not {given['guess']!r}")
    newton = {name: given[name] for name in names(Newton) if name in given}
    if newton:
        arguments["newton"] = Newton(**kind.newton | newton)
    checkpoint = {field: given[name] for name, field in CHECKPOINTS.items() if name in given}
    if checkpoint:
        if "every" in checkpoint and "path" not in checkpoint:
            raise InputError(f"{spelt('checkpoint_every')} is given without {spelt('checkpoint')}")
        arguments["checkpoint"] = Checkpoint(**checkpoint)
    return arguments


def _method(table):
    """The method for inequalities of a table with its name and options."""
    cls, own = METHODS[table["name"]], {key: value for key, value in table.items() if key != "name"}
    known = [field.name for field in dataclasses.fields(cls)]
    for key in own:
        if key not in known:
            raise InputError(f"method: {key} is none of {cls.name}; it has {', '.join(known)}")
    return cls(**own)


def _used(name, kind):
    """Whether a kind of problem has a use for an option."""
    if name in CHECKPOINTS:
        return kind.checkpoints
    if name == "guess":
        return bool(kind.guesses)
    if name in kind.newton and OPTIONS[name].type is bool:
        return False
    users = set(OPTIONS[name].of) & set(DRIVERS) if name in OPTIONS else ()
    return not users or any(driver.name in users for driver in kind.drivers)


def _driver(given, kind, element, is_it):
    """Class of the driver."""
    if given.get("driver") is not None:
        cls = DRIVERS[given["driver"]]
        if cls not in kind.drivers:
            raise InputError(f"{said('driver', cls.name)} is not possible: {is_it}, which ties all elements together; "
                             'leave it out: it must be "global"')
        if not cls.takes(element):
            raise InputError(f"{element!r} couples its elements and cannot be marched: leave {spelt('driver')} out, or "
                             f"give {said_any('driver', ('windows', 'global'))}")
        return cls
    if "window" in given:
        return DRIVERS["windows"]
    return kind.default_driver(element, given.get("tolerance") is not None)


def plain_state(model):
    """The state as it is stated, whether it holds the constraints or not, (n_z,)."""
    states = [state for _, state in given_states(model.system, model.state).values()]
    return np.concatenate([*(s.q for s in states), *(s.p for s in states)])


def inspect(model, element=True):
    """Facts of a model at its initial state, as plain data.

    Parameters
    ----------
    model : Model
    element : bool
        Whether the time element of the file counts, too.

    Returns
    -------
    dict
        `bodies` (name -> class, n_q), `n_q`, `n_constraints`, `rank`, `degrees_of_freedom` (n_q - rank), `redundant`
        (names of constraints), `violations` (name of the constraint -> configuration, velocity), `nonholonomic` (name
        -> velocity) and `faults`: what keeps the model from being solved, each with the `keys` of its table and a
        `message`. Besides `kind`, and without faults: of boundary-value problems and optimal control `conditions` and
        `unknown` (names), of inverse dynamics `relative_degrees` (by output), `internal` and `unstable` (dimensions of
        the internal dynamics). Of optimal control in phases: `phases`, what there is of each, with its `links` and the
        `couplings` of both ends.
    """
    if model.phases:
        return _of_phases(model, element)
    system, z = model.system, model.z0
    t, n, m = model.t_span[0], system.n_q, system.n_constraints
    with np.errstate(all="ignore"):  # points that coincide give NaN, which is reported below
        theta, jacobian, _ = constraints_at(system, t, z)
    scaled = at_start(system, t, z).off(INITIAL.held)
    names = system.constraint_names
    owners = [part for part in system.parts for _ in part.constraint_names]
    faults = [{"keys": model.keys(part), "message": "its force is not finite at the initial state; "
               f"{remedy_of(system, part, t, z)}"} for part in not_finite(system, t, z) if not part.is_body]
    # the gradient of a distance vanishes where its points meet; what no coordinate can violate may be dropped
    rows = abs(jacobian[:m, :n]).sum(axis=1)
    for i in np.flatnonzero((rows == 0) & ((system.redundant == "refuse") | ~(scaled[:m] <= INITIAL.held))):
        faults.append({"keys": model.keys(owners[i]), "message": f"the constraint '{names[i]}' has no direction at the "
                       "initial state, where its points coincide; set them apart, or use a spherical joint"})
    for i in np.flatnonzero(~(scaled <= INITIAL.held)):
        level, what = ("configuration", "position and orientation") if i < m else ("velocity", "velocities")
        faults.append({"keys": model.keys(owners[i % m]), "message": f"the initial state violates the constraint "
                       f"'{names[i % m]}' on {level} level by {abs(theta[i]):.3g}; give {what} that satisfy "
                       "it, or assemble = true"})
    slips, bound = nonholonomic_off(system, t, z)
    sliding = [part for part in system.parts for _ in part.nonholonomic_names]
    for i in np.flatnonzero(~(slips <= INITIAL.held * bound)):
        faults.append({"keys": model.keys(sliding[i]), "message": "the initial state violates the nonholonomic "
                       f"constraint '{system.nonholonomic_names[i]}' by {slips[i]:.3g}; give velocities that satisfy "
                       "it, or assemble = true"})
    finite = np.isfinite(jacobian.sum())
    redundant = sorted(redundant_rows(system, t, z)) if finite else []
    every, rank = names + system.nonholonomic_names, m - sum(i < m for i in redundant)
    for i in redundant if system.redundant == "refuse" else ():
        faults.append({"keys": model.keys((owners + sliding)[i]), "message": f"over-constrained: '{every[i]}' repeats "
                       f"other constraints at the initial state ({len(redundant)} redundant in all); remove it, use a "
                       'joint that holds less, or give redundant = "drop"'})
    if element and not faults:
        faults = faults_of_element(model, model.element)
    return {
        "bodies": {b.name: {"class": type(b).__name__, "n_q": b.n_q} for b in system.bodies
                   if not b.helper},
        "n_q": n, "n_constraints": m, "rank": rank, "degrees_of_freedom": n - idle_coordinates(system) - rank,
        "redundant": [every[i] for i in redundant],
        "violations": {name: {"configuration": float(abs(theta[i])), "velocity": float(abs(theta[m + i]))}
                       for i, name in enumerate(names)},
        "nonholonomic": dict(zip(system.nonholonomic_names, map(float, slips), strict=True)),
        "faults": [{**fault, "keys": model.document.full(fault["keys"])} for fault in faults], "kind": model.kind,
        **({} if faults else KINDS[model.kind].in_files.facts(model.problem)),
    }


def faults_of_element(model, element):
    """What keeps an element from solving the problem of a model, as a fault of the element, or of the limit that it is
    about."""
    problem = model.problem  # whose own errors have their places
    try:
        KINDS[model.kind].check_element(problem, element)
    except InputError as error:
        name, solver = str(error).partition(":")[0], model.document.data.get("solver", {})
        limits = [one.document.full(("limits", name)) for one in model.phases or (model,)
                  if name in one.document.data.get("limits", {})]
        keys = ("solver", "element") if "element" in solver else next(iter(limits), ("problem",))
        return [{"keys": keys, "message": str(error)}]
    return []


def refuse_element(model, element):
    """InputError for an element that cannot solve the problem of a model, with the place in the file."""
    for fault in faults_of_element(model, element):
        raise model.document.error(**fault)


def _of_phases(model, element):
    found = [inspect(phase, element=False) for phase in model.phases]
    faults = [fault for one in found for fault in one["faults"]]
    if element and not faults:
        faults = faults_of_element(model, model.element)
    for one in found:
        del one["faults"]
    return {"phases": found, "faults": faults, "kind": model.kind,
            **({} if faults else KINDS[model.kind].in_files.facts(model.problem))}
