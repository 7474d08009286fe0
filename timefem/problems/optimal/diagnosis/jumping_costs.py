"""Costs that jump where a motion passes a place, such as `if_else(now.q('m')[0] > 1, 2, 1)`: what solves do not see."""

import casadi as ca
import numpy as np

from ....errors import InputError, NotDifferentiable, warn
from ....mechanics.forces.actuators import FormulaCost
from ....mechanics.formulas.formula import call
from ....mechanics.formulas.stored import StoredFormula, computed
from ..options import OPTIONS
from .between_points import along

SWITCHES = "LT", "LE", "EQ", "NE", "SIGN", "FLOOR", "CEIL"
POINTS = np.linspace(0.0, 1.0, 5)  # of each element


def look_at_jumping_costs(phase, solution):
    """Warn of the first cost of the state that jumps along a motion.

    Its derivatives are those on either side: what it is worth to pass sooner or later is in none of them, so that the
    motion which is found is none of least cost.
    """
    symbols = tuple(ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("u", phase.n_controls), ("t", 1),
                                                       ("c", len(phase.guesses))))
    now = phase.now(symbols[0], *symbols[2:], symbols[1])
    for part in phase.system.parts:
        if not isinstance(part, FormulaCost):
            continue
        value = ca.SX(call("cost", part.given, 1, now, symbols[1]))
        switches = _switches(value, symbols)
        if not switches.numel():
            continue
        both = ca.Function("both", symbols, [ca.densify(value), ca.densify(switches)])
        motion = along(phase, solution, POINTS)
        costs, sides = (np.array(x) for x in both.map(motion[0].shape[1])(*motion))
        sides = sides.reshape(len(sides), -1, len(POINTS))
        for _, i, k in np.argwhere(np.diff(sides, axis=2)):
            t, jump = _at_switch(phase, solution, both, i, POINTS[k:k + 2])
            if jump > OPTIONS.jump * np.abs(costs).max():
                warn(f"a cost jumps by {jump:.3g} at t = {t:.6g}: solves do not see what it is worth to pass there "
                     "sooner or later, so that this is no least cost; let a phase end there (Phases), or take a smooth "
                     "step, such as (1 + tanh(x / width)) / 2", NotDifferentiable)
                return


def _switches(value, symbols):
    """What comparisons with the state, signs and roundings in a formula give, SX (n,)."""
    try:
        stored = StoredFormula.of("cost", ca.Function("cost", symbols, [ca.densify(value)]))
    except InputError:  # an operation that no text has
        return ca.SX(0, 1)
    values = []
    for step in stored.steps:
        values.append(computed(step, values, symbols))
    return ca.vertcat(ca.SX(0, 1), *(x for step, x in zip(stored.steps, values, strict=True)
                                     if step[0] in SWITCHES and ca.depends_on(x, symbols[0])))


def _at_switch(phase, solution, both, element, inside):
    """When a switch between two points of an element comes, and by how much the cost jumps there."""
    def at(share):
        motion = along(phase, solution, np.array([share]))
        cost, sides = (np.array(x).ravel() for x in both(*(x[:, element] for x in motion)))
        return float(cost[0]), sides, float(motion[2][0, element])

    before, after = inside
    first = at(before)[1]
    for _ in range(OPTIONS.jump_halvings):
        middle = (before + after) / 2
        before, after = (middle, after) if np.array_equal(at(middle)[1], first) else (before, middle)
    (low, _, t), (high, *_) = at(before), at(after)
    return t, abs(high - low)
