"""A constraint given by a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from ...errors import InputError
from ..formulas.formula import check_symbols, checked_names, idle_rows
from .formula_part import FormulaEquations
from .frame import Frame

if TYPE_CHECKING:
    from ..symbols import Symbols


class Constraint(FormulaEquations):
    """Holonomic constraint Phi(q, t) = 0 of one or more bodies, given by a formula in CasADi symbols.

    Rheonomic when the formula contains the time. Its velocity level is derived. Scalar products of vectors between
    bodies conserve momentum exactly, vectors in space axes do not.

    The formula is `formula(frames, t, c)` and returns `n` expressions (SX, or a sequence). `frames` holds per body a
    `Frame` with `position`, `rotation`, `q`, `point(x)` and `direction(a)`; `t` is the time [s], `c` the parameters, SX
    of shape (n_parameters,). It stays what it is when it is given, whatever becomes of outer variables; numbers that
    differ between constraints belong into `parameters`. Constraints whose formulas state the same share a kernel; each
    new one is compiled. As text the frames are `f`: `"sumsqr(f[0].position) - c[0]"`.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, returns another number of values, contains foreign
        symbols, or has a row that depends on no coordinate.

    Examples
    --------
    >>> import casadi, timefem as tf
    >>> bead = tf.PointMass(1.0)
    >>> ellipsoid = tf.Constraint(bead, lambda f, t, c: casadi.sumsqr(f[0].position / c) - 1, 1, parameters=[1, 2, 3])
    """

    def _complete(self):
        self.constraint_names = checked_names(self._title, self.names, self.n)
        self._check()

    def constraints(self, s: Symbols) -> ca.SX:
        frames = [Frame.of(body, q) for body, q in zip(self.bodies, s.q)]
        return self._values(frames, s.t, s.own)

    def _check(self):
        s = self._symbols()
        phi, q = self.constraints(s), ca.vertcat(*s.q)
        check_symbols(self._formula_title, phi, *s.q, s.t, s.own)
        idle = idle_rows(ca.jacobian(phi, q))
        if idle:
            raise InputError(f"{self._formula_title} does not depend on the coordinates in "
                             f"'{self.constraint_names[idle[0]]}'; remove this equation")
