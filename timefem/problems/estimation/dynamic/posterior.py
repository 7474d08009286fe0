"""The posterior distribution of an estimation problem: covariances by selected inversion, log-determinants, draws.

The matrix of the last Gauss-Newton step, `K = [H, A^T; A, 0]`, is block-tridiagonal in time order. Of its inverse the
block of the variables is their covariance, constraints included (`N (N^T H N)^-1 N^T`); it comes by the sweeps of
`Selected`.
"""

from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from ....errors import SolveError
from ..options import DEFAULTS
from .chain import Leading

START = "wide", "prior", "number"  # roles of what is known of the start and of numbers beforehand


class Posterior:
    """Normal distribution of the variables of an `EstimationProgram` about a point.

    Parameters
    ----------
    program : EstimationProgram
    kkt : Kkt or SlabKkt
        Of the program.
    v : ndarray
        Where it is linearised.
    """

    def __init__(self, program, kkt, v):
        self.program, self.v, self.n, self._blocks, self._kkt = program, v.copy(), program.n, None, kkt
        self.blocks = program.joined[np.concatenate([program.variable_blocks, program.row_blocks])]
        self._taken, self._log_taken = None, 0.0

    def stays_here(self, kkt):
        """Go on with the matrix of all elements on this process."""
        self._kkt = kkt

    @property
    def _places(self):
        """Places of the entries of K, of one triangle."""
        (first, second), (rows, columns) = self.program.hessian_places, self.program.jacobian_places
        return np.concatenate([second, self.n + rows]), np.concatenate([first, columns])

    def draw(self, rng):
        """A draw of the variables: `v + K^-1 (J^T e, 0)`, whose covariance is Z H Z = Z."""
        self._kkt.factor(self.v)
        return self.v + self._kkt.solve(self.program.sum.draw(self.v, rng), np.zeros(self.program.n_rows))

    # ---- covariance

    def _tamed(self):
        """Entries of K with priors that are only some times wider than the posterior, so that the sweeps lose no
        digits; what they say too much is taken away again, `Z = Z' + C (D^-1 - J C)^-1 C^T` with `C = K'^-1 J^T`."""
        priors = [term for term in self.program.sum.terms if term.role in START]
        jacobian = np.concatenate([self.program.dense_jacobian(term, self.v) for term in priors])
        factors, ends = np.ones(len(jacobian)), np.cumsum([len(term.rows) for term in priors])[:-1]
        wide = np.arange(len(jacobian))
        try:
            for last in (False, False, True):  # a first look tells variances to 1e-11 of those of priors
                for term, own in zip(priors, np.split(factors, ends), strict=True):
                    term.rows[:] = np.sqrt(own)
                self._kkt.factor(self.v)
                columns = self._solved(jacobian[wide])
                variances = factors[wide] * np.einsum("ij,ji->i", jacobian[wide], columns)
                narrower = np.maximum(1.0, DEFAULTS.tame / np.maximum(variances, DEFAULTS.tame * DEFAULTS.same_time))
                narrower[np.abs(variances) <= DEFAULTS.none] = 1.0
                if last or narrower.max(initial=1.0) * DEFAULTS.tame <= 1:
                    break
                factors[wide] *= narrower
                wide = wide[factors[wide] > 1]
            values = self._kkt.values(self.v)
        finally:
            for term in priors:
                term.rows[:] = 1.0
        more = factors[wide] > 1
        if more.any():
            jacobian, columns, more = jacobian[wide[more]], columns[:, more], factors[wide[more]] - 1
            inner = np.diag(1 / more) - jacobian @ columns
            self._taken = columns, np.linalg.inv((inner + inner.T) / 2)
            self._log_taken = float(np.linalg.slogdet(np.eye(len(more)) - more[:, None] * (jacobian @ columns))[1])
        return values

    def _solved(self, jacobian):
        """`K^-1 J^T` by the last factors, of the variables."""
        none = np.zeros(self.program.n_rows)
        return np.array([self._kkt.solve(row, none) for row in jacobian]).reshape(-1, self.n).T

    def settle(self):
        """Work out the covariance, once; over ranks all of them call it."""
        if self._blocks is not None:
            return
        values, kkt = self._tamed(), self._kkt
        if hasattr(kkt, "comm"):
            own = Selected(kkt.blocks, kkt.entry_rows, kkt.entry_columns, values, len(kkt.border), kkt.last, kkt.own[0])
            self._blocks, self._beside, self._log = shared(kkt.comm, own, len(kkt.border))
        else:
            own = Selected(kkt.blocks, kkt.rows, kkt.columns, values)
            self._blocks, self._beside = own.backwards()
            self._log = own.log_determinant

    @cached_property
    def _numbers(self):
        """Places of the unknowns in their blocks, and numbers of those that are held among these."""
        _, place, _, number = numbered(self.blocks, *self._places)
        return place, number

    def covariance(self, unknowns):
        """Of unknowns that are all in one block, or in it and what is held of the one before; (n, n)."""
        sizes = self.program.chain.sizes[unknowns]
        return self.scaled(unknowns) * sizes * sizes[:, None]

    def of_local(self, columns, jacobian):
        """Covariance of numbers with a Jacobian (n, n_local) by variables, columns that are -1 left out."""
        used = columns >= 0
        return jacobian[:, used] @ self.scaled(columns[used]) @ jacobian[:, used].T

    def scaled(self, unknowns):
        """The covariance of variables, which are scaled."""
        self.settle()
        unknowns = np.asarray(unknowns, int)
        e = int(self.blocks[unknowns].max(initial=0))
        before = self.blocks[unknowns] == e - 1
        if np.any(self.blocks[unknowns] < e - 1):
            raise ValueError("unknowns of elements that are not neighbours")
        out = np.zeros((len(unknowns),) * 2)
        place, number = self._numbers
        own = place[unknowns[~before]]
        out[np.ix_(~before, ~before)] = self._blocks[e][np.ix_(own, own)]
        if before.any():
            left = place[unknowns[before]]
            cross = self._beside[e][np.ix_(number[unknowns[before]], own)]
            out[np.ix_(before, ~before)], out[np.ix_(~before, before)] = cross, cross.T
            out[np.ix_(before, before)] = self._blocks[e - 1][np.ix_(left, left)]
        if self._taken is not None:
            columns, inner = self._taken
            out += columns[unknowns] @ inner @ columns[unknowns].T
        return out

    # ---- what comes before a window

    def arrival(self, n):
        """Mean and covariance of state and unknown numbers at node n by what was measured until then, linearised;
        singular where there are constraints."""
        program, chain = self.program, self.program.chain
        columns = chain.columns_of("state")[n - 1, -1]
        if chain.has("constants"):
            columns = np.concatenate([columns, chain.columns_of("constants")[n - 1, -1]])
        first = Posterior(program, Leading(program, int(self.blocks[columns[0]])), self.v)
        covariance = first.covariance(columns)
        first._kkt.factor(self.v)
        there = self.v + first._kkt.solve(-program.gradient(self.v), -program.rows(self.v))
        return program.place(there)[columns], covariance

    # ---- evidence

    def log_evidence(self):
        """`log p(y)` of what was measured, by Laplace's approximation, which is exact where all is linear."""
        self.settle()
        program, problem = self.program, self.program.problem
        total = 2 * program.objective(self.v) + self._log + self._log_taken - 2 * self._log_of_elements()
        total -= self._log_of_start() + self._log_of_noise()
        measured = sum(float(s.log_determinants.sum()) + s.n_measured * np.log(2 * np.pi)
                       for s in problem.measurements)
        return -(total + measured) / 2

    def _log_of_elements(self):
        """Log-determinants of the rows of each element by its own unknowns, without controls, as a march factors."""
        chain = self.program.chain
        plan, n_elements = chain.plan, chain.mesh.n_elements
        c, r = plan.columns, plan.rows
        own = np.ones(c.n_local, bool)
        own[:c.n_node] = False
        if chain.has("controls"):
            own[chain._fields["controls"].ravel()] = False
        number = np.cumsum(own) - 1
        rows, columns = chain.places
        values = self.program.jacobian(self.v)[len(self.program.jacobian_places[0]) - len(rows):]
        element = rows // r.step if not r.n_node else chain.elements_of_rows[rows]
        local = columns - element * c.step
        kept = (local >= 0) & (local < c.n_local)
        kept &= own[np.clip(local, 0, c.n_local - 1)]
        matrices = np.zeros((n_elements, r.step, int(own.sum())))
        np.add.at(matrices, (element[kept], (rows - element * r.step)[kept], number[local[kept]]), values[kept])
        return float(np.linalg.slogdet(matrices)[1].sum())

    def _log_of_start(self):
        """Log-determinant of the prior of the start and of numbers, on its constraints."""
        return float(np.linalg.slogdet(self.program.start_matrix(self.v))[1])

    def _log_of_noise(self):
        chain = self.program.chain
        if not chain.has("controls"):
            return 0.0
        columns = chain.columns_of("controls").reshape(chain.mesh.n_elements, -1)
        first, second = self.program.hessian_places
        values = self.program.sum.hessian(self.v, ("noise",))
        number = np.full((2, self.n), -1)
        number[0, columns] = np.arange(len(columns))[:, None]
        number[1, columns] = np.arange(columns.shape[1])
        here = (number[0, first] >= 0) & (number[0, first] == number[0, second])
        matrices = np.zeros((len(columns), *(columns.shape[1],) * 2))
        e, i, j = number[0, first[here]], number[1, first[here]], number[1, second[here]]
        matrices[e, i, j] = matrices[e, j, i] = values[here]
        return float(np.linalg.slogdet(matrices)[1].sum())


# ---- Blocks of the inverse of a symmetric block-tridiagonal matrix, by a sweep forwards and one backwards, over ranks
#
# `S_e = K_ee - B_e C_(e-1) B_e^T`, `C_e` the corner of `S_e^-1` that the next block is coupled to,
# `Z_ee = S_e^-1 + S_e^-1 E X_e E^T S_e^-1`, `X_e = B_(e+1)^T Z_(e+1,e+1) B_(e+1)`.
#
# Of a slab A of blocks, which is coupled by C to copies x' of what is before it and by E to the multipliers of
# `x - x' = 0` behind it, `Z = A^-1 + W M^-1 W^T` with `W = A^-1 [C E]`, and M what eliminating all slabs leaves between
# them.

class Selected:
    """Diagonal blocks of the inverse, and those that couple a block to what it sees of the one before.

    Parameters
    ----------
    blocks : ndarray of int, shape (n,)
        Of each unknown, rising from 0.
    rows, columns : ndarray of int
        Places of the entries, of one triangle.
    values : ndarray
    border : int
        Unknowns n, n + 1, ... of the block before the first one.
    last : ndarray of int
        Unknowns of the last block that what follows is coupled to.
    first : int
        Number of the first block, for messages.

    Attributes
    ----------
    members : list of ndarray
        Unknowns of each block.
    held : list of ndarray
        Places in each block of those that the next one is coupled to.
    inverses, couplings : list of ndarray
        S_e^-1 and B_e.
    log_determinant : float
        Of the magnitude of the determinant.
    """

    def __init__(self, blocks, rows, columns, values, border=0, last=(), first=0):
        every = np.concatenate([blocks, np.full(border, -1)])
        r, c = np.where(every[rows] >= every[columns], rows, columns), \
            np.where(every[rows] >= every[columns], columns, rows)
        high, low = every[r], every[c]
        self.members, place, self.held, number = numbered(every, r, c, border, last)
        self.place, size = place[:len(blocks)], np.array([len(own) for own in self.members])
        before = np.concatenate([[border], [len(own) for own in self.held[:-1]]]).astype(int)
        inside = high == low
        off = inside & (r != c)
        own = _filled(size, size, *(np.concatenate([x[inside], y[off]]) for x, y in (
            (high, high), (place[r], place[c]), (place[c], place[r]), (values, values))))  # both triangles
        self.couplings = _filled(size, before, high[~inside], place[r[~inside]], number[c[~inside]], values[~inside])
        self.log_determinant, self.inverses, corner = 0.0, [], np.zeros((border, border))
        for e, (block, coupling) in enumerate(zip(own, self.couplings, strict=True)):
            if e and len(corner):
                block -= coupling @ corner @ coupling.T
            inverse, log = _inverse(block)
            if not np.isfinite(log):
                raise SolveError(f"block {first + e} of the least squares is singular: something there has neither a "
                                 "prior nor a measurement")
            self.log_determinant += log
            self.inverses.append(inverse)
            held = self.held[e]
            corner = inverse[held[:, None], held]

    def backwards(self):
        """Diagonal blocks Z_ee of the inverse, and Z_(e-1,e) of what is held of the block before."""
        n_blocks = len(self.inverses)
        found, beside, last = [None] * n_blocks, [None] * n_blocks, None
        for e in range(n_blocks - 1, -1, -1):
            inverse, held = self.inverses[e], self.held[e]
            if last is not None:
                edge = inverse[:, held]
                inverse = inverse + edge @ last @ edge.T
            found[e] = inverse
            if e:
                own = self.held[e - 1]
                last = self.couplings[e].T @ inverse
                beside[e] = -self.inverses[e - 1][own[:, None], own] @ last
                last = last @ self.couplings[e]
        beside[0] = np.zeros((0, len(found[0])))
        return found, beside

    def solved(self, right):
        """`A^-1 b`, of b block by block, in the same form."""
        y, carried = [], None
        for e, b in enumerate(right):
            y.append(b if carried is None else b - self.couplings[e] @ carried)
            carried = self.inverses[e][self.held[e]] @ y[-1]
        following = None
        for e in range(len(right) - 1, -1, -1):
            if following is not None:
                y[e] = y[e].copy()
                y[e][self.held[e]] -= following
            y[e] = self.inverses[e] @ y[e]
            following = self.couplings[e].T @ y[e] if e else None
        return y


def numbered(blocks, rows, columns, border=0, last=()):
    """Members of each block, places of the unknowns in their blocks, of those that are held, and numbers among these.

    The last `border` unknowns are those of the block -1, all of which are held; `last` are held in the last block.
    """
    n, held = len(blocks) - border, np.zeros(len(blocks), bool)
    order, starts = np.argsort(blocks[:n], kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(blocks[:n]))])
    place, number = np.empty(len(blocks), int), np.full(len(blocks), -1)
    place[order] = np.arange(n) - starts[blocks[order]]
    before = np.where(blocks[rows] > blocks[columns], columns, rows)[blocks[rows] != blocks[columns]]
    held[before] = held[np.asarray(last, int)] = True
    members = [order[a:b] for a, b in pairwise(starts)]
    places = [np.flatnonzero(held[own]) for own in members]
    for own, some in zip(members, places, strict=True):
        number[own[some]] = np.arange(len(some))
    number[n:] = np.arange(border)
    return members, place, places, number


def shared(comm, own, border):
    """Diagonal blocks and those beside them of the whole matrix, and the logarithm of its determinant, on all ranks.

    Parameters
    ----------
    comm : mpi4py communicator
    own : Selected
        Of the slab of this rank.
    border : int
        Of this rank.
    """
    widths = comm.allgather(border)
    starts = 2 * np.cumsum([0, *widths])
    copies = [np.arange(a, a + w) for a, w in zip(starts, widths, strict=False)]

    def unknowns(rank):
        following = copies[rank + 1] + widths[rank + 1] if rank + 1 < comm.size else np.zeros(0, int)
        return np.concatenate([copies[rank], following])

    n_last = len(unknowns(comm.rank)) - border
    ends = [np.zeros((len(m), border + n_last)) for m in own.members]
    ends[0][:, :border] = own.couplings[0]
    ends[-1][own.held[-1][:n_last], border + np.arange(n_last)] = 1.0
    reached = own.solved(ends)
    inner = -(ends[0].T @ reached[0]) - (ends[-1].T @ reached[-1] if len(ends) > 1 else 0.0)
    between = np.zeros((starts[-1],) * 2)
    logs = own.log_determinant
    for rank, (matrix, log) in enumerate(comm.allgather((inner, own.log_determinant))):
        between[np.ix_(unknowns(rank), unknowns(rank))] += matrix
        logs += log if rank != comm.rank else 0.0
    for x in copies:
        between[x, x + len(x)] -= 1.0
        between[x + len(x), x] -= 1.0
    inverse = np.linalg.inv(between) if len(between) else between
    logs += float(np.linalg.slogdet(between)[1]) if len(between) else 0.0
    here = inverse[np.ix_(unknowns(comm.rank), unknowns(comm.rank))]
    blocks, beside = own.backwards()
    weighted = [w @ here for w in reached]
    blocks = [z + y @ w.T for z, w, y in zip(blocks, reached, weighted, strict=True)]
    for e in range(1, len(blocks)):
        beside[e] = beside[e] + weighted[e - 1][own.held[e - 1]] @ reached[e].T
    beside[0] = -weighted[0][:, :border].T
    told = comm.allgather((blocks, beside))
    return [z for own, _ in told for z in own], [z for _, own in told for z in own], logs


def _filled(rows, columns, blocks, i, j, values):
    """Matrices of given shapes with entries added at their places."""
    starts = np.concatenate([[0], np.cumsum(rows * columns)])
    flat = np.bincount(starts[blocks] + i * columns[blocks] + j, values, starts[-1])
    return [flat[a:b].reshape(m, n) for (a, b), m, n in zip(pairwise(starts), rows, columns, strict=True)]


def _inverse(block):
    """The inverse of a symmetric matrix, and the logarithm of the magnitude of its determinant."""
    factors, pivots, failed = scipy.linalg.lapack.dgetrf(block)
    if failed:
        return block, np.nan
    log = float(np.log(np.abs(factors.diagonal())).sum())
    inverse, _ = scipy.linalg.lapack.dgetri(factors, pivots, lwork=64 * max(len(block), 1), overwrite_lu=1)
    return (inverse + inverse.T) / 2, log
