"""What `timefem run` tells of a solution in phases."""

from dataclasses import replace

from .report import make_console, make_table, run_report

OF_PHASE = "objective", "parameters", "conditions", "controls", "constraint_error_max", "final"
WHOLE = ("case", "element", "degree", "n_points", "driver", "backend", "n_ranks", "status", "reason", "message",
         "failure", "newton_iterations", "seconds")


def phases_report(case, problem, sol):
    """The numbers of a run in phases, as they go into the JSON."""
    one = replace(case, kind="optimal")
    reports = [run_report(one, *pair) for pair in zip(problem.phases, sol.phases, strict=True)]
    whole = {name: reports[0][name] for name in WHOLE}
    more = {name: sol.statistics[name] for name in ("tolerance", "estimated_error", "meshes") if name in sol.statistics}
    phases = [{"name": name, "start": float(start), "duration": float(duration), "n_elements": own["n_elements"],
               **{key: own[key] for key in OF_PHASE if key in own}}
              for name, start, duration, own in zip(problem.names, sol.starts, sol.durations, reports, strict=True)]
    return {**whole, "kind": "phases", "n_elements": sum(own["n_elements"] for own in reports),
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
