"""Solutions in HDF5 files, plain arrays and JSON text: written atomically, and read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from importlib import import_module

import numpy as np

from ...elements import extended, part_numbers
from ...elements.components import components
from ...elements.element import ELEMENTS, TimeElement
from ...elements.part_numbers import Carrier, with_carrier
from ...errors import InputError, named_arguments
from ...mechanics.describe import build, describe, plain
from ...mechanics.forces.actuators import Cost
from ...mechanics.states.redundancy import keep_constraints
from ...mechanics.system import System
from ...memory import Late
from ...solvers.nonsmooth.events import LOCATED, ContactEvent
from ...status import Status
from ...types import FilePath
from ...version import __version__
from ..solution import Solution
from . import hdf5
from .hdf5 import write_in_turn

sharing = Late("timefem.solvers.nonsmooth.sharing")

TOLERANCE = 1e-9  # of energies and residuals worked out anew, relative to their terms: far above rounding


def save(solution, path):
    """Write a solution to an HDF5 file; an older file there is replaced only when the new one is complete.

    Costs of controls, which may be formulas, are left out of the system; the objective is among the statistics.

    Parameters
    ----------
    solution : Solution
        Complete or partial.
    path : str or Path

    Raises
    ------
    InputError
        When the path cannot be written, or the system or element cannot be described.
    """
    def write(file, rank):
        create(file, solution, len(solution.t) - 1, solution.t[0], solution.z[0])
        fill(file, solution, 0)

    write_in_turn(path, write)


def create(file, solution, n_elements, start, z0):
    """Write what describes a solution of that many elements, from time `start`, and make room for its arrays."""
    data = {"system": describe(without_costs(solution.system)), "element": _describe(solution.element),
            "status": solution.status.as_dict(), "statistics": solution.statistics}
    texts = {name: json.dumps(value, default=_as_plain) for name, value in data.items()}
    file.attrs.update(format=FORMAT, format_version=VERSION, timefem_version=__version__, **texts)
    make_room(file, solution, n_elements, start, z0)
    if getattr(solution, "further", None):
        import_module(FURTHER[solution.further]).write(file, solution)


def make_room(file, solution, n_elements, start, z0):
    """Make room for the arrays of a solution, in a file or a group of one."""
    shapes = {"t": (n_elements + 1,), "z0": z0.shape, "nodal_state": (n_elements, *solution.nodal.state.shape[1:]),
              "nodal_multipliers": (n_elements, *solution.nodal.multipliers.shape[1:]), "audit": (n_elements + 1, 2)}
    if solution.system.rigid_contacts:
        text = np.frombuffer(solution.events_as_text().encode(), np.uint8)
        file.create_dataset("contacts/events", data=text, compression="gzip", shuffle=True, fletcher32=True)
        shapes |= {f"contacts/{name}": values.shape for name, values in solution.contact_arrays().items()}
    shapes |= {f"fields/{name}": (n_elements, *values.shape[1:]) for name, values in solution.fields.items()}
    for name in shapes:
        file.create_dataset(name, shapes[name], float, compression="gzip", compression_opts=1, shuffle=True,
                            fletcher32=True)  # a checksum, so that damaged bytes are found when reading
    file["t"][0], file["z0"][:] = start, z0
    file["audit"][0] = audit(solution.system, [start], [z0])[0]


def _as_plain(value):
    """Arrays and mappings as JSON knows them."""
    return dict(value) if isinstance(value, Mapping) else value.tolist()


def fill(file, solution, first):
    """Write the arrays of a solution whose first element has that number in the file."""
    last = first + len(solution.t) - 1
    file["t"][first + 1:last + 1] = solution.t[1:]
    file["nodal_state"][first:last] = solution.nodal.state
    file["nodal_multipliers"][first:last] = solution.nodal.multipliers
    file["audit"][first + 1:last + 1] = audit(solution.system, solution.t[1:], solution.z[1:])
    for name, values in solution.fields.items():
        file[f"fields/{name}"][first:last] = values
    if solution.system.rigid_contacts:
        for name, values in solution.contact_arrays().items():
            file[f"contacts/{name}"][:] = values


def audit(system, t, z):
    """Energy and largest residual of a constraint at times and states, shape (n, 2).

    A reader works them out anew: states that belong to another system, or to another order of the coordinates, do not
    give the same.
    """
    t, z = np.asarray(t, float), np.asarray(z, float)
    residuals = np.abs(system.constraints(t, z)).max(axis=-1, initial=0.0)
    return np.stack([system.hamiltonian(t, z), residuals], axis=-1)


def check_audit(what, saved, system, t, z):
    """Raise InputError where states do not have the energy and residuals that were saved with them."""
    kinetic, z = system.hamiltonian(t, z) - system.potential(t, z), np.asarray(z, float)
    size = np.array([np.abs(kinetic).max(initial=0.0) + np.abs(system.potential(t, z)).max(initial=0.0),
                     (1.0 + np.abs(z).max(initial=0.0)) ** 2])
    wrong = np.flatnonzero(~np.all(np.abs(audit(system, t, z) - saved) <= TOLERANCE * size, axis=-1))
    if len(wrong):
        raise InputError(f"{what} does not have the energy or the constraint residuals that were saved with it, at "
                         f"t = {t[wrong[0]]:g}")


def check_savable(system):
    """Check, before any work is done, that solutions of a system can be saved.

    Raises
    ------
    InputError
        When a part holds something that is not plain data, such as a function.
    """
    describe(without_costs(system))


def without_costs(system: System) -> System:
    """The system without parts that have no part in the motion."""
    if not any(isinstance(part, Cost | Carrier) for part in system.parts):
        return system
    if system.complete is not None:
        return keep_constraints(without_costs(system.complete), system.kept)
    return System([part for part in system.parts if not isinstance(part, Cost | Carrier)],
                  redundant=system.redundant)


def _describe(element):
    name = type(element).__name__
    if _element_class(name) is not type(element):
        raise InputError(f"the solution cannot be saved: {name} is not in the table ELEMENTS of "
                         "timefem.elements.element, where its name is entered")
    values = {f.name: getattr(element, f.name) for f in dataclasses.fields(element)}
    return {"class": name, **{key: _describe(v) if isinstance(v, TimeElement) else
                              plain(f"{name} cannot be saved: {key}", v) for key, v in values.items()}}


# ---- what a file of a solution holds, and how elements are named in it

FORMAT = "timefem solution"
VERSION = 2  # 2: sealed with a checksum, with an audit of the states
FURTHER = {"estimate": "timefem.problems.estimation.saved"}  # attribute of a file -> what reads the rest of it
MARCHES = "timefem.problems.initial.contact"  # solutions with rigid contact, which offer themselves as phases


def _element_class(name):
    """Class of a time element, those with controls included, by its name."""
    entered = (ELEMENTS[key] for key, place in ELEMENTS.places.items() if place is None or place.endswith(f".{name}"))
    further = (getattr(module, name, None) for module in (part_numbers, extended))
    return next((c for c in (*entered, *further)
                 if isinstance(c, type) and issubclass(c, TimeElement) and c.__name__ == name), None)


# ---- Read a solution from a file

TEXTS = ("system", "element", "status", "statistics")
STATISTICS = {"driver": str, "backend": str | None, "n_ranks": int, "n_elements": int, "n_unknowns": int,
              "newton_iterations": dict, "seconds": dict, "backward_error": int | float | None, "ordering": str,
              "parameters": dict, "per_rank": dict, "contact_events": dict}
NEEDED = ("driver", "backend", "n_ranks", "newton_iterations", "seconds", "n_unknowns")  # where there are any


@named_arguments
def load(path: FilePath) -> Solution:
    """Read a solution from an HDF5 file written by `save`.

    Its checksum is verified before anything is read (see `timefem.solution.output.hdf5`), shapes and types are those
    that the system needs, all numbers are finite, and the states have the energy and the constraint residuals that
    were saved with them.

    Returns
    -------
    Solution
        Equal to the saved one bit for bit.

    Raises
    ------
    InputError
        When there is no such file, it is not a complete timefem file, or it names unknown parts or elements.
    """
    with hdf5.reading(path, FORMAT, VERSION) as file:
        data = {name: json.loads(hdf5.attribute(file, name, str)) for name in TEXTS}
        element, status = build_element(data["element"]), Status.from_dict(data["status"])
        system = with_carrier(build(data["system"]), element)
        statistics = _statistics(data["statistics"])
        _check_bounds(statistics.get("control_bounds"), sum(part.n_controls for part in system.parts))
        solution = read_arrays(file, system, element, status, statistics)
        for name, module in FURTHER.items():
            if name in file.attrs:
                solution = import_module(module).read(file, solution)
    return solution


def read_arrays(file, system, element, status, statistics):
    """The solution of the arrays in a file, or in a group of one.

    Raises
    ------
    InputError
        For arrays that are not those of such a solution.
    """
    t = hdf5.numbers(file, "t", (None,))
    n = len(t) - 1
    if n < 0 or np.any(np.diff(t) <= 0):
        raise InputError("its times do not increase")
    z0 = hdf5.numbers(file, "z0", (system.n_z,))
    state = hdf5.numbers(file, "nodal_state", (n, element.state.basis.n_shapes, system.n_z))
    multipliers = hdf5.numbers(file, "nodal_multipliers",
                               (n, element.multiplier.basis.n_shapes, system.n_multipliers))
    further = _further_fields(system, element)
    found = file["fields"] if "fields" in file else {}
    if set(found) != set(further):
        raise InputError(f"the file has the fields {sorted(found)}, but the element {sorted(further)}")
    fields = {name: hdf5.numbers(file, f"fields/{name}", (n, *shape)) for name, shape in further.items()}
    kind = import_module(MARCHES).ContactMotion if system.rigid_contacts else Solution
    solution = kind(system, element, t, z0, state, multipliers, status, statistics, fields)
    if system.rigid_contacts:
        _take_contacts(file, solution, element.multiplier.basis.n_shapes)
    check_audit("the solution", hdf5.numbers(file, "audit", (n + 1, 2)), system, t, solution.z)
    return solution


def _take_contacts(file, solution, n_shapes):
    """What the contacts of a solution did."""
    n, size = len(solution.t) - 1, len(solution.contact_names)
    text = bytes(hdf5.dataset(file, "contacts/events", (None,), np.uint8)[()]).decode()
    events = [ContactEvent.from_dict(event) for event in json.loads(text)]
    if any(set(event.contacts) - set(solution.contact_names) or not 0 <= event.node <= n for event in events):
        raise InputError("its events name contacts or nodes that it does not have")
    shapes = {"modes": (n, size), "signs": (n, size), "entered": (n, 1), "directions": (n, size, 2),
              "forces": (n, n_shapes, size, 3), "located": (None, 3)}
    arrays = {name: hdf5.numbers(file, f"contacts/{name}", shape) for name, shape in shapes.items()}
    if not np.isin(arrays["modes"], range(len(sharing.IS_RUBBING))).all() or not np.isin(
            arrays["located"][:, 1], range(len(LOCATED))).all():
        raise InputError("its contacts have modes or events that there are not")
    solution.take_contacts(events, arrays)


def _further_fields(system, element):
    """Shapes of the fields beside state and multipliers, by name."""
    further = {name: space for name, space in element.trial.items() if name not in ("state", "multipliers")}
    sizes = components(system, [space.components for space in further.values()])
    return {name: (space.basis.n_shapes, sizes[space.components].size) for name, space in further.items()
            if sizes[space.components].size}


def _statistics(data):
    """Statistics with the types that tables of them need."""
    if not isinstance(data, dict):
        raise InputError("its statistics are not a table")
    missing = [name for name in NEEDED if data and name not in data]
    if missing:
        raise InputError(f"its statistics have no {missing[0]}")
    for name, kind in STATISTICS.items():
        if name in data and (not isinstance(data[name], kind) or isinstance(data[name], bool)):
            raise InputError(f"{name} of its statistics cannot be {data[name]!r:.60}")
        table = data.get(name)
        if isinstance(table, dict) and not all(isinstance(x, int | float) for v in table.values()
                                               for x in (v if name == "per_rank" and isinstance(v, list) else [v])):
            raise InputError(f"{name} of its statistics must hold numbers")
    if not {"max", "mean"} <= set(data.get("newton_iterations", ("max", "mean"))):
        raise InputError("newton_iterations of its statistics must have max and mean")
    return data


def _check_bounds(bounds, n):
    """Refuse bounds that are not lower and upper ones, numbers or None, of n controls."""
    kinds = int, float, type(None)
    if bounds is not None and not (isinstance(bounds, list) and len(bounds) == 2 and all(
            isinstance(row, list) and len(row) == n and all(type(x) in kinds for x in row) for row in bounds)):
        raise InputError(f"control_bounds of its statistics cannot be {bounds!r:.60}")


def build_element(description):
    """The time element of a description in a file.

    Raises
    ------
    InputError
        When the class is unknown, or the description is damaged.
    """
    if not isinstance(description, dict):
        raise InputError(f"the description of the element is damaged: {description!r:.60}")
    values = dict(description)
    name = values.pop("class", None)
    cls = _element_class(str(name))
    if cls is None:
        raise InputError(f"unknown element {name!r}")
    try:
        return cls(**{key: build_element(v) if isinstance(v, dict) else v for key, v in values.items()})
    except TypeError as error:
        raise InputError(f"the description of the element is damaged: {error}") from None
