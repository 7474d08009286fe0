"""Unknowns inside of blocks eliminated before the chain of blocks, 8 blocks at a time, by one list of multiplications.

In an element between two nodes these are states and controls inside, with as many equations; of some elements that
follow each other the nodes between them go as well, which leaves a shorter chain. Pivots of order 1 and 2 are chosen by
some blocks, so that no multiplier is large, and tested in all; what is eliminated is symmetric still, so that negative
eigenvalues sum up.
"""

from copy import copy
from functools import cached_property

import numpy as np

from ...kernels.lanes import LANES
from ...kernels.record import aligned
from ...records import frozen
from . import ldl_inside_loops as loops


@frozen
class Limits:
    """From where on the inside of blocks is eliminated first, and by which pivots."""

    least_blocks: int = 1000  # of a chain: preparing takes as long as an iteration, and some 20 ms
    least_inside: float = 0.3  # of the unknowns of a block
    most_plans: int = 6
    together: int = 4  # blocks at most, a power of 2; of 8 factors take a sixth less time, but solves more
    samples: int = 16  # blocks by which pivots are chosen
    good: float = 100.0  # multiplier in those
    largest: float = 1e4  # in any, which one step of refinement makes up for


LIMITS = Limits()


class Alike:
    """Blocks of a chain that have one pattern, some that follow each other taken together.

    Parameters
    ----------
    chain : Chain
    together : int
        How many.

    Attributes
    ----------
    blocks : ndarray of int
        The first of each group, rising, a multiple of 8 of them.
    together : int
    size, n, before, held : int
        Unknowns of a block, of a group, of the block before that it is coupled to, and its own that the next one is
        coupled to.
    rows, columns : ndarray of int
        Places of the entries, local: unknowns of the group, then of the block before.
    """

    def __init__(self, chain, together=1):
        sizes, of_own, of_coupled = np.diff(chain.starts), np.diff(chain.own), np.diff(chain.coupled)
        before = np.concatenate([[-1], chain.held[:-1]])
        block = len(sizes) // 2
        counts = sizes, chain.held, before, of_own, of_coupled, np.concatenate([[0], sizes[:-1]])
        same = np.all([count == count[block] for count in counts], axis=0)
        same[0] = False  # coupled to what is before the chain
        blocks = np.flatnonzero(same)
        for starts, places in ((chain.own, chain.own_places), (chain.coupled, chain.coupled_places)):
            n = starts[block + 1] - starts[block]
            found = places[starts[blocks][:, None] + np.arange(n)]
            blocks = blocks[np.all(found == places[starts[block]:starts[block] + n], axis=1)]
        self._chain, self._blocks, self.size = chain, blocks, int(sizes[block])
        self.before, self.held = int(before[block]), int(chain.held[block])
        height, stride = (-(-n // LANES) * LANES for n in (self.size + self.held + chain.border, self.size))
        own, coupled = (places[starts[block]:starts[block + 1]].astype(int) for starts, places in (
            (chain.own, chain.own_places), (chain.coupled, chain.coupled_places)))
        self._own, self._coupled = (own % height, own // height), (coupled // stride, coupled % stride)
        self._group(together)

    def _group(self, together):
        self.together, self.n, blocks = together, together * self.size, self._blocks
        first = np.concatenate([[True], np.diff(blocks) != 1])[:len(blocks)]
        place = np.arange(len(blocks)) - np.flatnonzero(first)[np.cumsum(first) - 1]  # in a row of such blocks
        last = np.concatenate([place, [0] * together])[together - 1:len(blocks) + together - 1]
        blocks = blocks[(place % together == 0) & (last == place + together - 1)]
        self.blocks = blocks[:len(blocks) // LANES * LANES]
        rows, columns = [], []
        for k in range(together):
            at = k * self.size
            rows += [at + self._own[0], (at - self.before if k else self.n) + self._coupled[0]]
            columns += [at + self._own[1], at + self._coupled[1]]
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        self.rows, self.columns = np.maximum(rows, columns), np.minimum(rows, columns)

    def grouped(self, together):
        """The same blocks with other groups."""
        other = copy(self)
        other._group(together)
        return other

    def groups_of(self, blocks):
        """Numbers of groups that have these blocks, or are near."""
        return np.unique(np.maximum(np.searchsorted(self.blocks, blocks, "right") - 1, 0))

    @property
    def present(self):
        """Which entries are no structural zeros."""
        out = np.zeros((self.n + self.before,) * 2, bool)
        out[self.rows, self.columns] = out[self.columns, self.rows] = True
        return out

    def entries(self, which=slice(None)):
        """Starts, sources and numbers of the entries of some groups, block by block: of their own, then of those of
        couplings."""
        c, blocks = self._chain, self.blocks[which]
        return [(starts[blocks + k], sources, np.arange(starts[self.blocks[0] + 1] - starts[self.blocks[0]]))
                for k in range(self.together)
                for starts, sources in ((c.own, c.own_sources), (c.coupled, c.coupled_sources))]

    @property
    def unknowns(self):
        """By their local numbers, shape (n_groups, n + before)."""
        first = self._chain.starts[self.blocks][:, None]
        return self._chain.unknowns[first + np.concatenate([np.arange(self.n), np.arange(-self.before, 0)])]

    def matrices(self, values, which):
        """Those of some groups, dense and symmetric, shape (n, n + before, n + before)."""
        n = self.n + self.before
        sources = np.concatenate([table[starts[:, None] + at] for starts, table, at in self.entries(which)], axis=1)
        out = np.zeros((len(which), n, n))
        np.add.at(out, (slice(None), self.rows, self.columns), values[sources])
        lower = np.tril(out)
        return lower + np.tril(out, -1).transpose(0, 2, 1)


def choose_for_groups(samples, alike, good):
    """How many blocks are taken together, those of `alike` at most, and pivots, as of `choose_pivots`.

    What is inside of one block first, then what is left between two, between these and the next two, and so on, as long
    as that makes the chain that is left less work.

    Parameters
    ----------
    samples : (n, m, m) float
        Groups of `alike`.
    alike : Alike
    good : float
    """
    together, size = 1, alike.size
    order = choose_pivots(_parts(samples, alike, 1), alike.grouped(1).present, size - alike.held, good)
    while 2 * together <= alike.together:
        pair = alike.grouped(2 * together)
        first = [tuple(k + at for k in pivot) for at in (0, together * size) for pivot, _ in order]
        longer = choose_pivots(_parts(samples, alike, 2 * together), pair.present, pair.n - alike.held, good, first)
        before, after = (n * size - _count(found) for n, found in ((together, order), (2 * together, longer)))
        if after**3 >= 2 * before**3:
            break
        together, order = 2 * together, longer
    return together, order


def _count(order):
    return sum(len(pivot) for pivot, _ in order)


def _parts(samples, alike, together):
    """Samples of so many blocks, of those of groups."""
    n, step, before = alike.n, together * alike.size, np.arange(-alike.before, 0)
    parts = [np.concatenate([np.arange(at, at + step), (at or n + alike.before) + before]) for at in range(0, n, step)]
    return np.concatenate([samples[:, part[:, None], part] for part in parts])


def choose_pivots(samples, present, n_inside, good, first=()):
    """Pivots in the order of elimination, each as (unknowns, unknowns that take from them).

    Those of fewest multiplications whose multipliers are no larger than `good` in all samples, until none is left.

    Parameters
    ----------
    samples : (n, m, m) float, overwritten
    present : (m, m) bool, overwritten
        Which entries are no structural zeros.
    n_inside : int
        Unknowns that may be eliminated, the first ones.
    good : float
    first : list
        Pivots that are known already, without what takes from them.
    """
    inside, here, order, small = np.arange(n_inside), np.ones(len(present), bool), [], {}

    def eliminate(pivot, taking):
        at = list(pivot)
        change = np.einsum("sik,sjk->sij", samples[:, taking[:, None], at], _multipliers(samples, at, taking))
        samples[:, taking[:, None], taking] -= change
        present[np.ix_(taking, taking)] = True
        present[np.ix_(taking, at)] = True
        order.append((pivot, taking))
        here[at] = False
        changed = {*at, *taking.tolist()}
        for other in [other for other in small if not changed.isdisjoint(other)]:
            del small[other]

    def take_from(pivot):
        taking = here & present[:, list(pivot)].any(axis=1)
        taking[list(pivot)] = False
        return np.flatnonzero(taking)

    def is_good(pivot):
        if pivot not in small:
            small[pivot] = bool(_largest_multiplier(samples, list(pivot), take_from(pivot)) <= good)
        return small[pivot]

    with np.errstate(all="ignore"):
        for pivot in first:
            eliminate(pivot, take_from(pivot))
        inside = inside[here[:n_inside]]
        while len(inside):
            pivot = next(filter(is_good, _by_multiplications(present[here][:, inside], present[inside][:, inside],
                                                             inside)), None)
            if pivot is None:
                break
            eliminate(pivot, take_from(pivot))
            inside = inside[here[inside]]
    return order


def _by_multiplications(columns, among, names):
    """Pivots of one and two unknowns, of fewest multiplications first: what takes from each is counted in columns."""
    together = columns.T.astype(np.float32) @ columns
    counts = np.diagonal(together)
    single, (second, one) = np.flatnonzero(np.diagonal(among)), np.nonzero(np.tril(among, -1))
    order = np.lexsort((second, one))
    one, second = one[order], second[order]
    number = np.concatenate([counts[single] - 1, counts[one] + counts[second] - together[one, second] - 2])
    pivots = [(k,) for k in names[single].tolist()] + list(zip(names[one].tolist(), names[second].tolist(),
                                                               strict=True))
    return (pivots[i] for i in np.argsort(number, kind="stable"))


def _multipliers(samples, pivot, taking):
    """`L = C D^-1` of the pivots D, shape (n, n_taking, n_pivot)."""
    c, d = samples[:, taking[:, None], pivot], samples[:, np.array(pivot)[:, None], pivot]
    if len(pivot) == 1:
        return c / d
    a, b, e = d[:, 0, 0], d[:, 0, 1], d[:, 1, 1]
    return c @ (np.array([[e, -b], [-b, a]]).transpose(2, 0, 1) / _sizes(d))


def _sizes(d):
    """Determinants of pivots, shape (n, 1, 1)."""
    return d if d.shape[1] == 1 else (d[:, 0, 0] * d[:, 1, 1] - d[:, 0, 1] ** 2)[:, None, None]


def _largest_multiplier(samples, pivot, taking):
    """Its magnitude in all samples; infinite where a pivot is singular, whatever takes from it."""
    sizes = _sizes(samples[:, np.array(pivot)[:, None], pivot])
    return np.abs(_multipliers(samples, pivot, taking)).max(initial=0.0) if sizes.all() else np.inf


def make_plan(order, alike):
    """The `Plan` for an order of elimination, local numbers outside, and (rows, columns) of what is left by these."""
    n, inside = alike.n + alike.before, [k for pivot, _ in order for k in pivot]
    outside = np.setdiff1d(np.arange(n), inside)
    number = np.empty(n, int)
    number[np.concatenate([inside, outside]).astype(int)] = np.arange(n)
    back = np.argsort(number)
    present = alike.present[np.ix_(back, back)]
    steps = [([number[k] for k in pivot], number[taking]) for pivot, taking in order]
    for pivot, taking in steps:
        for rows, columns in ((taking, taking), (taking, pivot), (pivot, taking), (pivot, pivot)):
            present[np.ix_(rows, columns)] = True
    left = np.nonzero(np.tril(present[len(inside):, len(inside):]))
    done = np.nonzero(np.tril(present) & (np.arange(n) < len(inside)))
    place = np.full((n, n), -1)
    place[done] = np.arange(len(done[0]))
    place[len(inside) + left[0], len(inside) + left[1]] = len(done[0]) + np.arange(len(left[0]))
    place = np.maximum(place, place.T)
    rows, tables, kept = np.zeros(len(steps), loops.STEP), ([], [], []), 0
    for s, (pivot, taking) in enumerate(steps):
        k, m = pivot[0], pivot[-1]
        second = m * LANES if len(pivot) == 2 else -1
        starts = [sum(map(len, table)) for table in tables]
        rows[s] = (k * LANES, second, place[k, k] * LANES, place[k, m] * LANES, place[m, m] * LANES, kept * LANES,
                   starts[0], len(taking), starts[1], starts[2])
        kept += 2 * len(pivot) - 1 + len(pivot) * len(taking)
        i, j = np.triu_indices(len(taking))
        for table, found in zip(tables, (taking, place[pivot][:, taking].ravel(), place[taking[i], taking[j]]),
                                strict=True):
            table.append(found)
    numbers, entries, targets, places = (np.ascontiguousarray(np.asarray(table) * LANES, np.int32) for table in (
        *map(np.concatenate, tables), place[number[alike.rows], number[alike.columns]]))
    n_places = (len(done[0]) + len(left[0])) * LANES
    plan = loops.Plan(rows, numbers, entries, targets, places, n_places, len(left[0]), kept, len(inside), len(outside))
    return plan, outside, left


class Inside:
    """The inside of blocks, and the chain that is left.

    Parameters
    ----------
    chain : Chain
    alike : Alike
    order : list
        As of `choose_pivots`.
    blocks, last
        As of `BlockLDL`.
    make : callable
        `BlockLDL`, for what is left.

    Attributes
    ----------
    order
    negative, ends
        As of `BlockLDL`.
    bad : ndarray of int
        The first blocks of groups with too large a multiplier.
    """

    def __init__(self, chain, alike, order, blocks, last, make):
        self.order, (self.plan, outside, (rows, columns)) = order, make_plan(order, alike)
        plan, n, border, self._blocks = self.plan, len(chain.unknowns), chain.border, alike.blocks
        unknowns, inside = alike.unknowns, [k for pivot, _ in order for k in pivot]
        stays = np.ones(n, bool)
        stays[unknowns[:, inside]] = False
        self._left, number = np.flatnonzero(stays), np.full(n + border, -1)
        number[self._left], number[n:] = np.arange(len(self._left)), len(self._left) + np.arange(border)
        places, n_blocks = number[unknowns[:, outside]], len(unknowns)
        first = np.arange(n_blocks)
        self.group = loops.Group(
            _in_lanes(n_blocks, alike.entries()),
            *(_in_lanes(n_blocks, [(first * table.shape[1], table.ravel(), at)])
              for table, at in ((unknowns, np.array(inside)), (places, np.arange(len(outside))))),
            aligned(n_blocks * plan.n_kept), aligned(n_blocks * plan.n_inside), aligned(n_blocks),
            aligned(plan.n_places + LANES * LANES), aligned((plan.n_inside + plan.n_outside) * LANES))
        of_others = self._others(chain, alike, number)
        self._of_others = of_others[2]
        self._values = np.empty(len(of_others[2]) + n_blocks * plan.n_left)
        new = np.ones(len(chain.held), int)  # blocks of what is left: one for each group
        new[alike.blocks[:, None] + np.arange(1, alike.together)] = 0
        of_left = [np.concatenate([other, places[:, at].ravel()])
                   for other, at in zip(of_others[:2], (rows, columns), strict=True)]
        self._reduced = make((np.cumsum(new) - 1)[blocks[self._left]], *of_left, None, border, number[last],
                             condenses=False)

    @staticmethod
    def _others(chain, alike, number):
        """Places and sources of entries of other blocks."""
        others = np.ones(len(chain.held), bool)
        others[alike.blocks[:, None] + np.arange(alike.together)] = False
        found = [[], [], []]
        before = np.concatenate([[chain.border], chain.held[:-1]])
        for e in np.flatnonzero(others):
            first, n = chain.starts[e], chain.starts[e + 1] - chain.starts[e]
            height, stride = (-(-k // LANES) * LANES for k in (n + chain.held[e] + chain.border, n))
            own, coupled = slice(*chain.own[e:e + 2]), slice(*chain.coupled[e:e + 2])
            at, beside = chain.own_places[own], chain.coupled_places[coupled]
            of_before = chain.unknowns[first - before[e]:first] if e else len(chain.unknowns) + np.arange(before[e])
            unknowns = chain.unknowns[first:first + n]
            for part, values in zip(found, ((unknowns[at % height], of_before[beside // stride]),
                                            (unknowns[at // height], unknowns[beside % stride]),
                                            (chain.own_sources[own], chain.coupled_sources[coupled])), strict=True):
                part.extend(values)
        rows, columns, sources = (np.concatenate([np.zeros(0, int), *part]).astype(int) for part in found)
        return number[rows], number[columns], sources

    def factor(self, values):
        """Factor the matrix; False where a multiplier is too large, or what is left is singular."""
        n = len(self._of_others)
        self._values[:n] = values[self._of_others]
        negative, self._least, n_bad = loops.eliminate(self.plan, self.group, values, LIMITS.largest, self._values[n:])
        # numbers that are not finite are no fault of the pivots
        self.bad = self._blocks[self.group.good == 0] if n_bad and np.isfinite(values).all() else ()
        if n_bad or not self._reduced.factor(self._values):
            return False
        self.negative = negative + self._reduced.negative
        return True

    @property
    def ends(self):
        return self._reduced.ends

    @property
    def least_pivot(self):
        return min(self._least, self._reduced.least_pivot)

    def eliminate(self, b):
        left = np.empty(len(self._left))
        loops.forward(self.plan, self.group, b, self._left, left)
        return self._reduced.eliminate(left)

    def recover(self, work, ends):
        x, out = self._reduced.recover(work, ends), np.empty(len(self._left) + self.group.inside.size)
        loops.backward(self.plan, self.group, x, self._left, out)
        return out


class InsideFirst:
    """Decides whether the inside of blocks is eliminated first, and by which pivots.

    Those are chosen by the second matrix, as the first is a start's, and again, with blocks that they did not do for,
    where there are such.

    Parameters
    ----------
    chain, blocks, last, make
        As of `Inside`.
    """

    def __init__(self, chain, blocks, last, make):
        self._chain, self._others, self._samples, self._last = chain, (blocks, last, make), [], None
        self._pays, self._first = len(chain.held) >= LIMITS.least_blocks, True

    def factor(self, values):
        """Factor the matrix; the `Inside` that did, None where the chain of blocks is to."""
        first, self._first = self._first, False
        if first or not self._pays:
            return None
        if self._last is None:
            n = max(1, LIMITS.samples // self._alike.together)
            self._choose(values, np.linspace(0, len(self._alike.blocks) - 1, n).astype(int))
        while self._last is not None and not self._last.factor(values):
            if not len(self._last.bad):
                return None
            self._choose(values, self._alike.groups_of(self._last.bad)[:LIMITS.samples])
        return self._last

    @cached_property
    def _alike(self):
        alike, together = Alike(self._chain), LIMITS.together
        while together > 1 and not self._are_many(alike.grouped(together)):
            together //= 2
        return alike.grouped(together)

    def _are_many(self, alike):
        return 2 * alike.together * len(alike.blocks) >= len(self._chain.held)

    def _choose(self, values, which):
        """Choose pivots by some blocks, and those of earlier choices."""
        alike, self._last = self._alike, None
        self._pays = len(self._samples) < LIMITS.most_plans and self._are_many(alike)
        if not self._pays:
            return
        samples = alike.matrices(values, which)
        if not np.isfinite(samples).all():  # they would tell nothing
            return
        self._samples.append(samples)
        together, order = choose_for_groups(np.concatenate(self._samples), alike, LIMITS.good)
        self._pays = _count(order) >= LIMITS.least_inside * together * alike.size
        if self._pays:
            self._last = Inside(self._chain, alike.grouped(together), order, *self._others)


def _in_lanes(n_blocks, tables):
    """Numbers `table[start + at]` for 8 blocks after another, as int32; tables are (start of each block, table, at)."""
    width, row = sum(len(at) for *_, at in tables), 0
    out = np.empty(n_blocks * width, np.int32)
    for starts, table, at in tables:
        loops.into_lanes(np.ascontiguousarray(starts), table, at, row, width, out)
        row += len(at)
    return out
