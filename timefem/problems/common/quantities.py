"""What targets ask of bodies, links and joints at an end of a motion: quantities, and their expressions."""

import casadi as ca
import numpy as np

from ...mechanics.bodies.rotations import matrix_from_quaternion
from ...mechanics.bodies.states import CanonicalState
from .end_state import AsCounted

EXPRESSIONS = {  # quantity -> expressions of an `End`, of a body, in the axes of a frame
    "coordinates": lambda end, body, _: end.q(body), "momenta": lambda end, body, _: end.p(body),
    "velocities": lambda end, body, _: end.rates(body), "position": lambda end, body, _: end.q(body),
    "orientation": lambda end, body, _: end.q(body)[3:], "velocity": lambda end, body, _: end.rates(body),
    "angular velocity": lambda end, body, frame: end.angular_velocity(body, frame),
    "turns": lambda end, body, _: body.conditions_at_start(end.q(body), end.p(body), end.q)}
OF_FRAMES = EXPRESSIONS | {  # of links and joints of trees
    "position": lambda end, body, _: end.position(body), "velocity": lambda end, body, _: end.velocity(body),
    "orientation": lambda end, body, _: end.q(body)[3:] if _is_base(body) else ca.vec(end.rotation_matrix(body))}


def asked_of(body, target):
    """Name of a quantity -> what is wanted, numbers that are nan where they are free.

    Of the base of a tree the orientation is the quaternion, whose length is a coordinate; of other links the nine
    entries of the rotation matrix, three of which are independent; of bodies their own coordinates of it.

    Parameters
    ----------
    body : Body
    target : EndState or CanonicalState
        Checked.
    """
    if isinstance(target, CanonicalState):
        return {"coordinates": target.q, "momenta": target.p}
    if isinstance(target, AsCounted):
        return {"turns": np.zeros(2)}
    turn, n = target.orientation, None
    if body.is_body:
        n = body.dimension if body.has_position else None
        turn = turn if turn is None else body.rotation_coordinates(turn)
    elif turn is not None and not _is_base(body):
        turn = matrix_from_quaternion(turn).ravel(order="F")
    every = {"coordinates": target.q, "velocities": target.v,
             "position": target.position, "orientation": turn,
             "velocity": target.velocity, "angular velocity": target.angular_velocity}
    return {what: np.asarray(wanted, float)[:n if what in ("position", "velocity") else None]
            for what, wanted in every.items() if wanted is not None}


def expressions(end, body, what, frame, given):
    """A quantity of a body, in the symbols of an `End`: the components `given`, SX."""
    values = (EXPRESSIONS if body.is_body else OF_FRAMES)[what](end, body, frame)
    return ca.vertcat(ca.SX(0, 1), *(values[i] for i in given))


def _is_base(body):
    tree = body.body
    return tree is not None and tree.base_joint is not None and body.address[:2] == ("link", tree.links[0].name)
