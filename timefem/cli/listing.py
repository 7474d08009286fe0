"""`timefem list` and `timefem info`: what there is; time elements, their options, and which case each can take."""

import dataclasses
import os
from typing import Annotated

import typer

from ..cases import CASES
from ..elements.named import DEGREE, ELEMENTS, named_element
from ..errors import InputError
from ..kernels.compile import default_backend
from ..problems.initial.drivers import DRIVERS
from ..problems.kinds import KINDS
from ..validate.options import OPTIONS
from ..version import __version__
from .options import JSON
from .report import backend_facts, backend_table, make_console, make_table, print_json, version_facts


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
