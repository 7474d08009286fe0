"""Newton's law of impact with Coulomb's friction at any number of contacts.

`0 <= L_N _|_ xi_N >= 0`, `-xi_T in N_disk(mu L_N)(L_T)`, `xi = D L + b`: with the compliance D of the contacts (joints
eliminated) and `b = ((1 + e) gamma_N, gamma_T)` of the velocities gamma before the impact. Every contact has three
rows, the normal one and two along the surface; those that it has not have zeros in D and b.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...mechanics.values.evaluate import PerThread
from ...memory import Late
from .impact_loop import Law, proximal, residual
from .options import LAW

scipy = Late("scipy")

OPEN, STICKS, SLIDES, PRESSED = range(4)
SMALL = np.sqrt(np.finfo(float).tiny)


class Impact(NamedTuple):
    """What the law gives.

    Attributes
    ----------
    solved : bool
    impulses : ndarray, shape (n_contacts, 3)
    share : ndarray, shape (n_contacts,)
        Of the restitutions, below 1 where contacts jam or energy would have grown.
    statuses : ndarray of int, shape (n_contacts,)
        OPEN (no impulse), STICKS, SLIDES, or PRESSED without friction.
    energy : float
        Change of the kinetic energy.
    residual : float
        Relative to the velocities before.
    distance : float
        To a change of a status, relative to the largest velocity or impulse; zero where derivatives do not exist.
    iterations : int
        Of Newton's method, all attempts.
    """

    solved: bool
    impulses: np.ndarray
    share: np.ndarray
    statuses: np.ndarray
    energy: float
    residual: float
    distance: float
    iterations: int


class _Scaled:
    """The law with one size per contact, so that the diagonal of D is near one."""

    def __init__(self, compliance, friction, options, bound=None):
        self.n, self.mu, self.options, self.work = len(friction), friction, options, np.full(1, options.work)
        diagonal = np.abs(np.diag(compliance)).reshape(-1, 3)
        there = diagonal > options.blocked * diagonal.max(axis=1, initial=0.0)[:, None]  # others are blocked by joints
        count = np.maximum(there.sum(axis=1), 1)
        mean = (diagonal * there).sum(axis=1) / count
        size = np.repeat(1 / np.sqrt(np.where(mean > 0, mean, 1.0)), 3)
        self.size = np.where(there.ravel(), size, 0.0)
        self.d = self.size[:, None] * compliance * self.size
        self.bound = np.zeros(self.n) if bound is None else bound / size[::3]  # of friction under a given load
        absent = ~there.ravel()
        self.d[absent, absent] = 1.0

    def relative(self, *velocities):
        """Velocities scaled, relative to the largest of them, as the given friction is from then on; and that size.

        Where these are next to nothing beside given friction, such as accelerations that have underflowed, the size is
        so small a part of it that it can still be distinguished from infinity.
        """
        scaled = [v.ravel() * self.size for v in velocities]
        largest = max(np.abs(v).max(initial=0.0) for v in scaled)
        largest = max(largest, SMALL * self.bound.max(initial=0.0))
        if largest > 0:
            scaled, self.bound = [v / largest for v in scaled], self.bound / largest
        return scaled, largest

    @cached_property
    def _law(self):
        law = kept_law(self.n, self.options)
        law.compliance[:], law.friction[:], law.bound[:], law.count[0] = self.d, self.mu, self.bound, 0
        return law

    @property
    def iterations(self):
        """Of Newton's method, all attempts."""
        return int(self._law.count[0])

    def residual(self, impulses, b):
        """Largest entry of `L - proj(L - xi)`."""
        return residual(self._law, impulses, b, 0.0, 0.0, 1.0)[1]

    @property
    def parts(self):
        """`L - xi` (n, 3), length and radius along the surface, as of the last residual."""
        return self._law.a.reshape(-1, 3), self._law.length, self._law.radius

    def proximal(self, start, b, r=1.0, largest=0.0):
        """Solutions of laws with a shift about the last one, until that has no effect; None where one fails, unless
        the shift may become larger."""
        x = start.copy()
        return x if proximal(self._law, x, b, self.options.shift, r, largest) else None

    def _angles(self, impulses, b):
        """Of friction against the slips, or of that of what sticks: a facet there is exact where directions stay."""
        xi, along = (self.d @ impulses + b).reshape(-1, 3), impulses.reshape(-1, 3)
        slides = np.hypot(xi[:, 1], xi[:, 2]) > self.options.stalled
        return np.where(slides, np.arctan2(-xi[:, 2], -xi[:, 1]), np.arctan2(along[:, 2], along[:, 1]))

    def solve(self, b, lemke):
        """Impulses, or None; with `lemke` by further starts."""
        o = self.options
        for r in o.steps:
            found = self.proximal(np.zeros(3 * self.n), b, r)
            if found is not None:
                break
        if found is not None or not lemke:
            return found
        starts = []
        for facets in o.facets:
            angles = None
            for _ in range(o.turns):
                start = faceted(self.d, b, self.mu, facets, angles, self.work)
                if start is None:
                    break
                found = self.proximal(start, b)
                if found is not None:
                    return found
                starts.append(start)
                angles = self._angles(start, b)
        for start in (np.zeros(3 * self.n), *starts):
            if (found := self.proximal(start, b, largest=o.largest_shift)) is not None:
                return found
        left = [self.residual(start, b) for start in starts]  # no method may improve on rounding
        return starts[int(np.argmin(left))] if min(left, default=np.inf) < o.stalled else None


_laws = PerThread()


def kept_law(n, options):
    """The `Law` of this thread at n contacts, with what the last one left; of many contacts a new one.

    To make one of few takes longer than to solve it.
    """
    law = _laws.things.get((n, options))
    if law is None:
        law = law_arrays(n, options)
        if n <= options.kept:
            _laws.things[n, options] = law
    return law


def law_arrays(n, options):
    """A `Law` of n contacts, whose compliance (3 n, 3 n), friction and bound (n,) are to be filled in."""
    o = options
    return Law(np.zeros((3 * n, 3 * n)), *np.zeros((2, n)), o.exact, o.stalled, o.rounds, o.iterations, o.halvings,
               np.zeros(o.memory), np.zeros(1, int), *np.zeros((6, 3 * n)), *np.zeros((2, n)),
               np.zeros((3 * n, 3 * n)))


def apart(compliance):
    """Contacts that depend on each other, list of ndarray of int: what the others do is nothing to them."""
    n = len(compliance) // 3
    joined = compliance.reshape(n, 3, n, 3).any(axis=(1, 3)) if n > 1 else np.ones((n, n), bool)
    if joined.all():
        return [np.arange(n)]
    label = scipy.sparse.csgraph.connected_components(joined, directed=False)[1]
    return [np.flatnonzero(label == k) for k in range(label.max(initial=-1) + 1)]


def _each(law, compliance, *arrays, options):
    """A `law` for each set of contacts that depend on each other: what it gives, and the contacts, for all of them."""
    for rows in apart(compliance):
        places = (3 * rows[:, None] + np.arange(3)).ravel()
        yield rows, law(compliance[np.ix_(places, places)], *(None if x is None else x[rows] for x in arrays), options)


def impact(compliance, before, restitution, friction, bound=None, options=LAW):
    """The impulses of an impact; contacts that do not depend on each other have laws of their own.

    Parameters
    ----------
    compliance : ndarray, shape (3 n_contacts, 3 n_contacts)
        D; rows and columns of tangents that a contact has not are zero.
    before : ndarray, shape (n_contacts, 3)
        Velocities gamma of the contacts before.
    restitution, friction : ndarray, shape (n_contacts,)
    bound : ndarray, shape (n_contacts,), optional
        Further friction, under given loads; of contacts with that alone the normal row is zero.
    options : LawOptions

    Returns
    -------
    Impact
    """
    n = len(friction)
    impulses, statuses, solved, share, energy, residual, distance, iterations = (
        np.zeros((n, 3)), np.zeros(n, int), True, np.ones(n), 0.0, 0.0, np.inf, 0)
    for rows, one in _each(_impact, compliance, before, restitution, friction, bound, options=options):
        impulses[rows], statuses[rows], share[rows] = one.impulses, one.statuses, one.share
        solved, energy, iterations = solved and one.solved, energy + one.energy, iterations + one.iterations
        residual, distance = max(residual, one.residual), min(distance, one.distance)
    return Impact(solved, impulses, share, statuses, energy, residual, distance, iterations)


def _impact(compliance, before, restitution, friction, bound, options):
    law = _Scaled(compliance, friction, options, bound)
    (gamma,), largest = law.relative(before)

    def right(share):
        b = gamma.copy()
        b[::3] *= 1 + share * restitution
        return b

    def change(x):
        return x @ gamma + x @ law.d @ x / 2

    found, share = None, 1.0
    shares = options.shares if restitution.any() else ()
    for share in shares:
        found = law.solve(right(share), lemke=share == 1.0 and law.n <= options.few)
        if found is not None:
            break
    if found is None:
        share = 0.0 if restitution.any() else 1.0
        found = law.solve(right(share), lemke=True)
    if found is None:
        return Impact(False, np.zeros((law.n, 3)), np.full(law.n, share), np.zeros(law.n, int), 0.0, np.inf, 0.0,
                      law.iterations)
    bound = options.gain * max(1.0, np.abs(found).max(initial=0.0))
    if change(found) > bound and share > 0 and restitution.any():
        found, share = _less_restitution(law, right, change, found, share, bound)
    return _result(law, found, right(share), share, change(found), largest)


def complementary(compliance, free, friction, bound, options=LAW):
    """The same law on acceleration level, without restitution: forces and statuses; None where none were found.

    The compliance need not be symmetric: what slides is a contact without friction, whose column has it.
    """
    forces, statuses = np.zeros((len(friction), 3)), np.zeros(len(friction), int)
    each = _each(_complementary, compliance, free.reshape(-1, 3), friction, bound, options=options)
    for rows, one in each:
        if one is None:
            return None
        forces[rows], statuses[rows] = one.impulses, one.statuses
    return forces, statuses


def _complementary(compliance, free, friction, bound, options):
    law = _Scaled(compliance, friction, options, bound)
    (b,), largest = law.relative(free)
    found = law.solve(b, lemke=not law.bound.any())
    return None if found is None else _result(law, found, b, 1.0, 0.0, largest)


def stepped(compliance, after, before, turned, restitution, friction, bound, options=LAW):
    """The law for the velocities at both ends of an element, `xi = after + D L + e before`, with impulses in between.

    What normal velocities before have because normals turn, `turned` (n_contacts,), is given back whatever e: what does
    not approach at the start keeps its gap. With no share of the restitutions friction acts against the mean slip, as
    which no work of the impulses is positive.

    Returns
    -------
    impulses, statuses, share
        As of an `Impact`; or None.
    """
    impulses, statuses, share = np.zeros_like(before), np.zeros(len(friction), int), 1.0
    each = _each(_stepped, compliance, after, before, turned, restitution, friction, bound, options=options)
    for rows, one in each:
        if one is None:
            return None
        impulses[rows], statuses[rows], share = one.impulses, one.statuses, min(share, one.share.min(initial=1.0))
    return impulses, statuses, share


def _stepped(compliance, after, before, turned, restitution, friction, bound, options):
    law = _Scaled(compliance, friction, options, bound)
    curved = np.zeros_like(before)
    curved[:, 0] = turned
    (free, start, curved), largest = law.relative(after, before, curved)

    def right(share):
        b = free + (1 - share) * start
        turned = curved[::3]
        normal = start[::3] - turned
        given = turned + np.where(normal > 0, normal, share * restitution * normal)  # what rises gains nothing
        b[::3] = free[::3] + given
        return b

    def change(x):
        return x @ (start + free + law.d @ x) / 2

    found, share = law.solve(right(1.0), lemke=False), 1.0
    if found is None:
        found, share = law.solve(right(0.0), lemke=not law.bound.any()), 0.0
    if found is None:
        return None
    gain = options.gain * max(1.0, np.abs(found).max(initial=0.0))
    if change(found) > gain and share > 0:
        found, share = _less_restitution(law, right, change, found, share, gain)
    return _result(law, found, right(share), share, 0.0, largest)


def _less_restitution(law, right, change, found, share, bound):
    """The largest share of the restitutions that was found with which energy does not grow, by bisection."""
    low, best = 0.0, law.solve(right(0.0), lemke=True)
    if best is None:
        return found, share
    high = share
    for _ in range(law.options.bisections):
        middle = (low + high) / 2
        trial = law.solve(right(middle), lemke=False)
        if trial is not None and change(trial) <= bound:
            low, best = middle, trial
        else:
            high = middle
    return best, low


def _result(law, x, b, share, energy, largest):
    residual, (a, length, radius) = law.residual(x, b), law.parts
    xi = (law.d @ x + b).reshape(-1, 3)
    pressed = (a[:, 0] > 0) | (law.bound > 0)
    slides = pressed & (length > radius) & (np.hypot(xi[:, 1], xi[:, 2]) > law.options.stalled)
    statuses = np.where(~pressed, OPEN, np.where(slides, SLIDES, STICKS))
    statuses[pressed & (law.mu + law.bound == 0)] = PRESSED
    rubs = pressed & (law.mu > 0)
    distance = min(np.abs(a[:, 0]).min(initial=np.inf), np.abs(length - radius)[rubs].min(initial=np.inf))
    return Impact(bool(energy <= law.options.gain * max(1.0, np.abs(x).max(initial=0.0)) or share == 0.0),
                  (x * law.size).reshape(-1, 3) * largest, np.full(law.n, share), statuses, float(energy) * largest**2,
                  float(residual), float(distance), law.iterations)


# ---- Lemke's method with faceted cones of friction: a start for the round ones

def faceted(compliance, b, friction, facets, angles=None, work=None):
    """Impulses (3 n,) of the law with polygons of `facets` corners instead of discs, the first corner of each at
    its angle (n,), or at zero; None where Lemke's method ends on a ray, or `work` is done.

    Stewart & Trinkle (1996): unknowns L_N, beta >= 0 (one per direction), lambda >= 0 (speed of sliding).
    """
    n = len(friction)
    rubs = np.flatnonzero(friction > 0)
    m = len(rubs)
    turned = np.zeros(n) if angles is None else angles
    every = 2 * np.pi * np.arange(facets) / facets
    place = np.zeros((3 * n, n + facets * m))
    place[3 * np.arange(n), np.arange(n)] = 1.0
    share = np.zeros((m, facets * m))
    for i, c in enumerate(rubs):
        columns = n + facets * i + np.arange(facets)
        place[3 * c + 1:3 * c + 3, columns] = np.cos(turned[c] + every), np.sin(turned[c] + every)
        share[i, facets * i:facets * (i + 1)] = 1.0
    size = n + facets * m + m
    matrix, q = np.zeros((size, size)), np.zeros(size)
    matrix[:n + facets * m, :n + facets * m] = place.T @ compliance @ place
    matrix[n:n + facets * m, n + facets * m:] = share.T
    matrix[n + facets * m:, n:n + facets * m] = -share
    matrix[n + facets * m + np.arange(m), rubs] = friction[rubs]
    q[:n + facets * m] = place.T @ b
    found = lemke(matrix, q, work)
    return None if found is None else place @ found[:n + facets * m]


def lemke(matrix, q, work=None):
    """z >= 0 with `w = matrix z + q >= 0` and `w.z = 0`, or None; `work`, shape (1,), is how many entries of tables may
    still be changed, and lessened."""
    work = np.full(1, np.inf) if work is None else work
    n = len(q)
    if (q >= 0).all():
        return np.zeros(n)
    # columns: w (n), z (n), the artificial one, right-hand side; w - matrix z - d z0 = q, with d against ties
    cover = 1 + 1e-3 * np.cos(np.arange(n))
    table = np.hstack([np.eye(n), -matrix, -cover[:, None], q[:, None]])
    basis = np.arange(n)
    row = int(np.argmin(q / cover))
    entering = 2 * n
    for _ in range(LAW.pivots * n):
        work -= table.size
        if work[0] < 0:
            return None
        leaving = basis[row]
        table[row] /= table[row, entering]
        others = np.arange(n) != row
        table[others] -= table[others, entering][:, None] * table[row]
        basis[row] = entering
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = table[:, -1]
            return np.maximum(z[n:2 * n], 0.0)
        entering = leaving + n if leaving < n else leaving - n
        column = table[:, entering]
        rows = np.flatnonzero(column > LAW.pivot * np.abs(column).max())
        if not len(rows):
            return None
        ratios = table[rows, -1] / column[rows]
        near = rows[ratios <= ratios.min() + LAW.pivot * (1 + abs(ratios.min()))]
        artificial = near[basis[near] == 2 * n]
        row = int(artificial[0]) if len(artificial) else int(near[np.argmax(column[near])])
    return None
