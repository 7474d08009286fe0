"""Gauss-Newton steps on the chain: the matrix of a step, and a search along it."""

import numpy as np

from ....errors import SolveError
from ....solvers.interior_point.block_ldl.factors import BlockLDL
from ....solvers.nonlinear import products
from ....status import Reason, Status
from ..options import DEFAULTS

SINGULAR = "the matrix of the least squares is singular: something has neither a prior nor a measurement"


class Kkt:
    """The matrix `[H, A^T; A, 0]` of a program's Gauss-Newton steps, with the memory of its factors.

    Parameters
    ----------
    program : EstimationProgram
    """

    def __init__(self, program):
        (first, second), (rows, columns) = program.hessian_places, program.jacobian_places
        self.program, self.n, self._ldl = program, program.n, None
        self.rows = np.concatenate([second, program.n + rows])
        self.columns = np.concatenate([first, columns])
        self.blocks = program.joined[np.concatenate([program.variable_blocks, program.row_blocks])]
        self._off = self.rows != self.columns

    def values(self, v):
        """Entries at a point, at `rows` and `columns` of the lower triangle."""
        return np.concatenate([self.program.sum.hessian(v), self.program.jacobian(v)])

    def factor(self, v, damping=None):
        """Factor at a point, with what damps added to the Hessian's entries.

        Raises
        ------
        SolveError
            Where the matrix is singular.
        """
        if self._ldl is None:
            self._ldl = BlockLDL(self.blocks, self.rows, self.columns)
        self._values = self.values(v)
        if damping is not None:
            self._values[:len(damping)] += damping
        if not self._ldl.factor(self._values):
            raise SolveError(SINGULAR)

    def step(self, v):
        """The step of the variables from a point, at which it factors."""
        self.factor(v)
        return self.solve(-self.program.gradient(v), -self.program.rows(v))

    def violation(self, v):
        """The largest of the rows at a point."""
        return float(np.abs(self.program.rows(v)).max(initial=0.0))

    def lengths(self, i, v):
        """Lengths of the residuals of sensor i at a point, see `SensorTerm.lengths`."""
        return self.program.sensors[i].lengths(v)

    def solve(self, of_variables, of_rows):
        """Solution of the last matrix, after a step of refinement, of the variables."""
        return self._refined(np.concatenate([of_variables, of_rows]))[:self.n]

    def _refined(self, b):
        x = self._ldl.solve(b)
        return x + self._ldl.solve(b - self._times(x))

    def variance(self, column):
        """Of a variable by the last matrix."""
        one = np.zeros(self.program.n)
        one[column] = 1.0
        return float(self.solve(one, np.zeros(self.program.n_rows))[column])

    def _times(self, x):
        out = np.zeros(len(x))
        products.add_product(self.rows, self.columns, self._values, x, 1.0, out)
        products.add_product(self.columns, self.rows, self._values * self._off, x, 1.0, out)
        return out

    def length(self, step, values=None):
        """Length of a step of the variables in posterior standard deviations, `sqrt(s.H s)`."""
        n = len(self.program.hessian_places[0])
        rows, columns, off = self.rows[:n], self.columns[:n], self._off[:n]
        values = self._values[:n] if values is None else values
        return float(np.sqrt(max(np.dot(values * step[rows], step[columns] * np.where(off, 2.0, 1.0)), 0.0)))


class Leading(Kkt):
    """The same of the first blocks alone: of what is measured in them.

    Parameters
    ----------
    program : EstimationProgram
    last : int
        Number of the last block.
    """

    def __init__(self, program, last):
        super().__init__(program)
        here = self.blocks <= last
        self._entries, number = here[self.rows] & here[self.columns], np.cumsum(here) - 1
        self.rows, self.columns = number[self.rows[self._entries]], number[self.columns[self._entries]]
        self._off, self._members, self.blocks = self.rows != self.columns, np.flatnonzero(here), self.blocks[here]

    def values(self, v):
        return super().values(v)[self._entries]

    def solve(self, of_variables, of_rows):
        out = np.zeros(self.n + self.program.n_rows)
        out[self._members] = self._refined(np.concatenate([of_variables, of_rows])[self._members])
        return out[:self.n]


def gauss_newton(program, kkt, v, *, near):
    """Variables, status and number of full steps from v, which end where the next one is shorter than `near`, in
    posterior standard deviations, or where they grow."""
    lengths, violations, growing = [], [], 0
    for n in range(1, DEFAULTS.most_steps + 1):
        try:
            with np.errstate(all="ignore"):
                step = kkt.step(v)
        except SolveError as error:
            return v, Status.failure(Reason.SINGULAR_TANGENT, 0, 0.0, lengths, str(error)), n
        if not np.isfinite(step).all():
            return v, Status.failure(Reason.NOT_FINITE, 0, 0.0, lengths, "a step is not finite"), n
        v, changed = program.within_bounds(v + step, kkt)
        lengths.append(kkt.length(step))
        with np.errstate(all="ignore"):
            violations.append(kkt.violation(v))
        program.on_iteration(lengths[-1])
        if not np.isfinite(violations[-1]):
            return v, Status.failure(Reason.NOT_FINITE, 0, 0.0, lengths, "an equation is not finite"), n
        growing = growing + (len(lengths) > 1 and lengths[-1] > lengths[-2])
        rests = len(lengths) > 1 and lengths[-1] <= DEFAULTS.rests and lengths[-1] > DEFAULTS.steady * lengths[-2]
        if (lengths[-1] <= near or rests) and not changed:
            size = program.size(v)
            still = len(violations) > 1 and violations[-1] > violations[-2] / 2
            if (still or violations[-1] <= DEFAULTS.held * size) and violations[-1] <= DEFAULTS.holds * size:
                return v, Status(True, residual_history=lengths), n
        elif growing > DEFAULTS.forgiven:
            break
    text = f"{n} Gauss-Newton steps made no progress"
    return v, Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, text), n
