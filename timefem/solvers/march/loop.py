"""The compiled marching loop: Newton's method on one time element after the other."""

import numpy as np

from ...elements.evaluation.points_in_lanes import (
    StepPlan,
    begin_step,
    evaluate_step,
    finish_step,
    step_scratch,
)
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ..linear.element.code import DONE, NOT_CONVERGED, NOT_FINITE, SINGULAR
from ..linear.element.fronts import Fronts, factor, factors_for, solve
from ..nonlinear.newton import PATIENCE, ROUNDING

EXTRAPOLATION_DEGREE = 3  # at least: the higher, the fewer Newton iterations
CLOSE = 1e-4  # of the tolerances: with factors kept, the last error is no square of the one before
SLOW = 0.5  # least reduction of the residual
CLEAR = 0.1  # reduction from which on the next one is known: if it fails, that is round-off
NOTHING_KEPT = -1.0, 0.0, 0.0, 0.0  # see `solve_element`
MOST_ITERATIONS = 6  # with old factors: new ones, and two iterations, cost as much (4 to 10 make little difference)
FORGET = 0.9  # of what is known of old factors, per element that is solved without them
LASTS = 0.95  # of the residual that rounding leaves, per element that does not come to it
SURE = 1e3  # times what kept factors are expected to leave: energy is kept to rounding


class Loop(Record):
    """What the loop takes besides the mesh and the dofs.

    Of the core, the unknowns of Newton's method, `continuous` are the dofs of the fields with values at the nodes;
    `owned` those of the other fields, which start from `owned_last` of the element before.
    """

    step: StepPlan
    fronts: Fronts
    sizes: np.ndarray  # of the core unknowns of an element of length 1
    size_powers: np.ndarray  # of its length
    weights: np.ndarray  # of the core rows likewise
    weight_powers: np.ndarray
    emphasis: np.ndarray  # of the core unknowns, factors by which their increments count; none where all count alike
    state: np.ndarray  # of the core unknowns, 1 for coordinates and momenta, 0 for others
    n_node: int
    core: np.ndarray  # dofs of the core unknowns, those that are not explicit
    points: np.ndarray  # nodes of the state in [0, 1]
    continuous: np.ndarray  # (n_shapes, n_components)
    owned: np.ndarray
    owned_last: np.ndarray


class Work(Record):
    """What the loop works on: see `work`."""

    matrix: np.ndarray  # tangent, then its factors
    factors: Record
    kept: np.ndarray  # see `solve_element`
    dx: np.ndarray
    scratch: Record
    residual: np.ndarray
    trial: np.ndarray
    per_size: np.ndarray
    rs: np.ndarray
    sources: np.ndarray
    extrapolation: np.ndarray
    known: np.ndarray  # lengths that the extrapolation is for
    back: np.ndarray  # (1,) and the number of elements that it goes back
    times: np.ndarray


def work(loop):
    """The `Work` for a `Loop`."""
    n, degree = len(loop.core), len(loop.points) - 1
    most_back = (EXTRAPOLATION_DEGREE + degree - 1) // degree
    n_sources = most_back * degree + 1
    return Work(aligned(loop.fronts.size), factors_for(loop.fronts), np.array(NOTHING_KEPT), np.zeros(n),
                step_scratch(loop.step), np.zeros(n + len(loop.step.explicit)), np.zeros(loop.step.plan.n_columns),
                np.zeros(n), np.zeros(n), np.zeros((2, n_sources), np.int64), np.zeros((degree + 1, n_sources)),
                np.full(most_back + 1, -1.0), np.zeros(1, np.int64), np.zeros(n_sources))


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_elements(loop, one, work, x, t, h, start, stop, tol_residual, tol_increment, max_iterations, line_search,
                   keep, iterations, history):
    """Solve elements start, ..., stop - 1 in place in `x` (all dofs in time order).

    `one` is that of the step; with `keep` factors are kept as long as they are of use, but for systems whose light
    bodies converge apart from the others.

    The guess extrapolates a polynomial through the nodes of the elements before, at least cubic; where Newton fails
    from there, the element is tried again without kept factors, and then from a constant state. Newton stops when the
    scaled residual and the last scaled increment fall below their tolerances, or when round-off stops the residual
    from falling.

    Returns
    -------
    element, status : int
        `stop, DONE`, or the element that failed and why; `history` then holds its residuals.
    """
    continuous, owned, owned_last, n_node = loop.continuous, loop.owned, loop.owned_last, loop.n_node
    n_shapes, n_z = continuous.shape
    n = loop.step.plan.n_columns - n_node  # dofs from one element to the next
    shift, shape = work.sources[0], work.sources[1]
    extrapolation, known = work.extrapolation, work.known
    degree, most_back, last_back, scaled_for = n_shapes - 1, known.shape[0] - 1, work.back[0], -1.0
    for e in range(start, stop):
        local = x[e * n:e * n + n_node + n]
        if not abs(h[e] - scaled_for) <= 1e-9 * scaled_for:  # the lengths of a uniform mesh differ by rounding
            scaled_for = h[e]
            set_scales(loop, work, h[e])
        status, n_done = NOT_CONVERGED, 0
        for attempt in range(0 if keep and not loop.emphasis.shape[0] else 1, 3):
            if attempt < 2 and e > 0:
                back = min(e, most_back)
                n_sources = back * degree + 1
                same = back == last_back
                for m in range(back + 1):
                    same = same and abs(h[e - m] - known[m]) <= 1e-12 * known[m]
                if not same:
                    last_back = work.back[0] = back
                    for s in range(n_sources - 1):
                        shift[s], shape[s] = (s // degree - back) * n, s % degree
                    shift[n_sources - 1], shape[n_sources - 1] = -n, degree
                    for m in range(back + 1):
                        known[m] = h[e - m]
                    _extrapolation(loop.points, known, back, work.times, extrapolation)
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        value = 0.0
                        for s in range(n_sources):
                            value += extrapolation[j, s] * x[e * n + shift[s] + continuous[shape[s], c]]
                        local[continuous[j, c]] = value
                if e >= 4 and same and last_back == most_back:  # equal lengths: a cubic as well
                    for c in range(owned.shape[0]):
                        p = e * n + owned_last[c]
                        local[owned[c]] = 4.0 * (x[p - n] + x[p - 3 * n]) - 6.0 * x[p - 2 * n] - x[p - 4 * n]
                else:
                    for c in range(owned.shape[0]):
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
            elif e == 0 and attempt == 2:
                break  # the first guess was constant already
            else:
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        local[continuous[j, c]] = local[continuous[0, c]]
                if e > 0:
                    for c in range(owned.shape[0]):
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
            status, n_done = solve_element(loop, one, work, local, t[e], h[e], tol_residual, tol_increment,
                                           max_iterations, line_search, attempt == 0, history)
            iterations[e] = n_done
            if status == DONE:
                break
        if status != DONE:
            return e, status
    return stop, DONE


@compiled(error_model="numpy", _nrt=False)
def set_scales(loop, work, h):
    """Scales of the core unknowns and rows of an element of length h, in `work.per_size` and `work.rs`."""
    for c in range(loop.core.shape[0]):
        work.per_size[c] = 1.0 / (loop.sizes[c] * h ** loop.size_powers[c])
        work.rs[c] = loop.weights[c] * h ** loop.weight_powers[c]


@compiled(error_model="numpy", _nrt=False)
def _extrapolation(points, lengths, back, times, matrix):
    """matrix[j, s]: Lagrange polynomial of source node s, of all elements but the last, at node j of the last.

    `lengths` of the last element, and of those before it, the latest first.
    """
    degree = len(points) - 1
    n, start = back * degree + 1, 0.0
    for m in range(back):
        length = lengths[back - m]
        for i in range(degree):
            times[m * degree + i] = start + points[i] * length
        start += length
    times[n - 1] = start
    for j in range(len(points)):
        target = start + points[j] * lengths[0]
        for s in range(n):
            value = 1.0
            for m in range(n):
                if m != s:
                    value *= (target - times[m]) / (times[s] - times[m])
            matrix[j, s] = value


@compiled(error_model="numpy", _nrt=False)
def _scaled_norm(values, scale):
    norm = 0.0
    for i in range(scale.shape[0]):
        v = abs(values[i] * scale[i])
        if not v <= norm:
            norm = v
            if np.isnan(v):
                break
    return norm


@compiled(error_model="numpy", _nrt=False)
def _scaled_size(local, core, per_size):
    size = 0.0
    for c in range(core.shape[0]):
        size = max(size, abs(local[core[c]]) * per_size[c])
    return size


@compiled(error_model="numpy", _nrt=False)
def _too_slow(norm, rate, target):
    """Whether a residual that falls by `rate` takes so long from `norm` to `target` that new factors are cheaper."""
    return rate >= SLOW or (rate > 0.0 and np.log(norm / target) > -np.log(rate) * MOST_ITERATIONS)


@compiled(error_model="numpy", _nrt=False)
def solve_element(loop, one, work, local, t, h, tol_residual, tol_increment, max_iterations, line_search, keep,
                  history):
    """Newton's method on one element, in place in its dofs `local`; returns a status and the number of iterations.

    With `keep` it takes the factors that are there, also those of elements before, as long as the residual falls fast
    enough that new ones are not worth their cost, and goes on to a smaller residual. Without, each iterate is factored.
    The scales are those of `set_scales`. The number is negative where the state has settled and the residual is
    rounding, but other unknowns go on moving: near singular positions multipliers are not determined.

    `work.kept` has the length of the element that was factored (-1: none), the elements since then, and by how much
    more the residual is left, per iteration, with each element since then: factors of a smooth motion age evenly; and
    the residual that rounding was seen to leave, below which nothing is to be gained.
    """
    step, core, scratch, matrix, residual = loop.step, loop.core, work.scratch, work.matrix, work.residual
    trial, dx, per_size, rs, kept = work.trial, work.dx, work.per_size, work.rs, work.kept
    n, rate, close, newton = core.shape[0], 0.0, CLOSE * tol_residual, False
    size, length, norm, own, floor, increment = 0.0, 0.0, np.inf, 0.0, kept[3], 0.0
    history[:] = np.nan
    for c in range(trial.shape[0]):
        trial[c] = local[c]
    begin_step(step, one, local, t, h, scratch)
    derived = not keep or kept[0] <= 0.0  # whether the tangent of the iterate is there
    kept[1] += 1.0
    it, moved = 0, False
    while True:  # with one call of what takes long to compile
        evaluate_step(step, one, trial, t, h, scratch, residual, matrix, derived)
        new = _scaled_norm(residual, rs)
        if moved:
            if line_search and length > 2e-3 and new > max((1.0 - 1e-4 * length) * norm, tol_residual):
                length *= 0.5
                derived = not keep and length * size > tol_increment
                _move(trial, local, core, length, dx)
                continue
            history[it] = new
            before, increment = increment, length * size
            enough, left = tol_increment if newton else CLOSE * tol_increment, increment
            if not newton and 0.0 < increment <= CLEAR * before:
                left *= SURE * increment / (before - increment)
            stalled = not new < 0.5 * norm
            if stalled and norm <= floor:  # nothing but rounding in both residuals
                enough = tol_increment
            small = left <= enough or increment <= ROUNDING * _scaled_size(trial, core, per_size)
            if not (newton or increment <= tol_increment or new <= norm):  # too old factors: back, with new ones
                derived, moved, rate = True, False, 1.0
                _move(trial, local, core, 0.0, dx)
                continue
            for c in range(n):
                local[core[c]] = trial[core[c]]
            if newton:
                done = new <= tol_residual or stalled
            else:
                done = new <= max(close, floor) or (stalled and (new <= tol_residual or 0.0 < rate <= CLEAR))
            if loop.emphasis.shape[0]:
                own, own_before = 0.0, own if it > 1 else np.inf
                for c in range(n):
                    own = max(own, length * abs(dx[c]) * per_size[c] * loop.emphasis[c])
                done = done and (own <= tol_increment or own >= 0.5 * own_before or it == max_iterations)
            if done and small and np.isfinite(new):
                if kept[1] > 0.0:
                    kept[2] = rate / kept[1]
                kept[3] = max(LASTS * floor, new) if stalled else LASTS * floor
                finish_step(step, one, local, scratch, residual)
                return DONE, it
            if newton and it >= PATIENCE and new <= tol_residual:
                still = 0.0
                for c in range(n):
                    still = max(still, length * abs(dx[c]) * per_size[c] * loop.state[c])
                if still <= tol_increment:
                    finish_step(step, one, local, scratch, residual)
                    return DONE, -it
            rate, norm = max(rate, new / norm) if new > floor else rate, new
            slow = not keep or _too_slow(norm, rate, max(close, floor))
        else:
            history[it] = norm = new
            slow = not derived and _too_slow(norm, max(kept[1] * kept[2], abs(h / kept[0] - 1.0)),
                                              max(close, floor))
            if slow:
                kept[2] *= FORGET
        if not np.isfinite(norm):
            kept[0] = -1.0
            return NOT_FINITE, it
        if it == max_iterations:
            return NOT_CONVERGED, it
        if slow and not derived:
            derived, moved = True, False
            continue
        newton = derived
        if derived:
            if rate > 0.0 and kept[1] > 0.0:
                kept[2] = rate / kept[1]
            rate, kept[0], kept[1] = 0.0, -1.0, 0.0
            if not factor(loop.fronts, matrix, rs, work.factors):
                return SINGULAR, it
            kept[0] = h
        solve(loop.fronts, matrix, work.factors, residual, dx)
        it, moved, length, size = it + 1, True, 1.0, _scaled_norm(dx, per_size)
        derived = not keep and size > tol_increment  # then it is not likely the last
        _move(trial, local, core, length, dx)


@compiled(error_model="numpy", _nrt=False)
def _move(trial, local, core, length, dx):
    for c in range(core.shape[0]):
        trial[core[c]] = local[core[c]] - length * dx[c]
