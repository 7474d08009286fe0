"""Boundary-value problems in model files."""

from ..common.kind import FileFormat, check_guess, solution_guess
from .problem import BoundaryValueProblem

PLACES = "position", "orientation", "state"  # of bodies in a file: guesses
MOTION = "velocity", "angular_velocity", "frame"  # of bodies in a file: not of guesses


def check_file(document):
    check_guess(document)
    for name, entry in document.data["bodies"].items():
        for key in MOTION:
            if key in entry:
                raise document.error(("bodies", name, key), "is not used by a boundary-value problem, where "
                                     f"position and orientation are guesses; give it in problem.start.{name}")


def make_from_file(model):
    table = model.document.data["problem"]
    ends = {which: model.end_states(which) for which in ("start", "end")}
    parameters = model.parameters()
    bodies = model.document.data["bodies"]
    near = model.state if "state" in model.document.data else {
        name: state for name, state in model.state.items() if {*PLACES} & {*bodies.get(name, ())}}
    with model.naming(("problem",), table):
        return BoundaryValueProblem(model.system, model.t_span, **ends, conditions=table.get("conditions"),
                                    periodic=table.get("periodic", False),
                                    parameters=parameters, follows=table.get("follows"),
                                    free_time=table.get("free_time", False), near=near, assemble=model.assemble)


def file_facts(problem):
    names = problem.conditions_at_ends.formulas.names
    return {"conditions": list(dict.fromkeys(names)), "unknown": problem.unknown_names}


FILES = FileFormat(
    make_from_file, keys=("start", "end", "conditions", "periodic", "free_time", "parameters", "follows", "turns"),
    tables=("continuation", "guess"), check=check_file, facts=file_facts, guess=solution_guess,
    state=lambda model: model.problem.conditions_at_ends.z0)
