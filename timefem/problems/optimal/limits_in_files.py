"""Limits that a model file states: of places, angles, coordinates, velocities, distances and efforts."""

import casadi as ca

from ...errors import InputError
from ...mechanics.inversion.outputs import AXES, AngleOutput, CoordinateOutput, PositionOutput
from .limits import Limit

OUTPUTS = {"position": PositionOutput, "angle": AngleOutput, "coordinate": CoordinateOutput}
COMMON = "type", "lower", "upper", "at", "points"


def limit_from_file(model, name, entry, actuators):
    """The `Limit` of a table `[limits.NAME]`."""
    keys, bodies = ("limits", name), {body.name: body for body in model.system.bodies}
    own = {key: value for key, value in entry.items() if key not in COMMON}
    for key in ("body", "other"):
        if key in own:
            own[key] = model.find((*keys, key), own[key], bodies)
    if "actuator" in own:
        own["actuator"] = model.find((*keys, "actuator"), own["actuator"], actuators)
    with model.naming(keys, entry):
        kind = entry["type"]
        formula = _of_output(OUTPUTS[kind](own.pop("body"), **own)) if kind in OUTPUTS else FORMULAS[kind](**own)
        lower, upper = (model.value_of((*keys, key), entry.get(key)) for key in ("lower", "upper"))
        return Limit(formula, lower, upper, at=entry.get("at", "path"), points=entry.get("points", 0), name=name)


def _of_output(output):
    return lambda now, u: output.value(*(now.q(body) for body in output.bodies))


def _velocity(body, axis):
    direction = ca.DM(AXES[axis])
    if not body.has_position:
        raise InputError(f"velocity: the body has no place in space: it is {body!r}")
    return lambda now, u: ca.dot(direction, now.velocity(body))


def _rate(body, index):
    if index >= body.n_q:
        raise InputError(f"rate: index must be below {body.n_q}, the coordinates of {body!r}, not {index}")
    return lambda now, u: now.rates(body)[index]


def _angular_velocity(body, axis, frame="body"):
    if not body.has_orientation:
        raise InputError(f"angular_velocity: the body does not turn: it is {body!r}")
    direction = ca.DM(AXES[axis])
    return lambda now, u: ca.dot(direction, now.angular_velocity(body, frame))


def _distance(body, other=None, point=(0.0, 0.0, 0.0)):
    """Of the centre of mass from that of another body, or from a point of space."""
    def formula(now, u):
        place = ca.DM(point) if other is None else now.position(other)
        return ca.sqrt(ca.sumsqr(now.position(body) - place) + 1e-30)
    return formula


def _effort(actuator):
    """Sum of the squared controls."""
    def formula(now, u):
        first = 0
        for part in now.system.parts:
            if part is actuator:
                return ca.sumsqr(u[first:first + part.n_controls])
            first += part.n_controls
        raise InputError(f"effort: {actuator!r} is no actuator of the system")
    return formula


FORMULAS = {"velocity": _velocity, "rate": _rate, "angular_velocity": _angular_velocity, "distance": _distance,
            "effort": _effort}
