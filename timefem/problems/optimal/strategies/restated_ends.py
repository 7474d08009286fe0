"""Conditions at the ends, reduced once more where a solution does not meet them all.

Of conditions that constraints may imply those are kept that are independent at the state where they were reduced. Where
the motion ends somewhere else these may not say the same: of a pendulum at rest the velocity along the tangent there,
which a motion through the tangent across it has as well.
"""

from dataclasses import replace

import numpy as np

from ....errors import InputError, warn, warnings_of
from ....solution.audit import jump_of
from ....solvers.nonlinear.program import after
from ....status import RETRY, Reason, Status
from ..diagnosis.between_points import look_at_turns, look_between_points, passed_between, tell_uncounted_turns
from ..diagnosis.doubts import REMEDY, better_controls, look_at_jumps, look_at_replay, tell_what_is_not_smooth
from ..options import OPTIONS
from ..statement.end_conditions import with_allowed_ends


def solved_as_stated(task, phases, solve, stated, with_phases, names=("",)):
    """The solution by `solve(task)` in which all conditions at the ends hold.

    Guesses end where limits at the end allow, if such a state is found, and this leads to a solution at once, without
    further strategies. Where some conditions do not hold, they are reduced again at the ends found, and solved from
    there, or as at first where that fails.

    Parameters
    ----------
    task : Task
    phases : list of OptimalControl
    solve : callable
    stated : callable
        `stated(task, solution)` -> list of an `OptimalControl` and its `Solution`, one for each phase, and `tied_ends`.
    with_phases : callable
        `with_phases(task, phases)` -> the task with others instead of these.
    names : sequence of str
        What warnings call each phase; empty for the only one.
    """
    solves = _Solves(solve, stated)
    return solves.told(_as_stated(task, phases, solves, stated, with_phases, names))


class _Solves:
    """Solves of one problem in a row, by `solve` and `stated` of `solved_as_stated`, that share the iterations of its
    method."""

    def __init__(self, solve, stated):
        self._solve, self._stated, self._taken, self._attempts = solve, stated, 0, []

    def __call__(self, task, name="", why=""):
        """The solution of a task; where it has a name, as of a strategy that applies for this reason."""
        if self._taken:
            task = replace(task, method=after(task.method, self._taken))
        solution = self._solve(task)
        self._taken += solution.statistics["newton_iterations"]["max"]
        own = solution.statistics.get("attempts", [])
        if name and own:
            own[0] |= {"name": name, "why": why}
        self._attempts += own
        pairs = self._stated(task, solution)[0]
        _tell_jumps(solution, [one for _, one in pairs])
        tell_uncounted_turns(solution, pairs, task.kept)
        return solution

    def told(self, solution):
        """The solution, which tells of all of them."""
        solution.statistics["newton_iterations"] = {"max": self._taken, "mean": float(self._taken)}
        if self._attempts:
            solution.statistics["attempts"] = self._attempts
            solution.status.message += _other_minima(self._attempts, solution)
        return solution


BETWEEN_NODES = "limits between nodes"  # which are more than the problem asks for


def _other_minima(attempts, solution):
    """What others of the attempts cost that solved the problem, too, in words; empty where there are none."""
    if not solution.success:
        return ""
    cost, names = solution.statistics["objective"], [one["name"] for one in attempts]
    attempts = attempts[max((k for k, name in enumerate(names) if name == BETWEEN_NODES), default=0):]  # of one problem
    others = [f"{one['name']} {one['cost']:.8g}" for one in attempts if one.get("cost") is not None
              and abs(one["cost"] - cost) > OPTIONS.other_minimum * max(abs(one["cost"]), abs(cost))]
    return f"; there are other minima: {', '.join(others)}; this one costs {cost:.8g}" if others else ""


def _as_stated(task, phases, solve, stated, with_phases, names):
    first = task.guess
    allowed = with_allowed_ends(phases) if first is None else None
    allowed = allowed and with_phases(task, allowed)
    solution = solve(task if allowed is None else replace(allowed, strategies=[]))
    if allowed and solution.status.reason not in RETRY:
        task = allowed
    elif allowed:
        solution = solve(task)
    for _ in range(OPTIONS.reductions):
        told = _worst(*stated(task, solution))
        if told is None:
            solution = _with_least_controls(task, solution, solve, stated)
            pairs = stated(task, solution)[0] if solution.success else []
            passed = [passed_between(*pair) for pair in pairs]
            wrong = next((one for found in passed for one in found if one.wrong), None)
            if wrong is not None:
                phases = [_held_between(phase, [one.limit for one in found if one.wrong])
                          for (phase, _), found in zip(pairs, passed, strict=True)]
                again = replace(with_phases(task, phases), guess=first)
                other = None if wrong.limit.between else solve(again, BETWEEN_NODES, wrong.text)
                if other is None or not other.success:
                    solution.status = Status.failure(Reason.NOT_ACCURATE, None, None, [], wrong.text,
                                                     remedy=wrong.remedy)
                    return solution
                task, solution = again, other
                continue
            for name, pair, found in zip(names, pairs, passed, strict=bool(pairs)):
                with warnings_of(name):
                    look_between_points(*pair, found)
                    look_at_turns(*pair)
                    _tell_other_turns(*pair)
                    # the next ones, from which these differ in numbers, are to be quick
                    missed = _missed_on_finer_elements(*pair) if task.kept.last is None else ""
                if missed and solution.success:
                    missed = f"{name}: {missed}" if name else missed
                    solution.status = Status.failure(Reason.NOT_ACCURATE, None, None, [], missed, remedy=REMEDY)
            tell_what_is_not_smooth(solution, stated(task, solution)[0])
            return solution
        try:
            phases = [_reduced(*pair) for pair in stated(task, solution)[0]]
        except InputError:  # no state near by holds the conditions
            break
        task = replace(with_phases(task, phases), guess=solution)
        solution = solve(task)
        if not solution.success:
            solution = solve(replace(task, guess=first))
    told = _worst(*stated(task, solution))
    if told is not None:
        size, name, place = told
        solution.status = Status.failure(Reason.NOT_FOUND, None, None, [], f"{name} at t = {place:.6g} is missed by "
                                                                            f"{size:.3g} of its size; what is left of "
                                                                            "it at the end of the guess holds")
    return solution


def _missed_on_finer_elements(phase, solution):
    look_at_jumps(phase, solution)
    return look_at_replay(phase, solution)


def _with_least_controls(task, solution, solve, stated):
    """The solution from controls that cost less element by element, as long as there are any and that is gained; not
    where strategies are named, which are then the only ones."""
    tried = solution.success and task.strategies is None and task.kept.last is None
    for _ in range(OPTIONS.controls_left if tried else 0):
        pairs = stated(task, solution)[0]
        found = [better_controls(*pair) for pair in pairs]
        if not any(found):
            break
        guesses = [better.guess if better else one for better, (_, one) in zip(found, pairs, strict=True)]
        other = solve(replace(task, guess=guesses[0] if pairs[0][1] is solution else guesses), "minimum principle",
                      next(better.text for better in found if better))
        if not other.success or not other.objective < solution.objective - OPTIONS.gained * abs(solution.objective):
            break
        solution = other
    return solution


def _held_between(phase, limits):
    """The problem with these of its limits at Gauss points as well."""
    return phase.with_limits([limit.held_between() if any(limit is one for one in limits) else limit
                              for limit in phase.limits])


def _tell_jumps(whole, solutions):
    """Let a solution fail where a motion, or one of its phases, leaves a constraint between nodes; one that did not
    converge says so, too."""
    for one in solutions:
        seen = whole.success or (whole.status.reason == Reason.NOT_CONVERGED and np.diff(one.t).min() > 0)
        jump = jump_of(one) if seen else None
        if jump is not None:
            why = f"the motion goes straight through '{jump.name}', which holds at the nodes, and not between them"
            if whole.success:
                whole.status = Status.failure(Reason.CONSTRAINTS_VIOLATED, jump.element, jump.time, [], why)
            else:
                whole.status.message += f"; at t = {jump.time:.6g} {why}"


def _tell_other_turns(phase, solution):
    """Warn of an orientation at the end that is met by the negative of the quaternion asked for: another way to turn.
    """
    numbers = [solution.statistics["parameters"][name] for name in phase.unknown_names]
    for name in phase.conditions.turned_otherwise(solution.z[-1], numbers):
        warn(f"the {name} at the end is met by the negative of the quaternion that was prescribed, so that it turned "
             "another way: give a guess that turns as intended, or prescribe the sign by a Limit at='end'")


def _worst(pairs, tied_ends):
    """The condition that a solution misses most: by how much of its size, its name, and when; None where all hold, or
    the solve failed."""
    if not all(solution.success for _, solution in pairs):
        return None
    found = [_missed(*pair) for pair in pairs]
    found += [_apart(coupling, *((pairs[k][1], node) for k, node in ends)) for coupling, *ends in tied_ends]
    return max(filter(None, found), default=None)


def _missed(phase, solution):
    """The same of one phase."""
    numbers = [solution.statistics["parameters"][name] for name in phase.unknown_names]
    found = []
    for conditions, node, which in ((phase.conditions, -1, "end"), (phase.start_conditions, 0, "start")):
        if conditions is None or len(conditions.combinations) == len(conditions.names):
            continue
        sizes = conditions.missed(solution.z[node], numbers)
        worst = int(np.argmax(sizes))
        implied = conditions.implied(solution.z[node], float(solution.t[node]), np.array(numbers))[0]
        if sizes[worst] > max(OPTIONS.reduced_missed, OPTIONS.reduced_more * np.abs(implied).max(initial=0.0)):
            name = f"the {conditions.names[worst]} at the {which}"
            found.append((float(sizes[worst]), name, float(solution.t[node])))
    return max(found, default=None)


def _apart(coupling, *ends):
    """The same of two ends, each a solution and a node of it."""
    size = coupling.missed(*((solution.system, solution.z[node]) for solution, node in ends))
    if size <= OPTIONS.reduced_missed or size <= max(_least(*end) for end in ends):
        return None
    solution, node = ends[1]
    return size, coupling.name, float(solution.t[node])


def _least(solution, node):
    """From what on a condition at a node is missed."""
    theta = solution.system.constraints(float(solution.t[node]), solution.z[node])
    return max(OPTIONS.reduced_missed, OPTIONS.reduced_more * np.abs(theta).max(initial=0.0))


def _reduced(phase, solution):
    """The problem with its conditions reduced at the ends of a solution."""
    t0, t1 = solution.t[[0, -1]].tolist()
    numbers = np.array([solution.statistics["parameters"][name] for name in phase.unknown_names])
    start = phase.start_conditions.reduced_near(solution.z[0], t0, numbers) if phase.free_start else None
    other = phase.restated(start, phase.conditions.reduced_near(solution.z[-1], t1, numbers))
    other.couplings = [coupling.again(other, other) for coupling in phase.couplings]
    return other
