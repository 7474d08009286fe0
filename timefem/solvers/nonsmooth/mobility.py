"""How forces move a constrained system: mobility, block by block of the bodies that constraints couple."""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ...memory import Late
from .options import RANK

scipy = Late("scipy")


class Block(Record):
    """Sets of coordinates of the same size, each coupled by as many constraints, and to no others.

    Entries of the matrices have four columns: block, row and column there, and which ones these are.
    """

    coordinates: np.ndarray  # (n_blocks, n_coordinates) of int
    rows: np.ndarray  # (n_blocks, n_rows) of int, of the constraints
    size: np.ndarray  # (n_blocks, n_coordinates) square roots of the scale of the masses
    mass: np.ndarray  # (n_entries, 4) of int
    gradient: np.ndarray  # (n_entries, 4) of int
    counters: np.ndarray  # (n_counters, 2) of int, block and place there of coordinates that count turns: no masses
    dependent: float  # of the length of a row, what others do not have of it: it repeats others
    terms: np.ndarray  # (n_blocks, n_rows) sizes of the terms of rows
    rounding: float  # length of a row, of the size of its terms: it holds nothing
    heavy: np.ndarray  # (n_blocks, n_coordinates, n_coordinates) scratch
    held: np.ndarray  # (n_blocks, n_rows, n_coordinates) scratch
    turned: np.ndarray  # (n_coordinates, n_coordinates) scratch
    reduced: np.ndarray  # the same
    work: np.ndarray  # (2, n_coordinates + n_rows) scratch
    order: np.ndarray  # (n_rows,) of int, scratch


def blocks_of(mass, gradient, helpers, size, terms):
    """`Block`s of matrices of these patterns.

    Parameters
    ----------
    mass, gradient : Matrix, shapes (n_q, n_q) and (n_rows, n_q)
    helpers : ndarray of int
        Coordinates that count turns.
    size : ndarray, shape (n_q,)
    terms : ndarray, shape (n_rows,)
        Sizes of the terms of constraints by coordinates over `size`.

    Returns
    -------
    list of Block
    """
    n, m = mass.shape[0], gradient.shape[0]
    first, second = (np.concatenate(x) for x in ((mass.rows, n + gradient.rows), (mass.columns, gradient.columns)))
    graph = scipy.sparse.coo_array((np.ones(len(first)), (first, second)), shape=(n + m, n + m))
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    sets = {}
    for k in range(label.max(initial=-1) + 1):
        own = np.flatnonzero(label == k)
        own = own[own < n], own[own >= n] - n
        if len(own[0]):
            sets.setdefault((len(own[0]), len(own[1])), []).append(own)
    found = []
    for (n_own, m_own), own in sets.items():
        coordinates, rows = (np.array([one[i] for one in own], int).reshape(len(own), -1) for i in (0, 1))
        at, row_at = np.full(n, -1), np.full(m, -1)  # block and place there, as one number
        at[coordinates] = np.arange(coordinates.size).reshape(coordinates.shape)
        row_at[rows] = np.arange(rows.size).reshape(rows.shape)
        heavy, held = np.flatnonzero(at[mass.rows] >= 0), np.flatnonzero(row_at[gradient.rows] >= 0)
        count = at[helpers][at[helpers] >= 0]
        masses = *divmod(at[mass.rows[heavy]], n_own), at[mass.columns[heavy]] % n_own, heavy
        gradients = *divmod(row_at[gradient.rows[held]], max(m_own, 1)), at[gradient.columns[held]] % n_own, held
        found.append(Block(
            coordinates, rows, size[coordinates], np.stack(masses, 1), np.stack(gradients, 1),
            np.stack(divmod(count, n_own), 1), RANK.dependent, terms[rows], RANK.rounding,
            np.zeros((len(own), n_own, n_own)), np.zeros((len(own), m_own, n_own)), *np.zeros((2, n_own, n_own)),
            np.zeros((2, n_own + m_own)), np.zeros(m_own, int)))
    return found


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _dot(a, b, first):
    """Product of two rows from a place on, by four sums: one alone waits for itself."""
    n, w, x, y, z = a.shape[0], 0.0, 0.0, 0.0, 0.0
    end = first + (n - first) // 4 * 4
    for i in range(first, end, 4):
        w += a[i] * b[i]
        x += a[i + 1] * b[i + 1]
        y += a[i + 2] * b[i + 2]
        z += a[i + 3] * b[i + 3]
    for i in range(end, n):
        w += a[i] * b[i]
    return (w + x) + (y + z)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _add(factor, row, to, n):
    """Add a multiple of the first n numbers of a row to another one, as they stand in memory."""
    for c in range(n):
        to[c] += factor * row[c]


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _triangle(held, order, tau, dependent):
    """Householder's method with pivots, rows (m, n) in place; how many do not repeat others, these first in `order`."""
    m, n = held.shape
    for j in range(m):
        order[j] = j
    rank, longest = 0, 0.0
    while rank < min(m, n):
        best, most = rank, -1.0
        for j in range(rank, m):
            square = _dot(held[j], held[j], rank)
            if square > most:
                best, most = j, square
        longest = max(longest, np.sqrt(most))
        if not np.sqrt(most) > dependent * longest:
            break
        order[rank], order[best] = order[best], order[rank]
        for i in range(n):
            held[rank, i], held[best, i] = held[best, i], held[rank, i]
        diagonal = -np.sqrt(most) if held[rank, rank] > 0.0 else np.sqrt(most)
        head = held[rank, rank] - diagonal
        tau[rank] = -head / diagonal
        for i in range(rank + 1, n):
            held[rank, i] /= head
        held[rank, rank] = diagonal
        for j in range(rank + 1, m):
            product = tau[rank] * (held[j, rank] + _dot(held[rank], held[j], rank + 1))
            held[j, rank] -= product
            _add(-product, held[rank][rank + 1:], held[j][rank + 1:], n - rank - 1)
        rank += 1
    return rank


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _directions(held, tau, rank, first, q):
    """The smallest solution of the rows of `_triangle`, in place of the right-hand sides of the first `rank` of them,
    and a base of the directions that are free, the first columns of q."""
    n = held.shape[1]
    for j in range(rank):
        for i in range(j):
            first[j] -= held[j, i] * first[i]
        first[j] /= held[j, j]
    first[rank:] = 0.0
    q[:] = 0.0
    for i in range(rank, n):
        q[i, i - rank] = 1.0
    for j in range(rank - 1, -1, -1):
        product = first[j]
        for i in range(j + 1, n):
            product += held[j, i] * first[i]
        product *= tau[j]
        first[j] -= product
        for i in range(j + 1, n):
            first[i] -= product * held[j, i]
        products = q[j]
        for i in range(j + 1, n):
            _add(held[j, i], q[i], products, n - rank)
        for c in range(n - rank):
            products[c] *= -tau[j]
        for i in range(j + 1, n):
            _add(held[j, i], products, q[i], n - rank)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _root(heavy, q, free, reduced, root):
    """R = Q U^-1 with `Q^T M Q = U^T U`, of the first `free` columns Q of q."""
    n = heavy.shape[0]
    root[:] = 0.0
    for i in range(n):
        for j in range(n):
            if heavy[i, j] != 0.0:
                _add(heavy[i, j], q[j], root[i], free)
    reduced[:] = 0.0
    for i in range(n):
        for d in range(free):
            if q[i, d] != 0.0:
                _add(q[i, d], root[i][d:], reduced[d][d:], free - d)
    for e in range(free):
        reduced[e, e] = np.sqrt(reduced[e, e])
        for c in range(e + 1, free):
            reduced[e, c] /= reduced[e, e]
        for d in range(e + 1, free):
            _add(-reduced[e, d], reduced[e][d:], reduced[d][d:], free - d)
    for i in range(n):
        for c in range(n):
            root[i, c] = q[i, c] if c < free else 0.0
        for d in range(free):
            root[i, d] /= reduced[d, d]
            _add(-root[i, d], reduced[d][d + 1:], root[i][d + 1:], free - d - 1)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def move_block(block, mass, gradient, force, right, roots, accelerations):
    """Roots R (n, n_blocks, b, b) of the mobility `R R^T`, and accelerations (n, n_q), of one kind of blocks."""
    n_blocks, n = block.coordinates.shape
    q, work, order = block.turned, block.work, block.order
    for k in range(force.shape[0]):
        block.heavy[:] = 0.0
        block.held[:] = 0.0
        for i in range(block.mass.shape[0]):
            block.heavy[block.mass[i, 0], block.mass[i, 1], block.mass[i, 2]] = mass[k, block.mass[i, 3]]
        for i in range(block.counters.shape[0]):
            b, place = block.counters[i, 0], block.counters[i, 1]
            block.heavy[b, place, place] = block.size[b, place]**2
        for i in range(block.gradient.shape[0]):
            block.held[block.gradient[i, 0], block.gradient[i, 1], block.gradient[i, 2]] = \
                gradient[k, block.gradient[i, 3]]
        for b in range(n_blocks):
            heavy, held, size, root = block.heavy[b], block.held[b], block.size[b], roots[k, b]
            first, tau, known = work[0, :n], work[0, n:], work[1, :n]
            lengths, terms = work[1, n:], block.terms[b]
            for j in range(held.shape[0]):  # lengths, squares of them and angles side by side, in any unit
                for i in range(n):
                    held[j, i] /= size[i]
                lengths[j] = np.sqrt(_dot(held[j], held[j], 0))
                if not lengths[j] > block.rounding * terms[j]:
                    lengths[j] = terms[j] if terms[j] > 0.0 else 1.0
                for i in range(n):
                    held[j, i] /= lengths[j]
            rank = _triangle(held, order, tau, block.dependent)
            for j in range(rank):
                first[j] = right[k, block.rows[b, order[j]]] / lengths[order[j]]
            _directions(held, tau, rank, first, q)
            for i in range(n):
                first[i] /= size[i]
                for c in range(n - rank):
                    q[i, c] /= size[i]
            _root(heavy, q, n - rank, block.reduced, root)
            for i in range(n):
                known[i] = force[k, block.coordinates[b, i]]
                for j in range(n):
                    known[i] -= heavy[i, j] * first[j]
            for c in range(n - rank):
                value = 0.0
                for i in range(n):
                    value += root[i, c] * known[i]
                for i in range(n):
                    first[i] += root[i, c] * value
            for i in range(n):
                accelerations[k, block.coordinates[b, i]] = first[i]


class Mobility:
    """Accelerations of the coordinates by forces on them, under the constraints.

    Parameters
    ----------
    parts : list of (ndarray of int, ndarray)
        Coordinates (n_blocks, b), and roots R (n, n_blocks, b, b) of symmetric matrices `R R^T`.
    """

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, forces):
        """Of forces (k, n_q) or (k, n_q, m), at all states, or at the first k of them."""
        k, out = len(forces), np.zeros_like(forces)
        for coordinates, root in self.parts:
            root, own = root[:k], forces[:, coordinates]
            own = own[..., None] if forces.ndim == 2 else own
            moved = root @ (root.swapaxes(2, 3) @ own)
            out[:, coordinates] = moved[..., 0] if forces.ndim == 2 else moved
        return out

    def rooted(self, rows):
        """Rows (m, n_q) times R at the first state."""
        out = np.zeros_like(rows)
        for coordinates, root in self.parts:
            out[:, coordinates] = (rows[:, coordinates].swapaxes(0, 1) @ root[0]).swapaxes(0, 1)
        return out


def constrained(blocks, mass, gradient, force, right):
    """`Mobility`, and accelerations (n, n_q) under forces and with `gradient a = right`.

    Parameters
    ----------
    blocks : list of Block
    mass, gradient : Matrix
        Redundant rows of constraints do no harm.
    force, right : ndarray, shapes (n, n_q) and (n, n_rows)
    """
    parts, accelerations = [], np.zeros_like(force)
    for block in blocks:
        roots = np.empty((len(force), *block.heavy.shape))
        move_block(block, *map(np.ascontiguousarray, (mass.data, gradient.data, force, right)), roots, accelerations)
        parts.append((block.coordinates, roots))
    return Mobility(parts), accelerations
