"""Compiled loops of `block_ldl`: where unknowns and entries belong, found in two passes over the entries."""

from ....kernels.loops import compiled


@compiled(error_model="numpy", _nrt=False)
def count(blocks, rows, columns, last, n, held, own, coupled):
    """Mark the unknowns that the next block is coupled to, or what follows (`last`), and count entries behind blocks.

    Returns the first entry that couples blocks that are no neighbours, -1 without one.

    Parameters
    ----------
    blocks : (n + border,) int
        Block of each unknown, -1 of those of the border.
    rows, columns : (n_entries,) int
    last : int array
    n : int
    held : (n + border,) int
        Zeros, becomes 1 for those that are held.
    own, coupled : (n_blocks + 1,) int
        Zeros, become the numbers of entries of each block, at the place behind it, and of its coupling.
    """
    for t in range(len(rows)):
        low, high = blocks[rows[t]], blocks[columns[t]]
        before = rows[t]
        if low > high:
            low, high, before = high, low, columns[t]
        if high - low > 1:
            return t
        if high > low:
            coupled[high + 1] += 1
            held[before] = 1
        else:
            own[high + 1] += 1
    for i in last:
        held[i] = 1
    for i in range(n, len(blocks)):
        held[i] = 0
    return -1


@compiled(error_model="numpy", _nrt=False)
def order(blocks, n, held, starts, n_held, following, order, place):
    """Put the unknowns of each block in order, held ones last; `following` is scratch of shape (2, n_blocks)."""
    for e in range(len(n_held)):
        following[0, e], following[1, e] = 0, starts[e + 1] - starts[e] - n_held[e]
    for i in range(n):
        e = blocks[i]
        place[i] = following[held[i], e]
        order[starts[e] + place[i]] = i
        following[held[i], e] += 1
    for i in range(n, len(blocks)):
        place[i] = i - n


@compiled(error_model="numpy", _nrt=False)
def settle(chain, blocks, entries, place, skipped, heights, strides, following):
    """Sort entries by blocks, each with its source and its place in the front, or in the coupling, of its block.

    Parameters
    ----------
    chain : Chain
        Its sources and places are set.
    entries : (rows, columns, sources)
    place : (n + border,) int
        Of each unknown in its block.
    skipped : (n_blocks,) int
        Unknowns of the block before that are not held.
    heights, strides : (n_blocks,) int
        Lengths of the columns of the front and of the coupling.
    following : (2, n_blocks) int
        First entries of each block, and of its coupling; is changed.
    """
    rows, columns, sources = entries
    for t in range(len(rows)):
        i, j = rows[t], columns[t]
        e, before = blocks[i], blocks[j]
        if e < before:
            i, j, e, before = j, i, before, e
        if e == before:
            k = following[0, e]
            following[0, e] = k + 1
            chain.own_sources[k] = sources[t]
            chain.own_places[k] = min(place[i], place[j]) * heights[e] + max(place[i], place[j])
        else:
            k = following[1, e]
            following[1, e] = k + 1
            chain.coupled_sources[k] = sources[t]
            chain.coupled_places[k] = (place[j] - skipped[e]) * strides[e] + place[i]
