"""What is known of the state at the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError, NamedArguments
from ...mechanics.bodies.rotations import quaternion_from_matrix
from ...mechanics.body_frame import is_on_tree
from ...mechanics.states.given import joint_meant, states_at_zero
from ...mechanics.symbols import first_order_places
from ...mechanics.values.equations_of_motion import EquationsOfMotion
from ...records import frozen
from ...types import Vector
from .loads import Moment
from .options import DEFAULTS
from .sensor import Sensor
from .sensors import Gyroscope, JointSensor, Marker, OrientationSensor, PointVelocity

if TYPE_CHECKING:
    from ...mechanics.system import System


@frozen(eq=False)
class StatePrior(NamedArguments):
    """The state of a body or joint at the start, with standard deviations; None where nothing is known.

    Parameters
    ----------
    state : Pose, Coordinates, CanonicalState or float
        As of an `InitialValueProblem`; of a joint its coordinate, or a pair with its rate. It is where the search
        begins, also for what has no standard deviation.
    position, velocity : float or array_like, shape (3,), optional
        Of the centre of mass in space [m, m/s].
    orientation, angular_velocity : float or array_like, shape (3,), optional
        Of a small turn about the axes of the body [rad], and in its axes [rad/s].
    q, v : float or array_like, shape (n,), optional
        Of coordinates and their rates: of a joint, a tree or a `GeneralizedBody`.
    """

    state: Any = None
    position: float | Vector | None = None
    orientation: float | Vector | None = None
    velocity: float | Vector | None = None
    angular_velocity: float | Vector | None = None
    q: float | Vector | None = None
    v: float | Vector | None = None

    of_pose = "position", "orientation", "velocity", "angular_velocity"
    of_coordinates = "q", "v"


@dataclass(eq=False, repr=False)
class StateSensor(Sensor):
    """Coordinates of a body, their rates, or the entries of its rotation matrix.

    Parameters
    ----------
    body : Body
    what : {"q", "v", "rotation"}
    n : int
    """

    body: Any
    what: str
    n: int = 1

    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        if self.what == "rotation":
            return ca.reshape(now.rotation_matrix(self.body), 9, 1)
        return now.q(self.body) if self.what == "q" else now.rates(self.body)


class StartSensors:
    """Priors of a start as sensors at its time, and the state where the search begins.

    Parameters
    ----------
    system : System
    prior : dict
        Body, joint of a tree or joint, or its name -> `StatePrior` or a state.
    t : float
        Start [s].
    span, length : float
        Sizes of the time and of places in the problem, for what has no prior.
    """

    def __init__(self, system: System, prior: Mapping[Any, Any], t: float, span: float, length: float) -> None:
        if not isinstance(prior, Mapping):
            raise InputError(f"prior must be a dict, from bodies or joints to StatePrior, or a Prior of the whole state"
                             f" (q, p), not {prior!r}")
        self.system, self._t, self._span, self._length = system, t, span, length
        self.given = {key: value if isinstance(value, StatePrior) else StatePrior(value)
                      for key, value in prior.items()}
        for key in self.given:
            if joint_meant(system, key) is None:
                try:
                    system.find(key)
                except InputError as error:
                    raise InputError(f"prior: {error}") from None
        self.states = {key: own.state for key, own in self.given.items() if own.state is not None}
        self.states |= states_at_zero(system, self.states)

    def sensors(self, z: np.ndarray) -> tuple[list[Sensor], list[Sensor]]:
        """Those with standard deviations, and wide ones of what has none, about a state (n_z,)."""
        system, narrow, wide = self.system, [], []
        told: set[Any] = set()
        for key, own in self.given.items():
            joint = joint_meant(system, key)
            if joint is not None:
                self._check_one(key, joint, own)
                self._check_used(key, own, own.of_pose)
                self._of_joint(key, joint, own, narrow)
                continue
            body = system.find(key)
            told.add(body)
            self._of_body(body, own, z, narrow, wide)
        for body in system.bodies:
            if body not in told and not body.helper:
                self._of_body(body, StatePrior(), z, narrow, wide)
        return narrow, wide

    def _of_joint(self, key, joint, own, narrow):
        value, rate = own.state if isinstance(own.state, tuple | list) else (own.state, 0.0)
        for name, given, number in (("q", own.q, value), ("v", own.v, rate)):
            if given is not None:
                title = f"prior of {name} of {self._label(key)}"
                narrow.append(JointSensor(joint, rate=name == "v", times=[self._t], values=[number], sigma=given,
                                          name=title))

    def _of_body(self, body, own, z, narrow, wide):
        system, n, label = self.system, self.system.n_q, self.system.label(body)
        place = system.coordinates(body)
        if body.has_position and body.has_orientation:
            self._check_used(body, own, own.of_coordinates)
            q, p = z[:n][place], z[n:][place] if body.is_body else self._rates(z)[place]
            turn = body.orientation(q) if body.is_body else quaternion_from_matrix(body.rotation_matrix(q))
            values = {"position": body.position(q), "orientation": turn, "velocity": body.velocity(q, p),
                      "angular_velocity": body.angular_velocity(q, p)}
            sizes = {"position": self._length, "orientation": 1.0, "velocity": self._length / self._span,
                     "angular_velocity": 1 / self._span}
            classes = {"position": Marker, "orientation": OrientationSensor, "velocity": PointVelocity,
                       "angular_velocity": Gyroscope}
            for name, cls in classes.items():
                if not body.is_body and getattr(own, name) is None:  # its tree has wide ones
                    continue
                if name == "orientation" and own.orientation is None:  # the other one has no slope at half a turn
                    wide.append(self._any_orientation(body, q))
                    continue
                self._add(getattr(own, name), sizes[name], narrow, wide, lambda sigma, cls=cls, name=name: cls(
                    body, times=[self._t], values=[values[name]], sigma=sigma, name=f"prior of {name} of {label}"))
            return
        given = {"q": own.q, "v": own.v}
        if body in system.bodies and body.has_position and body.n_q == body.dimension:
            self._check_used(body, own, ("orientation", "angular_velocity"))
            given = {"q": own.q if own.position is None else self._along_axes(own.position, body),
                     "v": own.v if own.velocity is None else self._along_axes(own.velocity, body)}
        else:
            self._check_used(body, own, own.of_pose)
        values, sizes = {"q": z[:n][place]}, {"q": self._length, "v": self._length / self._span}
        if len(body.first_order) == body.n_q and own.q is None:
            sizes["q"] = self._sizes_of_states(z)[place]
        if body.has_rate:
            values["v"] = self._rates(z)[place]
        elif own.v is not None:
            raise InputError(f"prior of {label}: it has no v, rates follow from its states; give standard deviations "
                             "of q")
        for name in values:
            size = sizes[name]
            k = len(values[name])
            self._add(given[name], size, narrow, wide, lambda sigma, k=k, name=name: StateSensor(
                body, name, k, times=[self._t], values=[values[name]], sigma=sigma, name=f"prior of {name} of {label}"))

    def _sizes_of_states(self, z):
        """Sizes of the coordinates, shape (n_q,): of states of first order those by which they move bodies, or other
        states that do, by the size of places, whatever their unit is; at least that of places."""
        system, span, size = self.system, self._span, np.full(self.system.n_q, self._length)
        try:
            at = EquationsOfMotion.of_state(system, self._t, z)
        except (InputError, np.linalg.LinAlgError):
            return size
        places = first_order_places(system)
        rates, terms = at.tangent(np.eye(system.n_q)[:, places], np.zeros((system.n_q, len(places))))
        rates = np.where(np.abs(rates) > len(z) * np.finfo(float).eps * terms, np.abs(rates), 0.0)
        moved = np.full(system.n_q, DEFAULTS.wide * self._length / span**2)  # as wide as rates that are, squared
        moved[places] = np.inf
        for _ in places:
            with np.errstate(divide="ignore", invalid="ignore"):
                needed = np.where(rates > 0, moved[:, None] / rates, np.inf).min(axis=0)
            moved[places] = np.minimum(moved[places], needed / span)
        found = moved[places] * span
        size[places] = np.maximum(np.where(np.isfinite(found), found, 0.0), self._length)
        return size

    @staticmethod
    def _along_axes(sigma, body):
        """Standard deviations along the axes in which a body moves: of three given ones the first."""
        return sigma[:body.n_q] if np.shape(sigma) == (3,) else sigma

    def _any_orientation(self, body, q):
        """A wide prior of an orientation: of the entries of its matrix, which any small turn changes as much."""
        own = ca.SX.sym("q", len(q))
        values = np.array(ca.Function("turn", [own], [ca.densify(body.frame(own)[1])])(q)).ravel(order="F")
        return StateSensor(body, "rotation", 9, times=[self._t],
                             values=[values], sigma=DEFAULTS.wide * 2**0.5,
                             name=f"prior of orientation of {self.system.label(body)}")

    def _rates(self, z):
        return self.system.velocity(self._t, z[None])[0]

    @staticmethod
    def _add(given, size, narrow, wide, make):
        (wide if given is None else narrow).append(make(DEFAULTS.wide * size if given is None else given))

    def _check_used(self, key, own, names):
        for name in names:
            if getattr(own, name) is not None:
                right = "q and v" if name in own.of_pose else "position, orientation, velocity and angular_velocity"
                raise InputError(f"prior of {self._label(key)}: it has no {name}; give standard deviations of {right}")

    def _check_one(self, key, joint, own):
        n = joint.n_q if is_on_tree(joint) else len(joint.whole.coordinates)
        if n != 1 and any(getattr(own, name) is not None for name in ("q", "v", *own.of_pose)):
            raise InputError(f"prior of {self._label(key)}: it has {n or 'no'} coordinates, and a prior is of one; "
                             "give that of a body that it moves, with position, orientation, velocity and "
                             "angular_velocity")

    def _label(self, key):
        return key if isinstance(key, str) else self.system.label(key)
