"""From the data of a model file to a problem, a time element and settings of the solver."""

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..elements import BubnovGalerkin, MixedGalerkin, TimeElement
from ..errors import InputError
from ..mechanics import (
    FixedPoint,
    Joint,
    MassProperties,
    NonlinearSpring,
    PointMass,
    Pose,
    Ramp,
    RigidBody,
    Sine,
    Step,
    System,
    Table,
    TrianglePulse,
)
from ..mechanics.describe import PARTS
from ..mechanics.part import Body
from ..problems import InitialValueProblem
from ..problems.initial_value import uncovered
from ..solvers.newton import Newton
from .check import inspect
from .document import Document, suggest

FUNCTIONS = {"ramp": Ramp, "triangle": TrianglePulse, "step": Step, "sine": Sine, "table": Table}
SOLIDS = ("cuboid", "cylinder", "cone", "sphere")
STATE = ("position", "orientation", "velocity", "angular_velocity", "frame")
ELEMENT = ("degree", "n_points", "nodes", "multipliers", "drop")
NEWTON = ("tol_residual", "tol_increment", "max_iterations", "line_search")


def file_type(cls):
    """The `type` of a class in a file: RigidDistance is "rigid_distance"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


JOINTS = {file_type(cls): cls for cls in PARTS if issubclass(cls, Joint | FixedPoint) or cls.nonholonomic_names}
# a nonlinear spring holds a function, which a file cannot
FORCES = {file_type(cls): cls for cls in PARTS
          if file_type(cls) not in JOINTS and not issubclass(cls, Body | NonlinearSpring)}


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

    @cached_property
    def problem(self):
        """The InitialValueProblem; InputError when the state violates a constraint, or cannot be assembled."""
        try:
            return InitialValueProblem(self.system, self.state, self.t_span, assemble=self.assemble)
        except InputError as error:
            named = [part for part in self.system.parts if f"'{part.name}: " in str(error)]  # a constraint of it
            raise self.document.error(self.keys(named[0]) if named else (), str(error)) from None

    @cached_property
    def z0(self):
        """The state at the start, assembled or as it is stated, whether it holds the constraints or not, (n_z,)."""
        if self.assemble:
            return self.problem.z0
        q, p = zip(*(body.state(self.state[body.name]) for body in self.system.bodies), strict=True)
        return np.concatenate([*q, *p])

    def keys(self, part):
        """Keys of the table of a part."""
        if isinstance(part, Body):
            return "bodies", part.name
        return ("joints" if type(part) in JOINTS.values() else "forces"), part.name

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
    data = document.data
    bodies, state = {}, {}
    for name, entry in data["bodies"].items():
        with _naming(document, ("bodies", name), entry):
            bodies[name] = _body(name, entry, rotation, inverse_mass)
            state[name] = Pose(**{key: entry[key] for key in STATE if key in entry})
            bodies[name].state(state[name])  # a point mass may leave its plane
    parts = [*bodies.values(), *_parts(document, "joints", JOINTS, bodies), *_parts(document, "forces", FORCES, bodies)]
    with _naming(document, (), data):
        system = System(parts, gravity=data.get("gravity"), redundant=data.get("redundant", "refuse"))
    start, end = data["time"]["span"]
    if t_end is not None:
        end = t_end
    elif not end > start:
        raise document.error(("time", "span"), f"must go forward: the end {end:g} is not after the start {start:g}")
    solver = data.get("solver", {})
    with _naming(document, ("solver",), solver):
        element = _element(solver)
        settings = _settings(solver, element)
    model = Model(document, data.get("title", document.path), system, state, (start, end), data["time"]["n_elements"],
                  element, settings, data.get("assemble", False))
    for part in parts:
        fault = uncovered(part, model.t_span)
        if fault:
            raise document.error(model.keys(part), fault)
    return model


@contextmanager
def _naming(document, keys, entry):
    """Give errors the file, the line and the key: of the entry, or of what in it the message names first."""
    try:
        yield
    except InputError as error:
        words = re.findall(r"\w+", str(error))
        named = [word for word in words if word in entry and word not in ("type", "body", "bodies", *keys)]
        raise document.error((*keys, *named[:1]), str(error)) from None


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
    """Joints or forces of a file."""
    for name, entry in document.data.get(table, {}).items():
        keys = (table, name)
        key = "bodies" if "bodies" in entry else "body"
        names = entry[key] if key == "bodies" else [entry[key]]
        for body in names:
            if body not in bodies:
                raise document.error((*keys, key), f"there is no body {body!r}; {suggest(body, bodies)}")
        own = {}
        for k, value in entry.items():
            if k not in ("type", key):
                own[k] = _value(document, (*keys, k), value)
        with _naming(document, keys, entry):
            yield types[entry["type"]](*(bodies[body] for body in names), **own, name=name)


def _value(document, keys, value):
    """A value of a file, with functions of time in place of their tables."""
    if isinstance(value, list):
        return [_value(document, (*keys, i), v) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    (kind, arguments), = value.items()
    with _naming(document, (*keys, kind), arguments):
        return FUNCTIONS[kind](**arguments)


def _element(solver):
    own = {key: solver[key] for key in ELEMENT if key in solver}
    if solver.get("element", "mg") == "bg":
        return BubnovGalerkin(**{"degree": 3, **own})
    for key in ("multipliers", "drop"):
        if key in own:
            raise InputError(f'{key} belongs to element = "bg"')
    return MixedGalerkin(**{"degree": 2, **own})


def _settings(solver, element):
    settings = {key: value for key, value in solver.items() if key not in ("element", *ELEMENT, *NEWTON)}
    driver = settings.setdefault("driver", "windows" if "window" in settings else
                                 "march" if element.can_march else "global")
    if driver == "march" and not element.can_march:
        raise InputError('driver "march" needs element = "mg"')
    for key, users in (("window", ("windows",)), ("backend", ("windows", "global")), ("guess", ("windows", "global"))):
        if key in settings and driver not in users:
            raise InputError(f"{key} is not used by driver {driver!r}; it belongs to {' and '.join(users)}")
    return {**settings, "newton": Newton(**{key: solver[key] for key in NEWTON if key in solver})}
