"""What happens between the points where a problem is solved: limits that are passed, contacts that drive a motion, and
angles in formulas that pass half a turn, where they jump."""

import contextlib
import weakref
from functools import partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from ....assembly import TimeMesh
from ....errors import InputError, UnderResolved, warn
from ....mechanics.forces.actuators import FormulaCost
from ....mechanics.formulas.formula import call, call_vector
from ....mechanics.formulas.text import as_formula
from ....mechanics.states.consistent_multipliers import multipliers_along
from ....mechanics.values.of_parts import control_force, rates_follow
from ....solution.audit import unresolved_turns
from ....status import Reason, Status
from ...targets import given_angles
from ..options import OPTIONS
from ..statement.complementarity import Complementary
from ..statement.limits import Limit
from ..transcription.sizes import most_of_controls

POINTS, ENDS = np.array([0.25, 0.5, 0.75]), np.array([0.0, 1.0])  # of each element
ALL_POINTS = np.linspace(0.0, 1.0, 5)


def look_between_points(phase, solution, passed):
    """Warn of limits that a motion passes inside of elements, and of rigid contacts that throw bodies off.

    A pair of a gap, by the places of bodies alone, and the force there leaves open how fast bodies part: the force of
    one element may give them any speed. The work of such forces, `sum (b_k + b_k+1) / 2 (a_k+1 - a_k)`, is at most zero
    where contacts do not drive.

    Parameters
    ----------
    phase : OptimalControl
    solution : Solution
    passed : list of Passed
        By `passed_between`.
    """
    for one in passed:
        warn(f"{one.text}: {one.remedy}", UnderResolved)
    for limit in phase.limits:
        text = _driving(phase, solution, limit) if isinstance(limit, Complementary) and limit.at == "controls" else None
        if text is not None:
            warn(text, UnderResolved)


class Passed(NamedTuple):
    """A limit that a motion passes inside of elements: by how much, over the range of its formula, in words, and what
    helps; `wrong` where it is so much of a formula of the state that there is no motion with this limit."""

    limit: Limit
    text: str
    remedy: str
    wrong: bool


def passed_between(phase, solution):
    """Limits that a motion passes inside of its elements, a list of `Passed`."""
    n, known = len(POINTS) * (len(solution.t) - 1) + len(ENDS), {}
    for limit in phase.limits:
        if isinstance(limit, Limit) and limit.at == "path":
            known[limit] = phase.kept.thing(("between points", limit, n), phase, partial(_rows, phase, limit, n))
    if not any(known.values()):
        return []
    inside = _inside(phase, solution, any(rows[-1].any() for rows in known.values() if rows))
    return [*filter(None, (_passed(inside, limit, rows) for limit, rows in known.items() if rows))]


def _passed(motion, limit, known):
    times, n = motion[2][0], len(motion[2][0])
    function, terms, lower, upper, far, sees = known
    values = np.array(function(*motion)).T
    excess = np.nan_to_num(np.maximum(lower - values, values - upper), nan=-np.inf)
    ranges = np.ptp(values, axis=0)
    if terms is not None:  # of equations, whose values hardly move
        spans = np.concatenate([np.ptp(x, axis=1) + OPTIONS.between_rounding * np.abs(x).max(initial=0)
                                for x in motion])
        gradients = np.abs(np.array(terms(*motion))).reshape(len(lower), -1, n, order="F")
        ranges = np.maximum(ranges, (gradients * spans[:, None]).sum(axis=1).max(axis=1))
    ranges = ranges + OPTIONS.between_rounding * np.abs(values).max(axis=0)
    ranges = np.where(ranges > 0, ranges, 1.0)
    k, i = np.unravel_index(np.argmax(excess / (far * ranges)), excess.shape)
    if not excess[k, i] > far[i] * ranges[i]:
        return None
    where, remedy = "inside of an element, at whose nodes it holds", \
        f"take more elements, or Limit(..., points={max(3, 2 * limit.points + 1)})"
    if sees[i]:
        where, remedy = "by the forces that the state and controls there give, where it holds for those of the " \
            "elements", "take more elements, or a higher degree"
    elif n - len(ENDS) <= k:
        where = "at an end of the motion"
    by_state = (far == OPTIONS.between_far) & ~sees & (lower < upper)
    wrong = (excess[:, by_state] > OPTIONS.between_wrong * ranges[by_state]).any()
    text = f"{limit.name} is exceeded by {excess[k, i]:.3g} at t = {times[k]:.6g}, {where}"
    return Passed(limit, text, remedy, wrong)


def _rows(phase, limit, n):
    """Function, at n times, of rows that see the state, that of their gradients where some are equations, bounds,
    how far rows may go, and whether they see forces of constraints: those of controls alone are asked for as often as
    these have values."""
    symbols, now = _symbols(phase)
    rows, lower, upper = limit.rows(now, symbols[1])
    forces = ca.SX.sym("none", phase.system.n_constraints) if now.reactions is None else now.reactions
    follow = rates_follow(phase.system)
    depends = [[ca.depends_on(row, s) for s in (*symbols[:2], forces)] for row in ca.vertsplit(rows)]
    seen = [i for i, (state, _, force) in enumerate(depends) if (follow if force else state)]
    if not seen:
        return None
    symbols = *symbols, forces
    function, terms = ca.Function("rows", symbols, [ca.densify(rows[seen])]), None
    equations = (lower == upper)[seen]
    if equations.any():
        gradient = ca.diag(ca.DM(equations.astype(float))) @ ca.jacobian(rows[seen], ca.vertcat(*symbols))
        terms = ca.Function("terms", symbols, [ca.densify(gradient)]).map(n)
    sees = np.array([depends[i][2] for i in seen])
    far = np.where([depends[i][1] for i in seen], OPTIONS.between_far_with_controls,
                   OPTIONS.between_far)
    return function.map(n), terms, lower[seen], upper[seen], far, sees


def _rigid_pairs(phase, pair, n):
    """Function, at n times, of gaps by places alone, and of the forces there; None where there are none."""
    symbols, now = _symbols(phase)
    a, b = pair.pair(now, symbols[1])
    others = ca.vertcat(symbols[0][phase.system.n_q:], symbols[1])  # momenta and controls
    rigid = [i for i in range(a.numel()) if not ca.depends_on(a[i], others)
             and ca.depends_on(a[i], symbols[0]) and ca.depends_on(b[i], symbols[1])]
    return ca.Function("pairs", symbols, [ca.densify(ca.vertcat(a[rigid], b[rigid]))]).map(n) if rigid else None


def _driving(phase, solution, pair):
    points = solution.element.trial["controls"].basis.points
    n = len(points) * (len(solution.t) - 1)
    function = phase.kept.thing(("between points", pair, n), phase, lambda: _rigid_pairs(phase, pair, n))
    if function is None:
        return None
    motion = along(phase, solution, points)
    values, times = np.array(function(*motion)).T, motion[2][0]
    gap, force = np.split(values, 2, axis=1)
    work = (force[1:] + force[:-1]) / 2 * np.diff(gap, axis=0)
    size = force.mean(axis=0) * np.ptp(gap, axis=0)
    driving = np.maximum(work, 0.0)
    i = int(np.argmax(driving.sum(axis=0) / np.maximum(size, 1e-300)))
    if not driving[:, i].sum() > OPTIONS.driven * size[i] > 0:
        return None
    worst = times[np.argmax(driving[:, i])]
    return (f"{pair.name} drives the motion, as no contact does, most at t = {worst:.6g}: the gap depends on positions "
            "alone, so that the force there can give bodies any speed; take at=\"element-end\" with SymplecticEuler, "
            "for a contact without rebound, or make it compliant, a = gap + force / stiffness, as SpringContact does")


def _symbols(phase):
    """Symbols of state, controls, time and unknown numbers, and the time of the motion in them."""
    z, u, t, c = (ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("u", phase.n_controls), ("t", 1),
                                                     ("c", len(phase.guesses))))
    return (z, u, t, c), phase.now(z, t, c, u)


def _inside(phase, solution, sees_forces):
    """`along` inside of elements and at both ends, and forces of constraints there, (n_constraints, n)."""
    inner, ends = (along(phase, solution, points) for points in (POINTS, ENDS))
    motion = [np.hstack([a, b[:, [0, -1]]]) for a, b in zip(inner, ends, strict=True)]
    system, (states, controls, (times,), _) = solution.system, motion
    forces = np.full((system.n_constraints, len(times)), np.nan)
    if sees_forces:
        pushes = control_force(system, times, states.T, controls.T) if len(controls) else None
        with contextlib.suppress(InputError):  # in positions where constraints are redundant
            forces = multipliers_along(system, times, states.T, pushes)[:, :system.n_constraints].T
    return *motion, forces


def along(phase, solution, points):
    """States, controls, times and unknown numbers at points of all elements, shapes (n, n_elements n_points) each."""
    times = (solution.t[:-1, None] + np.diff(solution.t)[:, None] * points).ravel()
    numbers = np.array([[solution.statistics["parameters"][name]] for name in phase.unknown_names]).reshape(-1, 1)
    states, controls = ((basis.values(points) @ values).reshape(len(times), -1) for basis, values in (
        (solution.element.state.basis, solution.nodal.state),
        (solution.element.trial["controls"].basis, solution.fields["controls"])))
    return states.T, controls.T, times[None], np.tile(numbers, len(times))


# ---- bodies that turn further in an element than their coordinates can tell, while a solve goes on and afterwards

class WatchedTurns:
    """A program's callback at each iteration: passes it on, and after a while looks at the motion, once.

    Parameters
    ----------
    step : callable
        `step(residual)`, of progress.
    plan : ElementPlan
        Of the optimality system.
    free_time : bool

    Warns
    -----
    UnderResolved
        Names the body, and the number of elements that would do.
    """

    _program = None

    def __init__(self, step, plan, free_time):
        self._step, self._plan, self._free_time, self._left = step, plan, free_time, OPTIONS.turns_looked_at

    def watch(self, program):
        """Look at the motion of this `OptimalProgram`, which holds the callback, and so is not held by it; not called
        where ranks share the elements."""
        self._program = weakref.ref(program)

    def __call__(self, residual=None):
        self._left -= 1
        if self._left == 0 and self._program is not None:
            self._look(self._program())
        return self._step(residual)

    def _look(self, program):
        chain, plan = program.chain, self._plan
        x, nodes = program.x, chain.mesh.nodes
        state = plan.columns.unpack(chain.dofs(x))[list(plan.element.trial).index("state")]
        z = np.concatenate([state[:1, 0], state[:, -1]])
        if self._free_time:
            nodes = nodes * (chain.numbers(x)[0] / (nodes[-1] - nodes[0]))
        text = unresolved_turns(plan.system, plan.element, nodes, z) if np.isfinite(z).all() else None
        if text is not None:
            more = "" if not plan.system.n_constraints else "; System(..., coordinates='joint') counts what hinges turn"
            warn(f"after {OPTIONS.turns_looked_at} iterations there is no solution yet, and {text}{more}",
                 UnderResolved)


def look_at_turns(phase, solution):
    """Warn of controls that are as large as elements see, which more of them would let grow."""
    if not phase.limits_itself.any():
        return
    most = most_of_controls(phase, TimeMesh(solution.t), solution.element.degree)
    largest = np.abs(solution.fields["controls"]).max(axis=(0, 1))
    for i in np.flatnonzero(largest >= OPTIONS.turn_reached * most):
        warn(f"{phase.control_name(i)} has no bounds, and turns velocities as far as elements can resolve, by "
             f"{largest[i]:.3g}: take more elements, or give it bounds", UnderResolved)


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
    motion = along(phase, solution, ALL_POINTS)
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
