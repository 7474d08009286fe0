"""Potential energies given by a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ...types import Expression
from ..declared import Formula, Integer, Numbers
from ..formulas.formula import call, check_symbols, polynomial_degree
from ..joints.formula_part import FormulaPart
from ..joints.frame import Frame

if TYPE_CHECKING:
    from ..symbols import Symbols


class FormulaEnergy(FormulaPart):
    """A potential energy V of one or more bodies, by `formula(frames, t, c)`.

    `frames` holds per body a `Frame` with `position`, `rotation`, `q`, `point(x)` and `direction(a)`; `t` is the time
    [s], `c` the parameters. As text the frames are `f`: `"c[0] * f[0].position[2]**2"`.

    With a `lift` of `n_lift` functions `lift(frames, t, c)`, at most quadratic in the coordinates, the energy is
    `formula(e, t, c)` of their values e (as text they are `f[0]`, `f[1]`). Elements that keep all follow it along
    these, and keep every momentum that they leave as it is: distances squared, scalar products of arms of bodies in
    directors.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for formulas that fail, and lifts of a higher degree.

    Examples
    --------
    Gravitation between two masses, with energy and all momenta kept by `MixedGalerkin(k, keep="all")`:

    >>> import casadi, timefem as tf
    >>> sun, earth = tf.PointMass(1.0), tf.PointMass(3e-6)
    >>> pull = tf.FormulaEnergy([sun, earth], lambda e, t, c: -c[0] / casadi.sqrt(e[0]), parameters=[1.2e-4],
    ...                         n_lift=1, lift=lambda f, t, c: casadi.sumsqr(f[0].position - f[1].position))
    """

    table = "forces"
    formula = Formula("V [J], see above", "f", "t", "c")
    formula_parameters = Numbers("c of the formulas", (), argument="parameters")
    n_lift = Integer("number of values of the lift", 0, least=0, most=1000)
    lift_formula = Formula("of the frames, see above", "f", "t", "c", default=None, optional=True, argument="lift")

    def _complete(self):
        s = self._symbols()
        if (self.lift_formula is None) != (self.n_lift == 0):
            raise InputError(f"{self._title}: give lift and n_lift together")
        if self.lift_formula is not None:
            e = self._lifts(self._frames(s), s.t, s.own)
            check_symbols(f"{self._title}: lift", e, *s.q, s.t, s.own)
            if ca.depends_on(e, s.t) or polynomial_degree(e, ca.vertcat(*s.q)) > 2:
                raise InputError(f"{self._title}: the lift must be at most quadratic in the coordinates, without the "
                                 "time; points of bodies in quaternions are quadratic themselves")
        energy = ca.SX(self.energy(s))
        check_symbols(self._formula_title, energy, *s.q, s.t, s.own)
        for body, q in zip(self.bodies, s.q, strict=True):
            if getattr(body, "is_port", False) and ca.depends_on(energy, q):
                raise InputError(f"{self._formula_title} depends on the states of {body!r}, whose efforts are the "
                                 "gradient of its own H: add this energy there")

    def _frames(self, s):
        return [Frame.of(body, q) for body, q in zip(self.bodies, s.q, strict=True)]

    def _lifts(self, frames, t, c):
        return call(f"{self._title}: lift", self.lift_formula, self.n_lift, frames, t, c)

    def _value(self, seen, t, c):
        return call(self._formula_title, self.formula, 1, seen, t, c)

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What a formula returns, and its symbols by their names in a text."""
        frames, t, c, symbols = self._traced(Frame)
        if name == "lift_formula":
            return ca.vertsplit(self._lifts(frames, t, c)), symbols
        if self.lift_formula is None:
            return self._value(frames, t, c), symbols
        e = ca.SX.sym("e", self.n_lift)
        return self._value(ca.vertsplit(e), t, c), {"t": t, "c": c} | {f"f[{i}]": e[i] for i in range(self.n_lift)}

    def energy(self, s: Symbols) -> Expression:
        frames = self._frames(s)
        seen = frames if self.lift_formula is None else ca.vertsplit(self._lifts(frames, s.t, s.own))
        return self._value(seen, s.t, s.own)

    def lift(self, s: Symbols) -> ca.SX | None:
        return None if self.lift_formula is None else self._lifts(self._frames(s), s.t, s.own)

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        return self._value(ca.vertsplit(e), s.t, s.own)
