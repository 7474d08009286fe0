"""Port-Hamiltonian systems of first order beside bodies: electric, hydraulic and thermal parts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression, Floats
from ..declared import Formula, Integer, Numbers
from ..formulas.formula import call, check_symbols
from .first_order import FirstOrder

if TYPE_CHECKING:
    from ..symbols import Symbols


class PortSystem(FirstOrder):
    """States x with `x' = (J(x) - R(x)) w + u`, w = dH/dx, beside the bodies of a system.

    H(x) is the energy that it stores [J], w are its efforts: currents for flux linkages, voltages for charges,
    pressures for volumes. `flow(x, w, t, c)` is what x' is without inputs: `(J(x) - R(x)) w`, J skew, R positive
    semidefinite, and sources. It sees the efforts of the element, so that `dH = integral of w.x'` there, to round-off
    with `MixedGalerkin(k, keep="all")`. Ports join it to others: forces see `w` as the velocity of this body, and what
    they push it with is added to x' (`PortConnection`, `FormulaForce`). Elements in Hamilton's form take it.

    Raises
    ------
    InputError
        For formulas that fail, or return another number of values; for energies without effort.

    Examples
    --------
    A coil of 0.1 H and 2 ohm at 12 V, with the flux linkage for its state:

    >>> import timefem as tf
    >>> coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[0.1, 2.0, 12.0], name="coil")
    """

    n = Integer("how many states x", least=1, most=1000)
    stored = Formula("H(x) [J], in x and the parameters c", "x", "c")
    flow = Formula("x' without inputs, n values, in x, the efforts w = dH/dx, the time t [s] and c", "x", "w", "t", "c")
    formula_parameters = Numbers("c of the formulas", (), argument="parameters")
    is_port = True

    def _complete(self):
        self.own_parameters = self.declared_numbers()
        for name in ("stored", "flow"):
            value, symbols = self.traced(name)
            check_symbols(f"{self._title}: {name}", ca.vertcat(*value) if isinstance(value, list) else value,
                          *symbols.values())
        x, c = ca.SX.sym("x", self.n), ca.SX.sym("c", len(self.own_parameters))
        effort = self.effort(x, c)
        idle = [i for i in range(self.n) if effort[i].is_zero()]
        if idle:
            raise InputError(f"{self._title}: the energy does not depend on x[{idle[0]}], which then has no effort; "
                             "leave that state out")

    @property
    def kind(self) -> Hashable:
        return ("port system", self.n, *(self.fields[name].form_in(self, getattr(self, name))
                                         for name in ("stored", "flow")), len(self.own_parameters))

    def __repr__(self):
        return f"{self._title} of {self.n} states"

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What a formula returns, and its symbols by their names in a text."""
        x, w, t = ca.SX.sym("x", self.n), ca.SX.sym("w", self.n), ca.SX.sym("t")
        c = ca.SX.sym("c", len(self.formula_parameters))
        if name == "stored":
            return self.stored_in(x, c), {"x": x, "c": c}
        return ca.vertsplit(self._flow(x, w, t, c)), {"x": x, "w": w, "t": t, "c": c}

    def stored_in(self, x: ca.SX, c: ca.SX) -> ca.SX:
        """H(x) [J] with the parameters c, SX scalar."""
        return call(f"{self._title}: stored", self.stored, 1, x, c)

    def _flow(self, x, w, t, c):
        return call(f"{self._title}: flow", self.flow, self.n, x, w, t, c)

    # ---- what a body offers

    def potential_energy(self, s: Symbols) -> Expression:
        return self.stored_in(s.q[0], s.own)

    def effort(self, x: ca.SX, c: ca.SX) -> ca.SX:
        """w = dH/dx, SX (n,)."""
        return ca.densify(ca.gradient(self.stored_in(x, c), x))

    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        return self.effort(q, c)

    def force(self, s: Symbols) -> ca.SX:
        """What x' is without inputs, in the place of a generalized force."""
        return self._flow(s.q[0], s.velocity[0], s.t, s.own)

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Efforts w, shape (..., n)."""
        x, c = ca.SX.sym("x", self.n), ca.DM(self.own_parameters)
        function = ca.Function("effort", [x], [self.effort(x, ca.SX(c))])
        q = np.asarray(q, float)
        return np.array(function(q.reshape(-1, self.n).T)).T.reshape(q.shape)
