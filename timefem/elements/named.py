"""Time elements by name, with their options: on the command line and in model files."""

from .. import validate
from ..errors import InputError
from ..validate.options import OPTIONS, names, said_any, spelt
from .bubnov_galerkin import BubnovGalerkin
from .mixed_galerkin import MixedGalerkin
from .schemes.table import ALIASES, SCHEMES

ELEMENTS = {"mg": MixedGalerkin, "bg": BubnovGalerkin, **SCHEMES}
DEGREE = {"mg": 2, "bg": 3}  # unless given
ELEMENT_OPTIONS = tuple(dict.fromkeys(option for cls in ELEMENTS.values() for option in names(cls)))


def named_element(name, **options):
    """A time element by name; options that are None are as if not given.

    Raises
    ------
    InputError
        For an unknown name, and for options that the element does not have.
    """
    name = ALIASES.get(name, name)
    validate.choice("element", name, tuple(ELEMENTS))
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if name not in OPTIONS[option].of:
            raise InputError(f"{spelt(option)} belongs to {said_any('element', OPTIONS[option].of)}")
    default = {"degree": DEGREE[name]} if name in DEGREE else {}
    return ELEMENTS[name](**default | given)
