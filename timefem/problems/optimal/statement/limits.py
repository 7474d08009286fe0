"""Limits of states and controls along a motion; and all that a problem asks for, with its formulas as text: plain data
for files and people."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from .... import validate
from ....display import digits
from ....errors import InputError, NamedArguments, known_names
from ....mechanics.forces.actuators import Cost, Effort
from ....mechanics.formulas.formula import call, call_vector, check_symbols
from ....mechanics.formulas.stored import terms_of
from ....mechanics.formulas.text import TextFormula, as_formula, refuse_comparison, text_of
from ....mechanics.inversion.outputs import JointOutput, Output
from ....mechanics.symbols import Symbols
from ....mechanics.values.of_parts import couples_inertia
from ....memory import Late
from ....types import Floats, UserFormula, UserFunction
from ...end import End
from ..options import OPTIONS
from .couplings import BOTH_ENDS

if TYPE_CHECKING:
    from ....mechanics.joints.joint import Joint


def stated(problem):
    """Costs, limits and couplings of an `OptimalControl` by the arguments that make them.

    Returns
    -------
    dict
        "cost", a list of integrands, and "end_cost", as text; "limits" and "couplings", lists of dicts with the
        arguments of `Limit`, `Coupling`, and, by "type" as in model files, `Complementary` and `CoulombFriction`. None
        stands for a formula that cannot be written.
    """
    z, u, t, c = (ca.SX.sym("z", problem.system.n_z), ca.SX.sym("u", problem.n_controls), ca.SX.sym("t"),
                  ca.SX.sym("c", len(problem.guesses)))
    of_now = {"now.z": z, "u": u, "now.t": t, **_numbers(problem, c, "now.")}
    now, write = problem.now(z, t, c, u), _writer(of_now)
    found = {"cost": [_integrand(problem, part) for part in problem.system.parts if isinstance(part, Cost)],
             "limits": [limit.stated(lambda formula: write(formula, now, u)) for limit in problem.limits],
             "couplings": coupled(problem, problem, problem.couplings, BOTH_ENDS, (0, 1))}
    if problem.end_cost is not None:
        end, parameters = problem._at_end(z, c)
        found["end_cost"] = _writer({"end.z": z, **_numbers(problem, c)})(problem.end_cost, end, parameters)
    return found


def coupled(first, second, couplings, words, places):
    """Couplings of an end of one problem and an end of another one, 0 for its start, by the arguments that make them.
    """
    symbols, ends = {}, []
    for problem, word, last in zip((first, second), words, places, strict=True):
        z, c = ca.SX.sym("z", problem.system.n_z), ca.SX.sym("c", len(problem.guesses))
        ends.append(problem.now(z, ca.SX(problem.time(problem.t_span[last], c / problem.units)), c))
        symbols |= {f"{word}.z": z, **_numbers(problem, c, f"{word}.")}
    write = _writer(symbols)
    return [{"formula": write(coupling.formula, *ends), "lower": plain(coupling.lower), "upper": plain(coupling.upper),
             "name": coupling.name} for coupling in couplings]


def plain(bound):
    """Bounds as data: numbers, None for none, and functions of the time as text."""
    if not callable(bound):
        entries = [plain(x) if callable(x) else float(x) if np.isfinite(x) else None for x in bound]
        return entries[0] if len(entries) == 1 else entries
    t = ca.SX.sym("t")
    return _writer({"t": t})(bound, t)


def _numbers(problem, c, lead=""):
    return {f"{lead}parameters[{name!r}]": c[i] for i, name in enumerate(problem.unknown_names)}


def _writer(symbols):
    """`write(formula, *arguments)` -> text, of what is made of these symbols."""
    def write(formula, *arguments):
        if isinstance(formula, TextFormula):
            return formula.text
        try:
            values = ca.vertsplit(call_vector("a formula", formula, *arguments))
            return text_of("a formula", values[0] if len(values) == 1 else values, symbols)
        except InputError:
            return None

    return write


def _integrand(problem, part):
    """Of its bodies and actuators by name."""
    system = problem.system
    if isinstance(part, Effort):
        return f"dot({part.weights.tolist()}, now.control({system.label(part.controls[0])!r})**2) / 2"
    if isinstance(getattr(part, "given", None), TextFormula):
        return part.given.text
    s, u = Symbols(part), [ca.SX.sym("u", a.n_controls) for a in part.controls]
    s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
    symbols = {f"now.q({system.label(body)!r})": q for body, q in zip(part.bodies, s.q, strict=True)}
    symbols |= {f"now.rates({system.label(body)!r})": v for body, v in zip(part.bodies, s.velocity, strict=True)}
    symbols |= {f"now.control({system.label(a)!r})": x for a, x in zip(part.controls, u, strict=True)}
    unknown = {f"now.parameters[{source!r}]": s.own[i] for i, source in enumerate(part.sources)
               if isinstance(source, str)}
    known = [i for i in range(s.own.numel()) if not (part.sources and isinstance(part.sources[i], str))]
    following = problem.numbers.following.get(part)
    if following and set(known) & set(following[1].places):
        return None  # of numbers of parts that are unknown themselves
    value = ca.substitute(ca.SX(part.cost(s, ca.vertcat(ca.SX(0, 1), *u))), s.own[known],
                          ca.SX(part.own_parameters[known]))
    symbols |= unknown
    try:
        return text_of("cost", value, symbols | {"now.t": s.t})
    except InputError:
        return None


formulas = Late("timefem.mechanics.time_formulas")

PLACES = "path", "start", "end", "integral"
Bounds: TypeAlias = "Floats | UserFunction | str | Sequence[Any] | None"


class Limit(NamedArguments):
    """`lower <= g(state, controls, numbers, time) <= upper` along the path, at one of its ends, or in the integral.

    Parameters
    ----------
    formula : callable, str, sequence of str, Joint or Output
        Of a joint its first coordinate is limited, of an output its value; angles without counted turns are taken
        within half a turn of the middle of two bounds, else of zero, and solves in which they go beyond fail by "turns
        not counted". Else `formula(now, u)` -> expressions in CasADi symbols, or
        such a formula as text. `now` gives `t`, `z`, `q(body)`, `rates(body)`, `position(body, point)`,
        `velocity(body, point)`, `rotation_matrix(body)`, `angular_velocity(body, frame)`, `joint(joint)`,
        `joint_rate(joint)`, `control(actuator)`, `energy()`, `kinetic_energy(body)`, `potential_energy(part)`,
        `power(part)`, `reaction(joint)` and `parameters`, a dict of the unknown numbers; u are the controls of all
        actuators, in the order of the system. In texts bodies, joints and actuators have their names:
        `"now.velocity('ball')[0]"`.
    lower, upper : float, callable, str or sequence of these, optional
        One for all expressions, or one for each: numbers, or functions of the time in CasADi symbols or as text; None
        where there is none. Where both are the same it is an equation.
    at : {"path", "start", "end", "integral"}
        All along the path, at one end only, or for the integral over the time span, by the points of the element.
        On the path formulas of the state hold at its nodes, inequalities of controls alone at the nodes of these, and
        those of both, and equations of controls, at as many Gauss points of each element, where the equations of
        motion see the controls; inequalities of both at both ends of the path as well, and those of controls alone at
        Gauss points as well unless they hold between nodes anyway.
        Where a motion passes a formula of the state far between its nodes, it is solved again with Gauss points, too.
    points : int
        Points inside of each element besides these, at equal distances; between points a limit may be exceeded, at
        first order in the length of the elements. Equations of controls take none.
    name : str, optional
        For reports.

    Raises
    ------
    InputError
        When there is no bound, or the lower one is above the upper one.
    """

    between = False  # whether formulas of the state hold at Gauss points, too
    as_equations = False  # whether inequalities hold where equations do

    def __init__(self, formula: UserFormula | Joint | Output, lower: Bounds = None,
                 upper: Bounds = None, *, at: str = "path", points: int = 0,
                 name: str | None = None) -> None:
        output = JointOutput(formula) if getattr(formula, "coordinates", ()) else formula
        if isinstance(output, Output):
            formula, name = (lambda now, u: now.output(output, self._middle)), name or output.name
        self.name = name or "limit"
        self.formula = as_formula(f"{self.name}: formula", formula, ["now", "u"])
        refuse_comparison(f"{self.name}: formula", self.formula)
        self.at = validate.choice(f"{self.name}: at", at, PLACES)
        self.points = validate.integer(f"{self.name}: points", points, minimum=0)
        self.lower, self.upper = (self._bound(word, b) for word, b in (("lower", lower), ("upper", upper)))
        if not self._timed and not np.isfinite([*self.lower, *self.upper]).any():
            raise InputError(f"{self.name}: give lower, upper or both")
        if not self._timed and len({1, len(self.lower), len(self.upper)}) < 3 and \
                np.any(np.array(self.lower) > np.array(self.upper)):
            raise InputError(f"{self.name}: the lower bound must not be above the upper one, {digits(self.lower)} "
                             f"and {digits(self.upper)}")
        if self.at == "integral" and self._timed:
            raise InputError(f"{self.name}: bounds of an integral are numbers, not functions of the time")
        if self.points and self.at != "path":
            raise InputError(f"{self.name}: points belong to at='path'")

    def _bound(self, word, value):
        """A function of the time, or a list of numbers and such functions."""
        none = -np.inf if word == "lower" else np.inf
        if callable(value) or isinstance(value, str):
            return as_formula(f"{self.name}: {word}", value, ["t"])
        entries = [none] if value is None else value if isinstance(value, list | tuple) else np.atleast_1d(value)
        try:
            found = [none if x is None else x if callable(x) else formulas.as_time_function(f"{self.name}: {word}", x)
                     if isinstance(x, str) else float(x) for x in entries]
        except InputError:
            raise
        except (TypeError, ValueError):
            found = [np.nan]
        if not found or any(not callable(x) and np.isnan(x) for x in found):
            raise InputError(f"{self.name}: {word} must be a number, one for each expression, or a "
                             f"function of the time, not {value!r}")
        return found

    def held_between(self) -> Limit:
        """The same, whose formulas of the state hold at Gauss points of elements as well."""
        other = copy(self)
        other.between = True
        return other

    @property
    def _middle(self):
        """Between its bounds, about which an angle is taken that counts no turns: zero where a bound is missing."""
        ends = None if self._timed else np.array([*self.lower, *self.upper])
        return ends.mean() if ends is not None and len(ends) == 2 and np.isfinite(ends).all() else 0.0

    @property
    def _timed(self):
        return is_timed((self.lower, self.upper))

    @property
    def kinks(self) -> list[float]:
        """Times at which its bounds jump or bend, as far as functions of the time tell."""
        return [t for bound in (self.lower, self.upper) for f in (bound if isinstance(bound, list) else [bound])
                for t in getattr(getattr(f, "function", f), "kinks", ())]

    def _bounds_at(self, t, n):
        """Lower and upper bounds of n expressions at a time, two lists of numbers and expressions."""
        for word, bound in (("lower", self.lower), ("upper", self.upper)):
            title = f"{self.name}: {word}"
            found = ca.vertsplit(call_vector(title, bound, t)) if callable(bound) else \
                [call(title, b, 1, t) if callable(b) else b for b in bound]
            if len(found) not in (1, n):
                raise InputError(f"{title} has {len(found)} bounds, but there are {n} expressions")
            yield found * (n // len(found))

    def rows(self, now: Any, u: ca.SX) -> tuple[ca.SX, np.ndarray, np.ndarray]:
        """Expressions, and their lower and upper bounds, shapes (n,).

        A bound that is a function of the time is subtracted, so that its expression comes once more.
        """
        values, rows = ca.vertsplit(call_vector(f"{self.name}: formula", self.formula, now, u)), []
        for value, low, high in zip(values, *self._bounds_at(ca.SX(now.t), len(values)), strict=True):
            moving = [isinstance(bound, ca.SX) for bound in (low, high)]
            if all(moving) and ca.is_equal(low, high, OPTIONS.compared_depth):
                rows.append((value - low, 0.0, 0.0))
                continue
            rows += [(value - low, 0.0, np.inf)] * moving[0] + [(value - high, -np.inf, 0.0)] * moving[1]
            plain = [none if m else b for b, m, none in zip((low, high), moving, (-np.inf, np.inf), strict=True)]
            if np.isfinite(plain).any():
                rows.append((value, *plain))
        values, lower, upper = zip(*rows, strict=True)
        return ca.densify(ca.vertcat(*values)), np.array(lower, float), np.array(upper, float)

    def check_bounds(self, now: Any, u: ca.SX, t0: float, t1: float) -> None:
        """Refuse a lower bound that is above the upper one at some time."""
        if not self._timed:
            return
        n = call_vector(f"{self.name}: formula", self.formula, now, u).numel()
        t, times = ca.SX.sym("t"), np.linspace(t0, t1, OPTIONS.compared_times)
        low, high = (np.array(ca.Function("bound", [t], [ca.densify(ca.SX(ca.vertcat(*b)))]).map(len(times))(times))
                     for b in self._bounds_at(t, n))
        crossed = (low > high + 1e-12 * np.maximum(np.abs(low), np.abs(high))).any(axis=0)
        if crossed.any():
            raise InputError(f"{self.name}: the lower bound is above the upper one at t = "
                             f"{times[crossed.argmax()]:.6g}")

    def stated(self, write: Any) -> dict[str, Any]:
        """Its arguments as plain data, by `write(formula)` -> text."""
        return {"formula": write(self.formula), "lower": plain(self.lower), "upper": plain(self.upper), "at": self.at,
                "points": self.points, "name": self.name}

    def add_to(self, rows: Any) -> None:
        """Add its rows to `LimitRows`."""
        if self.at == "path":
            rows.on_path(self)
        elif self.at == "integral":
            rows.integral(self)
        else:
            rows.at_end(self, self.at == "end")

    def check(self, now: Any, symbols: Sequence[ca.SX], z0: np.ndarray | None, t0: float, numbers: np.ndarray) -> ca.SX:
        """Refuse what is not a formula of the arguments, and what the state at the start breaks, if it is prescribed.

        Returns the expressions.
        """
        _, u, _, c = symbols
        values, lower, upper = self.rows(now, u)
        forces = ca.SX(0, 1) if now.reactions is None else now.reactions
        check_symbols(self.name, values, *symbols, forces)
        if self.at != "path" and ca.depends_on(values, forces):
            raise InputError(f"{self.name}: reactions can be used in limits along the path only, not at={self.at!r}")
        if self.at in ("end", "integral") or z0 is None:
            return values
        at_start = np.array(ca.Function("start", [*symbols, forces], [values])(
            z0, np.zeros(u.numel()), t0, numbers, np.zeros(forces.numel()))).ravel()
        by_state = np.array(ca.Function("by_state", [*symbols, forces], [ca.densify(ca.jacobian(values, symbols[0]))])(
            z0, np.zeros(u.numel()), t0, numbers, np.zeros(forces.numel())))
        terms = np.abs(np.nan_to_num(by_state, posinf=0.0, neginf=0.0)) @ np.abs(z0)  # that rounding goes by
        for i, row in enumerate(ca.vertsplit(values)):
            if ca.depends_on(row, ca.vertcat(u, c, forces)):
                continue
            if np.isnan(at_start[i]):
                raise InputError(f"{self.name}[{i}] is not a number for the state at the start: give another start, or "
                                 "write the formula so that it is defined there")
            with np.errstate(invalid="ignore"):  # of -inf
                missing = max(lower[i] - at_start[i], at_start[i] - upper[i])
            size = max(abs(at_start[i]), terms[i])
            if missing > 1e-9 * size:  # terms that are constants count as well
                size = np.fmax(size, float(ca.Function("terms", [*symbols], [terms_of(ca.densify(row))])(
                    z0, np.zeros(u.numel()), t0, numbers)))
            if missing > 1e-9 * size:
                raise InputError(f"{self.name}[{i}] is violated by the state at the start, by {missing:.3g}: give "
                                 "another start, or loosen the bound")
            if self.at == "path" and missing > -OPTIONS.limit_met * size:
                above = at_start[i] - upper[i] > lower[i] - at_start[i]
                self._check_leaving(i, row if above else -row, now.system, symbols, z0, t0, numbers)
        return values

    def _check_leaving(self, i: int, row: ca.SX, system: Any, symbols: Sequence[ca.SX], z0: np.ndarray, t0: float,
                       numbers: np.ndarray) -> None:
        """Refuse a start on a bound, that a formula of coordinates passes in the next moment, whatever controls do."""
        z, u, t, _ = symbols
        first = np.concatenate([np.full(body.n_q, not body.has_rate) for body in system.bodies])
        if couples_inertia(system) or ca.depends_on(row, ca.vertcat(z[system.n_q:], z[np.flatnonzero(first)])):
            return
        terms = ca.horzcat(ca.jacobian(row, z[:system.n_q]), ca.jacobian(row, t))
        moves = np.array(ca.Function("terms", symbols, [terms])(z0, np.zeros(u.numel()), t0, numbers)).ravel() * \
            np.append(np.where(first, 0.0, system.velocity(t0, z0)), 1.0)
        if moves.sum() > OPTIONS.limit_met * np.abs(moves).sum():
            raise InputError(f"{self.name}[{i}] is at its bound at the start, and beyond it right after, as it moves "
                             f"by {digits(moves.sum())} a second, which no force stops at once: give another start, or "
                             "loosen the bound")


def is_timed(bounds: Any) -> bool:
    """Whether one of a pair of bounds is a function of the time."""
    both = bounds if isinstance(bounds, list | tuple) else ()
    return any(callable(x) or isinstance(x, str)
               for bound in both for x in (bound if isinstance(bound, list | tuple) else [bound]))


NONE = (None, None)


def bounds_of(problem, bounds):
    """Lower and upper bounds of all controls and of the unknown numbers, (2, n) each, and limits for what depends on
    the time.

    Raises
    ------
    InputError
        For what is not a control or unknown number, pairs of another length, and lower bounds above upper ones.
    """
    bounds, controls, limits = _pairs("bounds", bounds, problem, problem.unknown_names), [], []
    for actuator in problem.actuators:
        pair, title = bounds.get(actuator, NONE), f"bounds of {problem.system.label(actuator)}"
        if is_timed(pair) or _fixes(title, pair, actuator.n_controls):  # equations, where both sides are equal
            limits.append(Limit(partial(_control, actuator), *pair, name=title))
            pair = NONE
        controls.append(_pair(title, pair, actuator.n_controls))
    numbers = [_pair(f"bounds of {name}", bounds.get(name, NONE), 1) for name in problem.unknown_names]
    return *(np.concatenate([np.zeros((2, 0)), *x], axis=1) for x in (controls, numbers)), limits


def rate_limits(problem, rates):
    """Of each actuator whose controls have limited rates: the places of its controls, and their `Limit`."""
    rates, first, found = _pairs("rates", rates, problem), 0, []
    for actuator in problem.actuators:
        place, first = slice(first, first + actuator.n_controls), first + actuator.n_controls
        pair, title = rates.get(actuator, NONE), f"rates of {problem.system.label(actuator)}"
        if not is_timed(pair) and not np.isfinite(_pair(title, pair, actuator.n_controls)).any():
            continue
        limit = Limit(_rates, *pair, name=title)
        limit.rows(End(problem.system, ca.SX.sym("t"), None, {}), ca.SX.sym("rate", actuator.n_controls))
        found.append((place, limit))
    return found


def _pairs(what, bounds, problem, names=()):
    """Bounds by actuator or name, checked."""
    bounds = {} if bounds is None else bounds
    if not isinstance(bounds, dict):
        raise InputError(f"{what} must be a dict from actuator or name to (lower, upper), not {bounds!r}")
    for key in (bounds := by_actuator(problem.system, problem.actuators, bounds, names)):
        if not any(key is a for a in problem.actuators) and not (isinstance(key, str) and key in names):
            known = known_names(key, [*map(problem.system.label, problem.actuators), *names], "known are")
            free = "; give free_time=True for an unknown duration" if key == "duration" and what == "bounds" else ""
            raise InputError(f"{what}: {key!r} is neither an actuator of the problem nor the name of an unknown number"
                             f"{known}{free}")
    return bounds


def by_actuator(system, actuators, bounds, names):
    """Bounds with the system's actuators as keys instead of names, but for the `names` of unknown numbers."""
    own = {name: actuator for actuator in actuators if (name := system.label(actuator)) not in names}
    return {own.get(key, key) if isinstance(key, str) else system.here(key): pair for key, pair in bounds.items()}


def _control(actuator, now, u):
    return now.control(actuator)


def _rates(now, rates):
    return rates


def _pair(name, value, n):
    """Lower and upper bounds, shape (2, n), the lower ones below the upper ones."""
    out = _sides(name, value, n)
    if np.isnan(out).any() or np.any(out[0] >= out[1]):
        raise InputError(f"{name}: the lower one must be below the upper one, not {value!r}")
    return out


def _fixes(name, value, n):
    """Whether bounds prescribe a control, by sides that are equal."""
    lower, upper = _sides(name, value, n)
    return bool(np.any(lower == upper) and np.all(lower <= upper))


def _sides(name, value, n):
    """Both bounds, shape (2, n)."""
    if value is NONE:
        return np.array([[-np.inf] * n, [np.inf] * n])
    try:
        lower, upper = value
        sides = [[sign * np.inf if x is None else x for x in np.atleast_1d(np.asarray(side, object))]
                 for side, sign in ((lower, -1), (upper, 1))]
        return np.array([np.broadcast_to(np.array(side, float), (n,)) for side in sides])
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a pair (lower, upper) of numbers or of {n} numbers each, not "
                         f"{value!r}") from None
