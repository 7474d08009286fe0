"""The cases that the command line knows by name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path

import timefem
from timefem import InputError

from .. import validate
from ..memory import LateTable, tomllib, uncollected

FILES = Path(__file__).with_name("files")
MODULES = {  # that enter cases when they are imported, and their names
    "single_bodies": ("spinning-box", "free-body", "physical-pendulum", "heavy-top", "nutating-top", "rotation-i",
                      "rotation-ii"),
    "mechanisms": ("four-bar", "double-pendulum", "slider-crank", "closed-chain-4", "closed-chain", "closed-chain-10",
                   "closed-chain-100", "andrews-squeezer", "bricard", "right-angle-cantilever", "flying-beam",
                   "flexible-pendulum", "mass-spring", "spring-pendulum"),
    "nonholonomic": ("nontwisting-1", "nontwisting-2", "nontwisting-3", "chaplygin-sleigh", "rolling-disc"),
    "inverse": ("crane-inverse", "trolley-crane", "elastic-arm", "pendulum-boundary", "reorientation",
                "four-bar-boundary", "pendulum-periodic"),
    "inequalities": ("cart-pole", "cart-pole-limited", "reorientation-time", "bryson-denham", "breakwell",
                     "speed-limit", "container-crane", "robot-arm-time", "two-link-arm-time", "manutec",
                     "reorientation-effort", "slew-time"),
    "walking": ("walking",),
}


class Cases(LateTable):
    """Name -> `Case`; of model files that are read, and of modules that are imported, when one of their cases is asked
    for."""

    def __getitem__(self, name):
        if name not in self._found:
            with uncollected():
                if isinstance(place := self.places[name], Path):
                    _enter_file(place)
                else:
                    import_module(place, self._package)
        return self._found[name]


CASES = Cases(__package__, {name: f".{module}" for module, names in MODULES.items() for name in names}
              | {path.stem: path for path in sorted(FILES.glob("*.toml"))})


@dataclass(frozen=True)
class Case:
    """A named problem.

    Attributes
    ----------
    name, title, description : str
    t_end : float
        Default end of the time span [s], which starts at 0.
    n_elements : int
        Default number of elements, right for mG(2).
    conserved_axes : tuple of int
        Space axes about which the angular momentum is constant; gravity and a fixed point leave the vertical
        one, hinges to the ground and loads none.
    has_rotation : bool
        Whether the case has rigid bodies, for which `rotation` and `inverse_mass` can be chosen.
    make : callable
        `make(t_end=None, **options)` returns the problem; options are `rotation` and `inverse_mass` of rigid bodies,
        `elements_space` and `degree_space` of beams; None is the default of the case. InputError for an option that
        the case has no use for.
    kind : {"initial", "boundary", "inverse", "optimal", "phases"}
        Of the problem: an InitialValueProblem, and so on.
    path : Path or None
        The model file that it is, with settings of its own.
    """

    name: str
    title: str
    description: str
    t_end: float
    n_elements: int
    conserved_axes: tuple
    has_rotation: bool
    make: Callable
    kind: str = "initial"
    path: Path | None = None


def find_case(name):
    """The case of that name.

    Raises
    ------
    InputError
        When there is none; names those there are.
    """
    return CASES[validate.choice("case", name, tuple(CASES))]


def define_case(name, title, t_end, n_elements, conserved_axes=(0, 1, 2)):
    """Enter a function that returns (System, state) as a case; its docstring is the description.

    It takes the options of `RigidBody`, `rotation` and `inverse_mass`, as keywords; a case without rigid bodies is a
    function without arguments.
    """
    def enter(build):
        has_rotation = _takes_rotation(build)

        def problem(end, **options):
            return timefem.InitialValueProblem(*build(**options), (0.0, end))

        return _enter(Case(name, title, _described(build), t_end, n_elements, conserved_axes, has_rotation, problem),
                      build)

    return enter


def define_problem(name, title, kind, t_end, n_elements, path=None):
    """Enter a function `build(t_end)` or `build(t_end, **rotation)` that returns a problem of that kind as a case.

    With the path of the model file that it is, if it is one.
    """
    def enter(build):
        has_rotation = _takes_rotation(build)
        return _enter(Case(name, title, _described(build), t_end, n_elements, (), has_rotation, build, kind, path),
                      build)

    return enter


def _takes_rotation(build):
    parameters = signature(build).parameters
    return "rotation" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _described(build):
    return " ".join(build.__doc__.split())


def _enter(case, build):
    """Enter a case, whose `make` is given as `make(t_end, **options)`, with the checks of its options."""
    parameters = signature(build).parameters
    any_option = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def make(rotation=None, inverse_mass=None, t_end=None, **options):
        options |= {"rotation": rotation, "inverse_mass": inverse_mass}
        end = case.t_end if t_end is None else validate.real("t_end", t_end)
        options = {option: value for option, value in options.items() if value is not None}
        known = {"rotation", "inverse_mass"} if any_option else set(parameters) - {"t_end"}
        unknown = [option for option in options if option not in known]
        if unknown and not case.has_rotation:
            raise InputError(f"the case {case.name} has no rigid bodies, and no use for {' and '.join(unknown)}; "
                             "leave that out")
        if unknown:
            raise InputError(f"the case {case.name} has no use for {' and '.join(unknown)}; leave that out")
        return case.make(end, **options)

    CASES[case.name] = replace(case, make=make)
    return make


def _enter_file(path):
    """Enter a model file as a case: its settings are in the file as well."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))

    def rigid(t_end, **rotation):
        return timefem.load_model(path, t_end=t_end, **rotation).problem

    def other(t_end):
        return timefem.load_model(path, t_end=t_end).problem

    bodies = data.get("bodies", {}).values()
    build = rigid if any(body["type"] == "rigid" for body in bodies) else other
    build.__doc__ = data["description"]
    time = data["time"]
    define_problem(path.stem, data["title"], data["problem"]["kind"], time["span"][1], time["n_elements"], path)(build)
