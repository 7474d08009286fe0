"""Estimation without dynamics solved: the motion at the frames, as elements between them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .... import validate
from ....assembly.mesh import TimeMesh
from ....errors import InputError
from ....mechanics.forces.actuators import Actuator
from ....mechanics.numbers.changes import extended
from ....mechanics.numbers.map import with_values
from ....parallel import own_world
from ....progress import progress
from ....solvers.equations.outcome import NodalValues, Outcome
from ....status import Reason, Status
from ....types import Floats
from ...statistics import solve_statistics
from ..estimate import Estimate, sensor_of
from ..loads import Loads, loads_along
from ..noise import of_normal_errors
from ..options import DEFAULT
from ..sensor import Sensor
from ..verdict import Fit, SensorFit, looked_at, suspicions, told_bounds
from .fit import Asked, fit
from .measured import Formulas, Measured
from .statement import PartNumbers, densities, limits_of, momenta_of, places_among, sensors_of


class KinematicEstimate(Estimate):
    """The most likely motion without dynamics, with the posterior distribution about it, at the frames `t`.

    What can be asked of it is as of an `Estimate`, at frames only; formulas may have accelerations where these are part
    of the state, as with MixedGalerkin(3).
    """

    solves_equations = False

    # ---- the motion

    @property
    def q(self) -> np.ndarray:
        """Coordinates at the frames, shape (n, n_q)."""
        return self._found.x[:, 0]

    @property
    def rates(self) -> np.ndarray:
        """Velocities of the coordinates at the frames, shape (n, n_q)."""
        return self._found.x[:, 1]

    @property
    def accelerations(self) -> np.ndarray:
        """Accelerations of the coordinates at the frames, shape (n, n_q).

        Raises
        ------
        InputError
            Where accelerations are the noise, as with MixedGalerkin(2).
        """
        if self._found.x.shape[1] < 3:
            raise InputError("accelerations are noise with MixedGalerkin(2); solve with MixedGalerkin(3), whose state "
                             "has them")
        return self._found.x[:, 2]

    @property
    def numbers(self) -> np.ndarray:
        """Unknown numbers of sensors, in the order of `problem.unknown_names`."""
        return self._found.c

    # ---- covariance

    @cached_property
    def number_covariance(self) -> np.ndarray:
        """Posterior covariance of all unknown numbers, NaN of those at a bound."""
        return self._unless_held(self._found.smoother.number_covariance())

    @property
    def _held(self):
        return self._found.smoother.held

    def state_covariance(self, i: int) -> np.ndarray:
        """Posterior covariance of `(q, v)`, with MixedGalerkin(3) of `(q, v, a)`, at frame i, shape (2 n_q, 2 n_q)."""
        i, n = range(len(self.t))[i], self._found.x[0].size
        return self._found.smoother.of_states(np.eye(n)[None], slice(i, i + 1))[0]

    def _distribution(self, what, t):
        names = [u.label for u in self.problem.unknowns]
        if isinstance(what, str) and what in names:
            places = self.problem.unknowns[names.index(what)].places
            return self.numbers[places], lambda: self.number_covariance[places, places]
        t = self.t if t is None else np.asarray(t, float)
        frames = self._frames(t.ravel())
        mean, slopes, by_numbers = self._linearized(what, frames)

        def covariance():
            found = self._found.smoother.of_states(slopes, frames, by_numbers)
            return found.reshape(*t.shape, *found.shape[1:])

        return mean.reshape(*t.shape, -1), covariance

    def _frames(self, t):
        places = np.clip(places_among(self.t, t), 0, len(self.t) - 1)
        off = np.abs(self.t[places] - t)
        if len(t) and off.max() > 1e-6 * (self.t[-1] - self.t[0]):
            raise InputError(f"without dynamics a motion is known at its frames alone, and t = {t[off.argmax()]:g} s "
                             "is none; take times of sol.t, or leave t out")
        return places

    def _linearized(self, what, frames):
        """Values, and derivatives by the states of frames, (n, k, levels n_q), and by numbers, or None."""
        order, inverse = np.unique(frames, return_inverse=True)
        sensor, parts = sensor_of(self, what, self.t[order]), PartNumbers.of(self.problem)
        formulas = Formulas(self.problem.system, self._found.x.shape[1], [sensor], parts)
        own = Measured({sensor: None}, formulas, (0,), order)
        k = formulas.stated.numbers.numel()
        values, slopes = own.linearized(self._found.x[order], self.numbers[:k], slice(None))
        zero = np.zeros((*values.shape, self.system.n_q))
        every = np.concatenate([zero if s is None else -s for s in slopes[:-1]], axis=2)
        if slopes[-1] is None:
            return -values[inverse], every[inverse], None
        by_numbers = np.zeros((*values.shape, len(self.numbers)))
        by_numbers[:, :, :slopes[-1].shape[2]] = -slopes[-1]
        return -values[inverse], every[inverse], by_numbers[inverse]

    def inverse_dynamics(self, actuators: Actuator | Sequence[Actuator] = ()) -> Loads:
        """Forces of drives along the motion, and of constraints, with their uncertainty.

        Masses, gravity, springs and all other forces of the system count; constraints take what is normal to them.

        Parameters
        ----------
        actuators : Actuator or sequence of Actuator
            Those that are not in the system. Where there is none at all, forces on all coordinates: the torques of
            joints of a tree, and what is left over on a free base.

        Raises
        ------
        InputError
            Where accelerations are the noise, as with MixedGalerkin(2), and where actuators cannot give the motion.
        """
        _ = self.accelerations
        given = [actuators] if isinstance(actuators, Actuator) else list(actuators)
        system = extended(self.system, given) if given else self.system
        return loads_along(system, self.t, self._found.x,
                           lambda slopes: self._found.smoother.of_states(slopes, slice(None)))

    def draws(self, n: int, seed: int = 0) -> np.ndarray:
        """States (q, p) at the frames of n draws from the posterior, shape (n, n_frames, n_z), constraints closed."""
        rng = np.random.default_rng(validate.integer("seed", seed, minimum=0))
        found, smoother = self._found, self._found.smoother
        drawn = [smoother.draw(found.x, found.c, rng) for _ in range(validate.integer("n", n, minimum=1))]
        return np.array([momenta_of(self.system, self.t, smoother.closed(*one)) for one in drawn])

    def band(self, what: Any, t: Floats | None = None, level: float = 0.95, ax: Any = None) -> Any:
        """Draw the most likely value at the frames, with its interval as a band; returns the axes of Matplotlib."""
        return super().band(what, self.t if t is None else t, level, ax)

    # ---- how well the model explains the data

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        """Not known: the first state has no prior.

        Raises
        ------
        InputError
        """
        raise InputError("the evidence needs a prior of the whole start, which dynamics='none' does not have")

    @cached_property
    def fit(self) -> Fit:
        """How well model and errors explain what was measured, with a verdict, outliers, and what could be wrong."""
        return fit_of(self)

    def residuals(self, sensor: Sensor) -> np.ndarray:
        """What a sensor gave less what is expected, shape (n_times, n), NaN where it gave nothing."""
        own = self.problem.measurements[self._number(sensor)]
        return np.where(own.measured, self._found.residuals(own), np.nan)

    def weights(self, sensor: Sensor) -> np.ndarray:
        """Weights of a sensor's values by its loss, shape (n_times,); ones for squares."""
        own = self.problem.measurements[self._number(sensor)]
        return self._found.weights_of(own)


class Terms:
    """Residuals of all sensors, as `suspicions` asks for them."""

    def __init__(self, found, problem):
        self.problem, self.sensors = problem, [Term(found, sensor, problem) for sensor in problem.measurements]


class Term:
    """Residuals of one sensor, at a `Fit`."""

    def __init__(self, found, sensor, problem):
        self.sensor, self._own, self._known = sensor, found, {id(found): found.residuals(sensor)}
        self._problem = problem

    def values(self, found=None):
        """What it gave less what is expected, shape (n_times, n); by another fit with the means of its numbers."""
        found = self._own if found is None else found
        if id(found) not in self._known:
            geometry, t = found.smoother.geometry, found.smoother.t
            parts = PartNumbers.of(self._problem)
            formulas = Formulas(geometry.system, geometry.levels, [self.sensor], parts)
            c = found.c[:len(geometry.means)]
            located = self._own.located.get(self.sensor, self.sensor)
            frames = places_among(t, located.times_of_motion)
            own = Measured({located: None}, formulas, (0,), frames, t[frames])
            numbers = np.concatenate([c, formulas.stated.prior()[0][len(c):]])
            self._known[id(found)] = own.residuals(found.x[frames], numbers, white=False)
        return self._known[id(found)]

    def whitened(self, found=None):
        """The same in standard deviations."""
        return np.einsum("jab,jb->ja", self.sensor.whitening, self.values(found))

    def lengths(self, found=None):
        """Of the same, shape (n_times,)."""
        return np.linalg.norm(self.whitened(found), axis=1)


def _without(found, terms, ratios):
    """`point(i)` -> the fit of the other sensors, of those that fit worst; None where there is nothing to look at."""
    sensors = terms.problem.measurements
    worst, given = looked_at(ratios), sensors_of(terms.problem)
    if len(sensors) < 2 or not worst:
        return None

    def without(i):
        if i not in worst:
            return found
        try:
            return found.again({sensor: loss for sensor, loss in given.items() if sensor is not sensors[i]})
        except InputError:  # the others do not determine the motion
            return found

    return without


def fit_of(solution):
    """The `Fit`: chi^2 is that of measurements, numbers and noise; the first state has no prior, and takes its part."""
    found, problem = solution._found, solution.problem
    terms, n = Terms(found, problem), sum(sensor.n_measured for sensor in problem.measurements)
    sensors = [SensorFit.of(sensor, term.whitened(), n)
               for sensor, term in zip(problem.measurements, terms.sensors, strict=True)]
    mean, variance = of_normal_errors([sensor.measured for sensor in problem.measurements], problem.losses())
    more = sum(sensor.n_measured for sensor in problem.start_sensors[0])
    more -= found.smoother.size if problem.arrival is None else 0
    without = _without(found, terms, [own.ratio for own in sensors])
    told = suspicions(terms, *([] if without is None else [without]), found)  # a motion bends to what is wrong
    rest = 2 * found.cost - sum(found.weights_of(sensor) @ term.lengths()**2
                                for sensor, term in zip(problem.measurements, terms.sensors, strict=True))
    return Fit(2 * found.objective, mean + more, sensors, [], told, told_bounds(solution),
               {"changes of accelerations, whose noise is too small": float(rest)}, variance + 2 * more)


def solve_kinematic(task):
    """The `KinematicEstimate` of a `Task` of `timefem.solve`."""
    start, problem, element = time.perf_counter(), task.problem, task.element
    if task.mesh is None or not np.array_equal(task.mesh.nodes, problem.own_mesh.nodes):
        raise InputError("without dynamics the frames are the times of the measurements: leave out n_elements and mesh")
    if task.guess is not None and not callable(task.guess):
        raise InputError(f"guess must be a function t -> z or a Solution, not {task.guess!r}")
    system, n = problem.system, problem.system.n_q
    guess = None if task.guess is None else lambda t: np.array([task.guess(time) for time in t])[:, :n]
    options = DEFAULT if task.newton is None else \
        replace(DEFAULT, tolerance=task.newton.tol_increment, iterations=task.newton.max_iterations)
    asked = Asked(element.degree, problem.t_span, options, limits_of(problem),
                  own_world() if task.driver.distributed else None, PartNumbers.of(problem), problem.number_bounds)
    with progress("estimation without dynamics", show=task.progress):
        found = fit(system, sensors_of(problem), lambda geometry: densities(geometry, problem.noise),
                    (problem.z0[:n], guess), asked)
    return estimate_of(task, found, time.perf_counter() - start)


def estimate_of(task, found, total):
    """The `KinematicEstimate` of a `Fit`, which took `total` seconds."""
    problem, element, system = task.problem, task.element, task.problem.system
    status = Status(True) if found.converged else \
        Status.failure(Reason.NOT_CONVERGED, 0, problem.t_span[0], [], detail=found.message)
    t = found.smoother.t
    mesh = TimeMesh(t)  # with frames where unknown clocks put them
    if len(problem.part_numbers) and status.success:
        values = {u.name: float(found.c[u.places][0]) for u in problem.unknowns if u.sensor is None}
        system = with_values(system, problem.part_numbers, values)
    seconds = {"setup": 0.0, "assemble": 0.0, "solve": total, "total": total}
    n_unknowns = len(t) * found.smoother.size + len(found.c)
    values = FrameValues(system, element, mesh, found)
    outcome = Outcome(values, status, np.array([found.iterations]), n_unknowns, seconds, n_ranks=found.n_ranks)
    statistics = solve_statistics(task.driver, "block Cholesky", mesh, outcome, objective=found.objective)
    z0 = momenta_of(system, t[:1], found.x[:1])[0]
    sol = KinematicEstimate.of(system, element, mesh.nodes, z0, values, status, statistics)
    sol.take(problem, found)
    return sol


class FrameValues(NodalValues):
    """Nodal values of all fields, worked out when they are first asked for: between frames the coordinates are the
    polynomials of their ends."""

    def __init__(self, system, element, mesh, found):
        self._of = system, element, mesh, found

    def __len__(self):
        return self._of[2].n_elements

    def __reduce__(self):
        return NodalValues, self.arrays

    @cached_property
    def _values(self):
        system, element, mesh, found = self._of
        points = mesh.points(element.state.basis)
        q, v = _between(points, mesh, found.x)
        x = np.stack([q.reshape(-1, system.n_q), v.reshape(-1, system.n_q)], axis=1)
        z = momenta_of(system, points.ravel(), x).reshape(*points.shape, system.n_z)
        n = element.multiplier.basis.n_shapes if "multipliers" in element.trial else 1
        multipliers = np.zeros((len(points), n, system.n_multipliers))
        state, multipliers, *others = element.nodal_values(system, points, z, multipliers)
        named = zip(list(element.trial)[2:], others, strict=False)
        return state, multipliers, {name: values for name, values in named if values.size}

    @property
    def state(self):
        return self._values[0]

    @property
    def multipliers(self):
        return self._values[1]

    @property
    def others(self):
        return self._values[2]


def _between(points, mesh, x):
    """Coordinates and velocities at points of the elements, by those at their ends."""
    h = mesh.lengths[:, None, None]
    s = (points - mesh.nodes[:-1, None])[..., None] / h
    first, last = x[:-1, 0][:, None], x[1:, 0][:, None]
    start, end = h * x[:-1, 1][:, None], h * x[1:, 1][:, None]
    q = ((1 + 2 * s) * (1 - s) ** 2 * first + s * (1 - s) ** 2 * start
         + s**2 * (3 - 2 * s) * last - s**2 * (1 - s) * end)
    v = 6 * s * (s - 1) * (first - last) + (1 - s) * (1 - 3 * s) * start + s * (3 * s - 2) * end
    return q, v / h
