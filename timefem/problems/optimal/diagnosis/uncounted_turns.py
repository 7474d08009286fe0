"""Formulas of angles whose turns nothing counts: whether a motion passes half a turn, where these jump, and minds."""

import casadi as ca
import numpy as np

from ....mechanics.forces.actuators import FormulaCost
from ....mechanics.formulas.formula import call, call_vector
from ....mechanics.formulas.text import as_formula
from ....status import Reason, Status
from ...targets import given_angles
from ..options import OPTIONS
from ..statement.limits import Limit
from .between_points import along

POINTS = np.linspace(0.0, 1.0, 5)  # of each element: its ends are among them


def tell_uncounted_turns(whole, pairs, kept):
    """Let a solution fail whose formulas would have other values if angles went on over whole turns, or say so of one
    that failed.

    Parameters
    ----------
    whole : Solution
    pairs : list of (OptimalControl, Solution)
        The phases, and their parts of the solution.
    kept : Kept
        Of solves that differ in numbers, which change nothing about what formulas ask for.
    """
    counts = {}
    for k, (phase, one) in enumerate(pairs):
        if not kept.thing(("angles in formulas", k), _minding, lambda phase=phase: bool(_minding(phase)[1])):
            continue
        text = _jump(phase, one, counts)
        if text is None:
            continue
        if whole.success:
            whole.status = Status(False, Reason.TURNS_NOT_COUNTED, f"{Reason.TURNS_NOT_COUNTED}: {text}")
        elif whole.status.reason not in (Reason.STOPPED, Reason.TURNS_NOT_COUNTED):
            whole.status.message = f"{whole.status.message}; and {text}"
        return


def _jump(phase, solution, counts):
    """What a formula makes of an angle that jumps along a solution; None where none minds.

    `counts` has whole turns at the start by angle, and gets those at the end.
    """
    symbols, angles, formulas = _minding(phase)
    if not formulas:
        return None
    motion = along(phase, solution, POINTS)
    if not all(np.isfinite(x).all() for x in motion):
        return None
    turns, values = zip(*angles.values(), strict=True)
    seen = np.array(ca.Function("angles", symbols, [ca.densify(ca.vertcat(*values))]).map(
        motion[0].shape[1])(*motion))
    counted = np.array([_first_turn(phase, key, row[0], counts) for key, row in zip(angles, seen, strict=True)])
    counted = counted[:, None] + np.pad(np.cumsum(-np.round(np.diff(seen, axis=1) / (2 * np.pi)), axis=1),
                                        ((0, 0), (1, 0)))
    counts.update((key, row[-1]) for key, row in zip(angles, counted, strict=True))
    if not counted.any():
        return None
    first = int(np.argmax(counted.any(axis=0)))
    place = " and ".join(sorted({key[0] for key, row in zip(angles, counted, strict=True) if row.any()}))
    for name, value, bounds, node in formulas:
        at = slice(None) if node is None else slice(node, node + 1 or None)
        given = [x[:, at] for x in motion]
        function = ca.Function("formula", [*symbols, ca.vertcat(*turns)], [ca.densify(value)]).map(given[0].shape[1])
        told, meant = (np.array(function(*given, k)) for k in (0 * counted[:, at], counted[:, at]))
        if _minds(told, meant, bounds):
            return (f"{name}: the {place} is taken within half a turn only, which it leaves at t = "
                    f"{motion[2][0, first]:.6g}; System(..., coordinates='joint') counts turns, and formulas of its "
                    "sine and cosine do not mind")
    return None


def _minding(phase):
    """Symbols of a phase, the angles that its formulas ask for, and those of them that whole turns change."""
    symbols = tuple(ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("u", phase.n_controls), ("t", 1),
                                                       ("c", len(phase.guesses))))
    angles, formulas = {}, []
    for name, value, bounds, node in _formulas(phase, symbols, angles):
        if ca.depends_on(value, ca.vertcat(ca.SX(0, 1), *(turns for turns, _ in angles.values()))):
            formulas.append((name, value, bounds, node))
    return symbols, angles, formulas


def _minds(told, meant, bounds):
    """Whether it matters what values a formula takes: one within bounds, and not at them, may differ."""
    size = np.maximum(np.abs(told).max(axis=1), np.abs(meant).max(axis=1))[:, None]
    differ = np.abs(told - meant) > OPTIONS.limit_met * size
    if bounds is None:
        return bool(differ.any())
    lower, upper = (b[:, None] for b in bounds)
    room = OPTIONS.between_rounding * size
    inside = [(x > lower + room) & (x < upper - room) for x in (told, meant)]
    return bool((differ & ~(inside[0] & inside[1])).any())


def _first_turn(phase, key, seen, counts):
    """Whole turns at the start: of the phase before, or of the angle that was given there."""
    _, joint, coordinate, near = key
    if key in counts:
        return counts[key]
    given = {} if near or joint is None else given_angles(phase.system, phase.given("start"))
    return np.round((given.get((joint, coordinate), seen) - seen) / (2 * np.pi))


def _formulas(phase, symbols, angles):
    """Name, expressions, bounds of a limit or None, and node at which it holds or None, of all formulas of a phase.

    In them turns are symbols, which `angles` gets, with the values of the angles, by name, joint, coordinate, middle.
    """
    z, u, t, c = symbols
    now = phase.now(z, t, c, u)
    now.turns = angles
    for limit in phase.limits:
        if isinstance(limit, Limit):
            rows, lower, upper = limit.rows(now, u)
            if now.reactions is None or not ca.depends_on(rows, now.reactions):
                yield limit.name, rows, None if limit.at == "integral" else (lower, upper), \
                    {"start": 0, "end": -1}.get(limit.at)
    end, unknowns = phase._at_end(z, c)
    end.turns = angles
    for name, formula, in (("end_cost", phase.end_cost), ("end_conditions", phase.given("end_conditions"))):
        if formula is not None:
            formula = as_formula(name, formula, ["end", "parameters"])
            yield name, call_vector(name, formula, end, unknowns), None, -1
    for part in phase.system.parts:
        if isinstance(part, FormulaCost):
            yield "a cost", call("cost", part.given, 1, now, u), None, None
