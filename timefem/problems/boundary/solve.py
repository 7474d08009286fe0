"""Boundary-value problems solved: guesses, mesh sequences, homotopy."""



from ...assembly import TimeMesh
from ...errors import InputError
from ..refinement.loop import solve_refined
from .errors import BoundaryErrors
from .solver import BoundarySolver


def solve_boundary(problem, element, n_elements=None, mesh=None, *, tolerance=None, guess=None, driver=None,
                   backend=None, newton=None, scaling="full", petsc_options=None, progress=None):
    """Solve a boundary-value problem; `solve` calls this, see there for the arguments."""
    if driver not in (None, "global"):
        raise InputError(f"driver={driver!r}: boundary values tie all elements together; leave driver out")

    def solve_on(element, mesh, guess):
        return BoundarySolver(problem, element, backend or "chain", newton, scaling, petsc_options, progress).solve(
            mesh, guess)

    if tolerance is None:
        mesh = TimeMesh.uniform(problem.t_span, n_elements, through=problem.system.kinks) if mesh is None else mesh
        return solve_on(element, mesh, guess)

    return solve_refined(lambda element, mesh, last: solve_on(element, mesh, guess if last is None else last),
                         BoundaryErrors, problem, element, tolerance, n_elements, mesh, progress)


