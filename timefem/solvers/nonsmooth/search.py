"""The first event in elements that were solved in one mode: where functions become negative inside, from what is known
at their ends and between."""

from math import comb
from typing import NamedTuple

import numpy as np

from ...kernels.loops import compiled
from ...mechanics.values.evaluate import quantities_at
from . import events
from .events import CLOSES
from .options import CONTACT
from .sharing import OPEN
from .states import InMode

BERNSTEIN = np.array([[comb(i, j) / comb(5, j) for j in range(6)] for i in range(6)])  # from coefficients of powers
ROUNDING, SLIVER, VARIES = CONTACT.at_start, CONTACT.sliver, CONTACT.varies


def quintic(h, f0, f1):
    """Coefficients, the lowest first, in theta = (t - t0) / h, of the quintic through value, rate and acceleration at
    both ends, `f0` and `f1`."""
    a, b, c = f0[0], h * f0[1], h * h * f0[2] / 2
    d, e, g = f1[0] - a - b - c, h * f1[1] - b - 2 * c, h * h * f1[2] - 2 * c
    return a, b, c, 10 * d - 4 * e + g / 2, -15 * d + 7 * e - g, 6 * d - 3 * e + g / 2


_quintic = compiled(interpreted=True, error_model="numpy", _nrt=False)(quintic)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _coefficients(h, f0, f1, five):
    """`quintic`, and the largest distance of it in the element from the cubic through values and rates; of that over
    the square of theta, too."""
    five[0], five[1], five[2], five[3], five[4], five[5] = _quintic(h, f0, f1)
    d, e, margin, curved = f1[0] - five[0] - five[1], h * f1[1] - five[1], 0.0, 0.0
    second, third = five[2] - (3 * d - e), five[3] - (e - 2 * d)
    for i in range(33):
        x = i / 32
        apart = abs(second + x * (third + x * (five[4] + x * five[5])))
        margin, curved = max(margin, x * x * apart), max(curved, apart)
    return margin, curved


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _at(f, x):
    value = 0.0
    for i in range(f.shape[0] - 1, -1, -1):
        value = value * x + f[i]
    return value


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _root(f, low, high):
    """A root of a polynomial between places where it has other signs, by regula falsi (Illinois) and bisection."""
    below, above, side = _at(f, low), _at(f, high), 0
    x = low
    for k in range(200):
        x = (low * above - high * below) / (above - below) if k % 4 < 3 else 0.5 * (low + high)
        if not low < x < high:
            x = 0.5 * (low + high)
        if not low < x < high or high - low <= 1e-15:
            break
        value = _at(f, x)
        if value == 0.0:
            break
        if (value > 0.0) == (below > 0.0):
            low, below = x, value
            if side == 1:
                above *= 0.5
            side = 1
        else:
            high, above = x, value
            if side == 2:
                below *= 0.5
            side = 2
    return x


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _turning(f, slopes, places):
    """Where a quintic turns inside of (0, 1), in places[1:]; their number. Between roots of the derivative of a
    polynomial there is at most one of its own, and it changes its sign there."""
    n = 0
    for degree in range(1, 5):  # of the derivatives, the highest first
        slope = slopes[:degree + 1]
        for i in range(degree + 1):
            slope[i] = f[i + 5 - degree]
            for j in range(5 - degree):
                slope[i] *= i + 5 - degree - j
        places[0], places[n + 1], found = 0.0, 1.0, 0
        low, below = 0.0, _at(slope, 0.0)
        for i in range(1, n + 2):
            high = places[i]
            above = _at(slope, high)
            if below * above < 0.0 or (above == 0.0 and below != 0.0 and high < 1.0):
                found += 1
                places[found] = high if above == 0.0 else _root(slope, low, high)
            low, below = high, above
        n = found
    places[n + 1] = 1.0
    return n


def may_close(h, gap, gap1, rate, rate1, still, opens):
    """Whether a gap may close in an element of length h, by the gaps and rates at its ends: it lies above lines from
    both ends along the least and the largest rate that it may have there. What `opens` at the start grows at once.

    Of 10^5 gaps with an oscillation of circular frequency w that close between positive ends it misses none up to
    w h = 4, and 0.2 % at w h = 6.
    """
    mean = (gap1 - gap) / h
    low, high = np.minimum(np.minimum(rate, rate1), mean), np.maximum(np.maximum(rate, rate1), mean)
    varies = VARIES * (high - low)
    grows = (low - varies > still) & (opens | (gap >= 0.0))
    low, high = np.minimum(low - varies, 0.0), np.maximum(high + varies, 0.0)
    least = high * gap - low * gap1 + h * low * high  # where the lines meet, times (high - low)
    return np.logical_not(grows) & (least <= SLIVER * h * np.abs(rate1) * (high - low))


MAY_CLOSE = compiled(interpreted=True, error_model="numpy", _nrt=False)(may_close)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def closings(h, f0, f1, at_zero, still, scratch, found):
    """What gaps do in elements.

    Parameters
    ----------
    h : ndarray, shape (n,)
    f0, f1 : ndarray, shape (n, 3)
        Gap, rate and acceleration at the ends.
    at_zero : ndarray of bool, shape (n,)
        Whether it is zero at the start because it has just opened, or bounced, or is side by side without a force.
    still : ndarray, shape (n,)
        Rates that are none.
    scratch : ndarray, shape (5, 6)
    found : ndarray, shape (n, 3)
        Of each the first theta at which it becomes negative; where it is least inside, below the margin, but not
        negative; NaN where there is none. Then whether it stays above the margin by its Bernstein coefficients.
    """
    five, slopes, places, start = scratch[0], scratch[1], scratch[2], scratch[3, :3]
    for k in range(h.shape[0]):
        found[k, 0] = found[k, 1] = np.nan
        (margin, _), power = _coefficients(h[k], f0[k], f1[k], five), 0
        least = np.inf
        for i in range(6):
            value = 0.0
            for j in range(i + 1):
                value += BERNSTEIN[i, j] * five[j]
            least = min(least, value)
        found[k, 2] = 1.0 if least > margin else 0.0
        if found[k, 2] and not at_zero[k]:
            continue
        if at_zero[k]:
            start[0], start[1], start[2] = 0.0, f0[k, 1] if abs(f0[k, 1]) > still[k] else 0.0, f0[k, 2]
            _, margin = _coefficients(h[k], start, f1[k], five)  # near the start there is hardly any distance
            while five[0] == 0.0 and power < 2:  # that root does not count: divide by theta
                for i in range(5):
                    five[i] = five[i + 1]
                five[5], power = 0.0, power + 1
        size = 0.0
        for i in range(6):
            size = max(size, abs(five[i]))
        n, bound = _turning(five, slopes, places), -ROUNDING * size if at_zero[k] else 0.0
        places[0] = 0.0
        before = _at(five, 0.0)
        if before < bound:
            found[k, 0] = 0.0
            continue
        for i in range(1, n + 2):
            value = _at(five, places[i])
            if value < bound:
                found[k, 0] = _root(five, places[i - 1], places[i]) if before > 0.0 else places[i - 1]
                found[k, 1] = np.nan
                break
            if i <= n and np.isnan(found[k, 1]) and value <= before and value <= _at(five, places[i + 1]) and \
                    value * places[i]**power < margin * (places[i]**2 if at_zero[k] else 1.0):
                found[k, 1] = places[i]
            before = value


def first_negative(theta, values, starts_at_zero, none=0.0):
    """First theta at which a function, of values at increasing theta from 0 to 1, becomes negative; None without.

    Where it `starts_at_zero`, that root does not count. Values up to `none` are no values.
    """
    values = np.where(np.abs(values) <= none, 0.0, values)
    if starts_at_zero:
        inner = theta > 0
        theta, values = theta[inner], values[inner] / theta[inner]
    size = np.abs(values).max(initial=0.0)
    values[np.abs(values) <= 1e-9 * size] = 0.0
    below = np.flatnonzero(values < 0)
    if not len(below):
        return None
    k = int(below[0])
    if k == 0:
        return 0.0 if not starts_at_zero else float(theta[0])
    near = slice(max(0, k - 3), min(len(theta), k + 3))
    f = _polynomial(theta[near], values[near])
    low, high = theta[k - 1], theta[k]
    if not float(f(low)) > 0:
        return float(low)
    return _crossing(f, float(low), float(high))


def _polynomial(x, y):
    """The function that is a polynomial through a few points, by barycentric weights."""
    apart = x[:, None] - x
    np.fill_diagonal(apart, 1.0)
    weights = 1 / apart.prod(axis=1)

    def value(at):
        left = at - x
        if not left.all():
            return float(y[left == 0][0])
        shares = weights / left
        return float(shares @ y / shares.sum())

    return value


def _crossing(f, low, high):
    """Where a function falls through zero between two places, by false position that halves what stays."""
    above, below, last = f(low), f(high), low
    for _ in range(100):
        at = (low * below - high * above) / (below - above)
        value = f(at)
        if value == 0 or abs(at - last) <= 1e-14:
            break
        if value > 0:
            below = below / 2 if last == low else below
            low, above = at, value
        else:
            above = above / 2 if last == high else above
            high, below = at, value
        last = at
    return at


class Candidate(NamedTuple):
    """An event that is to be located: of a contact, at theta of an element."""

    kind: str
    contact: int
    theta: float


class Search:
    """Events of a motion in one mode.

    Parameters
    ----------
    contacts : Contacts
    degree : int
        Of the element.
    until : float
        End of the mesh.
    """

    def __init__(self, contacts, degree, until):
        self.contacts, self.until = contacts, until
        self.still, self.touching = np.zeros((2, contacts.n))
        self._scratch = np.zeros((5, 6))
        n, self.fine = 2 * degree + 6, np.linspace(0, 1, CONTACT.samples)
        self.theta = np.concatenate([[0.0], (1 - np.cos(np.pi * (np.arange(n) + 0.5) / n)) / 2, [1.0]])

    def first(self, mode, directions, t, z, zero, but=()):
        """The first event in elements with ends at times t (n + 1,), in states z (n + 1, n_z).

        Parameters
        ----------
        mode : Mode
        directions : ndarray, shape (n_contacts, 2)
            Of slips at the start.
        zero : set of (str, int)
            What is zero at the start because it has just begun.
        but : set of (str, int)
            What is no event in them, as was found out.

        Returns
        -------
        element : int or None
        candidate : Candidate
        """
        modes = np.array(mode.modes)
        free = np.flatnonzero((modes == OPEN) & ~self.contacts.persistent)
        bound = ((modes != OPEN) & (~self.contacts.persistent | (self.contacts.n_slip > 0))).any()
        self.gaps, rates = quantities_at(self.contacts.system, t, z, "gaps", "gap rates", repeatable=False)
        self.gamma = rates[:, :, None]  # with slips where something is closed
        h = np.diff(t)[:, None]
        near = np.zeros((len(h), self.contacts.n), bool)
        if len(free):
            opens = np.zeros(near.shape, bool)
            opens[0, [c for kind, c in zero if kind == CLOSES]] = True
            found = may_close(h, self.gaps[:-1], self.gaps[1:], rates[:-1], rates[1:], self.still, opens)
            near[:, free] = found[:, free]
        flagged = near.any(axis=1)
        if not (flagged.any() or bound):
            return None, None
        # all nodes where forces are asked for, else those of elements where something may close
        own = np.arange(len(t)) if bound else np.flatnonzero(np.append(flagged, False) | np.append(False, flagged))
        states = self.contacts.at_state(t[own], z[own])
        here = InMode(states, mode.modes, directions, mode.sharing)
        self.gamma = states.gamma if bound else self.gamma
        forces = self._of_forces(mode, directions, states, here, zero) if bound else [[]] * len(h)
        place = np.searchsorted(own, np.arange(len(t)))
        closings = self._of_gaps(states, here, h[:, 0], near, place, zero, t[1:] < self.until)
        for e, found in enumerate(forces):
            found = [one for one in found + closings.get(e, []) if one[:2] not in but]
            if found:
                return e, _earliest(found)
        return None, None

    def _of_gaps(self, states, here, h, near, place, zero, goes_on):
        """Candidates of contacts that are open, by element, those up to the first element that has some.

        `place` is that of the nodes among the states; where the mesh `goes_on` what closes just beyond the end of an
        element does so in it, as no element is to be as short as that.
        """
        e, c = np.nonzero(near)
        ends = np.stack([states.gap, states.gamma[:, :, 0], here.accelerations[:, :, 0]], axis=2)
        f0, f1 = ends[place[e], c], ends[place[e + 1], c]
        started = np.array([at == 0 and (CLOSES, int(k)) in zero for at, k in zip(e, c, strict=True)], bool)
        level = np.where(started, np.minimum(f0[:, 0], 0), 0)  # what overlaps and parts is to get no deeper
        f1[:, 0] -= level
        # along the normals at the start: of thin bodies that pass through each other in one element
        moves = np.zeros_like(states.q)
        moves[:-1] = np.diff(states.q, axis=0)
        behind = (states.gap + states.jacobian.times(moves)[:, ::3])[place[e], c] < 0
        # side by side, without a force
        rests = (np.abs(f0[:, 0]) <= self.touching[c]) & (np.abs(f0[:, 1]) <= self.still[c])
        of = np.empty((len(e), 3))
        closings(h[e], f0, f1, rests | started, self.still[c], self._scratch, of)
        soon = goes_on[e] & ~rests & (f1[:, 0] > 0) & (f1[:, 0] <= -CONTACT.sliver * h[e] * f1[:, 1])
        of[soon, 0] = np.where(np.isnan(of[soon, 0]), 1.0, of[soon, 0])
        away = np.where(rests, f1[:, 0] >= -self.touching[c], (of[:, 2] > 0) & ~(behind | started | soon))
        found, between = {}, {}
        for k in np.flatnonzero(~away):
            at, contact = int(e[k]), int(c[k])
            if found and at not in found:
                break
            crossing, minimum = of[k, :2]
            candidate = None
            if crossing == crossing:
                candidate = Candidate(CLOSES, contact, float(crossing))
            elif behind[k]:
                if at not in between:
                    between[at] = states_between(self.fine, states, here.of_coordinates, place[at]).gap
                passed = self._passed(between[at][:, contact] - level[k], started[k])
                candidate = None if passed is None else Candidate(CLOSES, contact, passed)
            parts = minimum < CONTACT.at_start and f0[k, 0] > self.touching[contact]  # nearest at the start, and apart
            if candidate is None and minimum == minimum and not parts:
                candidate = Candidate(events.TOUCHES, contact, float(minimum))
            if candidate is not None:
                found.setdefault(at, []).append(candidate)
        return found

    def _of_forces(self, mode, directions, states, here, zero):
        """Candidates where functions of the forces of closed contacts become negative, by element."""
        n = len(states.t) - 1
        between = states_between(self.theta, states, here.of_coordinates)
        found = [[] for _ in range(n)]
        inside = InMode(between, mode.modes, directions, mode.sharing)
        keys, *both = values_of(directions, inside)
        values, terms = (value.reshape(len(keys), n, -1) for value in both)
        none = CONTACT.unsure * terms.max(axis=2, initial=0.0)
        slow = np.array([self.still[c] if kind == events.STICKS else 0.0 for kind, c in keys])
        none = np.maximum(none, slow[:, None])  # what has hardly begun to slip does not stop by rounding
        flagged = (values < -none[:, :, None]).any(axis=2)
        flagged[:, 0] |= [key in zero for key in keys]
        for k, e in np.argwhere(flagged).tolist():
            at = first_negative(self.theta, values[k, e], e == 0 and keys[k] in zero, none[k, e])
            if at is not None:
                found[e].append(Candidate(*keys[k], at))
        return found

    def _passed(self, gaps, starts_at_zero):
        """First theta at which sampled gaps become negative, or None."""
        size = np.abs(gaps).max()
        below = np.flatnonzero(gaps < -CONTACT.seen * size)
        below = below[below > (1 if starts_at_zero else 0)]
        if not len(below):
            return None
        k = int(below[0])
        share = gaps[k - 1] / (gaps[k - 1] - gaps[k]) if gaps[k - 1] > 0 else 0.0
        return float(self.fine[k - 1] + share * (self.fine[k] - self.fine[k - 1]))


def _earliest(candidates):
    """The first one: of a contact whose friction vanishes with its normal force, that it opens."""
    first = min(candidates, key=lambda candidate: candidate.theta)
    opens = [other for other in candidates if first.kind == events.SLIPS and other.kind == events.OPENS
             and other.contact == first.contact and other.theta - first.theta <= CONTACT.at_limit]
    return opens[0] if opens else first


def values_of(directions, here):
    """Functions that are positive as long as a mode lasts: (kind, contact) of each, their values (n_functions, n), and
    the size of the terms that these are differences of: friction may equal its limit exactly.
    """
    states, forces, places = here.states, here.forces, here.states.contacts.places(here.modes)
    closed, slips, holds = places.closed, places.slips, places.holds
    keys, values = [(events.OPENS, c) for c in closed.tolist()], [forces[:, closed, 0]]
    if len(slips):  # what begins has hardly a slip, and ends as soon as it has
        keys += [(events.STICKS, c) for c in slips.tolist()]
        values.append((states.gamma[:, slips, 1:] * directions[slips]).sum(axis=2))
    if len(holds):
        keys += [(events.SLIPS, c) for c in holds.tolist()]
        limit = states.friction[:, holds] * np.where(places.hangs, here.load[:, holds], forces[:, holds, 0])
        friction = np.hypot(forces[:, holds, 1], forces[:, holds, 2])
        margins = limit - friction
        if here.margins is not None:  # of forces that may be shared otherwise
            margins[:, np.searchsorted(holds, here.margins[0])] = here.margins[1]
        # what leans is at its limit until both vanish: smooth there, so that it opens and does not slip before
        values.append(np.where(places.leans, np.abs(limit) + CONTACT.lean * limit - friction, margins))
        terms = [*map(np.abs, values[:-1]), np.abs(limit) + friction]
    else:
        terms = [np.abs(value) for value in values]
    return keys, np.concatenate(values, axis=1).T, np.concatenate(terms, axis=1).T


def states_between(theta, states, accelerations, first=None):
    """`ContactStates` at theta in the elements between states (n + 1,), element by element, or in that after the first
    one of them: by the quintics through these and their derivatives."""
    own = slice(None) if first is None else slice(first, first + 2)
    times, q, v, a = states.t[own], *(value[own, None] for value in (states.q, states.v, accelerations))
    h = np.diff(times)
    x, length, flows = theta[:, None], h[:, None, None], states.contacts.flows
    given = v[:, :, flows]
    if len(flows):  # whose velocities are none, and whose rates stand among the accelerations
        v, a = v.copy(), a.copy()
        v[:, :, flows], a[:, :, flows] = a[:, :, flows], 0.0
    c0, c1, c2, c3, c4, c5 = quintic(length, (q[:-1], v[:-1], a[:-1]), (q[1:], v[1:], a[1:]))
    q = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
    v = (c1 + x * (2 * c2 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))) / length
    v[:, :, flows] = given[:-1] + x * (given[1:] - given[:-1])
    t, n_q = times[:-1, None] + h[:, None] * theta, q.shape[-1]
    return states.contacts.at(t.ravel(), q.reshape(-1, n_q), v.reshape(-1, n_q))
