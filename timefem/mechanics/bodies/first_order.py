"""States of first order beside bodies, whose rates are given; port-Hamiltonian systems."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...memory import Late
from ...types import Expression, Floats
from ..declared import Field, Formula, Integer, Name, Numbers
from ..formulas.formula import call, check_symbols
from ..part import Body, Part
from .states import CanonicalState, Coordinates

if TYPE_CHECKING:
    from ..symbols import Symbols

formula_force = Late("timefem.mechanics.forces.formula_force")  # whose parts act on bodies


class FirstOrder(Body, abstract=True):
    """n states x, whose rates `x'` are what forces on them add up to.

    They replace coordinates. Their momenta stay zero, so that they have no inertia.
    """

    n = Integer("how many states x", 1, least=1, most=1000)
    dimension = 0

    @property
    def n_q(self) -> int:
        return self.n

    @property
    def n_increments(self) -> int:
        return self.n

    @property
    def first_order(self) -> tuple[int, ...]:
        return tuple(range(self.n))

    @property
    def mass_scale(self) -> np.ndarray:
        return np.ones(self.n)

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        return ca.sumsqr(p) / 2  # of momenta that stay zero

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        return ca.sumsqr(v) / 2

    def rigid_motion(self, q: ca.SX) -> ca.SX:
        return ca.SX(self.n, 6)  # no momentum

    def state(self, value: Coordinates | CanonicalState | Sequence[float] | float,
              t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """States x, given as `Coordinates(x)`, an array or a number; instead of momenta there are zeros.

        Raises
        ------
        InputError
            For another number of states, and velocities: rates follow from the states.
        """
        try:
            x = value.q if isinstance(value, Coordinates | CanonicalState) else np.atleast_1d(np.asarray(value, float))
        except (TypeError, ValueError):
            x = None
        if np.shape(x) != (self.n,):
            raise InputError(f"{self._title}: the state must be Coordinates of {self.n} values, not {value!r}")
        if np.any(getattr(value, "v", 0)):
            raise InputError(f"{self._title}: its rates follow from its states; leave the velocities out")
        return x, np.zeros(self.n)

    def mass_matrix(self, q: Floats) -> np.ndarray:
        """The identity: it has no inertia, and its momenta rest."""
        return np.broadcast_to(np.eye(self.n), (*np.shape(q), self.n))

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Zero, shape (..., 3)."""
        return np.zeros((*np.shape(p)[:-1], 3))

    angular_momentum = linear_momentum


class _Given(Field):
    """An argument of which another part is made."""

    in_files = False
    in_descriptions = False  # that part is described by itself

    def __init__(self, help, default, kind_of_value, given_as):
        super().__init__(help, default=default, optional=default is None)
        self.kind_of_value, self.given_as = kind_of_value, given_as


class State(FirstOrder):
    """States x of first order without energy, `x' = rate`: activation, current, lag, integral, charge, fuel.

    The rate is a formula `rate(x, f, t, c, u)` of the states x, of frames f of the `bodies` (see `FormulaForce`; of
    other states `f[0].q`), the time, parameters c and the controls u of `controls`, one below the other; as text
    `"(u[0] - x[0]) / c[0]"`. It becomes a part of the system of its own, a `StateRate` with the name of the state and
    " rate", whose numbers are `"NAME rate.parameters[0]"`. Without it states are what forces on them integrate: every
    `FormulaForce` on a state adds to x'. Forces, costs and limits see x as the coordinates of this body. Galerkin
    elements in Hamilton's, Lagrange's and the energy form take them, with the order that they have.

    Raises
    ------
    InputError
        For a rate that fails, or returns another number of values.

    Examples
    --------
    A muscle, whose activation follows an excitation within 50 ms:

    >>> import timefem as tf
    >>> excitation = tf.Control(name="excitation")
    >>> activation = tf.State("activation", "(u[0] - x[0]) / c[0]", controls=[excitation], parameters=[0.05])
    """

    name = Name()
    rate = _Given("formula of x', see above", None, "callable, str or sequence of str",
                  "UserFunction | str | Sequence[str]")
    n = Integer("how many states x; unless given as many as `rate` is a list of", None, least=1, most=1000,
                optional=True)
    seen = _Given("whose frames the rate sees", (), "Body or sequence of Body", "BodyFrame | Sequence[BodyFrame]")
    seen.argument = "bodies"
    acting = _Given("whose controls the rate sees", (), "Actuator or sequence of Actuator", "Part | Sequence[Part]")
    acting.argument = "controls"
    rate_parameters = _Given("c of the rate", (), "array_like", "Vector")
    rate_parameters.argument = "parameters"
    keyword_only = "name", "rate", "n"  # but for these
    has_rate = False

    def _complete(self):
        one = self.n is None and not isinstance(self.rate, list | tuple)
        if self.n is None:
            self.n = 1 if one else max(1, len(self.rate))
        self._rate = None
        if self.rate is not None:
            try:
                self._rate = formula_force.rate_of(self)
            except InputError as error:
                raise InputError(f"{error}; of several states give their number n") if one else error from None
            if callable(self.rate):
                self.rate = self._rate.formula  # which states what it stated at first, in other processes, too
        elif len(self.seen) or len(self.acting) or len(self.rate_parameters):
            raise InputError(f"{self._title}: bodies, controls and parameters belong to a rate, and none is given")

    @property
    def members(self) -> tuple[Part, ...]:
        return (self,) if self._rate is None else (self, self._rate)

    @property
    def kind(self) -> Hashable:
        return "states", self.n

    def __repr__(self):
        return f"{self._title} of {self.n} values" if self.n > 1 else self._title

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Zeros: no velocity belongs to a state."""
        return np.zeros(np.shape(q))


# ---- Port-Hamiltonian systems of first order beside bodies: electric, hydraulic and thermal parts

class PortSystem(FirstOrder):
    """States x with `x' = (J(x) - R(x)) w + u`, w = dH/dx, beside the bodies of a system.

    H(x) is the energy that it stores [J], w are its efforts: currents for flux linkages, voltages for charges,
    pressures for volumes. `flow(x, w, t, c)` is what x' is without inputs: `(J(x) - R(x)) w`, J skew, R positive
    semidefinite, and sources. It sees the efforts of the element, so that `dH = integral of w.x'` there, to round-off
    with `MixedGalerkin(k, keep="all")`. Ports join it to others: forces see `w` as the velocity of this body, and what
    they push it with is added to x' (`PortConnection`, `FormulaForce`). Hamilton's, the energy and Lagrange's form
    take it.

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

    def effort_by_state(self, q: np.ndarray) -> np.ndarray:
        """dw/dx, shape (n, n)."""
        x, c = ca.SX.sym("x", self.n), ca.SX(ca.DM(self.own_parameters))
        return np.array(ca.Function("by_state", [x], [ca.densify(ca.jacobian(self.effort(x, c), x))])(q))

    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        return self.effort(q, c)

    def force(self, s: Symbols) -> ca.SX:
        """What x' is without inputs, instead of a generalized force."""
        return self._flow(s.q[0], s.velocity[0], s.t, s.own)

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Efforts w, shape (..., n)."""
        x, c = ca.SX.sym("x", self.n), ca.DM(self.own_parameters)
        function = ca.Function("effort", [x], [self.effort(x, ca.SX(c))])
        q = np.asarray(q, float)
        return np.array(function(q.reshape(-1, self.n).T)).T.reshape(q.shape)
