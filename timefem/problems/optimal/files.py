"""Optimal control in model files."""

import numpy as np

from ...elements.element import name_of
from ...mechanics.forces.actuators import Effort
from ...mechanics.formulas.text import as_formula
from ...mechanics.parts import is_joint
from ...mechanics.time_formulas import as_time_function
from ..kinds import FileFormat, solution_guess
from ..targets import EndState
from .guesses.guess import Guess
from .kind import UNUSED
from .problem import OptimalControl
from .statement.complementarity import Complementary, CoulombFriction, SpringContact
from .statement.couplings import BOTH_ENDS, LINK, Coupling
from .statement.limits import Limit

ACTUATORS = "effort", "lower", "upper", "lower_rate", "upper_rate"
KEYS = ("start", "end", "end_conditions", "path", "periodic", "free_time", "cost", "end_cost", "duration", "parameters",
        "follows")  # of [problem]
ENTRIES = {"actuators": ACTUATORS, "parameters": ("lower", "upper")}  # keys that only optimal control takes
STATE = "state", "position", "orientation", "velocity", "angular_velocity"  # keys of bodies


def check_file(document):
    table = document.data["problem"]
    if "duration" in table and not table.get("free_time"):
        raise document.error(("problem", "duration"), "needs free_time = true")
    if not (document.data.get("actuators") or table.get("parameters") or table.get("start")):
        raise document.error(("problem", "kind"), '"optimal" needs a table of actuators, or unknown numbers, '
                             "problem.parameters")
    for name, entry in document.data.get("outputs", {}).items():
        if "trajectory" in entry:
            raise document.error(("outputs", name, "trajectory"), 'belongs to [problem] with kind = "inverse"; limits '
                                 "have lower and upper")
    if "link" in document.data and not document.follows:
        raise document.error(("link",), "belongs to a phase that follows another one")
    solver = document.data.get("solver", {})
    if "tolerance" in solver and name_of(solver.get("element", "mg")) != "mg":
        raise document.error(("solver", "tolerance"), 'of optimal control belongs to element = "mg"')


def _has_states(model):
    """Whether a start that is found has a guess: that in the bodies, of a later phase where it states some of its own.
    """
    document = model.document
    own = document.own if document.follows else document.data
    bodies = own.get("bodies", {}).values()
    return "state" in own or any(key in entry for entry in bodies for key in STATE)


def make_from_file(model):
    document, data = model.document, model.document.data
    table, actuators = data["problem"], model.names.actuators
    costs, bounds, rates = [], {}, {}
    for name, entry in data.get("actuators", {}).items():
        keys, actuator = ("actuators", name), actuators[name]
        for key in ACTUATORS:
            if isinstance(entry.get(key), list) and len(entry[key]) != actuator.n_controls:
                raise document.error((*keys, key), f"must have {actuator.n_controls} numbers, one for each control")
        if "effort" in entry:
            costs.append(Effort(actuator, entry["effort"]))
        for found, pair in ((bounds, ("lower", "upper")), (rates, ("lower_rate", "upper_rate"))):
            if set(pair) & set(entry):
                found[actuator] = tuple(model.bounds_of((*keys, key), entry.get(key)) for key in pair)
    if "duration" in table:
        given = table["duration"]
        bounds["duration"] = (given.get("lower"), given.get("upper")) if isinstance(given, dict) else given
    for name, entry in table.get("parameters", {}).items():
        if "lower" in entry or "upper" in entry:
            bounds[name] = entry.get("lower"), entry.get("upper")
    if "cost" in table:
        costs += table["cost"] if isinstance(table["cost"], list) else [table["cost"]]
    ends, own = model.end_states("end"), model.end_states("start")
    start = own or model.stated_start
    if (document.follows or own) and not any(is_joint(model.system, key) for key in own):
        find = model.system.find
        own = {find(body): state for body, state in own.items()}
        others = {find(body): EndState() if document.follows else state for body, state in model.start_state.items()}
        start = {body: state for body, state in others.items() if body not in {part.body for part in own}} | own
    near = {model.system.find(body): state for body, state in model.start_state.items()} if _has_states(model) else None
    limits = [limit_from_file(model, name, entry) for name, entry in data.get("limits", {}).items()]
    couplings = couplings_from_file(model, model, ("couplings",), data.get("couplings", {}))
    stated = [(name, (key, name), entry) for key in ("limits", "couplings")
              for name, entry in data.get(key, {}).items()]
    for name, entry in data.get("actuators", {}).items():
        stated += [(f"bounds of {name}", ("actuators", name), entry), (f"rates of {name}", ("actuators", name), ())]
    stated += [(f"bounds of {name}", ("problem", "parameters", name), entry)
               for name, entry in table.get("parameters", {}).items()]
    with model.naming(("problem",), table, stated):
        problem = OptimalControl(model.system, start, ends, model.t_span, costs, end_cost=table.get("end_cost"),
                                 end_conditions=table.get("end_conditions"), path=table.get("path"),
                                 parameters=model.parameters(), follows=table.get("follows"),
                                 free_time=table.get("free_time", False), bounds=bounds, limits=limits, rates=rates,
                                 couplings=couplings, periodic=table.get("periodic", False), near=near)
    for key in problem.bounded * UNUSED:
        if key in data.get("solver", {}):
            raise document.error(("solver", key), "is not used where there are bounds, with which an interior-point "
                                 "method deals; leave it out")
    return problem


def guess_from_file(model):
    """The `Guess` of the table `[guess]`; None where there is none."""
    table = model.document.data.get("guess")
    if table is None:
        return None
    if "duration" in table and not model.problem.free_time:
        raise model.document.error(("guess", "duration"), "is for problems with free_time = true; leave it out")
    own = dict(table)
    if isinstance(own.get("controls"), dict):
        own["controls"] = {name: _control_guess(model, ("guess", "controls", name), value)
                           for name, value in own["controls"].items()}
    if "solution" in own:
        if "motion" in own:
            raise model.document.error(("guess", "motion"), "is given beside solution; leave one of them out")
        del own["solution"]
        own["motion"] = solution_guess(model)
    with model.naming(("guess",), table):
        guess = Guess(**own)
        guess.numbers(model.problem)
    if "motion" in table:
        with model.naming(("guess", "motion"), ()):
            guess.states(model.problem, np.array([model.t_span]))  # whether it has the shape of states
    return guess


def _control_guess(model, keys, value):
    """Controls of an actuator as a function of times, of numbers and such functions, one of all or one of each."""
    n = model.find(keys, keys[-1], model.names.actuators, "actuator").n_controls
    value = model.value_of(keys, value)
    with model.naming(keys, ()):
        functions = [as_time_function("a guess", x) for x in (value if isinstance(value, list) else [value])]
    if len(functions) not in (1, n):
        raise model.document.error(keys, f"must be a number or function of time, or {n} of them, one for each control")
    return lambda times: np.stack([function(times) for function in functions * (n // len(functions))], axis=1)


def state_of_file(model):
    """The state at the start where it is to be found."""
    return model.problem.z0 if model.document.follows or "start" in model.document.data["problem"] else None


def file_facts(problem):
    return {"conditions": list(dict.fromkeys(problem.conditions.names)), "unknown": problem.unknown_names}


FILES = FileFormat(
    make_from_file, keys=(*KEYS, "n_starts"), entries=ENTRIES,
    tables=("actuators", "outputs", "limits", "couplings", "link", "guess"),
    check=check_file, facts=file_facts, state=state_of_file, guess=guess_from_file)


LIMITS = {"limit": Limit} | {cls.type: cls for cls in (Complementary, CoulombFriction, SpringContact)}  # by `type`
BOUNDS = "lower", "upper"


def limit_from_file(model, name, entry):
    """The `Limit`, or `Soft` one, of a table `[limits.NAME]`."""
    keys, kind = ("limits", name), entry.get("type", "limit")
    own = {key: model.bounds_of((*keys, key), value) if key in BOUNDS else value
           for key, value in entry.items() if key != "type"}
    if kind == "limit" and ("formula" in own) == ("output" in own):
        raise model.document.error(keys, "needs either a formula, or the name of an output")
    if "output" in own:
        own["formula"] = model.find((*keys, "output"), own.pop("output"), model.names.outputs, "output")
    with model.naming(keys, entry):
        return LIMITS[kind](**own, name=name)


def couplings_from_file(before, after, keys, table, same=None):
    """The couplings of a table of two ends, in the order of time.

    Parameters
    ----------
    before, after : Model
        Of the earlier end and of the later one; the same for both ends of one motion.
    keys : tuple
        Of the table, in the file of `after`.
    table : dict
    same : callable, optional
        `same(keys, bodies)` -> the coupling of equal states of bodies of these names.

    Returns
    -------
    list of Coupling
    """
    return [_coupling(before, after, (*keys, name), entry, same) for name, entry in table.items()]


def _coupling(before, after, keys, entry, same):
    if entry.get("type") == "same":
        return _same(before, after, keys, entry["bodies"], same)
    own = {key: value for key, value in entry.items() if key != "type"}
    if set(BOUNDS) & set(entry):
        own |= {key: after.bounds_of((*keys, key), entry.get(key)) for key in BOUNDS}
    with after.naming(keys, entry):
        as_formula(f"{keys[-1]}: formula", own["formula"], LINK if keys[0] == "link" else BOTH_ENDS)  # of no others
        return Coupling(**own, name=keys[-1])


def _same(before, after, keys, bodies, same):
    if same is None:
        raise after.document.error((*keys, "type"), 'is for phases; both ends of one motion take "periodic = true" in '
                                                    "[problem]")
    for model in (before, after):
        for body in bodies:
            after.find((*keys, "bodies"), body, model.names.bodies)
    return same(keys, bodies)
