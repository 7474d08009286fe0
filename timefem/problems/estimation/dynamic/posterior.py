"""The posterior distribution of an estimation problem: covariances by selected inversion, log-determinants, draws.

The matrix of the last Gauss-Newton step, `K = [H, A^T; A, 0]`, is block-tridiagonal in time order. Of its inverse the
block of the variables is their covariance, constraints included (`N (N^T H N)^-1 N^T`); it comes by the sweeps of
`Selected`.
"""

from functools import cached_property

import numpy as np

from ..options import DEFAULTS
from .selected import Selected, numbered, shared


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

    def __init__(self, program, kkt, v, tame=True):
        self.program, self.v, self.n, self._blocks, self._kkt = program, v.copy(), program.n, None, kkt
        self.blocks = program.joined[np.concatenate([program.variable_blocks, program.row_blocks])]
        self._tame, self._taken, self._log_taken = tame, None, 0.0

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
        """Entries of K with wide priors that are only some times wider than the posterior, so that the sweeps lose no
        digits; what they say too much is taken away again, `Z = Z' + C (D^-1 - J C)^-1 C^T` with `C = K'^-1 J^T`."""
        wide = [term for term in self.program.sum.terms if term.role == "wide"]
        if not (wide and self._tame):
            return self._kkt.values(self.v)
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
            self._own = Selected(self.blocks, kkt.rows, kkt.columns, values)
            self._blocks, self._beside = self._own.backwards()
            self._log = self._own.log_determinant

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
        """Mean and covariance of state and unknown numbers at node n by what was measured until then, linearised.

        Where constraints leave the covariance singular their normals get the largest variance: rows at the start hold
        them. So they do what counts turns, which tells the angles but for errors of the elements.
        """
        if self._tame:  # what is known then is as wide as the priors are
            return Posterior(self.program, self._kkt, self.v, tame=False).arrival(n)
        self.settle()
        program, chain = self.program, self.program.chain
        b = -np.concatenate([program.gradient(self.v), program.rows(self.v)])
        columns = chain.columns_of("state")[n - 1, -1]
        if chain.has("constants"):
            columns = np.concatenate([columns, chain.columns_of("constants")[n - 1, -1]])
        e, before = int(self.blocks[columns[0]]), np.zeros(0)
        swept = self._own
        for block in range(e + 1):
            own = b[swept.members[block]] - swept.couplings[block] @ before
            solution = swept.inverses[block] @ own
            before = solution[swept.held[block]]
        places, sizes = swept.place[columns], chain.sizes[columns]
        covariance = swept.inverses[e][np.ix_(places, places)]
        system, covariance = program.problem.system, (covariance + covariance.T) / 2
        counters = [k * system.n_q + system.coordinates(body).start for body in system.bodies if body.is_counter
                    for k in (0, 1)]
        covariance[counters] = covariance[:, counters] = 0.0
        values, vectors = np.linalg.eigh(covariance)
        values = np.where(values > DEFAULTS.singular * values[-1], values, values[-1])
        mean = program.place(self.v)[columns] + sizes * solution[places]
        return mean, (vectors * values) @ vectors.T * sizes * sizes[:, None]

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
