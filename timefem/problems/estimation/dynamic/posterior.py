"""The posterior distribution of an estimation problem: covariances by selected inversion, log-determinants, draws.

The matrix of the last Gauss-Newton step, `K = [H, A^T; A, 0]`, is block-tridiagonal in time order. Of its inverse the
block of the variables is their covariance, constraints included (`N (N^T H N)^-1 N^T`); it comes by a sweep forwards
and one backwards,

`S_e = K_ee - B_e C_(e-1) B_e^T`, `C_e` the corner of `S_e^-1` that the next block is coupled to,
`Z_ee = S_e^-1 + S_e^-1 E X_e E^T S_e^-1`, `X_e = B_(e+1)^T Z_(e+1,e+1) B_(e+1)`.
"""

import numpy as np

from ....errors import SolveError
from ..options import DEFAULTS


class Posterior:
    """Normal distribution of the variables of an `EstimationProgram` about a point.

    Parameters
    ----------
    program : EstimationProgram
    kkt : Kkt
        Of the program.
    v : ndarray
        Where it is linearised.
    """

    def __init__(self, program, kkt, v, tame=True):
        self.program, self.v, self.n, self._blocks, self._kkt = program, v.copy(), program.n, None, kkt
        self.values, self.rows, self.columns, self.blocks = kkt.values(v), kkt.rows, kkt.columns, kkt.blocks
        self._tame, self._taken, self._log_taken = tame, None, 0.0

    def draw(self, rng):
        """A draw of the variables: `v + K^-1 (J^T e, 0)`, whose covariance is Z H Z = Z."""
        self._kkt.factor(self.v)
        return self.v + self._kkt.solve(self.program.sum.draw(self.v, rng), np.zeros(self.program.n_rows))[0]

    # ---- covariance

    def _tamed(self):
        """Entries of K with wide priors that are only some times wider than the posterior, so that the sweeps lose no
        digits; what they say too much is taken away again, `Z = Z' + C (D^-1 - J C)^-1 C^T` with `C = K'^-1 J^T`."""
        wide = [term for term in self.program.sum.terms if term.role == "wide"]
        if not (wide and self._tame):
            return self.values
        self._kkt.factor(self.v)
        jacobian = np.concatenate([self.program.dense_jacobian(term, self.v) for term in wide])
        variances = np.einsum("ij,ji->i", jacobian, self._solved(jacobian))
        factors = np.maximum(1.0, DEFAULTS.tame / np.maximum(variances, DEFAULTS.tame * DEFAULTS.same_time))
        first, kept = 0, [term._whitening for term in wide]
        for term, root in zip(wide, kept, strict=True):
            n = root.shape[1]
            term._whitening = root * np.sqrt(factors[first:first + n])[None, :, None]
            first += n
        values = self._kkt.values(self.v)
        self._kkt.factor(self.v)
        more = factors > 1
        jacobian, more = jacobian[more], factors[more] - 1
        columns = self._solved(jacobian)
        for term, root in zip(wide, kept, strict=True):
            term._whitening = root
        inner = np.diag(1 / more) - jacobian @ columns
        self._taken = columns, np.linalg.inv((inner + inner.T) / 2)
        self._log_taken = float(np.linalg.slogdet(np.eye(len(more)) - more[:, None] * (jacobian @ columns))[1])
        return values

    def _solved(self, jacobian):
        """`K^-1 J^T` by the last factors, of the variables."""
        none = np.zeros(self.program.n_rows)
        return np.array([self._kkt.solve(row, none)[0] for row in jacobian]).reshape(-1, self.n).T

    def _sweep(self):
        """Both sweeps over dense blocks, once."""
        if self._blocks is not None:
            return
        values = self._tamed()
        n_blocks = int(self.blocks.max()) + 1
        size = np.bincount(self.blocks, minlength=n_blocks)
        order = np.argsort(self.blocks, kind="stable")
        starts = np.concatenate([[0], np.cumsum(size)])
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order)) - starts[self.blocks[order]]
        low, high = np.minimum(self.blocks[self.rows], self.blocks[self.columns]), \
            np.maximum(self.blocks[self.rows], self.blocks[self.columns])
        r, c = np.where(self.blocks[self.rows] >= self.blocks[self.columns], self.rows, self.columns), \
            np.where(self.blocks[self.rows] >= self.blocks[self.columns], self.columns, self.rows)
        held = np.zeros(len(self.blocks), bool)
        held[c[high > low]] = True
        by_block = np.argsort(high, kind="stable")
        stops = np.concatenate([[0], np.cumsum(np.bincount(high, minlength=n_blocks))])
        self._members = [order[starts[e]:starts[e + 1]] for e in range(n_blocks)]
        self._place, self._held = place, [np.flatnonzero(held[m]) for m in self._members]
        number = np.full(len(self.blocks), -1)
        for members, own in zip(self._members, self._held, strict=True):
            number[members[own]] = np.arange(len(own))
        inverses, couplings, self._log_s = [], [], np.zeros(n_blocks)
        corner = np.zeros((0, 0))
        for e in range(n_blocks):
            entries = by_block[stops[e]:stops[e + 1]]
            inside = low[entries] == e
            own, left = entries[inside], entries[~inside]
            n = size[e]
            block = np.zeros((n, n))
            np.add.at(block, (place[r[own]], place[c[own]]), values[own])
            block = block + np.tril(block, -1).T + np.triu(block, 1).T
            coupling = np.zeros((n, len(corner)))
            if len(left):
                np.add.at(coupling, (place[r[left]], number[c[left]]), values[left])
            block -= coupling @ corner @ coupling.T
            sign, self._log_s[e] = np.linalg.slogdet(block)
            if not (sign and np.isfinite(self._log_s[e])):
                raise SolveError(f"block {e} of the least squares is singular: something there has neither a prior nor "
                                 "a measurement")
            inverse = np.linalg.inv(block)
            inverse = (inverse + inverse.T) / 2
            inverses.append(inverse)
            couplings.append(coupling)
            corner = inverse[np.ix_(self._held[e], self._held[e])]
        self._blocks, self._inverses, self._couplings = [None] * n_blocks, inverses, couplings
        last = np.zeros((0, 0))
        for e in range(n_blocks - 1, -1, -1):
            inverse = inverses[e]
            if len(self._held[e]):
                edge = inverse[:, self._held[e]]
                inverse = inverse + edge @ last @ edge.T
            self._blocks[e] = inverse
            last = couplings[e].T @ inverse @ couplings[e]

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
        self._sweep()
        unknowns = np.asarray(unknowns, int)
        e = int(self.blocks[unknowns].max(initial=0))
        before = self.blocks[unknowns] == e - 1
        if np.any(self.blocks[unknowns] < e - 1):
            raise ValueError("unknowns of elements that are no neighbours")
        out = np.zeros((len(unknowns),) * 2)
        own = self._place[unknowns[~before]]
        out[np.ix_(~before, ~before)] = self._blocks[e][np.ix_(own, own)]
        if before.any():
            left = self._place[unknowns[before]]
            edge = self._inverses[e - 1][:, self._held[e - 1]]
            cross = -(edge @ self._couplings[e].T @ self._blocks[e])[np.ix_(left, own)]
            out[np.ix_(before, ~before)], out[np.ix_(~before, before)] = cross, cross.T
            out[np.ix_(before, before)] = self._blocks[e - 1][np.ix_(left, left)]
        if self._taken is not None:
            columns, inner = self._taken
            out += columns[unknowns] @ inner @ columns[unknowns].T
        return out

    # ---- what comes before a window

    def arrival(self, n):
        """Mean and covariance of state and unknown numbers at node n by what was measured until then, linearised.

        Where constraints leave the covariance singular their normals get the largest variance: rows at the start hold
        them.
        """
        if self._tame:  # what is known then is as wide as the priors are
            return Posterior(self.program, self._kkt, self.v, tame=False).arrival(n)
        self._sweep()
        program, chain = self.program, self.program.chain
        b = -np.concatenate([program.gradient(self.v), program.rows(self.v)])
        columns = chain.columns_of("state")[n - 1, -1]
        if chain.has("constants"):
            columns = np.concatenate([columns, chain.columns_of("constants")[n - 1, -1]])
        e, before = int(self.blocks[columns[0]]), np.zeros(0)
        for block in range(e + 1):
            own = b[self._members[block]] - self._couplings[block] @ before
            solution = self._inverses[block] @ own
            before = solution[self._held[block]]
        places, sizes = self._place[columns], chain.sizes[columns]
        covariance = self._inverses[e][np.ix_(places, places)]
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        values = np.where(values > DEFAULTS.singular * values[-1], values, values[-1])
        mean = program.place(self.v)[columns] + sizes * solution[places]
        return mean, (vectors * values) @ vectors.T * sizes * sizes[:, None]

    # ---- evidence

    def log_evidence(self):
        """`log p(y)` of what was measured, by Laplace's approximation, which is exact where all is linear."""
        self._sweep()
        program, problem = self.program, self.program.problem
        total = 2 * program.objective(self.v) + float(self._log_s.sum()) + self._log_taken - 2 * self._log_of_elements()
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
