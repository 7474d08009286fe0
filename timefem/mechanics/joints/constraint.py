"""A constraint given by a formula."""

import numpy as np

from ... import validate
from ...errors import InputError
from ..formula import Same, call, check_symbols
from ..part import Body, Part, Symbols
from .joint import Frame


class Constraint(Part):
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

    def __init__(self, bodies, formula, n, parameters=None, names=None, name=None):
        self.name = name
        title = "Constraint" + (f" {name!r}" if name else "")
        self.bodies = (bodies,) if isinstance(bodies, Body) else tuple(bodies) if isinstance(bodies, list | tuple) \
            else ()
        if not self.bodies or not all(isinstance(b, Body) for b in self.bodies):
            raise InputError(f"{title}: bodies must be a body or a list of bodies, not {bodies!r}")
        if len({id(b) for b in self.bodies}) < len(self.bodies):
            raise InputError(f"{title}: a body is given twice in bodies; give each one once")
        self.n = validate.integer(f"{title}: n", n, minimum=1)
        self.own_parameters = validate.array(f"{title}: parameters", () if parameters is None else parameters, (None,))
        names = [f"constraint {i + 1}" for i in range(self.n)] if names is None else names
        if not isinstance(names, list | tuple) or len(names) != self.n or not all(isinstance(x, str) for x in names):
            raise InputError(f"{title}: names must be a list of {self.n} texts, not {names!r}")
        self.constraint_names = tuple(names)
        self.formula, self._title = formula, f"{title}: the formula"
        self._check()

    def __repr__(self):
        return f"Constraint({len(self.bodies)} bodies, {self.n} equations{f', name={self.name!r}' * bool(self.name)})"

    @property
    def kind(self):
        return (Constraint, Same(self.formula), self.n, len(self.own_parameters), *(b.kind for b in self.bodies))

    def constraints(self, s):
        frames = [Frame.of(body, q) for body, q in zip(self.bodies, s.q)]
        return call(self._title, self.formula, self.n, frames, s.t, s.own)

    def _check(self):
        import casadi as ca

        s = Symbols(self)
        phi, q = self.constraints(s), ca.vertcat(*s.q)
        check_symbols(self._title, phi, *s.q, s.t, s.own)
        rows = np.array(ca.DM(ca.jacobian(phi, q).sparsity(), 1)).any(axis=1)
        if not rows.all():
            idle = self.constraint_names[np.argmin(rows)]
            raise InputError(f"{self._title} does not depend on the coordinates in '{idle}'; remove this equation")
