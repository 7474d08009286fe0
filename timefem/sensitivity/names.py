"""Functionals and parameters by name: of the command line and of model files.

A functional is `end:QUANTITY`, `integral:QUANTITY` or `peak:QUANTITY:SHARPNESS`. A quantity is `kinetic`, the kinetic
energy of all bodies, or `BODY.NAME[i]`, or `BODY.NAME` for all its components. A parameter is `PART.NAME` or
`PART.NAME[i]` with names as in `Parameter`, `gravity` or `gravity[i]`, `start:BODY.NAME[i]` with names as in `Initial`,
or `start` for the states of all bodies. Of a boundary-value problem the start is what is prescribed there, also of
joints by `start:JOINT.q`, and `end:BODY.NAME[i]` and `end` are what is prescribed at the end.
"""

import re
from math import isfinite

import casadi as ca
import numpy as np

from ..errors import InputError, known_names
from ..mechanics.numbers.names import label_in
from ..mechanics.parts import number_named
from .functionals import EndValue, Integral, Peak
from .linearization import Linearization
from .optimum_changes import ATTRIBUTES, Final, changes_of
from .parameters import Initial, Parameter, directions, start_changes, with_parameters_of_formulas

KINDS = "end", "integral", "peak"
SYSTEM = "kinetic"
ENDS = {"start": Initial, "end": Final}  # of boundary-value problems
SIZES = {"position": 3, "velocity": 3, "angular_velocity": 3}  # of bodies in space


def functionals_of(system, texts):
    """Functionals with one value each, by name.

    Parameters
    ----------
    system : System
    texts : sequence of str
        Such as "end:bar.position[2]"; without an index one functional for each component.

    Returns
    -------
    dict
        Name, with its index -> Functional.

    Raises
    ------
    InputError
        For unknown kinds, bodies, quantities and components; names those there are.
    """
    found = {}
    for text in texts:
        kind, _, quantity = text.partition(":")
        if kind not in KINDS or not quantity:
            raise InputError(f"{text!r} is not a functional: give end:QUANTITY, integral:QUANTITY or "
                             "peak:QUANTITY:SHARPNESS, such as end:BODY.position[0]")
        if kind == "peak":
            quantity, _, number = quantity.rpartition(":")
            sharpness = _number(number)
            if not quantity or not sharpness:
                raise InputError(f"{text!r}: a peak needs its sharpness, in units of 1/QUANTITY, as in "
                                 f"peak:{quantity or number}:20")
        for name, formula, bodies in _quantities(system, quantity, text):
            if kind == "peak":
                found[f"peak:{name}:{number}"] = Peak(formula, sharpness, bodies)
            else:
                found[f"{kind}:{name}"] = (EndValue if kind == "end" else Integral)(formula, bodies)
    if not found:
        raise InputError("there is nothing to differentiate: give a functional, such as end:BODY.position[0]")
    return found


def parameters_of(system, z, texts):
    """Parameters by name, checked at the initial state `z`: a list for `gradient` and `sensitivities`.

    Raises
    ------
    InputError
        For unknown parts and names; names those there are.
    """
    found = []
    for text in texts:
        named = _parameters(system, z, text)
        for parameter in named:
            try:
                directions(with_parameters_of_formulas(system, parameter), z, parameter)
            except InputError as error:
                raise InputError(f"{text!r}: {error}") from None
        found += named
    if not found:
        raise InputError("there are no parameters: give them, such as PART.stiffness, BODY.mass or start")
    return found


def parameters_of_problem(problem, texts):
    """The same of a problem, with one start, or with what it prescribes at both ends.

    Raises
    ------
    InputError
        As `parameters_of`; and for what is not prescribed.
    """
    if not hasattr(problem, "conditions_at_ends"):
        return parameters_of(problem.system, problem.z0, texts)
    found = [one for text in texts for one in _of_both_ends(problem, text)]
    if not found:
        raise InputError("there are no parameters: give them, such as PART.stiffness, BODY.mass, start or end")
    return found


def _of_both_ends(problem, text):
    system, (end, _, rest) = problem.system, text.partition(":")
    if end not in ENDS:
        found = _parameters(system, None, text)
    elif rest:
        thing, _, name = rest.rpartition(".")
        found = [ENDS[end](thing, *_index(name))]
    else:
        given = problem._given[end]
        given = given if isinstance(given, dict) else {} if given is None else {system.bodies[0]: given}
        every = [ENDS[end](key, name) for key in given for name in ATTRIBUTES]
        found = [one for one in every if _is_prescribed(problem, one)]
    for parameter in found:
        try:
            changes_of(problem, parameter)
        except InputError as error:
            raise InputError(f"{text!r}: {error}") from None
    return found


def _is_prescribed(problem, parameter):
    try:
        return bool(changes_of(problem, parameter))
    except InputError:
        return False


def _parameters(system, z, text):
    """What one name stands for, not checked."""
    if text == "start":
        return [Initial(body, name) for body in system.bodies
                for name in start_changes(body, z[system.coordinates(body)])]
    if text.startswith("start:"):
        return [Initial(*_body_and_what(system, text.removeprefix("start:"), text))]
    if text.partition("[")[0] == "gravity":
        return [Parameter(system, *_index(text))]
    label, parts = label_in(system, text)
    if label is None or len(text) == len(label) + 1:
        raise InputError(f"{text!r} must name a part and a number of it, as in PART.NAME"
                         + known_names(text.partition(".")[0], parts, "there are"))
    return [Parameter(*number_named(system, parts[label], text[len(label) + 1:]))]


def _quantities(system, text, whole):
    """(name, formula, bodies) of each component of a quantity."""
    if text == SYSTEM:
        return [(text, _kinetic, None)]
    body, name, index = _body_and_what(system, text, whole, f", or {SYSTEM!r}")
    sizes = {"q": body.n_q, "p": body.n_q, "v": body.n_q}
    if body.has_position:
        sizes |= {n: size for n, size in SIZES.items() if n != "angular_velocity" or body.has_orientation}
    if name not in sizes:
        raise InputError(f"{whole!r}: {system.label(body)} has no quantity {name!r}{known_names(name, sizes)}")
    if index is not None and not (isinstance(index, int) and index < sizes[name]):
        raise InputError(f"{whole!r}: {name} of {system.label(body)} has the components 0 to {sizes[name] - 1}, not "
                         f"{text.rpartition(name)[2]}")
    return [(f"{system.label(body)}.{name}[{i}]", _Component(name, i), [body])
            for i in (range(sizes[name]) if index is None else [index])]


class _Component:
    """The formula of a component of what a `View` shows."""

    def __init__(self, name, index):
        self.name, self.index = name, index

    def __call__(self, bodies, t):
        return getattr(bodies[0], self.name)[self.index]


def _kinetic(bodies, t):
    return sum(ca.dot(body.p, body.v) for body in bodies) / 2


def _body_and_what(system, text, whole, otherwise=""):
    """The body, or link or joint of a tree, before the last dot of a text, and the name and the index behind it."""
    body, _, rest = text.rpartition(".")
    try:
        return system.find(body), *_index(rest)
    except InputError as error:
        raise InputError(f"{whole!r} must name a body and a quantity of it, as in BODY.position{otherwise}"
                         + f": {error}" * bool(body)) from None


def _index(text):
    """Name and index of `name[1]` or `name[0,1]`; None without one."""
    match = re.fullmatch(r"(.*)\[(\d+)(?:,(\d+))?\]", text)
    if match is None:
        return text, None
    first, second = int(match[2]), match[3]
    return match[1], first if second is None else (first, int(second))


def _number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def derivatives(solution, functionals, parameters, method="adjoint"):
    """Derivatives of functionals by parameters.

    Parameters
    ----------
    solution : Solution
    functionals : dict
        Name -> Functional, as from `functionals_of`.
    parameters : list
        As from `parameters_of`.
    method : {"adjoint", "forward"}
        One solve per functional, or one per parameter.

    Returns
    -------
    dict
        "method"; "parameters", their names; and by the name of the functional "value" and "derivatives", which has one
        number per parameter, under "functionals".
    """
    at = Linearization(solution)
    if method == "forward":
        rows = at.sensitivities(list(functionals.values()), parameters)
    else:
        rows = np.array([at.gradient(f, parameters) for f in functionals.values()])
    return {"method": method, "parameters": at.labels(parameters),
            "functionals": {name: {"value": float(at.value(f)[0]), "derivatives": row.tolist()}
                            for (name, f), row in zip(functionals.items(), rows, strict=True)}}
