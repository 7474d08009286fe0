"""`timefem check model.toml` and `timefem schema`; robots on the command line."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..atomic_write import ending_of, write_text
from ..cases import Case
from ..display import counted
from ..errors import InputError, NotAsked
from ..memory import Late
from ..problems.kinds import KINDS
from .report import add_kept, kept_facts, make_console, make_table, print_json

models = Late("timefem.models")
schemas = Late("timefem.models.schema")

OF_ROBOT = "joint", "gravity", "friction_width", "base", "meshes"
T_END, N_ELEMENTS = 1.0, 400
ENDINGS = ".urdf", ".xml"


def is_robot(path):
    """Whether a path is that of a robot."""
    return ending_of(path) in ENDINGS


def read_robot(path, friction_width=None, base=None, meshes=None):
    """The `Robot` of a file."""
    if ending_of(path) == ".urdf":
        return models.read_urdf(path, friction_width, base or "fixed", meshes)
    if base is not None:
        raise InputError("--base belongs to URDF files; an MJCF file states its free joints")
    return models.read_mjcf(path, friction_width, meshes)


def case_of_robot(path, of_problem, joint=(), gravity=None, friction_width=None, base=None, meshes=None):
    """The case of a robot's file, and notes for the report.

    Parameters
    ----------
    path : str
    of_problem : dict
        "t_end", and others that belong to named cases.
    joint : list of str
        NAME=POSITION or NAME=POSITION,RATE; of joints with several coordinates these are several numbers each.
    gravity : str
        X,Y,Z
    friction_width : float
    base : {"fixed", "free"}
    meshes : str
        Folder.
    """
    for name in of_problem:
        if name != "t_end":
            raise InputError(f"--{name.replace('_', '-')} belongs to named cases; a robot has joint coordinates")
    gravity = None if gravity is None else _numbers("--gravity", gravity, (3,), "X,Y,Z")
    state = {}
    for given in joint:
        name, equals, values = given.rpartition("=")
        if not equals or not name:
            raise InputError(f"--joint must be NAME=POSITION or NAME=POSITION,RATE, not {given!r}")
        if name in state:
            raise InputError(f"--joint {name} is given twice")
        state[name] = _numbers(f"--joint {name}", values, None, "POSITION or POSITION,RATE")
    robot = read_robot(path, friction_width, base, meshes)
    end = of_problem.get("t_end", T_END)

    def make(t_end=end):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotAsked)  # the report has the notes
            return robot.problem(state, (0.0, t_end), gravity)

    case = Case(path, robot.name, robot.name, end, N_ELEMENTS, conserved_axes=(), has_rotation=False,
                make=make)
    return case, robot


def check_robot(path, as_json):
    """Tell what a robot's file states."""
    robot = read_robot(path)
    tree = robot.tree
    joints = {joint.name: {"kind": joint.kind, "parent": joint.parent, "child": joint.child, "damping": joint.damping,
                           "mimic": joint.mimic, "limits": joint.limits} for joint in tree.joints}
    facts = {"title": robot.name, "status": "fine", "n_q": tree.n_q, "degrees_of_freedom": tree.n_v,
             "moving_mass": tree.mass, "links": [link.name for link in tree.links],
             "coordinates": list(tree.coordinate_names), "joints": joints, "notes": list(robot.notes),
             "loops": [joint.name or type(joint).__name__ for joint in robot.joints],
             "actuators": list(robot.actuators), "keyframes": list(robot.keyframes)}
    if as_json:
        print_json({"model": path, **facts})
        return 0
    table = make_table(f"{robot.name} ({path})", "", "")
    table.show_header = False
    table.add_row("links, mass that moves [kg]", f"{len(tree.links)}, {tree.mass:.6g}")
    table.add_row("degrees of freedom", str(tree.n_v))
    for name, joint in joints.items():
        follows = f", mimics {joint['mimic'][0]}" if joint["mimic"] else ""
        table.add_row(f"joint {name}", f"{joint['kind']}, {joint['parent']} to {joint['child']}{follows}")
    for note in robot.notes:
        table.add_row("note", note)
    make_console().print(table)
    return 0


def _numbers(option, text, lengths, form):
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or (lengths and len(values) not in lengths):
        raise InputError(f"{option} must be {form} in numbers, not {text!r}")
    return values


# ---- `timefem check model.toml` and `timefem schema`

def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A model file (.toml), or a robot (.urdf, .xml).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
):
    """Tell what a model file states: bodies, degrees of freedom, redundant constraints, initial violations.

    Exit status 2 when the model cannot be solved as it is.
    """
    if is_robot(path):
        return check_robot(path, as_json)
    model = models.read_model(path)
    facts = models.inspect(model)
    if not facts["faults"]:
        models.check_tables(model)
        facts |= {} if model.phases else kept_facts(model.system, model.element)
    facts["faults"] = [str(model.document.error(**fault)) for fault in facts["faults"]]
    status = 2 if facts["faults"] else 0
    if as_json:
        print_json({"model": path, "title": model.title, "status": "faulty" if status else "fine", **facts})
        return status
    table = make_table(f"{model.title} ({path})", "", "")
    table.show_header = False
    for k, phase in enumerate(facts.get("phases", (facts,))):
        if "phases" in facts:
            table.add_section()
            table.add_row(model.phase_names[k], "")
        _add_rows(table, phase)
    for k, links in enumerate(facts.get("links", ()), 1):
        table.add_row(f"{model.phase_names[k]} follows by", ", ".join(links) or "nothing")
    if "kept" in facts:
        table.add_section()
        add_kept(table, facts["kept"])
    if facts.get("couplings"):
        table.add_row("both ends tied by", ", ".join(facts["couplings"]))
    console = make_console()
    console.print(table)
    for fault in facts["faults"]:
        console.print(f"fault: {fault}", soft_wrap=True)
    return status


def _add_rows(table, facts):
    """Rows of a file, or of one of its phases."""
    for name, body in facts["bodies"].items():
        table.add_row(f"body {name}", f"{body['class']}, {counted(body['n_q'], 'coordinate')}")
    table.add_row("coordinates, constraints", f"{facts['n_q']}, {facts['n_constraints']} of rank {facts['rank']}")
    table.add_row("degrees of freedom", str(facts["degrees_of_freedom"]))
    table.add_row("redundant constraints", "\n".join(facts["redundant"]) or "none")
    if not KINDS[facts["kind"]].usual:
        table.add_row("problem", facts["kind"])
    if "conditions" in facts:
        table.add_row("conditions", "\n".join(facts["conditions"]))
        table.add_row("unknown numbers", ", ".join(facts["unknown"]) or "none")
    for output, degree in facts.get("relative_degrees", {}).items():
        table.add_row(f"output {output}", f"relative degree {degree}")
    if "internal" in facts:
        table.add_row("internal dynamics", f"of dimension {facts['internal']}, {facts['unstable']} not stable")
    if facts["violations"]:
        table.add_section()
        table.add_row("constraints at the start off by", "position, velocity")
    for name, v in facts["violations"].items():
        table.add_row(f"  {name}", f"{v['configuration']:.1e}, {v['velocity']:.1e}")
    if facts["nonholonomic"]:
        table.add_section()
        table.add_row("nonholonomic constraints off by", "velocity")
    for name, off in facts["nonholonomic"].items():
        table.add_row(f"  {name}", f"{off:.1e}")


def schema(output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None):
    """Print or write the JSON schema of model files, for editors."""
    if output is None:
        print(schemas.text(), end="")
    else:
        write_text(output, schemas.text())
