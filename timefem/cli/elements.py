"""Time elements on the command line: their names, their options, and which case each can take."""

import dataclasses

from .. import validate
from ..cases import CASES
from ..elements import BubnovGalerkin, MixedGalerkin
from ..elements.schemes import ALIASES, SCHEMES
from ..errors import InputError


def element_classes():
    """Class of every time element by its name."""
    return {"mg": MixedGalerkin, "bg": BubnovGalerkin, **SCHEMES}


def make_element(element, degree=None, points=None, multipliers=None, drop=None, nodes=None, constraints=None):
    """A time element by name; the other options belong to mg and bg."""
    element = ALIASES.get(element, element)
    classes = element_classes()
    validate.choice("element", element, tuple(classes))
    bg_only, galerkin = {"multipliers": multipliers, "drop": drop}, {"degree": degree, "points": points, "nodes": nodes}
    mg_only = {"constraints": constraints}
    useless = {"mg": bg_only, "bg": mg_only}.get(element, bg_only | mg_only | galerkin)
    for option, value in useless.items():
        if value is not None:
            owners = "--element " + ("bg" if option in bg_only else "mg" if option in mg_only else "mg and bg")
            raise InputError(f"--{option} belongs to {owners}")
    if element == "mg":
        return MixedGalerkin(2 if degree is None else degree, n_points=points, nodes=nodes or "equidistant",
                             constraints=constraints or "gradient")
    if element == "bg":
        return BubnovGalerkin(3 if degree is None else degree, multipliers=multipliers or "discontinuous",
                              n_points=points, drop=drop or "start", nodes=nodes or "equidistant")
    return classes[element]()


def element_facts():
    """What each time element is, and its parameters, by name."""
    elements = {}
    for name, cls in element_classes().items():
        parameters = {}
        for f in dataclasses.fields(cls) if name in ("mg", "bg") else ():
            default = {"degree": {"mg": 2, "bg": 3}[name], "n_points": "2 degree"}.get(f.name, f.default)
            parameters[f.name] = {"option": "--points" if f.name == "n_points" else f"--{f.name}", "default": default}
        elements[name] = {"class": cls.__name__, "description": " ".join(cls.__doc__.split("\n\n")[0].split()),
                          "parameters": parameters}
    return elements


def fitting_facts():
    """Which case each time element can take: None, or why not; by element and case."""
    systems = {name: case.make().system for name, case in CASES.items()}
    return {element: {case: _refusal(element, system, CASES[case].kind) for case, system in systems.items()}
            for element in element_classes()}


def _refusal(element, system, kind):
    if kind == "inverse" and element != "mg":
        return "inverse dynamics takes mg"
    try:
        make_element(element).check(system)
    except InputError as error:
        return str(error)
    return None
