"""What solves do not see: costs and forces that jump, or have a kink, where a motion passes a place or a speed, as by
`if_else` and `abs`; and controls, forces and costs that vary within elements, marched again on finer ones."""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ....errors import NotDifferentiable, UnderResolved, warn
from ....mechanics.forces.actuators import Cost
from ....mechanics.formulas.formula import Switches
from ....mechanics.values.quantities import formulas_of, jumps_of, kinks_of, places_of
from ....memory import Late
from ....status import RETRY
from ..options import OPTIONS
from ..transcription.sizes import has_contacts
from .between_points import along

POINTS = np.linspace(0.0, 1.0, 5)  # of each element
STEP = "let a phase end there (Phases), or take a smooth step, such as (1 + tanh(x / width)) / 2"
BEND = "let a phase end there (Phases), or take a smooth bend, such as sqrt(x**2 + width**2) for abs(x), and " \
    "(x + sqrt(x**2 + width**2)) / 2 for max(x, 0)"


class _Own(NamedTuple):
    """What a part sees of a motion, and what it is worth there."""

    worth: ca.Function
    switches: Switches
    states: list[int]
    rates: list[int]  # whose velocities do not follow from momenta by a formula
    controls: list[int]
    parameters: np.ndarray

    def __call__(self, system, z, u, t):
        """Values and what switches, (n_rows, n) and (n_switches, n), at states (n_z, n)."""
        rates = system.velocity(t, z.T).T[self.rates] if self.rates else np.zeros((0, len(t)))
        x = np.concatenate([z[self.states], rates, u[self.controls]])
        return [np.array(f.map(len(t))(x, t[None], self.parameters)) for f in (self.worth, self.switches.switching)]


def look_at_jumps(phase, solution):
    """Warn of the first cost, and the first part with a force, that jumps along a motion.

    Derivatives are those on either side: what it is worth to pass sooner or later is in none of them, so that the
    motion which is found is none of least cost.
    """
    told = set()
    for is_cost, what, t, jump in _found(phase, solution):
        if is_cost not in told:
            warn(f"{what} jumps by {jump:.3g} at t = {t:.6g}: solves do not see what it is worth to pass there sooner "
                 f"or later, so that this is no least cost; {STEP}", NotDifferentiable)
        told.add(is_cost)


def tell_what_is_not_smooth(whole, pairs):
    """Say in the message of a failed solve what jumps, or has a kink, along its last iterate: the first of either.

    Parameters
    ----------
    whole : Solution
    pairs : list of (OptimalControl, Solution)
        The phases, and their parts of the solution.
    """
    if whole.success or whole.status.reason not in RETRY:
        return
    for phase, one in pairs:
        if not all(np.isfinite(x).all() for x in (one.nodal.state, *one.fields.values())):
            return
        for _, what, t, jump in _found(phase, one):
            whole.status.message += (f"; {what} jumps by {jump:.3g} at t = {t:.6g}, where steps may go back and forth: "
                                     f"{STEP}")
            return
        for _, what, t, _ in _found(phase, one, kinks=True):
            whole.status.message += (f"; {what} has a kink at t = {t:.6g}, where its derivatives jump and steps may go "
                                     f"back and forth: {BEND}")
            return


def _found(phase, solution, kinks=False):
    """Of parts that jump, or have a kink, along a motion: whether it is a cost, what it is called, when, by how much.
    """
    system = solution.system
    for part, own in _parts(system):
        own = own._replace(worth=kinks_of(part)) if kinks else own
        found = _first(system, own, solution, along(phase, solution, POINTS))
        if found is not None:
            is_cost = isinstance(part, Cost)
            yield is_cost, "a cost" if is_cost else f"the force of {system.label(part)}", *found


def _parts(system):
    """Parts whose formulas switch by the state or controls, each with its `_Own`."""
    for group, places in zip(system.groups, places_of(system)[0], strict=True):
        worth, switches = jumps_of(group.part)
        if switches.switching is None:
            continue
        solved = formulas_of(group.part).solved
        for k, part in enumerate(group.members):
            yield part, _Own(worth, switches, list(places["states"][k]),
                             list(places["coordinates"][k]) if solved else [], list(places["controls"][k]),
                             group.parameters[k])


def _first(system, own, solution, motion):
    """When what a part is worth first jumps, and by how much; None where it does not."""
    state, control = solution.element.state.basis, solution.element.trial["controls"].basis

    def at(element, share):
        z, u = (np.einsum("ks,ksi->ik", basis.values(share), values[element]) for basis, values in (
            (state, solution.nodal.state), (control, solution.fields["controls"])))
        times = solution.t[element] + share * np.diff(solution.t)[element]
        return own(system, z, u, times), times

    worth, sides = own(system, motion[0], motion[1], motion[2][0])
    sizes = np.abs(worth).max(axis=1)
    sizes = np.where(sizes > OPTIONS.jump * OPTIONS.between_rounding * sizes.max(), sizes, np.inf)  # not rounding
    for row in range(len(sides)):
        signs = np.sign(sides[row])
        known = np.maximum.accumulate(np.where(signs != 0, np.arange(len(signs)), 0))
        signs = signs[known]  # a motion may touch a switch, or begin there
        places = np.flatnonzero(signs[:-1] * signs[1:] < 0)
        places = places[places % len(POINTS) < len(POINTS) - 1]
        if not len(places):
            continue
        element, k = np.divmod(places, len(POINTS))
        low, high, after = POINTS[k], POINTS[k + 1], signs[places + 1]
        for _ in range(OPTIONS.jump_halvings):
            middle = (low + high) / 2
            passed = np.sign(at(element, middle)[0][1][row]) == after
            low, high = np.where(passed, low, middle), np.where(passed, middle, high)
        (before, _), times = at(element, low - OPTIONS.jump_aside)
        (beyond, _), _ = at(element, high + OPTIONS.jump_aside)
        changes = np.abs(beyond - before)
        jumps = np.flatnonzero((changes > OPTIONS.jump * sizes[:, None]).any(axis=0))
        if len(jumps):
            i = jumps[0]
            return float(times[i]), float(changes[np.argmax(changes[:, i] / sizes), i])
    return None


controls_marched = Late("timefem.problems.controls_marched")

REMEDY = "take more elements, or a tolerance, which places nodes where the motion needs them"
MARCHED = "take more elements, or a tolerance; sol.simulate() marches the controls"


def look_at_replay(phase, solution):
    """An element that misses the motion of its own controls, or a cost that is another one between the points of the
    elements: where states, controls or forces vary within elements, which points do not see. Or an element that costs
    much, and far more than those beside it.

    Contacts are left out, whose forces are controls that would act where nothing touches.

    Returns
    -------
    str
        What is missed where the solution is none: a cost by more than itself, of a motion that is missed as well, by
        all elements together. Empty otherwise.

    Warns
    -----
    UnderResolved
        Where less is missed.
    """
    if has_contacts(phase) or not phase.n_controls or len(solution.t) > OPTIONS.replayed_elements:
        return ""
    again = controls_marched.Replay(phase, solution, (0, OPTIONS.replayed_share))
    defects, told, cost = again.defects(), solution.statistics["objective"], again.objective
    worst, apart = int(np.argmax(defects)), abs(cost - told)
    varies = f"the cost is {told:.6g} by the points of the elements, and {cost:.6g} by those of finer ones: what it " \
        "depends on varies within elements"
    if apart > max(abs(told), OPTIONS.unresolved_cost * again.size_of_objective) and \
            OPTIONS.between_wrong < defects.sum() < np.inf:
        return varies
    if OPTIONS.unresolved < defects[worst] < np.inf:
        warn(f"element {worst}, at t = {solution.t[worst]:.6g}, misses the motion that its controls make by "
             f"{defects[worst]:.2g} of its size: {MARCHED}", UnderResolved)
    elif apart > OPTIONS.unresolved * max(abs(cost), abs(told)) and \
            apart > OPTIONS.unresolved_cost * again.size_of_objective:
        warn(f"{varies}; {MARCHED}", UnderResolved)
    elif (alone := _alone(again, np.diff(solution.t), cost)) is not None:
        warn(f"element {alone}, at t = {solution.t[alone]:.6g}, costs {again.costs[alone]:.3g} of {told:.6g}, and a "
             f"unit of time in it more than {OPTIONS.costs_alone:g} times as much as beside it: elements do not "
             f"resolve what happens there; {REMEDY}", UnderResolved)
    return ""


def _alone(again, lengths, objective):
    """The element that costs most of those which cost much, and far more than what is beside them; None where there is
    none: controls that jump within an element, say, and cost until they have."""
    costs = np.abs(again.costs)
    beside = np.pad(costs / lengths, 1, constant_values=0.0)
    beside = lengths * np.maximum(beside[:-2], beside[2:])
    much = OPTIONS.unresolved * max(abs(objective), costs.sum())
    alone = np.where((costs > much) & (costs > OPTIONS.costs_alone * beside), costs, 0.0)
    worst = int(np.argmax(alone))
    return worst if len(costs) > 1 and alone[worst] > OPTIONS.unresolved_cost * again.size_of_objective else None
