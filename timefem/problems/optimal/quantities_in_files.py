"""Quantities of states and controls that a model file names: places, angles, coordinates, rates, distances, efforts."""

import casadi as ca

from ...errors import InputError
from ...mechanics.inversion.outputs import AXES, TYPES, JointOutput


def quantity_from_file(model, keys, entry, besides=()):
    """The formula of a quantity, `formula(now, u)` -> expressions.

    Parameters
    ----------
    model : Model
    keys : tuple
        Of the entry in the file.
    entry : dict
    besides : sequence of str
        Its keys that do not belong to the quantity.
    """
    if entry["type"] == "sum":
        terms = [(term.get("factor", 1.0), quantity_from_file(model, (*keys, "terms", i), term, ("factor",)))
                 for i, term in enumerate(entry["terms"])]
        return lambda now, u: sum(factor * formula(now, u) for factor, formula in terms)
    own = {key: value for key, value in entry.items() if key != "type" and key not in besides}
    own = model.names.resolved(keys, own, whole=False)
    if "actuator" in own:
        own["actuator"] = actuator_from_file(model, (*keys, "actuator"), own["actuator"])
    kind = entry["type"]
    with model.naming(keys, entry):
        return FORMULAS[kind](**own) if kind in FORMULAS else _of_output(TYPES[kind](**own))


def actuator_from_file(model, keys, name):
    """The actuator of that name."""
    return model.find(keys, name, model.names.actuators, "actuator")


def control_of(actuator, what="force"):
    """The formula of the only control of an actuator."""
    if actuator.n_controls != 1:
        raise InputError(f"{what} must be an actuator with one control, and {actuator!r} has {actuator.n_controls}; "
                         "split it")
    return _control(actuator)


def _of_output(output):
    return lambda now, u: output.value(*(now.q(body) for body in output.bodies))


def _components(what, body, index, values):
    if index is not None and index >= body.n_q:
        raise InputError(f"{what}: index must be below {body.n_q}, the coordinates of {body!r}, not {index}")
    return values if index is None else lambda now, u: values(now, u)[index]


def _coordinate(body, index=None):
    return _components("coordinate", body, index, lambda now, u: now.q(body))


def _rate(body, index=None):
    return _components("rate", body, index, lambda now, u: now.rates(body))


def _velocity(body, axis):
    direction = ca.DM(AXES[axis])
    if not body.has_position:
        raise InputError(f"velocity: the body has no place in space: it is {body!r}")
    return lambda now, u: ca.dot(direction, now.velocity(body))


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


def _joint_rate(joint, coordinate=None):
    output = JointOutput(joint, coordinate)

    def formula(now, u):
        q = [ca.SX.sym("q", body.n_q) for body in output.bodies]
        gradient = ca.Function("gradient", q, [ca.jacobian(ca.SX(output.value(*q)), ca.vertcat(*q))])
        return gradient(*map(now.q, output.bodies)) @ ca.vertcat(*map(now.rates, output.bodies))
    return formula


def _controls(actuator, u, now):
    """The controls of an actuator, of those of all."""
    if u is None:
        raise InputError(f"{actuator!r}: controls are not those of an end, which couplings tie; leave it out")
    first = 0
    for part in now.system.parts:
        if part is actuator:
            return u[first:first + part.n_controls]
        first += part.n_controls
    raise InputError(f"{actuator!r} is no actuator of the system")


def _effort(actuator):
    """Sum of the squared controls."""
    return lambda now, u: ca.sumsqr(_controls(actuator, u, now))


def _control(actuator, index=None):
    if index is not None and index >= actuator.n_controls:
        raise InputError(f"control: index must be below {actuator.n_controls}, the controls of {actuator!r}, not "
                         f"{index}")
    return lambda now, u: _controls(actuator, u, now) if index is None else _controls(actuator, u, now)[index]


FORMULAS = {"coordinate": _coordinate, "rate": _rate, "velocity": _velocity, "angular_velocity": _angular_velocity,
            "distance": _distance, "joint_rate": _joint_rate, "effort": _effort, "control": _control}
