"""What is varied: attributes of parts, and states at the start."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from .. import validate
from ..elements.part_numbers import NumberPlaces
from ..errors import InputError, did_you_mean, known_names, named_arguments
from ..mechanics.bodies.point_mass import VariableMass
from ..mechanics.bodies.tree.structure import named_numbers, spelt_out
from ..mechanics.bodies.tree.tree import Tree
from ..mechanics.body_frame import BodyFrame, is_on_tree
from ..mechanics.forces.loads import Gravity
from ..mechanics.forces.on_joints import Gear
from ..mechanics.numbers.arguments import number_at
from ..mechanics.numbers.changes import may_be_free, with_freed
from ..mechanics.numbers.map import NumberMap
from ..mechanics.numbers.names import driven_only, entries_named, numbers_of
from ..mechanics.part import Part
from ..mechanics.parts import number_named
from ..mechanics.states.redundancy import keep_constraints
from ..mechanics.system import System
from ..problems.kinds import check_able
from ..types import Vector

if TYPE_CHECKING:
    from ..mechanics.composites.composite import Composite

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
        rigid body; "position" and "velocity" of a point mass; coordinates and their rates of any other body,
        also of one that has a place in space by other coordinates.
    index : int, optional
        Component; without it all of them.
    """

    body: BodyFrame | str
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
    places, numbers, n = NumberPlaces(system), NumberMap(system.complete or system), system.n_q
    owners, own = _owners(system), dict(zip(numbers.system.parts, system.parts, strict=True))
    given = [parameters] if isinstance(parameters, Parameter | Initial | Family) else parameters
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"parameters must be a Parameter, an Initial, a Family, or a list of them, not {parameters!r}")
    entries, labels, count = [[], [], [], [], []], [], 0
    for parameter in given:
        if isinstance(parameter, Parameter):
            blocks, names = _of_numbers(system, owners, own, numbers, places, z, parameter)
        elif isinstance(parameter, Initial):
            blocks, names = _of_start(system, z, parameter)
        elif isinstance(parameter, Family):
            blocks, names = _of_family(system, places, z, parameter)
        else:
            raise InputError(f"parameters must be Parameter, Initial or Family, not {parameter!r}")
        for kinds, first, matrix in blocks:
            i, j = np.nonzero(matrix)
            for kind in kinds:
                entries[kind].append((matrix[i, j], i + first, j + count))
        labels += names
        count += len(names)
    matrices = []
    for found, rows in zip(entries, (places.size, places.size, n, n, 2 * n), strict=True):
        data, i, j = (np.concatenate([np.zeros(0, int), *x]) for x in zip(*found, strict=True)) if found else \
            (np.zeros(0), np.zeros(0, int), np.zeros(0, int))
        places = i.astype(int), j.astype(int)
        matrices.append(scipy.sparse.csc_array((data.astype(float), places), shape=(rows, count)))
    return Directions(*matrices, labels)


def with_parameters_of_formulas(system, parameters):
    """The system whose parts have numbers in their formulas that are asked for: zeros, places and axes of joints."""
    free, owners = {}, _owners(system)
    given = [parameters] if isinstance(parameters, Parameter | Family) else parameters
    for parameter in given if isinstance(given, list | tuple) else ():
        if isinstance(parameter, Family):
            _add_numbers_of_family(system, parameter, free)
            continue
        if not isinstance(parameter, Parameter) or isinstance(parameter.part, System):
            continue
        part, name = _part_of_number(system, owners, parameter.part, parameter.name)
        of_tree = isinstance(part, Tree) and spelt_out(part, name) == name
        if isinstance(name, str) and _may_be_free(part) and not of_tree:
            entries, _ = entries_named(part, name, parameter.index, system.label(part))
            paths = [tuple(path) for _, *path in entries if part.is_shaped_by(path)]
            free.setdefault(part, []).extend(paths)
    return _freed(system, {part: paths for part, paths in free.items() if paths}, system.kept)


def _may_be_free(part):
    """As for other motions, but for rigid contact: one without friction does not tell which way it would slide."""
    return may_be_free(part) and not part.n_contacts


def numbers_of_formulas(system, parameters):
    """Numbers of formulas that are asked for, dict from names of parts to paths: functionals of boundary-value problems
    and optima depend on them beside the unknowns."""
    own = {system.label(part): part.free for part in system.parts}
    there = with_parameters_of_formulas(system, parameters)
    found = {label: [path for path in part.free or () if path not in (own[label] or ())]
             for label, part in ((there.label(part), part) for part in there.parts)}
    return {label: paths for label, paths in found.items() if paths}


def with_numbers_of_formulas(system, free):
    """The system with these among the numbers of its parts."""
    return _freed(system, {part: free[label] for part in system.parts if (label := system.label(part)) in free},
                  system.kept) if free else system


def _freed(system, free, kept):
    """The system with free numbers of parts, a dict of paths; where it lacks constraints, with those `kept`."""
    if system.complete is None:
        return with_freed(system, free)
    return keep_constraints(with_freed(system.complete, free), kept) if free or kept is not system.kept else system


def _add_numbers_of_family(system, family, free):
    """Add numbers of parts that change with the values, and are not in the formulas."""
    values = _values_of_family(family)
    for i, value in enumerate(values):
        moved = values.copy()
        moved[i] += FIRST_STEP * (abs(value) or 1.0)
        try:
            problem = family.build(moved)
        except InputError:
            moved[i] -= 2 * FIRST_STEP * (abs(value) or 1.0)
            problem = family.build(moved)
        if not hasattr(problem, "system"):
            check_able(problem, "causal", "what build of a Family returns")
        for own, other in zip(system.parts, problem.system.parts, strict=False):
            if type(own) is type(other) and _may_be_free(own) and own.kind != other.kind:
                paths = [named.entry(other, key)[1:] for named in numbers_of(other).values() for key in named.keys]
                known = free.setdefault(own, [])
                known += [path for path in paths if own.is_shaped_by(path) and path not in known
                          and number_at(own, *path) != number_at(other, *path)]


def _part_of_number(system, owners, part, name):
    """The part, composite part or actuator of a controller that has a number, and the name of that.

    Raises
    ------
    InputError
        When the system has no such part; names those there are.
    """
    part, name = number_named(system, part, name)
    if isinstance(part, Hashable) and part in owners:
        return owners[part], name
    what = repr(part) if isinstance(part, str | Part) else f"{part!r}, which is not a part,"
    raise InputError(f"{what} is not in the system{known_names(part, map(system.label, system.parts))}")


def _owners(system):
    """What has numbers, by itself, with and without redundant constraints, and by its name."""
    found = {}
    named = [(own, system.label(own)) for own in (*system.parts, *system.composites)]
    for own, name in (*named, *((drive, drive.name) for drive in driven_only(system))):
        whole = own.whole  # of a joint without its redundant constraints
        for key in (own, whole, name):
            found.setdefault(key, whole)
    return found


def _of_numbers(system, owners, own, numbers, places, z, parameter):
    (part, name, index), whole = parameter, numbers.system
    if isinstance(part, System):
        weights = [p for p in system.parts if isinstance(p, Gravity)]
        if name != "gravity" or not weights:
            raise InputError(f"a system has no parameter {name!r}; it has "
                             f"{'gravity' if weights else 'none, being without gravity'}")
        entries, names = entries_named(weights[0], "acceleration", index, "gravity of the system")
        labels = [one.replace("acceleration", "gravity") for one in names]
        return [block for weight in weights for block in _blocks(
            numbers, own, places, [(weight, *path) for _, *path in entries], z)], labels
    part, name = _part_of_number(system, owners, part, name)
    label = part.name or type(part).__name__ if part not in (*whole.parts, *whole.composites) else whole.label(part)
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        n = len(part.own_parameters)
        if not 0 <= name < n or index is not None:
            raise InputError(f"{label} has own_parameters 0 to {n - 1}; there is no number {name}, index {index}")
        return [((NUMBERS, KEPT), places.start[own[part]] + name, np.ones((1, 1)))], [
            f"{label}.own_parameters[{name}]"]
    if isinstance(part, Tree) and spelt_out(part, name) == name and name != "friction_width":
        raise InputError(f"{label} has no parameter {name!r}; name a link or joint and a number of it, such as "
                         f"{', '.join(named_numbers(part)[:3])}{did_you_mean(name, named_numbers(part))}")
    entries, names = entries_named(part, name, index, label)
    return _blocks(numbers, own, places, entries, z), [f"{label}.{one}" for one in names]


def _blocks(numbers, own, places, entries, z):
    """Changes of the numbers of all parts by some entries, by a `NumberMap`, and of rotors at the start, which gears
    move; `own` are the parts without redundant constraints."""
    found, system = [], numbers.system
    for k, (part, *path) in enumerate(entries):
        if isinstance(part, VariableMass) and path == ["mass"]:  # that of the start, unless the state tells another
            place = system.coordinates(part).start + part.dimension
            column = np.zeros((1, len(entries)))
            column[0, k] = z[place] == part.mass
            found.append(((Q,), place, column))
    for part, matrix in numbers.jacobian(entries).items():
        found.append(((NUMBERS, KEPT), places.start[own[part]], matrix))
        if isinstance(part, Gear):
            states = [system.local_state(body, z) for body in part.bound.bodies]
            start = system.coordinates(part.bodies[-1]).start
            found += [((kind,), start, row[None] @ matrix)
                      for kind, row in zip((Q, V), part.start_by_numbers(*zip(*states, strict=True)), strict=True)]
    return found


def _of_start(system, z, parameter):
    body, name, index = system.find(parameter.body), parameter.name, parameter.index
    part, label = system.coordinates(body), system.label(body)
    if is_on_tree(body) and body.has_position:
        raise InputError(f"Initial: {label} hangs on joints; give changes of these, or of the coordinates of "
                         f"{system.label(body.body)}")
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
    return [((kind,), 0, rows)], [f"{label}.{name}[{i}]" for i in chosen]


def _values_of_family(family):
    return validate.array("Family: values", np.atleast_1d(family.values), (None,))


def _of_family(system, places, z, family):
    values = _values_of_family(family)
    names = [f"values[{i}]" for i in range(len(values))] if family.names is None else list(family.names)
    if len(names) != len(values):
        raise InputError(f"Family: {len(names)} names for {len(values)} values")
    kinds = [part.kind for part in system.parts]

    def numbers(x):
        problem = family.build(x)
        check_able(problem, "causal", "what build of a Family returns")
        parts = problem.system.parts
        freed = {part: own.free for own, part in zip(system.parts, parts, strict=False) if own.free
                 and type(own) is type(part)}
        alike = None in (problem.system.complete, system.complete) or \
            problem.system.constraint_names == system.constraint_names
        parts = _freed(problem.system, freed, problem.system.kept if alike else system.kept).parts
        made = [part.kind for part in parts]
        if made != kinds:
            other = next((system.label(part) for part, one, kind in zip(system.parts, made, kinds, strict=False)
                          if one != kind), "their number")
            raise InputError(f"Family: build makes other parts, or other formulas, than those of the solution: {other} "
                             "first; define functions outside of build")
        return np.concatenate([*(part.own_parameters for part in parts), problem.z0])

    if not np.allclose(numbers(values), np.concatenate([places.values, z]), rtol=1e-9, atol=1e-12):
        raise InputError("Family: the solution is not that of build(values)")
    columns = [differentiated(lambda x, i=i: numbers(np.where(np.arange(len(values)) == i, x, values)), values[i])
               for i in range(len(values))]
    changes = np.array(columns).T
    return [((NUMBERS,), 0, changes[:places.size]), ((Z,), 0, changes[places.size:])], names


def start_changes(body, q):
    """Name -> (whether coordinates or velocities change, their change per unit, shape (n_q, n))."""
    n = body.n_q
    every = np.eye(n)
    if not body.has_orientation:
        names = ("position", "velocity") if getattr(body, "begins_with_position", False) else ("q", "v")
        return {names[0]: (Q, every), names[1]: (V, every)}
    turned, spun = body.turning(q)
    return {"position": (Q, every[:, :3]), "rotation": (Q, turned), "velocity": (V, every[:, :3]),
            "angular_velocity": (V, spun)}


# ---- derivatives by differences, of what users give as Python functions

LEVELS = 5  # of Richardson extrapolation
FIRST_STEP = 0.02  # relative


def differentiated(f, at, levels=LEVELS, first_step=FIRST_STEP):
    """Derivative of a smooth function of one number by central differences, extrapolated; one-sided ones where the
    function refuses (`InputError`) the other side. One level does for what is affine."""
    steps = first_step * (abs(at) or 1.0) * 0.5 ** np.arange(levels)
    failure = None
    for sides, power in (((1, -1), 2), ((1, 0), 1), ((-1, 0), 1)):
        try:
            table = [(f(at + sides[0] * h) - f(at + sides[1] * h)) / ((sides[0] - sides[1]) * h) for h in steps]
        except InputError as error:
            failure = failure or error
            continue
        for level in range(1, levels):
            factor = 2.0 ** (power * level)
            table = [(factor * b - a) / (factor - 1) for a, b in pairwise(table)]
        return table[0]
    raise failure
