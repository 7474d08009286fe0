"""Costs with smoothed kinks, as `sqrt(u^2 + 1e-6)`, by controls that lie above their roots.

Beside the kink such a root curves by its width squared over the cube of its argument, next to nothing, so that Newton's
steps lead far across the kink and back. A control s with `s >= sqrt(...)` in its place costs the same, and a row that a
step violates is no obstacle to it. The problem itself is solved from there.
"""

from dataclasses import replace
from functools import partial

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.forces.actuators import Control, FormulaCost
from ....mechanics.formulas.formula import call
from ....mechanics.formulas.stored import StoredFormula, computed
from ....mechanics.numbers.records import made_of
from ....solvers.nonlinear.program import after
from ....status import Reason
from ...task import Kept
from ..options import OPTIONS
from ..statement.costs import Moving
from ..statement.limits import Limit
from ..transcription.sizes import energy_of, sizes_of_controls

NAME, FROM_THESE = "roots by controls", "from roots by controls"
WHY = "a cost has a smoothed kink by controls, which Newton's steps cross too far"


def solve_from_roots(task, solve):
    """The `Solution` by `solve(task)`, on a mesh, where that comes to no end soon from one by controls above roots that
    are smoothed kinks, if there are any and nothing tells where to begin; without it where that leads nowhere."""
    fresh = task.guess is None and task.kept.last is None
    other = with_roots_by_controls(task.problem) if fresh else None
    if other is None:
        return solve(task)
    taken, attempts, found = 0, [], None

    def solved(task, name, most=None):
        nonlocal taken
        left = after(task.method, taken)
        found = solve(replace(task, method=left if most is None else replace(
            left, max_iterations=min(most, left.max_iterations))))
        taken += found.statistics["newton_iterations"]["max"]
        if name:
            found.statistics["attempts"][0] |= {"name": name, "why": WHY}
        attempts.extend(found.statistics["attempts"])
        return found

    found = solved(replace(task, strategies=[]), "", OPTIONS.steps_before_roots)
    if not (found.success or found.status.reason == Reason.STOPPED):
        found = solved(replace(task, problem=other, kept=Kept(), strategies=[]), NAME)
        attempts[1]["cost"] = None  # of another problem
        if found.success:
            found = solved(task.near(found), FROM_THESE, OPTIONS.steps_from_roots)
    if not found.success and found.status.reason != Reason.STOPPED:
        found = solved(task, "")
    found.statistics["newton_iterations"] = {"max": taken, "mean": float(taken)}
    found.statistics["attempts"] = attempts
    return found


def with_roots_by_controls(problem):
    """The problem with a control above each root in its costs that is a smoothed kink by controls; None without one."""
    system, costs, controls, limits, first = problem.system, [], [], [], problem.n_controls
    parts = list(system.parts)
    for part in system.parts:
        sizes = _sizes(problem, part.given) if isinstance(part, FormulaCost) else []
        if any(sizes):
            parts.remove(part)
            n, k = sum(map(bool, sizes)), len(costs)
            own = partial(_lifted, part.given, problem.n_controls, slice(first, first + n), sizes)
            costs.append(partial(_cost_of, own))
            limits.append(AboveRoots(partial(_rows_of, own), 0.0, name=f"roots of cost {k}"))
            controls.append(Control(n, name=f"roots of cost {k}"))
            first += n
    if not costs:
        return None
    return problem.with_costs(made_of(system, parts), costs, dict.fromkeys(controls, (0, None)), limits)


class AboveRoots(Limit):
    """A limit that holds where the equations of motion see the controls, and nowhere else: it costs least so."""

    as_equations = True


def _cost_of(lifted, now, u):
    return lifted(now, u)[0]


def _rows_of(lifted, now, u):
    return ca.vertcat(*lifted(now, u)[1])


def _lifted(given, n, own, sizes, now, u):
    """A cost by shares of its roots, which are some of the controls u, and by how much each is above its root.

    Parameters
    ----------
    given : callable
    n : int
        Controls that it sees itself.
    own : slice
        Where the shares stand among all controls.
    sizes : sequence of float
        Of the roots by controls, in their order; those that stay are zero.
    """
    shares, rows = iter(ca.vertsplit(u[own])), []

    def replaced(root, squared):
        size = sizes[len(rows) + len(kept)]
        if not size:
            kept.append(root)
            return root
        share = next(shares)
        rows.append(share - ca.sqrt(squared) / size)
        return size * share

    kept = []
    return _with_roots(call("cost", given, 1, now, u[:n]), u[:n], replaced), rows


def _with_roots(value, u, replaced):
    """A cost in which `replaced(root, what it is of)` stands for roots by controls u."""
    symbols = ca.symvar(value)
    stored = StoredFormula.of("cost", ca.Function("cost", [ca.vertcat(*symbols)], [ca.densify(value)]))
    values = []
    for step in stored.steps:
        root = computed(step, values, [ca.vertcat(*symbols)])
        of = step[0] == "SQRT" and values[step[1]]
        values.append(replaced(root, of) if step[0] == "SQRT" and ca.depends_on(of, u) else root)
    return values[stored.results[0]]


def _sizes(problem, given):
    """Of each root by controls in a cost, in the order of its operations: its largest value for controls of their size,
    or zero where that is no smoothed kink, or the cost does not grow steadily with it."""
    system, n = problem.system, problem.system.n_q
    q, v, u, t = (ca.SX.sym(name, size) for name, size in (("q", n), ("v", n), ("u", problem.n_controls), ("t", 1)))
    unknown = {name: ca.SX.sym("c") for name in problem.unknown_names}
    now, roots, places = Moving(system, t, q, v, u, unknown), [], []

    def noted(root, of):
        roots.append(of)
        places.append(ca.SX.sym("s"))
        return places[-1]

    try:
        value = _with_roots(call("cost", given, 1, now, u), u, noted)
    except InputError:  # an operation that no formula in a file has
        return []
    if not roots:
        return []
    weights = ca.gradient(value, ca.vertcat(*places))
    steady = [w.is_constant() and float(w) > 0 for w in ca.vertsplit(weights)]
    squares = ca.vertcat(*roots)
    for place, of in list(zip(places, roots, strict=True))[::-1]:  # roots of roots
        squares = ca.substitute(squares, place, ca.sqrt(of))
    known = [(own, part.own_parameters) for part, own in now.numbers.items()]
    numbers = [(ca.vertcat(*unknown.values()), problem.guesses), (t, problem.t_span[0]), *known]
    at = ca.Function("roots", [q, v, u, *(symbols for symbols, _ in numbers)], [squares])
    span = problem.t_span[1] - problem.t_span[0]
    way = np.abs([problem.z0[:n], problem.conditions.state[:n]]).max(axis=0)
    way = np.where(way > 0, way, way.max(initial=0.0) or 1.0)
    size = sizes_of_controls(problem, np.sqrt(energy_of(problem)))
    found = np.zeros((2, len(roots)))
    for sample in range(1, OPTIONS.root_samples + 1):
        one, other, third = (np.cos(sample * np.arange(1, m + 1) + shift)
                             for shift, m in enumerate((n, n, problem.n_controls)))
        state = [way * one, way / span * other]
        for k, controls in enumerate((np.zeros(problem.n_controls), size * third)):
            here = at(*state, controls, *(values for _, values in numbers)).full()[:, 0]
            found[k] = np.maximum(found[k], here)
    kinks = np.isfinite(found).all(axis=0) & (found[0] > 0) & (found[0] <= OPTIONS.kink_width**2 * found[1])
    return list(np.where(kinks & steady, np.sqrt(found[1]), 0.0))
