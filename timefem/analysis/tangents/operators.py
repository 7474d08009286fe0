"""A tangent and its inverse as linear operators, on one process or on all ranks.

Extreme singular values and norms come from SciPy: Lanczos' method (ARPACK) on A^T A and on A^-1 A^-T, and Higham's
estimator of 1-norms. Under mpirun SciPy runs on rank 0 only, which hands whole vectors to the others; products and
solves are distributed, and the inverse is never formed.
"""

from contextlib import suppress

import numpy as np
import scipy

from ...errors import SolveError
from ...estimated_norm import estimated_norm

TOLERANCE = 5e-3  # of the residual of squared singular values, hence half of it in the values, at most
COLUMNS = 8  # of the block with which 1-norms are estimated


class Tangent:
    """Products and solves with a tangent on this process."""

    comm = None

    def __init__(self, equations):
        equations.linear.check_transpose()
        equations.factor()
        self.linear, self.n = equations.linear, equations.n_unknowns

    def apply(self, operation, v):
        """`A v`, `A^T v`, `A^-1 v` or `A^-T v`, shape (n,)."""
        return getattr(self.linear, operation)(v)

    def one_norm(self):
        """Largest sum of magnitudes of a column."""
        return self.linear.norm(transposed=True)

    def lead(self, work):
        """The value of `work()`, which may call `apply`."""
        return work()


class DistributedTangent(Tangent):
    """The same on all ranks; vectors are whole on rank 0, and every rank has its part of the work."""

    def __init__(self, equations):
        super().__init__(equations)
        self.comm = equations.comm
        counts = self.comm.allgather(equations.own[1] - equations.own[0])
        self.counts, self.n = counts, sum(counts)

    def lead(self, work):
        if self.comm.rank:
            while (operation := self.comm.bcast(None)) is not None:
                with suppress(SolveError):  # all ranks fail alike, and rank 0 tells
                    self._shared(operation, None)
            value, error = self.comm.bcast(None)
        else:
            value, error = None, None
            try:
                value = work()
            except Exception as failure:  # the other ranks wait
                error = failure
            self.comm.bcast(None)
            self.comm.bcast((value, error))
        if error is not None:
            raise error
        return value

    def apply(self, operation, v):
        self.comm.bcast(operation)
        return self._shared(operation, np.ascontiguousarray(v))

    def _shared(self, operation, v):
        part = np.empty(self.counts[self.comm.rank])
        self.comm.Scatterv((v, self.counts), part)
        part = getattr(self.linear, operation)(part)
        whole = np.empty(self.n) if self.comm.rank == 0 else None
        self.comm.Gatherv(part, (whole, self.counts))
        return whole


def extreme_values(tangent, norm):
    """`|A|` and `1 / |A^-1|` in the 2-norm (the extreme singular values) or the 1-norm."""
    if norm == 1:
        return tangent.one_norm(), 1 / tangent.lead(lambda: _inverse_one_norm(tangent))
    return tangent.lead(lambda: (_largest(tangent, "multiply", "multiply_transposed"),
                                 1 / _largest(tangent, "solve_transposed", "solve")))


def _largest(tangent, first, second):
    """Largest singular value of the operator `first`, whose transpose is `second`."""
    squared = scipy.sparse.linalg.LinearOperator(
        (tangent.n,) * 2, lambda v: tangent.apply(second, tangent.apply(first, v.ravel())), dtype=float)
    start = np.random.default_rng(0).standard_normal(tangent.n)
    try:
        values = scipy.sparse.linalg.eigsh(squared, 1, tol=TOLERANCE, v0=start, return_eigenvectors=False)
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise SolveError(f"Lanczos' method did not find an extreme singular value: {error}") from error
    return float(np.sqrt(values[0]))


def _inverse_one_norm(tangent):
    inverse = scipy.sparse.linalg.LinearOperator((tangent.n,) * 2, lambda v: tangent.apply("solve", v.ravel()),
                             rmatvec=lambda v: tangent.apply("solve_transposed", v.ravel()), dtype=float)
    return float(estimated_norm(inverse, t=min(COLUMNS, tangent.n)))
