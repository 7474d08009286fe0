"""What a command line, or a model file under it, chooses: problem, time element, arguments of `solve`, a path to it."""

from dataclasses import dataclass
from typing import Any

from .. import validate
from ..argument_names import did_you_mean
from ..cases import CASES, Case, find_case
from ..elements.named import ELEMENT_OPTIONS
from ..errors import InputError
from ..late import Late
from ..models.settings import arguments_of, element_of, with_form
from ..problems.kinds import KINDS
from .model_files import OF_ROBOT, case_of_robot, is_robot

models = Late("timefem.models")
checking = Late("timefem.models.check")

OF_PROBLEM = "rotation", "inverse_mass", "elements_space", "degree_space", "t_end", "data"


@dataclass(frozen=True)
class Chosen:
    """What is to be solved.

    Attributes
    ----------
    case : Case
        That of a model file has its name and title.
    kind : Kind
    problem : InitialValueProblem, ...
    element : TimeElement
    n_elements : int or None
        None where there is a tolerance.
    arguments : dict
        Further ones of `timefem.solve`.
    model : Model or None
    notes : tuple of str
        For the report.
    """

    case: Case
    kind: Any
    problem: Any
    element: Any
    n_elements: int | None
    arguments: dict
    model: Any = None
    notes: tuple = ()

    @property
    def name(self):
        return self.case.name

    @property
    def title(self):
        return self.case.title


def chosen(options):
    """What options choose.

    Parameters
    ----------
    options : dict
        Those given: "case"; "rotation", "inverse_mass", "t_end", "element"; "joint", "gravity", "friction_width" of
        robots; and declared ones by their names.
    """
    of_robot = {name: options[name] for name in OF_ROBOT if name in options}
    options = {name: value for name, value in options.items() if name not in of_robot}
    of_problem = {name: options[name] for name in OF_PROBLEM if name in options}
    settings = {name: value for name, value in options.items() if name not in ("case", "n_elements", *of_problem)}
    path = options["case"] if options["case"].endswith(".toml") else getattr(CASES.get(options["case"]), "path", None)
    if path is not None and not of_robot:
        in_file = [name for name in ("elements_space", "degree_space") if name in of_problem]
        if in_file:
            raise InputError(f"--{in_file[0].replace('_', '-')} belongs to named cases; a model file states "
                             "n_elements and degree of its beams")
        return _of_model(models.load_model(path, **of_problem), options, settings)
    notes = ()
    if is_robot(options["case"]):
        case, robot = case_of_robot(options["case"], of_problem, **of_robot)
        settings, notes = with_form(settings, (robot.tree,), bool(robot.joints)), robot.notes
    elif of_robot:
        raise InputError(f"--{next(iter(of_robot)).replace('_', '-')} belongs to robots: .urdf and .xml files")
    else:
        case = _named(options["case"])
    kind, element = KINDS[case.kind], element_of(settings)
    arguments = arguments_of(settings, kind, element, case.name)
    problem = case.make(**of_problem)
    kind.check_options(problem, settings)
    n = options.get("n_elements", case.n_elements if "tolerance" not in arguments else None)
    return Chosen(case, kind, problem, element, n, arguments, notes=notes)


def _named(name):
    """The case of that name."""
    if name not in CASES:
        known = "; `timefem list` names those there are, and files end in .toml, .urdf or .xml"
        raise InputError(f"case: there is no {name!r}" + (did_you_mean(name, CASES) or known))
    return find_case(name)


def _of_model(model, options, settings):
    """Of a model file, whose settings are replaced by options that are given."""
    # what is conserved is not known of a model: no axes
    case = Case(options["case"], model.title, model.title, model.t_span[1], model.n_elements, conserved_axes=(),
                has_rotation=True, make=lambda **_: model.problem, kind=model.kind)
    system = model.system
    merged = with_form(_stated(model, options) | settings, system.bodies, bool(system.n_constraints))
    kind, element = KINDS[model.kind], element_of(merged)
    arguments = arguments_of(merged, kind, element, case.name)
    problem = model.problem
    checking.refuse_element(model, element)
    kind.check_options(problem, merged)
    n = options.get("n_elements", model.n_elements if "tolerance" not in arguments else None)
    if model.mesh is not None and not {"n_elements", "tolerance"} & {*options, *arguments}:
        n, arguments["mesh"] = None, model.mesh
    return Chosen(case, kind, problem, element, n, arguments, model, notes=model.notes)


def _stated(model, given):
    """Settings of a file, but for those that do not belong to options that were given."""
    stated = dict(model.document.data.get("solver", {}))
    if given.get("element", stated.get("element", "mg")) != stated.get("element", "mg"):
        # the file's degree is for its own element, and a march may not be for the other
        stated = {name: value for name, value in stated.items() if name not in ELEMENT_OPTIONS and value != "march"}
    if "window" in given or "driver" in given:
        stated = {name: value for name, value in stated.items() if name not in ("driver", "window")}
    if "n_elements" in given:
        stated.pop("tolerance", None)
    return stated


# ---- Continuation on the command line: a solution followed from an easier problem to the one that is meant

many_solutions = Late("timefem.solving.many_solutions")


def follower(found, follow, options):
    """A function with the arguments of `timefem.solve` that follows a solution; None when that is not asked for.

    Parameters
    ----------
    found : Chosen
        With a model, whose table `[continuation]` counts too, or without.
    follow : str or None
        "KEY=START".
    options : dict
        Those given, of `timefem run`.

    Raises
    ------
    InputError
        For what is not a number of the problem, and for other problems than boundary-value problems.
    """
    model, case = found.model, found.case
    table = {} if model is None else model.document.data.get("continuation", {})
    if follow is None and not table:
        return None
    if found.kind.name != "boundary":
        raise InputError(f"--follow is not used: {case.name} is {found.kind.title}; leave it out")
    if "tolerance" in found.arguments:
        raise InputError("--tolerance is not used with a continuation, whose meshes are given; leave one of them out")
    key, start, steps = table.get("vary"), table.get("start"), {}
    if follow is None:
        steps = {name: table[name] for name in ("first_step", "least_step") if name in table}
    else:
        key, _, number = follow.partition("=")
        try:
            start = validate.real("--follow", float(number))
        except ValueError:
            raise InputError(f"--follow must be KEY=START, such as t_end=0.5, not {follow!r}") from None
    if model is None and key != "t_end":
        raise InputError(f"--follow: of a case t_end can be varied, not {key!r}; of a model file any number")
    if model is None:
        end = options.get("t_end", case.t_end)

        def make(value):
            return case.make(rotation=options.get("rotation"), t_end=value)
    else:
        key = "time.span[1]" if key == "t_end" else key
        end = model.document.number(key)

        def make(value):
            return model.changed({key: value}).problem

    def followed(problem, element, n_elements, **arguments):
        return many_solutions.continuation(make, element, n_elements, start, end, **steps, **arguments)

    return followed
