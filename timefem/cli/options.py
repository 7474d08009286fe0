"""Options of the commands, made from declarations, checked before anything heavy is imported; and what they choose."""

import functools
import inspect
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from .. import validate
from ..atomic_write import ending_of
from ..cases import CASES, Case, find_case
from ..elements.element import ELEMENT_OPTIONS, name_of
from ..errors import InputError, did_you_mean
from ..memory import Late
from ..problems.kinds import KINDS
from ..records import frozen
from ..validate.options import OPTIONS
from .model_files import OF_ROBOT, case_of_robot, is_robot
from .process import imported

CASE = Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names, or a model file, which "
                                                          "ends in .toml, or, of run, a robot (.urdf, .xml).")]
ROTATION = Annotated[str | None, typer.Option(help="quaternion (default) or directors.")]
ELEMENT = Annotated[str, typer.Option(help="mg (mixed Galerkin), bg (Bubnov-Galerkin), or a scheme that `timefem list` "
                                           "names, as eml or emh.")]
ELEMENTS_SPACE = Annotated[int | None, typer.Option(min=1, max=10**5, help="Cases with beams: elements along each.")]
DEGREE_SPACE = Annotated[int | None, typer.Option(min=1, max=20, help="Cases with beams: degree of the elements along "
                                                                      "them.")]
T_END = Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
OUTPUT = Annotated[str | None, typer.Option("-o", "--output", help="File for the solution (.h5).")]
BY_ARGUMENT = {option.argument: option for option in OPTIONS.values()}


def parameter(name, annotation, default=inspect.Parameter.empty):
    """Parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def declared(name):
    """Parameter of a command for a declared option."""
    option, metavar = OPTIONS[name], None
    if option.type is bool:
        annotation = Annotated[bool, typer.Option(option.option, help=option.help)]
        return parameter(option.argument, annotation, False)
    words = (*option.words, *["INTEGER,INTEGER"] * option.several)
    if words:
        metavar = "|".join(({int: "INTEGER", float: "FLOAT"}[option.type], *words))
    kind = str if words else option.type
    annotation = Annotated[kind | None, typer.Option(option.option, help=option.help, metavar=metavar)]
    return parameter(option.argument, annotation, None)


def with_parameters(*parameters):
    """Give a function `f(ctx, **options)` the parameters of a command."""
    def decorated(function):
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        function.__signature__ = inspect.Signature([context, *parameters])
        function.__annotations__ = {p.name: p.annotation for p in (context, *parameters)}
        return function

    return decorated


def with_fields(options):
    """Make a function `f(options)` a command whose parameters are the fields of a dataclass."""
    def decorated(function):
        @functools.wraps(function)
        def command(**given):
            return function(options(**given))

        parameters = [parameter(f.name, f.type, inspect.Parameter.empty if f.default is MISSING else f.default)
                      for f in fields(options)]
        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorated


def given_options(ctx):
    """Options that were given, declared ones by their names, parsed and checked; "case" besides."""
    given = {}
    for argument, value in ctx.params.items():
        if argument != "case" and ctx.get_parameter_source(argument).name != "COMMANDLINE":
            continue
        option = BY_ARGUMENT.get(argument)
        if option is None:
            given[argument] = validate.real(argument, value) if argument == "t_end" else value
        else:
            given[option.name] = option.check(option.parse(value))
    return given


# ---- Options of the commands that solve; what they do is in modules of their own, imported when options are fine

INVERSE_MASS = Annotated[str | None, typer.Option(help="Quaternions: polynomial (default) or exact.")]
FOLLOW = Annotated[str | None, typer.Option(
    metavar="KEY=START", help="Boundary values: start with that number, and follow the solution to what it is: "
                              "t_end=0.5, or a number of a model file, as time.span[1]=0.5.")]
JOINT = Annotated[list[str] | None, typer.Option(
    metavar="NAME=POSITION[,RATE]", help="Robots (.urdf): state of a joint at the start [rad or m, per second]; may be "
                                         "given several times, others are at zero and rest.")]
GRAVITY = Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Robots: gravity [m/s^2]; default 0,0,-9.81.")]
FRICTION_WIDTH = Annotated[float | None, typer.Option(help="Robots: rate [rad/s or m/s] within which Coulomb friction "
                                                           "turns; without it friction is left out.")]
MESHES = Annotated[str | None, typer.Option(metavar="FOLDER", help="Robots: folder of the meshes for pictures, "
                                            "which trimesh reads.")]
BASE = Annotated[str | None, typer.Option(help="Robots: fixed (default) or free, the base link. A free one is the "
                                               "joint base: x,y,z and a quaternion w,x,y,z are its position, its rate "
                                               "the velocity and the angular velocity in its own axes.")]
MODEL = Annotated[str, typer.Argument(metavar="MODEL", help='A model file (.toml) with kind = "estimation".')]
DATA = Annotated[str | None, typer.Argument(metavar="[DATA]", help="A file of measured values (.csv) with a column "
                                                                   "for the time, t or time; default: that which the "
                                                                   "model names.")]
VERBOSE = Annotated[bool, typer.Option("-v", "--verbose", help="Details on standard error.")]
WATCH = Annotated[bool, typer.Option("--watch", help="Serve a page to this machine, at the address that is printed, "
                                                     "which follows the motion while it is solved.")]
TURNS = Annotated[int | None, typer.Option(help="Guesses turn up to twice that many full turns about the axis of the "
                                                "way, and up to that many about each body axis; default 1.")]
STARTS = Annotated[int | None, typer.Option(help="Of optimal control: how many starts are tried; default 8.")]
OUTPUTS = Annotated[str | None, typer.Option("-o", "--output", help="File for the solutions: of a.h5 the first is in "
                                                                    "a-1.h5, and so on.")]
OF = Annotated[list[str] | None, typer.Option(
    help="end:QUANTITY, integral:QUANTITY or peak:QUANTITY:SHARPNESS; a quantity is BODY.NAME or BODY.NAME[i], "
         "with NAME one of q, p, v, position, velocity, angular_velocity, or kinetic.")]
PARAMETERS = Annotated[list[str] | None, typer.Option(
    help="PART.NAME or PART.NAME[i], as spring.stiffness, body.mass, load.time.amplitude; gravity; "
         "start:BODY.NAME[i], or start for the states of all bodies.")]
FORWARD = Annotated[bool, typer.Option("--forward", help="One solve for each parameter.")]
ADJOINT = Annotated[bool, typer.Option("--adjoint", help="One transposed solve for each functional (default).")]
AT_REST = Annotated[bool, typer.Option("--equilibrium", help="Around rest, which statics finds from the start, "
                                                             "instead of the start itself.")]
INPUTS = Annotated[list[str] | None, typer.Option(help="Actuators by name; default: all.")]
OUTPUTS_OF_MODEL = Annotated[list[str] | None, typer.Option(
    help="BODY.NAME or BODY.NAME[i] with NAME one of q, v, position, velocity, acceleration, angular_velocity, "
         "angular_acceleration.")]
FILM = Annotated[str | None, typer.Option("-o", "--output", help="File for a film (.gif, .mp4) or a page (.html) of a "
                                                                 "mode.")]
NUMBER = Annotated[int, typer.Option(min=1, help="Mode to show, as numbered in the table.")]
SIZE = Annotated[float, typer.Option(help="Its largest displacement [m or rad].")]
OF_STATE = (parameter("case", CASE), parameter("rotation", ROTATION, None),
            parameter("elements_space", ELEMENTS_SPACE, None), parameter("degree_space", DEGREE_SPACE, None),
            parameter("joint", JOINT, None), parameter("gravity", GRAVITY, None),
            parameter("equilibrium", AT_REST, False))
PARAMETER = Annotated[list[str] | None, typer.Option(
    metavar="NAME=FIRST:LAST:NUMBER", help="A number and its values, also as NAME=A,B,C: rod.mass, spring.stiffness, "
                                           "load.time.amplitude, gravity[2]; several give all combinations.")]
CHANGED = Annotated[list[str] | None, typer.Option(
    metavar="NAME=VALUE", help="Another value of a number, with the names of `timefem sweep --parameter`: rod.mass=2, "
                               "spring.stiffness=50, gravity[2]=-1.6; may be given several times.")]
CSV = Annotated[str | None, typer.Option("--csv", help="File for a table with one row per run.")]
WORKERS = Annotated[int | None, typer.Option(min=1, help="Threads or processes; default: all processors, one for each "
                                                         "rank under mpirun.")]
METHOD = (parameter("element", ELEMENT, "mg"),
          *map(declared, ("degree", "n_points", "multipliers", "drop", "nodes", "form", "keep")))
COMMON = (parameter("rotation", ROTATION, None), *METHOD, declared("n_elements"), parameter("t_end", T_END, None))

SEVERAL = "--of", "--parameters", "--inputs", "--outputs"  # options that take several values


def repeat_values(arguments):
    """`--of a b` as `--of a --of b`, for the options that take several values."""
    repeated, option = [], None
    for argument, before in zip(arguments, [None, *arguments], strict=False):
        if argument.startswith("-"):
            option = argument
        elif option in SEVERAL and before != option:
            repeated.append(option)
        repeated.append(argument)
    return repeated


@with_parameters(
    parameter("case", CASE), parameter("rotation", ROTATION, None), parameter("inverse_mass", INVERSE_MASS, None),
    parameter("elements_space", ELEMENTS_SPACE, None), parameter("degree_space", DEGREE_SPACE, None),
    *METHOD, declared("n_elements"), declared("tolerance"),
    parameter("t_end", T_END, None), parameter("joint", JOINT, None), parameter("gravity", GRAVITY, None),
    parameter("friction_width", FRICTION_WIDTH, None), parameter("base", BASE, None),
    parameter("meshes", MESHES, None),
    *map(declared, ("driver", "window", "backend", "method", "guess", "scaling", "keep_mesh", "tol_residual",
                    "tol_increment", "max_iterations", "line_search")),
    parameter("number", CHANGED, None), parameter("output", OUTPUT, None),
    *map(declared, ("checkpoint", "checkpoint_every", "restart")),
    parameter("follow", FOLLOW, None), parameter("watch", WATCH, False),
    parameter("as_json", JSON, False), parameter("verbose", VERBOSE, False))
def run(ctx, **_):
    """Solve a case, a model file, or a robot (.urdf, .xml); options given here override settings of the solver
    in the file, and --number numbers of its parts.

    Options that begin with -timefem_ go to PETSc (-timefem_ksp_type gmres). Under mpirun, --driver global
    or windows with --backend petsc shares the work among the ranks; for problems of other kinds --backend petsc does.
    """
    options = given_options(ctx)
    return imported("run").run(options, ctx.obj or None)


@with_parameters(parameter("case", MODEL), parameter("data", DATA, None), parameter("rotation", ROTATION, None),
                 *METHOD, declared("n_elements"), declared("backend"), parameter("output", OUTPUT, None),
                 parameter("as_json", JSON, False), parameter("verbose", VERBOSE, False))
def estimate(ctx, **_):
    """Estimate a motion, and unknown numbers, from measurements, with their uncertainty.

    The model file states measurements, unknown forces and priors; columns of the data are named in it. Under mpirun
    --backend petsc shares the work among the ranks.
    """
    options = given_options(ctx)
    if ending_of(options["case"]) != ".toml":
        raise InputError(f"MODEL must be a model file, which ends in .toml, not {options['case']!r}")
    return imported("run").run(options | {"measured": True})


@with_parameters(parameter("case", CASE), parameter("turns", TURNS, None), parameter("starts", STARTS, None), *COMMON,
                 parameter("output", OUTPUTS, None), parameter("as_json", JSON, False))
def solve_all(ctx, **_):
    """Several solutions of a boundary-value problem, from guesses that turn by different angles, by increasing
    action; or of optimal control, from many starts, by increasing cost."""
    options = given_options(ctx)
    return imported("run").solve_all(options)


@with_parameters(parameter("case", CASE), parameter("of", OF, None), parameter("parameters", PARAMETERS, None),
                 parameter("forward", FORWARD, False), parameter("adjoint", ADJOINT, False), *COMMON,
                 declared("keep_mesh"),
                 parameter("as_json", JSON, False))
def sensitivity(ctx, **_):
    """Derivatives of functionals of a motion by numbers of the parts and by the initial state.

    Both --of and --parameters take several values, after CASE. Of a model file they default to its table
    [sensitivity].
    """
    options = given_options(ctx)
    return imported("linear").sensitivity(options)


@with_parameters(*OF_STATE, parameter("output", FILM, None), parameter("number", NUMBER, 1),
                 parameter("size", SIZE, 0.1), parameter("as_json", JSON, False))
def modes(ctx, **_):
    """Natural modes around the start of a case, a model file or a robot, or around its equilibrium."""
    return imported("linear").modes(given_options(ctx))


@with_parameters(*OF_STATE, parameter("inputs", INPUTS, None), parameter("outputs", OUTPUTS_OF_MODEL, None),
                 parameter("as_json", JSON, False))
def linearize(ctx, **_):
    """Linear equations with A, B, C, D around the start of a case, a model file or a robot, or its equilibrium.

    Both --inputs and --outputs take several values, after CASE.
    """
    return imported("linear").linearize_command(given_options(ctx))


@with_parameters(parameter("case", CASE), parameter("parameter", PARAMETER, None), parameter("csv", CSV, None),
                 parameter("workers", WORKERS, None), *COMMON, declared("keep_mesh"),
                 parameter("as_json", JSON, False))
def sweep(ctx, **_):
    """Solve a case or a model file for many values of its numbers, on all cores, and under mpirun on all ranks.

    A run that fails is reported, and ends no other; the exit status is then 1.
    """
    options = given_options(ctx)
    return imported("run").sweep(options)


# ---- What a command line, or a model file under it, chooses: problem, element, arguments of `solve`, a path to it

models = Late("timefem.models")
of_settings = Late("timefem.models.settings")

OF_PROBLEM = "rotation", "inverse_mass", "elements_space", "degree_space", "t_end", "data"


@frozen
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
    stated = ending_of(options["case"]) == ".toml"
    path = options["case"] if stated else getattr(CASES.get(options["case"]), "path", None)
    if path is not None and not of_robot:
        in_file = [name for name in ("elements_space", "degree_space") if name in of_problem]
        if in_file:
            raise InputError(f"--{in_file[0].replace('_', '-')} belongs to named cases; a model file states "
                             "n_elements and degree of its beams")
        return _of_model(models.load_model(path, **of_problem), options, settings)
    notes = ()
    if is_robot(options["case"]):
        case, robot = case_of_robot(options["case"], of_problem, **of_robot)
        notes = robot.notes
    elif of_robot:
        raise InputError(f"--{next(iter(of_robot)).replace('_', '-')} belongs to robots: .urdf and .xml files")
    else:
        case = _named(options["case"])
    kind, element = KINDS[case.kind], of_settings.element_of(settings)
    arguments = of_settings.arguments_of(settings, kind, element, case.name)
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
    stated = _stated(model, options)
    merged = stated | settings
    if "element" in stated and settings.get("element") == name_of(stated["element"]):
        merged["element"] = stated["element"]  # with fields of it
    kind, element = KINDS[model.kind], of_settings.element_of(merged).fitting(model.system)
    arguments = of_settings.arguments_of(merged, kind, element, case.name)
    problem = model.problem
    of_settings.refuse_element(model, element)
    kind.check_options(problem, merged)
    n = options.get("n_elements", model.n_elements if "tolerance" not in arguments else None)
    if model.mesh is not None and not {"n_elements", "tolerance"} & {*options, *arguments}:
        n, arguments["mesh"] = None, model.mesh
    return Chosen(case, kind, problem, element, n, arguments, model, notes=model.notes)


def _stated(model, given):
    """Settings of a file, but for those that do not belong to options that were given."""
    stated = dict(model.document.data.get("solver", {}))
    own = name_of(stated.get("element", "mg"))
    if given.get("element", own) != own:
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
    if not found.kind.follows:
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
