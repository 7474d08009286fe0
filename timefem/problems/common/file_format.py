"""How a kind of problem stands in a model file."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...solution.output.save import load


@dataclass(frozen=True)
class FileFormat:
    """How a kind of problem stands in a model file.

    Attributes
    ----------
    make : callable
        `make(model)` -> the problem; `model` offers what the file states, see `timefem.models.Model`.
    keys : tuple of str
        Of the table `[problem]`.
    schemas : dict
        Those of its keys that no other kind has -> their JSON schema.
    tables, needed : tuple of str
        Tables that not every kind takes, and those that it cannot do without.
    own_mesh : callable
        `own_mesh(document)` -> why the problem itself says where elements end; empty where the file does.
    check : callable
        `check(document)` raises InputError for what does not belong together.
    facts : callable
        `facts(problem)` -> what `timefem check` tells.
    state : callable
        `state(model)` -> the state at the start, (n_z,), where it is not that of the bodies in the file.
    guess : callable
        `guess(model)` -> what the file gives as a guess, None for nothing.
    """

    make: Callable
    keys: tuple = ()
    tables: tuple = ()
    needed: tuple = ()
    own_mesh: Callable = lambda document: ""
    check: Callable = lambda document: None
    facts: Callable = lambda problem: {}
    state: Callable | None = None
    guess: Callable = lambda model: None
    schemas: dict = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "keys", (*self.keys, *self.schemas))


def solution_guess(model):
    """The solution in a file beside the model file that `[guess]` names; None where there is no such table."""
    if "guess" not in model.document.data:
        return None
    keys = "guess", "solution"
    with model.naming(keys, ()):
        return load(model.beside(keys, model.document.data["guess"]["solution"]))


def check_guess(document):
    """InputError for keys of `[guess]` that are those of optimal control alone, and where no solution is named."""
    table = document.data.get("guess")
    if table is None:
        return
    for key in table:
        if key != "solution":
            raise document.error(("guess", key), 'belongs to [problem] with kind = "optimal" or "phases"; others take '
                                 "a solution")
    if "guess" in document.data.get("solver", {}):
        raise document.error(("solver", "guess"), "is given beside [guess]; leave one of them out")
    if "solution" not in table:
        raise document.error(("guess",), "names no solution")
