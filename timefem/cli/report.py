"""What the commands of `timefem` tell, facts as plain data, tables, JSON and the figure, and the files they write."""

import ctypes
import dataclasses
import errno
import json
import math
import os
import platform
import re
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from importlib import metadata

import numpy as np
from rich.console import Console
from rich.table import Table

from ..atomic_write import check_writable, ending_of, real_path
from ..cases import find_case
from ..display import counted, printable
from ..errors import InputError, MissingBackend
from ..memory import Late
from ..parallel import launched_ranks
from ..problems.kinds import KINDS, kind_of
from ..solution.shown import WRITERS, checked_ending
from ..validate.options import LINEAR_SOLVERS, OPTIONS
from .process import rank, world


def case_to_study(name, study="convergence"):
    """The case of a study, by name; InputError where that is not for its kind of problem."""
    case = find_case(name)
    if study not in KINDS[case.kind].studies:
        known = " or ".join(f"{kind.title.split(' ', 1)[1]}s" for kind in KINDS.values() if study in kind.studies)
        raise InputError(f"studies are those of {known}, and {name} is {KINDS[case.kind].title}")
    return case


def kind_rows(r):
    """Rows of the table of a run, from its facts."""
    if "continuation" in r:
        yield "followed over", ", ".join(f"{value:.6g}" for value in r["continuation"])
    if "objective" in r:
        yield "objective", f"{r['objective']:.10g}"
    if r.get("conditions"):
        worst = max(r["conditions"], key=r["conditions"].get)
        yield "conditions met to", f"{r['conditions'][worst]:.2e}, {worst}"
    for name, value in r.get("parameters", {}).items():
        yield f"found: {name}", f"{value:.10g}"
    for name, value in r.get("outputs", {}).items():
        yield f"output {name} kept to", f"{value:.2e}"
    for name, values in r.get("controls", {}).items():
        yield f"largest control of {name}", ", ".join(f"{v:.6g}" for v in values)
    if "internal_dynamics" in r:
        yield "internal dynamics", f"of dimension {r['internal_dynamics']}, {r['unstable']} not stable"
    for name, one in r.get("numbers", {}).items():
        pairs = zip(one["value"], one["std"], strict=True)
        yield f"found: {name}", ", ".join(
            f"{value:.6g} (at its bound)" if std is None else f"{value:.6g} +- {std:.2g}" for value, std in pairs)
    if "verdict" in r:
        yield "fit", r["verdict"]
        if "log_evidence" in r:
            yield "log of the evidence", f"{r['log_evidence']:.8g}"


in_trees = Late("timefem.mechanics.states.given")
EVENTS = {"impact": ("impact",), "opens": ("opening",), "slips": ("start of sliding", "starts of sliding"),
          "sticks": ("sticking", "stickings"), "touches": ("touch", "touches"), "rests": ("coming to rest",) * 2,
          "jam": ("jam",), "fallback": ("fallback",)}  # kind of event -> singular and plural


def run_report(case, problem, sol):
    """The numbers of a run, as they go into the JSON."""
    statistics, status, element = sol.statistics, sol.status, sol.element
    errors = sol.errors()
    t_end, z_end = sol.end
    final, joints = {}, {}
    bodies = [body for body in problem.system.bodies if not body.helper]
    trees = [body for body in bodies if hasattr(body, "joint_states")]
    called = Counter(in_trees.joint_names(sol.system))
    called.update(name for tree in trees for name in {*tree.moving_joints, *(["base"] if tree.base_joint else [])})
    for body in bodies:
        part = problem.system.coordinates(body)
        q, p = z_end[part], z_end[problem.system.n_q:][part]
        # point masses have no rotation, systems by formulas no position
        state = {} if hasattr(body, "position") else {"coordinates": q}
        state |= {name: getattr(body, name)(*arguments) for name, arguments in
                 (("position", (q,)), ("velocity", (q, p)), ("rotation_matrix", (q,)), ("quaternion", (q,)),
                  ("angular_velocity", (q, p))) if hasattr(body, name)}
        label = problem.system.label(body)
        final[label] = {name: value.tolist() for name, value in state.items()}
        if hasattr(body, "joint_states"):
            own = {name: f"{label}.{name}" if count > 1 else name for name, count in called.items()}
            joints |= {own[name]: {"position": np.asarray(x).tolist(), "rate": np.asarray(v).tolist()}
                       for name, (x, v) in body.joint_states(q, p).items()}
            if body.base_joint:
                base = body.base_state(q, p)
                state = {"position": base.position, "quaternion": base.quaternion, "velocity": base.velocity,
                         "angular_velocity": base.angular_velocity}
                final[own["base"]] = {name: value.tolist() for name, value in state.items()}
    for name in in_trees.joint_names(sol.system):
        motion = sol.joint(name)
        for coordinate in motion.coordinates:
            own = name if len(motion.coordinates) == 1 else f"{name}.{coordinate}"
            joints[own] = {"position": float(motion.coordinate(t_end, coordinate)),
                           "rate": float(motion.rate(t_end, coordinate))} if len(sol.t) > 1 else {}
    joints = {name: state for name, state in joints.items() if state}
    if joints:
        final["joints"] = joints
    rotations = sorted({body.rotation for body in problem.system.bodies if hasattr(body, "rotation")})
    galerkin = {name: vars(element)[name] for name in ("nodes", "multipliers", "drop", "form", "keep")
                if name in vars(element)}
    stated = element.stated
    fields = {f.name: getattr(stated, f.name) for f in (dataclasses.fields(stated) if dataclasses.is_dataclass(stated)
                                                        else ()) if f.name not in OPTIONS}  # of a scheme of a user
    return {
        "case": case.name, "rotation": " and ".join(rotations) or None, "element": element.name,
        "degree": element.degree, "n_points": element.n_points, **galerkin,
        **({"fields": fields} if fields else {}),
        "n_elements": statistics["n_elements"], "driver": statistics["driver"], "backend": statistics["backend"],
        "n_ranks": statistics["n_ranks"], "t_end": problem.t_span[1],
        "status": "converged" if status.success else "failed", "reason": status.reason, "message": status.message,
        "failure": None if status.success else {name: value for name, value in status.as_dict().items()
                                                if name != "success"},
        "newton_iterations": statistics["newton_iterations"], "t_final": t_end, "final": final,
        "energy_error_max": errors["energy"],
        "angular_momentum_error_max": errors.get("angular_momentum"),
        **({"generalized_energy_error_max": errors["generalized_energy"]} if "generalized_energy" in errors else {}),
        **kept_facts(problem.system, element),
        "constraint_error_max": {level: errors[level] for level in ("configuration", "velocity", "quaternion_momentum")
                                 if level in errors},
        **contact_facts(sol),
        **kind_of(problem).report(problem, sol),
        **{name: statistics[name] for name in ("tolerance", "estimated_error", "estimated_errors", "meshes", "per_rank")
           if name in statistics},
        "backward_error": statistics["backward_error"], "seconds": statistics["seconds"],
        "n_unknowns": statistics["n_unknowns"],
    }


def contact_facts(sol):
    """Events of rigid contact, how near gaps came to overlap, and what impacts and friction took."""
    if not sol.system.rigid_contacts:
        return {}
    counts = {**sol.statistics["contact_events"]}
    return {"contacts": {"events": counts, "least_gap": float(sol.contact_gaps().min()),
                         "energy_lost": sol.energy_lost()}}


def kept_facts(system, element):
    """What an element with lifted gradients keeps of the system, and which parts do work or take momenta."""
    if not element.lifted or element.form not in ("hamilton", "energy"):
        return {}
    found = element.kept(system)
    return {"kept": {"energy": found.energy, "working": found.working, "drifting": found.drifting,
                     "momenta": found.names, "not_by": found.reasons}}


def add_kept(table, kept):
    """Rows of what `kept_facts` tells."""
    energy = ["energy"] if kept["energy"] else []
    constraints = [] if kept["drifting"] else ["constraints"]
    table.add_row("kept to round-off", ", ".join([*energy, *constraints, *kept["momenta"]]) or "nothing")
    if kept["working"]:
        table.add_row("  energy changes by the work of", ", ".join(kept["working"]))
    for part, why in kept["not_by"].items():
        table.add_row("  momenta not kept by", f"{part}: {why}")


def print_report(r, case, output):
    def row(values):
        return "  ".join(f"{v: .6f}" for v in values)

    table = make_table(f"{case.title} ({case.name})", "", "")
    table.show_header = False
    backend = f", {r['backend']}" if r["backend"] else ""
    ranks = f", {r['n_ranks']} ranks" if r["n_ranks"] > 1 else ""
    fields = "".join(f", {name} {value}" for name, value in r.get("fields", {}).items())
    table.add_row("element", f"{r['element']}{fields}, degree {r['degree']}, {r['n_points']} Gauss points"
                  f"{', ' + r['rotation'] if r['rotation'] else ''}")
    table.add_row("driver", f"{r['driver']}{backend}{ranks}")
    end = r.get("parameters", {}).get("duration", r["t_end"])
    table.add_row("elements, end", f"{r['n_elements']}, {end:g} s")
    table.add_row("unknowns of a solve", str(r["n_unknowns"]))
    table.add_row("Newton iterations", f"{r['newton_iterations']['mean']:.2f} on average, at most "
                                       f"{r['newton_iterations']['max']}")
    table.add_row("status", r["message"] if r["failure"] is None else f"failed: {r['reason']}")
    if "kind" in r:
        residual = "none" if r["residual"] is None else f"{r['residual']:.2e}"
        table.add_row("problem, residual", f"{r['kind']}, {residual}")
    for what, value in kind_rows(r):
        table.add_row(what, value)
    if "estimated_error" in r:
        table.add_row("estimated error", f"{r['estimated_error']:.2e}")
    if "meshes" in r:
        table.add_row("elements of the meshes", ", ".join(map(str, r["meshes"])))
    table.add_row("error of the energy", f"{r['energy_error_max']:.2e} J")
    if "kept" in r:
        add_kept(table, r["kept"])
    if "contacts" in r:
        contacts = r["contacts"]
        table.add_row("events of contact", ", ".join(counted(n, *EVENTS.get(kind, (kind, kind)))
                                                      for kind, n in contacts["events"].items()) or "none")
        table.add_row("least gap", f"{contacts['least_gap']:.2e} m")
        for name, lost in contacts["energy_lost"].items():
            table.add_row(f"  energy lost at {name}", f"{lost:.6g} J")
    if "generalized_energy_error_max" in r:
        table.add_row("error of the generalized energy", f"{r['generalized_energy_error_max']:.2e} J")
    if r["angular_momentum_error_max"] is not None:
        table.add_row("error of the angular momentum", f"{r['angular_momentum_error_max']:.2e} kg m^2/s, about axes "
                                                       "without a moment")
    constraints = r["constraint_error_max"]
    table.add_row("error of the constraints",
                  "{configuration:.2e}, of their rates {velocity:.2e}".format(**constraints))
    if "quaternion_momentum" in constraints:
        table.add_row("q.p of quaternions", f"{constraints['quaternion_momentum']:.2e} kg m^2/s")
    table.add_row("seconds", ", ".join(f"{name} {value:.3f}" for name, value in r["seconds"].items()))
    joints = r["final"].get("joints", {})
    for name, state in joints.items():
        table.add_row(f"joint {name}: position, rate", "\n".join(row(np.ravel(x)) for x in state.values())
                      if np.ndim(state["position"]) else row(state.values()))
    for note in r.get("notes", ()):
        table.add_row("note", note)
    for name, state in r["final"].items():
        if state is joints or ("quaternion" in state and "rotation_matrix" not in state):  # of a base, told as a joint
            continue
        table.add_section()
        table.add_row(f"{name} at t = {r['t_final']:g} s", "")
        if "coordinates" in state:
            table.add_row("  coordinates", row(state["coordinates"]))
            table.add_row("  their velocities", row(state["velocity"]))
        if "position" in state:
            table.add_row("  position [m]", row(state["position"]))
        if "rotation_matrix" in state:
            table.add_row("  rotation matrix", "\n".join(map(row, state["rotation_matrix"])))
            table.add_row("  angular velocity, body axes [1/s]", row(state["angular_velocity"]))
    if output:
        table.add_section()
        table.add_row("saved in", output)
    make_console().print(table)


def print_details(sol):
    status, statistics = sol.status, sol.statistics
    print(f"timefem: {sol.system!r}", f"timefem: {sol.element!r}, {statistics['driver']}, {statistics['n_elements']} "
          f"elements, {statistics['n_unknowns']} unknowns of a solve",
          f"timefem: residuals {', '.join(f'{r:.2e}' for r in status.residual_history) or 'not kept'}",
          f"timefem: largest backward error {statistics['backward_error']}", sep="\n", file=sys.stderr, flush=True)


def backend_facts():
    backends = {}
    for name, options in LINEAR_SOLVERS.items():
        try:
            options.check()
            backends[name] = {"available": True, "remedy": None}
        except MissingBackend as error:
            backends[name] = {"available": False, "remedy": str(error)}
    return backends


def version_facts():
    """Versions of what timefem stands on; None: not installed."""
    versions = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "casadi", "numba", "llvmlite", "petsc4py", "mpi4py", "scikit-sparse"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    versions["PETSc"] = versions["MPI"] = None
    if versions["mpi4py"]:
        import mpi4py

        mpi4py.rc.initialize = False  # asking for the version needs no MPI_Init
        from mpi4py import MPI

        versions["MPI"] = MPI.Get_library_version().split(",")[0].split("\n")[0].strip("\0 ")
    if versions["petsc4py"]:
        versions["PETSc"] = _petsc_version()
    return versions


def _petsc_version():
    """Version of the PETSc library, from its header, since loading it starts MPI; else that of petsc4py."""
    import petsc4py

    config = petsc4py.get_config()
    for arch in ("", config.get("PETSC_ARCH", "")):
        header = os.path.join(config.get("PETSC_DIR", ""), arch, "include", "petscversion.h")
        if os.path.isfile(header):
            with open(header, encoding="utf-8") as file:
                numbers = dict(re.findall(r"#define PETSC_VERSION_(MAJOR|MINOR|SUBMINOR)\s+(\d+)", file.read()))
            return ".".join(numbers[n] for n in ("MAJOR", "MINOR", "SUBMINOR"))
    return metadata.version("petsc4py")


WIDTH_OF_FILES = 200  # characters: tables in files and pipes keep all digits


def make_console():
    # Open MPI gives ranks a terminal of its own, whose codes would go into files
    terminal = False if launched_ranks() > 1 else None
    console = Console(markup=False, highlight=False, force_terminal=terminal)  # [m] is a unit
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    return console


class PrintableTable(Table):
    """A table whose cells cannot steer the terminal: names may come from files of others."""

    def add_row(self, *cells, **options):
        super().add_row(*("\n".join(map(printable, str(cell).split("\n"))) for cell in cells), **options)


def make_table(title, *columns):
    table = PrintableTable(title=printable(title), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=not number, overflow="fold")  # names whole, numbers never cut
    return table


def backend_table():
    table = make_table("linear backends", "backend", "installed", "how to get it")
    for name, b in backend_facts().items():
        table.add_row(name, "yes" if b["available"] else "no", b["remedy"] or "")
    return table


def print_json(value):
    print(json.dumps(_without_nan(value), indent=1, allow_nan=False), flush=True)


def _without_nan(value):
    """The same with None for what JSON has no word for."""
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# ---- What `timefem run` tells of a solution in phases

OF_PHASE = "objective", "parameters", "conditions", "controls", "constraint_error_max", "final"
WHOLE = ("case", "element", "degree", "n_points", "driver", "backend", "n_ranks", "status", "reason", "message",
         "failure", "newton_iterations", "seconds")


def phases_report(case, problem, sol):
    """The numbers of a run in phases, as they go into the JSON."""
    reports = [run_report(case, *pair) for pair in zip(problem.phases, sol.phases, strict=True)]
    whole = {name: reports[0][name] for name in WHOLE}
    more = {name: sol.statistics[name] for name in ("tolerance", "estimated_error", "meshes") if name in sol.statistics}
    phases = [{"name": name, "start": float(start), "duration": float(duration), "n_elements": own["n_elements"],
               **{key: own[key] for key in OF_PHASE if key in own}}
              for name, start, duration, own in zip(problem.names, sol.starts, sol.durations, reports, strict=True)]
    return {**whole, "kind": case.kind, "n_elements": sum(own["n_elements"] for own in reports),
            "n_unknowns": sol.statistics["n_unknowns"], "objective": float(sol.objective), **more, "phases": phases}


def print_phases(r, case, output):
    table = make_table(f"{case.title} ({case.name})", "", "")
    table.show_header = False
    table.add_row("element", f"{r['element']}, degree {r['degree']}, {r['n_points']} Gauss points")
    table.add_row("method, elements", f"{r['backend']}, {r['n_elements']}")
    table.add_row("unknowns", str(r["n_unknowns"]))
    table.add_row("iterations", str(r["newton_iterations"]["max"]))
    table.add_row("status", r["message"] if r["failure"] is None else f"failed: {r['reason']}")
    table.add_row("objective", f"{r['objective']:.10g}")
    if "estimated_error" in r:
        table.add_row("estimated error", f"{r['estimated_error']:.2e}")
    if "meshes" in r:
        table.add_row("elements of the meshes", ", ".join(map(str, r["meshes"])))
    table.add_row("seconds", ", ".join(f"{name} {value:.3f}" for name, value in r["seconds"].items()))
    for note in r.get("notes", ()):
        table.add_row("note", note)
    for phase, file in zip(r["phases"], output or [None] * len(r["phases"]), strict=True):
        table.add_section()
        table.add_row(phase["name"], f"from {phase['start']:.6g} s, for {phase['duration']:.10g} s")
        if phase.get("objective"):
            table.add_row("  objective", f"{phase['objective']:.10g}")
        for name, value in phase.get("parameters", {}).items():
            table.add_row(f"  found: {name}", f"{value:.10g}")
        for name, values in phase.get("controls", {}).items():
            table.add_row(f"  largest control of {name}", ", ".join(f"{v:.6g}" for v in values))
        for name, state in phase["final"].items():
            for what in ("coordinates", "position", "velocity"):
                if what in state:
                    table.add_row(f"  {what} of {name} at the end", "  ".join(f"{v: .6f}" for v in state[what]))
        if file:
            table.add_row("  saved in", file)
    make_console().print(table)


# ---- Films, pages and data, by the ending of a name

def has_writer(path):
    """Whether the ending of a name is that of a film, a page, or data for other programs."""
    return ending_of(path) in WRITERS


# ---- Files that can be written, and a standard output for results only

UNWRITTEN = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE


def give_up_stdout():
    """Drop what standard output has not taken: the end of the process would try again, and fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(path, *others):
    """Raise InputError on all ranks when rank 0 cannot write there, or when it is one of the other files of a command,
    or None, which would be lost."""
    comm, message = world(), None
    if rank() == 0:
        try:
            target = check_writable(path)
            if target in [real_path(other) for other in others if other is not None]:
                raise InputError(f"cannot write {printable(path)}: the command has another use for that file; give "
                                 "another name")
        except InputError as error:
            message = str(error)
    message = comm.bcast(message) if comm is not None else message
    if message:
        raise InputError(message)


def check_solution(path, *others):
    """`check_output` of a file for a solution, whose name is not that of what `timefem plot` makes of it."""
    if has_writer(path):
        name = printable(path)
        raise InputError(f"cannot write {name}: a solution is saved as .h5, of which `timefem plot FILE.h5 -o {name}` "
                         "makes what that ending says")
    check_output(path, *others)
    checked_ending(path)


@contextmanager
def stdout_to_stderr():
    """Send to standard error what libraries print, also from C (PETSc's views, MUMPS)."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        if sys.platform != "win32":
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
