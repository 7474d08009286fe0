"""Unknown forces: white noise of given spectral density, as controls to be found; losses of outliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments, known_names
from ...mechanics.body_frame import BodyFrame
from ...mechanics.forces.actuators import Actuator, ControlForce, ControlTorque, GeneralizedControl, JointControl
from ...mechanics.numbers.changes import extended
from ...mechanics.parts import frame_named
from ...mechanics.states.given import tree_joint
from ...records import frozen
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
            title = f"noise of {body if isinstance(body, str) else system.label(body)}"
            found[actuator] = _density(title, given, actuator.n_controls)
    known = [part for part in system.parts if part.n_controls]
    for part in known:
        if part not in found:
            raise InputError(f"noise: the actuator {system.label(part)} has no spectral density; give one, or state a "
                             "force that is known as JointForce, Force or Torque")
    new = [actuator for actuator in found if actuator not in known]
    if new:
        system = extended(system, new)
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


def _density(title, value, n):
    """Spectral density as a matrix, shape (n, n)."""
    if np.ndim(value) == 2:
        return checked_covariance(f"{title}: spectral density", value, n)
    values = numbers_of(title, value, n)
    if not np.all(values > 0):
        raise InputError(f"{title}: spectral densities must be positive, not {digits(values.min())}; leave out what "
                         "has no noise")
    return np.diag(values)


# ---- Losses that let outliers count less than squares do, as weights of whitened residuals

class Loss(NamedArguments, ABC):
    """How much residuals count, of their length r in standard deviations."""

    @abstractmethod
    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Weights, shape of r, of squares of residuals of length r with n numbers each."""

    @abstractmethod
    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        """What they cost instead of r^2 / 2, shape of r: the function whose slope by r is the weight times r."""

    def excess(self, r: np.ndarray, n: np.ndarray) -> float:
        """Costs above those of squares with the weights, of all together."""
        return float(np.sum(self.costs(r, n) - self.weights(r, n) * r**2 / 2))

    def of_normal(self, n: int) -> tuple[float, float]:
        """Mean and variance of twice the costs of n numbers with normal errors; of squares n and 2 n."""
        r = (np.arange(4000) + 0.5) / 4000 * (np.sqrt(n) + 12.0)
        density = np.exp((n - 1) * np.log(r / np.sqrt(n)) - (r**2 - n) / 2)
        density /= density.sum()
        costs = 2 * self.costs(r, np.full(len(r), n))
        mean = float(density @ costs)
        return mean, float(density @ (costs - mean)**2)


@frozen
class Huber(Loss):
    """Squares up to `k` standard deviations, straight lines beyond: weights min(1, k / r) (Huber 1964).

    Parameters
    ----------
    k : float
        1.345 keeps 95 % of the accuracy of squares where errors are normal.
    """

    k: float = 1.345

    def __post_init__(self):
        validate.real("Huber: k", self.k, positive=True)

    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self.k / np.maximum(r, 1e-300))

    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        near = np.minimum(r, self.k)
        return near * (r - near / 2)


@frozen
class Student(Loss):
    """Errors with Student's distribution: weights (nu + n) / (nu + r^2), which let large outliers count for nothing.

    Parameters
    ----------
    nu : float
        Degrees of freedom; the fewer, the more outliers are expected.
    """

    nu: float = 4.0

    def __post_init__(self):
        validate.real("Student: nu", self.nu, positive=True)

    def weights(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (self.nu + n) / (self.nu + r**2)

    def costs(self, r: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (self.nu + n) / 2 * np.log1p(r**2 / self.nu)


def of_normal_errors(measured: list[np.ndarray], losses: list[Loss | None]) -> tuple[float, float]:
    """Mean and variance of twice the costs of all sensors where errors are normal, by what each `measured`."""
    total = np.zeros(2)
    for own, loss in zip(measured, losses, strict=True):
        for n, times in zip(*np.unique(own.sum(axis=1), return_counts=True), strict=True):
            total += times * np.array((n, 2 * n) if loss is None or not n else loss.of_normal(int(n)))
    return float(total[0]), float(total[1])


LOSSES = {"huber": Huber(), "student": Student()}


def as_loss(title, value):
    """A `Loss`, that of a name, or None for squares."""
    if value is None or isinstance(value, Loss):
        return value
    if isinstance(value, str) and value in LOSSES:
        return LOSSES[value]
    raise InputError(f"{title} must be 'huber', 'student', Huber(k), Student(nu) or None for squares, not {value!r}")
