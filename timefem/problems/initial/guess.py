"""Initial guesses for windows and global solves: each rank has that of its own slab of elements, and the numbers do not
depend on how many ranks there are."""

import contextlib
from functools import lru_cache

import numpy as np

from ... import validate
from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...elements.mixed_galerkin import MixedGalerkin
from ...errors import InputError, SolveError
from ...mechanics.states.consistent_multipliers import repeating
from ...mechanics.values.of_parts import has_inverse_mass
from ...parallel import agree
from ...progress import progress
from ...solvers.equations.elements import ElementEquations
from ...solvers.march.march import FIRST_CHUNK, NotCompiled, Run, march
from ...solvers.nonlinear.newton import Newton, newton
from ...status import Reason, Status

DEGREE = 2  # of the march: over some hundred turns the phase of mG(1) is too far off for Newton's method
STEP = 0.1  # relative change of the state per step of the march
MOST_SUBSTEPS = 16
SHORT = 50_000  # unknowns of a march whose loop is not compiled for it: half a second
CHUNK = 20_000  # elements whose guess is made at once
GUESSES = ("march", "constant")
_ROUGH = Newton(tol_residual=1e-10, tol_increment=1e-5)


def first_iterate(job, equations, mesh, z, left=None):
    """Where Newton's method starts.

    Parameters
    ----------
    job : DriverInput
    equations : ElementEquations
        Of `mesh`.
    mesh : TimeMesh
    z : ndarray, shape (n_z,)
        State at the start of the mesh.
    left : ndarray, optional
        All dofs of the node before, when the mesh follows other elements.

    Returns
    -------
    x : ndarray
        The dofs that `equations` keeps, with the prescribed ones of the first node in place.
    status : Status or None
        Why there is no guess.
    """
    plan, c = job.plan, job.plan.columns
    job.where = getattr(equations, "where", "")
    x, error = np.zeros(c.n_node + (equations.last - equations.first) * c.step), None
    try:
        with progress("guess", equations.slab[1] - equations.slab[0], job.show) as bar:
            for e, state, multipliers in initial_guess(job.guess, plan, mesh, z, *equations.slab):
                values = plan.pack(mesh.part(e, e + len(state)), state, multipliers)
                x[(e - equations.first) * c.step:][:len(values)] = values
                bar.advance(len(state))
        if equations.first == 0:
            x[:c.n_node] = _first_node(plan, mesh, z, left)
    except Exception as failure:
        error = failure
    try:
        agree(equations.comm, error, job.where)
    except SolveError as failure:
        return None, Status.failure(Reason.NO_GUESS, equations.first_element, mesh.nodes[0], [], str(failure))
    equations.share(x)
    return x, None


def _first_node(plan, mesh, z, left):
    """Prescribed dofs of the first node: the state, its consistent multipliers, and the rest as it was."""
    multipliers = plan.system.consistent_multipliers(mesh.nodes[0], z)
    values = plan.first_element(mesh, z, multipliers)[:plan.columns.n_node]
    for dofs, space in list(zip(plan.columns.fields, plan.columns.spaces, strict=True))[2:]:
        if left is not None and space.continuous:
            values[dofs[0]] = left[dofs[-1] - plan.columns.step]
    return values


def initial_guess(guess, plan, mesh, z0, start, stop):
    """Nodal values of the elements start, ..., stop - 1 to start Newton's method from, a chunk of elements at a time.

    A march goes through the elements before as well: the last rank takes as long as one that has them all, and no rank
    starts its slab from another state than that.

    Parameters
    ----------
    guess : {"march", "constant"}, callable or ndarray
        A march by mG(2), the initial state everywhere, a function `t -> z` for an array of times (shape (n,) ->
        (n, n_z)), or nodal states of shape (degree n_elements + 1, n_z).
    plan : ElementPlan
    mesh : TimeMesh
    z0 : ndarray, shape (n_z,)
        State at the start of the mesh.

    Yields
    ------
    e : int
        First element of the chunk.
    state, multipliers : ndarray, shapes (n, n_shapes, n_z), (n, n_multiplier_shapes, n_multipliers)

    Raises
    ------
    SolveError
        When the march fails.
    InputError
        When the guess raises, or returns something else.
    """
    system, element = plan.system, plan.element
    if isinstance(guess, str):
        validate.choice("guess", guess, GUESSES)
    elif not callable(guess):
        guess = validate.array("guess", guess, (element.degree * mesh.n_elements + 1, system.n_z))
    if isinstance(guess, str) and guess == "march":
        yield from _marched(plan, mesh, z0, start, stop)
        return
    multipliers = system.consistent_multipliers(mesh.nodes[0], z0)
    for e in range(start, stop, CHUNK):
        part = mesh.part(e, min(e + CHUNK, stop))
        times, multiplier_times = part.points(element.state.basis), part.points(element.multiplier.basis)
        if isinstance(guess, str):
            state = np.broadcast_to(z0, (*times.shape, system.n_z))
        elif callable(guess):
            state = _called(guess, times.ravel(), system.n_z).reshape(*times.shape, system.n_z)
            if hasattr(guess, "multipliers"):  # a solution
                values = guess.multipliers(multiplier_times)
                if values.shape[-1] == system.n_multipliers and np.all(np.isfinite(state)):
                    yield e, state, values
                    continue
        else:
            state = guess[element.degree * np.arange(e, e + part.n_elements)[:, None] + np.arange(element.degree + 1)]
        if not np.all(np.isfinite(state)):
            raise InputError("guess must be finite")
        yield e, state, np.broadcast_to(multipliers, (*multiplier_times.shape, system.n_multipliers))


def _marched(plan, mesh, z, start, stop):
    """As `initial_guess`, by a march."""
    element, substeps = plan.element, _steps(plan.system, mesh, z, plan.element.state.basis)
    for e in range(0, stop, CHUNK):
        part = mesh.part(e, min(e + CHUNK, mesh.n_elements))  # all of it on every rank: what is marched at once counts
        values = _march_guess(plan.system, z, part.points(element.state.basis), part.points(element.multiplier.basis),
                              substeps)
        z = values[0][-1, -1]
        if e + part.n_elements > start:
            own = slice(max(start - e, 0), stop - e)
            yield e + own.start, *(v[own] for v in values)


def _called(guess, times, n_z):
    """States of a user's function at times, shape (n, n_z)."""
    try:
        state = guess(times)
    except Exception as error:
        raise InputError(f"guess raised {type(error).__name__} ({error}); it must take an array of times, shape (n,), "
                         f"and return states, shape (n, {n_z})") from error
    return validate.array("guess(t)", state, (len(times), n_z))


def _steps(system, mesh, z0, basis):
    """Steps of a march between two nodes that keep the relative change of the state small."""
    change = _relative_rate(system, mesh.nodes[0], z0) * mesh.lengths.max() * np.diff(np.sort(basis.points)).max()
    return int(np.clip(np.ceil(change / STEP), 1, MOST_SUBSTEPS))


def _march_guess(system, z, times, multiplier_times, substeps):
    nodes = np.append(times[:, :-1], times[-1, -1])
    fine = np.append((nodes[:-1, None] + np.diff(nodes)[:, None] * np.arange(substeps) / substeps).ravel(), nodes[-1])
    plan = _guess_plan(system)
    x, status = _march(plan, TimeMesh(fine), z)
    if not status.success:
        e = status.element
        reached = np.vstack([z, plan.unpack(x)[0][:e, -1]])
        raise SolveError(f"the march failed: {status.message}{repeating(system, fine[:e + 1], reached, fine[e + 1])}")
    state, multipliers, _ = plan.unpack(x)
    state = np.concatenate([state[:, 0], state[-1:, -1]])[::substeps]
    k = times.shape[1] - 1
    state = state[k * np.arange(len(times))[:, None] + np.arange(k + 1)]
    known = TimeMesh(fine).points(plan.element.multiplier.basis).ravel()
    multipliers = [np.interp(multiplier_times, known, values.ravel()) for values in np.moveaxis(multipliers, 2, 0)]
    return state, np.stack(multipliers, axis=-1) if multipliers else np.zeros((*multiplier_times.shape, 0))


def _march(plan, mesh, z0):
    """All dofs of a march, and its status."""
    system, t0 = plan.system, mesh.nodes[0]
    how = Scaling.of("full", system, plan.element, t0, z0), _ROUGH
    start = plan, mesh, z0, system.consistent_multipliers(t0, z0)
    with contextlib.suppress(NotCompiled):
        return march(*start, *how, Run(compiles=False, chunk=FIRST_CHUNK))[::2]
    x = _short_march(*start, *how)
    return march(*start, *how, Run(chunk=FIRST_CHUNK))[::2] if x is None else (x, Status(True))


def _short_march(plan, mesh, z, multipliers, scaling, settings):
    """All dofs of a march by what global solves compile, too, 0.3 ms a step; to compile the loop of marches takes 5 s.

    None where it fails, or is not short.
    """
    n, step = plan.columns.n_node, plan.columns.step
    if mesh.n_elements * step > SHORT:
        return None
    x, equations = np.zeros(n + mesh.n_elements * step), ElementEquations(plan, mesh.part(0, 1), scaling)
    equations.condition_known = True
    for e in range(mesh.n_elements):
        part, own = mesh.part(e, e + 1), x[e * step:(e + 1) * step + n]
        equations.place(part, e)
        known = n if e else 0  # dofs of the node that the element before has found
        own[known:] = plan.first_element(part, z, multipliers)[known:]
        own[:], status = newton(equations, own, settings, scaling.reference)
        if not status.success:
            return None
        state, multipliers, _ = plan.unpack(own)
        z, multipliers = state[-1, -1], multipliers[-1, -1]
    return x


@lru_cache(maxsize=1)
def _guess_plan(system):
    """Plan of the guess; the windows of a solve share it."""
    return ElementPlan(system, MixedGalerkin(DEGREE, form="hamilton" if has_inverse_mass(system) else "energy"))


def _relative_rate(system, t, z):
    """Size of zdot over size of z, mass-weighted [1/s]."""
    gradient, jacobian, _ = system.derivatives(t, z)
    gradient = gradient + jacobian.T @ system.consistent_multipliers(t, z)
    n, size = system.n_q, system.state_scale
    rate = np.concatenate([gradient[n:], -gradient[:n]]) / size
    return np.abs(rate).max() / (np.abs(z / size).max() or 1.0)
