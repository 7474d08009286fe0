"""The compiled loop of the adaptive march: pairs of equal elements, accepted or tried again with another length."""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ..linear.element.fronts import DONE, PAUSE, ROOM, TOO_SMALL
from .loop import march_elements, set_scales, solve_element
from .motion import Motion, enlarge, relative_error, set_sizes, take

SAFETY, SHRINK, GROW = 0.9, 0.2, 4.0
ENOUGH = 0.1  # an increment d, relative to the motion, leaves an error of about d^2
SHORTEST = 1e-5  # of the time span: a pair may have the error allowed for this length, for motions from rest


class Estimate(Record):
    """How the error of a pair of elements is found.

    With `own` it is the sum of a field of the element. Without, the pair is compared with one element of twice the
    length: entry k of its first iterate is `factors[k]` times dof `sources[k]` of the pair, added to `targets[k]`.
    """

    own: np.ndarray  # (n_z,) or (0,) dofs of the error
    targets: np.ndarray
    sources: np.ndarray
    factors: np.ndarray
    good_guess: bool  # nothing but a state and multipliers, which the pair gives to the order of the element
    right: np.ndarray  # (n_z,) dofs of the state at the end of an element
    components: np.ndarray  # of the core unknowns, places in `(q, p, v)`, or -1; none if there are none of the state
    factor: float  # from the difference to the error
    order: int  # the error per unit of time falls with this power of the length


class PilotArrays(Record):
    """What `adapt_elements` takes and gives besides the march."""

    first: np.ndarray  # copy of the dofs of the first element
    tolerances: np.ndarray  # (2,) of the march
    reference: float  # what that of the residual counts in
    errors: np.ndarray  # of the pairs, relative to the motion, result
    estimate: Estimate
    motion: Motion
    attempt: Motion  # scratch
    breaks: np.ndarray  # times at which pairs end
    density: float  # error of a pair over its length, at most
    least: float  # length of a pair [s], at least
    most: float
    control: np.ndarray  # (2,) length of the next pair, and error of the last one over the allowed error; updated
    counts: np.ndarray  # (2,) of int, pairs rejected for their error, and for Newton's method; updated
    double: np.ndarray  # dofs of an element, scratch as the following
    error: np.ndarray  # (n_z,)
    before: np.ndarray
    after: np.ndarray


@compiled(error_model="numpy", _nrt=False)
def _in_steps(change):
    """A change of a length in steps of 2 per cent, so that rounding in an error has no say in the mesh."""
    return 2.0 ** (np.floor(32.0 * np.log2(change)) / 32.0)


@compiled(error_model="numpy", _nrt=False)
def adapt_elements(march, pilot, e, n_pairs):
    """Solve pairs of elements from element e on, in place in the arrays of a march, to the last of the breaks.

    A pair is accepted when its error, relative to the motion so far, is below the density times its length. The next
    length comes from a PI controller. Pairs end at all breaks; after `n_pairs` the loop pauses. Newton's method stops
    when what it leaves is small against that error: the mesh is the result.

    Parameters
    ----------
    march : MarchArrays
        Whose starts of elements end with the end of the last one; sizes of its unknowns are set by the motion.
    pilot : PilotArrays

    Returns
    -------
    element, code : int
        Elements solved, and DONE, PAUSE, ROOM (x is full), or TOO_SMALL (the least length is reached).
    """
    loop, work, x, nodes, lengths = march.loop, march.work, march.x, march.t, march.h
    estimate, motion, attempt = pilot.estimate, pilot.motion, pilot.attempt
    breaks, control = pilot.breaks, pilot.control
    double, error, before, after = pilot.double, pilot.error, pilot.before, pilot.after
    tol_residual, tol_increment = pilot.tolerances[0], pilot.tolerances[1]
    n, n_z = loop.step.plan.n_columns - loop.n_node, estimate.right.shape[0]
    end = breaks[-1]
    duration = end - nodes[0]
    at_break, stop = 0, e + 2 * n_pairs
    while nodes[e] < end:
        if e >= stop:
            return e, PAUSE
        if e + 2 > lengths.shape[0]:
            return e, ROOM
        t = nodes[e]
        while breaks[at_break] <= t:
            at_break += 1
        left = breaks[at_break] - t
        wanted = min(control[0], pilot.most)
        h = wanted
        if h > 0.999 * left:
            h = left
        elif h > 0.5 * left:
            h = 0.5 * left
        nodes[e + 1], nodes[e + 2] = t + 0.5 * h, breaks[at_break] if h == left else t + h
        lengths[e], lengths[e + 1] = nodes[e + 1] - t, nodes[e + 2] - nodes[e + 1]
        # Newton's method knows no errors below its tolerance
        limit = max(pilot.density * max(h, SHORTEST * duration), tol_residual / pilot.reference)
        if e == 0:
            for i in range(pilot.first.shape[0]):
                x[i] = pilot.first[i]
        for i in range(n_z):
            before[i] = x[e * n + estimate.right[i] - n]
        small = tol_increment
        if estimate.components.shape[0] and set_sizes(motion, estimate.components, before, h, duration, loop.sizes,
                                                      loop.emphasis):
            small = max(small, ENOUGH * np.sqrt(limit))
        march.tolerances[0], march.tolerances[1] = tol_residual if march.line_search else 1e300, small
        _, code, _ = march_elements(march, e, e + 2)
        ratio = np.inf
        if code == DONE:
            local = x[e * n:]
            for i in range(n_z):
                after[i] = local[n + estimate.right[i]]
            if estimate.own.shape[0]:
                for i in range(n_z):
                    error[i] = local[estimate.own[i]] + local[n + estimate.own[i]]
            else:
                double[:] = 0.0
                for k in range(estimate.targets.shape[0]):
                    double[estimate.targets[k]] += estimate.factors[k] * local[estimate.sources[k]]
                set_scales(loop, work, h)
                code, _ = solve_element(march, double, t, h, 1e300, 1e300 if estimate.good_guess else small, False,
                                        False)
                for i in range(n_z):
                    error[i] = (after[i] - double[estimate.right[i]]) if code == DONE else np.inf
            take(attempt, motion)
            enlarge(attempt, before, after, h)
            ratio = estimate.factor * relative_error(attempt, error, after, duration, SHORTEST * duration) / limit
        if ratio <= 1.0:
            take(motion, attempt)
            pilot.errors[e // 2] = ratio * limit
            ratio = max(ratio, 1e-8)
            change = _in_steps(SAFETY * ratio ** (-0.7 / estimate.order) * control[1] ** (0.4 / estimate.order))
            control[0] = h * min(max(change, SHRINK), GROW)
            if h < wanted and ratio < 1.0:  # it was cut short
                control[0] = max(control[0], wanted)
            control[1] = ratio if change < GROW else 1.0  # so small an error may be rounding
            e += 2
            continue
        if code == DONE and np.isfinite(ratio):
            pilot.counts[0] += 1
            control[0] = h * max(SHRINK, _in_steps(SAFETY * ratio ** (-1.0 / estimate.order)))
        else:
            pilot.counts[1] += 1
            control[0] = 0.25 * h
        control[1] = 1.0
        if control[0] < pilot.least:
            return e, TOO_SMALL
    return e, DONE
