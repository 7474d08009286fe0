"""Places of numbers in their blocks."""

import numpy as np


def placed(blocks, starts):
    """Places one after the other in each block, from where it starts."""
    order = np.argsort(blocks, kind="stable")
    sizes = np.bincount(blocks, minlength=len(starts))
    before = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    out = np.empty(len(blocks), int)
    out[order] = np.arange(len(blocks)) - before[blocks[order]] + starts[blocks[order]]
    return out
