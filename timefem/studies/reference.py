"""What errors are measured against, and in what."""

from dataclasses import dataclass

import numpy as np

from timefem import InputError, MixedGalerkin, Solution, SolveError, solve

from .. import validate

UNITS = {"state": "1", "coordinates": "SI", "momenta": "SI", "position": "m", "rotation": "rad"}
QUANTITIES = tuple(UNITS)
FINE = MixedGalerkin(4)
DOUBLINGS = 4


@dataclass(frozen=True)
class Reference:
    """State at the end that is taken as exact.

    Attributes
    ----------
    name : str
    z : ndarray, shape (n_z,)
    coarse : ndarray, shape (n_z,)
        The same from half as many elements; equal to `z` where there is no such solution.
    """

    name: str
    z: np.ndarray
    coarse: np.ndarray

    def error(self, system, quantity, t):
        """How far the reference itself may be off: distance of the two, an upper bound for mG(4)."""
        return distance(system, quantity, t, self.coarse, self.z)


def measured(system, quantity, t, z):
    """A quantity of a state, as an array; see `convergence`."""
    if callable(quantity):
        return np.asarray(quantity(system, t, z), float)
    n = system.n_q
    if quantity == "state":
        return z / system.state_scale
    if quantity in ("coordinates", "momenta"):
        return z[:n] if quantity == "coordinates" else z[n:]
    what, scale = {"position": ("position", 1.0), "rotation": ("rotation_matrix", 1 / np.sqrt(2))}[quantity]
    bodies = [body for body in system.bodies if hasattr(body, what)]
    if not bodies:
        raise InputError(f"quantity is {quantity!r}, but no body of the system has one")
    return scale * np.stack([getattr(body, what)(z[system.coordinates(body)]) for body in bodies])


def distance(system, quantity, t, z, exact):
    """Distance of two states in a quantity; of "state" relative to its size."""
    exact = measured(system, quantity, t, exact)
    error = np.linalg.norm(measured(system, quantity, t, z) - exact)
    return float(error / np.linalg.norm(exact) if quantity == "state" else error)


def check_quantity(problem, quantity):
    """Raise InputError for what is not a quantity, or none of this problem."""
    if not callable(quantity):
        validate.choice("quantity", quantity, QUANTITIES)
    measured(problem.system, quantity, problem.t_span[0], problem.z0)


def given_reference(problem, reference):
    """Reference from a Solution or a function t -> z."""
    t, n = problem.t_span[1], problem.system.n_z
    if isinstance(reference, Solution):
        end, z = reference.end
        if abs(end - t) > 1e-12 * max(abs(t), 1) or not reference.success:
            raise InputError(f"the reference is a solution up to t = {end:g}, but the problem ends at {t:g}")
        name = f"solution by {reference.element.name}, {len(reference.t) - 1} elements"
    elif callable(reference):
        z, name = reference(t), "analytic"
    else:
        raise InputError(f"reference must be 'fine', a Solution, or a function t -> z, not {reference!r}")
    z = validate.array("the reference's state at the end", z, (n,))
    return Reference(name, z, z)


def fine_solution(problem, n_elements):
    """End of a fine solution by mG(4), as plain data; elements are doubled until that changes nothing any more.

    Returns
    -------
    dict
        `n_elements`, and `z` and `coarse`, from that many elements and from half of them.
    """
    try:
        FINE.check(problem.system)
    except InputError as error:
        raise InputError(f"there is no fine solution by mG(4): {error}; give a Solution or a function t -> z as "
                         "reference") from None
    coarse, last = _fine_end(problem, n_elements), np.inf
    for _ in range(DOUBLINGS):
        n_elements *= 2
        z = _fine_end(problem, n_elements)
        change = distance(problem.system, "state", problem.t_span[1], coarse, z)
        pair = {"n_elements": n_elements, "z": z.tolist(), "coarse": coarse.tolist()}
        if change < 1e-13 or change > 0.5 * last:
            break
        coarse, last = z, change
    return pair


def _fine_end(problem, n_elements):
    """State at the end by mG(4)."""
    solution = solve(problem, FINE, n_elements, progress=False)
    if not solution.success:
        raise SolveError(f"the fine reference by mG(4) failed with {n_elements} elements: {solution.status.message}; "
                         "take more elements, or give a reference")
    return solution.z[-1]
