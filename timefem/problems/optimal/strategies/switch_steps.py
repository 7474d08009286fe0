"""How much the cost falls where switches of controls move, along the motions that go on meeting their conditions."""

from typing import NamedTuple

import numpy as np

from ....polynomials import gauss_legendre
from ....sparse import sparse_lu
from ..guesses.guess import from_solution
from ..options import OPTIONS
from ..transcription.equations import OptimalityEquations, TangentParts
from ..transcription.sizes import scaling_of
from .mesh_sequence import optimality_plan


class SwitchStep(NamedTuple):
    """Switches at nodes, where they are better, and by how much the cost is less there.

    Attributes
    ----------
    times, better : ndarray, shape (n,)
    gain : float
    """

    times: np.ndarray
    better: np.ndarray
    gain: float


NONE = SwitchStep(np.zeros(0), np.zeros(0), 0.0)


def switch_step(problem, element, mesh, sol):
    """The `SwitchStep` of a solution, by Newton's method for the times of the switches alone.

    With more switches than conditions a motion meets these with saturated controls wherever one of the switches is,
    and on elements with nodes there it is a minimum, with multipliers of which some are open. Those are taken with
    which the derivatives by the times of the switches vanish, as far as the conditions let them: what is left moves
    the switches. None move where they are as many as conditions and free times, nor with limits, which may hold a
    motion as well.
    """
    places = list(_switches(sol.fields["controls"], problem.bounds)) if "controls" in sol.fields else []
    if not places or problem.limits or problem.rate_limits or problem.couplings or problem.free_start:
        return NONE
    plan = optimality_plan(problem, element)
    equations = OptimalityEquations(problem, plan, mesh, scaling_of("full", problem, plan, mesh.nodes[0]))
    slopes = equations.evaluate(equations.with_end_costates(from_solution(problem, plan, mesh, sol)))
    tangent = TangentParts(equations)
    free = _free_costates(equations, tangent)
    if free is None:
        return NONE
    columns, sizes = equations.columns_of("controls"), equations.assembler.column_scale[
        equations.places_of("controls")]
    jumps = np.array([jump / sizes[i, 0, c] for i, c, jump in places])
    at = _AtSwitches(mesh, sol.element.trial["controls"].basis, places)
    value, slope = at(slopes[columns])
    curved = jumps * slope
    if not (curved > 0).all():
        return NONE
    every = np.arange(equations.n_unknowns)
    changes = tangent.sparse(every, every) @ free.T
    moves = np.array([jumps * at(change[columns])[0] for change in changes.T]).reshape(len(free), len(places))
    matrix = np.block([[np.diag(curved), moves.T], [moves, np.zeros((len(free),) * 2)]])
    right = np.concatenate([-jumps * value, np.zeros(len(free))])
    steps = np.linalg.lstsq(matrix, right, rcond=OPTIONS.dependent_switches)[0][:len(places)]
    times = mesh.nodes[[i + 1 for i, _, _ in places]]
    return SwitchStep(times, times + steps, float(curved @ steps**2 / 2) * equations.objective_size)


class _AtSwitches:
    """Derivatives by nodal values of controls as functions of time: their values and slopes at switches."""

    def __init__(self, mesh, basis, places):
        self._lengths, self._places = mesh.lengths, places
        xi, weights = gauss_legendre(basis.n_shapes)
        shapes = basis.values(xi)
        self._mass = shapes.T @ (weights[:, None] * shapes)
        self._shapes = basis.values(np.array([0.0, 0.5, 1.0]))

    def __call__(self, gradient):
        density = np.linalg.solve(self._mass, gradient / self._lengths[:, None, None])
        first, mean, last = np.einsum("xi,eic->xec", self._shapes, density)
        values = [(last[i, c] + first[i + 1, c]) / 2 for i, c, _ in self._places]
        slopes = [2 * (mean[i + 1, c] - mean[i, c]) / (self._lengths[i] + self._lengths[i + 1])
                  for i, c, _ in self._places]
        return np.array(values), np.array(slopes)


def _switches(controls, bounds):
    """Element before each switch from one bound to the other at a node, number of the control, and value before less
    that after it."""
    for c, (lower, upper) in enumerate(bounds.T):
        if not 0 < upper - lower < np.inf:
            continue
        share = (controls[..., c] - lower) / (upper - lower)
        high, low = (share > 1 - OPTIONS.saturated).all(axis=1), (share < OPTIONS.saturated).all(axis=1)
        for i in np.flatnonzero((high[:-1] & low[1:]) | (low[:-1] & high[1:])):
            yield i, c, (upper - lower if high[i] else lower - upper)


def _free_costates(equations, tangent):
    """Directions of the costates that leave the gradient by all but controls as it is, an array (k, n_unknowns); None
    where states and unknown numbers do not follow from controls and conditions."""
    n, dual, n_end = equations.n_unknowns, equations.dual, equations.blocks[1].n_unknowns
    primal = ~dual
    primal[equations.columns_of("controls")] = False
    ends, of_elements, rows = np.arange(n - n_end, n), np.flatnonzero(dual[:n - n_end]), np.flatnonzero(primal)
    numbers = np.sort(equations.columns_of("constants")[-1, -1]) if equations.problem.unknown_names else rows[:0]
    rows = np.setdiff1d(rows, numbers)
    if len(rows) != len(of_elements):
        return None
    if not n_end:
        return np.zeros((0, n))
    try:
        lu = sparse_lu(tangent.sparse(rows, of_elements))
    except RuntimeError:  # singular
        return None
    found = np.zeros((n_end, n))
    found[:, ends], found[:, of_elements] = np.eye(n_end), -lu.solve(tangent.dense(rows, ends)).T
    of_numbers = tangent.sparse(numbers, np.arange(n)) @ found.T
    _, sizes, vectors = np.linalg.svd(of_numbers)
    return vectors[np.count_nonzero(sizes > OPTIONS.dependent_switches * sizes.max(initial=0.0)):] @ found
