"""Estimation problems: a motion from measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ... import validate
from ...assembly.mesh import TimeMesh
from ...display import digits
from ...errors import InputError, NamedArguments, check_class
from ...mechanics.states.given import states_of
from ...mechanics.system import System
from ..initial.problem import InitialValueProblem, checked_span
from ..parameters import checked_parameters
from ..task import Kept
from .kinematic.statement import check_kinematic_element, frames_of, without_dynamics
from .loads import Moment
from .noise import Loss, as_loss, with_noise
from .options import DEFAULTS
from .prior import Prior
from .sensor import Sensor
from .start_prior import StartSensors

if TYPE_CHECKING:
    from ...elements.element import TimeElement


class Unknown(NamedTuple):
    """Unknown numbers: of a part, or of a sensor."""

    label: str
    sensor: int | None  # its number; None for numbers of parts, and -1 while it has no values
    name: str
    places: slice
    mean: np.ndarray
    covariance: np.ndarray
    bounds: tuple[np.ndarray, np.ndarray]


@dataclass(eq=False, repr=False)
class Estimation(NamedArguments):
    """Find the motion, and unknown numbers, that are most likely given measurements.

    Minimise `1/2 |z_0 - prior|^2 + 1/2 sum_j |y_j - h(z(t_j), c)|^2 + 1/2 int w.Q^-1 w dt`, each over its covariance,
    over the start, unknown forces w and unknown numbers c, subject to the equations of motion and to constraints: the
    maximum of the posterior density of a motion with white noise w of spectral density Q.

    Parameters
    ----------
    system : System
    measurements : Sensor or sequence of Sensor
        `Marker`, `Gyroscope`, `JointSensor` and others.
    noise : dict, optional
        Actuator, joint or body, or its name, or "all" -> spectral density of an unknown force, of each component or a
        matrix [N^2 s, (N m)^2 s]; of a rigid body a pair, of the force (space axes) and the torque (body axes), None
        where there is none. Without noise the motion follows from its start.
    prior : dict or Prior, optional
        Body, tree, or joint, or its name -> `StatePrior`, or a state near which the search begins; or a `Prior` of the
        whole state (q, p) at the start, conditioned on its constraints. What is left out is wide; the
        search begins with zero for states of first order among that.
    t_span : (float, float), optional
        Default: from the first to the last time of the measurements.
    numbers : dict, optional
        Name -> (number of a part, its `Prior`, perhaps with bounds), such as `{"k": ("spring.stiffness", Prior(100,
        30))}`, or (part, "stiffness", Prior); a Prior alone is that of the number that the name is, "PART.NUMBER"
        itself, or of one that formulas alone have, as `now.parameters[name]`. Of motions without dynamics these are
        lengths, places and axes.
    follows : dict, optional
        Number of a part -> formula of the dict of the unknown `numbers`, also as text, such as
        `{"leg.joints[1].position[0]": "0.42 * parameters['size']"}`.
    loss : {"huber", "student"}, Huber or Student, optional
        Of measurements that have none of their own.
    nodes : sequence of Sensor, optional
        Those whose times become nodes of the mesh, where the order of the element is kept; default: all. Inside of
        elements it is about three.
    dynamics : {"full", "none"}
        "none": inverse kinematics of the whole motion, without masses and forces. Accelerations of the coordinates, or
        with MixedGalerkin(3) their rates, are white noise, whose spectral densities are `noise`: a number, or a dict
        from joints of trees, bodies (a pair for place and turn) or "all" to numbers [rad^2/s^3, m^2/s^3; s^-5].
        Constraints hold at the frames, which are the times of the measurements: `tf.solve(problem, element)` takes no
        number of elements.
    limits : dict or "model", optional
        With `dynamics="none"`: joint of a tree with one coordinate -> (lower, upper) [rad or m], None where there is
        none, which hold at all frames; "model": those that joints state.

    Attributes
    ----------
    system : System
        With an actuator for each unknown force.
    z0 : ndarray, shape (n_z,)
        State at the start where the search begins.
    unknowns : list of Unknown
        All unknown numbers.

    Raises
    ------
    InputError
        For what does not fit, such as times outside of the time span and unknown bodies; names the measurement.
    """

    system: System
    measurements: Sensor | Sequence[Sensor]
    noise: Mapping[Any, Any] | float | None = None
    prior: Mapping[Any, Any] | Prior | None = None
    t_span: Sequence[float] | None = None
    _: KW_ONLY
    numbers: Mapping[str, Any] | None = None
    follows: Mapping[Any, Any] | None = None
    loss: Loss | str | None = None
    nodes: Sequence[Sensor] | None = None
    dynamics: str = "full"
    limits: Mapping[Any, Sequence[float | None]] | str | None = None

    def __post_init__(self):
        check_class("system", self.system, "System")
        given = [self.measurements] if isinstance(self.measurements, Sensor) else list(self.measurements)
        for sensor in given:
            if not isinstance(sensor, Sensor):
                raise InputError(f"measurements must be a list of Marker, Gyroscope, JointSensor and others, not of "
                                 f"{sensor!r}")
        if not given:
            raise InputError("measurements: there are none; give at least one")
        if len(set(given)) < len(given):
            twice = next(sensor for i, sensor in enumerate(given) if sensor in given[:i])
            raise InputError(f"{twice.title}: it is among the measurements twice; what is measured counts once")
        for title, times in Counter(sensor.title for sensor in given if sensor.name or sensor.unknowns).items():
            if times > 1:  # results and unknown numbers go by it
                raise InputError(f"measurements: {times} of them are called {title}; give each a name of its own")
        self.measurements, self.loss = given, as_loss("loss", self.loss)
        self._check_nodes()
        self.t_span = self._span()
        self._given_prior = self.prior
        entries = self._entries()
        if validate.choice("dynamics", self.dynamics, ("full", "none")) == "none":
            system, self.density, self._levels = without_dynamics(self), np.zeros((0, 0)), {}
        else:
            if self.limits is not None:
                raise InputError("limits hold with dynamics='none' alone; leave them out, or give an EndStop")
            system, self.density, self._levels = with_noise(self.system, self.noise or {})
        system, _ = checked_parameters(system, entries, self.follows)
        self._take_start(system)
        _, self.part_numbers = checked_parameters(self.system, entries, self.follows)
        self.unknowns = self._unknowns()
        self.silent: dict[str, Any] = {}  # sensors that live data have nothing of, by name
        seen = {i for sensor in given for i in sensor.check(self.system, self.moment, self.n_constants)}
        for unknown in self.unknowns:
            if unknown.sensor is None and unknown.places.start not in seen and not self.part_numbers.of(unknown.name):
                raise InputError(f"numbers: nothing depends on {unknown.name!r}, neither the motion nor a measurement; "
                                 "name a number of a part, as in PART.NUMBER, or leave it out")

    def _check_nodes(self):
        self.nodes = self.measurements if self.nodes is None else list(self.nodes)
        for sensor in self.nodes:
            if sensor not in self.measurements:
                raise InputError(f"nodes: {sensor!r} is not among the measurements")

    def _span(self):
        times = np.concatenate([sensor.times_of_motion for sensor in self.measurements])
        if self.t_span is None:
            if times.max() <= times.min():
                raise InputError("t_span: all measurements are at one time; give the time span")
            self.t_span = (float(times.min()), float(times.max()))
        t_span = checked_span(self.system, self.t_span)
        room = DEFAULTS.same_time * (t_span[1] - t_span[0])
        for sensor in self.measurements:
            at = sensor.times_of_motion
            outside = (at < t_span[0] - room) | (at > t_span[1] + room)
            if outside.any():
                raise InputError(f"{sensor.title}: t = {digits(at[outside][0], *t_span)} s is outside of the time "
                                 f"span, {digits(t_span[0])} to {digits(t_span[1])} s; drop it, or give another t_span")
        return t_span

    def _entries(self):
        """Unknown numbers of parts as problems name them, and their priors."""
        self._priors: dict[str, Prior] = {}
        found = {}
        for name, entry in (self.numbers or {}).items():
            *where, prior = entry if isinstance(entry, list | tuple) and entry else [entry]
            if not isinstance(prior, Prior):
                raise InputError(f"numbers[{name!r}] must end with the Prior of the number, not {prior!r}")
            self._priors[name] = prior
            mean, _ = prior.of_size(f"numbers[{name!r}]", 1)
            found[name] = float(mean[0]) if not where else where[0] if len(where) == 1 else tuple(where)
        return found

    def _take_start(self, system):
        t0, t1 = self.t_span
        prior = {} if self._given_prior is None else self._given_prior
        self.ambient = self.arrival = None  # of the state, and of state and numbers of a window that has moved
        if isinstance(prior, Prior):
            mean, covariance = prior.of_size("prior", system.n_z)
            self.ambient = mean, covariance
            given = self._initial(system, mean)
            self.system, self.z0, self.start_sensors = given.system, given.z0, ([], [])
            return
        start = StartSensors(system, prior, t0, t1 - t0, self._length())
        given = self._initial(system, start.states)
        self.system, self.z0 = given.system, given.z0
        start.system = self.system
        self.start_sensors = start.sensors(self.z0)

    def _initial(self, system, states):
        """The `InitialValueProblem` whose start is where the search begins, assembled where it holds no constraints."""
        if isinstance(states, np.ndarray):
            states = states_of(system, states)
        try:
            return InitialValueProblem(system, states, self.t_span)
        except InputError:
            return InitialValueProblem(system, states, self.t_span, assemble=True)

    def _length(self):
        """Size of places in the problem: how far measured ones are spread, or bodies' radii of gyration."""
        spread = [np.nanmax(sensor.values, axis=0) - np.nanmin(sensor.values, axis=0) for sensor in self.measurements
                  if sensor.word.startswith(("marker", "formula"))]
        largest = max((float(x.max()) for x in spread), default=0.0)
        radii = [np.sqrt(np.trace(np.atleast_2d(body.inertia)) / body.mass) for body in self.system.bodies
                 if getattr(body, "has_orientation", False) and body.mass and hasattr(body, "inertia")]
        return max([largest, *map(float, radii)]) or 1.0

    def _unknowns(self):
        found, first = [], 0
        for name, prior in self._priors.items():
            mean, covariance = prior.of_size(f"numbers[{name!r}]", 1)
            found.append(Unknown(name, None, name, slice(first, first + 1), mean, covariance,
                                 prior.bounds_of(f"numbers[{name!r}]", 1)))
            first += 1
        for i, sensor in enumerate(self.measurements):
            for name, prior in sensor.unknowns.items():
                n = sensor.sizes[name]
                mean, covariance = prior.of_size(f"{sensor.title}: {name}", n)
                found.append(Unknown(f"{name} of {sensor.title}", i, name, slice(first, first + n), mean, covariance,
                                     prior.bounds_of(f"{sensor.title}: {name}", n)))
                first += n
        return found

    # ---- what others ask

    @cached_property
    def kept(self) -> Kept:
        """What solves of this problem share."""
        return Kept(once=False)

    @property
    def n_constants(self) -> int:
        """How many unknown numbers there are."""
        return self.unknowns[-1].places.stop if self.unknowns else 0

    @property
    def unknown_names(self) -> list[str]:
        """A name for each of them."""
        return [u.label if u.places.stop - u.places.start == 1 else f"{u.label}[{i}]"
                for u in self.unknowns for i in range(u.places.stop - u.places.start)]

    @property
    def guesses(self) -> np.ndarray:
        """Means of their priors, shape (n_constants,)."""
        return np.concatenate([np.zeros(0), *(u.mean for u in self.unknowns)])

    @property
    def number_bounds(self) -> np.ndarray:
        """Lower and upper bounds of all of them, shape (2, n_constants), infinite where there are none."""
        return np.concatenate([np.zeros((2, 0)), *(np.array(u.bounds) for u in self.unknowns)], axis=1)

    @property
    def n_controls(self) -> int:
        return len(self.density)

    @property
    def kinks(self) -> np.ndarray:
        """Times that become nodes: of loads, and of measurements."""
        times = np.unique(np.concatenate([self.system.kinks, *(s.times_of_motion for s in self.nodes)]))
        room = DEFAULTS.same_time * (self.t_span[1] - self.t_span[0])
        inside = times[(times > self.t_span[0] + room) & (times < self.t_span[1] - room)]
        return inside[np.concatenate([[True], np.diff(inside) > room])] if len(inside) else inside

    def losses(self) -> list[Loss | None]:
        """Of each of the measurements, None for squares."""
        return [sensor.loss or self.loss for sensor in self.measurements]

    def constants_of(self, i: int, c: ca.SX) -> dict[str, ca.SX]:
        """Unknown numbers of sensor i by name, of the symbols of all."""
        return {u.name: c[u.places] for u in self.unknowns if u.sensor == i}

    def moment(self, t: Any, z: ca.SX, c: ca.SX, **others: Any) -> Any:
        """A time of the motion in symbols, with the unknown numbers of parts in their places."""
        own = {u.name: c[u.places] for u in self.unknowns if u.sensor is None}
        now = Moment(self.system, t, z, numbers=self.part_numbers.at([own[name] for name in self.part_numbers]),
                     **others)
        now.parameters = own
        return now

    def copied(self) -> Estimation:
        """The same problem, to be changed: what is kept is of this one."""
        other = copy(self)
        other.__dict__.pop("kept", None)
        return other

    @property
    def own_mesh(self) -> TimeMesh | None:
        """The frames of a motion without dynamics, which are all there is to its mesh; otherwise None."""
        return frames_of(self) if self.dynamics == "none" else None

    @property
    def noise_keys(self) -> list[Any]:
        """Keys of `noise`, in their order."""
        return list(self._levels)

    def with_levels(self, factors: Mapping[Any, float]) -> Estimation:
        """The same problem with spectral densities by key of `noise`, and variances by measurement, times factors."""
        other = self.copied()
        root = np.ones(len(self.density))
        for name, factor in factors.items():
            if name in self._levels:
                root[self._levels[name]] = np.sqrt(factor)
        other.density = self.density * (root * root[:, None])
        other.measurements = [sensor.with_variances(factors[sensor.title]) if sensor.title in factors else sensor
                              for sensor in self.measurements]
        other.nodes = [other.measurements[self.measurements.index(sensor)] for sensor in self.nodes]
        return other

    def until(self, t: float) -> Estimation:
        """The same problem up to a time, with the measurements until then."""
        room = DEFAULTS.same_time * (self.t_span[1] - self.t_span[0])
        kept = [sensor.times_of_motion <= t + room for sensor in self.measurements]
        other = self.with_measurements([sensor if own.all() else sensor.of_times(own)
                                         for sensor, own in zip(self.measurements, kept, strict=True)])
        other.t_span = (self.t_span[0], t)
        return other

    def without(self, left_out: Sequence[int]) -> Estimation:
        """The same problem without some measurements, by their numbers."""
        return self.with_measurements([None if i in left_out else s for i, s in enumerate(self.measurements)])

    def with_measurements(self, found: Sequence[Sensor | None]) -> Estimation:
        """The same problem with other values of each measurement, None where there are none."""
        other = self.copied()
        places = [i for i, sensor in enumerate(found) if sensor is not None]
        other.measurements = [found[i] for i in places]
        other.nodes = [found[i] for i in places if self.measurements[i] in self.nodes]
        other.unknowns = [u._replace(sensor=places.index(u.sensor) if u.sensor in places else -1)
                          if u.sensor is not None else u for u in self.unknowns]
        return other

    def check_element(self, element: TimeElement) -> None:
        """Refuse elements that share tests, for which forces are not local in time."""
        if self.dynamics == "none":
            return check_kinematic_element(element)
        if not element.can_march:
            raise InputError(f"estimation takes elements that can be marched, such as MixedGalerkin(degree=2), not "
                             f"{element!r}")

    def __repr__(self):
        n = sum(sensor.n_measured for sensor in self.measurements)
        return (f"Estimation({self.system!r}, {n} numbers of {len(self.measurements)} measurements, "
                f"t_span={self.t_span})")
