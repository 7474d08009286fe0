"""What is varied: attributes of parts, and states at the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from .. import validate
from ..argument_names import known_names, named_arguments
from ..elements.augmented.part_numbers import NumberPlaces
from ..errors import InputError
from ..mechanics.bodies.tree.entries import missing_in_formulas, spelt_out
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.forces.gravity import Gravity
from ..mechanics.part import Part
from ..mechanics.system import System
from ..mechanics.unknown_numbers import with_freed
from ..problems.kinds import check_kind
from ..types import Vector
from .attribute_derivatives import derivative_of_own, differentiated, mass_of_tree
from .composite_parameters import number_changes
from .other_parts import enters_rotor, in_controllers, of_motor, only_driven

if TYPE_CHECKING:
    from ..mechanics.composites.composite import Composite
    from ..mechanics.part import Body

NUMBERS, KEPT, Q, V, Z = range(5)  # places in `Directions`


class Parameter(NamedTuple):
    """An attribute of a body, joint or force, or of an entry of it.

    Parameters
    ----------
    part : Part, str or System
        The part itself, or its name. The system stands for the weight that `System(gravity=...)` makes.
    name : str or int
        As the constructor calls it: "mass", "inertia", "stiffness", "point_a", "parameters", ..., of a beam
        "section.EI" and the like; "value", "time" or "position" of loads and prescribed motions, with what is inside
        after a dot: "time.amplitude", "value[2].values". An int is a place among `own_parameters`.
    index : int or tuple, optional
        Entry of an attribute that is an array; without it all entries count as parameters, one after the other. The
        entries of an inertia are its principal values, or with a full matrix pairs such as (0, 1).
    """

    part: Part | Composite | System | str
    name: str | int
    index: int | tuple[int, ...] | None = None


class Initial(NamedTuple):
    """The state of a body at the start.

    Where constraints do not allow a change as it is, all bodies follow by the smallest change that they do allow, in
    the metric of the mass. The other states stay: angular velocities in body axes.

    Parameters
    ----------
    body : Body or str
    name : {"position", "rotation", "velocity", "angular_velocity"} or {"q", "v"}
        Position [m], rotation vector in space axes [rad], velocity [m/s], angular velocity in body axes [rad/s] of a
        rigid body; "position" and "velocity" of a point mass; coordinates and their rates of any other body.
    index : int, optional
        Component; without it all of them.
    """

    body: Body | str
    name: str
    index: int | None = None


class Family(NamedTuple):
    """Problems that a function makes of some values: the values are the parameters.

    For whatever `Parameter` and `Initial` do not state, such as a length that enters several parts and the initial
    state. How numbers of parts and the initial state depend on the values is found by differences of the problems,
    without solving them.

    Parameters
    ----------
    build : callable
        `build(values)` -> `InitialValueProblem`, smooth, with the same parts in the same order.
    values : array_like, shape (n,)
        Those of the solved problem.
    names : sequence of str, optional
    """

    build: Callable[[Any], Any]
    values: Vector
    names: Sequence[str] | None = None


for cls in (Parameter, Initial, Family):
    cls.__new__ = staticmethod(named_arguments(cls.__new__))


class Directions(NamedTuple):
    """How parameters change the numbers of the parts, and the start.

    Attributes
    ----------
    numbers : csc_array, shape (n_numbers, n_parameters)
    kept : csc_array, shape (n_numbers, n_parameters)
        Of `numbers`, those with which coordinates and velocities at the start are kept.
    q, v : csc_array, shape (n_q, n_parameters)
        Changes of coordinates and velocities at the start, before constraints.
    z : csc_array, shape (n_z, n_parameters)
        Changes of the state at the start as they are.
    labels : list of str
    """

    numbers: Any
    kept: Any
    q: Any
    v: Any
    z: Any
    labels: list


def directions(system, z, parameters):
    """`Directions` of parameters at the initial state `z`.

    Raises
    ------
    InputError
        For parts that are not in the system, unknown names (names those there are), and indices out of range.
    """
    places, n = NumberPlaces(system), system.n_q
    given = [parameters] if isinstance(parameters, Parameter | Initial | Family) else parameters
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"parameters must be a Parameter, an Initial, a Family, or a list of them, not {parameters!r}")
    entries, labels, count = [[], [], [], [], []], [], 0
    for parameter in given:
        if isinstance(parameter, Parameter):
            blocks, names = _of_numbers(system, places, z, parameter)
        elif isinstance(parameter, Initial):
            blocks, names = _of_start(system, z, parameter)
        elif isinstance(parameter, Family):
            blocks, names = _of_family(system, places, z, parameter)
        else:
            raise InputError(f"parameters must be Parameter, Initial or Family, not {parameter!r}")
        for kind, first, matrix in blocks:
            matrix = scipy.sparse.coo_array(matrix)
            entries[kind].append((matrix.data, matrix.row + first, matrix.col + count))
        labels += names
        count += len(names)
    matrices = []
    for found, rows in zip(entries, (places.size, places.size, n, n, 2 * n), strict=True):
        data, i, j = (np.concatenate([np.zeros(0, int), *x]) for x in zip(*found, strict=True)) if found else \
            (np.zeros(0), np.zeros(0, int), np.zeros(0, int))
        places = i.astype(int), j.astype(int)
        matrices.append(scipy.sparse.csc_array((data.astype(float), places), shape=(rows, count)))
    return Directions(*matrices, labels)


def with_parameters_of_trees(system, parameters):
    """The system whose trees have numbers in their formulas that are asked for: zeros, places and axes of joints."""
    free = {}
    given = [parameters] if isinstance(parameters, Parameter) else parameters
    for parameter in given if isinstance(given, list | tuple) else ():
        if not isinstance(parameter, Parameter) or isinstance(parameter.part, System) or system.complete is not None:
            continue
        trees = [part for part in system.parts if isinstance(part, Tree)]
        part, name = system.number_named(parameter.part, parameter.name)
        tree = next((tree for tree in trees if part in (system.label(tree), tree)), None)
        if tree is not None and spelt_out(tree, name) != name:
            paths = missing_in_formulas(tree, name, system.label(tree))
            if paths:
                free.setdefault(tree, []).extend(paths)
    return with_freed(system, free)


def find_part(system, part):
    """The part of the system that is meant: itself, by its name, or the one that stands for it without its redundant
    constraints."""
    part = system.here(part) if isinstance(part, Part) else part
    for own in system.parts:
        if own is part or (getattr(own, "part", None) is part and part is not None):
            return own
    if isinstance(part, str):
        for own in system.parts:
            if system.label(own) == part:
                return own
    what = repr(part) if isinstance(part, str | Part) else f"{part!r}, which is no part,"
    raise InputError(f"{what} is not in the system{known_names(part, map(system.label, system.parts))}")


def _of_numbers(system, places, z, parameter):
    part, name, index = parameter
    if isinstance(part, System):
        weights = [p for p in system.parts if isinstance(p, Gravity)]
        if name != "gravity" or not weights:
            raise InputError(f"a system has no parameter {name!r}; it has "
                             f"{'gravity' if weights else 'none, being without gravity'}")
        found = [(p, derivative_of_own(p, "acceleration", index, "gravity of the system")) for p in weights]
        _, names = found[0][1]
        return ([(kind, places.start[p], d) for p, (d, _) in found for kind in (NUMBERS, KEPT)],
                [x.replace("acceleration", "gravity") for x in names])
    part, name = system.number_named(part, name)
    composite = next((c for c in system.composites if part is c or part == system.label(c)), None)
    if composite is not None:
        changes, names = number_changes(system, composite, name, index)
        return [(kind, places.start[part], change) for part, change in changes for kind in (NUMBERS, KEPT)], names
    drive = only_driven(system, part)
    if drive is not None:
        label = drive.name or type(drive).__name__
        own, names = derivative_of_own(drive, name, index, label)
        found = [(kind, first, own) for first in in_controllers(system, places, drive) for kind in (NUMBERS, KEPT)]
        return found, [f"{label}.{x}" for x in names]
    part = find_part(system, part)
    label = system.label(part)
    source, start = getattr(part, "part", part), None
    if enters_rotor(source, name):
        own, others, start = of_motor(system, z, source, name, label)
        names = [name]
    else:
        _check_alone(system, source, str(name).partition("[")[0], label)
        (own, names), others = derivative_of_own(source, name, index, label), []
    changes = [(places.start[part], own), *((places.start[p], matrix) for p, matrix in others)]
    changes += [(first, own) for first in in_controllers(system, places, part)]
    if name == "mass":
        changes += [(places.start[p], p.acceleration[:, None]) for p in system.parts
                    if isinstance(p, Gravity) and p.bodies[0] is part]
    if isinstance(part, Tree) and str(name).endswith(".mass"):
        mass = mass_of_tree(part, name, index, label)
        changes += [(places.start[p], p.acceleration[:, None] * mass) for p in system.parts
                    if isinstance(p, Gravity) and p.bodies[0] is part]
    found = [(kind, *change) for change in changes for kind in (NUMBERS, KEPT)]
    if start is not None:  # of the rotor of a motor
        place = system.coordinates(start[0]).start
        found += [(kind, place, np.full((1, 1), value)) for kind, value in zip((Q, V), start[1:], strict=True)]
    return found, [f"{label}.{x}" for x in names]


def _check_alone(system, part, name, label):
    """Refuse arguments that enter other parts of the system as well."""
    on = [p for p in system.parts if getattr(getattr(p, "bound", None), "owner", None) is part and not p.is_body
          and p is not part and not p.helper] if getattr(part, "coordinates", ()) and name in part.fields else []
    if name in part.settled or on:
        other = system.label(on[0]) if on else "its helpers"
        raise InputError(f"{label}: {name} enters {other} as well, and has no derivative; take differences")


def _of_start(system, z, parameter):
    body, name, index = system.find(parameter.body), parameter.name, parameter.index
    part, label = system.coordinates(body), system.label(body)
    if body.carrier is not None and body.has_position:
        raise InputError(f"Initial: {label} hangs on joints; give changes of these, or of the coordinates of "
                         f"{system.label(body.carrier)}")
    changes = start_changes(body, z[part])
    if name not in changes:
        raise InputError(f"Initial: {label} has no {name!r} at the start{known_names(name, changes)}")
    kind, matrix = changes[name]
    n = matrix.shape[1]
    if not (index is None or (isinstance(index, int | np.integer) and not isinstance(index, bool) and 0 <= index < n)):
        raise InputError(f"Initial: {name} of {label} has the components 0 to {n - 1}, not {index!r}")
    chosen = range(n) if index is None else [int(index)]
    rows = np.zeros((system.n_q, len(chosen)))
    rows[part] = matrix[:, list(chosen)]
    return [(kind, 0, rows)], [f"{label}.{name}[{i}]" for i in chosen]


def _of_family(system, places, z, family):
    values = validate.array("Family: values", np.atleast_1d(family.values), (None,))
    names = [f"values[{i}]" for i in range(len(values))] if family.names is None else list(family.names)
    if len(names) != len(values):
        raise InputError(f"Family: {len(names)} names for {len(values)} values")
    kinds = [part.kind for part in system.parts]

    def numbers(x):
        problem = family.build(x)
        check_kind(problem, "initial", "what build of a Family returns")
        parts = problem.system.parts
        if [part.kind for part in parts] != kinds:
            raise InputError("Family: build makes other parts, or other formulas, than those of the solution; define "
                             "functions outside of build")
        return np.concatenate([*(part.own_parameters for part in parts), problem.z0])

    if not np.allclose(numbers(values), np.concatenate([places.values, z]), rtol=1e-9, atol=1e-12):
        raise InputError("Family: the solution is not that of build(values)")
    columns = [differentiated(lambda x, i=i: numbers(np.where(np.arange(len(values)) == i, x, values)), values[i])
               for i in range(len(values))]
    changes = np.array(columns).T
    return [(NUMBERS, 0, changes[:places.size]), (Z, 0, changes[places.size:])], names


def start_changes(body, q):
    """Name -> (whether coordinates or velocities change, their change per unit, shape (n_q, n))."""
    n = body.n_q
    every = np.eye(n)
    if not body.has_orientation:
        names = ("position", "velocity") if body.has_position else ("q", "v")
        return {names[0]: (Q, every), names[1]: (V, every)}
    turned, spun = body.turning(q)
    return {"position": (Q, every[:, :3]), "rotation": (Q, turned), "velocity": (V, every[:, :3]),
            "angular_velocity": (V, spun)}
