"""The table of kinds of problems: one folder each, one entry here."""

from ..errors import InputError
from .boundary.kind import BOUNDARY
from .initial.kind import INITIAL
from .inverse.kind import INVERSE
from .optimal.kind import OPTIMAL
from .phases.kind import PHASES

KINDS = {kind.name: kind for kind in (INITIAL, BOUNDARY, INVERSE, OPTIMAL, PHASES)}
IN_FILES = {name: kind for name, kind in KINDS.items() if kind.in_files is not None}


def kind_of(problem):
    """The `Kind` of a problem; InputError for what is no problem."""
    found = next((kind for kind in KINDS.values() if isinstance(problem, kind.problem)), None)
    if found is None:
        *others, last = (kind.problem.__name__ for kind in KINDS.values())
        raise InputError(f"problem must be an {', '.join(others)} or {last}, not {problem!r}")
    return found


def check_kind(problem, name, what="problem", besides=""):
    """InputError where a problem is of another kind than that of a name in the table."""
    cls = KINDS[name].problem
    if not isinstance(problem, cls):
        article = "an" if cls.__name__[0] in "AEIOU" else "a"
        raise InputError(f"{what} must be {article} {cls.__name__}{besides}, not {problem!r}")


def error_estimate(problem, element):
    """The `ErrorEstimate` for solutions of a problem by an element."""
    return kind_of(problem).estimate(problem, element)
