"""Time elements on the command line: their names, their options, and which case each can take."""

import dataclasses

from ..cases import CASES
from ..elements.named import DEGREE, ELEMENTS, named_element
from ..errors import InputError
from ..problems.kinds import KINDS
from ..validate.options import OPTIONS


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
        named_element(element).check(system)
    except InputError as error:
        return str(error)
    return None
