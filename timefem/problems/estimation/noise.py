"""Unknown forces: white noise of given spectral density, as controls to be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...argument_names import known_names
from ...display import digits
from ...errors import InputError
from ...mechanics.body_frame import BodyFrame
from ...mechanics.forces.actuators import Actuator, ControlForce, ControlTorque, GeneralizedControl, JointControl
from ...mechanics.part_names import frame_named
from ...mechanics.states.in_trees import tree_joint
from .prior import checked_covariance, numbers_of

if TYPE_CHECKING:
    from ...mechanics.system import System


def with_noise(system: System, noise: Mapping[Any, Any]) -> tuple[System, np.ndarray, dict[Any, list[int]]]:
    """The system with an actuator for each unknown force, and the spectral density Q of all controls.

    Parameters
    ----------
    system : System
    noise : dict
        Actuator, joint or body, or its name, or "all" -> spectral density, of each component or as a matrix; of a rigid
        body a pair, of the force (space axes) and of the torque (body axes).

    Returns
    -------
    system : System
    density : ndarray, shape (n_controls, n_controls)
        In the order of the controls of the system [unit of the control^2 s].
    places : dict
        Key of `noise` -> its controls, by their numbers.

    Raises
    ------
    InputError
        For what is not a part of the system, densities that are not positive, and actuators of the system without one.
    """
    if not isinstance(noise, Mapping):
        raise InputError(f"noise must be a dict, from bodies, joints or actuators to spectral densities, not {noise!r}")
    found: dict[Any, np.ndarray] = {}
    keys: dict[Any, Any] = {}
    for key, body, value in _spread(system, noise):
        for actuator, given in _actuators(system, body, value):
            if actuator in found:
                raise InputError(f"noise: {system.label(actuator)} is named twice")
            keys[actuator] = key
            title = f"noise of {_label(system, body)}"
            found[actuator] = _density(title, given, actuator.n_controls)
    known = [part for part in system.parts if part.n_controls]
    for part in known:
        if part not in found:
            raise InputError(f"noise: the actuator {system.label(part)} has no spectral density; give one, or state a "
                             "force that is known as JointForce, Force or Torque")
    new = [actuator for actuator in found if actuator not in known]
    if new:
        system = system.extended(new)
    order = [part for part in system.parts if part.n_controls]
    sizes = [part.n_controls for part in order]
    out, first = np.zeros((sum(sizes), sum(sizes))), 0
    places: dict[Any, list[int]] = {}
    for part, n in zip(order, sizes, strict=True):
        out[first:first + n, first:first + n] = found[part]
        places.setdefault(keys[part], []).extend(range(first, first + n))
        first += n
    return system, out, places


def _spread(system, noise):
    """Key, what it names, and density, with "all" as each of the bodies that are not named."""
    named = {system.find(key) for key in noise if isinstance(key, BodyFrame)}
    for key, value in noise.items():
        if not (isinstance(key, str) and key == "all"):
            yield key, key, value
            continue
        for body in system.bodies:
            if not body.helper and body not in named and system.label(body) not in noise:
                yield key, body, value


def _actuators(system, key, value):
    """Actuators, each with its density, that a key of `noise` stands for."""
    part = tree_joint(system, key) or system.here(key)
    if isinstance(part, str):
        labels = {system.label(p): p for p in (*system.parts, *system.bodies)}
        part = labels.get(part) or frame_named(system, part)
        if part is None:
            raise InputError(f"noise: no body, joint or actuator {key!r} in the system{known_names(key, labels)}")
    if isinstance(part, Actuator) and part.n_controls:
        return [(part, value)]
    if getattr(part, "coordinates", ()):
        return [(JointControl(part), value)]
    if not isinstance(part, BodyFrame):
        raise InputError(f"noise: {system.label(part)} is not a body, joint or actuator; name what the force acts on")
    if part.has_orientation:
        if not isinstance(value, tuple) or len(value) != 2:
            shown = " ".join(repr(value).split())
            raise InputError(f"noise of {system.label(part)}: give a pair, the spectral density of the force and that "
                             f"of the torque, None where there is none, not {shown}")
        pair = zip((ControlForce(part), ControlTorque(part)), value, strict=True)
        return [(actuator, given) for actuator, given in pair if given is not None]
    if part.has_position and part.n_q == 3:
        return [(ControlForce(part), value)]
    return [(GeneralizedControl(part, np.eye(part.n_q)), value)]


def _label(system, key):
    return key if isinstance(key, str) else system.label(key)


def _density(title, value, n):
    """Spectral density as a matrix, shape (n, n)."""
    if np.ndim(value) == 2:
        return checked_covariance(f"{title}: spectral density", value, n)
    values = numbers_of(title, value, n)
    if not np.all(values > 0):
        raise InputError(f"{title}: spectral densities must be positive, not {digits(values.min())}; leave out what "
                         "has no noise")
    return np.diag(values)
