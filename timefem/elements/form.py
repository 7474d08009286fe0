"""What a form of the equations of motion gives to a Galerkin element, and shape and test functions on [0, 1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import InputError
from ..mechanics.part import Body
from ..mechanics.symbols import applied_force, first_order, n_reactions
from ..mechanics.values.of_parts import consistent_velocity, couples_inertia
from ..polynomials import LagrangeBasis, gauss_legendre
from ..records import frozen
from .components import ElementSymbols
from .element import Space
from .gradients import Lift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mechanics.system import System
    from .element import TimeElement


@dataclass(frozen=True)
class EndingTests:
    """Tests of the discrete action: the Lagrange polynomials psi_j of degree k that vanish at the end, j < k.

    `derivatives` are those of psi_j; `values` are those of their projections on polynomials of degree k - 1, which are
    their interpolations at k Gauss points.
    """

    degree: int
    nodes: str = "equidistant"

    @property
    def n_shapes(self):
        return self.degree

    def values(self, xi):
        gauss, basis = LagrangeBasis(self.degree - 1, "gauss"), LagrangeBasis(self.degree, self.nodes)
        return gauss.values(xi) @ basis.values(gauss.points)[:, :-1]

    def derivatives(self, xi):
        return LagrangeBasis(self.degree, self.nodes).derivatives(xi)[:, :-1]


@dataclass(frozen=True)
class ActionTests(EndingTests):
    """`EndingTests`, and behind them the tests of the momenta at the nodes but the first, times minus one.

    The latter are one up to their node, and zero behind. Their `values` are those of projections on polynomials of
    degree k - 1: the integral of such a polynomial times them is its integral up to the node. Their `derivatives` are
    zero: differences of momenta stand as they are, tested by the number of the test.
    """

    @property
    def n_shapes(self):
        return 2 * self.degree

    def values(self, xi):
        gauss = LagrangeBasis(self.degree - 1, "gauss")
        x, w = gauss_legendre(self.degree)
        ends = LagrangeBasis(self.degree, self.nodes).points[1:]
        integrals = [end * (w @ gauss.values(end * x)) / w for end in ends]  # of polynomials at Gauss points, up to it
        return np.hstack([super().values(xi), -gauss.values(xi) @ np.transpose(integrals)])

    def derivatives(self, xi):
        of_motion = super().derivatives(xi)
        return np.hstack([of_motion, np.zeros_like(of_motion)])


@frozen
class ImpulseBasis:
    """Polynomials of degree k - 1 through k Gauss points; with `end` the one that is one at the end.

    `derivatives` are those of the polynomial of degree k + 1 that is zero at the start and passes through the values
    at the Gauss points and at the end.
    """

    degree: int
    end: bool = False

    @property
    def n_shapes(self):
        return 1 if self.end else self.degree

    @property
    def points(self):
        return np.ones(1) if self.end else LagrangeBasis(self.degree - 1, "gauss").points

    def values(self, xi):
        return np.ones((len(xi), 1)) if self.end else LagrangeBasis(self.degree - 1, "gauss").values(xi)

    def derivatives(self, xi):
        places = np.concatenate([[0.0], LagrangeBasis(self.degree - 1, "gauss").points, [1.0]])
        slopes = np.stack([_slope(places, i, np.asarray(xi, float)) for i in range(1, len(places))], axis=1)
        return slopes[:, -1:] if self.end else slopes[:, :-1]


def impulse_slopes(degree, xi):
    """Derivatives at xi, a symbol, of the polynomials of degree k + 1 that are one at the start, and at the end, and
    zero at the other end and at the Gauss points."""
    places = np.concatenate([[0.0], LagrangeBasis(degree - 1, "gauss").points, [1.0]])
    return [_slope(places, i, xi) for i in (0, len(places) - 1)]


def _slope(places, i, xi):
    """Derivative of the Lagrange polynomial of place i."""
    others = np.delete(places, i)
    polynomial = np.polynomial.Polynomial.fromroots(others) / np.prod(places[i] - others)
    return polynomial.deriv()(xi)


def inner_velocities(degree, nodes):
    """Velocities at the inner nodes from coordinates and the velocities at the ends.

    The polynomial u of degree k that has the velocities at both ends, and whose moments up to degree k - 2 are those of
    qdot: accurate to h^(k + 1), where qdot itself is to h^k.

    Returns
    -------
    of_coordinates, of_ends : ndarray, shapes (k - 1, k + 1), (k - 1, 2)
        `u_i = of_coordinates q / h + of_ends (u_0, u_k)`.
    """
    basis, (x, w) = LagrangeBasis(degree, nodes), gauss_legendre(degree)
    moments = np.polynomial.legendre.legvander(2 * x - 1, degree - 1)[:, :degree - 1].T * w
    shapes, slopes = moments @ basis.values(x), moments @ basis.derivatives(x)
    inner, ends = shapes[:, 1:-1], shapes[:, [0, -1]]
    return np.linalg.solve(inner, slopes), -np.linalg.solve(inner, ends)


# ---- what the densities of Livens' forms are written in: the terms of the Lagrangian at any place

class LivensSymbols(ElementSymbols):
    """Symbols at a quadrature point, and the terms of `L(q, v, t) = T(q, v) - V(q, t)` and of the constraints.

    Attributes
    ----------
    q, v : SX
        Coordinates, and their rate qdot.
    p0 : SX
        Momenta at the start of the element.
    t1 : SX
        Time at its end.
    """

    def __init__(self, part, element, sizes):
        super().__init__(part, element, sizes)
        self.n = self.slots["state", "value"].numel() // 2
        self.q, self.v = self.slots["state", "value"][:self.n], self.slots["state", "rate"][:self.n]
        self.t1 = self.t + (1 - self.xi) * self.h
        self._functions = self._terms()

    def _terms(self):
        part, velocities = self.part, [ca.SX.sym("v", b.n_q) for b in self.part.bodies]
        at = self.at_point.at(self.at_point.q, self.at_point.p, [
            body.effort(q, c) if body.is_port else v
            for body, q, c, v in zip(part.bodies, self.at_point.q, self.at_point.bodies, velocities, strict=True)])
        q, v = ca.vertcat(*at.q), ca.vertcat(*velocities)
        controls = self.slots.get(("controls", "value"), ca.SX(0, 1))
        kinetic, phi = ca.SX(part.kinetic(at, velocities)), ca.SX(part.constraints(at))
        w, rate = ca.SX.sym("w", phi.numel()), ca.jtimes(phi, q, v) + ca.jacobian(phi, at.t)
        pulled = ca.SX(part.constraint_force(at, w))
        force = applied_force(part, at, controls) if controls.numel() else part.force(at)
        seen = ca.SX.sym("seen", w.numel() + n_reactions(part))
        further = part.multiplier_force(at, seen)
        energy = part.potential_energy(at)
        flows = first_order(part)
        rows = {"momentum": ca.gradient(kinetic, v), "inertial": ca.gradient(kinetic, q) * (1 - flows),
                "potential": ca.gradient(ca.SX(energy), q) * (1 - flows), "applied": ca.SX(force), "rate": rate,
                "pulled": pulled,
                "pulled by rate": ca.jtimes(pulled, q, v) + ca.jacobian(pulled, at.t)}
        arguments = [q, v, w, at.t, controls, self.parameters]
        form, nu = ca.SX(part.velocity_form(at)), ca.SX.sym("nu", len(part.nonholonomic_names))
        self._rubbed = ca.Function("rubbed", [q, v, seen, at.t, self.parameters],
                                   [ca.SX(self.n, 1) if further is None else further])
        rolling = {"form": form, "rolled": ca.jtimes(form, v, nu, True), "rolled by rate": ca.jtimes(form, q, nu, True)}
        self._rolling = {name: ca.Function(name.replace(" ", "_"), [q, v, nu, at.t, self.parameters], [row])
                         for name, row in rolling.items()}
        return {name: ca.Function(name.replace(" ", "_"), arguments, [row]) for name, row in rows.items()}

    def _term(self, name, q, v=None, w=None, t=None):
        controls = self.slots.get(("controls", "value"), ca.SX(0, 1))
        v = ca.SX.zeros(self.n) if v is None else v
        w = ca.SX.zeros(self._functions[name].numel_in(2)) if w is None else w
        return self._functions[name](q, v, w, self.t if t is None else t, controls, self.parameters)

    def node(self, i):
        """Coordinates and momenta at node `i` of the element."""
        if ("state", i) not in self.slots:
            raise InputError(f"form={self.element.form!r}: its density sees node {i}, and its slots have no "
                             f"('state', {i})")
        z = self.slots["state", i]
        return z[:self.n], z[self.n:]

    @property
    def p0(self):
        return self.node(0)[1]

    def inertia(self, expression):
        """The expression for a body, zero for other parts: what is there once per coordinate."""
        return expression if isinstance(self.part, Body) else ca.SX(self.n, 1)

    def momentum(self, q, v):
        """dT/dv."""
        return self._term("momentum", q, v)

    def flowing(self, of_motion, of_first_order):
        """The rows of one expression for coordinates with momenta, of the other one for those of first order."""
        flows = first_order(self.part)
        return of_motion * (1 - flows) + of_first_order * flows

    def load(self, q, v):
        """dL/dq + Q(q, v, t), with forces of controls and, where asked for, strains by their rate."""
        conservative = self._lifted if self.element.lifted else self._term("potential", q)
        return self._term("inertial", q, v) - conservative + self._term("applied", q, v)

    @cached_property
    def _lifted(self):
        """Lifted gradient of the potential energy V(q, t), SX (n,)."""
        part, at = self.part, lambda q, t: self.bodies_at(ca.vertcat(q, ca.SX.zeros(q.numel())), t=t)
        lift = None if part.is_body else part.lift(self.at_point)
        if lift is None:
            force = Lift(self, None, lambda e, t: part.potential_energy(at(e, t)), range(self.n)).force(ca.SX.ones(1))
            return force * (1 - first_order(part))
        return Lift(self, lambda q: part.lift(at(q, self.t)), lambda e, t: part.lifted_energy(self.at_point, e),
                    range(self.n)).force(ca.SX.ones(1))

    def constraint_rate(self, q, v, t=None):
        """`G v + dPhi/dt` with `G = dPhi/dq`."""
        return self._term("rate", q, v, t=t)

    def pulled(self, q, w, t=None):
        """`G^T w`."""
        return self._term("pulled", q, w=w, t=t)

    def rubbed(self, q, v, w):
        """`Part.multiplier_force`."""
        return self._rubbed(q, v, w, self.t, self.parameters)

    def pulled_by_rate(self, q, v, w):
        """`(G v + dPhi/dt)_q^T w`, the rate of `G^T w` at fixed w."""
        return self._term("pulled by rate", q, v, w)

    def _rolls(self, name, q, v, nu):
        return self._rolling[name](q, v, nu, self.t, self.parameters)

    def form(self, q, v):
        """Nonholonomic constraints `F = A(q, t) v + a(q, t)`."""
        return self._rolls("form", q, v, ca.SX.zeros(len(self.part.nonholonomic_names)))

    def rolled(self, q, nu):
        """`A^T nu`."""
        return self._rolls("rolled", q, ca.SX.zeros(self.n), nu)

    def rolled_by_rate(self, q, v, sigma):
        """`F_q^T sigma`."""
        return self._rolls("rolled by rate", q, v, sigma)

    def along(self, f, *pairs):
        """Time derivative of `f` (SX) along pairs of symbols and their rates, with that at fixed symbols."""
        return sum((ca.jtimes(f, x, rate) for x, rate in pairs), ca.jacobian(f, self.t))


class Form(ABC):
    """Spaces, tests and rows of a form. Where a method takes an `element`, it is the Galerkin element it is asked for.

    Attributes
    ----------
    name : str
        What `MixedGalerkin(form=...)` calls it.
    symbols : callable
        Makes the argument of `density`.
    needs_inverse_mass, takes_coupled_inertia, takes_ports : bool
        As for `TimeElement`.
    takes_reactions : bool
        As for `TimeElement`: the density has `s.rubbed` or the like.
    takes_lifts : bool
        Whether the density takes lifted gradients with `keep="all"`, which is refused otherwise.
    most_points : int
        Gauss points per degree, by default.
    """

    symbols = LivensSymbols
    needs_inverse_mass, takes_coupled_inertia, takes_ports = False, True, False
    takes_reactions = takes_lifts = False
    most_points = 1

    @abstractmethod
    def trial(self, element: TimeElement) -> dict[str, Space]:
        """Trial spaces without that of the state."""

    @abstractmethod
    def test(self, element: TimeElement) -> dict[str, Space]:
        """Test spaces by field."""

    @abstractmethod
    def slots(self, element: TimeElement) -> tuple[tuple[str, Any], ...]:
        """As `TimeElement.slots`."""

    def test_slots(self, element: TimeElement) -> tuple[tuple[str, Any], ...]:
        """As `TimeElement.test_slots`."""
        return tuple((name, "value") for name in self.test(element))

    def explicit(self, element: TimeElement) -> tuple[tuple[str, int, str, int], ...]:
        """As `TimeElement.explicit`."""
        return ()

    @abstractmethod
    def density(self, element: TimeElement, s: Any) -> Sequence[Any]:
        """Rows of one part per test slot, in the symbols `s`."""

    @abstractmethod
    def nodal_values(self, element: TimeElement, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        """As `TimeElement.nodal_values`."""

    def kept_multipliers(self, system: System) -> np.ndarray:
        """As `TimeElement.kept_multipliers`."""
        return np.ones(system.n_multipliers, bool)

    def check(self, element: TimeElement, system: System) -> None:
        """Refuse systems that the form cannot take."""
        if system.n_nonholonomic:
            raise InputError(f"form={self.name!r} does not take nonholonomic constraints "
                             f"('{system.nonholonomic_names[0]}'); use form='hamilton', or 'energy', also of trees")


def at_nodes(name, element, components="coordinates"):
    """Tests of rows that stand for each node but the first: one constant per node."""
    return {f"{name} {i}": Space(LagrangeBasis(0), False, components) for i in nodes(element)}


def momenta_rows(element, s):
    """Rows `p = T_v(q, u)` at each node but the first."""
    for i in nodes(element):
        q, p = s.node(i)
        yield (s.inertia(p) - s.momentum(q, s.slots["velocity", i])) / s.h


def nodes(element):
    """Numbers of the nodes of an element but the first."""
    return range(1, element.degree + 1)


def velocities(system, times, state):
    """Velocities of states: those of the momenta, that hold the constraints; shapes (...), (..., n_z) -> (..., n_q)."""
    if not couples_inertia(system):
        return system.velocity(times, state)
    shape = state.shape[:-1]
    found = [consistent_velocity(system, t, z) for t, z in
             zip(np.broadcast_to(times, shape).ravel(), state.reshape(-1, system.n_z), strict=True)]
    return np.array(found).reshape(*shape, system.n_q)
