"""Read a solution from a file."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np

from ...argument_names import named_arguments
from ...elements.augmented.constants import with_carrier
from ...elements.components import components
from ...errors import InputError
from ...mechanics.describe import build
from ...solvers.nonsmooth.events import LOCATED, ContactEvent
from ...status import Status
from ...types import FilePath
from ..solution import Solution
from . import hdf5
from .save import FORMAT, FURTHER, MARCHES, VERSION, _element_class, check_audit

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
        for name, module in FURTHER.items():
            if name in file.attrs:
                solution = import_module(module).read(file, solution)
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
    if not np.isin(arrays["modes"], range(5)).all() or not np.isin(arrays["located"][:, 1], range(len(LOCATED))).all():
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
