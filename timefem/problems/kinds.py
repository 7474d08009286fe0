"""What a kind of problem declares, and the table of kinds: one folder each, one entry here."""

from collections.abc import Callable
from dataclasses import field
from importlib import import_module

from ..errors import InputError
from ..memory import Late, LateTable
from ..records import frozen
from ..validate.options import spelt

audit = Late("timefem.solution.audit")
rigid = Late("timefem.mechanics.contacts.rigid")
save = Late("timefem.solution.output.save")


def no_facts(problem, solution):
    return {}


def _in_table(name):
    """The `Kind` of a name."""
    return next(kind for kind in KINDS.values() if kind.name == name)


@frozen
class Kind:
    """A kind of problem: all that `solve`, the command line and model files need to know of it.

    Attributes
    ----------
    name : str
        In model files and on the command line.
    problem : type
        Class of the problems.
    title : str
        In sentences: "a boundary-value problem".
    drivers : tuple of type
        That can solve it; the first that takes an element is its default.
    solve : callable
        `solve(task)` -> Solution.
    estimate : callable
        `estimate(problem, element)` -> ErrorEstimate, for meshes found by a tolerance.
    guesses : tuple of str
        Words that it takes as guess, the first one unless given.
    newton : dict
        Where the defaults of Newton's method differ.
    facts : callable
        `facts(problem, solution)` -> plain data that a report tells besides what all problems have.
    unused : callable
        `unused(problem)` -> names of options that a problem has no use for, and where, in words.
    elements : tuple of str
        Names of the elements that it takes; empty: all.
    checkpoints : bool
        Whether its solves can be stopped and gone on with.
    causal : bool
        Whether all conditions stand at the start, so that later times leave earlier ones as they are.
    files : str
        Module whose `FILES` is a `FileFormat`, what model files say of it; None: nothing.
    changes : tuple of str
        Arguments of the problem that its `changed` takes besides `system`, for prepared solvers.
    warms : callable
        `warms(task, solution)` -> whether the solution of another task is a guess for this one.
    mesh : callable
        `mesh(task)` -> the mesh that a number of elements stands for.
    updates : str
        Module whose `window_of(task)` goes on with further measurements; None: there are none.
    strategies : callable
        `strategies(names)` checks the names of what is tried where a guess leads to no solution; None: there are none.
    fits : callable
        `fits(problem, element)` raises InputError for elements that cannot do what the problem asks for.
    has_derivatives : bool
        Whether solutions have derivatives by numbers of the parts, and of what is prescribed at the ends, by name.
    smooth : callable
        `smooth(problem)` -> whether velocities do not jump, and the elements are those of a motion.
    usual : bool
        Whether models and cases are of this kind unless they say so; reports do not name it then.
    one_motion : bool
        Whether a solution is one motion; else it is several, one after the other.
    follows : bool
        Whether a solution can be followed from an easier problem, see `timefem.continuation`.
    studies : tuple of str
        What `timefem study` can do with its cases.
    several : str
        Module whose `SEVERAL` is the `Several` of `timefem.solve_all`; None: it looks for one solution.
    """

    name: str
    problem: type
    title: str
    drivers: tuple
    solve: Callable
    estimate: Callable
    guesses: tuple = ()
    newton: dict = field(default_factory=dict)
    facts: Callable = no_facts
    unused: Callable = lambda problem: ((), "")
    elements: tuple = ()
    checkpoints: bool = False
    causal: bool = False
    has_derivatives: bool = False
    files: str | None = None
    changes: tuple = ()
    warms: Callable = lambda task, solution: True
    mesh: Callable = lambda task: task.mesh_through(task.problem.system.kinks)
    fits: Callable = lambda problem, element: None
    updates: str | None = None
    strategies: Callable | None = None
    smooth: Callable = lambda problem: not problem.system.rigid_contacts
    usual: bool = False
    one_motion: bool = True
    follows: bool = False
    studies: tuple = ()
    several: str | None = None

    def __reduce__(self):
        return _in_table, (self.name,)  # other processes have it there

    def audited(self, task):
        """What `solve` finds, audited; its `statistics["problem"]` says of what kind."""
        found = self.solve(task)
        if not hasattr(found, "statistics"):
            raise InputError(f"solve of the kind of problem {self.name!r} must return a Solution, not {found!r}")
        found = audit.audited(found, self.causal, self.smooth(task.problem))
        found.statistics["problem"] = self.name
        return found

    @property
    def in_files(self):
        """The `FileFormat`, or None; imported when a file is read, which most solves do not."""
        return None if self.files is None else import_module(self.files).FILES

    @property
    def in_several(self):
        """The `Several`, or None; imported when several solutions are looked for."""
        return None if self.several is None else import_module(self.several).SEVERAL

    def report(self, problem, solution):
        """What matters of a solution besides what all have, as plain data."""
        if self.usual:
            return {}
        history = solution.status.residual_history
        facts = {"kind": self.name, "residual": float(history[-1]) if len(history) else None}
        if len(solution.t) == 1:  # nothing was solved
            return facts
        if "continuation" in solution.statistics:
            facts["continuation"] = solution.statistics["continuation"]
        return facts | self.facts(problem, solution)

    def window(self, task):
        """What goes on with further measurements; InputError where a problem has none."""
        if self.updates is None:
            raise InputError(f"update is of estimation; {self.title} has no measurements")
        return import_module(self.updates).window_of(task)

    def check_strategies(self, names):
        """InputError for names of strategies that there are not, or where a problem has none."""
        if self.strategies is None:
            raise InputError(f"strategies are of optimal control; leave them out of {self.title}")
        self.strategies(names)

    def default_driver(self, element, to_tolerance=False):
        """Class of the driver that is taken for an element unless one is given."""
        return next(driver for driver in self.drivers if driver.takes(element) or to_tolerance)

    def check_element(self, problem, element):
        """InputError for an element that cannot solve a problem, before work starts."""
        element.check(problem.system)
        self.check_motion(problem.system, element)
        self.fits(problem, element)

    def check_motion(self, system, element):
        """InputError for parts and elements that need all conditions at the start, where some stand elsewhere."""
        if self.causal:
            return
        rigid.refuse_events(system, self.title)
        joints = [part for part in system.parts if part.constraint_names and not part.is_body]
        if element.joints_drift and joints:
            raise InputError(f"{element.name} holds {system.label(joints[0])} on the level of accelerations, so that "
                             f"positions drift from what conditions at the end ask for; for {self.name} use "
                             "MixedGalerkin")

    def check_options(self, problem, given):
        """InputError for options, by name, that a problem has no use for."""
        unused, where = self.unused(problem)
        for name in unused:
            if name in given:
                raise InputError(f"{spelt(name)} is not used {where}; leave it out")

    def check_driver(self, driver):
        """InputError for a driver that cannot solve such problems."""
        if type(driver) not in self.drivers:
            raise InputError(f"driver={driver.name!r}: {self.title} ties all elements together; leave driver out")


@frozen
class Several:
    """What several solutions of a kind of problem are, for `solve_all`, model files and the command line.

    Attributes
    ----------
    number : str
        Argument of `solve_all` and key of `[problem]` that says how many guesses are tried.
    option : str
        Its name on the command line.
    solve : callable
        `solve(solve, problem, element, same=..., progress=..., arguments=..., **own)` -> solutions that differ; it gets
        `timefem.solve` with its other arguments, and its own of `solve_all`.
    facts : callable
        `facts(problem, solution)` -> plain data that tell a solution from others.
    columns : tuple of str
        Titles of what `row(facts)` -> tuple of str tells of them in a table.
    takes : tuple of str
        Other arguments of `solve_all` that belong to it alone.
    noun : str
        What they are called.
    default : int, optional
        How many guesses are tried unless a number is given; None: as many as `solve` of it says.
    """

    number: str
    option: str
    solve: Callable
    facts: Callable
    columns: tuple
    row: Callable
    takes: tuple = ()
    noun: str = "solutions"
    default: int | None = 1

    @property
    def arguments(self):
        """Names of all arguments of `solve_all` that belong to it alone."""
        return self.number, *self.takes


# ---- How a kind of problem stands in a model file

@frozen
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
    entries : dict
        Table -> keys of its entries that not every kind takes; "parameters" are those of `[problem]`.
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
    entries: dict = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "keys", (*self.keys, *self.schemas))


def solution_guess(model):
    """The solution in a file beside the model file that `[guess]` names; None where there is no such table."""
    if "guess" not in model.document.data:
        return None
    keys = "guess", "solution"
    with model.naming(keys, ()):
        return save.load(model.beside(keys, model.document.data["guess"]["solution"]))


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
