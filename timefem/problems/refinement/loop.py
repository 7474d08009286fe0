"""Global solves to a tolerance, on meshes that are found on the way from estimated errors."""

import dataclasses

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...elements.evaluation.elements_in_lanes import evaluate_batch
from ...elements.mixed_galerkin import MixedGalerkin
from ...errors import InputError
from ...polynomials import gauss_legendre
from ...progress import progress
from ...solvers.march.step_control import StepControl
from ...status import Reason, Status
from .options import OPTIONS


def solve_refined(task, solve_on, estimates):
    """Solve on finer and finer meshes until the estimated error is below a tolerance.

    Parameters
    ----------
    task : Task
        With `tolerance`: for the largest of the relative errors that the estimate tells, of the states at the nodes,
        and what the kind of problem asks for besides; and `n_elements` or `mesh` to start from, 16 elements unless
        given.
    solve_on : callable
        `solve_on(element, mesh, guess)` -> Solution, with the solution before as guess, or None.
    estimates : callable
        `estimates(problem, element)` -> ErrorEstimate.

    Returns
    -------
    Solution
        Of the last mesh; `statistics` has "tolerance", "estimated_error", "estimated_errors" by quantity, and "meshes",
        the numbers of elements.
    """
    if isinstance(task.tolerance, StepControl):
        raise InputError("tolerance must be a number where all elements are solved at once; StepControl is of a march")
    tolerance = validate.real("tolerance", task.tolerance, positive=True)
    with progress("mesh refinement", show=task.progress) as bar:
        return _refined(dataclasses.replace(task, tolerance=tolerance), solve_on, estimates, bar)


def _refined(task, solve_on, estimates, bar):
    problem, element, tolerance, mesh = task.problem, task.element, task.tolerance, task.mesh
    estimate = estimates(problem, element)
    kinks = estimate.kinks
    if mesh is None:
        mesh = TimeMesh.uniform(problem.t_span, task.n_elements or OPTIONS.first_mesh)
        mesh = graded(mesh, np.ones(mesh.n_elements), mesh.n_elements, kinks)
    meshes, guess, error, best, errors, n_failures, n_stuck = [], None, np.inf, np.inf, {}, 0, 0
    if estimate.rough_guess and not (element.costates_converge and element.degree > 1):
        rougher = dataclasses.replace(task, element=MixedGalerkin(2), tolerance=max(tolerance, OPTIONS.rough / 4),
                                      mesh=mesh, n_elements=None)
        rough = _refined(rougher, solve_on, estimates, bar)
        if rough.success:
            guess = rough
            mesh = TimeMesh(problem.t_span[0] + (rough.t - rough.t[0]) * (
                (problem.t_span[1] - problem.t_span[0]) / (rough.t[-1] - rough.t[0])))
    while len(meshes) < OPTIONS.most_meshes and n_failures < OPTIONS.most_failures:
        bar.note(f"{mesh.n_elements} elements")
        sol = solve_on(element, mesh, guess)
        meshes.append(mesh.n_elements)
        if not sol.success:
            mesh, guess, n_failures = halved(mesh), None, n_failures + 1
            continue
        mesh, sol, through = estimate.settled(mesh, sol, lambda mesh, guess: solve_on(element, mesh, guess))
        kinks = sorted({*estimate.kinks, *through})
        guess, n_failures = sol, 0
        error, density, n, errors = estimate(sol, mesh, OPTIONS.aim * tolerance)
        n_stuck = 0 if error <= best / 2 else n_stuck + (error < OPTIONS.rough)
        best = min(best, error)
        if error <= tolerance or n_stuck > OPTIONS.stagnation:
            break
        mesh = graded(mesh, density, n, kinks) if error < OPTIONS.rough else halved(mesh)
    if sol.success and not error <= tolerance and "objective" in errors:
        sol, error, errors = _or_of_equal_elements(
            sol, (error, errors), problem, estimate, lambda mesh, guess: solve_on(element, mesh, guess), meshes)
    sol.statistics.update(tolerance=tolerance, estimated_error=float(error), estimated_errors=errors, meshes=meshes)
    if sol.success and not error <= tolerance:
        sol.status = Status.failure(Reason.NOT_ACCURATE, len(sol.t) - 2, sol.t[-2], [],
                                    f"the estimated error is {error:.2g} on {meshes[-1]} elements")
    return sol


def _or_of_equal_elements(sol, told, problem, estimate, solve_on, meshes):
    """Solution, error and errors of that which is reported, or of as many equal elements: of the better objective.

    Where the estimate leads no further, it does not tell where elements should be either.
    """
    even = TimeMesh.uniform(problem.t_span, len(sol.t) - 1)
    even = graded(even, np.ones(even.n_elements), even.n_elements, estimate.kinks)
    other = solve_on(even, sol)
    if not other.success:
        return sol, *told
    meshes.append(even.n_elements)
    error, _, _, errors = estimate(other, even, told[0])
    better = np.isfinite(error) and errors["objective"] < told[1]["objective"]
    return (other, error, errors) if better else (sol, *told)


# ---- Errors estimated by a method of higher order, and meshes on which all elements have the same share of them
#
# With mG(k + 1), of order 2k + 2, as the better method: one Newton step of it on the whole mesh, with the conditions of
# the problem, estimates the error of a solution at the nodes. The defect of an element is the change of its right node
# by one Newton step of mG(k + 1) from its left node: what one element adds to the error. Where elements share tests
# (Bubnov-Galerkin), errors alternate from node to node and defects do not tell where they come from (their means over
# neighbours do not either), and in optimal control they come from both ends; there the mesh follows what the better
# solution has beyond the polynomials of the element.

def defects(plan, mesh, x):
    """Change of the state at the right node of each element by one Newton step from its left node.

    Parameters
    ----------
    plan : ElementPlan
        Of an element that can be marched.
    mesh : TimeMesh
    x : ndarray
        All dofs in time order.

    Returns
    -------
    ndarray, shape (n_elements, n_z)
    """
    c = plan.columns
    right = c.first[-1] - c.n_node
    out = np.zeros((mesh.n_elements, len(right)))
    for start in range(0, mesh.n_elements, OPTIONS.piece):
        e = np.arange(start, min(start + OPTIONS.piece, mesh.n_elements))
        own = np.ascontiguousarray(x[c.step * e[:, None] + np.arange(c.n_local)])
        residual = np.empty((len(e), plan.rows.n_local))
        entries = np.empty((len(e), len(plan.tangent_rows)))
        evaluate_batch(plan.arrays, own, mesh.nodes[e], mesh.lengths[e], residual, entries)
        tangent = np.zeros((len(e), plan.rows.n_local, c.n_local))
        tangent[:, plan.tangent_rows, plan.tangent_columns] = entries
        step = np.linalg.solve(tangent[:, :, c.n_node:], residual[..., None])[..., 0]
        out[e] = -step[:, right]
    return out


def size_of_components(system, values):
    """How large costates become, shape (n_z,) or, of the motion alone, (n_q,): weighted with the mass, the largest of
    each half."""
    n, root = system.n_q, np.sqrt(system.mass_scale)
    weights = np.concatenate([root, 1 / root])[:values.shape[1]]
    largest = [np.abs(part).max() or 1.0 for part in np.split(values * weights, range(n, values.shape[1], n), axis=1)]
    return np.repeat(largest, n) / weights


def surplus(nodal, basis):
    """Largest derivatives of nodal values within elements, as parts of the values, shape (n_elements, n_components)."""
    xi, _ = gauss_legendre(basis.n_shapes)
    differences = np.linalg.inv(np.vander(xi, increasing=True))[-1] @ basis.values(xi)
    return np.abs(np.einsum("i,eia->ea", differences, nodal))


def density_of(mesh, errors, power):
    """Density of elements [1/s], up to a factor, for errors C(t) h^power of the elements to be alike."""
    density = np.maximum(errors, 1e-12 * errors.max() or 1.0) ** (1 / power) / mesh.lengths
    for i in range(1, len(density)):
        density[i] = max(density[i], OPTIONS.grading * density[i - 1])
    for i in range(len(density) - 2, -1, -1):
        density[i] = max(density[i], OPTIONS.grading * density[i + 1])
    return density


def graded(mesh, density, n, through=()):
    """A mesh of about n elements with a given density.

    Parameters
    ----------
    mesh : TimeMesh
        On which the density is given.
    density : ndarray, shape (n_elements,)
    n : float
        At most `GROWTH` times as many as before are taken.
    through : array_like
        Times that become nodes.

    Returns
    -------
    TimeMesh
    """
    total = np.append(0.0, np.cumsum(density * mesh.lengths))
    n = np.clip(n, 4, OPTIONS.growth * mesh.n_elements)
    inside = np.asarray(through, float)
    inside = inside[(inside > mesh.nodes[0]) & (inside < mesh.nodes[-1])]
    ends = np.concatenate([mesh.nodes[:1], inside, mesh.nodes[-1:]])
    marks = np.interp(ends, mesh.nodes, total)
    nodes = [ends[:1]]
    for a, b, end in zip(marks, marks[1:], ends[1:], strict=False):
        count = max(1, int(np.ceil(n * (b - a) / total[-1] - 1e-9)))
        nodes += [np.interp(np.linspace(a, b, count + 1)[1:-1], total, mesh.nodes), [end]]
    return TimeMesh(np.concatenate(nodes))


def halved(mesh):
    """The mesh with all elements halved."""
    return TimeMesh(np.interp(np.arange(2 * mesh.n_elements + 1) / 2, np.arange(mesh.n_elements + 1), mesh.nodes))
