"""Driver `march`: one element at a time, in a compiled loop, with a dense or a sparse tangent."""

import numpy as np

from ..assembly import Scaling
from ..elements.step_plan import step_plan
from .status import Status

SPARSE_FROM = 130  # unknowns of an element from which on a sparse tangent is faster: 90 to 150 were measured for chains
REASONS = {1: "not converged", 2: "singular tangent", 3: "not finite"}


def march(plan, mesh, z0, multipliers, scaling, settings, advance=lambda n: None, chunk=2000):
    """Solve an initial-value problem element by element.

    Parameters
    ----------
    plan : ElementPlan
        Of an element that can be marched (`TimeElement.can_march`).
    mesh : TimeMesh
    z0, multipliers : ndarray
        Initial state, and guess of the multipliers in the first element.
    scaling : Scaling
    settings : Newton
    advance : callable
        Told the number of elements solved since the last call.

    Returns
    -------
    x : ndarray
        All dofs in time order; valid up to the end of the last solved element.
    n_solved : int
    status : Status
    iterations : ndarray of int, shape (n_solved,)
    """
    from .march_loop import march_elements
    from .march_sparse import FULL, enlarged

    state, multiplier = plan.columns.fields
    n_node = plan.columns.n_node
    x = np.zeros(n_node + mesh.n_elements * plan.columns.step)
    sizes, size_powers = (v[n_node:] for v in scaling.local(plan.columns, scaling.multiplier_power))
    weights, weight_powers = scaling.local(plan.rows, scaling.constraint_power)
    x[:n_node] = z0
    x[multiplier] = multipliers
    lu, targets = _matrix(plan, plan.rows.n_interior)
    arrays = step_plan(plan, targets)
    reference = scaling.size(z0)
    iterations, history = np.zeros(mesh.n_elements, int), np.full(settings.max_iterations + 1, np.nan)
    e, code = 0, 0
    while e < mesh.n_elements and not code:
        stop = min(e + chunk, mesh.n_elements)
        solved, code = march_elements(
            arrays, lu, x, mesh.nodes[:-1], mesh.lengths, sizes, size_powers, weights,
            weight_powers, n_node,
            plan.element.state.basis.points, state, multiplier, e, stop, settings.tol_residual * reference,
            settings.tol_increment * reference, settings.max_iterations, settings.line_search, iterations, history)
        advance(solved - e)
        e = solved
        if code == FULL:  # the element is tried again, with more room for its factors
            lu, code = enlarged(lu, 2 * len(lu.lower)), 0
    status = Status(True)
    if code:
        status = Status.failure(REASONS[code], e, mesh.nodes[e], history[np.isfinite(history)])
    return x, e, status, iterations[:e]


def _matrix(plan, n):
    """Sparse LU of the tangent of an element (None when it is dense), and the place of each tangent entry."""
    rows, columns = plan.tangent_rows, plan.tangent_columns - plan.columns.n_node
    if n < SPARSE_FROM:
        return None, columns * (-(-n // 8) * 8) + rows
    from .march_sparse import sparse_lu

    targets = np.full(len(rows), -1)
    unknown = columns >= 0
    lu, targets[unknown] = sparse_lu(rows[unknown], columns[unknown], n)
    return lu, targets


def march_problem(system, element_plan, mesh, t0, z0, settings, scaling_name="full", advance=lambda n: None):
    """`march` with scaling and multipliers worked out at the initial state."""
    scaling = Scaling.of(scaling_name, system, element_plan.element, t0, z0)
    return march(element_plan, mesh, z0, system.consistent_multipliers(t0, z0), scaling, settings, advance)
