"""Solutions in HDF5 files: plain arrays and JSON text, written atomically."""

import dataclasses
import json
import os
import uuid
from contextlib import contextmanager
from pathlib import Path

from .. import elements
from ..elements import derived, servo
from ..errors import InputError
from ..mechanics import Cost, System
from ..mechanics.describe import build, describe, plain
from ..mechanics.redundancy import keep_constraints
from ..solvers.status import Status
from .solution import Solution

FORMAT = "timefem solution"
VERSION = 1
ARRAYS = ("t", "z0", "nodal_state", "nodal_multipliers")


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
    import h5py

    with replacing(path) as temporary, h5py.File(temporary, "w") as file:
        create(file, solution, len(solution.t) - 1, solution.t[0], solution.z[0])
        fill(file, solution, 0)


def create(file, solution, n_elements, start, z0):
    """Write what describes a solution of that many elements, from time `start`, and make room for its arrays."""
    data = {"system": describe(_without_costs(solution.system)), "element": _describe(solution.element),
            "status": solution.status.as_dict(), "statistics": solution.statistics}
    texts = {name: json.dumps(value, default=lambda number: number.tolist()) for name, value in data.items()}
    file.attrs.update(format=FORMAT, format_version=VERSION, timefem_version=_version(), **texts)
    shapes = {"t": (n_elements + 1,), "z0": z0.shape, "nodal_state": (n_elements, *solution.nodal_state.shape[1:]),
              "nodal_multipliers": (n_elements, *solution.nodal_multipliers.shape[1:])}
    shapes |= {f"fields/{name}": (n_elements, *values.shape[1:]) for name, values in solution.fields.items()}
    for name in shapes:
        file.create_dataset(name, shapes[name], float, compression="gzip", compression_opts=1, shuffle=True,
                            fletcher32=True)  # a checksum, so that damaged bytes are found when reading
    file["t"][0], file["z0"][:] = start, z0


def fill(file, solution, first):
    """Write the arrays of a solution whose first element has that number in the file."""
    last = first + len(solution.t) - 1
    file["t"][first + 1:last + 1] = solution.t[1:]
    file["nodal_state"][first:last] = solution.nodal_state
    file["nodal_multipliers"][first:last] = solution.nodal_multipliers
    for name, values in solution.fields.items():
        file[f"fields/{name}"][first:last] = values


def load(path):
    """Read a solution from an HDF5 file written by `save`.

    Returns
    -------
    Solution
        Equal to the saved one bit for bit.

    Raises
    ------
    InputError
        When there is no such file, it is not a complete timefem file, or it names unknown parts or elements.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise InputError(f"{path} is not a timefem solution")
            if file.attrs["format_version"] != VERSION:
                raise InputError(f"{path} has format version {file.attrs['format_version']}; this timefem reads "
                                 f"version {VERSION}")
            arrays = {name: file[name][()] for name in ARRAYS}
            fields = {name: values[()] for name, values in file.get("fields", {}).items()}
            data = {name: json.loads(file.attrs[name]) for name in ("system", "element", "status", "statistics")}
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    # what h5py raises for damaged files depends on where the damage is
    except (OSError, KeyError, RuntimeError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} cannot be read as a timefem solution: {error}") from None
    try:
        system, element, status = build(data["system"]), build_element(data["element"]), Status(**data["status"])
        system = derived.with_carrier(system, element)
    except (InputError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None
    n = len(arrays["t"]) - 1
    shapes = {"z0": (system.n_z,), "nodal_state": (n, element.state.basis.n_shapes, system.n_z),
              "nodal_multipliers": (n, element.multiplier.basis.n_shapes, system.n_multipliers)}
    further = {name: space for name, space in element.trial.items() if name not in ("state", "multipliers")}
    sizes = elements.components(system, [space.components for space in further.values()])
    further = {name: (n, space.basis.n_shapes, sizes[space.components].size) for name, space in further.items()
               if sizes[space.components].size}
    if set(fields) != set(further):
        raise InputError(f"{path}: the file has the fields {sorted(fields)}, but the element {sorted(further)}")
    shapes |= further
    for name, shape in shapes.items():
        found = (arrays | fields)[name].shape
        if found != shape:
            raise InputError(f"{path}: {name} has shape {found}, but the system needs {shape}")
    return Solution(system, element, arrays["t"], arrays["z0"], arrays["nodal_state"], arrays["nodal_multipliers"],
                    status, data["statistics"], fields)


def check_savable(system):
    """Check, before any work is done, that solutions of a system can be saved.

    Raises
    ------
    InputError
        When a part holds something that is not plain data, such as a function.
    """
    describe(_without_costs(system))


def check_writable(path):
    """Check, before any work is done, that a file can be written to `path`; the file is not touched.

    Returns
    -------
    Path
        The path, with symbolic links followed.

    Raises
    ------
    InputError
        When the path is a folder, its folder does not exist, or there is no permission.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(f"cannot write {path}: no permission")
    return target


@contextmanager
def replacing(path):
    """Path of a temporary file in the folder of `path`; it takes the place of `path` when the block succeeds."""
    target = check_writable(path)
    temporary = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file)  # the rename must not reach the disk before the data
        os.replace(temporary, target)
    except OSError as error:  # for instance a full disk
        raise OSError(f"could not write {path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _without_costs(system):
    """The system without parts that have no part in the motion."""
    if not any(isinstance(part, Cost | derived.Carrier) for part in system.parts):
        return system
    if system.complete is not None:
        return keep_constraints(_without_costs(system.complete), system.kept)
    return System([part for part in system.parts if not isinstance(part, Cost | derived.Carrier)],
                  redundant=system.redundant)


def _describe(element):
    name = type(element).__name__
    if _element_class(name) is not type(element):
        raise InputError(f"the solution cannot be saved: {name} is not an element of timefem")
    values = {f.name: getattr(element, f.name) for f in dataclasses.fields(element)}
    return {"class": name, **{key: _describe(v) if isinstance(v, elements.TimeElement) else
                              plain(f"{name} cannot be saved: {key}", v) for key, v in values.items()}}


def build_element(description):
    """The time element of a description in a file."""
    values = dict(description)
    name = values.pop("class")
    cls = _element_class(str(name))
    if cls is None:
        raise InputError(f"unknown element {name!r}")
    return cls(**{key: build_element(v) if isinstance(v, dict) else v for key, v in values.items()})


def _element_class(name):
    """Class of a time element, those with controls included, by its name."""
    found = (getattr(module, name, None) for module in (elements, derived, servo))
    return next((c for c in found if isinstance(c, type) and issubclass(c, elements.TimeElement)), None)


def _version():
    from .. import __version__

    return __version__
