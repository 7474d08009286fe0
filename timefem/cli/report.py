"""What the commands of `timefem` tell: facts as plain data, tables, JSON and the figure."""

import json
import math
import os
import platform
import re
import sys
from importlib import metadata

import numpy as np
from rich.console import Console
from rich.table import Table

from ..display import printable
from ..errors import MissingBackend
from ..late import Late
from ..parallel import launched_ranks
from ..solvers.linear.table import LINEAR_SOLVERS
from .problem_report import kind_facts, kind_rows

joint_tables = Late("timefem.solution.joint_tables")


def run_report(case, problem, sol):
    """The numbers of a run, as they go into the JSON."""
    statistics, status, element = sol.statistics, sol.status, sol.element
    errors = sol.errors()
    # systems by formulas have no angular momentum
    momentum = sol.momentum_drift(list(case.conserved_axes)) if case.conserved_axes else None
    t_end, z_end = sol.end
    final, joints = {}, {}
    for body in (body for body in problem.system.bodies if not body.helper):
        part = problem.system.coordinates(body)
        q, p = z_end[part], z_end[problem.system.n_q:][part]
        # point masses have no rotation, systems by formulas no position
        state = {} if hasattr(body, "position") else {"coordinates": q}
        state |= {name: getattr(body, name)(*arguments) for name, arguments in
                 (("position", (q,)), ("velocity", (q, p)), ("rotation_matrix", (q,)), ("quaternion", (q,)),
                  ("angular_velocity", (q, p))) if hasattr(body, name)}
        final[problem.system.label(body)] = {name: value.tolist() for name, value in state.items()}
        if hasattr(body, "joint_states"):
            joints |= {name: {"position": np.asarray(x).tolist(), "rate": np.asarray(v).tolist()} for name, (x, v) in
                       body.joint_states(q, p).items()}
            if body.base_joint:
                base = body.base_state(q, p)
                state = {"position": base.position, "quaternion": base.quaternion, "velocity": base.velocity,
                         "angular_velocity": base.angular_velocity}
                final["base"] = {name: value.tolist() for name, value in state.items()}
    for name in joint_tables.joint_names(sol.system):
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
    return {
        "case": case.name, "rotation": " and ".join(rotations) or None, "element": element.name,
        "degree": element.degree, "n_points": element.n_points, **galerkin,
        "n_elements": statistics["n_elements"], "driver": statistics["driver"], "backend": statistics["backend"],
        "n_ranks": statistics["n_ranks"], "t_end": problem.t_span[1],
        "status": "converged" if status.success else "failed", "reason": status.reason, "message": status.message,
        "failure": None if status.success else {name: value for name, value in status.as_dict().items()
                                                if name != "success"},
        "newton_iterations": statistics["newton_iterations"], "t_final": t_end, "final": final,
        "energy_error_max": errors["energy"],
        "angular_momentum_error_max": momentum,
        **({"generalized_energy_error_max": errors["generalized_energy"]} if "generalized_energy" in errors else {}),
        **kept_facts(problem.system, element),
        "constraint_error_max": {level: errors[level] for level in ("configuration", "velocity")},
        **contact_facts(sol),
        **kind_facts(case.kind, problem, sol),
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
    if not element.lifted or element.form != "hamilton":
        return {}
    found = element.kept(system)
    return {"kept": {"energy": found.energy, "working": found.working, "momenta": found.names, "not_by": found.reasons}}


def print_report(r, case, output):
    def row(values):
        return "  ".join(f"{v: .6f}" for v in values)

    table = make_table(f"{case.title} ({case.name})", "", "")
    table.show_header = False
    backend = f", {r['backend']}" if r["backend"] else ""
    ranks = f", {r['n_ranks']} ranks" if r["n_ranks"] > 1 else ""
    table.add_row("element", f"{r['element']}, degree {r['degree']}, {r['n_points']} Gauss points"
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
        energy = ["energy"] if r["kept"]["energy"] else []
        table.add_row("kept to round-off", ", ".join([*energy, "constraints", *r["kept"]["momenta"]]))
        for part, why in r["kept"]["not_by"].items():
            table.add_row("  momenta not kept by", f"{part}: {why}")
    if "contacts" in r:
        contacts = r["contacts"]
        table.add_row("events of contact", ", ".join(f"{n} {kind}" for kind, n in contacts["events"].items()) or "none")
        table.add_row("least gap", f"{contacts['least_gap']:.2e} m")
        for name, lost in contacts["energy_lost"].items():
            table.add_row(f"  energy lost at {name}", f"{lost:.6g} J")
    if "generalized_energy_error_max" in r:
        table.add_row("error of the generalized energy", f"{r['generalized_energy_error_max']:.2e} J")
    if case.conserved_axes:
        axes = "" if len(case.conserved_axes) == 3 else ", vertical"
        table.add_row("error of the angular momentum", f"{r['angular_momentum_error_max']:.2e} kg m^2/s{axes}")
    table.add_row("error of the constraints", "{configuration:.2e}, of their rates {velocity:.2e}".format(
        **r["constraint_error_max"]))
    table.add_row("seconds", ", ".join(f"{name} {value:.3f}" for name, value in r["seconds"].items()))
    joints, base = r["final"].get("joints", {}), r["final"].get("base") if "joints" in r["final"] else None
    for name, state in joints.items():
        table.add_row(f"joint {name}: position, rate", "\n".join(row(np.ravel(x)) for x in state.values())
                      if np.ndim(state["position"]) else row(state.values()))
    for note in r.get("notes", ()):
        table.add_row("note", note)
    for name, state in r["final"].items():
        if state is joints or state is base:
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
            with open(header) as file:
                numbers = dict(re.findall(r"#define PETSC_VERSION_(MAJOR|MINOR|SUBMINOR)\s+(\d+)", file.read()))
            return ".".join(numbers[n] for n in ("MAJOR", "MINOR", "SUBMINOR"))
    return metadata.version("petsc4py")


def make_console():
    # Open MPI gives ranks a terminal of its own, whose codes would go into files
    terminal = False if launched_ranks() > 1 else None
    return Console(markup=False, highlight=False, force_terminal=terminal)  # [m] is a unit


class PrintableTable(Table):
    """A table whose cells cannot steer the terminal: names may come from files of others."""

    def add_row(self, *cells, **options):
        super().add_row(*("\n".join(map(printable, str(cell).split("\n"))) for cell in cells), **options)


def make_table(title, *columns):
    table = PrintableTable(title=printable(title), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=not number)  # names whole
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
