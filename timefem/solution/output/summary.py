"""What a solution is and how good it is, in a few lines; and as an xarray Dataset."""

import numpy as np

from ...display import Card, counted
from ...errors import needed
from ...late import Late
from ..joint_motion import joint_fields
from .tables import COORDINATES, STATES, SYSTEM_UNITS, _fields

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
    """The data of `to_json` with dimensions, as an xarray Dataset.

    Dimensions: `time` [s]; `body`, with the names of the bodies that have a position in space; `axis` (x, y, z); `row`
    and `column` of the rotation matrices; `constraint`, with the names of the constraints; per `GeneralizedBody` one of
    its coordinates. Of a joint `elbow` there are `elbow angle`, `elbow rate`, `elbow force` and `elbow torque`, the
    latter on body a in axes of space. Entries that a body does not have, such as the rotation of a point mass, are NaN.
    `multiplier` is gamma of each constraint, for joints their forces and torques [N, N m]. Of problems that determine
    them also `controls`, by actuator and number.

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
    coordinates = {"time": ("time", t, {"units": "s"})}
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
