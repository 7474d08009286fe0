"""Estimation in the table of kinds and in model files, and how it is solved."""

import time

import numpy as np

from ...elements.part_numbers import with_carrier
from ...errors import InputError
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.numbers.map import with_values
from ...parallel import own_world
from ...progress import progress
from ...solvers.equations.outcome import NodalValues, Outcome
from ..initial.global_driver import Global
from ..kinds import FileFormat, Kind
from ..statistics import solve_statistics
from .dynamic.search import Search
from .estimate import Estimate
from .kinematic.solve import solve_kinematic
from .options import DEFAULTS
from .prior import Prior
from .problem import Estimation
from .sensors import (
    Accelerometer,
    DirectionSensor,
    FormulaSensor,
    Gyroscope,
    JointSensor,
    Marker,
    OrientationSensor,
    PointVelocity,
    ReactionSensor,
)
from .start_prior import StatePrior
from .verdict import suspicions_of_failure

TYPES = {"marker": Marker, "velocity": PointVelocity, "direction": DirectionSensor, "orientation": OrientationSensor,
         "gyroscope": Gyroscope, "accelerometer": Accelerometer, "joint": JointSensor, "reaction": ReactionSensor,
         "formula": FormulaSensor}  # by `type`
DECLARED = "bias", "scale", "time_offset", "mounting_error", "point", "direction"  # may be unknown


def check_file(document):
    if not document.data["problem"].get("data"):
        raise document.error(("problem", "kind"), '"estimation" needs data, the name of a file of measured values with '
                             'a column for the time, as in data = "seen.csv"; or give it to `timefem estimate`')
    for name, entry in document.data.get("measurements", {}).items():
        if ("sigma" in entry) == ("covariance" in entry):
            raise document.error(("measurements", name), "needs sigma, the standard deviations of its values, or "
                                 "covariance; one of both")


def make_from_file(model):
    document, data = model.document, model.document.data
    table = data["problem"]
    measured = model.measured(table["data"])
    sensors = [_sensor(model, measured, name, entry) for name, entry in data["measurements"].items()]
    noise = {}
    for name, entry in data.get("noise", {}).items():
        noise[name] = _pair(document, name, entry) if isinstance(entry, dict) else entry
    numbers = {}
    for name, where in model.parameters().items():
        entry = table["parameters"][name]
        if "sigma" not in entry:
            raise document.error(("problem", "parameters", name), "needs sigma, the standard deviation of its prior")
        prior = Prior(entry.get("mean", where if isinstance(where, float) else 0.0), entry["sigma"],
                      lower=entry.get("lower"), upper=entry.get("upper"))
        numbers[name] = prior if isinstance(where, float) else (*(where if isinstance(where, tuple) else (where,)),
                                                                prior)
    stated = [(name, ("measurements", name), entry) for name, entry in data["measurements"].items()]
    stated += [(f"noise of {name}", ("noise", name), ()) for name in noise]
    with model.naming(("problem",), table, stated):
        return Estimation(model.system, sensors, noise=noise, prior=_prior(model), t_span=model.t_span,
                          numbers=numbers, follows=table.get("follows"), loss=table.get("loss"),
                          dynamics=table.get("dynamics", "full"), limits=_limits(table.get("limits")))


def _pair(document, name, entry):
    """Spectral densities of place and turn, or of force and torque."""
    kinematic = document.data["problem"].get("dynamics") == "none"
    keys = ("place", "turn") if kinematic else ("force", "torque")
    wrong = next((key for key in entry if key not in keys), None)
    if wrong is not None:
        raise document.error(("noise", name, wrong), f"is not used {'without' * kinematic or 'with'} dynamics; give "
                             f"{keys[0]} and {keys[1]}")
    return entry.get(keys[0]), entry.get(keys[1])


def _limits(given):
    """Pairs by joint, None where there is none."""
    return {name: (own.get("lower"), own.get("upper")) for name, own in given.items()} if isinstance(given, dict) else \
        given


def own_mesh(document):
    if document.data["problem"].get("dynamics") == "none":
        return "without dynamics the frames are the times of the measurements"
    return ""


def _sensor(model, measured, name, entry):
    keys = ("measurements", name)
    with model.naming(keys, entry):
        own = {key: _given(key, value) for key, value in entry.items() if key not in ("type", "columns")}
        cls = TYPES[entry["type"]]
        values = [measured.column(column) for column in entry["columns"]]
        if cls is FormulaSensor:
            own["n"] = len(values)
        values = [list(row) for row in zip(*values, strict=True)]
        if len(entry["columns"]) == 1 and cls.__dict__.get("n", None) == 1:
            values = [row[0] for row in values]
        return cls(times=measured.times, values=values, missing="skip", name=name, **own)


def _given(key, value):
    """A number as it is, and one with mean and sigma as a `Prior`."""
    if key in DECLARED and isinstance(value, dict):
        return Prior(**value)
    return value


def _prior(model):
    """States where the file begins, with standard deviations."""
    given = model.document.data.get("prior", {})
    states = dict(model.stated_start or {})
    names = {getattr(key, "name", key): key for key in states}
    found = {key: StatePrior(state) for key, state in states.items()}
    for name, entry in given.items():
        key = names.get(name, name)
        state = states.get(key)
        if isinstance(state, CanonicalState) and not entry:
            continue
        found[key] = StatePrior(state, **entry)
    return found


def file_facts(problem):
    return {"measured": {sensor.title: sensor.n_measured for sensor in problem.measurements},
            "unknown": problem.unknown_names}


FILES = FileFormat(make_from_file, keys=("parameters", "follows", "limits"), schemas={
                       "data": {"$ref": "#/$defs/text"}, "loss": {"enum": ["huber", "student"]},
                       "dynamics": {"enum": ["full", "none"]}},
                   tables=("actuators", "measurements", "noise", "prior"), needed=("measurements",), check=check_file,
                   facts=file_facts, own_mesh=own_mesh, entries={"parameters": ("lower", "upper")})


# ---- estimation in the table of kinds

def report_facts(problem, sol):
    """Fit, evidence, unknown numbers with their standard deviations, and outliers."""
    if not sol.success:
        return {}
    evidence = {} if problem.dynamics == "none" or sol.at_bounds else {"log_evidence": sol.log_evidence}
    fit, numbers = sol.fit, {}
    for unknown in problem.unknowns:
        value, deviation = sol.value(unknown.label), sol.std(unknown.label)
        numbers[unknown.label] = {"value": value.tolist(), "std": [None if np.isnan(x) else float(x) for x in
                                                                                deviation]}
    bodies = {}
    for body in problem.system.bodies:
        if not body.helper:
            own = sol.std(body)
            bodies[problem.system.label(body)] = {"largest_std": own.max(axis=0).tolist()}
    return {"chi2": fit.chi2, "degrees_of_freedom": fit.degrees_of_freedom, "verdict": fit.verdict,
            **evidence, "numbers": numbers, "at_bounds": sol.at_bounds, "bodies": bodies,
            "sensors": {own.name: {"n": own.n, "ratio": own.ratio} for own in fit.sensors},
            "outliers": [list(one) for one in fit.outliers], "undetermined": fit.undetermined,
            "constraints": float(np.abs(sol.system.constraints(sol.t, sol.z)).max(initial=0.0))}


def no_estimate(problem, element):
    """InputError: there is no `ErrorEstimate` of estimated motions."""
    raise InputError("tolerance= does not find the errors of estimated motions; give n_elements, and compare with "
                     "twice as many")


def solve_estimation(task):
    """Solve an estimation problem: a `Task` of `timefem.solve`.

    Returns
    -------
    Estimate
    """
    start, problem = time.perf_counter(), task.problem
    if task.tolerance is not None:
        no_estimate(problem, task.element)
    check_linear(task.driver)
    if problem.dynamics == "none":
        return solve_kinematic(task)
    mesh = task.mesh_through(problem.kinks, problem.kept)
    with progress(f"estimation, {mesh.n_elements} elements", DEFAULTS.most_steps, task.progress, DEFAULTS.near) as bar:
        search = Search(task, bar, own_world() if task.driver.distributed else None)
        seconds = {"setup": time.perf_counter() - start}
        found = search(mesh)
        n_ranks = found.n_ranks
        found.leave_ranks()
    seconds["total"] = time.perf_counter() - start
    return estimate_of(task, problem, search, found, seconds, n_ranks)


def check_linear(driver):
    """Refuse linear solvers that estimation does not use."""
    linear = driver.linear
    if linear.name != "chain" and not (linear.distributed and linear.own_slabs):
        raise InputError(f"backend={linear.name!r}: estimation factors its chain itself; leave it out, or take 'petsc' "
                         "without methods and options to share the work among ranks")


def estimate_of(task, problem, search, found, seconds, n_ranks=1):
    """The `Estimate` of what a search found."""
    if not found.status.success:
        told = suspicions_of_failure(found)
        found.status.message = "; ".join([found.status.message, *told])
    program, plan, mesh = found.program, search.plan, found.chain.mesh
    seconds["solve"] = seconds["total"] - seconds["setup"]
    values = NodalValues(*plan.unpack(found.x))
    outcome = Outcome(values, found.status, np.array([search.iterations]), program.n + program.n_rows, seconds,
                      n_ranks=n_ranks)
    statistics = solve_statistics(task.driver, search.name, mesh, outcome, objective=found.cost)
    solution = Estimate.of(_system(problem, plan, found), plan.element, mesh.nodes, outcome.state[0, 0], values,
                           found.status, statistics)
    solution.take(problem, found)
    return solution


def _system(problem, plan, found):
    """The system with the numbers of parts that were found, where the solve succeeded."""
    if not len(problem.part_numbers) or not found.status.success:
        return plan.system
    numbers = np.clip(found.chain.nodal(found.x, "constants")[-1, -1], *problem.number_bounds)
    values = {u.name: float(numbers[u.places][0]) for u in problem.unknowns if u.sensor is None}
    return with_carrier(with_values(problem.system, problem.part_numbers, values), plan.element)


ESTIMATION = Kind("estimation", Estimation, "an estimation problem", drivers=(Global,), solve=solve_estimation,
                  estimate=no_estimate, fits=lambda problem, element: problem.check_element(element),
                  mesh=lambda task: task.mesh_through(task.problem.kinks),
                  smooth=lambda problem: not (problem.system.rigid_contacts or problem.density.any()),  # noise is rough
                  facts=report_facts, files=__name__, updates=f"{__package__}.window")
