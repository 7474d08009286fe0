"""Compiled loops of `ldl_inside`: unknowns inside of blocks with one pattern, eliminated in 8 blocks at a time."""

import numpy as np

from ...kernels.lanes import LANES, copy_lanes, load, store, transpose_eight
from ...kernels.loops import compiled
from ...kernels.record import Record
from ...kernels.runs import (
    add_gathered,
    clear_runs,
    keep_largest,
    set_product,
    set_two_products,
    take_product,
    take_products,
    take_two_products,
)

# One pivot: its unknowns (the second -1 where there is one only); places of its entries; where its inverse is kept,
# with the multipliers behind; where unknowns that take from it, and their entries, start in tables, and how many; and
# where the places of the entries that change start
STEP = np.dtype([(name, np.int64) for name in (
    "first", "second", "own", "between", "other", "kept", "numbers", "n", "entries", "targets")])


class Plan(Record):
    """Elimination as a list. All places and local numbers are multiples of 8, those of vectors of 8 blocks.

    Local numbers are those inside, in the order of elimination, then others of the block and of the one before.
    """

    steps: np.ndarray  # STEP
    numbers: np.ndarray  # int32
    entries: np.ndarray  # int32
    targets: np.ndarray  # int32
    places: np.ndarray  # int32, of the entries of the matrix
    n_places: int  # those that stay come last
    n_left: int
    n_kept: int  # vectors of factors
    n_inside: int
    n_outside: int


class Group(Record):
    """Blocks that are eliminated, a multiple of 8 of them."""

    sources: np.ndarray  # int32, of the entries of 8 blocks in the values, entry by entry
    inside: np.ndarray  # int32, unknowns of the matrix, 8 blocks after another
    outside: np.ndarray  # int32, unknowns of what is left
    kept: np.ndarray  # factors
    halves: np.ndarray  # of a right-hand side, D^-1 L^-1 b of the unknowns inside
    good: np.ndarray  # of each block, 1.0 where multipliers were small enough
    work: np.ndarray
    vector: np.ndarray


@compiled(error_model="numpy", _nrt=False)
def eliminate(plan, group, values, largest, left):
    """Eliminate; what is left of each block goes to `left`, one after the other.

    Returns how many eigenvalues are negative, the least pivot, and in how many blocks a multiplier was beyond
    `largest`, or a pivot zero or not finite; `group.good` says which.
    """
    work, kept, good, steps = group.work, group.kept, group.good, plan.steps
    n_entries, n_left = len(plan.places), plan.n_left
    negative, least, n_bad = 0, np.inf, 0
    for first in range(0, len(good), LANES):
        base, source = first * plan.n_kept, first * n_entries
        clear_runs(work, 0, plan.n_places)
        for t in range(n_entries):
            add_gathered(work, np.int64(load(plan.places, t)), values, group.sources, source + t * LANES)
        clear_runs(good, first, LANES)
        for s in range(len(steps)):
            step = steps[s]
            inverse, entry, target = base + step.kept, step.entries, step.targets
            if step.second < 0:
                for lane in range(LANES):
                    d = load(work, step.own + lane)
                    negative += d < 0
                    least = min(least, abs(d))
                    store(kept, inverse + lane, 1 / d)
                    if not 0 < abs(1 / d) < np.inf:
                        store(good, first + lane, np.inf)
                at = inverse + LANES
                for i in range(step.n):
                    set_product(kept, at + i * LANES, work, np.int64(load(plan.entries, entry + i)), kept, inverse)
                    keep_largest(good, first, kept, at + i * LANES)
                for j in range(step.n):
                    other = np.int64(load(plan.entries, entry + j))
                    for i in range(j, step.n):
                        take_product(work, np.int64(load(plan.targets, target)), kept, at + i * LANES, other)
                        target += 1
                continue
            for lane in range(LANES):
                a, b, c = load(work, step.own + lane), load(work, step.between + lane), load(work, step.other + lane)
                d = a * c - b * b
                negative += 1 if d < 0 else (2 if a < 0 else 0)
                least = min(least, abs(d) / max(abs(a), abs(b), abs(c)))
                if not 0 < abs(1 / d) < np.inf:
                    store(good, first + lane, np.inf)
                store(kept, inverse + lane, c / d)
                store(kept, inverse + LANES + lane, -b / d)
                store(kept, inverse + 2 * LANES + lane, a / d)
            at = inverse + 3 * LANES
            behind = at + step.n * LANES
            for i in range(step.n):
                one = np.int64(load(plan.entries, entry + i)), np.int64(load(plan.entries, entry + step.n + i))
                set_two_products(kept, at + i * LANES, work, one, kept, (inverse, inverse + LANES))
                set_two_products(kept, behind + i * LANES, work, one, kept, (inverse + LANES, inverse + 2 * LANES))
                keep_largest(good, first, kept, at + i * LANES)
                keep_largest(good, first, kept, behind + i * LANES)
            for j in range(step.n):
                one = np.int64(load(plan.entries, entry + j)), np.int64(load(plan.entries, entry + step.n + j))
                for i in range(j, step.n):
                    take_two_products(work, np.int64(load(plan.targets, target)), kept,
                                      (at + i * LANES, behind + i * LANES), one)
                    target += 1
        for lane in range(LANES):
            fine = load(good, first + lane) <= largest
            store(good, first + lane, 1.0 if fine else 0.0)
            n_bad += not fine
        behind, target = plan.n_places - n_left * LANES, first * n_left
        whole = n_left // LANES * LANES
        for k in range(0, whole, LANES):
            transpose_eight(left, target + k, n_left, work, behind + k * LANES, LANES)
        for lane in range(LANES):
            for k in range(whole, n_left):
                store(left, target + lane * n_left + k, load(work, behind + k * LANES + lane))
    return negative, least, n_bad


@compiled(error_model="numpy", _nrt=False)
def forward(plan, group, b, stays, left):
    """Eliminate from the right-hand side b; `left` becomes that of unknowns that stay, whose numbers are `stays`."""
    vector, kept, halves, numbers = group.vector, group.kept, group.halves, plan.numbers
    inside, whole = plan.n_inside * LANES, (plan.n_inside + plan.n_outside) * LANES
    for i in range(len(stays)):
        store(left, i, load(b, load(stays, i)))
    for first in range(0, len(group.good), LANES):
        base, at = first * plan.n_kept, first * plan.n_inside
        clear_runs(vector, 0, whole)
        for k in range(0, inside, LANES):
            add_gathered(vector, k, b, group.inside, at + k)
        for s in range(len(plan.steps)):
            step = plan.steps[s]
            inverse = base + step.kept
            if step.second < 0:
                for i in range(step.n):
                    take_product(vector, np.int64(load(numbers, step.numbers + i)), kept,
                                 inverse + LANES + i * LANES, step.first)
                set_product(halves, at + step.first, vector, step.first, kept, inverse)
                continue
            one, behind = (step.first, step.second), inverse + (3 + step.n) * LANES
            for i in range(step.n):
                take_two_products(vector, np.int64(load(numbers, step.numbers + i)), kept,
                                  (inverse + (3 + i) * LANES, behind + i * LANES), one)
            set_two_products(halves, at + step.first, vector, one, kept, (inverse, inverse + LANES))
            set_two_products(halves, at + step.second, vector, one, kept, (inverse + LANES, inverse + 2 * LANES))
        outside = first * plan.n_outside
        for k in range(whole - inside):
            place = np.int64(load(group.outside, outside + k))
            store(left, place, load(left, place) + load(vector, inside + k))


@compiled(error_model="numpy", _nrt=False)
def backward(plan, group, left, stays, out):
    """Recover the unknowns inside from those that are left, and put all in `out`."""
    vector, kept, halves, numbers = group.vector, group.kept, group.halves, plan.numbers
    inside, whole = plan.n_inside * LANES, (plan.n_inside + plan.n_outside) * LANES
    for i in range(len(stays)):
        store(out, load(stays, i), load(left, i))
    for first in range(0, len(group.good), LANES):
        base, at, outside = first * plan.n_kept, first * plan.n_inside, first * plan.n_outside
        clear_runs(vector, inside, whole - inside)
        for k in range(0, whole - inside, LANES):
            add_gathered(vector, inside + k, left, group.outside, outside + k)
        for s in range(len(plan.steps) - 1, -1, -1):
            step = plan.steps[s]
            behind = base + step.kept + (LANES if step.second < 0 else 3 * LANES)
            copy_lanes(vector, step.first, halves, at + step.first)
            take_products(vector, step.first, kept, behind, numbers, step.numbers, step.n)
            if step.second >= 0:
                behind += step.n * LANES
                copy_lanes(vector, step.second, halves, at + step.second)
                take_products(vector, step.second, kept, behind, numbers, step.numbers, step.n)
        for k in range(inside):
            store(out, np.int64(load(group.inside, at + k)), load(vector, k))


@compiled(error_model="numpy", _nrt=False)
def into_lanes(starts, table, offsets, row, width, out):
    """`table[starts + offsets]` for 8 blocks after another, from `row` on of the `width` rows of each 8."""
    for i in range(len(starts)):
        target, start = (i // LANES * width + row) * LANES + i % LANES, load(starts, i)
        for k in range(len(offsets)):
            store(out, target + k * LANES, np.int32(load(table, start + load(offsets, k))))
