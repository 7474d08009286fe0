"""The compiled marching loop: one time element after the other, each by Newton's method from a polynomial through those
before, with factors that are kept from elements before while they serve."""

import numpy as np

from ...elements.evaluation.points_in_lanes import StepPlan, begin_step, evaluate_step, finish_step, step_scratch
from ...elements.evaluation.whole_element import WholeSystem
from ...kernels.lanes import LANES, add_lanes, call_kernel, copy_lanes, largest_lane, next_difference
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ..linear.element.fronts import DONE, NOT_CONVERGED, NOT_FINITE, SINGULAR, Fronts, factor, factors_for, solve
from ..linear.element.unrolled import Unrolled, factor_unrolled, solve_unrolled
from ..nonlinear.newton import PATIENCE, ROUNDING

CLOSE = 1e-4  # of the tolerances: with factors kept, the last error is no square of the one before
SLOW = 0.5  # least reduction of the residual
CLEAR = 0.1  # reduction from which on the next one is known: if it fails, that is round-off
NOTHING_KEPT = -1.0, 0.0, 0.0, 0.0, 0.0, 0.0  # see `solve_element`
MANY = 64  # unknowns: from so many on 8 iterations with old factors cost as much as new ones and one or two; below it 4
FORGET = 0.9  # of what is known of old factors, per element that is solved without them
LASTS = 0.95  # of the residual that rounding leaves, per element that does not come to it
SURE = 1e3  # times what kept factors are expected to leave: energy is kept to rounding
UNSEEN = 0.02  # of that: what old factors leave has the same sign in all elements, and adds up
ROUGH = 2.0  # of the residual that rounding leaves: it differs by so much from one element to the next


@compiled(error_model="numpy", _nrt=False)
def set_scales(loop, work, h):
    """Scales of the core unknowns and rows of an element of length h, in `work.per_size` and `work.rs`."""
    for c in range(loop.core.shape[0]):
        work.per_size[c] = 1.0 / (loop.sizes[c] * h ** loop.size_powers[c])
        work.rs[c] = loop.weights[c] * h ** loop.weight_powers[c]


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
def _largest_of(dx, per_size, factors):
    """Largest scaled entry of an increment, each with a factor of its own."""
    largest = 0.0
    for c in range(factors.shape[0]):
        largest = max(largest, abs(dx[c]) * per_size[c] * factors[c])
    return largest


@compiled(error_model="numpy", _nrt=False)
def _too_slow(n, norm, rate, target):
    """Whether a residual of n unknowns that falls by `rate` takes so long from `norm` to `target` that new factors are
    cheaper."""
    falls = rate * rate * (rate * rate)
    return rate >= SLOW or norm * (falls * falls if n >= MANY else falls) > target


@compiled(error_model="numpy", _nrt=False)
def _begin(loop, work, local, t, h):
    """Start from the dofs of an element: what stays the same in it is found once."""
    plan, trial = loop.step.plan, work.trial
    given, whole = plan.n_columns, loop.whole
    for c in range(given):
        trial[c] = local[c]
    if whole.both == 0:
        begin_step(loop.step, loop.step.one, local, t, h, work.scratch)
    else:
        trial[given], trial[given + 1] = t, h
        for i in range(whole.n_parameters):
            trial[given + 2 + i] = plan.parameters[i]


@compiled(error_model="numpy", _nrt=False)
def _factor(loop, work):
    """Factors of the tangent, unrolled where these are good; False where it is singular."""
    unrolled, matrix, is_unrolled = loop.unrolled, work.matrix, loop.unrolled.factor != 0
    work.kept[5] = 1.0 if is_unrolled and factor_unrolled(unrolled, work.numbers) else 0.0
    if work.kept[5] == 1.0:
        return True
    if is_unrolled:
        matrix[:] = 0.0
        for k in range(unrolled.n_entries):
            matrix[unrolled.targets[k]] = work.entries[k]
    return factor(loop.fronts, matrix, work.rs, work.factors)


@compiled(error_model="numpy", _nrt=False)
def solve_element(march, local, t, h, tol_residual, tol_increment, line_search, keep):
    """Newton's method on one element, in place in its dofs `local`; returns a status and the number of iterations.

    Of `MarchArrays` it takes neither the mesh nor the dofs and tolerances.
    With `keep` it takes the factors that are there, also those of elements before, as long as the residual falls fast
    enough that new ones are not worth their cost, and goes on to a smaller residual. Without, each iterate is factored.
    The scales are those of `set_scales`. The number is negative where the state has settled and the residual is
    rounding, but other unknowns go on moving: near singular positions multipliers are not determined.

    `work.kept` has the length of the element that was factored (-1: none), the elements since then, and by how much
    more the residual is left, per iteration, with each element since then: factors of a smooth motion age evenly; the
    residual that rounding was seen to leave, below which nothing is to be gained; the first residual of the element
    before, by which is known whether the tangent will be needed at once; and whether the factors are unrolled ones.
    """
    loop, work, history = march.loop, march.work, march.history  # at most three: Numba makes a tuple of more
    step, core, max_iterations = loop.step, loop.core, march.max_iterations
    scratch, residual = work.scratch, work.residual
    trial, dx, kept = work.trial, work.dx, work.kept
    per_size, rs, n = work.per_size, work.rs, core.shape[0]
    rate, size, length = 0.0, 0.0, 0.0
    norm, own, increment = np.inf, 0.0, 0.0
    close, floor, newton = CLOSE * tol_residual, kept[3], False
    history[:] = np.nan
    whole = loop.whole
    _begin(loop, work, local, t, h)
    kept[1] += 1.0
    below = max(close, ROUGH * floor)
    resized = abs(h / kept[0] - 1.0)
    aged = max(kept[1] * kept[2], resized)  # what factors that are there leave of a residual
    # whether the tangent of the iterate is there
    derived = not keep or kept[0] <= 0.0 or _too_slow(n, kept[4], aged, below)
    if derived and kept[0] > 0.0:
        kept[2] *= FORGET
    it, moved = 0, False
    while True:  # with one call of what takes long to compile
        if whole.both == 0:
            evaluate_step(step, step.one, trial, (t, h), scratch, residual, work.entries, derived)
        else:
            call_kernel(whole.both if derived else whole.residual, trial, 0, work.numbers, 0)
        new = _scaled_norm(residual, rs)
        if moved:
            worse = not np.isfinite(new) or (line_search and new > max((1.0 - 1e-4 * length) * norm, tol_residual))
            if worse and length > 2e-3:
                length *= 0.5
                derived = not keep and length * size > tol_increment
                _move(trial, local, core, length, dx)
                continue
            history[it] = new
            before, increment = increment, length * size
            enough, left = tol_increment if newton else CLOSE * tol_increment, increment
            if not newton and 0.0 < increment <= CLEAR * before:
                left *= SURE * increment / (before - increment)
            stalled = not new < 0.5 * norm  # by rounding, where factors are new
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
                done = new <= below and (norm <= below or norm * aged <= UNSEEN * below)
            if loop.emphasis.shape[0]:
                own_before = own if it > 1 else np.inf
                own = length * _largest_of(dx, per_size, loop.emphasis)
                done = done and (own <= tol_increment or own >= 0.5 * own_before or it == max_iterations)
            if done and small and np.isfinite(new):
                if kept[1] > 0.0:
                    kept[2] = rate / kept[1]
                kept[3] = max(LASTS * floor, new) if newton and stalled else LASTS * floor
                finish_step(step, step.one, local, scratch, residual)
                return DONE, it
            if newton and it >= PATIENCE and new <= tol_residual and (
                    increment >= 0.5 * before or it == max_iterations):
                if length * _largest_of(dx, per_size, loop.state) <= tol_increment:
                    finish_step(step, step.one, local, scratch, residual)
                    return DONE, -it
            rate, norm = max(rate, new / norm) if new > floor else rate, new
            if kept[1] == 0.0 and aged == resized:  # what the factors of another length left says nothing of new ones
                aged = resized = rate
            slow = stalled or not keep or _too_slow(n, norm, rate, below)
        else:
            history[it] = kept[4] = norm = new
            slow = not derived and _too_slow(n, norm, aged, below)
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
            if not _factor(loop, work):
                return SINGULAR, it
            kept[0] = h
        if kept[5] == 1.0:
            solve_unrolled(loop.unrolled, work.numbers, dx)
        else:
            solve(loop.fronts, work.matrix, work.factors, residual, dx)
        it, moved, length, size = it + 1, True, 1.0, _scaled_norm(dx, per_size)
        derived = not keep and size > tol_increment  # then it is not likely the last
        _move(trial, local, core, length, dx)


@compiled(error_model="numpy", _nrt=False)
def _move(trial, local, core, length, dx):
    for c in range(core.shape[0]):
        trial[core[c]] = local[core[c]] - length * dx[c]


EXTRAPOLATION_DEGREE = 3  # at least, of polynomials through nodes: where elements differ in length, and at first
# Least and highest order of extrapolation through elements of equal length: the higher, the fewer Newton iterations,
# where motions are smooth; and elements from one choice of the order to the next
ORDERS = 4, 9, 4


class Loop(Record):
    """What the loop takes besides the mesh and the dofs.

    Of the core, the unknowns of Newton's method, `continuous` are the dofs of the fields with values at the nodes;
    `owned` those of the other fields, which start from `owned_last` of the element before.
    """

    step: StepPlan
    fronts: Fronts
    unrolled: Unrolled
    n_factors: int  # of these
    whole: WholeSystem
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
    numbers: np.ndarray  # residual, entries and factors, where the elimination is `unrolled`
    entries: np.ndarray  # where the tangent goes: a view of these, or the matrix
    kept: np.ndarray  # see `solve_element`
    dx: np.ndarray
    scratch: Record
    residual: np.ndarray
    trial: np.ndarray
    per_size: np.ndarray
    rs: np.ndarray
    sources: np.ndarray
    extrapolation: np.ndarray
    times: np.ndarray
    differences: np.ndarray  # see `_take_differences`
    carry: np.ndarray
    per_dof: np.ndarray  # `per_size` in the order of the dofs, zero for others
    series: np.ndarray  # elements of equal length in the differences, order to extrapolate by, and the next element


class MarchArrays(Record):
    """A march: elements, and how Newton's method solves them."""

    loop: Loop
    work: Work
    x: np.ndarray  # all dofs in time order
    t: np.ndarray  # starts of the elements
    h: np.ndarray  # their lengths
    tolerances: np.ndarray  # (2,) of the scaled residual, and of the last scaled increment
    max_iterations: int
    line_search: bool
    keep: bool  # factors, as long as they are useful, but for systems whose light bodies converge apart from the others
    iterations: np.ndarray  # of int, of each element
    history: np.ndarray  # (max_iterations + 1,) residuals of the last element


def work(loop):
    """The `Work` for a `Loop`."""
    n, degree = len(loop.core), len(loop.points) - 1
    most_back = (EXTRAPOLATION_DEGREE + degree - 1) // degree
    n_sources, n_columns = most_back * degree + 1, loop.step.plan.n_columns
    room = -(-(n_columns - loop.n_node) // LANES) * LANES  # whole vectors
    matrix, n_rows = aligned(loop.fronts.size), n + len(loop.step.explicit)
    numbers = aligned(n_rows + loop.unrolled.n_entries + loop.n_factors)
    entries = numbers[n:n + loop.unrolled.n_entries] if loop.unrolled.factor else matrix
    return Work(matrix, factors_for(loop.fronts), numbers, entries, np.array(NOTHING_KEPT), np.zeros(n),
                step_scratch(loop.step), numbers[:n_rows], np.zeros(n_columns + 2 + loop.whole.n_parameters),
                np.zeros(n), np.zeros(n), np.zeros((2, n_sources), np.int64), np.zeros((degree + 1, n_sources)),
                np.zeros(n_sources), aligned((ORDERS[1] + 1) * room), aligned(room), aligned(room),
                np.zeros(3, np.int64))


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_elements(march, start, stop):
    """Solve elements start, ..., stop - 1 in place in the dofs of `MarchArrays`.

    The guess of element 0 is in its dofs. That of others extrapolates the elements before, those of equal length each
    of its dofs on its own: what a dof is off the motion by is much the same in all. Else it is a polynomial through
    their nodes, at least cubic. Where Newton fails from there, the element is tried again without kept factors, and
    then from a constant state. Newton stops when the scaled residual and the last scaled increment fall below their
    tolerances, or when round-off stops the residual from falling.

    Returns
    -------
    element, status : int
        `stop, DONE`, or the element that failed and why; `march.history` then holds its residuals.
    left_open : bool
        Whether forces of constraints are not determined in one of them, which has a negative number of iterations.
    """
    loop, work, iterations = march.loop, march.work, march.iterations
    x, t, h = march.x, march.t, march.h
    continuous, owned, owned_last = loop.continuous, loop.owned, loop.owned_last
    n_shapes, n_z = continuous.shape
    n_node = loop.n_node
    n = loop.step.plan.n_columns - n_node  # dofs from one element to the next
    shift, shape, extrapolation = work.sources[0], work.sources[1], work.extrapolation
    degree, most_back = n_shapes - 1, (work.times.shape[0] - 1) // (n_shapes - 1)
    scaled_for, left_open, series = -1.0, False, work.series
    for e in range(start, stop):
        local = x[e * n:e * n + n_node + n]
        if not abs(h[e] - scaled_for) <= 1e-9 * scaled_for:  # the lengths of a uniform mesh differ by rounding
            scaled_for = h[e]
            set_scales(loop, work, h[e])
            for c in range(loop.core.shape[0]):
                work.per_dof[loop.core[c] - n_node] = work.per_size[c]
        if not (series[2] == e and e > 0 and abs(h[e] - h[e - 1]) <= 1e-9 * h[e]):
            series[0], series[1] = 0, ORDERS[0]
        status, n_done = NOT_CONVERGED, 0
        first = 0 if march.keep and not loop.emphasis.shape[0] else 1
        for attempt in range(first, 3):
            if e == 0 and attempt == first:
                pass  # the guess is given
            elif attempt < 2 and series[1] > ORDERS[0]:
                _extrapolate(work.differences, series[1], work.carry, local, n_node)
            elif attempt < 2 and e > 0:
                back = min(e, most_back)
                n_sources = back * degree + 1
                for s in range(n_sources - 1):
                    shift[s], shape[s] = (s // degree - back) * n, s % degree
                shift[n_sources - 1], shape[n_sources - 1] = -n, degree
                _extrapolation(loop.points, h, e, back, work.times, extrapolation)
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        value = 0.0
                        for s in range(n_sources):
                            value += extrapolation[j, s] * x[e * n + shift[s] + continuous[shape[s], c]]
                        local[continuous[j, c]] = value
                for c in range(owned.shape[0]):
                    if series[0] < ORDERS[0]:
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
                        continue
                    local[owned[c]] = 0.0
                    for k in range(ORDERS[0]):  # equal lengths: a cubic as well
                        local[owned[c]] += work.differences[k * work.carry.shape[0] + owned[c] - n_node]
            elif e == 0 and attempt == first + 2:
                break  # as the attempt before
            else:
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        local[continuous[j, c]] = local[continuous[0, c]]
                if e > 0:
                    for c in range(owned.shape[0]):
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
            status, n_done = solve_element(march, local, t[e], h[e], march.tolerances[0], march.tolerances[1],
                                           march.line_search != 0, attempt == 0)
            iterations[e] = n_done
            if status == DONE:
                break
        if status != DONE:
            return e, status, left_open
        left_open = left_open or n_done < 0
        _take_differences(work, local, n_node)
        series[2] = e + 1
    return stop, DONE, left_open


@compiled(error_model="numpy", _nrt=False)
def _take_differences(work, local, n_node):
    """Take an element into the backward differences of the dofs, `differences[k]` of order k.

    Order k extrapolates by the sum of those below k, and is off by difference k of the next element: that of the least
    ones is chosen. Where this is the least, the motion is not smooth in the elements.
    """
    differences, carry, series = work.differences, work.carry, work.series
    room = carry.shape[0]
    n = local.shape[0] - n_node
    for c in range(n):
        carry[c] = local[n_node + c]
    orders = min(series[0], ORDERS[1]) + 1  # that are known from now on
    for k in range(orders):
        for c in range(0, room, LANES):
            next_difference(differences, k * room + c, carry, c)
    series[0] += 1
    order = series[1]
    if series[0] <= ORDERS[1] or series[0] % ORDERS[2] == 0:
        least = np.inf
        for k in range(max(order - 1, ORDERS[0]), min(order + 2, orders)):
            size = 0.0
            for c in range(0, room, LANES):
                size = max(size, largest_lane(differences, k * room + c, work.per_dof, c))
            if size < least:
                least, series[1] = size, k


@compiled(error_model="numpy", _nrt=False)
def _extrapolate(differences, order, carry, local, n_node):
    """Set the dofs of an element but those of its left node by differences of those before."""
    room = carry.shape[0]
    for c in range(0, room, LANES):
        copy_lanes(carry, c, differences, c)
        for k in range(1, order):
            add_lanes(carry, c, 1.0, differences, k * room + c)
    for c in range(local.shape[0] - n_node):
        local[n_node + c] = carry[c]


@compiled(error_model="numpy", _nrt=False)
def _extrapolation(points, lengths, e, back, times, matrix):
    """matrix[j, s]: Lagrange polynomial of source node s, of the `back` elements before element e, at node j of this.
    """
    degree = len(points) - 1
    n, start = back * degree + 1, 0.0
    for m in range(back):
        length = lengths[e - back + m]
        for i in range(degree):
            times[m * degree + i] = start + points[i] * length
        start += length
    times[n - 1] = start
    for j in range(len(points)):
        target = start + points[j] * lengths[e]
        for s in range(n):
            value = 1.0
            for m in range(n):
                if m != s:
                    value *= (target - times[m]) / (times[s] - times[m])
            matrix[j, s] = value
