"""Inverse dynamics in the table of kinds, and in model files."""

import casadi as ca
import numpy as np

from ...mechanics.bodies.states import Pose
from ...mechanics.body_frame import is_on_tree
from ...mechanics.parts import is_joint
from ...mechanics.states.assemble import assemble
from ..common.statistics import largest_controls
from ..initial.global_driver import Global
from ..kinds import FileFormat, Kind, check_guess, solution_guess
from .problem import InverseDynamics
from .solve import InverseErrors, solve_inverse_dynamics


def make_from_file(model):
    data, bodies, outputs = model.document.data, model.names.bodies, {}
    for name, entry in data["outputs"].items():
        if "trajectory" in entry:  # others are measured only
            trajectory = model.value_of(("outputs", name, "trajectory"), entry["trajectory"])
            outputs[model.names.outputs[name]] = trajectory
    end = model.end_states("end", Pose) or None
    given = {joint.body.name for joint in end or () if is_on_tree(joint)} | {*(end or ())}
    for name in bodies if end and not any(is_joint(model.system, key) for key in end) else ():
        if name not in given:
            raise model.document.error(("problem", "end"), f"the body {name!r} is missing: give the states of all "
                                       "bodies, or of none")
    with model.naming(("outputs",), data["outputs"]):
        if end and model.assemble:
            end = assemble(model.system, end, model.t_span[1])
        return InverseDynamics(model.system, outputs, model.stated_start, end, model.t_span)


def file_facts(problem):
    return {"relative_degrees": {repr(output): r for output, r in problem.relative_degrees.items()},
            "internal": problem.internal, "unstable": problem.unstable}


FILES = FileFormat(make_from_file, keys=("end",), tables=("actuators", "outputs", "guess"),
                   needed=("actuators", "outputs"), check=check_guess, guess=solution_guess, facts=file_facts)


# ---- inverse dynamics in the table of kinds

def report_facts(problem, sol):
    """Largest deviation of each output, largest controls, and the internal dynamics."""
    kept = {repr(output): float(np.abs(deviations(output, trajectory, sol)).max())
            for output, trajectory in problem.outputs}
    return {"outputs": kept, "controls": largest_controls(sol), "internal_dynamics": problem.internal,
            "unstable": problem.unstable}


def deviations(output, trajectory, sol):
    """By how much an output misses its trajectory at the ends of the elements, shape (n,)."""
    q = [ca.SX.sym("q", body.n_q) for body in output.bodies]
    target = ca.SX.sym("target")
    function = ca.Function("deviation", [target, *q], [ca.SX(output.deviation(target, *q))])
    places = [sol.z[:, sol.system.coordinates(body)].T for body in output.bodies]
    return np.array(function.map(len(sol.t))(np.reshape(trajectory(sol.t), (1, -1)), *places)).ravel()


INVERSE = Kind(
    "inverse", InverseDynamics, "inverse dynamics", drivers=(Global,), solve=solve_inverse_dynamics,
    estimate=InverseErrors, newton={"line_search": True}, facts=report_facts, elements=("mg",),
    changes=("start", "end", "t_span", "outputs"),
    files=__name__,
)
