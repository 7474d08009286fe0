"""A march whose failing elements are halved and tried again."""

import numpy as np

from ...assembly import TimeMesh
from ...status import SHORTER, Status
from .march import Run, march

MOST = 12  # times that an element of the given mesh is halved, one half after the other


def march_halving(plan, mesh, z0, multipliers, scaling, settings, run=Run(), on_mesh=lambda mesh, x: None):
    """`march`, where Newton's method fails with halves of the element, as often as it takes.

    Nothing changes as long as no element fails. Where even an element of 2^-12 of its length fails, the march ends
    before the element of the given mesh, for which Newton's method failed first.

    Parameters
    ----------
    plan, mesh, z0, multipliers, scaling, settings, run
        As for `march`.
    on_mesh : callable
        `on_mesh(mesh, x)` is given each new mesh, and the array of all dofs on it.

    Returns
    -------
    mesh : TimeMesh
    x, n_solved, status, iterations
        As from `march`, on this mesh.
    """
    x, n, status, iterations = march(plan, mesh, z0, multipliers, scaling, settings, run)
    if status.success or status.reason not in SHORTER:
        return mesh, x, n, status, iterations
    step, levels, counts = plan.columns.step, np.zeros(mesh.n_elements, int), [iterations]
    given, failed = mesh, None
    while not status.success and status.reason in SHORTER:
        original = int(np.searchsorted(given.nodes, mesh.nodes[n], side="right")) - 1
        if failed is None or failed[0] != original:
            failed = original, mesh, n, levels, status
        middle = mesh.nodes[n] + mesh.lengths[n] / 2
        if levels[n] == MOST or not mesh.nodes[n] < middle < mesh.nodes[n + 1]:
            shortest = mesh.lengths[n]
            _, mesh, n, levels, status = failed
            status.message += f"; its halves fail as well, down to {shortest:.3g} s"
            on_mesh(mesh, x)
            break
        levels = np.insert(levels, n, levels[n])
        levels[n:n + 2] += 1
        mesh = TimeMesh(np.insert(mesh.nodes, n + 1, middle))
        if len(x) < plan.columns.n_node + mesh.n_elements * step:  # by half, as many more may fail
            x = np.append(x, np.zeros(mesh.n_elements // 2 * step + step))
        on_mesh(mesh, x)
        x, n, status, iterations = march(plan, mesh, z0, multipliers, scaling, settings, run._replace(x=x, start=n))
        counts.append(iterations)
    iterations = np.concatenate(counts)[:n - run.start]
    if status.success:
        status = Status(True, message=status.message + told(given, mesh))
    return mesh, x, n, status, iterations


def told(given, mesh):
    """For the message of a status: how many elements of the given mesh were halved."""
    if mesh.n_elements == given.n_elements:
        return ""
    halved = np.unique(np.searchsorted(given.nodes, np.setdiff1d(mesh.nodes, given.nodes)))
    return (f"; {len(halved)} of {given.n_elements} elements were halved where Newton's method failed, down to "
            f"{mesh.lengths.min():.3g} s")
