"""The problem that a model file states, by its kind, and what each kind takes from the file."""

import numpy as np

from ..mechanics import AngleOutput, CanonicalState, CoordinateOutput, Effort, Pose, PositionOutput
from ..problems import BoundaryValueProblem, InitialValueProblem, InverseDynamics, OptimalControl, assemble
from ..problems.common.end_state import EndState
from .entries import find, naming, value_of

OUTPUTS = {"position": PositionOutput, "angle": AngleOutput, "coordinate": CoordinateOutput}
KEYS = {"initial": (), "boundary": ("start", "end", "periodic", "free_time", "parameters", "turns"),
        "inverse": ("end",), "optimal": ("end", "free_time", "time_weight", "duration", "parameters")}
TABLES = {"actuators": ("inverse", "optimal"), "outputs": ("inverse",), "sensitivity": ("initial",),
          "continuation": ("boundary",)}  # and the kinds that take them
NEEDED = "actuators", "outputs"
BOUNDS = "lower", "upper"
OPTIMAL = ("effort", "lower", "upper")  # keys of actuators
NOT_BOUNDED = ("tol_residual", "tol_increment", "backend")  # settings that problems with bounds do not use
MOTION = ("velocity", "angular_velocity", "frame")


def check_kind(document):
    """The kind of the problem; InputError for what belongs to other kinds, or is missing."""
    data = document.data
    table = data.get("problem", {"kind": "initial"})
    kind = table["kind"]
    for key in table:
        if key != "kind" and key not in KEYS[kind]:
            users = [f'"{other}"' for other, keys in KEYS.items() if key in keys]
            raise document.error(("problem", key), f"belongs to kind = {' or '.join(users)}")
    for name, users in TABLES.items():
        belongs = " or ".join(f'kind = "{user}"' for user in users)
        if name in data and kind not in users:
            raise document.error((name,), f"belongs to [problem] with {belongs}")
        if kind in users and name in NEEDED and not data.get(name):
            raise document.error(("problem", "kind"), f'"{kind}" needs a table of {name}')
    for name, entry in data.get("actuators", {}).items():
        for key in OPTIMAL:
            if key in entry and kind != "optimal":
                raise document.error(("actuators", name, key), 'belongs to [problem] with kind = "optimal"')
    for name, entry in table.get("parameters", {}).items():
        for key in BOUNDS:
            if key in entry and kind != "optimal":
                raise document.error(("problem", "parameters", name, key), 'belongs to kind = "optimal"')
    for key in ("time_weight", "duration"):
        if key in table and not table.get("free_time"):
            raise document.error(("problem", key), "needs free_time = true")
    if kind == "boundary":
        for name, entry in data["bodies"].items():
            for key in MOTION:
                if key in entry:
                    raise document.error(("bodies", name, key), "is not used by a boundary-value problem, where "
                                         f"position and orientation are guesses; give it in problem.start.{name}")
    return kind


def make_problem(model):
    """The problem of a `Model`; InputError with file, line and key."""
    makers = {"initial": lambda model: model.start, "boundary": _boundary, "inverse": _inverse, "optimal": _optimal}
    return makers[model.kind](model)


def _boundary(model):
    document, table = model.document, model.document.data["problem"]
    ends = {which: _end_states(model, which) for which in ("start", "end")}
    parameters = _parameters(model)
    near = {name: Pose(**{key: entry[key] for key in ("position", "orientation") if key in entry})
            for name, entry in document.data["bodies"].items() if "position" in entry or "orientation" in entry}
    with naming(document, ("problem",), table):
        return BoundaryValueProblem(model.system, model.t_span, **ends, periodic=table.get("periodic", False),
                                    parameters=parameters, free_time=table.get("free_time", False), near=near,
                                    assemble=model.assemble)


def _parameters(model):
    """Unknown numbers: name -> (part, its number)."""
    document, found = model.document, {}
    parts = {part.name: part for part in model.system.parts
             if part.name and part not in model.system.bodies and not part.n_controls}
    for name, entry in document.data["problem"].get("parameters", {}).items():
        part = find(document, ("problem", "parameters", name, "part"), entry["part"], parts, "joint or force")
        found[name] = part, entry["number"]
    return found


def _end_states(model, which, cls=EndState):
    """What the file asks of bodies at an end; "free" components are None."""
    document, found = model.document, {}
    for name, entry in document.data["problem"].get(which, {}).items():
        keys = ("problem", which, name)
        find(document, keys, name, {body.name: body for body in model.system.bodies})
        given = {key: [None if v == "free" else v for v in value] if isinstance(value, list) else value
                 for key, value in entry.items()}
        with naming(document, keys, entry):
            found[name] = cls(**given)
    return found


def _inverse(model):
    document, data = model.document, model.document.data
    bodies = {body.name: body for body in model.system.bodies}
    outputs = {}
    for name, entry in data["outputs"].items():
        keys = ("outputs", name)
        body = find(document, (*keys, "body"), entry["body"], bodies)
        trajectory = value_of(document, (*keys, "trajectory"), entry["trajectory"])
        own = {key: value for key, value in entry.items() if key not in ("type", "body", "trajectory")}
        with naming(document, keys, entry):
            outputs[OUTPUTS[entry["type"]](body, **own, name=name)] = trajectory
    end = _end_states(model, "end", Pose) or None
    for name in bodies if end else ():
        if name not in end:
            raise document.error(("problem", "end"), f"the body {name!r} is missing: give the states of all bodies, or "
                                 "of none")
    with naming(document, ("outputs",), data["outputs"]):
        if end and model.assemble:
            end = assemble(model.system, end, model.t_span[1])
        return InverseDynamics(model.system, outputs, _start(model), end, model.t_span)


def _optimal(model):
    document, data = model.document, model.document.data
    table, actuators = data["problem"], {part.name: part for part in model.system.parts if part.n_controls}
    costs, bounds = [], {}
    for name, entry in data["actuators"].items():
        n = actuators[name].n_controls
        for key in OPTIMAL:
            if isinstance(entry.get(key), list) and len(entry[key]) != n:
                raise document.error(("actuators", name, key), f"must have {n} numbers, one for each control")
        if "effort" in entry:
            costs.append(Effort(actuators[name], entry["effort"]))
        if "lower" in entry or "upper" in entry:
            bounds[actuators[name]] = entry.get("lower"), entry.get("upper")
    if "duration" in table:
        bounds["duration"] = table["duration"]
    for name, entry in table.get("parameters", {}).items():
        if "lower" in entry or "upper" in entry:
            bounds[name] = entry.get("lower"), entry.get("upper")
    weight = table.get("time_weight")
    end_cost = None if weight is None else lambda end, parameters: weight * parameters["duration"]
    ends = _end_states(model, "end")
    with naming(document, ("problem",), table):
        problem = OptimalControl(model.system, _start(model), ends, model.t_span, costs, end_cost=end_cost,
                                 parameters=_parameters(model), free_time=table.get("free_time", False),
                                 bounds=bounds)
    for key in problem.bounded * NOT_BOUNDED:
        if key in data.get("solver", {}):
            raise document.error(("solver", key), "is not used where there are bounds, which IPOPT takes care of; "
                                 "leave it out")
    return problem


def _start(model):
    """The state at the start, assembled if the file says so."""
    return _as_states(model.system, model.z0) if model.assemble else model.state


def _as_states(system, z):
    n, places = system.n_q, {body: system.coordinates(body) for body in system.bodies}
    return {body: CanonicalState(z[:n][s], z[n:][s]) for body, s in places.items()}


def start_problem(model):
    """The InitialValueProblem from the state that the file gives of the bodies."""
    return InitialValueProblem(model.system, model.state, model.t_span, assemble=model.assemble)


def plain_state(model):
    """The state as it is stated, whether it holds the constraints or not, (n_z,)."""
    q, p = zip(*(body.state(model.state[body.name]) for body in model.system.bodies), strict=True)
    return np.concatenate([*q, *p])


def problem_facts(model):
    """What `timefem check` tells of problems other than initial-value problems."""
    problem = model.problem
    if model.kind == "boundary":
        return {"conditions": list(dict.fromkeys(problem.conditions_at_ends.names)), "unknown": problem.unknown_names}
    if model.kind == "inverse":
        return {"relative_degrees": {repr(output): r for output, r in problem.relative_degrees.items()},
                "internal": problem.internal, "unstable": problem.unstable}
    if model.kind == "optimal":
        return {"conditions": list(dict.fromkeys(problem.conditions.names)), "unknown": problem.unknown_names}
    return {}
