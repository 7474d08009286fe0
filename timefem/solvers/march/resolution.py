"""Does a mesh resolve a motion? What elements of one degree less would miss, body by body.

The part of a state that only the highest degree of its element holds is its highest divided difference there; elements
of degree 1 are looked at in pairs. Relative to the amplitude of the body it tells how far a vibration goes in an
element: more than `FAR` rad per element and degree are too many. Each body counts by its own motion, a node by that of
its part, positions and rotations, coordinates and momenta on their own; what hardly moves beside others, or by rounding
only, does not count.
"""

import functools

import numpy as np

from ...kernels.loops import compiled
from ...mechanics.values.evaluate import kept
from ...mechanics.values.measures import LEAST, TINY, blocks_of
from .motion import DRIFT

FAR = 1.0  # rad of a vibration per element and degree
NOISE = 1e-7  # of the largest coordinate, or momentum, weighted by masses: amplitudes that count as rest
SAME = 1e-3  # by what divided differences of one polynomial may differ


def excess(system, element, t, z, nodal, beside=0.0):
    """How far what elements of a lower degree would miss goes beyond what `FAR` allows.

    Parameters
    ----------
    system : System
    element : TimeElement
    t, z : ndarray, shapes (n + 1,), (n + 1, n_z)
        Ends of the elements, and states there.
    nodal : ndarray, shape (n, n_shapes, n_z)
    beside : ndarray, shape (2,), optional
        The `largest_sizes` of the motion that this one is a phase of.

    Returns
    -------
    excess : ndarray, shape (n_z,)
        Of each component of the state; 1 is what `FAR` allows.
    first : int
        The first element where a component goes beyond that, or n.
    """
    (difference, factor), largest = differences(element), np.zeros(z.shape[1])
    bound = factor * amplitudes(system, t, z, beside)
    if len(difference):
        first = _missed(np.ascontiguousarray(nodal), difference, bound, largest)
    else:
        first = _missed_in_pairs(t, z, bound, largest)
    return largest / bound, first


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def find_ranges(x, first, step, t, difference, found):
    """Least and largest values at the nodes of the components of the state, and sums of the squares of their divided
    differences, and of what these change by from element to element, over the shorter of two; `first` are dofs in the
    first element, (n_shapes, n_z)."""
    last, n, few = first.shape[0] - 1, t.shape[0] - 1, difference.shape[0] == 0
    power = 2 if few else last
    for c in range(first.shape[1]):
        low = high = x[first[0, c]]
        own = changes = before = 0.0
        for e in range(n):
            h = t[e + 1] - t[e]
            end = x[e * step + first[last, c]]
            low, high = min(low, end), max(high, end)
            d = 0.0
            for i in range(difference.shape[0]):
                d += difference[i] * x[e * step + first[i, c]]
            if few and e > 0:  # of the parabola through three nodes
                both = t[e + 1] - t[e - 1]
                start, middle = x[(e - 1) * step + first[0, c]], x[e * step + first[0, c]]
                d = ((end - middle) / h - (middle - start) / (both - h)) / both * h**2
            own += d * d
            rate = d / h**power
            if e > few:
                change = (rate - before) / (t[e + 1] - t[e - 1]) * 2.0 * min(h, t[e] - t[e - 1]) ** (power + 1)
                changes += change * change
            before = rate
        found[0, c], found[1, c], found[2, c], found[3, c] = low, high, own, changes


def is_polynomial(element, t, nodal, chosen):
    """Which of the chosen components are, as far as elements tell, one polynomial of their degree, shape (n_z,) of
    bool: these follow it exactly, however few they are. It is of degree 2 where elements of degree 1 are paired."""
    difference, found, lengths = differences(element)[0], np.zeros(len(chosen), bool), np.diff(t)
    places = np.flatnonzero(chosen)
    if len(difference):
        own = (difference @ nodal[:, :, places]) / lengths[:, None] ** (len(difference) - 1)
    else:
        slopes = (nodal[:, -1, places] - nodal[:, 0, places]) / lengths[:, None]
        own = np.diff(slopes, axis=0) / (lengths[1:] + lengths[:-1])[:, None]
    found[places] = np.ptp(own, axis=0) <= SAME * np.abs(own).max(axis=0)
    return found


def differences(element):
    """Weights of the nodes of an element in its highest divided difference, none of degree 1; and the part of the
    amplitude of a vibration that goes by `FAR` that it is."""
    return _differences(tuple(element.state.basis.points.tolist()))


@functools.lru_cache(100)
def _differences(points):
    points = np.array(points)
    if len(points) == 2:
        return np.zeros(0), 1 - np.cos(FAR)
    difference = np.linalg.inv(np.vander(points, increasing=True))[-1]
    return difference, float(np.abs(difference @ np.exp(1j * FAR * (len(points) - 1) * points)))


def largest_sizes(system, z):
    """The largest coordinate, and the largest momentum, of states, weighted by masses, shape (2,)."""
    return np.abs(z / system.state_scale).reshape(len(z), 2, -1).max(axis=(0, 2))


def at_rest(system, sizes):
    """Amplitudes that count as rest beside `largest_sizes`, shape (n_z,)."""
    return np.maximum(NOISE * np.repeat(sizes, system.n_q) * system.state_scale, TINY)


def amplitudes(system, t, z, beside=0.0):
    """Amplitudes of the components of states, shape (n_z,): the largest of the block they belong to."""
    (blocks, kinds), out = kept(system, blocks_of), np.zeros(system.n_z)
    memory, duration = np.zeros((2, len(kinds))), abs(float(t[-1] - t[0]))
    _find_amplitudes(np.ascontiguousarray(z), duration, blocks, kinds, system.mass_scale, memory, out)
    return np.maximum(out, at_rest(system, np.maximum(largest_sizes(system, z), beside)))


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _find_amplitudes(z, duration, blocks, kinds, mass, of_block, out):
    """Amplitudes of coordinates, and of momenta, which count over the mass; those of blocks that hardly move beside
    others are a part of theirs, as momenta are that stay while coordinates move, such as those of what floats; and
    momenta drift. `of_block` is memory, (2, n_blocks)."""
    n, end = mass.shape[0], z.shape[0] - 1
    for c in range(2 * n):
        low = high = z[0, c]
        for k in range(1, end + 1):
            low, high = min(low, z[k, c]), max(high, z[k, c])
        level, b = c // n, blocks[c % n]
        own = (high - low) / 2 / (1.0 if level == 0 else mass[c - n])
        of_block[level, b] = max(of_block[level, b], own)
    for level in range(2):
        largest_0 = largest_1 = 0.0
        for b in range(kinds.shape[0]):
            if kinds[b]:
                largest_1 = max(largest_1, of_block[level, b])
            else:
                largest_0 = max(largest_0, of_block[level, b])
        for i in range(n):
            size = max(of_block[level, blocks[i]], LEAST * (largest_1 if kinds[blocks[i]] else largest_0))
            if level == 1:
                size = max(size, LEAST * of_block[0, blocks[i]] / duration)
            out[level * n + i] = size if level == 0 else max(
                size * mass[i], DRIFT * max(abs(z[0, n + i]), abs(z[end, n + i])))


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _missed(nodal, difference, bound, largest):
    """Largest divided differences in elements; the first element where one is beyond its bound."""
    first = nodal.shape[0]
    for e in range(nodal.shape[0]):
        for c in range(nodal.shape[2]):
            d = 0.0
            for i in range(nodal.shape[1]):
                d += difference[i] * nodal[e, i, c]
            largest[c] = max(largest[c], abs(d))
            if abs(d) > bound[c]:
                first = min(first, e)
    return first


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _missed_in_pairs(t, z, bound, largest):
    """Largest distances of nodes from the lines between their neighbours; the first pair with one beyond its bound."""
    first = z.shape[0] - 1
    for e in range(1, z.shape[0] - 1):
        before = (t[e + 1] - t[e]) / (t[e + 1] - t[e - 1])
        for c in range(z.shape[1]):
            d = abs(z[e, c] - before * z[e - 1, c] - (1.0 - before) * z[e + 1, c])
            largest[c] = max(largest[c], d)
            if d > bound[c]:
                first = min(first, e - 1)
    return first
