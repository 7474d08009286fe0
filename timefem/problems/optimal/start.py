"""The start of an optimal control problem: a state, or conditions that leave some of it free."""

import casadi as ca
import numpy as np

from ...errors import InputError
from ...mechanics import CanonicalState, Coordinates, Pose
from ...mechanics.redundancy.redundancy import drop_redundant
from ..common.end_state import EndState
from ..initial.problem import InitialValueProblem, checked_span
from .end_conditions import EndConditions


def start_of(system, start, t_span, near=None):
    """The state at the start, or one that holds the conditions there.

    Parameters
    ----------
    system : System
    start : dict
        Body -> state; an `EndState` leaves free what it leaves out.
    t_span : (float, float)
    near : dict, optional
        Body -> state near which what is left free is looked for.

    Returns
    -------
    system : System
        Without redundant constraints, if it drops them.
    z0 : ndarray, shape (n_z,)
    t_span : (float, float)
    conditions : EndConditions or None
        None where the state is given as a whole.
    """
    if isinstance(start, EndState) and len(system.bodies) == 1:
        start = {system.bodies[0]: start}
    if not isinstance(start, dict) or not any(isinstance(state, EndState) for state in start.values()):
        given = InitialValueProblem(system, start, t_span)
        return given.system, given.z0, given.t_span, None
    start, t_span = {system.find(body): state for body, state in start.items()}, checked_span(system, t_span)
    for body in system.bodies:
        if body not in start and not body.has_position:
            raise InputError(f"start of {system.label(body)} is missing: give it as Coordinates or EndState")
        start.setdefault(body, Pose())
    near = {system.find(body): state for body, state in (near or {}).items()}
    near = {body: near.get(body, state) if isinstance(state, EndState) else state for body, state in start.items()}
    found = [_near(body, near[body], t_span[0]) for body in system.bodies]
    z = np.concatenate([*(q for q, _ in found), *(p for _, p in found)])

    def conditions(system, z):
        return EndConditions(system, start, None, t_span[0], z, which="start")

    if system.redundant == "drop":
        system = drop_redundant(system, t_span[0], conditions(system, z).state)
    found = conditions(system, z)
    return system, found.state, t_span, found


def _near(body, state, t):
    """Coordinates and momenta that a search begins from."""
    if not isinstance(state, EndState):
        return (state.q, state.p) if isinstance(state, CanonicalState) else body.state(state)

    def plain(value, n):
        return np.zeros(n) if value is None else np.where(np.isfinite(value), value, 0.0)

    if not body.has_position:
        return body.state(Coordinates(plain(state.q, body.n_q), plain(state.v, body.n_q)), t)
    turn = (1, 0, 0, 0) if state.orientation is None else state.orientation
    omega = plain(state.angular_velocity, 3) if body.has_orientation else np.zeros(3)
    return body.state(Pose(plain(state.position, 3), turn, plain(state.velocity, 3), omega, state.frame))


def start_rows(conditions, now, z, view):
    """Conditions and constraints at the start, as rows of unit gradient, and their names.

    Parameters
    ----------
    conditions : EndConditions
    now : End
        The start in symbols.
    z : SX
        The state there.
    view : View
        Of the state there.

    Returns
    -------
    rows : SX
    names : list of str
    """
    constraints = now.constraints()
    rows = ca.densify(ca.vertcat(constraints, conditions(z, ca.SX(0, 1))))
    names = [f"the constraint {i}" for i in range(constraints.numel())]
    names += [f"the {conditions.names[int(np.argmax(np.abs(c)))]} at the start" for c in conditions.combinations]
    gradient = np.array(ca.Function("gradient", [z], [ca.jacobian(rows, z)])(view.start[0]))
    size = np.linalg.norm(gradient * view.factors[0].sum(axis=1), axis=1)
    return rows / np.maximum(size, 1e-300), names
