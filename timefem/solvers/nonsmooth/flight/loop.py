"""Compiled: elements with all contacts open, those that end where one closes, and the impacts there."""

import numpy as np

from ....kernels.loops import compiled
from ...linear.element.fronts import DONE
from ...march.loop import NOTHING_KEPT, march_elements, set_scales, solve_element
from ..search import MAY_CLOSE, closings
from .node_loop import FLIES, LENGTH, LOOKS, ROUNDING, STILL, STRIKES, gaps, keep_states, meet, momenta, states, strike

EPS = 2 * np.finfo(float).eps
UNSURE, NONE = range(-2, 0)  # instead of a contact that closes


@compiled(error_model="numpy", _nrt=False, nogil=True)
def fly(f, nodes, k, last, longest):
    """Go on from the state of a `Flight` to nodes[k], nodes[k + 1], ..., nodes[last].

    Returns
    -------
    int
        FLIES at the end, or where there is no more room; LOOKS at the start of an element, and STRIKES at a node, which
        need more than the loop knows.
    """
    march, told, rows, counts = f.march, f.told, f.rows, f.counts
    x, n_local, most = march.x, f.best.shape[0], told.x.shape[0]
    n = n_local - march.loop.n_node
    base, e, events, here, at_once, known = 0, 0, 0, 0, 1, True
    z, end, t = f.z[0], f.z[1], f.t[0]
    gap, rate = rows.gap, rows.rate
    code = FLIES
    states(f, 0, t, z)
    meet(rows, gap[0], rate[0], 1)
    while k <= last and base + e < most and code == FLIES:
        if k < nodes.shape[0] - 1 and nodes[k] - t <= f.limits.sliver * (nodes[k + 1] - nodes[k]):
            k, here = k + 1, 0
            continue
        if not nodes[k] > t:
            break
        m, first = min(at_once, last - k + 1, most - base - e), e
        for i in range(m):
            march.t[e + i] = t if i == 0 else nodes[k + i - 1]
            march.h[e + i] = nodes[k + i] - march.t[e + i]
        if e == 0:
            _begin(f, t, march.h[0])
        solved, _, _ = march_elements(march, e, e + m)
        for i in range(first, solved):
            h, t1 = march.h[i], nodes[k]
            local = x[i * n:i * n + n_local]
            for j in range(end.shape[0]):
                end[j] = local[f.state[f.state.shape[0] - 1, j]]
            gaps(f.formulas, t1, end, gap[1], rate[1])
            n_near = _near(rows, h)
            contact, theta = NONE, 0.0
            if n_near:
                if not known:
                    states(f, 0, t, z)
                states(f, 1, t1, end)
                contact, theta = _closing(f, h, n_near, z, end, k < nodes.shape[0] - 1)
            known = n_near > 0
            if contact == NONE:
                for c in range(gap.shape[1]):
                    if gap[1, c] < min(gap[0, c], 0.0):
                        contact = UNSURE
            if contact == UNSURE or (contact != NONE and here >= f.limits.most):
                code = LOOKS
                break
            if contact != NONE and not _locate(f, local, contact, theta * h, t, h):
                code = LOOKS
                break
            if contact != NONE:
                local, t1 = f.best, t + f.one.h[0]
                speed = max(abs(rate[1, contact]), rows.sizes[STILL, contact])
                if abs(nodes[k] - t1) <= max(EPS * max(abs(t), h), rows.sizes[ROUNDING, contact] / speed):
                    t1 = nodes[k]  # where the event is, to rounding
            for j in range(n_local):
                told.x[base + i, j] = local[j]
            told.ends[base + i], told.iterations[base + i] = t1, abs(march.iterations[i])
            meet(rows, gap[1], rate[1], 1)
            e, t = e + 1, t1
            if contact == NONE:
                for j in range(z.shape[0]):
                    z[j] = end[j]
                for c in range(gap.shape[1]):
                    gap[0, c], rate[0, c] = gap[1, c], rate[1, c]
                rows.zero[:] = 0
                if known:
                    keep_states(f)
                k, here = k + 1, 0
                continue
            base, e = base + e, 0
            states(f, 1, t, end)
            counts[1] = events
            told.where[events, 0] = base
            if not _struck(f, events, t, end, contact, longest):
                for j in range(z.shape[0]):
                    z[j] = end[j]
                code, counts[2] = STRIKES, contact
                break
            events, here, known = events + 1, here + 1, True
            if events == told.where.shape[0]:
                most = base  # no more room
            break
        if solved == first:
            code = LOOKS
        at_once = min(2 * at_once, f.limits.ahead) if e == first + m and _far(rows, march.h[first], 2 * at_once) else 1
    f.t[0] = t
    counts[0], counts[1] = base + e, events
    return code


@compiled(error_model="numpy", _nrt=False)
def _struck(f, event, t, end, contact, longest):
    touch = 0
    for c in range(f.rows.label.shape[0]):
        touch += c == contact or f.rows.gap[1, c] <= f.limits.touching * f.rows.sizes[LENGTH, c]
    return strike(f, f.alone if touch == 1 else f.few, event, t, end, contact, longest)


@compiled(error_model="numpy", _nrt=False)
def _begin(f, t, h):
    """Forget the elements before; the first one, of length h, is guessed by the accelerations at its start."""
    work, x, points, moving = f.march.work, f.march.x, f.march.loop.points, f.moving
    z, state, n = f.z[0], f.state, f.moving.v.shape[1]
    work.kept[0] = NOTHING_KEPT[0]
    for i in range(f.best.shape[0]):
        x[i] = f.best[i]
    for i in range(state.shape[0]):
        ahead = points[i] * h
        for j in range(z.shape[0]):
            x[state[i, j]] = z[j]
        for j in range(n if i > 0 else 0):
            x[state[i, j]] += ahead * (moving.v[0, j] + ahead / 2 * moving.acceleration[0, j])
            moving.change[j] = moving.v[0, j] + ahead * moving.acceleration[0, j]
        if i > 0:
            momenta(f, t + ahead, x, state[i])


@compiled(error_model="numpy", _nrt=False)
def _near(rows, h):
    """How many contacts may close in an element, by their gaps and rates at its ends; these in `rows.near`."""
    gap, rate, n = rows.gap, rows.rate, 0
    for c in range(gap.shape[1]):
        if MAY_CLOSE(h, gap[0, c], gap[1, c], rate[0, c], rate[1, c], rows.sizes[STILL, c], rows.zero[c] != 0):
            rows.near[n] = c
            n += 1
    return n


@compiled(error_model="numpy", _nrt=False)
def _far(rows, h, m):
    """Whether nothing is near in about m elements; the rates are those of the last one."""
    for c in range(rows.gap.shape[1]):
        if rows.gap[1, c] <= 2 * m * h * abs(rows.rate[1, c]):
            return False
    return True


@compiled(error_model="numpy", _nrt=False)
def _closing(f, h, n, z, end, goes_on):
    """The first of the contacts that are near that closes in an element, and where; or NONE, or UNSURE.

    Where the mesh `goes_on` what closes just beyond the end does so in the element: see `Search`.
    """
    rows, limits, jacobian = f.rows, f.limits, f.formulas.jacobian
    f0, f1, found = rows.ends[0], rows.ends[1], rows.found[:n]
    for i in range(n):
        c = rows.near[i]
        level = min(rows.gap[0, c], 0.0) if rows.zero[c] else 0.0  # what overlaps and parts
        f0[i, 0], f0[i, 1], f0[i, 2] = rows.gap[0, c], rows.gamma[0, 3 * c], rows.free[0, 3 * c]
        f1[i, 0], f1[i, 1], f1[i, 2] = rows.gap[1, c] - level, rows.gamma[1, 3 * c], rows.free[1, 3 * c]
        rows.lengths[i], rows.still[i] = h, rows.sizes[STILL, c]
        rests = abs(f0[i, 0]) <= limits.touching * rows.sizes[LENGTH, c] and abs(f0[i, 1]) <= rows.still[i]
        rows.at_zero[i] = rests or rows.zero[c] != 0
        if rests:
            return UNSURE, 0.0
    closings(rows.lengths[:n], f0[:n], f1[:n], rows.at_zero[:n], rows.still[:n], rows.scratch, found)
    contact, theta = NONE, np.inf
    for i in range(n):
        c, started = rows.near[i], rows.at_zero[i]
        behind = rows.gap[0, c]  # along the normal at the start
        for j in range(jacobian.shape[0]):
            if jacobian[j, 0] == 3 * c:
                q = jacobian[j, 1]
                behind += f.formulas.at_motion[0, jacobian[j, 2]] * (end[q] - z[q])
        soon = goes_on and f1[i, 0] > 0.0 and f1[i, 0] <= -limits.sliver * h * f1[i, 1]
        if found[i, 2] > 0.0 and not (behind < 0.0 or started or soon):
            continue
        if soon and not found[i, 0] == found[i, 0]:
            found[i, 0] = 1.0
        if found[i, 0] == found[i, 0]:
            if found[i, 0] < theta:
                contact, theta = c, found[i, 0]
        elif behind < 0.0 or found[i, 1] == found[i, 1]:
            return UNSURE, 0.0
    return contact, theta


@compiled(error_model="numpy", _nrt=False)
def _guess(points, state, source, local, ratio):
    """Nodal values of the state in an element that is a part of another one from the same start."""
    n = points.shape[0]
    for i in range(1, n):
        for j in range(state.shape[1]):
            local[state[i, j]] = 0.0
        for s in range(n):
            share = 1.0
            for m in range(n):
                if m != s:
                    share *= (ratio * points[i] - points[m]) / (points[s] - points[m])
            for j in range(state.shape[1]):
                local[state[i, j]] += share * source[state[s, j]]


@compiled(error_model="numpy", _nrt=False)
def _locate(f, whole, c, h, t, longest):
    """The element from here that ends where a contact closes, in `best`, with its length in `one`; False where that is
    not plain: see `EventElements._located`."""
    one, rows, best, end = f.one, f.rows, f.best, f.z[1]
    loop, work, local = one.loop, one.work, one.x
    rounding = EPS * max(abs(t), longest)
    low, high, length, best_value, best_h, found = 0.0, np.inf, longest, np.inf, 0.0, False
    before_h, before, evaluated = 0.0, 0.0, 0.0
    level = rows.gap[0, c] if rows.gap[0, c] < -rows.sizes[ROUNDING, c] else 0.0
    longest *= 1.5
    for j in range(best.shape[0]):
        best[j] = local[j] = whole[j]
    work.kept[0] = NOTHING_KEPT[0]
    for it in range(f.limits.locations):
        if not t + h > t:
            return False
        own = (t + h) - t
        _guess(loop.points, f.state, best, local, own / length)
        set_scales(loop, work, own)
        status, _ = solve_element(one, local, t, own, one.tolerances[0], one.tolerances[1],
                                  one.line_search != 0, one.keep != 0 and loop.emphasis.shape[0] == 0)
        if status != DONE:
            return False
        for j in range(end.shape[0]):
            end[j] = local[f.state[f.state.shape[0] - 1, j]]
        gaps(f.formulas, t + h, end, rows.gap[1], rows.rate[1])
        value, slope = rows.gap[1, c] - level, rows.rate[1, c]
        evaluated = h
        if abs(value) <= best_value:
            best_value, best_h, length, found = abs(value), h, own, True
            for j in range(best.shape[0]):
                best[j] = local[j]
        if value > 0.0:
            low = max(low, h)
        else:
            high = min(high, h)
        if value == 0.0:
            break
        if it > 0 and h != before_h and abs(h - before_h) >= 1e-7 * longest:
            slope = (value - before) / (h - before_h)
        before_h, before = h, value
        new = (low + min(high, longest)) / 2
        if slope < 0.0:
            if abs(value / slope) <= rounding:
                break
            new = h - value / slope
        if high - low <= rounding:
            break
        if not low < new < min(high, longest):
            if high == np.inf:
                return False
            new = (low + high) / 2
        h = new
    if not found or (high == np.inf and best_value > 1e-6 * rows.sizes[LENGTH, c]):
        return False
    one.h[0] = best_h
    for j in range(end.shape[0]):
        end[j] = best[f.state[f.state.shape[0] - 1, j]]
    if evaluated != best_h:
        gaps(f.formulas, t + best_h, end, rows.gap[1], rows.rate[1])
    for k in range(rows.gap.shape[1]):  # another one closed before
        if k != c and rows.gap[1, k] - min(rows.gap[0, k], 0.0) < -rows.sizes[ROUNDING, k]:
            return False
    return True
