"""The table of kinds of problems: one folder each, one entry here."""

from ..errors import InputError
from ..late import LateTable

FOLDERS = "initial", "boundary", "inverse", "optimal", "phases", "estimation"


class Kinds(LateTable):
    """Name -> `Kind`."""

    def of(self, problem):
        """The kind of a problem, or None."""
        modules = {cls.__module__ for cls in type(problem).__mro__}
        likely = [name for name in FOLDERS if name in self and f"{__package__}.{name}.problem" in modules]
        return next((self[name] for name in (*likely, *self) if isinstance(problem, self[name].problem)), None)


KINDS = Kinds(__package__, {name: f".{name}.kind.{name.upper()}" for name in FOLDERS})


def in_files():
    """Name -> `Kind` of those that model files take."""
    return {name: kind for name, kind in KINDS.items() if kind.in_files is not None}


def kind_of(problem):
    """The `Kind` of a problem; InputError for what is not a problem."""
    found = KINDS.of(problem)
    if found is None:
        *others, last = (kind.problem.__name__ for kind in KINDS.values())
        raise InputError(f"problem must be an {', '.join(others)} or {last}, not {problem!r}")
    return found


def check_able(problem, able, what="problem", besides=""):
    """InputError where the kind of a problem does not declare an ability, such as "causal"."""
    if not getattr(KINDS.of(problem), able, False):
        names = [kind.problem.__name__ for kind in KINDS.values() if getattr(kind, able)]
        article = "an" if names[0][0] in "AEIOU" else "a"
        raise InputError(f"{what} must be {article} {' or '.join(names)}{besides}, not {problem!r}")


def kinds_with_several():
    """In words, the kinds of problems that `solve_all` looks for several solutions of."""
    return " and ".join(kind.title.removeprefix("a ") + "s" * kind.title.startswith("a ") for kind in KINDS.values()
                        if kind.several)


def error_estimate(problem, element):
    """The `ErrorEstimate` for solutions of a problem by an element."""
    return kind_of(problem).estimate(problem, element)
