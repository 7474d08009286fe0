"""By what errors of bodies are measured, where some are light beside others."""

import numpy as np

ALIKE = 30.0  # ratio of the motions of two bodies, weighted by the masses, up to which errors of both have one measure
ALIKE_IN_STEPS = 100.0  # the same of Newton's steps: what a step leaves is about its square
LEAST = 1e-3  # of the largest unweighted motion, that each body is taken to have at least


def measure(own, common, alike):
    """Size by which errors of one body count, from that of its own motion and the largest of all.

    The common one up to a ratio of `alike`, its own beyond its square, and in between what joins them. Weighted by the
    masses: usual systems have one measure, and a light body beside a heavy or fast one its own.
    """
    return min(common, max(own, (alike * own) ** 2 / common)) if common > 0.0 else own


def blocks_of(system):
    """Number of the block of each coordinate, shape (n_q,), and of each block whether it is of positions, 0, or not.

    The positions of a body are one block, and what its mass tells apart from them, rotations, is another. All nodes of
    a composite part are one body here: where one of them is held, or lies at the origin, the others tell how it moves.
    """
    blocks, kinds, first = [], [], {}
    for body in system.bodies:
        own = np.where(np.arange(body.n_q) < 3, 0, 1) if body.n_q > 3 else np.zeros(body.n_q, int)
        key = body if body.owner is None or body.helper else body.owner, body.n_q > 3
        if key not in first:
            first[key] = len(kinds)
            kinds += range(own[-1] + 1)
        blocks.append(first[key] + own)
    return np.concatenate(blocks), np.array(kinds)
