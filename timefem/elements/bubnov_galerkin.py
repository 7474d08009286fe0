"""The global Bubnov-Galerkin method: test and trial functions from the same spaces."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..polynomials import LagrangeBasis
from ..records import frozen
from ..validate.options import BUBNOV_FORMS, field
from .components import PointSymbols, nonholonomic_values
from .element import Space, TimeElement
from .form import Form, ImpulseBasis, at_nodes, impulse_slopes, momenta_rows, nodes, velocities

if TYPE_CHECKING:
    import casadi as ca

    from ..mechanics.system import System

# ---- the action in Livens' form with tests and trial functions from the same spaces

class BubnovImpulseForm(Form):
    """Stationary `int pi.(qdot - v) + L(q, v) - mu.(G v + Phi_t) dt` with q and pi continuous of degree k.

    v, mu and their tests are discontinuous of degree k - 1. Since the tests of pi determine v = qdot, what is left is
    `<L_q - (G v + Phi_t)_q^T mu - pidot>`, tested by continuous polynomials of degree k, `<T_v - G^T mu - pi>` and
    `<G v + Phi_t>`. The momenta pi of the action lack the impulses of the constraints, and grow with them; at the nodes

    `T_v(q, u) - G^T nu = pi`, `G u + Phi_t = 0`, `p = T_v(q, u)`

    give those of the motion. Forces of constraints are -d mu/dt, of the polynomial through nu and mu.
    """

    name = "impulse"
    most_points = 2

    def trial(self, element):
        k = element.degree
        whole, gauss = LagrangeBasis(k, element.nodes), LagrangeBasis(k - 1, "gauss")
        return {"multipliers": Space(gauss, False, "constraints"), "velocity": Space(whole, True, "coordinates"),
                "momenta of the action": Space(whole, True, "coordinates"),
                "impulses": Space(ImpulseBasis(k), False, "impulses"),
                "impulses at nodes": Space(whole, True, "impulses")}

    def test(self, element):
        k = element.degree
        parts = LagrangeBasis(k - 1, element.nodes)
        return {"motion": Space(LagrangeBasis(k, element.nodes), True, "coordinates"),
                "fiber": Space(parts, False, "coordinates"), "impulses": Space(parts, False, "constraints"),
                "multipliers": Space(LagrangeBasis(k - 1, "gauss"), False, "constraints"),
                **at_nodes("velocity", element), **at_nodes("impulses", element, "constraints"),
                **at_nodes("momenta", element)}

    def slots(self, element):
        every = range(element.degree + 1)
        return (("state", "value"), ("state", "rate"), *(("state", i) for i in every),
                *(("velocity", i) for i in every[1:]), ("momenta of the action", "value"),
                ("momenta of the action", "rate"), *(("momenta of the action", i) for i in every[1:]),
                ("impulses", "value"), ("impulses", "rate"), *(("impulses at nodes", i) for i in every),
                ("multipliers", "value"))

    def density(self, element, s):
        mu, momenta = s.slots["impulses", "value"], s.inertia(s.slots["momenta of the action", "value"])
        motion = (s.load(s.q, s.v) - s.pulled_by_rate(s.q, s.v, mu)
                  - s.inertia(s.slots["momenta of the action", "rate"]))
        start, end = impulse_slopes(element.degree, s.xi)
        rate = (s.slots["impulses", "rate"] + (start * s.slots["impulses at nodes", 0]
                                               + end * s.slots["impulses at nodes", element.degree]) / s.h)
        return [motion, s.momentum(s.q, s.v) - s.pulled(s.q, mu) - momenta, s.constraint_rate(s.q, s.v),
                s.slots["multipliers", "value"] + rate, *self._at_nodes(element, s), *momenta_rows(element, s)]

    @staticmethod
    def _at_nodes(element, s):
        """Rows of velocities and impulses at the nodes."""
        balances, rates = [], []
        for i, x in zip(nodes(element), element.state.basis.points[1:].tolist(), strict=True):
            q, u, t = s.node(i)[0], s.slots["velocity", i], s.t + (x - s.xi) * s.h
            pulled = s.pulled(q, s.slots["impulses at nodes", i], t)
            balances.append((s.momentum(q, u) - pulled - s.inertia(s.slots["momenta of the action", i])) / s.h)
            rates.append(s.constraint_rate(q, u, t) / s.h)
        return balances + rates

    def nodal_values(self, element, system, times, state, multipliers):
        gamma, n = multipliers[..., self.kept_multipliers(system)], system.n_q
        impulses = np.zeros((len(state), element.degree + 1, system.n_constraints))
        return [state, gamma, velocities(system, times, state), state[..., n:], impulses[:, 1:], impulses]

    def kept_multipliers(self, system):
        """Forces of the constraints alone."""
        return np.arange(system.n_multipliers) < system.n_constraints


@frozen
class BubnovGalerkin(TimeElement):
    """Bubnov-Galerkin element, May & Betsch (24): the residual is the gradient of the discrete action.

    Orders 2, 2, 4 for k = 1, 2, 3. Which tests and multipliers are left out to make the system of an initial-value
    problem square is not spelled out in the paper: with `drop="start"` the tests of the first node, and, with
    continuous multipliers, the multipliers there, which take their consistent value.

    Nonholonomic constraints, which no action leads to, enter as `A dH/dp + a = 0` with discontinuous multipliers of
    degree k - 1.

    Parameters
    ----------
    degree : int
        k, at least 1.
    multipliers : {"continuous", "discontinuous"}
        P^k continuous, or P^(k-1) discontinuous.
    n_points : int, optional
        Gauss points, at least k; default 2k.
    drop : {"start", "end"}
        Tests left out in initial-value problems. "end" (discontinuous multipliers only) is not strictly Bubnov, but
        has smaller errors and stays stable over long times.
    nodes : {"equidistant", "lobatto"}
    form : {"hamilton", "impulse"}
        "impulse": the action with the kinetic energy T(q, v), without the inverse of the mass matrix. For initial
        values, with discontinuous multipliers and `drop="start"`.

    Raises
    ------
    InputError
        For numbers out of range, and options that contradict each other.
    """

    degree: int = field("degree")
    multipliers: str = field("multipliers")
    n_points: int | None = field("n_points", default=None)
    drop: str = field("drop")
    nodes: str = field("nodes")
    form: str = field("form")

    name = "bg"

    def __post_init__(self):
        self._validate(minimum_points=self.degree if isinstance(self.degree, int) else 1)
        if self.drop == "end" and self.multipliers == "continuous":
            raise InputError("drop='end' needs multipliers='discontinuous': with continuous multipliers "
                             "the system would lose rank")

        if self.form not in BUBNOV_FORMS:
            able = " or ".join(f"form={name!r}" for name in BUBNOV_FORMS)
            raise InputError(f"BubnovGalerkin takes {able}, not {self.form!r}")
        if self.form == "impulse" and (self.multipliers, self.drop) != ("discontinuous", "start"):
            raise InputError("form='impulse' of BubnovGalerkin needs multipliers='discontinuous' and drop='start'")

    @property
    def order(self) -> int:
        """Order of convergence at the nodes (measured for k = 1, 2, 3)."""
        return 2 * ((self.degree + 1) // 2)

    @property
    def remedy(self) -> str:
        if self.drop == "end":
            return (f"its second root grows as exp(a t / {2 * self.degree + 1}) where damping lets motions decay as "
                    "exp(-a t): drop='start' and MixedGalerkin take damping")
        if self.degree > 2 or self.form != "hamilton":
            return ""
        return "over long times BubnovGalerkin(3), drop='end' and MixedGalerkin converge further"

    @property
    def _livens(self):
        """The form of the action with velocities; None for Hamilton's."""
        return None if self.form == "hamilton" else BubnovImpulseForm()

    @property
    def density_key(self) -> Hashable:
        return type(self), self.form, () if self._livens is None else (self.degree, self.nodes)

    @property
    def symbols(self) -> type:
        return PointSymbols if self._livens is None else self._livens.symbols

    @property
    def takes_ports(self) -> bool:
        return self.form == "hamilton"

    @property
    def takes_reactions(self) -> bool:
        return self._livens is None

    @property
    def needs_inverse_mass(self) -> bool:
        return self._livens is None

    @property
    def takes_coupled_inertia(self) -> bool:
        return self._livens is not None

    @property
    def is_variational(self) -> bool:
        return self._livens is None

    @property
    def constraint_row_power(self) -> int:
        return -1 if self._livens is None else 0

    @property
    def elements_per_block(self) -> int:
        # integrals of phi_i phi_j' up to a node in which the next element has its part are antisymmetric: regular for
        # an even number of nodes only. With drop="end" a test at a node goes with the element after it, and sees the
        # one before
        return 2 if self.degree % 2 or self.drop == "end" else 1

    @cached_property
    def trial(self) -> dict[str, Space]:
        state = {"state": Space(LagrangeBasis(self.degree, self.nodes), continuous=True)}
        if self._livens is not None:
            return state | self._livens.trial(self)
        continuous = self.multipliers == "continuous"
        multipliers = LagrangeBasis(self.degree - (not continuous), self.nodes)
        return state | {"multipliers": Space(multipliers, continuous, "multipliers"),
                        "nonholonomic": Space(LagrangeBasis(self.degree - 1, self.nodes), False, "nonholonomic")}

    @property
    def test(self) -> dict[str, Space]:
        return self.trial if self._livens is None else self._livens.test(self)

    @property
    def slots(self) -> tuple[tuple[str, Any], ...]:
        if self._livens is not None:
            return self._livens.slots(self)
        return (*TimeElement.slots, ("nonholonomic", "value"))

    def check(self, system: System) -> None:
        if self._livens is not None:
            self._livens.check(self, system)
        super().check(system)

    def kept_multipliers(self, system: System) -> np.ndarray:
        return super().kept_multipliers(system) if self._livens is None else self._livens.kept_multipliers(system)

    def nodal_values(self, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        if self._livens is not None:
            return self._livens.nodal_values(self, system, times, state, multipliers)
        return [state, multipliers, nonholonomic_values(self, system, times, state)]

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        if self._livens is not None:
            return self._livens.density(self, s)
        return s.motion, -s.constraints, -s.form  # the sign makes the tangent symmetric
