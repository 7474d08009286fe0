"""Does a mesh resolve a motion? What elements of one degree less would miss, body by body.

The part of a state that only the highest degree of its element holds is its highest divided difference there; elements
of degree 1 are looked at in pairs. Relative to the amplitude of the body it tells how far a vibration goes in an
element: more than `FAR` rad per element and degree are too many. Each body counts by its own motion, a node by that of
its part, positions and rotations, coordinates and momenta on their own; what hardly moves beside others, or by rounding
only, does not count.
"""

import functools

import numpy as np

from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...elements.mixed_galerkin import MixedGalerkin
from ...kernels.loops import compiled
from ...mechanics.values.evaluate import kept
from ...mechanics.values.measures import LEAST, TINY, blocks_of
from ...memory import Late
from ..nonlinear.newton import Newton
from .motion import DRIFT

marching = Late(f"{__package__}.march")

FAR = 1.0  # rad of a vibration per element and degree
NOISE = 1e-7  # of the largest coordinate, or momentum, weighted by masses: amplitudes that count as rest
CLOSE = 0.5  # amplitudes that the end of a motion may be off, by what its shortest part differs on two meshes
SAME = 1e-3  # by what divided differences of one polynomial may differ
MORE = 1.5  # factor from one number of elements tried to the next
MOST = 400_000  # unknowns of a mesh that is tried


def excess(system, element, t, z, nodal):
    """How far what elements of a lower degree would miss goes beyond what `FAR` allows.

    Parameters
    ----------
    system : System
    element : TimeElement
    t, z : ndarray, shapes (n + 1,), (n + 1, n_z)
        Ends of the elements, and states there.
    nodal : ndarray, shape (n, n_shapes, n_z)

    Returns
    -------
    excess : ndarray, shape (n_z,)
        Of each component of the state; 1 is what `FAR` allows.
    first : int
        The first element where a component goes beyond that, or n.
    """
    (difference, factor), largest = differences(element), np.zeros(z.shape[1])
    bound = factor * _amplitudes(system, t, z)
    if len(difference):
        first = _missed(np.ascontiguousarray(nodal), difference, bound, largest)
    else:
        first = _missed_in_pairs(t, z, bound, largest)
    return largest / bound, first


def surely_resolves(plan, system, t, x):
    """Whether `excess` surely finds nothing in a motion with ends of elements t and all dofs x of a plan, and the
    largest sizes of its components, shape (n_z,): by the amplitude of each component, in a fraction of the time."""
    (difference, factor), n = differences(plan.element), system.n_q
    low, high, missed = found = np.zeros((3, system.n_z))
    _find_ranges(x, plan.columns.first, plan.columns.step, t, difference, found)
    largest = np.maximum(high, -low)
    size = largest / system.state_scale
    noise = NOISE * np.repeat([size[:n].max(), size[n:].max()], n) * system.state_scale
    return bool((missed <= factor * np.maximum((high - low) / 2, noise)).all()), largest


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _find_ranges(x, first, step, t, difference, found):
    """Least and largest values at the nodes, and largest divided differences, as `_missed` and `_missed_in_pairs` find
    them, of the components of the state; `first` are its dofs in the first element, (n_shapes, n_z)."""
    last, n = first.shape[0] - 1, t.shape[0] - 1
    for c in range(first.shape[1]):
        low = high = x[first[0, c]]
        missed = 0.0
        for e in range(n):
            end = x[e * step + first[last, c]]
            low, high = min(low, end), max(high, end)
            d = 0.0
            for i in range(difference.shape[0]):
                d += difference[i] * x[e * step + first[i, c]]
            if difference.shape[0] == 0 and e > 0:
                before = (t[e + 1] - t[e]) / (t[e + 1] - t[e - 1])
                start, middle = x[(e - 1) * step + first[0, c]], x[e * step + first[0, c]]
                d = middle - before * start - (1.0 - before) * end
            missed = max(missed, abs(d))
        found[0, c], found[1, c], found[2, c] = low, high, missed


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


def _amplitudes(system, t, z):
    """Amplitudes of the components of states, shape (n_z,): the largest of the block they belong to."""
    (blocks, kinds), out = kept(system, blocks_of), np.zeros(system.n_z)
    memory, duration = np.zeros((2, len(kinds))), abs(float(t[-1] - t[0]))
    _find_amplitudes(np.ascontiguousarray(z), duration, blocks, kinds, system.mass_scale, memory, out)
    n, size = system.n_q, np.abs(z / system.state_scale).max(axis=0)
    largest = np.repeat([size[:n].max(), size[n:].max()], n)
    return np.maximum(out, np.maximum(NOISE * largest * system.state_scale, TINY))


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


def elements_that_do(system, element, t_span, z0, times):
    """How many elements resolve what one, or a pair of degree 1, does not; None where it would take too many.

    That part of the motion is marched again on finer meshes, until vibrations are resolved, and what two meshes differ
    by does not add up to much in a motion that is `times` as long.
    """
    if not element.can_march:
        element = MixedGalerkin(max(element.degree, 1))
    plan, settings = ElementPlan(system, element), Newton()
    scaling = Scaling.of("full", system, element, t_span[0], z0)
    multipliers = system.consistent_multipliers(t_span[0], z0)
    n, before = 2, np.inf
    while n * plan.columns.step <= MOST:
        mesh = TimeMesh.uniform(t_span, n)
        x, _, status, _ = marching.march(plan, mesh, z0, multipliers, scaling, settings)
        if status.success:
            nodal = plan.columns.unpack(x)[0]
            z = np.concatenate([z0[None], nodal[:, -1]])
            off = (np.abs(z[-1] - before) / _amplitudes(system, mesh.nodes, z)).max() * times
            if off <= CLOSE and excess(system, element, mesh.nodes, z, nodal)[0].max() <= 1.0:
                return n
            before = z[-1]
        n = int(np.ceil(MORE * n))
    return None
