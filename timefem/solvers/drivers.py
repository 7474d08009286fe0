"""The three drivers: nodal values and a status from a system, an element, a mesh and an initial state."""

import time
from dataclasses import dataclass, field

import numpy as np

from .. import validate
from ..assembly import Scaling
from ..elements import ElementPlan
from ..errors import SolveError
from ..progress import progress
from .chain_system import ChainSystem
from .communicator import world
from .guess import initial_guess
from .linear import check_backend
from .march import march_problem
from .newton import newton
from .status import Status

DRIVERS = ("march", "windows", "global")


@dataclass
class Outcome:
    """What a driver returns.

    Attributes
    ----------
    state, multipliers : ndarray
        Nodal values of the solved elements, shapes (n_solved, n_shapes, n_z) and (n_solved, n, n_multipliers).
    status : Status
    iterations : ndarray of int
        Newton iterations per element (march), window or solve.
    seconds : dict
        "setup", "assemble", "solve", "total".
    n_unknowns : int
        Of one nonlinear system.
    n_ranks : int
    backward_error : float
        Largest of all linear solves; NaN where it is not looked at (march).
    """

    state: np.ndarray
    multipliers: np.ndarray
    status: Status
    iterations: np.ndarray
    n_unknowns: int
    seconds: dict = field(default_factory=dict)
    n_ranks: int = 1
    backward_error: float = float("nan")


def run_driver(driver, system, element, mesh, z0, *, backend, window, guess, newton_settings, scaling, options, show):
    """Solve an initial-value problem by the named driver (see `timefem.solve` for the arguments)."""
    validate.choice("driver", driver, DRIVERS)
    check_backend(backend)
    start = time.perf_counter()
    plan = ElementPlan(system, element)
    if driver == "march" and not element.can_march:
        raise validate.InputError(f"{element!r} couples its elements and cannot be marched: "
                                  "use driver='windows' or driver='global'")
    if driver == "march":
        outcome = _march(system, plan, mesh, z0, newton_settings, scaling, show)
    elif driver == "windows":
        outcome = _windows(system, plan, mesh, z0, backend, window, guess, newton_settings, scaling, options, show)
    else:
        outcome = _global(system, plan, mesh, z0, backend, guess, newton_settings, scaling, options, show)
    total = time.perf_counter() - start
    known = {k: outcome.seconds.get(k, 0.0) for k in ("assemble", "solve")}
    outcome.seconds = {"setup": total - sum(known.values()), **known, "total": total}
    return outcome


def _march(system, plan, mesh, z0, settings, scaling, show):
    with progress("march", mesh.n_elements, show) as bar:
        start = time.perf_counter()
        x, n_solved, status, iterations = march_problem(
            system, plan, mesh, mesh.nodes[0], z0, settings, scaling, bar.advance)
    state, multipliers = plan.columns.unpack(x)
    return Outcome(state[:n_solved], multipliers[:n_solved], status, iterations, plan.rows.n_interior,
                   {"solve": time.perf_counter() - start})


def _start(system, chain, element, mesh, z0, guess):
    """Guess of all dofs, with the prescribed ones of the first node in place, and a status."""
    try:
        state, multipliers = initial_guess(guess, system, element, mesh, z0)
    except SolveError as error:
        return None, Status.failure("no guess", chain.first_element, mesh.nodes[0], [], str(error))
    state = np.array(state)
    state[0, 0] = z0
    multipliers = np.array(multipliers)
    if element.multiplier.continuous:
        multipliers[0, 0] = system.consistent_multipliers(mesh.nodes[0], z0)
    return chain.plan.columns.pack(state, multipliers), Status(True)


def _nothing(system, element):
    """Nodal values of no element."""
    return (np.zeros((0, element.degree + 1, system.n_z)),
            np.zeros((0, element.multiplier.basis.n_shapes, system.n_multipliers)))


def _windows(system, plan, mesh, z0, backend, window, guess, settings, scaling, options, show):
    element = plan.element
    window = min(validate.integer("window", window, minimum=1), mesh.n_elements)
    scale = Scaling.of(scaling, system, element, mesh.nodes[0], z0)
    reference, z, chain = scale.size(z0), z0, None
    parts, iterations, status = [], [], Status(True)
    seconds, backward_error, n_unknowns = {"assemble": 0.0, "solve": 0.0}, 0.0, 0
    with progress("windows", mesh.n_elements, show) as bar:
        for first in range(0, mesh.n_elements, window):
            part = mesh.part(first, min(first + window, mesh.n_elements))
            if chain is None or part.n_elements != chain.mesh.n_elements:
                chain = ChainSystem(plan, part, scale, backend, options)
            chain.place(part, first)
            n_unknowns = max(n_unknowns, chain.n_unknowns)
            x, status = _start(system, chain, element, part, z, guess)
            if status.success:
                x, status = newton(chain, x, settings, reference)
                iterations.append(len(status.residual_history) - 1)
            if not status.success:
                break
            parts.append(plan.columns.unpack(x))
            z = parts[-1][0][-1, -1].copy()
            bar.advance(part.n_elements)
            for key in seconds:
                seconds[key] += chain.seconds.pop(key, 0.0)
            backward_error = max(backward_error, chain.backward_error)
    parts.append(_nothing(system, element))
    state, multipliers = (np.concatenate(values) for values in zip(*parts, strict=True))
    return Outcome(state, multipliers, status, np.array(iterations), n_unknowns, seconds,
                   backward_error=backward_error)


def _global(system, plan, mesh, z0, backend, guess, settings, scaling, options, show):
    element = plan.element
    scale = Scaling.of(scaling, system, element, mesh.nodes[0], z0)
    comm = world() if backend == "petsc" else None
    if comm is not None:
        from .distributed import DistributedChainSystem

        chain = DistributedChainSystem(plan, mesh, scale, comm, options)
    else:
        chain = ChainSystem(plan, mesh, scale, backend, options)
    x, status = _start(system, chain, element, mesh, z0, guess)
    empty = _nothing(system, element)
    n_ranks = comm.size if comm is not None else 1
    if not status.success:
        return Outcome(*empty, status, np.zeros(0, int), chain.n_unknowns, {}, n_ranks)
    with progress("global Newton", settings.max_iterations, show) as bar:
        def on_iteration(iteration, norm):
            bar.advance(bool(iteration))
            bar.note(f"residual {norm:.1e}")

        if comm is not None:
            x, status = newton(chain, chain.local_dofs(x), settings, scale.size(z0), on_iteration)
            x = chain.gather(x)
        else:
            x, status = newton(chain, x, settings, scale.size(z0), on_iteration)
    # no element of a global solve is good before all are
    values = plan.columns.unpack(x) if status.success else empty
    return Outcome(*values, status, np.array([len(status.residual_history) - 1]), chain.n_unknowns,
                   dict(chain.seconds), n_ranks, chain.backward_error)
