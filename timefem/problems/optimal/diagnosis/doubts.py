"""What may be wrong with an optimum that was found: costs and forces that jump, or have a kink, where a motion passes a
place or a speed; and controls that cost more than others would, with states and costates as they are."""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ....assembly import TimeMesh
from ....elements.evaluation.elements_in_lanes import evaluate_batch
from ....elements.evaluation.plan import ElementPlan
from ....elements.extended import Lagrangian
from ....errors import NotDifferentiable, UnderResolved, warn
from ....mechanics.forces.actuators import Cost
from ....mechanics.formulas.formula import Switches
from ....mechanics.values.quantities import formulas_of, jumps_of, kinks_of, places_of
from ....memory import Late
from ....polynomials import gauss_legendre
from ....solvers.equations.outcome import NodalValues
from ....status import RETRY
from ..guesses.guess import from_solution, stretched
from ..options import OPTIONS
from ..statement.limits import Limit
from ..transcription.equations import OptimalityEquations
from ..transcription.sizes import has_contacts, scaling_of
from .between_points import along

POINTS = np.linspace(0.0, 1.0, 5)  # of each element
STEP = "let a phase end there (Phases), or take a smooth step, such as (1 + tanh(x / width)) / 2"
BEND = "let a phase end there (Phases), or take a smooth bend, such as sqrt(x**2 + width**2) for abs(x), and " \
    "(x + sqrt(x**2 + width**2)) / 2 for max(x, 0)"
mesh_sequence = Late("timefem.problems.optimal.strategies.mesh_sequence")


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


class Better(NamedTuple):
    """A solution with other controls, by what they cost less to first order, and what was found, in words."""

    guess: object
    text: str


def better_controls(phase, solution):
    """The solution with controls that cost less where states and costates are as they are, or None where there are
    none that do by much.

    Controls are looked at that are in no limit, and enter so that what they cost may have several minima: between their
    bounds, or, where they have not two of them, between the values that they take, as headings some turns apart.
    """
    element, n_elements = solution.element, len(solution.t) - 1
    while hasattr(element, "element"):
        element = element.element
    if not element.costates_converge or n_elements > OPTIONS.replayed_elements or has_contacts(phase):
        return None
    which = phase.kept.thing(("free controls", element), phase, lambda: _free_controls(phase, element))
    if not len(which):
        return None
    plan, mesh = mesh_sequence.optimality_plan(phase, element), TimeMesh(stretched(solution.t, phase.t_span))
    x = from_solution(phase, plan, mesh, solution)
    changes = _Changes(phase, plan, mesh, x)
    basis = plan.element.trial["controls"].basis
    to_points = basis.values(gauss_legendre(basis.n_shapes)[0])
    to_nodes, now = np.linalg.inv(to_points), to_points @ solution.fields["controls"]
    found, gain = now.copy(), np.zeros(n_elements)
    where = np.unique(np.vstack([np.eye(basis.n_shapes, dtype=bool), np.ones(basis.n_shapes, bool)]), axis=0)
    together = -(-n_elements * OPTIONS.controls_tried * len(where) // OPTIONS.replayed_elements)
    for elements in np.array_split(np.arange(n_elements), together):
        for k in which:
            values = np.tile(np.linspace(*_range(phase.bounds[:, k], now[..., k]), OPTIONS.controls_tried), len(where))
            other = np.repeat(now[None, elements], len(values), axis=0)
            points = np.repeat(where, OPTIONS.controls_tried, axis=0)[:, None]
            other[..., k] = np.where(points, values[:, None, None], other[..., k])
            nodal = np.clip(to_nodes @ other, *phase.bounds)  # which hold at nodes
            change = changes(elements, nodal)
            least, local = change.argmin(axis=0), np.arange(len(elements))
            better = change[least, local] < gain[elements]
            least, local = least[better], local[better]
            gain[elements[local]], found[elements[local]] = change[least, local], to_points @ nodal[least, local]
    worth = gain < -OPTIONS.costs_less * abs(solution.statistics["objective"]) / n_elements
    if worth.any():
        scaling = scaling_of("full", phase, plan, mesh.nodes[0])
        chain = OptimalityEquations(phase.of_motion(), plan, mesh, scaling, "chain")
        worth &= gain < -OPTIONS.unresolved_cost * chain.size_of_objective(x)
    if not worth.any():
        return None
    e = int(np.argmin(gain))
    j, k = np.unravel_index(np.argmax(np.abs(found[e] - now[e])), now[e].shape)
    fields = solution.fields | {"controls": np.where(worth[:, None, None], to_nodes @ found,
                                                     solution.fields["controls"])}
    guess = solution.of(solution.system, solution.element, solution.t, solution.z[0],
                        NodalValues(solution.nodal.state, solution.nodal.multipliers, fields), solution.status,
                        solution.statistics)
    return Better(guess, f"{phase.control_name(k)} is {now[e, j, k]:.4g} at t = {solution.t[e]:.6g}, where "
                         f"{found[e, j, k]:.4g} costs less")


def _range(bounds, values):
    """Where to look at a control: between its two bounds, else between the values that it takes."""
    return bounds if np.isfinite(bounds).all() else (values.min(), values.max())


def _free_controls(phase, element):
    """Numbers of controls that are in no limit and may have several minima."""
    plan, free = mesh_sequence.optimality_plan(phase, element), np.zeros(phase.n_controls, bool)
    for kernel, seen in zip(plan.point_kernels, plan.components["controls"].places, strict=True):
        free[seen[:, _curved(kernel, plan.element)]] = True
    if not free.any():
        return np.zeros(0, int)
    for place, _ in phase.rate_limits:
        free[place] = False
    z, u, t, c = (ca.SX.sym(name, n) for name, n in (("z", phase.system.n_z), ("u", phase.n_controls), ("t", 1),
                                                     ("c", len(phase.guesses))))
    for limit in phase.limits:
        rows = limit.rows(phase.now(z, t, c, u), u)[0] if isinstance(limit, Limit) else u
        free &= [not ca.depends_on(rows, control) for control in ca.vertsplit(u)]
    return np.flatnonzero(free)


def _curved(kernel, element):
    """Local numbers of controls by which second derivatives depend on controls or costates, or are negative, for a
    point kernel of `element`."""
    slots, first = list(element.slots), sum(kernel.n_rows)
    controls = np.array([name == "controls" for name, _ in slots])
    dual = np.array([element.trial[name].dual for name, _ in slots])
    second = {first + i: row for i, (test, slot, row, column) in enumerate(kernel.entries)
              if controls[test] and controls[slot] and row == column}
    own = [i for i in second if np.isnan(kernel.constants[i])]
    concave = {row for i, row in second.items() if kernel.constants[i] < 0}
    if not own:
        return sorted(concave)
    entries, inputs = kernel.kernel.function.jac_sparsity(0, 0).get_triplet()
    by = np.zeros(kernel.kernel.n_in, bool)
    by[:sum(kernel.n_inputs)] = np.repeat(controls | dual, kernel.n_inputs)
    seen = np.intersect1d(own, np.array(entries, int)[by[np.array(inputs, int)]])
    return sorted(concave | {second[i] for i in seen})


class _Changes:
    """What other controls change of the cost and of costates times equations, in each element."""

    def __init__(self, phase, plan, mesh, x):
        self._plan = phase.kept.thing(("Lagrangian", plan.element), phase,
                                      lambda: ElementPlan(plan.system, Lagrangian(plan.element)))
        self._plan.take(plan.system)
        x = x[:len(x) - len(phase.conditions.combinations)]
        self._dofs, self._mesh = np.array(plan.columns.elements(x)), mesh
        self._controls = plan.columns.fields[list(plan.element.trial).index("controls")]
        self._first = self._of(slice(None), self._dofs[None])[0]

    def __call__(self, elements, controls):
        """In these elements, shape (n, n_elements), of nodal values, shape (n, n_elements, n_shapes, n_controls)."""
        dofs = np.repeat(self._dofs[None, elements], len(controls), axis=0)
        dofs[:, :, self._controls] = controls
        change = self._of(elements, dofs) - self._first[elements]
        return np.where(np.isfinite(change), change, 0.0)

    def _of(self, elements, dofs):
        shape, n_columns = dofs.shape[:2], dofs.shape[2]
        t, h = (np.tile(of[elements], len(dofs)) for of in (self._mesh.nodes[:-1], self._mesh.lengths))
        values = np.empty((len(t), 1))
        evaluate_batch(self._plan.arrays, dofs.reshape(-1, n_columns), t, h, values, np.empty((len(t), 0)))
        return values.reshape(shape)
