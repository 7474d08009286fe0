"""Robots on the command line: `timefem run robot.urdf` and `timefem check robot.urdf`."""

from ..cases import Case
from ..errors import InputError
from ..late import Late
from .report import make_console, make_table, print_json

models = Late("timefem.models")

OF_ROBOT = "joint", "gravity", "friction_width", "base", "meshes"
T_END, N_ELEMENTS = 1.0, 400
ENDINGS = ".urdf", ".xml"


def is_robot(path):
    """Whether a path is that of a robot."""
    return path.endswith(ENDINGS)


def read_robot(path, friction_width=None, base=None, meshes=None):
    """The `Robot` of a file."""
    if path.endswith(".urdf"):
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
    for text in joint:
        name, equals, values = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"--joint must be NAME=POSITION or NAME=POSITION,RATE, not {text!r}")
        if name in state:
            raise InputError(f"--joint {name} is given twice")
        state[name] = _numbers(f"--joint {name}", values, None, "POSITION or POSITION,RATE")
    robot = read_robot(path, friction_width, base, meshes)
    end = of_problem.get("t_end", T_END)
    case = Case(path, robot.name, robot.name, end, N_ELEMENTS, conserved_axes=(), has_rotation=False,
                make=lambda t_end=end: robot.problem(state, (0.0, t_end), gravity))
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
             "actuators": list(robot.actuators)}
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
