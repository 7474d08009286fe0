"""The table of kinds of problems: one folder each, one entry here."""

from collections.abc import Mapping
from importlib import import_module

from ..errors import InputError

FOLDERS = "initial", "boundary", "inverse", "optimal", "phases"


class Kinds(Mapping):
    """Name -> `Kind`, imported when it is asked for: a first solve needs one of them only."""

    def __getitem__(self, name):
        if name not in FOLDERS:
            raise KeyError(name)
        return getattr(import_module(f".{name}.kind", __package__), name.upper())

    def __iter__(self):
        return iter(FOLDERS)

    def __len__(self):
        return len(FOLDERS)


KINDS = Kinds()


def kind_of(problem):
    """The `Kind` of a problem; InputError for what is no problem."""
    modules = {cls.__module__ for cls in type(problem).__mro__}
    found = next((name for name in FOLDERS if f"{__package__}.{name}.problem" in modules), None)
    if found is None or not isinstance(problem, KINDS[found].problem):
        *others, last = (kind.problem.__name__ for kind in KINDS.values())
        raise InputError(f"problem must be an {', '.join(others)} or {last}, not {problem!r}")
    return KINDS[found]


def check_kind(problem, name, what="problem", besides=""):
    """InputError where a problem is of another kind than that of a name in the table."""
    cls = KINDS[name].problem
    if not isinstance(problem, cls):
        article = "an" if cls.__name__[0] in "AEIOU" else "a"
        raise InputError(f"{what} must be {article} {cls.__name__}{besides}, not {problem!r}")


def error_estimate(problem, element):
    """The `ErrorEstimate` for solutions of a problem by an element."""
    return kind_of(problem).estimate(problem, element)
