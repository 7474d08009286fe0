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
def polynomials_held(constants, ends, left, right, factors, index, rows, x, step, n, sizes, most):
    """`held` of constraints of second degree at nodes 0, ..., n - 1.

    The state of node k starts at `x[k * step]`.

    Parameters
    ----------
    constants : array, shape (n_rows,)
    ends : array of int, shape (n_rows + 1,)
        Where the terms of each row end, and those of the next begin.
    left, right : array of int, shape (n_terms,)
        Local places of both factors of a term; -1 for a factor of one.
    factors : array, shape (n_terms,)
    index, rows : array of int, shapes (n_parts, n_local), (n_parts, n_rows)
        Places of parts in the state, and of their rows among all.
    """
    for k in range(n):
        for part in range(index.shape[0]):
            for i in range(rows.shape[1]):
                theta = constants[i]
                for term in range(ends[i], ends[i + 1]):
                    product = factors[term] * x[k * step + index[part, left[term]]]
                    theta += product * x[k * step + index[part, right[term]]] if right[term] >= 0 else product
                if not abs(theta) <= most * sizes[rows[part, i]]:
                    return False
    return True


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def smooth(t, x, places, difference, floor, factor, turning, rates, turn, most):
    """Whether no component goes too far in an element by its own amplitude, and no body turns too far at any node.

    Parameters
    ----------
    t : array, shape (n + 1,)
    x : array
        With the nodal states in time order.
    places : array of int, shape (n_shapes, n_z)
        Of those of the first element, whose components lie side by side; its last node is the first one of the next
        element.
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
    most : array, shape (n_z,)
        Memory.
    """
    n, n_z, half, step, longest = t.shape[0] - 1, places.shape[1], places.shape[1] // 2, places[-1, 0], 0.0
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
        low = high = x[c]
        for k in range(1, n + 1):
            value = x[k * step + c]
            low, high = value if value < low else low, value if value > high else high
        most[c] = factor * max((high - low) / 2, floor[c])
    for e in range(n):
        if difference.shape[0]:
            for c in range(n_z):
                d = 0.0
                for i in range(difference.shape[0]):
                    d += difference[i] * x[e * step + places[i, c]]
                if not abs(d) <= most[c]:
                    return False
        elif e > 0:
            before, p, too_far = (t[e + 1] - t[e]) / (t[e + 1] - t[e - 1]), e * step, 0
            left, state, right = x[p - step:p - step + n_z], x[p:p + n_z], x[p + step:p + step + n_z]
            for c in range(n_z):  # without branches: in vectors
                too_far += not abs(state[c] - before * left[c] - (1.0 - before) * right[c]) <= most[c]
            if too_far:
                return False
    return True
