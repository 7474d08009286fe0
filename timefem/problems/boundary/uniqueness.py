"""Whether conditions at the ends determine a motion, or others beside it meet them as well."""


import numpy as np

from ...assembly import TimeMesh
from ...errors import IllConditioned, SolveError, warn
from ...estimated_norm import estimated_norm
from ...late import Late
from ...solvers.equations.conditioning import WARN_ABOVE

scipy = Late("scipy")

SUSPECT = 30  # of the motion, by the size of a shift: below, one motion is determined however coarse the mesh is


def warn_if_undetermined(solver, sol, x, equations):
    """Warn where the conditions hold for other motions as well, to the accuracy of the mesh.

    By how much the motion moves where a condition is shifted converges with the mesh, and grows with the order of the
    element where conditions determine nothing: it is the inverse of the error of the mesh then.

    Parameters
    ----------
    solver : BoundarySolver
    sol : Solution
    x : ndarray
        Its unknowns.
    equations : ElementEquations
        Theirs, on one process.
    """
    if equations.linear.no_transpose:
        return
    # factors of the last step, if there was one, are of an iterate as far from x as that step: they tell enough here
    if len(sol.t) < 5 or (equations.has_factors and not _of_factors(equations) > SUSPECT):
        return
    found = _response(equations, x)
    if not found > SUSPECT:  # spares a second mesh
        return
    grows = found * np.finfo(float).eps > WARN_ABOVE
    if not grows:
        coarse = TimeMesh(np.unique(np.append(sol.t[::2], sol.t[-1])))
        guess = solver.from_solution(sol, coarse)
        before = _response(solver.form.equations(coarse, guess, solver.driver.scaling, solver.driver.linear), guess)
        grows = found > before * max(2.5, 2 ** (getattr(sol.element, "order", 2) / 2))  # rows may be weighted by h
    if grows:
        warn(f"the conditions at the ends do not determine the motion: a shift of one by {1 / found:.0e} of its size "
             "changes the whole motion, and a smaller one does on a finer mesh; this is one of many motions. Give "
             "another condition, or another time", IllConditioned)


def _response(equations, x):
    """By how much the motion moves at most where one of its equations is not met, both by their sizes; infinite where
    the tangent is singular."""
    if equations.x is not x:
        equations.evaluate(x)
    try:
        equations.factor()
    except SolveError:
        return np.inf
    return _of_factors(equations)


def _of_factors(equations):
    """The norm of the inverse of the tangent that was factored last by the number of unknowns, in some five solves."""
    n, linear = equations.n_unknowns, equations.linear

    def plain(b):
        return linear.solve(b.flatten())

    def transposed(b):
        return linear.solve_transposed(b.flatten())

    inverse = scipy.sparse.linalg.LinearOperator((n, n), plain, rmatvec=transposed, dtype=float)
    return float(estimated_norm(inverse, t=1, itmax=2)) / n
