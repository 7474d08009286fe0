"""Costs of the use of actuators."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError
from ...types import Expression, Floats, UserFunction
from ..declared import Numbers
from ..declared.declared import Declared
from ..formulas.formula import Same, call
from ..formulas.text import as_formula
from ..numbers.arguments import own_parameters
from ..numbers.arithmetic import joined
from ..part import Body, Part
from .actuators import Actuator

if TYPE_CHECKING:
    from ..symbols import Symbols


class Cost(Part):
    """Integrand of the cost of an optimal control problem: a formula of controls, coordinates and velocities.

    Parameters
    ----------
    formula : callable or str
        `formula(u, q, v, t)` -> CasADi scalar, or such a formula as text, `"u[0]**2"`; u, q, v are vectors of all
        components of `actuators` and `bodies`.
    actuators : Actuator or sequence of Actuator
    bodies : Body or sequence of Body
    name : str, optional
    """

    def __init__(self, formula: UserFunction | str, actuators: Part | Sequence[Part] = (),
                 bodies: Body | Sequence[Body] = (), name: str | None = None) -> None:
        self.controls, self.bodies = ((x,) if isinstance(x, Declared) else tuple(x) for x in (actuators, bodies))
        self.name = name
        for actuator in self.controls:
            if not isinstance(actuator, Actuator):
                raise InputError(f"Cost: {actuator!r} is not an actuator")
        self.formula = None if formula is None else as_formula("Cost", formula, ["u", "q", "v", "t"])

    @property
    def kind(self) -> Hashable:
        controls = tuple(a.n_controls for a in self.controls)
        sizes = controls, tuple(b.n_q for b in self.bodies), len(self.own_parameters)
        return (Cost, Same(self.formula, self._stated, sizes), controls, *(b.kind for b in self.bodies))

    def _stated(self):
        sizes = [sum(a.n_controls for a in self.controls), *[sum(b.n_q for b in self.bodies)] * 2, 1,
                 len(self.own_parameters)]
        given = [ca.SX.sym(name, n) for name, n in zip("uqvtc", sizes, strict=True)]
        return ca.Function("cost", given, [self._value(*given)])

    def _value(self, u, q, v, t, c):
        return call("Cost", self.formula, 1, u, q, v, t)

    def cost(self, s: Symbols, u: ca.SX) -> Expression:
        q, v = (ca.vertcat(ca.SX(0, 1), *x) for x in (s.q, s.velocity if self.bodies else ()))
        return self._value(u, q, v, s.t, s.own)


class FormulaCost(Cost):
    """The integrand of a formula of the motion as a whole, which sees numbers of any parts, and unknown ones.

    Parameters
    ----------
    given : callable
        The formula as it was given.
    formula : str
        `formula(u, q, v, t, c)` with those numbers c.
    actuators, bodies
        As in `Cost`.
    sources : sequence of (Part, int) or str
        What the numbers are: of parts by the place in their `own_parameters`, and unknown ones by name; "duration" is
        the length of the time span, of the mesh in `own_parameters` as long as it is unknown.
    """

    def __init__(self, given: Any, formula: str, actuators: Sequence[Part], bodies: Sequence[Body],
                 sources: Sequence[Any]) -> None:
        super().__init__(None, actuators, bodies)
        self.given, self.formula = given, as_formula("Cost", formula, ["u", "q", "v", "t", "c"])
        self.sources, self.own_parameters = tuple(sources), self._values(np.zeros(len(sources)), sources)

    @staticmethod
    def _values(unknown, sources):
        return np.array([x if isinstance(source, str) else source[0].own_parameters[source[1]]
                         for x, source in zip(unknown, sources, strict=True)], float)

    @property
    def kind(self) -> Hashable:
        return (*super().kind, self.durations)

    @property
    def durations(self) -> tuple[int, ...]:
        return tuple(i for i, source in enumerate(self.sources) if source == "duration")

    def numbers(self, c: Any) -> dict[str, Any]:
        """Of the parts that its numbers are of; unknown ones, and the duration, as they are."""
        given, found = c.own_parameters, []
        for i, (source, own) in enumerate(zip(self.sources, c.sources, strict=True)):
            found.append(given[i] if isinstance(source, str) else own_parameters(source[0], own[0])[source[1]])
        return {"numbers": joined(*found)}

    def _value(self, u, q, v, t, c):
        return call("Cost", self.formula, 1, u, q, v, t, c)


class Effort(Cost):
    """Half the weighted sum of the squared controls of one actuator, 1/2 sum_i w_i u_i^2.

    Parameters
    ----------
    actuator : Actuator
    weights : float or array_like, shape (n_controls,)
    """

    weights = Numbers("w_i")

    def __init__(self, actuator: Part, weights: Floats = 1.0, name: str | None = None) -> None:
        if isinstance(actuator, list | tuple) or isinstance(weights, Actuator):
            raise InputError("Effort takes one actuator: give the costs of several as a list, [Effort(first), "
                             "Effort(second)]")
        super().__init__(None, (actuator,), (), name)
        self.weights = np.full(self.controls[0].n_controls, weights) if np.ndim(weights) == 0 else weights
        self._complete()
        self.own_parameters = self.declared_numbers()

    def _complete(self):
        self.weights = validate.array("Effort: weights", self.weights, (self.controls[0].n_controls,))
        if np.any(self.weights <= 0):
            raise InputError(f"Effort: weights must be positive, not {digits(self.weights)}")

    @property
    def kind(self) -> Hashable:
        return (Effort, len(self.own_parameters))

    def cost(self, s: Symbols, u: ca.SX) -> Expression:
        return ca.dot(s.own, u**2) / 2
