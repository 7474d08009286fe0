"""What a problem without dynamics may ask for, its frames, and states at these."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .... import validate
from ....assembly.mesh import TimeMesh
from ....display import digits
from ....errors import InputError
from ....mechanics.states.given import tree_joint
from ....mechanics.system import coordinate_names
from ....memory import Late
from ..options import DEFAULT, DEFAULTS
from ..prior import numbers_of

scipy = Late("scipy")


def without_dynamics(problem):
    """The system of a problem with `dynamics="none"`, once it is checked that nothing is asked for that needs masses.

    Raises
    ------
    InputError
    """
    if problem.nodes != problem.measurements:
        raise InputError("nodes: with dynamics='none' all times are frames; leave it out")
    check_noise(problem.system, problem.noise)
    return problem.system


def frames(times, t_span):
    """All times, and the ends of the time span, each once."""
    t = np.unique(np.concatenate([*times, t_span]))
    return t[np.concatenate([[True], np.diff(t) > DEFAULTS.same_time * (t[-1] - t[0])])]


def places_among(t, times):
    """Numbers of the frames of some times."""
    return np.searchsorted(t, times + DEFAULTS.same_time * (t[-1] - t[0]), "right") - 1


def sensors_of(problem):
    """All that is measured, at the start too: sensor -> its loss, or None."""
    return dict(zip(problem.measurements, problem.losses(), strict=True)) | dict.fromkeys(problem.start_sensors[0])


def frames_of(problem):
    """The frames of a problem as a mesh."""
    return TimeMesh(frames([sensor.times_of_motion for sensor in problem.measurements], problem.t_span))


def check_kinematic_element(element):
    """InputError for elements that do not say which rate of the coordinates is noise."""
    if element.degree not in (2, 3) or not element.can_march:
        raise InputError("dynamics='none' takes MixedGalerkin(2), by which accelerations are noise, or MixedGalerkin(3)"
                         f", by which these are known and change by noise, not {element!r}")


def momenta_of(system, t, x):
    """(q, p) of frames, shapes (n,), (n, levels, n_q) -> (n, n_z)."""
    z = np.concatenate([x[:, 0], np.zeros_like(x[:, 0])], axis=1)
    return np.concatenate([x[:, 0], system.momentum(t, z, x[:, 1])], axis=1)


class PartNumbers(NamedTuple):
    """Unknown numbers of parts, such as lengths, which are the first ones of all.

    Attributes
    ----------
    numbers : UnknownNumbers
    mean, covariance : ndarray, shapes (n,), (n, n)
        Of their priors.
    moment : callable
        `moment(t, z, c, **others)` -> `Moment` with these numbers in symbols c.
    """

    numbers: Any
    mean: np.ndarray
    covariance: np.ndarray
    moment: Callable

    @classmethod
    def of(cls, problem):
        """Those of a problem; None where it has none."""
        own = [u for u in problem.unknowns if u.sensor is None]
        if not own:
            return None
        return cls(problem.part_numbers, np.concatenate([u.mean for u in own]),
                   scipy.linalg.block_diag(*(u.covariance for u in own)), problem.moment)


class Limits:
    """Bounds of coordinates of joints, kept by a barrier whose weight falls: a primal-dual interior point.

    Parameters
    ----------
    places : ndarray of int
        Coordinates, of all.
    bounds : ndarray, shape (2, n_places)
        Lower and upper, infinite where there is none.

    Attributes
    ----------
    weight : float
        mu of the barrier, in the units of the cost.
    """

    def __init__(self, places, bounds):
        self.places, self.bounds = places, bounds
        self.weight, self._duals = DEFAULT.barrier, None

    def inside(self, x):
        """States with coordinates moved inside of their bounds, where the barrier begins."""
        low, high = self.bounds
        with np.errstate(invalid="ignore"):
            room = np.where(np.isfinite(high - low), DEFAULT.room * (high - low), DEFAULT.room)
        x = x.copy()
        x[:, 0, self.places] = np.clip(x[:, 0, self.places], low + room, high - room)
        self.weight = DEFAULT.barrier
        self._duals = self.weight / self._gaps(x)
        return x

    def _gaps(self, x):
        """Distances from the bounds, shape (n, 2, n_places)."""
        q = x[:, 0, self.places]
        return np.stack([q - self.bounds[0], self.bounds[1] - q], axis=1)

    def terms(self, x, piece):
        """Curvature and gradient of the barrier by the coordinates, two arrays (m, n_places)."""
        gaps = self._gaps(x[piece])
        forces = self.weight / gaps
        return (self._duals[piece] / gaps).sum(axis=1), forces[:, 1] - forces[:, 0]

    def taken(self, x, new):
        """Share of a step that stays inside, by which duals go on, too; then the barrier falls."""
        gaps, step = self._gaps(x), (new - x)[:, 0, self.places]
        change = np.where(np.isfinite(gaps), np.stack([step, -step], axis=1), 0.0)
        pull = self.weight / gaps - self._duals - self._duals / gaps * change
        share, dual = _share(gaps, change), _share(self._duals, pull)
        self._duals = self._duals + dual * pull
        self.weight = max(DEFAULT.last_barrier, self.weight * (DEFAULT.falls if min(share, dual) > 0.5 else 1.0))
        return share

    @property
    def settled(self):
        """Whether the barrier has fallen."""
        return self.weight <= DEFAULT.last_barrier


def _share(values, change):
    """Largest share of a change that leaves values positive, by a little."""
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(change < 0, -values / change, np.inf)
    return float(min(1.0, 0.995 * np.nanmin(most, initial=np.inf)))


def limits_of(problem):
    """The `Limits` that a problem asks for, or None.

    Raises
    ------
    InputError
        For what is not a joint of a tree with one coordinate, and bounds that leave nothing between.
    """
    system, given = problem.system, problem.limits
    if given is None:
        return None
    if isinstance(given, str):
        validate.choice("limits", given, ("model",))
        given = {joint.name: (joint.limits.get("lower"), joint.limits.get("upper")) for tree in system.bodies
                 for joint in getattr(tree, "joints", ()) if {"lower", "upper"} & joint.limits.keys()
                 and joint.mimic is None}
    if not isinstance(given, Mapping):
        raise InputError("limits must be a dict, from joints of trees to (lower, upper), None where there is none, or "
                         f"'model' for those that joints state, not {given!r}")
    places, bounds = [], []
    for key, pair in given.items():
        joint = tree_joint(system, key)
        if joint is None or joint.n_q != 1:
            raise InputError(f"limits: {key!r} is not a joint of a tree with one coordinate")
        low, high = (np.inf * sign if end is None else validate.real(f"limits of {key!r}", end)
                     for end, sign in zip(pair, (-1, 1), strict=True))
        if not low < high:
            raise InputError(f"limits of {key!r}: the lower one, {digits(low, high)}, must be below the upper one, "
                             f"{digits(high, low)}")
        places += np.arange(system.n_q)[system.coordinates(joint)].tolist()
        bounds.append((low, high))
    return Limits(np.array(places, int), np.array(bounds).T) if places else None


REMEDY = ("noise says how much accelerations change: a spectral density [rad^2/s^3, m^2/s^3], or a dict from joints "
          "and bodies to these, such as {'all': 50.0}")


def densities(geometry, noise):
    """Spectral densities of coordinates, shape (n_q,), and of turns about the axes of bodies, shape (n_turns, 3).

    Parameters
    ----------
    geometry : Geometry
    noise : float or dict
        Of all coordinates, or of joints, bodies, trees, or their names, or "all": a number, one of each coordinate, or,
        of bodies that turn, a pair (of the place, of the turn).

    Raises
    ------
    InputError
        For densities that are not positive, for what is not in the system, and for what is left out.
    """
    if not isinstance(noise, Mapping):
        noise = {"all": noise}
    system = geometry.system
    of_coordinates, of_turns = np.full(geometry.n, np.nan), np.full((len(geometry.turns), 3), np.nan)
    named = [key for key in noise if not (isinstance(key, str) and key == "all")]
    for key in [*(["all"] if "all" in noise else []), *named]:
        value = noise[key]
        for body in _own(system) if isinstance(key, str) and key == "all" else (_found(system, key),):
            title = f"noise of {system.label(body)}"
            _take(geometry, body, value, title, of_coordinates, of_turns)
    free = np.concatenate([of_coordinates, of_turns.ravel()])
    of_coordinates[geometry.followers] = 1e8 * np.nanmax(free, initial=1.0)  # so that what they follow counts once
    _check_all(geometry, of_coordinates, of_turns)
    return of_coordinates, of_turns


def check_noise(system, noise):
    """InputError for what `densities` refuses of the names and signs of a problem's noise."""
    if noise is None:
        raise InputError("dynamics='none' needs noise, a spectral density of accelerations [rad^2/s^3, m^2/s^3]: the "
                         "square of how much velocities change in a second, such as noise=50.0")
    for key, value in noise.items() if isinstance(noise, Mapping) else [("all", noise)]:
        title = "noise"
        if not (isinstance(key, str) and key == "all"):
            title = f"noise of {system.label(_found(system, key))}"
        for one in value if isinstance(value, tuple) else (value,):
            _positive(title, one, np.size(one))


def _own(system):
    return [body for body in system.bodies if not body.helper]


def _found(system, key):
    """A body, or a joint of a tree."""
    try:
        joint = tree_joint(system, key)
        return system.find(key) if joint is None else joint
    except InputError as error:
        raise InputError(f"noise: {error}") from None


def _take(geometry, body, value, title, of_coordinates, of_turns):
    places = np.arange(geometry.n)[geometry.system.coordinates(body)]
    turning = [i for i, (_, local) in enumerate(geometry.turns) if np.isin(geometry.touched[local], places).all()]
    straight = np.setdiff1d(places, geometry.touched[np.concatenate(
        [np.zeros(0, int), *(geometry.turns[i][1] for i in turning)])])
    pair = value if isinstance(value, tuple) and len(value) == 2 and turning else (value, value)
    if len(straight):
        of_coordinates[straight] = _positive(title, pair[0], len(straight))
    for i in turning:
        of_turns[i] = _positive(title, pair[1], 3)


def _positive(title, value, n):
    """One number, or one of each of n."""
    values = numbers_of(title, value, n)
    if not np.all(values > 0):
        raise InputError(f"{title}: spectral densities must be positive, not {digits(values.min())}")
    return values


def _check_all(geometry, of_coordinates, of_turns):
    turning = geometry.touched[np.concatenate([np.zeros(0, int), *(local for _, local in geometry.turns)])]
    lacking = np.setdiff1d(np.flatnonzero(np.isnan(of_coordinates)), turning)
    known = coordinate_names(geometry.system)
    names = [known[i] for i in lacking]
    names += [known[geometry.touched[local][0]] for (_, local), own in zip(geometry.turns, of_turns, strict=True)
              if np.isnan(own).any()]
    if names:
        raise InputError(f"noise: none is given for {names[0]}" + (f" and {len(names) - 1} more" * (len(names) > 1)) +
                         f"; {REMEDY}")
