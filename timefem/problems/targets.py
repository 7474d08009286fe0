"""What is prescribed for bodies, links and joints at an end of a motion, checked, and as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import casadi as ca
import numpy as np

from .. import validate
from ..display import digits
from ..errors import InputError, NamedArguments, NotAsked, warn
from ..mechanics.bodies import rotations
from ..mechanics.bodies.states import CanonicalState, Coordinates, Pose
from ..mechanics.body_frame import BodyFrame, is_on_tree
from ..mechanics.parts import is_joint
from ..mechanics.states.from_joints import given_coordinates
from ..mechanics.states.given import (
    apart_from_joints,
    canonical_states,
    follows_from_joints,
    given_states,
    in_space,
    joint_meant,
    tree_joint,
    with_joints_of_trees,
)
from ..mechanics.symbols import Symbols
from ..records import frozen
from ..types import Matrix, Vector


@frozen(eq=False)
class EndState(NamedArguments):
    """State of a body at the end, of which only what is given is prescribed; None is free.

    Parameters
    ----------
    position, velocity : array_like, shape (3,), optional
        Of the centre of mass in space [m, m/s]; entries that are None are free.
    orientation : array_like, shape (4,) or (3, 3), optional
        Unit quaternion (scalar first) or rotation matrix.
    angular_velocity : array_like, shape (3,), optional
        [rad/s], in the axes `frame`; entries that are None are free.
    frame : {"body", "space"}
    q, v : array_like, shape (n,), optional
        Generalized coordinates and velocities of a `GeneralizedBody`; entries that are None are free.
    """

    position: Sequence[float | None] | np.ndarray | None = None
    orientation: Vector | Matrix | None = None
    velocity: Sequence[float | None] | np.ndarray | None = None
    angular_velocity: Sequence[float | None] | np.ndarray | None = None
    frame: str = "body"
    q: Sequence[float | None] | np.ndarray | None = None
    v: Sequence[float | None] | np.ndarray | None = None

    def __post_init__(self):
        validate.choice("frame", self.frame, ("body", "space"))
        for name in ("position", "velocity", "angular_velocity"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _partial(name, getattr(self, name), 3))
        for name in ("q", "v"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _partial(name, getattr(self, name), len(getattr(self, name))))
        if self.orientation is not None:
            object.__setattr__(self, "orientation", rotations.as_quaternion(self.orientation))

    @classmethod
    def of(cls, value: Pose | Coordinates, rates: bool = True) -> EndState:
        """The same of a `Pose` or of `Coordinates`, which ask for everything, or without velocities."""
        if isinstance(value, Coordinates):
            given = {"q": value.q} | ({"v": value.v} if rates else {})
        else:
            given = {"position": value.position, "orientation": value.quaternion}
            if rates:
                given |= {name: getattr(value, name) for name in ("velocity", "angular_velocity", "frame")}
        made = object.__new__(cls)  # all of this was checked
        made.__dict__.update(given)
        return made


class AsCounted(EndState):
    """Of a counter of turns at the start of a motion: that of the angle which it counts, with its first turn."""


def _partial(name, value, n):
    if type(value) is np.ndarray and value.shape == (n,) and value.dtype == float and isfinite(value.sum()):
        return value.copy()  # the usual case
    try:
        given = np.array(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of {n} numbers, or None where it is free, not {value!r}") from None
    of_arrays = isinstance(value, np.ndarray)  # such as attributes of another `EndState`, with nan for what is free
    free = np.array([x is None or (of_arrays and np.isnan(y)) for x, y in zip(value, given, strict=True)]) \
        if given.ndim == 1 else False
    if given.shape != (n,) or not np.all(np.isfinite(given) | free):
        raise InputError(f"{name} must be an array of {n} numbers, or None where it is free, not {digits(given)}")
    return given


def body_velocity(body, q, p, own=None):
    """Velocities qdot = dH/dp of a body, SX, with other `own_parameters`."""
    s = Symbols(body)
    own = body.own_parameters if own is None else own
    return ca.Function("velocity", [s.q[0], s.p[0], s.own], [s.velocity[0]])(q, p, own)


# ---- What is prescribed for bodies at an end of a motion, checked

ASKED_BY = "leave it out, or ask for it by an EndState or by conditions, as in end.joint_rate('hinge') - 0.5"


def _targets_of_bodies(system, which, targets, t, rates):
    """Targets by body, from those by body, joint of a tree or joint between bodies.

    With joints between bodies among the keys, or joints of trees where others close loops, the bodies that hang
    together with these or with the ground follow from them, as in `System.state`.

    Parameters
    ----------
    rates : bool
        Whether coordinates of joints ask for velocities, too.

    Raises
    ------
    InputError
        For an `EndState` of what follows from joints, and what `System.state` raises.
    """
    joint = next((key for key in targets if follows_from_joints(system, key)), None)
    if joint is None:
        return with_joints_of_trees(system, targets)
    apart = apart_from_joints(system, targets)
    own = {body: value for key, value in targets.items() if not joint_meant(system, key)
           and (body := system.find(key)) in apart}
    rest = {key: value for key, value in targets.items() if joint_meant(system, key) or system.find(key) not in own}
    if any(isinstance(value, EndState) for value in rest.values()):
        label = joint if isinstance(joint, str) else system.label(joint)
        raise InputError(f"{which}: the state of all bodies follows from the coordinates of joints, such as {label!r}, "
                         "and cannot be combined with EndStates; give EndStates of bodies, and in optimal control of "
                         "single joints a Limit(joint, value, value, at='end')")
    anywhere = {body: Coordinates(np.zeros(body.n_q)) for body in apart if not body.has_position}
    states = given_states(system, canonical_states(system, rest | anywhere, t))
    found = {body: state for body, (_, state) in states.items() if not (body.helper or body in apart)}
    for body, value in own.items():
        if not (body.has_position or isinstance(value, EndState)):
            found[body] = CanonicalState(*body.state(value, t))
    return own | {body: state if rates else _configuration(body, state) for body, state in found.items()}


def _configuration(body, state):
    if not body.begins_with_position:
        return EndState(q=state.q)
    turn = body.orientation(state.q) if body.has_orientation else None
    return EndState(position=body.position(state.q), orientation=turn)


def _moves(value):
    """Whether a velocity is given where coordinates alone are asked for."""
    if isinstance(value, dict):
        return any(map(_moves, value.values()))
    if isinstance(value, Pose):
        return value.velocity.any() or value.angular_velocity.any()
    if isinstance(value, Coordinates):
        return np.any(value.v)
    return False  # rates of joints are asked for


def given_angles(system, states):
    """Angles of joints between bodies that a dict of states gives, by joint and name of the coordinate."""
    found = {}
    for key, value in states.items() if isinstance(states, dict) else ():
        joint = joint_meant(system, key)
        if joint is None or is_on_tree(joint) or not joint.coordinates or joint.free_rotation:
            continue
        values = given_coordinates(system.label(joint), joint, value)
        found |= {(joint, c.name): values[c.name][0] for c in joint.coordinates if c.turns}
    return found


def check_turns(system, start, end):
    """Refuse angles of joints at both ends that orientations of bodies do not tell from others: quaternions tell turns
    of less than a whole one, by their signs, directors of less than half a one.

    Raises
    ------
    InputError
    """
    if not (isinstance(start, dict) and isinstance(end, dict)):
        return
    first = given_angles(system, start)
    for (joint, name), last in given_angles(system, end).items():
        turn = abs(last - first.get((joint, name), last))
        signed = all(hasattr(body, "quaternion") for body in joint.bodies if body.has_orientation)
        if turn >= (2 if signed else 1) * np.pi:
            raise InputError(f"{system.label(joint)}: {name} goes by {turn:.3g} rad from start to end, which the "
                             f"{'quaternions' if signed else 'directors'} of its bodies do not tell from less; "
                             "System(..., coordinates='joint') counts turns")


def checked_targets(system, which, targets, t, rates):
    """What is prescribed for bodies, links and joints: dict body -> EndState or CanonicalState.

    Parameters
    ----------
    which : str
        For messages: "start", "end" or "near".
    targets : dict, Pose, EndState, Coordinates, CanonicalState or None
        By body, joint of a tree or joint between bodies, or name; without the dict of the only body.
    t : float
        Time [s].
    rates : bool
        Whether a `Pose`, `Coordinates` and coordinates of joints ask for velocities, too.

    Raises
    ------
    InputError
        For bodies that there are not, types and lengths that do not fit, and what bodies do not have.

    Warns
    -----
    NotAsked
        For velocities that are given and not asked for.
    """
    if isinstance(targets, Coordinates | CanonicalState | EndState | Pose) and len(system.bodies) == 1:
        targets = {system.bodies[0]: targets}
    if targets is None:
        return {}
    if not isinstance(targets, dict):
        raise InputError(f"{which} must be a dict from body to Pose, EndState or Coordinates, not {targets!r}")
    for key, value in targets.items() if not rates and which != "near" else ():
        if _moves(value):
            label = key if isinstance(key, str) else system.label(key)
            warn(f"{which} of {label}: a boundary-value problem does not prescribe the velocity that is given with a "
                 f"Pose or Coordinates; {ASKED_BY}", NotAsked)
    targets, of_frames = split_targets(system, which, targets, rates)
    targets = {system.find(body): target
               for body, target in _targets_of_bodies(system, which, targets, t, rates).items()}
    out = {}
    for body, target in targets.items():
        title = f"{which} of {system.label(body)}"
        if isinstance(target, Pose) and target.relative_to is not None:
            target = _in_space(title, system, body, targets)
        out[body] = _checked(title, body, target, rates)
    return out | of_frames


def _in_space(title, system, body, targets):
    """A `Pose` that is relative to another body, in space."""
    other = system.find(targets[body].relative_to)
    if not isinstance(targets.get(other.body), Pose | CanonicalState | Coordinates):
        raise InputError(f"{title}: its pose is relative to {system.label(other)}, whose pose is not given completely "
                         "there; give that, or this one in space")
    return in_space(system, body, targets)


def _as_pose(body, state):
    """A `CanonicalState` as a `Pose`, which leaves velocities free where none are asked for; with a mass as it is."""
    if body.first_order:
        return state
    turn = {"orientation": body.orientation(state.q), "angular_velocity": body.angular_velocity(state.q, state.p)} \
        if body.has_orientation else {}
    return Pose(body.position(state.q), velocity=body.velocity(state.q, state.p), **turn)


def in_coordinates(title, body, target, rates=True):
    """What is prescribed for a body whose coordinates do not begin with its position, such as polar ones: of a `Pose`,
    `Coordinates` and places in space an `EndState` of coordinates; others as they are.

    Raises
    ------
    InputError
        For a place that is not given as a whole, with other coordinates beside it, or where the body cannot be.
    """
    if body.begins_with_position or not body.has_position or not isinstance(target, Pose | Coordinates | EndState):
        return target
    if not isinstance(target, EndState):
        target = EndState.of(target, rates)
    elif not body.has_orientation and not (target.orientation is target.angular_velocity is None):
        return target  # refused by whoever checks it
    turns = 1 + body.has_orientation
    places, speeds = ("position", "orientation")[:turns], ("velocity", "angular_velocity")[:turns]
    given = {name: value for name in places + speeds if (value := getattr(target, name)) is not None}
    if not given:
        return target
    asked = places + speeds * any(name in given for name in speeds)
    if target.q is not None or target.v is not None or not all(
            name in given and np.isfinite(given[name]).all() for name in asked):
        raise InputError(f"{title}: the coordinates of {body!r} are not its {' and '.join(places)}, of which these "
                         f"follow only where {' and '.join(asked)} are given as a whole; give these alone, or q and v, "
                         "or conditions by formulas, as end.position(body)[0] - 0.5")
    q, p = body.state(Pose(**given, frame=target.frame))
    place = body.position(q)
    if not np.allclose(place, given["position"], rtol=0, atol=1e-9 * np.abs([place, given["position"]]).max()):
        raise InputError(f"{title}: {body!r} cannot be at {digits(given['position'])}; the nearest place is "
                         f"{digits(place)}")
    q, p = np.array(q, float), np.array(p, float)
    v = np.array(ca.evalf(body.velocity_of_momenta(ca.SX(q), ca.SX(p), body.own_parameters))).ravel()
    return EndState(q=q, v=v if asked != places else None)


def _checked(title, body, target, rates):
    """What is prescribed for a body, an `EndState` or a `CanonicalState`."""
    target = in_coordinates(title, body, target, rates)
    if isinstance(target, dict) and hasattr(body, "by_joint"):
        target = body.by_joint(target)
    if len(body.first_order) == body.n_q and not isinstance(target, EndState):
        target = EndState(q=body.state(target)[0])  # rates follow
    if isinstance(target, Coordinates) and body.has_position:
        target = _as_pose(body, body.of_coordinates(target))
    known = (Pose if body.has_position else Coordinates, EndState, CanonicalState)
    if not isinstance(target, known):
        raise InputError(f"{title} must be given as {' or '.join(c.__name__ for c in known)}, not {target!r}")
    if isinstance(target, Pose) and not body.has_orientation:
        body.state(target)  # refuses what a point mass has not
        target = EndState(target.position, velocity=target.velocity if rates else None)
    elif isinstance(target, Pose | Coordinates):
        target = EndState.of(target, rates)
    wrong = ("position", "velocity") if not body.has_position else ("q", "v") if body.begins_with_position else ()
    wrong += () if body.has_orientation else ("orientation", "angular_velocity")
    for name in wrong if isinstance(target, EndState) else ():
        if getattr(target, name) is not None:
            raise InputError(f"{title}: {body!r} has no {name.replace('_', ' ')}")
    for name in ("position", "velocity") if isinstance(target, EndState) and body.dimension < 3 else ():
        beyond = getattr(target, name)
        if beyond is not None and np.any(np.nan_to_num(beyond[body.dimension:])):
            raise InputError(f"{title}: {name} {digits(beyond)} leaves the first {body.dimension} axes, in which it "
                             "moves; set the other components to None, or use a larger dimension")
    for name in ("q", "p", "v"):
        value = getattr(target, name, None)
        if value is not None and len(value) != body.n_q:
            raise InputError(f"{title}: {name} must have length {body.n_q}, not {len(value)}")
    return target


# ---- What is prescribed for single links and joints of trees at an end of a motion

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
    return system.find(key) if isinstance(key, str | BodyFrame) and not is_joint(system, key) else None


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
