"""Tables of a solution for other programs, CSV, JSON and xarray, and its summary."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping

import numpy as np

from ... import validate
from ...atomic_write import replacing
from ...display import Card, counted, printable
from ...errors import InputError, needed
from ...mechanics.parts import replaced_names
from ...memory import Late
from ..contact_solution import ContactSolution
from ..joint_motion import joint_fields

# Name, unit, labels of the components, and the value from body, q and p. Bodies without a position in space have
# their coordinates and rates instead; other quantities that a body does not have are left out.
BODY_FIELDS = (
    ("position", "m", ("x", "y", "z"), lambda body, q, p: body.position(q)),
    ("quaternion", "-", ("q0", "q1", "q2", "q3"), lambda body, q, p: body.quaternion(q)),
    ("rotation_matrix", "-", tuple(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)),
     lambda body, q, p: body.rotation_matrix(q)),
    ("variable_mass", "kg", ("mass",), lambda body, q, p: body.variable_mass(q)),
    ("velocity", "m/s", ("vx", "vy", "vz"), lambda body, q, p: body.velocity(q, p)),
    ("angular_velocity", "rad/s", ("Omega1", "Omega2", "Omega3"), lambda body, q, p: body.angular_velocity(q, p)),
)
COORDINATES = (("coordinates", "SI", "q", lambda body, q, p: q),
               ("rates", "SI", "qdot", lambda body, q, p: body.velocity(q, p)))
STATES = (("state", "SI", "", lambda body, q, p: q),)  # of `State`s, which have no rates of their own
FORMULA = ("=", "+", "-", "@")  # how formulas begin in spreadsheets
SYSTEM_UNITS = {"energy": "J", "linear_momentum": "kg m/s", "angular_momentum": "kg m^2/s",
                "configuration_residual": "SI", "velocity_residual": "SI", "events": "-"}


def to_csv(solution, path, times=None):
    """Write a table: one header line with names and units such as `body1.x [m]`, then one row per time.

    Columns: time; per body position and velocity of the centre of mass, quaternion (if it has one), rotation matrix,
    and angular velocity in body axes; per link of a tree that moves the same with position and velocity of the origin
    of its frame, unless it stands for a body; energy; linear and angular momentum; largest constraint residuals on
    configuration and velocity level; per joint its coordinates and rates, force and torque on body a in space axes; per
    actuator its controls, where there are some. With rigid contacts, how many events there were, and per contact its
    gap, force and the sum of its impulses (normal, then along the surface), its point and force in space axes. At the
    ends of elements all are those before the impacts there, at given times those after them.
    Numbers are written so that they read back as they were. Names that a spreadsheet would take for formulas, such as
    `=a`, have an apostrophe before them.

    Parameters
    ----------
    solution : Solution
    path : str or Path
    times : array_like, shape (n,), optional
        Times inside the solution [s]; default: the ends of the elements.

    Raises
    ------
    InputError
        When the path cannot be written, or a time lies outside of the solution.
    """
    columns = _columns(solution, times)
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(np.column_stack(list(columns.values())).tolist())


def _columns(solution, times):
    """Name and unit -> numbers at the times."""
    t, bodies, system = _fields(solution, times)
    columns = {"t [s]": t}
    for label, fields in bodies.items():
        for name, unit, components, _ in BODY_FIELDS:
            if name in fields:
                for component, values in zip(components, fields[name].reshape(len(t), -1).T, strict=True):
                    columns[f"{label}.{component} [{unit}]"] = values
        for name, unit, symbol, _ in (*COORDINATES, *STATES):
            rows = fields.get(name, np.zeros((len(t), 0))).T
            for i, values in enumerate(rows):
                component = f".{symbol}{i + 1}" if symbol or len(rows) > 1 else ""
                columns[f"{label}{component} [{unit}]"] = values
    for name, values in system.items():
        if values.ndim == 1:
            columns[f"{name} [{SYSTEM_UNITS[name]}]"] = values
        else:
            columns |= {f"{name}.{a} [{SYSTEM_UNITS[name]}]": v for a, v in zip("xyz", values.T, strict=True)}
    for label, fields in joint_fields(solution, None if times is None else t).items():
        for name, (values, unit) in fields.items():
            parts = {"": values} if values.ndim == 1 else dict(zip((" x", " y", " z"), values.T, strict=True))
            columns |= {f"{label}.{name}{axis} [{unit}]": v for axis, v in parts.items()}
    for label, fields in contact_fields(solution, None if times is None else t).items():
        for name, (values, unit) in fields.items():
            axes = [f".{axis}" for axis in QUANTITIES[name][1]] or [""]
            columns |= {f"{label}.{name}{axis} [{unit}]": v
                        for axis, v in zip(axes, values.reshape(len(t), -1).T, strict=True)}
    for label, values in _controls(solution, t).items():
        columns |= {f"{label}.control{i if values.shape[1] > 1 else ''} [SI]": v for i, v in enumerate(values.T, 1)}
    return columns


def to_json(solution, path, times=None):
    """Write what `to_dict` returns as one JSON object; arguments as of `to_csv`."""
    data = to_dict(solution, times)
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(data, file, allow_nan=False)


def to_dict(solution, times=None):
    """The data of `to_csv` in plain Python, with the status and the statistics.

    Returns
    -------
    dict
        `{"t", "bodies": {name: {"position", ...}}, "joints": {name: {"angle", "rate", "force", ...}}, "system":
        {"energy", ...}, "controls": {name: ...}, "units", "status", "statistics"}`, with rigid
        contacts also "contacts": {name: {"gap", "force", ...}} and "events", a list in time order. Numbers that are not
        finite become None.
    """
    t, bodies, system = _fields(solution, times)
    units = {"t": "s", **{name: unit for name, unit, _, _ in BODY_FIELDS + COORDINATES + STATES}, **SYSTEM_UNITS}
    own = None if times is None else t
    data = {"t": t, "bodies": bodies, "joints": joint_fields(solution, own), "system": system, "units": units,
            "controls": _controls(solution, t), "status": solution.status.as_dict(), "statistics": solution.statistics}
    if isinstance(solution, ContactSolution):
        data |= {"contacts": contact_fields(solution, own), "events": [event.as_dict() for event in solution.events]}
    for what in ("joints", "contacts") if "contacts" in data else ("joints",):
        units[what] = {label: {name: unit for name, (_, unit) in fields.items()}
                       for label, fields in data[what].items()}
        data[what] = {label: {name: values for name, (values, _) in fields.items()}
                      for label, fields in data[what].items()}
    return _finite(data)


def _controls(solution, t):
    """Label of an actuator -> its controls, shape (n_t, n_controls)."""
    if "controls" not in solution.fields:
        return {}
    actuators = [part for part in solution.system.parts if part.n_controls]
    return {solution.system.label(part): solution.controls(t, part) for part in actuators}


def _cell(name):
    """A name as a cell: what a spreadsheet would take for a formula is marked as text."""
    name = printable(name)
    return f"'{name}" if name.startswith(FORMULA) else name


def _fields(solution, times):
    """Times, per body a dict of arrays, and a dict of arrays of the system."""
    if times is None:
        t, z = solution.t, solution.z
    else:
        t = validate.array("times", np.atleast_1d(times), (None,))
        if not len(t):
            raise InputError("times must have one time at least: leave them out for all ends of elements")
        z = solution(t)
    model = solution.system
    q, p = z[:, :model.n_q], z[:, model.n_q:]
    bodies = {}
    for body in (body for body in model.bodies if not body.helper):
        part = model.coordinates(body)
        fields = [f for f in BODY_FIELDS if hasattr(body, f[0])] if hasattr(body, "position") else \
            COORDINATES if body.has_rate else STATES
        bodies[model.label(body)] = {name: np.asarray(value(body, q[:, part], p[:, part]))
                                     for name, _, _, value in fields}
        if body.frame_names:
            bodies |= _links(model, body, q[:, part], p[:, part])
    own = None if times is None else t
    configuration, velocity = solution.constraints(own)
    system = {"energy": solution.energy(own)}
    for name in ("linear_momentum", "angular_momentum"):
        if all(hasattr(body, name) for body in model.bodies):
            system[name] = getattr(solution, name)(own)
    system |= {"configuration_residual": np.abs(configuration).max(axis=-1, initial=0.0),
              "velocity_residual": np.abs(velocity).max(axis=-1, initial=0.0)}
    if isinstance(solution, ContactSolution):
        system["events"] = n_events(solution, own)
    return t, bodies, system


def _links(system, tree, q, p):
    """Label of each link of a tree that moves -> its fields."""
    rates, found = tree.velocity(q, p), {}
    links = [name for name, word in tree.frame_names.items() if word == "link"]
    stand_ins = {own.address[1]: (name, own) for name, own in replaced_names(system).items()
                 if own.address[0] == "link" and own.address[1] in links and tree.frame_at(*own.address) is own}
    for link in links:
        name, own = stand_ins.get(link, (f"{system.label(tree)}.{link}", tree.frame_at("link", link)))
        if len(own.dofs):
            found[name] = {field: np.asarray(value(own, q[:, own.dofs], rates[:, own.dofs]))
                           for field, _, _, value in BODY_FIELDS if hasattr(own, field)}
    return found


def _finite(value):
    """`value` in the types of JSON, with None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): _finite(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- What a solution is and how good it is, in a few lines; and as an xarray Dataset

dataset = Late("timefem.solution.output.dataset")

ERRORS = {"energy": ("energy, work taken off", "J"),
          "generalized_energy": ("generalized energy, work taken off", "J"),
          "angular_momentum": ("angular momentum, about axes without a moment", "kg m^2/s"),
          "configuration": ("constraints", "SI"),
          "velocity": ("constraints on velocity level", "SI"),
          "quaternion_momentum": ("q.p of quaternions", "kg m^2/s")}


def summarize(solution):
    """A `Card` with element, mesh, statistics of the solve, and errors of the invariants."""
    statistics, system = solution.statistics, solution.system
    n = len(solution.t) - 1
    facts = {"status": solution.status.message,
             "element": repr(solution.element),
             "time": f"{solution.t[0]:g} to {solution.t[-1]:g} s in {counted(n, 'element')}",
             "system": ", ".join([counted(len(system.bodies), "body"), counted(system.n_q, "coordinate"),
                                  counted(system.n_constraints, "constraint")])}
    if statistics:
        backend = f", backend {statistics['backend']}" if statistics["backend"] else ""
        backend += f" in order of {statistics['ordering']}" if statistics.get("ordering") else ""
        newton, seconds = statistics["newton_iterations"], statistics["seconds"]
        facts |= {"solved by": f"driver {statistics['driver']}{backend}, {counted(statistics['n_ranks'], 'rank')}",
                  "time taken": ", ".join(f"{name} {value:.2g} s" for name, value in seconds.items()),
                  "unknowns": statistics["n_unknowns"],
                  "Newton iterations": f"{newton['mean']:.1f} on average, at most {newton['max']}"}
    if "objective" in statistics:
        facts["objective"] = f"{statistics['objective']:.9g}" + ", of the last iterate" * (not solution.success)
    if statistics.get("parameters"):  # those that were unknown
        facts["found"] = ", ".join(f"{name} = {value:.6g}" for name, value in statistics["parameters"].items())
    rows = [("what", "largest", "unit")]
    for name, value in solution.errors().items():
        what, unit = ERRORS.get(name, (name.replace("_", " "), ""))
        rows.append((what, f"{value:.1e}", unit))
    return Card("Solution", facts, {"changes and residuals at the ends of the elements": rows})


def to_xarray(solution, times=None):
    """The data of `to_dict` with dimensions, as an xarray Dataset.

    Dimensions: `time` [s]; `body`, with the names of the bodies that have a position in space; `axis` (x, y, z); `row`
    and `column` of the rotation matrices; `constraint`, with the names of the constraints; per `GeneralizedBody` one of
    its coordinates. Of a joint `elbow` there are `elbow angle`, `elbow rate`, `elbow force` and `elbow torque`, the
    latter on body a in axes of space. Entries that a body does not have, such as the rotation of a point mass, are NaN.
    `multiplier` is gamma of each constraint, for joints their forces and torques [N, N m]. Of problems that determine
    them also `controls`, by actuator and number. With rigid contacts `contact gap`, `contact force` and others with the
    dimensions `contact` and `along` (normal, then along the surface), and `event kind`, `event energy`, `event impulse`
    with the dimension `event`.

    Parameters
    ----------
    solution : Solution
    times : array_like, shape (n,), optional
        Times inside the solution [s]; default: the ends of the elements.

    Returns
    -------
    xarray.Dataset
        With units in the attributes. Its `to_dataframe()` has one row per time; see `Dataset`.

    Raises
    ------
    InputError
        When a time lies outside of the solution.
    MissingBackend
        When xarray is not installed.
    """
    needed("xarray", "to_xarray")
    t, bodies, values = _fields(solution, times)
    axes = {"position": ("axis",), "velocity": ("axis",), "angular_velocity": ("axis",), "quaternion": ("component",),
            "rotation_matrix": ("row", "column")}
    sizes = {"axis": 3, "component": 4, "row": 3, "column": 3}
    units = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s"}
    placed = [name for name, fields in bodies.items() if "position" in fields]
    data = {}
    for quantity, dimensions in axes.items():
        if any(quantity in bodies[name] for name in placed):
            missing = np.full((len(t), *(sizes[d] for d in dimensions)), np.nan)
            stacked = np.stack([bodies[name].get(quantity, missing) for name in placed], axis=1)
            data[quantity] = (("time", "body", *dimensions), stacked, {"units": units.get(quantity, "1")})
    for name, fields in bodies.items():
        for quantity, *_ in COORDINATES + STATES:
            if quantity in fields:
                data[f"{name} {quantity}"] = (("time", f"{name} coordinate"), fields[quantity], {"units": "SI"})
    for name, array in values.items():
        data[name] = (("time", *["axis"] * (array.ndim - 1)), array, {"units": SYSTEM_UNITS[name]})
    for name, fields in joint_fields(solution, None if times is None else t).items():
        for quantity, (array, unit) in fields.items():
            data[f"{name} {quantity}"] = (("time", *["axis"] * (array.ndim - 1)), array, {"units": unit})
    further, coordinates = contact_variables(solution, None if times is None else t)
    data |= further
    coordinates |= {"time": ("time", t, {"units": "s"})}
    coordinates |= {"body": placed} if placed else {}
    coordinates |= {"axis": list("xyz")} if any("axis" in entry[0] for entry in data.values()) else {}
    if solution.system.n_constraints and len(solution.t) > 1:
        gamma = solution.multipliers(t)[:, :solution.system.n_constraints]
        data["multiplier"] = (("time", "constraint"), gamma, {"units": "SI"})
        coordinates["constraint"] = solution.system.constraint_names
    if "controls" in solution.fields:
        data["controls"] = (("time", "control"), solution.controls(t), {"units": "SI"})
        coordinates["control"] = [f"{solution.system.label(part)} {i + 1}" for part in solution.system.parts
                                  for i in range(part.n_controls)]
    return dataset.Dataset(data, coordinates, {"element": repr(solution.element), "status": solution.status.reason})


ALONG = "normal", "slip1", "slip2"  # the axes of a contact: that of the gap, then those along the surface
QUANTITIES = {"gap": ("m", ()), "force": ("N", ALONG), "impulse": ("N s", ALONG), "point": ("m", tuple("xyz")),
              "force_vector": ("N", tuple("xyz"))}  # unit, and components


def contact_fields(solution, times):
    """Name of a contact -> quantity -> (values, unit); as the states of tables at the ends of elements, where times are
    None, before the impacts there, else after them.

    Impulses are the sum of all up to then. Contacts that are not at points of space, such as stops of joints, have
    neither points nor vectors, and the units of what they stop.
    """
    if not isinstance(solution, ContactSolution):
        return {}
    side = "left" if times is None else "right"
    values = {"gap": solution.contact_gaps(times), "force": solution.contact_forces(times, side=side),
              "impulse": np.cumsum(_impulses(solution), axis=0)[n_events(solution, times)],
              "point": solution.contact_points(times),
              "force_vector": solution.contact_force_vectors(times, side=side)}
    found = {}
    for c, name in enumerate(solution.contact_names):
        placed = np.isfinite(values["point"][:, c]).all()
        found[name] = {what: (values[what][:, c], unit if placed else "SI")
                       for what, (unit, axes) in QUANTITIES.items() if placed or axes != tuple("xyz")}
    return found


def n_events(solution, times):
    """How many events there were before the ends of the elements, or up to given times."""
    t, side = (solution.t, "left") if times is None else (times, "right")
    return np.searchsorted([event.t for event in solution.events], t, side=side)


def _impulses(solution):
    """Of the events, after a row of zeros, shape (n_events + 1, n_contacts, 3)."""
    names = solution.contact_names
    found = np.zeros((len(solution.events) + 1, len(names), 3))
    for own, event in zip(found[1:], solution.events, strict=True):
        for name, impulse in zip(event.contacts, event.impulses, strict=False):  # some events have none
            own[names.index(name)] += impulse
    return found


def contact_variables(solution, times):
    """Variables and coordinates of an xarray Dataset, those of events with a dimension of their own."""
    fields = contact_fields(solution, times)
    if not fields:
        return {}, {}
    data, n = {}, len(next(iter(fields.values()))["gap"][0])
    for what, (_, axes) in QUANTITIES.items():
        own = [of.get(what, (np.full((n, 3), np.nan), "SI")) for of in fields.values()]
        units = {unit for _, unit in own}
        axis = () if not axes else ("along",) if axes == ALONG else ("axis",)
        data[f"contact {what}"] = (("time", "contact", *axis), np.stack([values for values, _ in own], axis=1),
                                   {"units": units.pop() if len(units) == 1 else "SI"})
    events = solution.events
    data["event kind"] = ("event", np.array([event.kind for event in events], object))
    data["event energy"] = ("event", np.array([event.energy for event in events]), {"units": "J"})
    data["event impulse"] = (("event", "contact", "along"), _impulses(solution)[1:],
                             data["contact impulse"][2])
    times_of_events = ("event", np.array([event.t for event in events]), {"units": "s"})
    return data, {"contact": list(fields), "along": list(ALONG), "event time": times_of_events}
