"""Newton's method on one time element, compiled, with factors that are kept from elements before while they serve."""

import numpy as np

from ...elements.evaluation.points_in_lanes import begin_step, evaluate_step, finish_step
from ...kernels.lanes import call_kernel
from ...kernels.loops import compiled
from ..linear.element.fronts import DONE, NOT_CONVERGED, NOT_FINITE, SINGULAR, factor, solve
from ..linear.element.unrolled import factor_unrolled, solve_unrolled
from ..nonlinear.newton import PATIENCE, ROUNDING

CLOSE = 1e-4  # of the tolerances: with factors kept, the last error is no square of the one before
SLOW = 0.5  # least reduction of the residual
CLEAR = 0.1  # reduction from which on the next one is known: if it fails, that is round-off
NOTHING_KEPT = -1.0, 0.0, 0.0, 0.0, 0.0, 0.0  # see `solve_element`
# Iterations with old factors that cost as much as new ones and one or two iterations, below so many unknowns, and above
MOST_ITERATIONS = 4, 64, 8
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
def _too_slow(n, norm, rate, target):
    """Whether a residual of n unknowns that falls by `rate` takes so long from `norm` to `target` that new factors are
    cheaper."""
    few, many_unknowns, more = MOST_ITERATIONS
    return rate >= SLOW or norm * rate ** (more if n >= many_unknowns else few) > target


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
    loop, work, history, max_iterations = march.loop, march.work, march.history, march.max_iterations
    step, core, scratch, matrix, residual = loop.step, loop.core, work.scratch, work.matrix, work.residual
    trial, dx, per_size, rs, kept = work.trial, work.dx, work.per_size, work.rs, work.kept
    n, rate, close, newton = core.shape[0], 0.0, CLOSE * tol_residual, False
    size, length, norm, own, floor, increment = 0.0, 0.0, np.inf, 0.0, kept[3], 0.0
    history[:] = np.nan
    for c in range(step.plan.n_columns):
        trial[c] = local[c]
    whole, unrolled = loop.whole, loop.unrolled
    if whole.both == 0:
        begin_step(step, step.one, local, t, h, scratch)
    else:
        given = step.plan.n_columns
        trial[given], trial[given + 1] = t, h
        for i in range(whole.n_parameters):
            trial[given + 2 + i] = step.plan.parameters[i]
    kept[1] += 1.0
    below = max(close, ROUGH * floor)
    aged = max(kept[1] * kept[2], abs(h / kept[0] - 1.0))  # what factors that are there leave of a residual
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
                own, own_before = 0.0, own if it > 1 else np.inf
                for c in range(n):
                    own = max(own, length * abs(dx[c]) * per_size[c] * loop.emphasis[c])
                done = done and (own <= tol_increment or own >= 0.5 * own_before or it == max_iterations)
            if done and small and np.isfinite(new):
                if kept[1] > 0.0:
                    kept[2] = rate / kept[1]
                kept[3] = max(LASTS * floor, new) if newton and stalled else LASTS * floor
                finish_step(step, step.one, local, scratch, residual)
                return DONE, it
            if newton and it >= PATIENCE and new <= tol_residual:
                still = 0.0
                for c in range(n):
                    still = max(still, length * abs(dx[c]) * per_size[c] * loop.state[c])
                if still <= tol_increment:
                    finish_step(step, step.one, local, scratch, residual)
                    return DONE, -it
            rate, norm = max(rate, new / norm) if new > floor else rate, new
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
            kept[5] = 1.0 if unrolled.factor != 0 and factor_unrolled(unrolled, work.numbers) else 0.0
            if kept[5] == 0.0:
                if unrolled.factor != 0:
                    matrix[:] = 0.0
                    for k in range(unrolled.n_entries):
                        matrix[unrolled.targets[k]] = work.entries[k]
                if not factor(loop.fronts, matrix, rs, work.factors):
                    return SINGULAR, it
            kept[0] = h
        if kept[5] == 1.0:
            solve_unrolled(unrolled, work.numbers, dx)
        else:
            solve(loop.fronts, matrix, work.factors, residual, dx)
        it, moved, length, size = it + 1, True, 1.0, _scaled_norm(dx, per_size)
        derived = not keep and size > tol_increment  # then it is not likely the last
        _move(trial, local, core, length, dx)


@compiled(error_model="numpy", _nrt=False)
def _move(trial, local, core, length, dx):
    for c in range(core.shape[0]):
        trial[core[c]] = local[core[c]] - length * dx[c]
