"""Where switching functions change their signs inside of elements, and what forces do there between the Gauss points.
"""

import numpy as np

from ...mechanics.parts import body_of
from ...mechanics.symbols import first_order_places
from ...mechanics.values.evaluate import quantities_at
from ...mechanics.values.forces import switching_of
from ...mechanics.values.measures import blocks_of
from ...mechanics.values.quantities import switches_of
from ...polynomials import gauss_legendre
from ...records import frozen


@frozen
class EventOptions:
    """Where and how exactly the ends of elements are put at events."""

    margin: float = 1e-3  # of an element, at its ends: what changes there changes at the node
    samples: int = 8  # in an element, besides its Gauss points
    bisections: int = 50  # between two samples
    noise: float = 1e-12  # of its largest value nearby, below which a function has no sign
    few: int = 4  # pairs at first, after an event
    short: float = 1e-6  # of the time span: events in shorter pairs are not looked for
    close: float = 1e-9  # of the time span: times of one event
    exact: float = 1e-14  # of it: no nearer
    near: float = 1e-3  # of a pair, at its ends: what changes there changes at its ends
    most_locations: int = 8  # of one event
    at_once: int = 2**22  # numbers of the states that are looked at together
    pieces: int = 8  # of an element, each with two points, for the impulse of its forces
    most_missed: float = 0.008  # impulses that elements miss, over the change of the momentum, that are not reported
    most_shift: float = 0.5  # of a pair, by which an event may be elsewhere on a finer mesh


EVENTS = EventOptions()


class Crossings:
    """The zeros of the switching functions of a system along elements.

    Parameters
    ----------
    switching : Switching
    element : TimeElement
    """

    def __init__(self, switching, element):
        self.switching, self.basis = switching, element.state.basis
        inner = (1 - np.cos(np.pi * (np.arange(EVENTS.samples) + 0.5) / EVENTS.samples)) / 2
        points = np.concatenate([[EVENTS.margin, 1 - EVENTS.margin], inner, gauss_legendre(element.n_points)[0]])
        self.points = np.unique(points[(points >= EVENTS.margin) & (points <= 1 - EVENTS.margin)])
        self._values = self.basis.values(self.points)

    def inside(self, t, lengths, nodal):
        """Changes of signs in elements at times t (n,), with nodal states (n, n_shapes, n_z), in time order.

        Yields
        ------
        (int, int, float)
            The element, the switching function and the time.
        """
        times, values = self._sampled(t, lengths, nodal)
        k, i = _changes(values)
        elements = np.searchsorted(t, times[k], side="right") - 1
        for e in np.unique(elements):
            here = elements == e
            roots = sorted((self._root(t, lengths, nodal, times[a], times[a + 1], j, values[a + 1, j]), int(j))
                           for a, j in zip(k[here], i[here], strict=True))
            yield from ((int(e), j, time) for time, j in roots)

    def all(self, t, lengths, nodal):
        """Times of all changes of signs at the nodes of fine elements: list by switching function."""
        ends = np.append(t, t[-1] + lengths[-1])
        values = self.switching.values(ends, np.concatenate([nodal[:1, 0], nodal[:, -1]]))
        k, i = _changes(values)
        found = [[] for _ in range(self.switching.n)]
        for a, j in zip(k, i, strict=True):
            found[j].append(self._root(t, lengths, nodal, ends[a], ends[a + 1], j, values[a + 1, j]))
        return found

    def between(self, t, lengths, nodal):
        """Elements, shape (n,) bool, within which a sign changes."""
        inside = np.zeros(len(t), bool)
        per = max(1, EVENTS.at_once // (len(self.points) * nodal.shape[2]))
        for a in range(0, len(t), per):  # with the elements beside, as a sign may change at an end
            here = slice(max(a - 1, 0), a + per + 1)
            times, values = self._sampled(t[here], lengths[here], nodal[here])
            changed = times[_changes(values)[0]]
            inside[here.start + np.searchsorted(t[here], changed, side="right") - 1] = True
        return inside

    def near_end(self, t, lengths, nodal, j):
        """Time at which the switching function j vanishes near the end of the last of the elements, by a secant."""
        at = t[-1] + lengths[-1] * np.array([1 - EVENTS.margin, 1.0])
        states = np.einsum("pi,ia->pa", self.basis.values(np.array([1 - EVENTS.margin, 1.0])), nodal[-1])
        a, b = self.switching.values(at, states)[:, j]
        return at[1] - b * (at[1] - at[0]) / (b - a) if b != a else np.inf

    def _sampled(self, t, lengths, nodal):
        """Times and values of the functions; also where a parabola through three of them goes beyond zero."""
        times = (t[:, None] + lengths[:, None] * self.points).ravel()
        states = np.einsum("pi,eia->epa", self._values, nodal).reshape(len(times), -1)
        values = self.switching.values(times, states)
        dips = _dips(times, values)
        if len(dips):
            e = np.searchsorted(t, dips, side="right") - 1
            further = np.einsum("pi,pia->pa", self.basis.values((dips - t[e]) / lengths[e]), nodal[e])
            order = np.argsort(np.concatenate([times, dips]), kind="stable")
            values = np.concatenate([values, self.switching.values(dips, further)])[order]
            times = np.concatenate([times, dips])[order]
        return times, values

    def _root(self, t, lengths, nodal, low, high, j, after):
        """Bisection between two times, up to the sign of the value `after`."""
        def value(time):
            e = min(max(int(np.searchsorted(t, time, side="right")) - 1, 0), len(t) - 1)
            xi = (time - t[e]) / lengths[e]
            state = self.basis.values(np.array([xi]))[0] @ nodal[e]
            return self.switching.values(np.array([time]), state[None])[0, j]

        after = np.sign(after)
        for _ in range(EVENTS.bisections):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if np.sign(value(middle)) == after:
                high = middle
            else:
                low = middle
        return high


def _changes(values):
    """Places after which signs change, in time order, and the functions; what has no sign keeps the one before."""
    signs = np.sign(np.where(np.abs(values) > EVENTS.noise * np.abs(values).max(axis=0, initial=0.0), values, 0.0))
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(len(signs))[:, None], 0), axis=0)
    signs = np.take_along_axis(signs, last, axis=0)
    return np.nonzero(signs[1:] * signs[:-1] < 0)


def _dips(t, values):
    """Times of vertices of parabolas through three neighbours of one sign that lie beyond zero."""
    later = np.diff(t, prepend=-np.inf) > 0  # where elements meet times come twice
    t, values = t[later], values[later]
    if len(t) < 3:
        return np.zeros(0)
    a, b, c = values[:-2], values[1:-1], values[2:]
    sign = np.sign(b)
    k, j = np.nonzero((sign * a > 0) & (sign * c > 0) & (np.abs(b) <= np.abs(a)) & (np.abs(b) <= np.abs(c)))
    if not len(k):
        return np.zeros(0)
    left, right = t[k] - t[k + 1], t[k + 2] - t[k + 1]
    y, low, high = b[k, j], a[k, j] - b[k, j], c[k, j] - b[k, j]
    second = (low / left - high / right) / (left - right)
    slope = high / right - second * right
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(second != 0, -slope / (2 * second), 0.0)
    beyond = sign[k, j] * (y + at * (slope + second * at)) < 0
    return np.unique(t[k + 1][beyond] + at[beyond])


def missed_forces(system, element, t, z, nodal, counted=lambda n: n):
    """The report on a motion whose elements miss what forces do between their Gauss points; else None.

    In elements in which a contact, a stop or a rope begins or ends, or regularised friction reverses, the impulse of
    the forces at the Gauss points is compared with that along the polynomials of the state.

    Parameters
    ----------
    system : System
    element : TimeElement
    t, z : ndarray, shapes (n + 1,), (n + 1, n_z)
        Ends of the elements, and states there.
    nodal : ndarray, shape (n, n_shapes, n_z)
    counted : callable
        How many elements do, None where it is not known, of how many what is missed asks for.

    Returns
    -------
    str or None
    """
    switching = switching_of(system, steep=True)
    if switching is None or element.state.basis.n_shapes < 2:
        return None
    lengths, n_q, n = np.diff(t), system.n_q, len(t) - 1
    crossings = Crossings(switching, element)
    chosen = np.flatnonzero(crossings.between(t[:-1], lengths, nodal))
    if not len(chosen):
        return None
    missed = np.abs(_impulses(system, element, t, lengths, nodal, chosen, gauss_legendre(element.n_points)) -
                    _impulses(system, element, t, lengths, nodal, chosen, _composite()))
    blocks, kinds = blocks_of(system)
    states = first_order_places(system)  # without momenta: each changes by its own rate
    blocks[states] = len(kinds) + np.arange(len(states))
    root, changes = np.sqrt(system.mass_scale), np.ptp(z, axis=0)
    root[states] = np.maximum(changes[states], 1e-300)
    of_block, size = np.zeros((len(chosen), len(kinds) + len(states))), np.zeros(len(kinds) + len(states))
    for i in range(n_q):
        of_block[:, blocks[i]] = np.maximum(of_block[:, blocks[i]], missed[:, i] / root[i])
    np.maximum.at(size, blocks, changes[n_q:] / root)
    size[:len(kinds)], size[len(kinds):] = max(size.max(), 1e-300), 1.0
    share = of_block.sum(axis=0) / size
    worst = int(share.argmax())
    if not share[worst] > EVENTS.most_missed:
        return None
    first = int(chosen[of_block[:, worst].argmax()])
    j = next((j for e, j, _ in crossings.inside(t[first:first + 1], lengths[first:first + 1], nodal[first:first + 1])),
             None)
    part = switching.parts[0 if j is None else j]
    body = body_of(system, int(np.flatnonzero(blocks == worst)[0]))
    how = "reverses" if switches_of(part).switching is None else "begins or ends"
    what = "changes of {} of the range" if worst >= len(kinds) else "impulses of {} of the momentum"
    count = counted(int(np.ceil(n * np.sqrt(share[worst] / EVENTS.most_missed) * 2)))
    more = f"take {count} elements or more" if count else "take far more elements"
    return (f"{system.label(part.owner or part)} {how} between the Gauss points of {element!r}, most at t = "
            f"{t[first]:.6g}: {what.format(f'{share[worst]:.2g}')} of {system.label(body)} are missed, and "
            f"the solution may be far off; {more}, or give a tolerance")


def _composite():
    """Places and weights of a fine rule in an element."""
    points, weights = gauss_legendre(2)
    first = np.arange(EVENTS.pieces)[:, None]
    return (((first + points) / EVENTS.pieces).ravel(), np.tile(weights, EVENTS.pieces) / EVENTS.pieces)


def _impulses(system, element, t, lengths, nodal, chosen, rule):
    """Of all forces in some elements, shape (n_chosen, n_q), by a rule of places and weights in [0, 1]."""
    points, weights = rule
    times = t[chosen, None] + lengths[chosen, None] * points
    states = np.einsum("pi,eia->epa", element.state.basis.values(points), nodal[chosen])
    forces, = quantities_at(system, times.ravel(), states.reshape(-1, states.shape[-1]), "gradient")
    forces = forces.reshape(len(chosen), len(points), -1)[..., :system.n_q]
    return np.einsum("p,epa->ea", weights, forces) * lengths[chosen, None]
