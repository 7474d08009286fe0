"""Damped Gauss-Newton steps on motions that hold: a search that goes no farther than the model may be trusted.

Where directions are known by next to nothing, such as torsion of a beam whose axis is seen, full steps are as long as
wide priors are, and a line search along them goes nowhere. Levenberg and Marquardt's remedy is here: the damping is the
information of the priors themselves, forces and numbers included, in which wide ones count by the size of the problem.
Each step is followed by least-squares corrections that bring the motion back to its equations, so that costs compare.
"""

import numpy as np

from .... import interrupts
from ....errors import SolveError
from ....status import Reason, Status
from ..options import DEFAULTS

PRIORS = "prior", "number", "noise"


class Damped:
    """A search by damped steps from motions that hold.

    Parameters
    ----------
    program : EstimationProgram
    kkt : Kkt
        Of all elements, on this process.
    points : sequence of ndarray
        Variables, of which the best ones that a motion is next to are where the search begins.

    Attributes
    ----------
    v : ndarray
        Variables so far.
    cost : float
        What they cost, infinite where there is no motion next to any point.
    """

    def __init__(self, program, kkt, points):
        self.program, self.kkt, self.cost, self.v = program, kkt, np.inf, points[-1]
        for v in points:
            with np.errstate(all="ignore"):
                self._take(self._next_to(v))

    def _take(self, v):
        if v is not None and (cost := self.program.objective(v)) < self.cost:
            self.v, self.cost = v, cost

    def _next_to(self, v):
        try:
            self._factor(v, 1.0)
        except SolveError:
            return None
        return self._held(v)

    def _factor(self, v, mu):
        """Factor `[H + mu D, A^T; A, 0]` at a point, D of the priors."""
        terms = self.program.sum
        self.kkt.factor(v, mu * (terms.hessian(v, PRIORS) + DEFAULTS.wide**2 * terms.hessian(v, ("wide",))))

    def _held(self, v):
        """The motion that holds, by corrections of the last factors, next to v; None where they lead nowhere."""
        program, before = self.program, np.inf
        for _ in range(DEFAULTS.corrections):
            violation = self.kkt.violation(v)
            size = program.size(v)
            if violation <= DEFAULTS.held * size:
                return v
            if not violation < before:
                return v if violation <= DEFAULTS.holds * size else None
            before = violation
            v = v + self.kkt.solve(np.zeros(program.n), -program.rows(v))
        return None

    def search(self, near):
        """Status and number of steps, as of `gauss_newton`.

        Source: H. B. Nielsen, Damping parameter in Marquardt's method, IMM-REP-1999-05, DTU (1999), for the damping.
        """
        program, kkt, lengths, mu, faster = self.program, self.kkt, [], 1.0, 2.0
        if not np.isfinite(self.cost):
            return Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, "no motion is near the guess"), 0
        for n in range(1, DEFAULTS.most_damped + 1):
            if interrupts.asked():
                interrupts.answer()
                return Status.failure(Reason.STOPPED, 0, 0.0, lengths), n
            try:
                with np.errstate(all="ignore"):
                    self._factor(self.v, mu)
                    gradient = program.gradient(self.v)
                    step = kkt.solve(-gradient, -program.rows(self.v))
                    trial, changed = program.within_bounds(self.v + step)
                    trial = self._held(trial) if np.isfinite(trial).all() else None
                    cost = np.inf if trial is None else program.objective(trial)
            except SolveError as error:
                return Status.failure(Reason.SINGULAR_TANGENT, 0, 0.0, lengths, str(error)), n
            lengths.append(kkt.length(step))
            program.on_iteration(lengths[-1])
            expected = -gradient @ step - kkt.length(step, program.sum.hessian(self.v))**2 / 2
            ratio = (self.cost - cost) / expected if expected > 0 else -1.0
            if max(abs(expected), abs(self.cost - cost)) <= DEFAULTS.same_time * self.cost:  # they are rounding
                ratio = 0.5
            if changed or (ratio > 0 and np.isfinite(cost)):
                self.v, self.cost = trial, cost
                if lengths[-1] <= near and not changed:
                    return Status(True, residual_history=lengths), n
                mu, faster = mu * max(1 / 3, 1 - (2 * ratio - 1)**3), 2.0
            else:
                mu, faster = mu * faster, 2 * faster
                if not np.isfinite(1 / mu) or mu > 1 / np.finfo(float).eps**2:
                    break
        return Status.failure(Reason.NOT_CONVERGED, 0, 0.0, lengths, f"{n} damped Gauss-Newton steps did not "
                                                                     "converge"), n
