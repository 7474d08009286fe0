"""The compiled marching loop: one time element after the other, each from a polynomial through those before."""

import numpy as np

from ...elements.evaluation.points_in_lanes import StepPlan, step_scratch
from ...elements.evaluation.whole_element import WholeSystem
from ...kernels.lanes import LANES, add_lanes, copy_lanes, largest_lane, next_difference
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ..linear.element.fronts import DONE, NOT_CONVERGED, Fronts, factors_for
from ..linear.element.unrolled import Unrolled
from .element_newton import NOTHING_KEPT, set_scales, solve_element

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
    known: np.ndarray  # lengths that the extrapolation is for
    back: np.ndarray  # (1,) and the number of elements that it goes back
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
                np.full(most_back + 1, -1.0), np.zeros(1, np.int64), np.zeros(n_sources),
                aligned((ORDERS[1] + 1) * room), aligned(room), aligned(room), np.zeros(3, np.int64))


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_elements(march, start, stop):
    """Solve elements start, ..., stop - 1 in place in the dofs of `MarchArrays`.

    The guess extrapolates the elements before, those of equal length each of its dofs on its own: what a dof is off
    the motion by is much the same in all. Else it is a polynomial through their nodes, at least cubic. Where Newton
    fails from there, the element is tried again without kept factors, and then from a constant state. Newton stops when
    the scaled residual and the last scaled increment fall below their tolerances, or when round-off stops the residual
    from falling.

    Returns
    -------
    element, status : int
        `stop, DONE`, or the element that failed and why; `march.history` then holds its residuals.
    left_open : bool
        Whether forces of constraints are not determined in one of them, which has a negative number of iterations.
    """
    loop, work, x, t, h, iterations = march.loop, march.work, march.x, march.t, march.h, march.iterations
    continuous, owned, owned_last, n_node = loop.continuous, loop.owned, loop.owned_last, loop.n_node
    n_shapes, n_z = continuous.shape
    n = loop.step.plan.n_columns - n_node  # dofs from one element to the next
    shift, shape = work.sources[0], work.sources[1]
    extrapolation, known = work.extrapolation, work.known
    degree, most_back, last_back, scaled_for = n_shapes - 1, known.shape[0] - 1, work.back[0], -1.0
    left_open, series = False, work.series
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
        for attempt in range(0 if march.keep and not loop.emphasis.shape[0] else 1, 3):
            if attempt < 2 and series[1] > ORDERS[0]:
                _extrapolate(work.differences, series[1], work.carry, local, n_node)
            elif attempt < 2 and e > 0:
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
                for c in range(owned.shape[0]):
                    if series[0] < ORDERS[0]:
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
                        continue
                    local[owned[c]] = 0.0
                    for k in range(ORDERS[0]):  # equal lengths: a cubic as well
                        local[owned[c]] += work.differences[k * work.carry.shape[0] + owned[c] - n_node]
            elif e == 0 and attempt == 2:
                break  # the first guess was constant already
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
    differences, carry, series, room = work.differences, work.carry, work.series, work.carry.shape[0]
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
