"""Limits of an optimal control problem: what may be limited, where, and from which side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...errors import InputError
from ...mechanics.formula import call, call_vector, check_symbols
from ...mechanics.inversion.outputs import JointOutput, Output
from ...types import Floats, UserFunction

if TYPE_CHECKING:
    from ...mechanics.joints.joint import Joint

PLACES = "path", "start", "end", "integral"
SAMPLES = 101  # times at which bounds that depend on it are compared


class Limit(NamedArguments):
    """`lower <= g(state, controls, numbers, time) <= upper` along the path, at one of its ends, or in the integral.

    Parameters
    ----------
    formula : callable, Joint or Output
        Of a joint its first coordinate is limited, of an output its value. Else `formula(now, u)` -> expressions in
        CasADi symbols. `now` gives `t`, `z`, `q(body)`, `rates(body)`, `position(body)`, `velocity(body)`,
        `rotation_matrix(body)`, `angular_velocity(body, frame)`, `energy()` and `parameters`, a dict of the unknown
        numbers; u are the controls of all actuators, in the order of the system.
    lower, upper : float, array_like or callable, optional
        One number for all expressions, one for each, or a function of the time `t -> numbers` in CasADi symbols; None
        where there is none, for one expression or for all. Where both are the same number it is an equation.
    at : {"path", "start", "end", "integral"}
        All along the path, at one end only, or for the integral over the time span, by the points of the element.
    points : int
        Points inside of each element besides the nodes of the state, at equal distances; between points a limit may be
        exceeded, at first order in the length of the elements.
    name : str, optional
        For reports.

    Raises
    ------
    InputError
        When there is no bound, or the lower one is above the upper one.
    """

    def __init__(self, formula: UserFunction | Joint | Output, lower: Floats | UserFunction | None = None,
                 upper: Floats | UserFunction | None = None, *, at: str = "path", points: int = 0,
                 name: str | None = None) -> None:
        output = JointOutput(formula) if getattr(formula, "coordinates", ()) else formula
        if isinstance(output, Output):
            formula, name = (lambda now, u: output.value(*map(now.q, output.bodies))), name or output.name
        self.formula, self.name = formula, name or "limit"
        self.at = validate.choice(f"{self.name}: at", at, PLACES)
        self.points = validate.integer(f"{self.name}: points", points, minimum=0)
        if lower is None and upper is None:
            raise InputError(f"{self.name}: give lower, upper or both")
        self.lower, self.upper = (self._bound(word, b) for word, b in (("lower", lower), ("upper", upper)))
        if isinstance(self.lower, np.ndarray) and isinstance(self.upper, np.ndarray) \
                and np.any(self.lower > self.upper):
            raise InputError(f"{self.name}: the lower bound must not be above the upper one, {lower!r} and {upper!r}")
        if self.at == "integral" and (callable(lower) or callable(upper)):
            raise InputError(f"{self.name}: bounds of an integral are numbers, not functions of the time")
        if self.points and self.at != "path":
            raise InputError(f"{self.name}: points belong to at='path'")

    def _bound(self, word, value):
        if value is None or callable(value):
            return value
        none = -np.inf if word == "lower" else np.inf
        try:
            value = np.array([none if x is None else x for x in np.atleast_1d(np.asarray(value, object))], float)
        except (TypeError, ValueError):
            value = np.array([np.nan])
        if np.isnan(value).any() or value.ndim != 1:
            raise InputError(f"{self.name}: {word} must be a number, one for each expression, or a "
                             "function of the time")
        return value

    def rows(self, now: Any, u: ca.SX) -> tuple[ca.SX, np.ndarray, np.ndarray]:
        """Expressions, and their lower and upper bounds, shapes (n,).

        A bound that is a function of the time is subtracted, so that its expressions come once more.
        """
        values = call_vector(self.name, self.formula, now, u)
        n, rows, plain = values.numel(), [], []
        for bound, sign in ((self.lower, -1), (self.upper, 1)):
            if callable(bound):
                at = call(f"{self.name}: bound", bound, n, ca.SX(now.t))
                low, high = (np.full(n, 0.0 if s == sign else s * np.inf) for s in (-1, 1))
                rows.append((values - at, low, high))
                bound = None
            bound = np.array([sign * np.inf]) if bound is None else bound
            if bound.size not in (1, n):
                raise InputError(f"{self.name}: bounds have {bound.size} numbers, but there are {n} expressions")
            plain.append(np.broadcast_to(bound, (n,)))
        if any(np.isfinite(b).any() for b in plain):
            keep = np.flatnonzero(np.isfinite(plain[0]) | np.isfinite(plain[1]))
            rows.append((values[keep.tolist()], plain[0][keep], plain[1][keep]))
        values, lower, upper = zip(*rows, strict=True)
        return ca.densify(ca.vertcat(*values)), np.concatenate(lower), np.concatenate(upper)

    def check_bounds(self, t0: float, t1: float) -> None:
        """Refuse a lower bound that is above the upper one at some time."""
        if not (callable(self.lower) or callable(self.upper)) or self.lower is None or self.upper is None:
            return
        t, times = ca.SX.sym("t"), np.linspace(t0, t1, SAMPLES)
        low, high = (_sampled(f"{self.name}: {word}", bound, t, times)
                     for word, bound in (("lower", self.lower), ("upper", self.upper)))
        crossed = (low > high + 1e-12 * np.maximum(1.0, np.abs(high))).any(axis=0)
        if crossed.any():
            raise InputError(f"{self.name}: the lower bound is above the upper one at t = "
                             f"{times[crossed.argmax()]:.6g}")

    def add_to(self, rows: Any) -> None:
        """Add its rows to `LimitRows`."""
        if self.at == "path":
            rows.on_path(self)
        elif self.at == "integral":
            rows.integral(self)
        else:
            rows.at_end(self, self.at == "end")

    def check(self, now: Any, symbols: Sequence[ca.SX], z0: np.ndarray | None, t0: float, numbers: np.ndarray) -> None:
        """Refuse what is no formula of the arguments, and what the state at the start breaks, if it is prescribed."""
        _, u, _, c = symbols
        values, lower, upper = self.rows(now, u)
        check_symbols(self.name, values, *symbols)
        if self.at in ("end", "integral") or z0 is None:
            return
        at_start = np.array(ca.Function("start", symbols, [values])(z0, np.zeros(u.numel()), t0, numbers)).ravel()
        for i, row in enumerate(ca.vertsplit(values)):
            if ca.depends_on(row, ca.vertcat(u, c)):
                continue
            missing = max(lower[i] - at_start[i], at_start[i] - upper[i])
            if missing > 1e-9 * max(1.0, abs(at_start[i])):
                raise InputError(f"{self.name}[{i}] is broken by the state at the start, by {missing:.3g}: give "
                                 "another start, or loosen the bound")


def _sampled(title, bound, t, times):
    """Values of a bound, (n, n_times)."""
    if not callable(bound):
        return np.repeat(bound[:, None], len(times), axis=1)
    return np.array(ca.Function("bound", [t], [call_vector(title, bound, t)]).map(len(times))(times))
