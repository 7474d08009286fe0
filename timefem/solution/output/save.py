"""Solutions in HDF5 files: plain arrays and JSON text, written atomically."""

import dataclasses
import json
from collections.abc import Mapping
from importlib import import_module

import numpy as np

from ... import elements
from ...elements.augmented import constants, controlled, optimality
from ...elements.augmented.constants import Carrier
from ...errors import InputError
from ...mechanics.describe import describe, plain
from ...mechanics.forces.costs import Cost
from ...mechanics.redundancy.redundancy import keep_constraints
from ...mechanics.system import System
from ...version import __version__
from .hdf5 import write_in_turn

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
    shapes = {"t": (n_elements + 1,), "z0": z0.shape, "nodal_state": (n_elements, *solution.nodal_state.shape[1:]),
              "nodal_multipliers": (n_elements, *solution.nodal_multipliers.shape[1:]), "audit": (n_elements + 1, 2)}
    if solution.system.rigid_contacts:
        text = np.frombuffer(solution.events_as_text().encode(), np.uint8)
        file.create_dataset("contacts/events", data=text, compression="gzip", shuffle=True, fletcher32=True)
        shapes |= {f"contacts/{name}": values.shape for name, values in solution.contact_arrays().items()}
    shapes |= {f"fields/{name}": (n_elements, *values.shape[1:]) for name, values in solution.fields.items()}
    for name in shapes:
        file.create_dataset(name, shapes[name], float, compression="gzip", compression_opts=1, shuffle=True,
                            fletcher32=True)  # a checksum, so that damaged bytes are found when reading
    if getattr(solution, "further", None):
        import_module(FURTHER[solution.further]).write(file, solution)
    file["t"][0], file["z0"][:] = start, z0
    file["audit"][0] = audit(solution.system, [start], [z0])[0]


def _as_plain(value):
    """Arrays and mappings as JSON knows them."""
    return dict(value) if isinstance(value, Mapping) else value.tolist()


def fill(file, solution, first):
    """Write the arrays of a solution whose first element has that number in the file."""
    last = first + len(solution.t) - 1
    file["t"][first + 1:last + 1] = solution.t[1:]
    file["nodal_state"][first:last] = solution.nodal_state
    file["nodal_multipliers"][first:last] = solution.nodal_multipliers
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
        raise InputError(f"the solution cannot be saved: {name} is not an element of timefem")
    values = {f.name: getattr(element, f.name) for f in dataclasses.fields(element)}
    return {"class": name, **{key: _describe(v) if isinstance(v, elements.TimeElement) else
                              plain(f"{name} cannot be saved: {key}", v) for key, v in values.items()}}


# ---- what a file of a solution holds, and how elements are named in it

FORMAT = "timefem solution"
VERSION = 2  # 2: sealed with a checksum, with an audit of the states
FURTHER = {"estimate": "timefem.problems.estimation.estimate.saved"}  # attribute of a file -> what reads the rest of it
MARCHES = "timefem.problems.phases.contact_motion"  # solutions with rigid contact, which offer themselves as phases


def _element_class(name):
    """Class of a time element, those with controls included, by its name."""
    modules = elements, constants, controlled, optimality
    found = (getattr(module, name, None) for module in modules)
    return next((c for c in found if isinstance(c, type) and issubclass(c, elements.TimeElement)), None)
