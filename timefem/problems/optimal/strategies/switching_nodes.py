"""Meshes with nodes where controls switch from one bound to the other, so that elements keep their order."""

from itertools import pairwise

import numpy as np

from ....assembly import TimeMesh
from ....polynomials import gauss_legendre
from ..options import OPTIONS


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
