"""Meshes with nodes where controls switch from one bound to the other, so that elements keep their order."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ....assembly import TimeMesh
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


# ---- meshes with nodes where controls switch from one bound to the other, so that elements keep their order

def switch_times(mesh, controls, basis, bounds):
    """Times on the mesh at which controls jump from one bound to the other.

    Between elements at different bounds the mean of the control tells where it jumps.

    Parameters
    ----------
    mesh : TimeMesh
    controls : ndarray, shape (n_elements, n_shapes, n_controls)
        Nodal values.
    basis : LagrangeBasis
    bounds : ndarray, shape (2, n_controls)

    Returns
    -------
    ndarray
    """
    xi, weights = gauss_legendre(basis.n_shapes)
    found = []
    for lower, upper, nodal in zip(*bounds, np.moveaxis(controls, 2, 0), strict=True):
        if not np.isfinite(upper - lower):
            continue
        share = (nodal - lower) / (upper - lower)  # 1 at the upper bound, 0 at the lower one
        side = np.where((share > 1 - OPTIONS.saturated).all(axis=1), 1,
                        np.where((share < OPTIONS.saturated).all(axis=1), 0, -1))
        mean = share @ (weights @ basis.values(xi))
        at = np.flatnonzero(side >= 0)
        for a, b in pairwise(at):
            if side[a] != side[b] and b - a <= OPTIONS.widest_switch + 1:
                around = slice(a, b + 1)
                before = mean[around] if side[a] else 1 - mean[around]
                found.append(mesh.nodes[a] + float(before @ mesh.lengths[around]))
    return np.array(sorted(found))


def with_nodes_at(mesh, times):
    """The mesh with the nearest inner node moved to each of these times, and the largest move as a part of an element;
    the mesh itself where elements would become too short."""
    nodes, moves = mesh.nodes.copy(), [0.0]
    for t in times:
        i = 1 + int(np.argmin(np.abs(mesh.nodes[1:-1] - t)))
        least = OPTIONS.least_element * min(mesh.lengths[i - 1:i + 1])
        if not nodes[i - 1] + least < t < mesh.nodes[i + 1] - least or nodes[i] != mesh.nodes[i]:
            continue
        moves.append(abs(t - nodes[i]) / mesh.lengths[i - 1:i + 1].min())
        nodes[i] = t
    return TimeMesh(nodes), max(moves)


def settled_at_best(bounds, mesh, sol, solve_on, step_of):
    """The same as of `settled`, with switches moved on to where the cost is least, and the last `SwitchStep`.

    Parameters
    ----------
    step_of : callable
        `step_of(mesh, sol)` -> SwitchStep.
    """
    mesh, sol, times = settled(bounds, mesh, sol, solve_on)
    step = step_of(mesh, sol)
    for _ in range(OPTIONS.switch_moves):
        moved, most = with_nodes_at(mesh, step.better) if len(step.better) else (mesh, 0.0)
        if most <= OPTIONS.switch_best:
            break
        other = solve_on(moved, sol)
        if other.success:
            moved, other, further = settled(bounds, moved, other, solve_on)
        if not other.success or not other.objective < sol.objective:
            break
        mesh, sol, times = moved, other, further
        step = step_of(mesh, sol)
    return mesh, sol, times, step


def settled(bounds, mesh, sol, solve_on):
    """A solution on a mesh whose nodes were moved to the switches of its controls, by a few more solves, and these.

    Parameters
    ----------
    bounds : ndarray, shape (2, n_controls)
    mesh : TimeMesh
    sol : Solution
        On this mesh.
    solve_on : callable
        `solve_on(mesh, guess)` -> Solution.

    Returns
    -------
    mesh : TimeMesh
    sol : Solution
    times : tuple of float
        Of the switches, on the mesh.
    """
    if "controls" not in sol.fields:
        return mesh, sol, ()
    basis, times = sol.element.trial["controls"].basis, ()
    for _ in range(OPTIONS.switch_moves):
        found = switch_times(mesh, sol.fields["controls"], basis, bounds)
        moved, most = with_nodes_at(mesh, found) if mesh.n_elements > 1 and len(found) else (mesh, 0.0)
        times = tuple(t for t in found if np.abs(mesh.nodes - t).min() <= 1e-6 * mesh.lengths.min())
        if most <= OPTIONS.switch_settled:
            break
        better = solve_on(moved, sol)
        if not better.success:
            break
        mesh, sol = moved, better
    return mesh, sol, times
