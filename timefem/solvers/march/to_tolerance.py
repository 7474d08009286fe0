"""Step-size control: a march on a mesh that is found for a given accuracy."""

import time

import numpy as np

from ... import interrupts
from ...assembly import TimeMesh
from ...progress import progress
from ...status import Reason, Status
from ..equations.outcome import Outcome, ValuesOfDofs
from .pilot import Pilot


def solve_adaptively(problem, element, control, settings, scaling="full", show=None, look=None):
    """Solve an initial-value problem on a mesh that is found for a given accuracy.

    A pilot march by pairs of equal elements, with a looser tolerance, finds where elements are to be short: it keeps
    the density of the local error in time constant. A march with its pairs joined gives the error of the pilot, with
    all that local errors have grown to. Both tell by how many equal elements each pair is to be replaced for the
    error asked for, with elements of order p (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I,
    II.4). The result of that march gives the error of the pilot anew, and hence its own; where that is too large, all
    is marched again, on a finer mesh.

    Parameters
    ----------
    problem : InitialValueProblem
    element : TimeElement
        That can be marched.
    control : StepControl
    settings : Newton
    scaling : str
    show : bool or None
        Show a progress bar.
    look : callable, optional
        As of `Run`: marches that found another solution than the one that is meant are not accurate.

    Returns
    -------
    mesh : TimeMesh
        Also after a failure of the whole time span: its first elements were solved.
    outcome : Outcome
    statistics : dict
        "rejected": pairs of the pilot tried again, for their error or since Newton's method failed; "estimated_error"
        of the solution, relative to the size of the motion; "pilot_elements"; "meshes", the numbers of elements of the
        marches that followed.
    """
    begin = time.perf_counter()
    pilot, o, t_span = Pilot(problem, element, control, settings, scaling, look), control.options, problem.t_span
    with progress("adaptive march", show=show):
        span = t_span[1] - t_span[0]
        density = min(o.looser * control.tolerance, o.coarsest) / span
        while True:
            coarse = found = pilot.march(density)
            error = pilot.error(coarse, density) if coarse.status.success and not pilot.strays(coarse) else np.inf
            if interrupts.asked():
                if coarse.status.success:
                    coarse.status = Status.failure(Reason.STOPPED, coarse.n_solved, coarse.nodes[-1], [])
                break
            if error <= max(o.in_proportion, control.tolerance) or density * span <= 1e-2 * control.tolerance:
                break
            density /= 10
        meshes = []
        if coarse.status.success:
            found, error, meshes = _refined(pilot, coarse, error, element.order, control.tolerance, show)
    mesh = TimeMesh(found.nodes)
    values = ValuesOfDofs(pilot.plan, found.x, found.n_solved)
    seconds = time.perf_counter() - begin
    outcome = Outcome(values, found.status, found.iterations, pilot.plan.rows.n_interior,
                      {"solve": seconds, "total": seconds})
    rejected = {"error": int(coarse.counts[0]), "newton": int(coarse.counts[1])}
    return mesh, outcome, {"rejected": rejected, "estimated_error": float(error), "pilot_elements": coarse.n_solved,
                           "meshes": meshes}


def _refined(pilot, coarse, error, order, tolerance, show):
    """The march on the mesh that is fine enough, its error, and the numbers of elements of all meshes.

    `error` is that of the pilot march `coarse`; a mesh that leaves the part r of it has the error r `error`.
    """
    shares = np.maximum(coarse.errors, 1e-3 * coarse.errors.mean())
    shares = shares / shares.sum() if shares.any() else np.full(len(shares), 1 / len(shares))
    o, ends, before, part_before = pilot.options, coarse.nodes[::2], coarse, 1.0
    meshes, error, largest = [], max(error, 1e-16) if np.isfinite(error) else 1.0, np.inf
    events = pilot.events(coarse)
    while True:
        counts, part = _counts(shares, o.aim * tolerance / error, order, o.most_count)
        if counts.sum() > o.most_elements:
            return _failed_at_count(coarse, counts), part * error, meshes
        with progress(f"march of {counts.sum()} elements", 100, show) as bar:
            bar.advance(0)
            found, ends = pilot.march_refined(ends, counts, events, bar.advance)
        meshes.append(len(found.nodes) - 1)
        if found.status.success and not pilot.strays(found):
            states = pilot.states(found)[np.cumsum(counts) - 1]
            if part < 0.5 * part_before:  # their difference is the error of the one before
                difference = pilot.relative(pilot.states_at(before, ends[1:]) - states, states)
                error, last = difference.max() / (part_before - part), largest
                largest = difference.max()
                if largest > max(o.stalled * last, 10 * tolerance) and _jumps(difference, o):
                    return _failed_at_jump(found, ends, counts, difference), part * error, meshes
            if part * error <= tolerance:
                break
            before, part_before = found, part
        elif found.status.reason in (Reason.STEP_TOO_SMALL, Reason.STOPPED):
            break
        else:  # Newton's method failed, or came to another solution
            error *= 4
        if len(meshes) == o.most_meshes:
            break
    if found.status.success and not part * error <= tolerance:
        found.status = Status.failure(Reason.NOT_ACCURATE, found.n_solved - 1, found.nodes[-2], [],
                                      f"the estimated error is {part * error:.2g} on {meshes[-1]} elements")
    return found, part * error, meshes


def _jumps(difference, options):
    """Whether the difference of two marches comes from one pair, which no mesh resolves, and not little by little."""
    first = int(np.argmax(difference > 0.1 * difference.max()))
    return first == 0 or difference[first - 1] < options.abrupt * difference[first]


def _failed_at_count(pilot_march, counts):
    """The pilot march up to the pair in whose place most elements are needed."""
    pair = int(np.argmax(counts))
    found, e = pilot_march, 2 * pair
    start, stop = found.nodes[e], found.nodes[e + 2]
    found.n_solved, found.status = e, Status.failure(
        Reason.STEP_TOO_SMALL, e, start, [], f"{counts[pair]:.2g} elements would be needed from t = {start:.6g} to "
                                             f"{stop:.6g}, and {counts.sum():.2g} in all")
    found.iterations, found.nodes = found.iterations[:e], np.append(found.nodes[:e + 1], found.nodes[-1])
    return found


def _failed_at_jump(found, ends, counts, difference):
    """The march up to the pair from which on finer meshes do not agree."""
    pair = int(np.argmax(difference > 0.1 * difference.max()))
    start, stop = ends[pair:pair + 2]
    e = found.n_solved = int(counts[:pair].sum())
    found.status = Status.failure(Reason.STEP_TOO_SMALL, e, start, [],
                                  f"finer and finer elements do not agree from t = {start:.6g} to {stop:.6g}: elements "
                                  f"of {(stop - start) / counts[pair]:.2g} s there change the motion by "
                                  f"{difference.max():.2g} of its size")
    found.iterations, found.nodes = found.iterations[:e], np.append(found.nodes[:e + 1], found.nodes[-1])
    return found


def _counts(shares, goal, order, most):
    """Numbers of elements in place of each pair that leave at most the part `goal` of the error, and what they leave.

    Parameters
    ----------
    shares : ndarray, shape (n_pairs,)
        Parts of the error that are due to each pair, with two elements.
    goal : float
    order : int
    most : float
        Of one pair.
    """
    density = shares ** (1 / (order + 1))
    density /= density.max()

    def counted(log):
        counts = np.maximum(np.rint(np.exp(log) * density), 2)
        return counts.astype(int), (shares * (2 / counts) ** order).sum()

    low, high = 0.0, np.log(most)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if counted(middle)[1] <= goal else (middle, high)
    return counted(low if counted(low)[1] <= goal else high)
