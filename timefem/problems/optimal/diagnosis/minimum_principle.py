"""Controls that cost more than others would, with states and costates as they are: Pontryagin's principle, element by
element.

An angle of a thrust that waits at its bound for a motion that turns on beyond it, is a minimum of the nonlinear program
and none of the problem: a turn less costs less. A solve from these other controls leaves such minima.
"""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ....assembly import TimeMesh
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

    Controls are looked at that have two bounds, are in no limit, and enter so that what they cost may have several
    minima.
    """
    which = _free_controls(phase)
    element = solution.element
    while hasattr(element, "element"):
        element = element.element
    n_elements = len(solution.t) - 1
    if not len(which) or not element.costates_converge or n_elements > OPTIONS.replayed_elements:
        return None
    plan = mesh_sequence.optimality_plan(phase, element)
    if not any(map(_curved, plan.point_kernels, [plan.element] * len(plan.point_kernels))):
        return None
    lagrangian = _Lagrangian(phase, plan, solution)
    basis = plan.element.trial["controls"].basis
    to_points = basis.values(gauss_legendre(basis.n_shapes)[0])
    to_nodes, now = np.linalg.inv(to_points), to_points @ solution.fields["controls"]
    found, gain = now.copy(), np.zeros(n_elements)
    alone, together = range(basis.n_shapes), slice(None)  # at one point of an element, or at all
    for k in which:
        for value in np.linspace(*phase.bounds[:, k], OPTIONS.controls_tried):
            for points in (*alone, together):
                other = now.copy()
                other[:, points, k] = value
                change = lagrangian(to_nodes @ other)
                better = change < gain
                gain[better], found[better] = change[better], other[better]
    least = max(OPTIONS.costs_less * abs(solution.statistics["objective"]) / n_elements,
                OPTIONS.unresolved_cost * lagrangian.size)
    worth = gain < -least
    if not worth.any():
        return None
    e = int(np.argmin(gain))
    j, k = np.unravel_index(np.argmax(np.abs(found[e] - now[e])), now[e].shape)
    fields = solution.fields | {"controls": np.where(worth[:, None, None], to_nodes @ found,
                                                     solution.fields["controls"])}
    guess = solution.of(solution.system, solution.element, solution.t, solution.z[0],
                        NodalValues(solution.nodal_state, solution.nodal_multipliers, fields), solution.status,
                        solution.statistics)
    return Better(guess, f"{phase.control_name(k)} is {now[e, j, k]:.4g} at t = {solution.t[e]:.6g}, where "
                         f"{found[e, j, k]:.4g} costs less")


def _free_controls(phase):
    """Numbers of controls with two bounds that are in no limit."""
    free = np.isfinite(phase.bounds).all(axis=0)
    if has_contacts(phase) or not free.any():
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
    """Whether second derivatives by controls depend on controls or costates, for a point kernel of `element`."""
    slots, first = list(element.slots), sum(kernel.n_rows)
    controls = np.array([name == "controls" for name, _ in slots])
    dual = np.array([element.trial[name].dual for name, _ in slots])
    own = [first + i for i, (test, slot, _, _) in enumerate(kernel.entries) if controls[test] and controls[slot]
           and np.isnan(kernel.constants[first + i])]
    if not own:
        return False
    entries, inputs = kernel.kernel.function.jac_sparsity(0, 0).get_triplet()
    by = np.zeros(kernel.kernel.n_in, bool)
    by[:sum(kernel.n_inputs)] = np.repeat(controls | dual, kernel.n_inputs)
    return bool((np.isin(entries, own) & by[np.array(inputs, int)]).any())


class _Lagrangian:
    """What other controls change of the cost and of costates times equations, in each element.

    Attributes
    ----------
    size : float
        What changes of size one make of the cost.
    """

    def __init__(self, phase, plan, solution):
        mesh = TimeMesh(stretched(solution.t, phase.t_span))
        self._chain = OptimalityEquations(phase.of_motion(), plan, mesh, scaling_of("full", phase, plan, mesh.nodes[0]),
                                          "chain")
        self._x = from_solution(phase, plan, mesh, solution)
        self._place = self._chain.places_of("controls")
        self._dual = np.flatnonzero(self._chain.dual)
        self._elements = self._chain.elements_of_unknowns()[self._dual]
        self._costates = self._chain.scaled(self._x)[self._dual]
        self.size = float(self._chain.size_of_objective(self._x))
        self._first = self._of(self._x)

    def __call__(self, controls):
        x = self._x.copy()
        self._chain.split(x)[1][self._place] = controls
        return np.nan_to_num(self._of(x) - self._first, nan=0.0)

    def _of(self, x):
        terms = self._chain.evaluate(x)[self._dual] * self._costates
        return self._chain.integrals(x) + self._chain.objective_size * np.bincount(self._elements, terms,
                                                                                 self._chain.mesh.n_elements)
