"""Compiled loops of `glance`."""

from ..kernels.loops import compiled


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def gather(index, x, step, first, last, out):
    """Local states of parts, (n_parts, n_local) places in `index`, at nodes first, ..., last - 1, one after the other.

    The state of node k starts at `x[k * step]`.
    """
    at = 0
    for k in range(first, last):
        for part in range(index.shape[0]):
            for i in range(index.shape[1]):
                out[at] = x[k * step + index[part, i]]
                at += 1


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def held(theta, rows, sizes, most):
    """Whether constraints (n, n_parts, n_rows), one after the other, are at most so many times their sizes."""
    n = rows.shape[0] * rows.shape[1]
    for k in range(theta.shape[0] // n):
        at = k * n
        for part in range(rows.shape[0]):
            for i in range(rows.shape[1]):
                if not abs(theta[at]) <= most * sizes[rows[part, i]]:
                    return False
                at += 1
    return True


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def smooth(t, x, places, difference, floor, factor, turning, rates, turn, scratch):
    """Whether no component goes too far in an element by its own amplitude, and no body turns too far at any node.

    Parameters
    ----------
    t : array, shape (n + 1,)
    x : array
        With the nodal states in time order.
    places : array of int, shape (n_shapes, n_z)
        Of those of the first element; its last node is the first one of the next element.
    difference : array, shape (n_shapes,)
        Highest divided difference of an element; of degree 1 none.
    floor : array, shape (n_z,)
        Least amplitudes.
    factor : float
        Of amplitudes, that differences may reach.
    turning : array of int, shape (n_bodies, 2)
        First and last place of rotations among the momenta.
    rates : array, shape (n_bodies,)
        Square of the momentum there at which each turns by one rad per second.
    turn : float
        Largest rotation in an element [rad].
    scratch : array, shape (2, n_z)
        Memory.
    """
    n, n_z, half, step, longest = t.shape[0] - 1, places.shape[1], places.shape[1] // 2, places[-1, 0], 0.0
    low, high = scratch[0], scratch[1]
    for e in range(n):
        longest = max(longest, t[e + 1] - t[e])
    for b in range(turning.shape[0]):
        for k in range(n + 1):
            square = 0.0
            for i in range(half + turning[b, 0], half + turning[b, 1]):
                square += x[k * step + i] ** 2
            if not square <= (turn / longest) ** 2 * rates[b]:
                return False
    for c in range(n_z):
        low[c] = high[c] = x[c]
    for k in range(1, n + 1):
        for c in range(n_z):
            value = x[k * step + c]
            if value < low[c]:
                low[c] = value
            if value > high[c]:
                high[c] = value
    most = high
    for c in range(n_z):
        most[c] = factor * max((high[c] - low[c]) / 2, floor[c])
    for e in range(n):
        if difference.shape[0]:
            for c in range(n_z):
                d = 0.0
                for i in range(difference.shape[0]):
                    d += difference[i] * x[e * step + places[i, c]]
                if not abs(d) <= most[c]:
                    return False
        elif e > 0:
            before = (t[e + 1] - t[e]) / (t[e + 1] - t[e - 1])
            for c in range(n_z):
                p = e * step + c
                if not abs(x[p] - before * x[p - step] - (1.0 - before) * x[p + step]) <= most[c]:
                    return False
    return True
