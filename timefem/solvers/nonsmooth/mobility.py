"""How forces move a constrained system: mobility, block by block of the bodies that constraints couple."""

from typing import NamedTuple

import numpy as np

from ...late import Late
from ...mechanics.values.evaluate import Matrix
from .options import RANK

scipy = Late("scipy")


class Block(NamedTuple):
    """Sets of coordinates of the same size, each coupled by as many constraints, and to no others.

    Attributes
    ----------
    coordinates : ndarray of int, shape (n_blocks, n_coordinates)
    rows : ndarray of int, shape (n_blocks, n_rows)
        Of the constraints.
    size : ndarray, shape (n_blocks, n_coordinates)
        Square roots of the scale of the masses.
    mass, gradient : (ndarray of int, ndarray of int)
        Where entries of these matrices stand in the blocks, flat, and which ones these are.
    counters : ndarray of int
        Of the masses, flat: those of coordinates that count turns, and have none.
    """

    coordinates: np.ndarray
    rows: np.ndarray
    size: np.ndarray
    mass: tuple
    gradient: tuple
    counters: np.ndarray


def blocks_of(mass, gradient, helpers, size):
    """`Block`s of matrices of these patterns.

    Parameters
    ----------
    mass, gradient : Matrix, shapes (n_q, n_q) and (n_rows, n_q)
    helpers : ndarray of int
        Coordinates that count turns.
    size : ndarray, shape (n_q,)

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
    for (n_own, _), own in sets.items():
        coordinates, rows = (np.array([one[i] for one in own]).reshape(len(own), -1) for i in (0, 1))
        at, row_at = np.full(n, -1), np.full(m, -1)  # block and place there, as one number
        at[coordinates] = np.arange(coordinates.size).reshape(coordinates.shape)
        row_at[rows] = np.arange(rows.size).reshape(rows.shape)
        heavy, held = np.flatnonzero(at[mass.rows] >= 0), np.flatnonzero(row_at[gradient.rows] >= 0)
        places = (at[mass.rows[heavy]] * n_own + at[mass.columns[heavy]] % n_own,
                  row_at[gradient.rows[held]] * n_own + at[gradient.columns[held]] % n_own)
        count = at[helpers][at[helpers] >= 0]
        found.append(Block(coordinates, rows, size[coordinates], (places[0], heavy), (places[1], held),
                           count * n_own + count % n_own))
    return found


class Mobility:
    """Accelerations of the coordinates by forces on them, under the constraints.

    Parameters
    ----------
    parts : list of (ndarray of int, ndarray)
        Coordinates (n_blocks, b), and symmetric matrices (n, n_blocks, b, b).
    """

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, forces):
        """Of forces (k, n_q) or (k, n_q, m), at all states, or at the first k of them."""
        k, out = len(forces), np.zeros_like(forces)
        for coordinates, matrix in self.parts:
            own = forces[:, coordinates]
            out[:, coordinates] = (matrix[:k] @ own[..., None])[..., 0] if forces.ndim == 2 else matrix[:k] @ own
        return out

    def rooted(self, rows):
        """Rows (m, n_q) times R at the first state, where `R R^T` is the mobility."""
        out = np.zeros_like(rows)
        for coordinates, matrix in self.parts:
            values, vectors = np.linalg.eigh(matrix[0])
            root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
            out[:, coordinates] = (rows[:, coordinates].swapaxes(0, 1) @ root).swapaxes(0, 1)
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
    n, parts, accelerations = len(force), [], np.zeros_like(force)
    for block in blocks:
        many, size = block.coordinates.shape
        heavy = np.zeros((n, many * size * size))
        heavy[:, block.mass[0]] = mass.data[:, block.mass[1]]
        heavy[:, block.counters] = 1.0
        heavy, own = heavy.reshape(n, many, size, size), force[:, block.coordinates]
        if not block.rows.size:
            matrix = np.linalg.inv(heavy)
            parts.append((block.coordinates, matrix))
            accelerations[:, block.coordinates] = (matrix @ own[..., None])[..., 0]
            continue
        held = np.zeros((n, block.rows.size * size))
        held[:, block.gradient[0]] = gradient.data[:, block.gradient[1]]
        held = held.reshape(n, many, -1, size) / block.size[:, None]
        left, values, rows = np.linalg.svd(held, full_matrices=True)
        ranks = (values[0] > RANK.dependent * values[0].max(axis=1, keepdims=True)).sum(axis=1)
        for rank in np.unique(ranks):
            chosen = np.flatnonzero(ranks == rank)
            root = block.size[chosen]
            given = right[:, block.rows[chosen]]
            turned = (left[:, chosen, :, :rank].swapaxes(2, 3) @ given[..., None]) / values[:, chosen, :rank, None]
            first = (rows[:, chosen, :rank].swapaxes(2, 3) @ turned)[..., 0] / root
            free = rows[:, chosen, rank:].swapaxes(2, 3) / root[..., None]
            reduced = np.linalg.inv(free.swapaxes(2, 3) @ heavy[:, chosen] @ free)
            matrix = free @ reduced @ free.swapaxes(2, 3)
            left_over = own[:, chosen] - (heavy[:, chosen] @ first[..., None])[..., 0]
            parts.append((block.coordinates[chosen], matrix))
            accelerations[:, block.coordinates[chosen]] = first + (matrix @ left_over[..., None])[..., 0]
    return Mobility(parts), accelerations


def stacked(matrices, n_rows):
    """One `Matrix` of the rows of several, each given with the places of its rows."""
    rows = np.concatenate([places[matrix.rows] for matrix, places in matrices])
    columns = np.concatenate([matrix.columns for matrix, _ in matrices])
    data = np.concatenate([matrix.data for matrix, _ in matrices], axis=1)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    return Matrix((n_rows, matrices[0][0].shape[1]), rows, columns[order], np.searchsorted(rows, np.arange(n_rows + 1)),
                  data[:, order])
