"""Controls that cost more than others would, with states and costates as they are: Pontryagin's principle, element by
element.

An angle of a thrust that waits at its bound for a motion that turns on beyond it, is a minimum of the nonlinear program
and none of the problem: a turn less costs less. A solve from these other controls leaves such minima.
"""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ....assembly import TimeMesh
from ....elements.evaluation.elements_in_lanes import evaluate_batch
from ....elements.evaluation.plan import ElementPlan
from ....elements.extended import Lagrangian
from ....memory import Late
from ....polynomials import gauss_legendre
from ....solvers.equations.outcome import NodalValues
from ..guesses.guess import from_solution, stretched
from ..options import OPTIONS
from ..statement.limits import Limit
from ..transcription.equations import OptimalityEquations
from ..transcription.sizes import has_contacts, scaling_of

mesh_sequence = Late("timefem.problems.optimal.strategies.mesh_sequence")


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
