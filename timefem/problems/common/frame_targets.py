"""What is prescribed for single links and joints of trees at an end of a motion."""

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ...mechanics.bodies.rotations import matrix_from_quaternion
from ...mechanics.bodies.states import CanonicalState, Pose
from ...mechanics.body_frame import BodyFrame, is_on_tree
from ...mechanics.states.in_trees import tree_joint
from .end_state import AsCounted, EndState


def split_targets(system, which, targets, rates):
    """Targets of whole bodies, and those of single links and joints: two dicts, the latter to `EndState`.

    An `EndState` of a link or joint, or of a joint in the dict of a tree, leaves free what it leaves out, and so do the
    joints of its tree that are left out. The base of a free tree is its first link.

    Parameters
    ----------
    rates : bool
        Whether joints of such a dict that are given by numbers, and a `Pose`, ask for velocities, too.

    Raises
    ------
    InputError
        For joints that there are not, and what links and joints do not have.
    """
    whole, of_frames = {}, {}
    partial = {body.body for key, value in targets.items() if isinstance(value, EndState)
               and is_on_tree(body := _found(system, key, value))}
    for key, value in targets.items():
        body, joint = _found(system, key, value), tree_joint(system, key)
        if isinstance(value, EndState) and is_on_tree(body):
            of_frames[body] = value
        elif joint is not None and joint.body in partial:
            name = joint.address[1]
            of_frames[_of_joint(joint.body, name)] = _end_state(joint.body, name, value, rates)
        elif hasattr(body, "by_joint") and isinstance(value, dict) and any(
                isinstance(v, EndState) for v in value.values()):
            of_frames |= {_of_joint(body, validate.choice(f"{which} of {system.label(body)}: joint", name,
                                                        body.joint_names)):
                        _end_state(body, name, own, rates) for name, own in value.items()}
        else:
            whole[key] = value
    for body, target in of_frames.items():
        _check(f"{which} of {system.label(body)}", body, target)
    return whole, of_frames


def _found(system, key, value):
    """The link or joint that an `EndState` is of, or the tree that a dict is of; else None."""
    if not isinstance(value, EndState | dict):
        return None
    joint = tree_joint(system, key)
    if joint is not None:
        return _of_joint(joint.body, joint.address[1])
    return system.find(key) if isinstance(key, str | BodyFrame) else None


def _of_joint(tree, name):
    return tree.link(tree.links[0].name) if name == tree.base_joint else tree.joint(name)


def _end_state(tree, name, value, rates):
    if isinstance(value, EndState):
        return value
    if isinstance(value, Pose) and name == tree.base_joint:
        return EndState.of(value, rates)
    given, places = tree.by_joint({name: value}), tree.joint(name).dofs
    return EndState(q=given.q[places], v=given.v[places] if rates else None)


def _check(title, body, target):
    link = body.has_position
    for name in ("q", "v") if link else ("position", "orientation", "velocity", "angular_velocity"):
        if getattr(target, name) is not None:
            raise InputError(f"{title}: {body!r} has no {name.replace('_', ' ')}; "
                             f"give {'position, orientation and their rates' if link else 'q and v'}")
    for name in () if link else ("q", "v"):
        value = getattr(target, name)
        if value is not None and len(value) != body.n_q:
            raise InputError(f"{title}: {name} must have length {body.n_q}, not {len(value)}")
    if not link and body.address[1] not in body.body.joint_names:
        raise InputError(f"{title}: this joint mimics another one; give the state of that one")


# ---- what targets ask of bodies, links and joints at an end of a motion: quantities, and their expressions

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
