"""Read a solution from a file."""

import json

import h5py

from ... import elements
from ...elements.augmented.constants import with_carrier
from ...errors import InputError
from ...mechanics.describe import build
from ...status import Status
from ..solution import Solution
from .layout import ARRAYS, FORMAT, VERSION, _element_class


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
        system = with_carrier(system, element)
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


def build_element(description):
    """The time element of a description in a file."""
    values = dict(description)
    name = values.pop("class")
    cls = _element_class(str(name))
    if cls is None:
        raise InputError(f"unknown element {name!r}")
    return cls(**{key: build_element(v) if isinstance(v, dict) else v for key, v in values.items()})
