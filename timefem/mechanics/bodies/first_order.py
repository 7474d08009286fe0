"""States of first order beside bodies: coordinates without momenta, whose rates are given."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...late import Late
from ...types import Expression, Floats
from ..declared import Field, Integer, Name
from ..part import Body, Part
from .states import CanonicalState, Coordinates

formula_force = Late("timefem.mechanics.forces.formula_force")  # whose parts act on bodies


class FirstOrder(Body, abstract=True):
    """n states x, whose rates `x'` are what forces on them add up to.

    They stand in the place of coordinates. Their momenta stay zero, so that they have no inertia.
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
        """States x, given as `Coordinates(x)`, an array or a number; in the place of momenta there are zeros.

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
    n = Integer("how many states x", 1, least=1, most=1000)
    seen = _Given("whose frames the rate sees", (), "Body or sequence of Body", "BodyFrame | Sequence[BodyFrame]")
    seen.argument = "bodies"
    acting = _Given("whose controls the rate sees", (), "Actuator or sequence of Actuator", "Part | Sequence[Part]")
    acting.argument = "controls"
    rate_parameters = _Given("c of the rate", (), "array_like", "Vector")
    rate_parameters.argument = "parameters"
    keyword_only = "name", "rate", "n"  # but for these
    has_rate = False

    def _complete(self):
        self._rate = None
        if self.rate is not None:
            self._rate = formula_force.rate_of(self)
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
