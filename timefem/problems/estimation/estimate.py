"""The solution of an estimation problem: the motion, and how certain it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, SolveError
from ...mechanics.bodies.rotations import quaternion_from_matrix
from ...mechanics.body_frame import BodyFrame
from ...mechanics.forces.actuators import Actuator
from ...mechanics.formulas.text import as_formula
from ...mechanics.inversion.outputs import Output
from ...mechanics.part import Body
from ...mechanics.parts import frame_named
from ...mechanics.states.given import tree_joint
from ...memory import Late
from ...solution.solution import Solution
from ...types import Floats
from .dynamic.program import SensorRows
from .options import DEFAULTS
from .prior import deviations_of
from .sensor import Sensor
from .sensors import FormulaSensor, OrientationSensor
from .verdict import Fit, fit_of

if TYPE_CHECKING:
    from .dynamic.search import Found
    from .loads import Loads


class BodySensor(OrientationSensor):
    """Place, turn from given orientations, velocity and angular velocity of a body; 12 numbers."""

    n = 12

    def residual(self, now, c, y):
        turn = super().residual(now, c, y)
        return ca.vertcat(-now.position(self.body), turn, -now.velocity(self.body), -now.angular_velocity(self.body))

    def _check_errors(self, title, n):
        self.covariances = np.broadcast_to(np.eye(12), (len(self.times), 12, 12))

    @property
    def whitening(self):
        return self.covariances


def term_of(solution, what, times):
    """The term whose residuals are the requested quantity with the other sign."""
    rows = SensorRows(solution._found.chain, solution._found.program.views)
    return rows.term(sensor_of(solution, what, times))


def is_joint(solution, what):
    """Whether a joint is asked for."""
    return bool(getattr(_meant(solution.problem.system, what), "coordinates", ()))


def _meant(system, what):
    """The requested quantity, of the system; formulas as they are."""
    if isinstance(what, str):
        labels = {system.label(part): part for part in (*system.parts, *system.bodies)}
        known = labels.get(what) or tree_joint(system, what) or frame_named(system, what)
        return what if known is None else known
    if not callable(what) and hasattr(what, "bodies") and not isinstance(what, Output):
        return system.here(what)
    return what


def sensor_of(solution, what, times):
    """A sensor without errors of the requested quantity."""
    system, formula = solution.problem.system, what
    what = _meant(system, what)
    if isinstance(what, Output):
        formula = lambda now: now.output(what)
    elif isinstance(what, Actuator) and what.n_controls:
        formula = lambda now: now.control(what)
    elif isinstance(what, BodyFrame) and what.has_orientation:
        return _of_body(solution, what, times)
    elif getattr(what, "coordinates", ()):
        formula = lambda now: ca.vertcat(*(now.joint(what, x.name) for x in what.coordinates))
    elif isinstance(what, BodyFrame):
        formula = lambda now: ca.vertcat(now.q(what), *([now.rates(what)] if what.has_rate else []))
    elif not (callable(what) or isinstance(what, str | list | tuple)):
        raise InputError(f"{what!r} is not a body, joint, actuator, output or formula of the estimate")
    n = _size(solution, formula)
    values = np.zeros((len(times), n))
    return FormulaSensor(formula, n, times=times, values=values, sigma=1.0, name="requested quantity")


def _size(solution, formula):
    """How many numbers a formula gives."""
    problem = solution.problem
    n = problem.system.n_q
    now = problem.moment(ca.SX.sym("t"), ca.SX.sym("z", 2 * n), ca.SX.sym("c", problem.n_constants),
                         v=ca.SX.sym("v", n), a=ca.SX.sym("a", n), u=ca.SX.sym("u", problem.n_controls),
                         multipliers=ca.SX.sym("multipliers", problem.system.n_multipliers))
    value = as_formula("requested quantity", formula, ["now"])(now)
    return ca.SX(ca.vertcat(*value) if isinstance(value, list | tuple) else value).numel()


def _of_body(solution, body, times):
    system = solution.problem.system
    z = solution(times)
    q = ca.SX.sym("q", len(z[0][:system.n_q][system.coordinates(body)]))
    turn = ca.Function("turn", [q], [body.frame(q)[1]])
    found = [quaternion_from_matrix(np.array(turn(x[:system.n_q][system.coordinates(body)]))) for x in z]
    return BodySensor(body, times=times, values=np.array(found), sigma=1.0, name="requested quantity")


scipy, pyplot = Late("scipy"), Late("matplotlib.pyplot")


class Estimate(Solution):
    """The most likely motion given measurements, with the posterior distribution about it.

    What can be asked of it, `what` below: a body (its place, a small turn about its axes, velocity and angular
    velocity in its axes, 12 numbers; of others coordinates and, but for a `State`, velocities), a joint (its
    coordinate), an actuator that stands for an unknown force (its controls), an output such as `PositionOutput`, the
    name of an unknown number, or a formula `now -> expressions` as in `FormulaSensor`, also as text.

    Attributes
    ----------
    problem : Estimation
    """

    def take(self, problem: Any, found: Found) -> None:
        """What it knows besides the motion."""
        self.problem, self._found = problem, found

    further = "estimate"  # what its files have besides the motion

    # ---- uncertainty

    def value(self, what: Any, t: Floats | None = None) -> np.ndarray:
        """The most likely value, shape t.shape + (n,), or (n,) of an unknown number; of a turn of a body zero.

        Parameters
        ----------
        what : Body, Joint, Actuator, Output, callable or str
            See above.
        t : array_like, optional
            Times [s]; default: the ends of the elements.

        Raises
        ------
        InputError
            For what is not part of the estimate, and times outside of the solution.
        SolveError
            When the solve failed.
        """
        return self._distribution(what, t)[0]

    def covariance(self, what: Any, t: Floats | None = None) -> np.ndarray:
        """Posterior covariance, shape t.shape + (n, n), or (n, n) of an unknown number.

        Parameters
        ----------
        what
            See above.
        t : array_like, optional
            Times [s]; default: the ends of the elements.
        """
        return self._distribution(what, t)[1]()

    def std(self, what: Any, t: Floats | None = None) -> np.ndarray:
        """Posterior standard deviations, shape t.shape + (n,), or (n,) of an unknown number.

        Parameters
        ----------
        what : Body, Joint, Actuator, Output, callable or str
            See above.
        t : array_like, optional
            Times [s]; default: the ends of the elements.

        Raises
        ------
        InputError
            For what is not part of the estimate, and times outside of the solution.
        SolveError
            When the solve failed.
        """
        return deviations_of(self.covariance(what, t))

    def interval(self, what: Any, t: Floats | None = None, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the interval that holds each number with this probability.

        Parameters
        ----------
        what : Body, Joint, Actuator, Output, callable or str
            See above.
        t : array_like, optional
            Times [s]; default: the ends of the elements.
        level : float
            Probability, above 0 and below 1.

        Returns
        -------
        lower, upper : ndarray, shape t.shape + (n,)

        Raises
        ------
        InputError
            For what is not part of the estimate, and times outside of the solution.
        SolveError
            When the solve failed.
        """
        level = validate.real("level", level, positive=True)
        if level >= 1:
            raise InputError(f"level must be below 1, not {digits(level)}")
        factor = float(scipy.special.ndtri((1 + level) / 2))
        mean, covariance = self._distribution(what, t)
        deviation = factor * deviations_of(covariance())
        return mean - deviation, mean + deviation

    def _distribution(self, what, t):
        """The mean, and the function that makes the covariance."""
        posterior = self._posterior
        names = [u.label for u in self.problem.unknowns]
        if isinstance(what, str) and what in names:
            u = self.problem.unknowns[names.index(what)]
            columns = self._found.chain.columns_of("constants")[-1, -1, u.places]
            return self.numbers[u.places], lambda: self._unless_held(posterior.covariance(columns), u.places)
        t = self.t if t is None else np.asarray(t, float)
        times, inverse = np.unique(t.ravel(), return_inverse=True)
        if len(times) and (times[0] < self.t[0] or times[-1] > self.t[-1]):
            raise InputError(f"times must be inside of the solution, {digits(self.t[0])} to {digits(self.t[-1])} s, "
                             f"not {digits(times[0], self.t[0])} to {digits(times[-1], self.t[-1])}")
        term = term_of(self, what, times)
        residual, jacobian = term.evaluate(self._found.v)

        def covariance():
            found = np.array([posterior.of_local(columns, own) for columns, own in
                              zip(term.columns, np.broadcast_to(jacobian, (len(times), *jacobian.shape[1:])),
                                  strict=True)])
            variances = np.diagonal(found, axis1=1, axis2=2)
            if variances.size and variances.min() < -DEFAULTS.rounding * np.abs(found).max():
                raise SolveError("the covariance is lost in rounding: priors are much wider than what the data "
                                 "determine; give a StatePrior with standard deviations of the size of what is not "
                                 "known")
            return found[inverse].reshape(*t.shape, *found.shape[1:])

        mean = 0.0 - residual  # no negative zeros
        return mean[inverse].reshape(*t.shape, -1), covariance

    @property
    def _posterior(self):
        if self._found.posterior is None:
            raise InputError(f"the solve failed ({self.status.reason}), so that there are no standard deviations")
        return self._found.posterior

    def state_covariance(self, i: int) -> np.ndarray:
        """Posterior covariance of the state (q, p) at node i, shape (n_z, n_z); singular where there are constraints.
        """
        columns = self._found.chain.columns_of("state")
        return self._posterior.covariance(columns[0, 0] if i == 0 else columns[i - 1, -1])

    def draws(self, n: int, seed: int = 0) -> np.ndarray:
        """Draws from the posterior, linearised about the motion.

        Parameters
        ----------
        n : int
            Number of draws.
        seed : int
            Of the random numbers.

        Returns
        -------
        ndarray, shape (n, n_nodes, n_z)
            States at the nodes.

        Raises
        ------
        InputError
            For numbers that cannot be used.
        SolveError
            When the solve failed.
        """
        rng, found = np.random.default_rng(validate.integer("seed", seed, minimum=0)), []
        for _ in range(validate.integer("n", n, minimum=1)):
            drawn = self._posterior.draw(rng)
            values = self._found.chain.nodal(self._found.program.place(drawn), "state")
            found.append(np.concatenate([values[:1, 0], values[:, -1]]))
        return np.array(found)

    def inverse_dynamics(self, actuators: Actuator | Sequence[Actuator] = ()) -> Loads:
        """Forces along a motion without dynamics, see `KinematicEstimate`.

        Raises
        ------
        InputError
            Of motions with dynamics, whose forces are known, or part of the estimate.
        """
        raise InputError("forces are part of an estimate with dynamics: ask for value(actuator) and std(actuator)")

    # ---- unknown numbers

    @property
    def at_bounds(self) -> dict[str, str]:
        """Names of unknown numbers that ended at a bound -> "lower" or "upper"."""
        names = self.problem.unknown_names
        return {names[k]: ("lower", "upper")[side] for k, side in sorted(self._held.items())}

    @property
    def _held(self):
        """Number of an unknown number at a bound -> which one."""
        return {k: term.active for k, term in self._found.program.held.items() if term.active is not None}

    def _unless_held(self, covariance, places=slice(None)):
        """Covariance of some unknown numbers, NaN of those at a bound."""
        held = np.isin(np.arange(self.problem.n_constants)[places], list(self._held))
        return np.where(held | held[:, None], np.nan, covariance)

    @property
    def numbers(self) -> np.ndarray:
        """Unknown numbers, in the order of `problem.unknown_names`."""
        if not self.problem.n_constants:
            return np.zeros(0)
        return np.clip(self.fields["constants"][-1, -1], *self.problem.number_bounds)

    @property
    def parameters(self) -> dict[str, Any]:
        """Unknown numbers by name, those of sensors as "bias of NAME"; several numbers as arrays."""
        return {u.label: self.numbers[u.places] if u.places.stop - u.places.start > 1 else
                float(self.numbers[u.places][0]) for u in self.problem.unknowns}

    @cached_property
    def number_covariance(self) -> np.ndarray:
        """Posterior covariance of all unknown numbers, NaN of those at a bound."""
        return self._unless_held(self._posterior.covariance(self._found.chain.columns_of("constants")[-1, -1]))

    # ---- how well the model explains the data

    @cached_property
    def log_evidence(self) -> float:
        """`log p(y)`: how likely the measurements are under the model and its noise; for comparing models.

        Raises
        ------
        InputError
            Where an unknown number is at a bound: the posterior is not a normal distribution there.
        """
        if self.at_bounds:
            raise InputError(f"{next(iter(self.at_bounds))} is at its bound, where there is no evidence by Laplace's "
                             "approximation; give it as a number, or without bounds")
        return self._posterior.log_evidence()

    @cached_property
    def fit(self) -> Fit:
        """How well model and errors explain what was measured, with a verdict, outliers, and what is not determined."""
        return fit_of(self)

    def residuals(self, sensor: Sensor) -> np.ndarray:
        """What a sensor gave less what is expected, shape (n_times, n), NaN where it gave nothing."""
        i = self._number(sensor)
        values = self._found.program.sensors[i].values(self._found.v)
        return np.where(self.problem.measurements[i].measured, values, np.nan)

    def weights(self, sensor: Sensor) -> np.ndarray:
        """Weights of a sensor's values by its loss, shape (n_times,); ones for squares."""
        return self._found.program.sensors[self._number(sensor)].weights

    def _number(self, sensor):
        known = self.problem.measurements
        if not known:
            raise InputError("the estimate was read from a file, which has no measurements; solve again")
        if sensor not in known:
            raise InputError(f"{sensor!r} is not among the measurements of the problem")
        return known.index(sensor)

    def band(self, what: Body | Any, t: Floats | None = None, level: float = 0.95,
             ax: Any = None) -> Any:
        """Draw the most likely value over the time, with its interval as a band.

        Turns of the angle of a joint are counted.

        Parameters
        ----------
        what : Body, Joint, Actuator, Output, callable or str
            See above.
        t : array_like, optional
            Times [s]; default: 201 of equal distance.
        level : float
            Probability of the interval.
        ax : Axes, optional

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            For what is not part of the estimate, and times outside of the solution.
        SolveError
            When the solve failed.
        """
        t = np.linspace(self.t[0], self.t[-1], 201) if t is None else np.asarray(t, float)
        mean, (lower, upper) = self.value(what, t), self.interval(what, t, level)
        if is_joint(self, what):
            counted = np.unwrap(mean, axis=0)
            lower, mean, upper = lower + counted - mean, counted, upper + counted - mean
        ax = ax or pyplot.gca()
        for i in range(mean.shape[-1]):
            line, = ax.plot(t, mean[:, i])
            ax.fill_between(t, lower[:, i], upper[:, i], color=line.get_color(), alpha=0.25, linewidth=0)
        ax.set(xlabel="t [s]", ylabel=what if isinstance(what, str) else getattr(what, "name", None) or "")
        return ax
