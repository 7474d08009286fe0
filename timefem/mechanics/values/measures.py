"""By what errors of bodies are measured, where some are light beside others, and thresholds of values at states."""

from __future__ import annotations

import numpy as np

from ...kernels.loops import compiled
from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class ValuesOptions(Options):
    """Thresholds of what a system is worth at states: how it is evaluated, and what is rounding."""

    # ---- at start
    dense: int = option(
        100_000, "entries of the gradient of the constraints up to which dense arrays are faster than sparse ones")
    few_multipliers: int = option(
        64, "multipliers up to which plain elimination in a loop is faster than LAPACK called from Python")

    # ---- sizes of terms
    of_largest: float = option(0.1, "of what the largest component makes, that a term is taken to be at least")
    tiny: float = option(1e-300, "instead of sizes that are zero")
    rounding: float = option(1e-12, "of terms, beyond which what is off is looked at closer: are there constants?")

    # ---- evaluate
    piece: int = option(1 << 18, "numbers of local values that are made at once")
    pays: int = option(
        1_000, "evaluations of each kind of part from which on machine code pays, though it is to be made")
    pays_to_compile: int = option(500_000, "the same where the loop of all is to be compiled, too")

    # ---- quantities
    most_kinds: int = option(
        200, "kinds of parts whose formulas are kept: formulas make a kind each, and loops over formulas would "
        "fill the memory")

    # ---- velocities
    no_mass: float = option(1e-13, "pivots, relative, of motions without mass")
    solved: float = option(1e-8, "residual of equations for velocities that hold")

    # ---- ranks
    looks: int = option(41, "nodes of a failed march at which it is looked whether constraints come to repeat others")
    soon: float = option(1e-2, "share of the time that was marched, within which they are about to")

    # ---- rollouts
    step_error: float = option(1e-3, "largest error of a step, relative to the fastest motion on the way")
    halvings: int = option(10, "of steps between two times, at most: what is stiffer is not for explicit steps")


OPTIONS = ValuesOptions()


ALIKE = 30.0  # ratio of the motions of two bodies, weighted by the masses, up to which errors of both have one measure
ALIKE_IN_STEPS = 100.0  # the same of Newton's steps: what a step leaves is about its square
OF_LARGEST, TINY = OPTIONS.of_largest, OPTIONS.tiny
LEAST = 1e-3  # of the largest unweighted motion, that each body is taken to have at least


def measure(own, common, alike):
    """Size by which errors of one body count, from that of its own motion and the largest of all.

    The common one up to a ratio of `alike`, its own beyond its square, and in between what joins them. Weighted by the
    masses: usual systems have one measure, and a light body beside a heavy or fast one its own.
    """
    return min(common, max(own, (alike * own) ** 2 / common)) if common > 0.0 else own


def sizes_of_terms(jacobian, z, gradient, scale):
    """Sizes of the terms that make up constraints, `|dtheta/dz| |z|`, shape (n,), never zero.

    Besides counts a part of what the largest component makes, as terms may be zero by chance, and momenta count as
    those that the forces give on the way: no number of a unit says what is small.

    Parameters
    ----------
    jacobian : ndarray or SciPy array, shape (n, n_z)
    z, gradient, scale : ndarray, shape (n_z,)
        State, derivative of the energy, and `System.state_scale`.
    """
    way, speed = largest_of(z, gradient, scale)
    n = len(z) // 2
    least = OF_LARGEST * scale * np.repeat([way, speed], n)
    return np.maximum(abs(jacobian) @ (np.abs(z) + least), TINY)


def largest_of(z, gradient, scale):
    """The largest coordinate and momentum over `scale`; momenta at least those that forces give along coordinates."""
    n, way, speed, force = z.shape[0] // 2, 0.0, 0.0, 0.0
    for i in range(n):
        way = max(way, abs(z[i] / scale[i]))
        speed = max(speed, abs(z[n + i] / scale[n + i]))
        force = max(force, abs(gradient[i] * scale[i]))
    return way, max(speed, np.sqrt(force * way))


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


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def largest_squares(z, places, out):
    """Largest squared lengths of ranges of components of states, first and last `places` (n_ranges, 2), along motions
    (n_motions, n, n_z): to `out`, shape (n_motions, n_ranges)."""
    for m in range(z.shape[0]):
        for r in range(places.shape[0]):
            for k in range(z.shape[1]):
                square = 0.0
                for i in range(places[r, 0], places[r, 1]):
                    square += z[m, k, i] ** 2
                out[m, r] = max(out[m, r], square)
