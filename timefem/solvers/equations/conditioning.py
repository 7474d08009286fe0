"""Warning of ill-conditioned tangents, from five solves with factors that are at hand."""


import numpy as np

from ...assembly import Scaling
from ...errors import IllConditioned, warn
from ...mechanics.parts import body_of
from ...memory import Late
from ...sparse import estimated_norm, product_of_magnitudes

scipy = Late("scipy")

WARN_ABOVE = 1e-6  # estimated relative forward error
EPS = np.finfo(float).eps
SORTS = {"state": ("coordinates", "momenta"),
         "multipliers": ("position-level multipliers", "velocity-level multipliers")}


def warn_if_ill_conditioned(equations, x):
    """Warn when rounding alone may cost a solve more than 1e-6 of its answer.

    Parameters
    ----------
    equations : ElementEquations
        On one process, without blocks at the ends, its tangent factored.
    x : ndarray
        All dofs, at which the tangent was taken.
    """
    error, worst = forward_error(equations, x)
    if not error > WARN_ABOVE:
        return
    pattern = equations.assembler.pattern
    dof = np.arange(pattern.n_columns_full)[pattern.column_index][worst]
    unknown, element = name_unknown(equations.plan, dof)
    scaling = equations.assembler.scaling
    if scaling.name == "full":
        remedy = "with driver='windows', or longer elements, it would be smaller"
    else:
        plan, mesh = equations.plan, equations.mesh
        full = Scaling.of("full", plan.system, plan.element, mesh.nodes[0], x[:plan.system.n_z])
        scaled = full.columns(plan.columns, mesh.lengths)
        remedy = f"with scaling='full' it would be {forward_error(equations, x, scaled)[0]:.0e}"
    warn(f"ill-conditioned tangent: with scaling={scaling.name!r}, rounding may cost {error:.0e} of the "
         f"answer, at worst in the {unknown} in element {element + equations.first_element}; {remedy}",
         IllConditioned)


def forward_error(equations, x, sizes=None):
    """Estimated forward error of the unknowns by rounding, and the unknown for which it is largest.

    The bound `eps | |A^-1| |A| |x| | / |x|` in the maximum norm of the scaled unknowns x, as in LAPACK's error bounds;
    it does not depend on the weights of the rows. Takes about five solves.

    Parameters
    ----------
    equations, x
        As in `warn_if_ill_conditioned`.
    sizes : ndarray, optional
        Sizes of all unknowns in whose norm to measure; default: those of the equations.

    Returns
    -------
    float
        Relative to the largest scaled unknown.
    int
        Number of a free column.
    """
    columns, linear, n = equations.assembler.pattern.column_index, equations.linear, equations.n_unknowns
    own = equations.assembler.column_scale[columns]
    scaled = np.abs(x[columns] / own)
    if not scaled.any():
        return 0.0, 0
    size = own if sizes is None else sizes[columns]
    pattern = equations.assembler.pattern
    rounding = product_of_magnitudes(pattern.indptr, pattern.indices, equations.data, scaled)
    weight = own / size

    def transposed(b):
        return rounding * linear.solve_transposed(weight * b.ravel())

    def plain(b):
        return weight * linear.solve(rounding * b.ravel())

    inverse = scipy.sparse.linalg.LinearOperator((n, n), transposed, rmatvec=plain, dtype=float)
    bound, direction = estimated_norm(inverse, t=1, itmax=2, compute_v=True)
    return float(EPS * bound / (scaled * weight).max()), int(np.argmax(np.abs(direction)))


def name_unknown(plan, dof):
    """What an unknown is, in words, and the number of its element; `dof` counts all dofs in time order."""
    numbering, system = plan.columns, plan.system
    element = max(dof - numbering.n_node, 0) // numbering.step
    found = {name: np.argwhere(places == dof - element * numbering.step)
             for name, places in zip(plan.element.trial, numbering.fields, strict=True)}
    name = next(n for n, places in found.items() if len(places))
    component = found[name][0, 1]
    if name not in SORTS:  # a further field of a one-step scheme
        return name, element
    half = system.n_q if name == "state" else system.n_constraints
    level, component = divmod(component, half)
    if name == "multipliers":
        return f"{SORTS[name][level]} of '{system.constraint_names[component]}'", element
    return f"{SORTS[name][level]} of '{system.label(body_of(system, component))}'", element
