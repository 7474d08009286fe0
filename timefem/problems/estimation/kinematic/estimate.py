"""The motion that fits measurements best without dynamics, and how certain it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.formula_text import as_formula
from ....mechanics.inversion.outputs import Output
from ....solution.solution import Solution
from ..moment import Moment
from .batched import Batched
from .misfits import Misfits

if TYPE_CHECKING:
    from ..problem import Estimation
    from .fit import Fit


class KinematicEstimate(Solution):
    """A `Solution` with the posterior distribution about it, at the frames `t`.

    Attributes
    ----------
    problem : Estimation
    misfits : Misfits
        How well each sensor fits, outliers, and markers that look swapped.
    """

    def take(self, problem: Estimation, found: Fit) -> None:
        """What it knows besides the motion."""
        self.problem, self._fit = problem, found

    @property
    def q(self) -> np.ndarray:
        """Coordinates at the frames, shape (n, n_q)."""
        return self._fit.x[:, 0]

    @property
    def rates(self) -> np.ndarray:
        """Velocities of the coordinates at the frames, shape (n, n_q)."""
        return self._fit.x[:, 1]

    @property
    def accelerations(self) -> np.ndarray:
        """Accelerations of the coordinates at the frames, shape (n, n_q).

        Raises
        ------
        InputError
            Where accelerations are the noise, as with MixedGalerkin(2).
        """
        if self._fit.x.shape[1] < 3:
            raise InputError("accelerations are noise with MixedGalerkin(2); solve with MixedGalerkin(3), whose state "
                             "has them")
        return self._fit.x[:, 2]

    @property
    def numbers(self) -> np.ndarray:
        """Unknown numbers of sensors, in the order of `problem.unknown_names`."""
        return self._fit.c

    @cached_property
    def number_covariance(self) -> np.ndarray:
        """Their posterior covariance."""
        return self._fit.smoother.number_covariance()

    @cached_property
    def misfits(self) -> Misfits:
        return Misfits(self._fit)

    # ---- covariance

    @cached_property
    def _covariances(self):
        return self._fit.smoother.covariances()

    def state_covariance(self, i: int) -> np.ndarray:
        """Posterior covariance of `(q, v)`, with MixedGalerkin(3) of `(q, v, a)`, at frame i, shape (2 n_q, 2 n_q)."""
        whole = self._fit.smoother.wholes(slice(i, i + 1) if i != -1 else slice(len(self.t) - 1, None))[0]
        return whole @ self._covariances[i] @ whole.T

    def evaluate(self, of: Any) -> np.ndarray:
        """Values of a formula of the motion at the frames, shape (n, k); see `std`."""
        return self._function(of)(*self._inputs(slice(None)))[0][..., 0]

    def covariance(self, of: Any) -> np.ndarray:
        """Posterior covariance of a formula of the motion at the frames, shape (n, k, k); see `std`."""
        function, smoother = self._function(of), self._fit.smoother
        found = []
        for first in range(0, len(self.t), smoother.options.piece):
            piece = slice(first, first + smoother.options.piece)
            _, slopes = function(*self._inputs(piece))
            by_motion = slopes @ smoother.wholes(piece)
            found.append(by_motion @ self._covariances[piece] @ by_motion.swapaxes(1, 2))
        return np.concatenate(found)

    def std(self, of: Any) -> np.ndarray:
        """Posterior standard deviations of a formula of the motion at the frames, shape (n, k).

        Parameters
        ----------
        of : Output, Joint, callable or str
            An output, a joint or its name (its first coordinate), or `formula(now)` as that of a `FormulaSensor`, also
            as text: `"now.position('hand')"`.
        """
        return np.sqrt(np.einsum("nkk->nk", self.covariance(of)))

    def _inputs(self, piece):
        return self._fit.x[piece].reshape(len(self.t[piece]), -1), self.t[piece]

    def _function(self, of):
        system, levels = self.system, self._fit.x.shape[1]
        x, t, momenta = ca.SX.sym("x", levels * system.n_q), ca.SX.sym("t"), ca.SX.sym("p", system.n_q)
        parts = ca.vertsplit(x, system.n_q)
        now = Moment(system, t, ca.vertcat(parts[0], momenta), v=parts[1], a=parts[2] if levels > 2 else None)
        value = ca.densify(ca.vec(ca.vertcat(*_as_list(self._value(of, now)))))
        if ca.depends_on(value, momenta):
            raise InputError(f"{of!r} depends on masses, which dynamics='none' leaves out")
        return Batched([x, t], [value, ca.jacobian(value, x)])

    def _value(self, of, now):
        if isinstance(of, Output):
            return now.output(of)
        label = isinstance(of, str) and not of.startswith("now")
        if label or not (isinstance(of, str | Callable)):
            return now.joint(of)
        return as_formula("formula", of, ["now"])(now)


def _as_list(value):
    return [ca.SX(v) for v in value] if isinstance(value, list | tuple) else [ca.SX(value)]
