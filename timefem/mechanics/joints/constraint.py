"""A constraint given by a formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca

from ...errors import InputError
from ...types import UserFunction, Vector
from ..formula import call, check_symbols, checked_names, idle_rows
from ..part import Symbols
from .formula_part import FormulaPart
from .frame import Frame

if TYPE_CHECKING:
    from ..part import Body


class Constraint(FormulaPart):
    """Holonomic constraint Phi(q, t) = 0 of one or more bodies, given by a formula in CasADi symbols.

    Rheonomic when the formula contains the time. Its velocity level is derived. Scalar products of vectors between
    bodies conserve momentum exactly, vectors in space axes do not.

    Parameters
    ----------
    bodies : Body or sequence of Body
    formula : callable
        `formula(frames, t, c)` returns `n` expressions (SX, or a sequence). `frames` holds per body a `Frame` with
        `position`, `rotation`, `q`, `point(x)` and `direction(a)`; `t` is the time [s], `c` the parameters, SX of
        shape (n_parameters,). It is called a few times only, and must give the same expressions each time: numbers
        that differ between constraints belong into `parameters`. Constraints with the very same function share a
        kernel; each new function is compiled.
    n : int
        Number of constraints.
    parameters : array_like, shape (n_parameters,), optional
    names : sequence of str, optional
        One per constraint, for messages.
    name : str, optional

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

    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction, n: int, parameters: Vector | None = None,
                 names: Sequence[str] | None = None, name: str | None = None) -> None:
        super().__init__(bodies, formula, n, parameters, name)
        self.constraint_names = checked_names(self._title, names, self.n)
        self._check()

    def constraints(self, s: Symbols) -> ca.SX:
        frames = [Frame.of(body, q) for body, q in zip(self.bodies, s.q)]
        return call(self._formula_title, self.formula, self.n, frames, s.t, s.own)

    def _check(self):
        s = Symbols(self)
        phi, q = self.constraints(s), ca.vertcat(*s.q)
        check_symbols(self._formula_title, phi, *s.q, s.t, s.own)
        idle = idle_rows(ca.jacobian(phi, q))
        if idle:
            raise InputError(f"{self._formula_title} does not depend on the coordinates in "
                             f"'{self.constraint_names[idle[0]]}'; remove this equation")
