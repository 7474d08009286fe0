"""What all measurements have: times, values, errors, and unknown numbers of the sensor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments
from ...types import Floats, Matrix, Vector
from .loads import Moment
from .noise import Loss, as_loss
from .prior import Prior, checked_covariance, covariance_of, numbers_of

MISSING = "error", "skip"
ROWS = "times", "values", "measured", "covariances"  # of each time


@dataclass(eq=False, repr=False)
class Sensor(NamedArguments, ABC):
    """Numbers y_j that a sensor gave at times t_j: `y = scale h(motion at t) + bias + e`, with normal errors e.

    Parameters
    ----------
    times : array_like, shape (n_times,)
        Increasing [s].
    values : array_like, shape (n_times, n) or, of a single number, (n_times,)
        NaN where a number is missing, see `missing`.
    sigma : float or array_like, shape (n,)
        Standard deviations of the errors of each number.
    covariance : array_like, shape (n, n) or (n_times, n, n)
        Instead of `sigma`, where errors depend on each other or vary.
    missing : {"error", "skip"}
        Whether NaN is a mistake, or stands for what was not measured.
    bias, scale : Prior or array_like, optional
        Unknown, with a prior, or known: what is added to all numbers, and what multiplies them.
    time_offset : Prior or float, optional
        The clock of the sensor is late by this: what it gives at t is the motion at t + time_offset [s].
    loss : {"huber", "student"}, Huber or Student, optional
        How much outliers count; squares unless given.
    name : str, optional
        For reports.

    Raises
    ------
    InputError
        For times that do not increase, values that do not fit or are not finite, and covariances that are not positive.
    """

    _: KW_ONLY
    times: Vector
    values: Vector | Matrix
    sigma: float | Vector | None = None
    covariance: Matrix | np.ndarray | None = None
    missing: str = "error"
    bias: Prior | Floats | None = None
    scale: Prior | Floats | None = None
    time_offset: Prior | float | None = None
    loss: Loss | str | None = None
    name: str | None = None

    word: ClassVar[str] = "measurement"  # what it is, for messages
    on: ClassVar[str] = "body"  # the argument that says where
    refers: ClassVar[tuple[str, ...]] = ("body",)  # arguments that are parts
    found_offset: ClassVar[float | None] = None  # that which a search has come to

    def __post_init__(self):
        self._check_own()
        title, n = self.title, self.n
        self.times = validate.array(f"{title}: times", self.times, (None,))
        if not len(self.times):
            raise InputError(f"{title}: there are no times; give at least one")
        steps = np.diff(self.times)
        if np.any(steps <= 0):
            i = int(np.argmax(steps <= 0))
            if steps[i] == 0:
                raise InputError(f"{title}: time {digits(self.times[i])} s comes twice (numbers {i} and {i + 1}); drop "
                                 "one, or give a second measurement")
            raise InputError(f"{title}: times must increase, but {digits(self.times[i + 1], self.times[i])} s (number "
                             f"{i + 1}) follows {digits(self.times[i], self.times[i + 1])} s; sort times and values")
        self._check_values(title, n)
        self.loss = as_loss(f"{title}: loss", self.loss)
        self._check_errors(title, n)
        for name in self._numbers:
            self.number(name, {})

    def _check_own(self):
        """Checks of what a kind of sensor has besides."""

    def _check_values(self, title, n):
        validate.choice(f"{title}: missing", self.missing, MISSING)
        validate.refuse_conversions(f"{title}: values", self.values)
        try:
            values = np.array(self.values, float)
        except (TypeError, ValueError):
            raise InputError(f"{title}: values must be numbers of shape ({len(self.times)}, {n})") from None
        if values.ndim == 1 and n == 1:
            values = values[:, None]
        if values.shape != (len(self.times), n):
            raise InputError(f"{title}: values must have shape ({len(self.times)}, {n}), a row for each time, not "
                             f"{values.shape}")
        self.measured = np.isfinite(values)
        lacking = ~self.measured.all(axis=1)
        if np.isinf(values).any():
            when = self.times[np.isinf(values).any(axis=1)][0]
            raise InputError(f"{title}: values must be finite, but one at t = {when:g} s is infinite")
        if lacking.any() and self.missing == "error":
            raise InputError(f"{title}: {lacking.sum()} rows of values have NaN, the first at t = "
                             f"{self.times[lacking][0]:g} s; drop them, or say missing='skip' where nothing was "
                             "measured")
        if not self.measured.any():
            raise InputError(f"{title}: all values are missing; leave it out")
        self.values = values

    def _check_errors(self, title, n):
        if self.covariance is not None and np.ndim(self.covariance) == 3:
            if self.sigma is not None:
                raise InputError(f"{title}: give sigma or covariance, not both")
            given = validate.array(f"{title}: covariance", self.covariance, (len(self.times), n, n))
            self.covariances = np.array([checked_covariance(f"{title}: covariance at t = {t:g} s", c, n)
                                         for t, c in zip(self.times, given, strict=True)])
            return
        own = covariance_of(title, n, self.sigma, self.covariance)
        self.covariances = np.broadcast_to(own, (len(self.times), n, n))

    # ---- what it is

    @property
    def title(self) -> str:
        """For messages: its name, or what it is and where."""
        if self.name:
            return self.name
        where = getattr(self, self.on, None)
        return f"{self.word} {where if isinstance(where, str) else getattr(where, 'name', None) or ''}".strip()

    def __repr__(self):
        return f"{type(self).__name__}({self.title!r}, {len(self.times)} times)"

    @property
    @abstractmethod
    def n(self) -> int:
        """Numbers that are measured at each time."""

    @property
    def component_names(self) -> list[str]:
        """For reports, of each number."""
        return [""] if self.n == 1 else list("xyz")[:self.n] if self.n <= 3 else [str(i) for i in range(self.n)]

    @property
    def own_numbers(self) -> dict[str, tuple[Any, int]]:
        """Numbers of the sensor that may be unknown: name -> what was given, and how many they are."""
        return {}

    @cached_property
    def _numbers(self):
        common = {"bias": (self.bias, self.n), "scale": (self.scale, self.n), "time_offset": (self.time_offset, 1)}
        return {name: pair for name, pair in (self.own_numbers | common).items() if pair[0] is not None}

    @property
    def unknowns(self) -> dict[str, Prior]:
        """Unknown numbers of the sensor by name, each with its prior."""
        return {name: given for name, (given, _) in self._numbers.items() if isinstance(given, Prior)}

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each of the `unknowns` is."""
        return {name: n for name, (given, n) in self._numbers.items() if isinstance(given, Prior)}

    def number(self, name: str, c: dict[str, ca.SX]) -> ca.SX | None:
        """A number of the sensor: unknown, in the symbols c, or as it was given; None where it was not."""
        if name in c:
            return c[name]
        if name not in self._numbers:
            return None
        given, n = self._numbers[name]
        if isinstance(given, Prior):
            return ca.DM(given.of_size(f"{self.title}: {name}", n)[0])
        return ca.DM(numbers_of(f"{self.title}: {name}", given, n))

    @property
    def offset(self) -> float:
        """The time offset where it is known, else the mean of its prior, or what a search has come to [s]."""
        if self.found_offset is not None:
            return self.found_offset
        given = self.number("time_offset", {})
        return 0.0 if given is None else float(given)

    @property
    def is_late(self) -> bool:
        """Whether its clock is unknown."""
        return "time_offset" in self.unknowns

    def with_offset(self, offset: float) -> Sensor:
        """The same sensor where a search has come to a time offset [s]."""
        return self._with(found_offset=offset)

    @property
    def times_of_motion(self) -> np.ndarray:
        """Times of the motion that were measured, by the `offset` [s], shape (n_times,)."""
        return self.times + self.offset

    # ---- what a motion would give

    @abstractmethod
    def predicted(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        """h, without bias and scale, SX (n,), in the symbols of a time of the motion and of unknown numbers."""

    def expected(self, now: Moment, c: dict[str, ca.SX]) -> ca.SX:
        """What the sensor would give, SX (n,)."""
        value = ca.SX(self.predicted(now, c))
        scale, bias = self.number("scale", c), self.number("bias", c)
        value = value if scale is None else scale * value
        return value if bias is None else value + bias

    def residual(self, now: Moment, c: dict[str, ca.SX], y: ca.SX) -> ca.SX:
        """What was measured, y in symbols of a row of values, less what is expected, SX (n,); turns do not count."""
        return y - self.expected(now, c)

    def check(self, system: Any, moment: Any = None, n: int = 0) -> list[int]:
        """Whether a system has what is measured; with the `moment` of a problem of n unknown numbers, those of them on
        which it depends.

        Raises
        ------
        InputError
            For an unknown body or joint, and formulas that cannot be evaluated; names the measurement.
        """
        t, z, v, a = (ca.SX.sym(name, k) for name, k in zip("tzva", (1, 2 * system.n_q, system.n_q, system.n_q),
                                                            strict=True))
        others = {"v": v, "a": a, "u": ca.SX.sym("u", sum(p.n_controls for p in system.parts)),
                  "multipliers": ca.SX.sym("multipliers", system.n_multipliers)}
        c = ca.SX.sym("c", n)
        now = Moment(system, t, z, **others) if moment is None else moment(t, z, c, **others)
        try:
            value = self.residual(now, {name: ca.SX.sym(name, n) for name, n in self.sizes.items()},
                                  ca.SX.sym("y", self.values.shape[1]))
        except InputError as error:
            raise InputError(f"{self.title}: {error}") from None
        if value.numel() != self.n:
            raise InputError(f"{self.title}: it gives {value.numel()} numbers, and values have {self.n}")
        return [i for i in range(n) if ca.depends_on(value, c[i])]

    def of_times(self, kept: np.ndarray) -> Sensor | None:
        """The same sensor with some of its times, bool (n_times,); None where none of them has a value."""
        if not self.measured[kept].any():
            return None
        return self._with(**{name: getattr(self, name)[kept] for name in ROWS})

    def with_variances(self, factor: float) -> Sensor:
        """The same sensor with variances times a factor."""
        return self._with(covariances=self.covariances * factor)

    def followed_by(self, other: Sensor, t: float) -> Sensor:
        """The same sensor with further values, of times after t."""
        if type(other) is not type(self) or other.n != self.n:
            raise InputError(f"{self.title}: further values must be of a {type(self).__name__} of {self.n} numbers")
        if not other.times[0] + self.offset > t:
            raise InputError(f"{self.title}: further values must come after t = {digits(t)} s, not at "
                             f"{digits(other.times[0], t)} s")
        return self._with(**{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in ROWS})

    def _with(self, **arrays):
        """The same sensor with other arrays, of which what is worked out of them is forgotten."""
        other = copy(self)
        vars(other).update(arrays)
        for name in ("_roots", "n_measured"):
            vars(other).pop(name, None)
        return other

    # ---- errors

    @cached_property
    def n_measured(self) -> int:
        """How many numbers were measured."""
        return int(self.measured.sum())

    @property
    def whitening(self) -> np.ndarray:
        """W with W^T W the inverse of the covariance of what was measured, shape (n_times, n, n); zero for the rest."""
        return self._roots[0]

    @property
    def log_determinants(self) -> np.ndarray:
        """Of the covariances of what was measured, shape (n_times,)."""
        return self._roots[1]

    @cached_property
    def _roots(self):
        whitening, logs = np.zeros(self.covariances.shape), np.zeros(len(self.times))
        known: dict[Any, tuple[np.ndarray, float]] = {}
        constant = bool(np.all(self.covariances == self.covariances[0]))
        for j, mask in enumerate(self.measured):
            key = (mask.tobytes(), 0 if constant else j)
            if key not in known:
                places = np.flatnonzero(mask)
                root = np.zeros((self.n, self.n))
                lower = np.linalg.cholesky(self.covariances[j][np.ix_(places, places)])
                root[np.ix_(places, places)] = np.linalg.inv(lower)
                known[key] = root, 2 * float(np.log(np.diag(lower)).sum())
            whitening[j], logs[j] = known[key]
        return whitening, logs
