"""Inverse dynamics in model files."""


from ...mechanics.bodies.states import Pose
from ...mechanics.body_frame import is_on_tree
from ...mechanics.part_names import is_joint
from ...mechanics.states.consistent import assemble
from ..common.kind import FileFormat, check_guess, solution_guess
from .problem import InverseDynamics


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
