"""`timefem plot`, `run --watch`, a page that follows a solve, for this machine only, and `timefem list` and `info`."""

import dataclasses
import os
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated

import numpy as np
import typer

from .. import validate
from ..atomic_write import save_figure
from ..cases import CASES
from ..display import printable
from ..elements.element import DEGREE, ELEMENTS, named_element
from ..errors import InputError
from ..kernels.compile import default_backend
from ..memory import Late
from ..problems.initial.drivers import DRIVERS
from ..problems.kinds import KINDS
from ..problems.statistics import watching
from ..validate.options import OPTIONS
from ..version import __version__
from .options import JSON
from .report import (
    backend_facts,
    backend_table,
    check_output,
    has_writer,
    make_console,
    make_table,
    print_json,
    version_facts,
)

joints = Late("timefem.solution.drawing.artists")
pages = Late("timefem.solution.drawing.page")
saved = Late("timefem.solution.output.save")
scenes = Late("timefem.solution.drawing.scene")
viewer = Late("timefem.solution.drawing.page")

EVERY = 0.5  # seconds between two looks
LAST_LOOK = 3.0  # seconds after the end in which a page can fetch the whole motion
FOLLOW = """<script>
let known = "";
state.time = last;
setInterval(async () => {
  const text = await (await fetch("scene")).text();
  if (text && text !== known) { known = text; follow(JSON.parse(text)); }
}, 700);
</script>"""
PARTS, WHOLE = "The first elements are not solved yet.", "The motion is shown when all of it is solved."
WAITING = """<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="1"><title>timefem</title>
<p>{}</p>"""


class Watcher:
    """What was solved last, and the server that shows it on http://127.0.0.1:PORT/."""

    def __init__(self, at_once=False):
        self.page = self.scene = ""
        self.waiting = WAITING.format(WHOLE if at_once else PARTS)
        self.looked = 0.0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __call__(self, look):
        if time.monotonic() - self.looked >= EVERY:
            self.take(look())

    def take(self, solution):
        """Show a solution from now on."""
        if solution is None or len(solution.t) < 2:
            return
        try:
            self.scene = viewer.scene_data(scenes.make_scene(solution))
            self.page = self.page or viewer.viewer_page(solution).replace("</body>", FOLLOW + "</body>")
        except InputError:  # nothing that has a place in space
            self.page = WAITING.format("There is nothing to draw.")
        self.looked = time.monotonic()

    def _handler(watcher):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                host = self.headers.get("Host", "")
                if host.partition(":")[0] not in ("127.0.0.1", "localhost"):  # a page of elsewhere under another name
                    return self.send_error(403)
                if self.path not in ("/", "/scene"):
                    return self.send_error(404)
                data = (watcher.scene if self.path == "/scene" else watcher.page or watcher.waiting).encode()
                self.send_response(200)
                self.send_header("Content-Type", ("application/json" if self.path == "/scene" else "text/html")
                                 + "; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(data)
                watcher.asked = time.monotonic()

            def log_message(self, *arguments):
                pass
        watcher.asked = 0.0
        return Handler


@contextmanager
def watched(at_once=False):
    """Context whose solves can be watched; `take` of its `Watcher` shows the result.

    Parameters
    ----------
    at_once : bool
        Whether all of the motion is solved at once, so that there is nothing to see before; the user is notified.
    """
    watcher = Watcher(at_once)
    print(f"timefem: watch the solve at {watcher.address}" + at_once * f" ({WHOLE[0].lower()}{WHOLE[1:-1]})",
          file=sys.stderr, flush=True)
    try:
        with watching(watcher):
            yield watcher
        end = time.monotonic()
        while end - watcher.asked < LAST_LOOK and watcher.asked < end and time.monotonic() - end < LAST_LOOK:
            time.sleep(0.05)  # a page is open and has not seen the end
    finally:
        watcher.server.shutdown()
        watcher.server.server_close()


def plot(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file that `timefem run -o` wrote.")],
    output: Annotated[str | None, typer.Option("-o", "--output", help="The figure; default: PATH with .png. With the "
                                               "ending .html (to be played in a browser), .gif, .mp4, .pvd (ParaView), "
                                               ".csv or .json the motion.")] = None,
    times: Annotated[str | None, typer.Option(help="Times of the snapshots, or of the motion [s], as in 0,0.5,1; "
                                              "default: six snapshots.")] = None,
    joint: Annotated[str | None, typer.Option(help="Name of a joint: its coordinates, rates and forces instead of the "
                                                   "figure of the whole motion.")] = None,
):
    """Draw energy, momentum, constraints, controls and snapshots of a saved solution, or write its motion."""
    import matplotlib

    output = output or os.path.splitext(path)[0] + ".png"
    sol = saved.load(path)
    check_output(output, path)
    times = None if times is None else np.array([validate.real("times", _number(t)) for t in times.split(",")])
    matplotlib.use("Agg")
    if joint is not None:
        save_figure(joints.plot_joint(sol, joint, times), output, dpi=150)
        return print(printable(output))
    if has_writer(output):
        sol.save(output, times)
        return print(printable(output))
    save_figure(pages.plot_page(sol, 6 if times is None else times), output, dpi=150)
    print(printable(output))


def _number(text):
    """The number that a text is; the text where it is none."""
    try:
        return float(text)
    except ValueError:
        return text


# ---- `timefem list` and `timefem info`: what there is; time elements, their options, and which case each can take

def list_command(
    elements: Annotated[bool, typer.Option("--elements", help="Which case each element can take, and why not "
                                                              "otherwise.")] = False,
    as_json: JSON = False,
):
    """What there is: cases, elements with their parameters, drivers, linear backends and whether each is installed."""
    if elements:
        return _list_elements(as_json)

    cases = {c.name: {"title": c.title, "description": c.description, "kind": c.kind, "t_end": c.t_end,
                      "n_elements": c.n_elements} for c in CASES.values()}
    if as_json:
        return print_json({"cases": cases, "elements": element_facts(), "drivers": list(DRIVERS),
                            "backends": backend_facts()})
    console = make_console()
    table = make_table("cases", "case", "kind", "t_end [s]", "elements", "what it is")
    for name, c in cases.items():
        table.add_row(name, c["kind"], f"{c['t_end']:g}", str(c["n_elements"]), c["description"])
    console.print(table)
    table = make_table("elements", "element", "what it is", "parameters (default)")
    for name, e in element_facts().items():
        table.add_row(name, e["description"],
                      "\n".join(f"{p['option']} ({p['default']})" for p in e["parameters"].values()))
    console.print(table)
    console.print("drivers:", ", ".join(DRIVERS))
    console.print(backend_table())


def _list_elements(as_json):
    facts = fitting_facts()
    if as_json:
        return print_json({"elements": facts})
    table = make_table("elements and cases", "element", "takes", "does not take", "for instance, why")
    for name, cases in facts.items():
        refused = {case: why for case, why in cases.items() if why}
        table.add_row(name, ", ".join(case for case in cases if case not in refused) if refused else "all",
                      ", ".join(refused), next((f"{case}: {why}" for case, why in refused.items()), ""))
    make_console().print(table)


def info(as_json: JSON = False):
    """Versions, processors, and what is installed."""
    versions = version_facts()
    facts = {"timefem": __version__, "versions": versions, "n_cpus": os.cpu_count(), "kernels": default_backend(),
             "backends": backend_facts()}
    if as_json:
        return print_json(facts)
    table = make_table(f"timefem {__version__}", "what", "version")
    for name, version in versions.items():
        table.add_row(name, version or "not installed")
    table.add_row("processors", str(facts["n_cpus"]))
    table.add_row("kernels", {"llvm": "llvm (machine code)", "vm": "vm (CasADi's virtual machine)"}[facts["kernels"]])
    console = make_console()
    console.print(table)
    console.print(backend_table())


# ---- Time elements on the command line: their names, their options, and which case each can take

def element_facts():
    """What each time element is, and its parameters, by name."""
    elements = {}
    for name, cls in ELEMENTS.items():
        parameters = {}
        for f in dataclasses.fields(cls):
            if "option" in f.metadata:
                default = {"degree": DEGREE.get(name), "n_points": "2 degree"}.get(f.name, f.default)
                parameters[f.name] = {"option": OPTIONS[f.name].option, "default": default}
        elements[name] = {"class": cls.__name__, "description": " ".join(cls.__doc__.split("\n\n")[0].split()),
                          "parameters": parameters}
    return elements


def fitting_facts():
    """Which case each time element can take: None, or why not; by element and case."""
    systems = {name: case.make().system for name, case in CASES.items()}
    return {element: {case: _refusal(element, system, KINDS[CASES[case].kind]) for case, system in systems.items()}
            for element in ELEMENTS}


def _refusal(element, system, kind):
    if kind.elements and element not in kind.elements:
        return f"{kind.title} takes {' or '.join(kind.elements)}"
    try:
        named_element(element).fitting(system).check(system)  # in the form that `solve` takes of it
    except InputError as error:
        return str(error)
    return None
