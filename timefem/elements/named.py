"""Time elements by name, with their options: on the command line and in model files."""

from .. import validate
from ..errors import InputError
from ..late import LateTable
from ..validate.options import OPTIONS, said_any, spelt

SCHEMES = LateTable(f"{__package__}.schemes", {  # imported when they are asked for
    "eml": ".eml.EML", "reml": ".eml.REML", "null-eml": ".eml.NullEML", "emh": ".emh.EMH",
    "null-emh": ".emh.NullEMH", "mpl": ".eml.MPL", "mph": ".mph.MPH", "quat-vi": ".quat_vi.QuatVI",
    "dir-em": ".emh.DirEM", "algo-c1": ".algo_c1.AlgoC1", "zupan3": ".zupan3.Zupan3",
    "zupan3-printed": ".zupan3.Zupan3Printed", "newmark-so3": ".algo_c1.NewmarkSO3",
    "nontwisting-em": ".emh.NonTwistingEM", "dla": ".quat_vi.DLA",
    "symplectic-euler": ".mph.SymplecticEuler",
})
ALIASES = {"quat-em": "emh"}
ELEMENTS = LateTable(__package__, {"mg": ".mixed_galerkin.MixedGalerkin", "bg": ".bubnov_galerkin.BubnovGalerkin",
                                   **{name: f".schemes{place}" for name, place in SCHEMES.places.items()}})
DEGREE = {"mg": 2, "bg": 3}  # unless given
ELEMENT_OPTIONS = tuple(name for name, option in OPTIONS.items() if {*option.of} & {*ELEMENTS})


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
