"""From the data of a model file to a problem, a time element and settings of the solver."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..elements import BubnovGalerkin, MixedGalerkin, TimeElement
from ..errors import InputError
from ..mechanics import (
    Actuator,
    FixedPoint,
    Joint,
    MassProperties,
    NonlinearSpring,
    PointMass,
    Pose,
    RigidBody,
    System,
)
from ..mechanics.describe import PARTS
from ..mechanics.part import Body
from ..problems.initial_value import uncovered
from ..solvers.newton import Newton
from ..solvers.optimal import ITERATIONS
from .check import inspect
from .document import Document
from .entries import find, naming, value_of
from .problem import OPTIMAL, check_kind, make_problem, plain_state, start_problem

SOLIDS = ("cuboid", "cylinder", "cone", "sphere")
STATE = ("position", "orientation", "velocity", "angular_velocity", "frame")
ELEMENT = ("degree", "n_points", "nodes", "multipliers", "drop")
NEWTON = ("tol_residual", "tol_increment", "max_iterations", "line_search")
GUESSES = {"initial": ("mg1", "constant"), "boundary": ("interpolation", "march"), "inverse": (), "optimal": ()}


def file_type(cls):
    """The `type` of a class in a file: RigidDistance is "rigid_distance"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


JOINTS = {file_type(cls): cls for cls in PARTS if issubclass(cls, Joint | FixedPoint) or cls.nonholonomic_names}
ACTUATORS = {file_type(cls): cls for cls in PARTS if issubclass(cls, Actuator)}
# a nonlinear spring holds a function, which a file cannot
FORCES = {file_type(cls): cls for cls in PARTS
          if file_type(cls) not in JOINTS and not issubclass(cls, Body | NonlinearSpring | Actuator)}


@dataclass(frozen=True, eq=False)
class Model:
    """What a model file states.

    Attributes
    ----------
    document : Document
        The file.
    title : str
    system : System
    state : dict
        Name of the body -> Pose.
    t_span : (float, float)
        [s]
    n_elements : int
    element : TimeElement
    settings : dict
        Further arguments of `timefem.solve`.
    assemble : bool
        Whether the state is approximate, and the mechanism is assembled from it.
    kind : {"initial", "boundary", "inverse", "optimal"}
        Of the problem.
    """

    document: Any
    title: str
    system: System
    state: dict
    t_span: tuple
    n_elements: int
    element: TimeElement
    settings: dict
    assemble: bool = False
    kind: str = "initial"

    @cached_property
    def start(self):
        """The InitialValueProblem; InputError when the state violates a constraint, or cannot be assembled."""
        try:
            return start_problem(self)
        except InputError as error:
            named = [part for part in self.system.parts if f"'{part.name}: " in str(error)]  # a constraint of it
            raise self.document.error(self.keys(named[0]) if named else (), str(error)) from None

    @cached_property
    def problem(self):
        """The problem of the file's kind; InputError when it cannot be made."""
        return make_problem(self)

    @cached_property
    def z0(self):
        """The state at the start, assembled or as it is stated, whether it holds the constraints or not, (n_z,).

        Of a boundary-value problem, one that satisfies its conditions.
        """
        if self.kind == "boundary":
            return self.problem.conditions_at_ends.z0
        return self.start.z0 if self.assemble else plain_state(self)

    def keys(self, part):
        """Keys of the table of a part."""
        if isinstance(part, Body):
            return "bodies", part.name
        tables = (("joints", JOINTS), ("actuators", ACTUATORS))
        return next((table for table, types in tables if type(part) in types.values()), "forces"), part.name

    def solve(self, **changes):
        """Solve it; `changes` are arguments of `timefem.solve` that replace those of the file."""
        from ..solving import solve

        arguments = {"element": self.element, **self.settings, **changes}
        if "mesh" not in arguments:
            arguments.setdefault("n_elements", self.n_elements)
        return solve(self.problem, **arguments)


def load_model(path, rotation=None, inverse_mass=None, t_end=None):
    """Read a model file and check that it can be solved.

    Parameters
    ----------
    path : str or path-like
        A TOML file; `docs/how-to/model-files.md` states the format and `schema.json` defines it.
    rotation, inverse_mass : str, optional
        Replace those of all rigid bodies.
    t_end : float, optional
        Replaces the end of the time span [s].

    Returns
    -------
    Model

    Raises
    ------
    InputError
        In one line, with file, line, key and remedy: when the file cannot be read or understood, when the initial state
        violates constraints, or when constraints repeat others there.
    """
    model = read_model(path, rotation, inverse_mass, t_end)
    facts = inspect(model)
    for fault in facts["faults"]:
        raise model.document.error(fault["keys"], fault["message"])
    model.problem  # noqa: B018  raises on its own account
    return model


def read_model(path, rotation=None, inverse_mass=None, t_end=None):
    """As `load_model`, without the checks of the initial state, which `inspect` tells about."""
    document = Document(path)
    data, kind = document.data, check_kind(document)
    bodies, state = {}, {}
    for name, entry in data["bodies"].items():
        with naming(document, ("bodies", name), entry):
            bodies[name] = _body(name, entry, rotation, inverse_mass)
            state[name] = Pose(**{key: entry[key] for key in STATE if key in entry})
            bodies[name].state(state[name])  # a point mass may leave its plane
    parts = [*bodies.values()]
    for table, types in (("joints", JOINTS), ("forces", FORCES), ("actuators", ACTUATORS)):
        parts += _parts(document, table, types, bodies)
    with naming(document, (), data):
        system = System(parts, gravity=data.get("gravity"), redundant=data.get("redundant", "refuse"))
    start, end = data["time"]["span"]
    if t_end is not None:
        end = t_end
    elif not end > start:
        raise document.error(("time", "span"), f"must go forward: the end {end:g} is not after the start {start:g}")
    solver = data.get("solver", {})
    with naming(document, ("solver",), solver):
        element = _element(solver)
        settings = _settings(solver, element, kind)
    model = Model(document, data.get("title", document.path), system, state, (start, end), data["time"]["n_elements"],
                  element, settings, data.get("assemble", False), kind)
    for part in parts:
        fault = uncovered(part, model.t_span)
        if fault:
            raise document.error(model.keys(part), fault)
    return model


def _body(name, entry, rotation, inverse_mass):
    if entry["type"] == "point":
        return PointMass(entry["mass"], entry.get("dimension", 3), name)
    options = {key: entry[key] for key in ("rotation", "inverse_mass", "size") if key in entry}
    options |= {} if rotation is None else {"rotation": rotation}
    options |= {} if inverse_mass is None else {"inverse_mass": inverse_mass}
    solid = next((s for s in SOLIDS if s in entry), None)
    if solid is None:
        return RigidBody(entry["mass"], entry["inertia"], name=name, **options)
    properties = getattr(MassProperties, solid)(**entry[solid])
    if solid == "cuboid":
        options.setdefault("size", [entry[solid][edge] for edge in ("length", "width", "height")])
    return RigidBody(properties.mass, properties.inertia, name=name, **options)


def _parts(document, table, types, bodies):
    """Joints, forces or actuators of a file."""
    for name, entry in document.data.get(table, {}).items():
        keys = (table, name)
        key = "bodies" if "bodies" in entry else "body"
        names = entry[key] if key == "bodies" else [entry[key]]
        on = [find(document, (*keys, key), body, bodies) for body in names]
        own = {k: value_of(document, (*keys, k), value) for k, value in entry.items()
               if k not in ("type", key, "reaction", *OPTIMAL)}
        if "reaction" in entry:
            own["reaction"] = find(document, (*keys, "reaction"), entry["reaction"], bodies)
        with naming(document, keys, entry):
            yield types[entry["type"]](*on, **own, name=name)


def _element(solver):
    own = {key: solver[key] for key in ELEMENT if key in solver}
    if solver.get("element", "mg") == "bg":
        return BubnovGalerkin(**{"degree": 3, **own})
    for key in ("multipliers", "drop"):
        if key in own:
            raise InputError(f'{key} belongs to element = "bg"')
    return MixedGalerkin(**{"degree": 2, **own})


def _settings(solver, element, kind):
    settings = {key: value for key, value in solver.items() if key not in ("element", *ELEMENT, *NEWTON)}
    if settings.get("guess", GUESSES[kind]) not in (*GUESSES[kind], GUESSES[kind]):
        known = " or ".join(f'"{guess}"' for guess in GUESSES[kind])
        raise InputError(f'guess of a problem of kind "{kind}" must be {known}' if known else
                         f'guess is not used by problems of kind "{kind}"; leave it out')
    newton = {key: solver[key] for key in NEWTON if key in solver}
    if kind != "initial":
        return {**settings, **_global_settings(solver, element, kind, newton)}
    driver = settings.setdefault("driver", "windows" if "window" in settings else
                                 "march" if element.can_march else "global")
    if driver == "march" and not element.can_march:
        raise InputError('driver "march" needs element = "mg"')
    for key, users in (("window", ("windows",)), ("backend", ("windows", "global")), ("guess", ("windows", "global"))):
        if key in settings and driver not in users:
            raise InputError(f"{key} is not used by driver {driver!r}; it belongs to {' and '.join(users)}")
    return {**settings, "newton": Newton(**newton)}


def _global_settings(solver, element, kind, newton):
    """Of problems that tie all elements together, whose Newton iterations always have a line search."""
    if solver.get("driver", "global") != "global":
        raise InputError(f'driver of a problem of kind "{kind}" must be "global", or left out')
    for key in ("window", "line_search"):
        if key in solver:
            raise InputError(f'{key} is not used by problems of kind "{kind}"; leave it out')
    if kind == "inverse" and not isinstance(element, MixedGalerkin):
        raise InputError('element of a problem of kind "inverse" must be "mg"')
    return {"newton": newton_of(kind, newton)} if newton else {}


def newton_of(kind, given):
    """Newton's settings of problems that always have a line search, with the defaults of that kind."""
    return Newton(**({"max_iterations": ITERATIONS} if kind == "optimal" else {}) | given, line_search=True)
