"""How much work the elements of a slab are that is eliminated on its own, so that ranks get slabs of equal work."""

import numpy as np

from ...assembly.pattern import ChainPattern
from ..linear.time_chain.slab_lu import SlabLU

SAMPLE = 50  # elements, so that the ends do not matter
# Of an element, besides the multiplications that are estimated, in those by square of its unknowns: assembly, search
# for pivots, solves, products. Fitted to a free body by mG(1) and BG(1), where it foretells first, inner and last
# slabs to 10 percent
OTHER_WORK = 120


def slab_work(plan, ends):
    """Work per element of the first slab, those in between and the last one.

    They differ by what stays to the end in the front, and by the direction in which they can be eliminated.

    Parameters
    ----------
    plan : ElementPlan
    ends : Ends
    """
    node, none = (plan.columns.n_node, plan.rows.n_node), (0, 0)
    every, tests = np.ones(node[0], bool), np.ones(node[1], bool)
    kinds = ((ends.free[0], every), (ends.kept[0], tests), none, node), ((every, every), (tests, tests), node, node), \
        ((every, ends.free[1]), (tests, ends.kept[1]), node, none)
    return tuple(_multiplications(plan, *kind) / SAMPLE + OTHER_WORK * plan.columns.step**2 for kind in kinds)


def _multiplications(plan, free, kept, left, right):
    pattern = ChainPattern(plan, SAMPLE, free, kept)
    starts = (np.delete(s, 1) for s in (pattern.column_starts, pattern.row_starts))  # the first block has its node, too
    return SlabLU(pattern.indptr, pattern.indices, *starts, left, right).work
