"""The forms of the equations of motion beside Livens' own: Lagrange's, Hamilton's, the impulse and the energy form."""

import casadi as ca
import numpy as np

from ..errors import InputError
from ..mechanics.values.of_parts import constraints_in_momenta
from ..polynomials import LagrangeBasis
from .components import PointSymbols, nonholonomic_values
from .element import Space
from .form import (
    ActionTests,
    EndingTests,
    Form,
    ImpulseBasis,
    at_nodes,
    inner_velocities,
    momenta_rows,
    nodes,
    velocities,
)


class LagrangeForm(Form):
    """`<qdot - v> = 0`, `<T_v(q, v) - p> = 0`, `<pdot - L_q(q, v)> = 0`, tested by polynomials of degree k - 1.

    So v = qdot at the points, p follows from pdot, and what is left for q are the discrete Euler-Lagrange equations

    `int psi_j' (T_v - p_0) + Pi psi_j L_q dt = 0`

    with the tests psi_j that vanish at the end, and their projections `Pi psi_j`. With k Gauss points it is Gauss
    collocation, and symplectic.
    """

    name = "lagrange"
    takes_lifts = True
    takes_ports = True

    def trial(self, element):
        return {"multipliers": Space(LagrangeBasis(element.degree - 1, element.nodes), False, "multipliers")}

    def test(self, element):
        return {"motion": Space(ActionTests(element.degree, element.nodes), False, "coordinates")}

    def slots(self, element):
        return (("state", "value"), ("state", "rate"),
                *(("state", i) for i in range(element.degree + 1)))

    def test_slots(self, element):
        return ("motion", "rate"), ("motion", "value"), *(("motion", row) for row, _ in self._momenta(element))

    def explicit(self, element):
        return tuple(("motion", row, "state", node) for row, node in self._momenta(element))

    @staticmethod
    def _momenta(element):
        """Number of the test that gives the momenta of each node but the first."""
        return [(element.degree + i - 1, i) for i in nodes(element)]

    def density(self, element, s):
        momenta = [s.inertia(s.node(i)[1] - s.p0) / s.h for i in nodes(element)]
        load = s.load(s.q, s.v)
        return [s.flowing(s.momentum(s.q, s.v) - s.inertia(s.p0), 0), s.flowing(load, s.inertia(s.v) - load), *momenta]

    def nodal_values(self, element, system, times, state, multipliers):
        return [state, multipliers]

    def kept_multipliers(self, system):
        return np.zeros(system.n_multipliers, bool)

    def check(self, element, system):
        super().check(element, system)
        if system.n_constraints:
            stays = "; coordinates='joint' leaves joints that close loops, and of Universal and Spherical joints " \
                    "body_b has to be the one nearer to the ground" if system.stands_for else ""
            raise InputError(f"form='lagrange' takes no constraints ('{system.constraint_names[0]}'); use "
                             f"form='impulse' or form='energy'{stays}")


class HamiltonForm(Form):
    """`<J^T zdot - grad(H + lambda.Theta) + (Q, 0)> = 0`, `<dTheta/dt> = 0` with `Theta = (Phi, Psi)`.

    The inverse of the mass matrix enters H.
    """

    name = "hamilton"
    takes_ports = takes_reactions = takes_lifts = True
    symbols = PointSymbols
    needs_inverse_mass, takes_coupled_inertia = True, False
    most_points = 2

    def trial(self, element):
        return self._spaces(LagrangeBasis(element.degree - 1, element.nodes))

    def test(self, element):
        """With as many points as tests those that are zero at all points but one: rows are those of a point."""
        basis = LagrangeBasis(element.degree - 1, "gauss" if element.one_kernel else element.nodes)
        return {"state": Space(basis, False)} | self._spaces(basis)

    @staticmethod
    def _spaces(basis):
        return {"multipliers": Space(basis, False, "multipliers"),
                "nonholonomic": Space(basis, False, "nonholonomic pairs")}

    def slots(self, element):
        return ("state", "value"), ("state", "rate"), ("multipliers", "value"), ("nonholonomic", "value")

    def nodal_values(self, element, system, times, state, multipliers):
        return [state, multipliers, nonholonomic_values(element, system, times, state)]

    def density(self, element, s):
        return s.motion, s.constraint_rate, ca.vertcat(s.form_of_rate, s.form_rate)

    def check(self, element, system):
        """Takes all that the element takes."""


class ImpulseForm(Form):
    """Variation of `int p.(qdot - v) + L(q, v) - mu.(G v + Phi_t) dt`, with the momenta restarted in each element.

    Of `<qdot - v>`, `<T_v - G^T mu - p>`, `<pdot - L_q + (G v + Phi_t)_q^T mu>`, `<dPhi/dt>`, tested by polynomials of
    degree k - 1, v = qdot and p are eliminated as in `LagrangeForm`. At the end of an element, where p = p_1,

    `T_v(q_1, u_1) - G_1^T mu_1 = p_1`, `G_1 u_1 + Phi_t = 0`

    give the velocity u_1 and the impulse -mu_1 of the constraints; the next element starts from T_v(q_1, u_1). The
    forces of the constraints are -d mu/dt, of the polynomial through zero at the start, mu and mu_1.
    """

    name = "impulse"
    takes_lifts = True

    def trial(self, element):
        k = element.degree
        return {"multipliers": Space(LagrangeBasis(k - 1, "gauss"), False, "constraints"),
                "velocity": Space(LagrangeBasis(k, element.nodes), True, "coordinates"),
                "impulses": Space(ImpulseBasis(k), False, "impulses"),
                "end impulses": Space(ImpulseBasis(k, end=True), False, "impulses")}

    def test(self, element):
        k, constant = element.degree, LagrangeBasis(0)
        return {"motion": Space(EndingTests(k, element.nodes), False, "coordinates"),
                "impulses": Space(LagrangeBasis(k - 1, element.nodes), False, "constraints"),
                "multipliers": Space(LagrangeBasis(k - 1, "gauss"), False, "constraints"),
                "end impulses": Space(constant, False, "constraints"),
                **at_nodes("velocity", element), **at_nodes("momenta", element)}

    def slots(self, element):
        return (("state", "value"), ("state", "rate"), *(("state", i) for i in range(element.degree + 1)),
                *(("velocity", i) for i in range(element.degree + 1)), ("impulses", "value"), ("impulses", "rate"),
                ("end impulses", "value"), ("end impulses", "rate"), ("multipliers", "value"))

    def test_slots(self, element):
        return ("motion", "rate"), *super().test_slots(element)

    def density(self, element, s):
        q1, u1 = s.node(element.degree)[0], s.slots["velocity", element.degree]
        mu, mu1 = s.slots["impulses", "value"], s.slots["end impulses", "value"]
        rate = s.slots["impulses", "rate"] + s.slots["end impulses", "rate"]
        p0, load = s.inertia(s.p0), s.load(s.q, s.v) - s.pulled_by_rate(s.q, s.v, mu)
        end = (s.momentum(q1, u1) - s.pulled(q1, mu1, s.t1) - p0) / s.h - load
        return [s.momentum(s.q, s.v) - s.pulled(s.q, mu) - p0, load, s.constraint_rate(s.q, s.v),
                s.slots["multipliers", "value"] + rate, s.constraint_rate(q1, u1, s.t1) / s.h,
                *self._inner_velocities(element, s), end, *momenta_rows(element, s)]

    @staticmethod
    def _inner_velocities(element, s):
        """Rows of the velocities at the inner nodes, see `inner_velocities`; they belong to bodies."""
        k = element.degree
        q, u = [s.node(i)[0] for i in range(k + 1)], [s.slots["velocity", i] for i in range(k + 1)]
        numbers = zip(*inner_velocities(k, element.nodes), strict=True)
        for i, (of_coordinates, (of_start, of_end)) in enumerate(numbers, start=1):
            rate = sum(c * x for c, x in zip(of_coordinates.tolist(), q, strict=True)) / s.h
            yield s.inertia(u[i] - rate - of_start * u[0] - of_end * u[k]) / s.h

    def nodal_values(self, element, system, times, state, multipliers):
        gamma = multipliers[..., self.kept_multipliers(system)]
        h, places = times[:, -1:] - times[:, :1], ImpulseBasis(element.degree).points
        return [state, gamma, velocities(system, times, state), -h[..., None] * places[:, None] * gamma,
                -h[..., None] * gamma[:, -1:]]

    def kept_multipliers(self, system):
        """Forces of the constraints alone."""
        return np.arange(system.n_multipliers) < system.n_constraints


class EnergyForm(Form):
    """q and the velocity u continuous of degree k, multipliers and tests of degree k - 1:

    `<T_v(q, qdot) - T_v(q, u) - G^T mu> = 0`, `<d/dt T_v(q, u) - L_q(q, u) + G^T gamma + (G u + Phi_t)_q^T mu> = 0`,
    `<dPhi/dt> = 0`, `<d/dt (G u + Phi_t)> = 0`, and p = T_v(q, u) at the nodes. Nonholonomic constraints
    `F = A v + a = 0` have pairs of multipliers, too: `A^T nu` and `F_q(q, u)^T sigma` in the second row, `-A^T sigma`
    in the first, `<F(q, qdot)> = 0` and `<d/dt F(q, u)> = 0`.

    For a regular constant mass matrix it is mG(k); it takes singular ones too, and keeps the energy there.
    """

    name = "energy"
    takes_ports = takes_reactions = takes_lifts = True
    most_points = 2

    def trial(self, element):
        basis = LagrangeBasis(element.degree - 1, element.nodes)
        return {"multipliers": Space(basis, False, "multipliers"),
                "nonholonomic": Space(basis, False, "nonholonomic pairs"),
                "velocity": Space(LagrangeBasis(element.degree, element.nodes), True, "coordinates")}

    def test(self, element):
        basis = LagrangeBasis(element.degree - 1, element.nodes)
        spaces = {"motion": "coordinates", "multipliers": "multipliers", "nonholonomic": "nonholonomic pairs",
                  "velocity": "coordinates"}
        return ({name: Space(basis, False, own, of_paths=name == "velocity") for name, own in spaces.items()}
                | at_nodes("momenta", element))

    def slots(self, element):
        ends = range(element.degree + 1)
        return (("state", "value"), ("state", "rate"), *(("state", i) for i in ends),
                ("velocity", "value"), ("velocity", "rate"), *(("velocity", i) for i in ends[1:]),
                ("multipliers", "value"), ("nonholonomic", "value"))

    def density(self, element, s):
        u, acceleration = s.slots["velocity", "value"], s.slots["velocity", "rate"]
        multipliers = s.own_multipliers
        rolling = s.slots["nonholonomic", "value"]
        (gamma, mu), (nu, sigma) = (ca.vertsplit(x, max(x.numel() // 2, 1)) if x.numel() else (x, x)
                                    for x in (multipliers, rolling))
        momentum, rate = s.momentum(s.q, u), s.constraint_rate(s.q, u)
        motion = (s.along(momentum, (s.q, s.v), (u, acceleration)) - s.load(s.q, u) + s.pulled(s.q, gamma)
                  + s.pulled_by_rate(s.q, u, mu) - s.rubbed(s.q, u, s.forces_seen)
                  + s.rolled(s.q, nu) + s.rolled_by_rate(s.q, u, sigma))
        constraints = ca.vertcat(s.constraint_rate(s.q, s.v), s.along(rate, (s.q, s.v), (u, acceleration)))
        forms = ca.vertcat(s.form(s.q, s.v), s.along(s.form(s.q, u), (s.q, s.v), (u, acceleration)))
        kinematics = s.momentum(s.q, s.v) - momentum - s.pulled(s.q, mu) - s.rolled(s.q, sigma)
        motion = s.flowing(motion, s.inertia(acceleration))
        kinematics = s.flowing(kinematics, s.inertia(s.v) - s.load(s.q, u))
        return [motion, constraints, forms, kinematics, *momenta_rows(element, s)]

    def nodal_values(self, element, system, times, state, multipliers):
        in_momenta = np.append(np.zeros(system.n_constraints, bool), constraints_in_momenta(system))
        multipliers = np.where(in_momenta, 0.0, multipliers)  # here momenta, beside rates of momenta of another unit
        return [state, multipliers, nonholonomic_values(element, system, times, state),
                velocities(system, times, state)]

    def check(self, element, system):
        """Takes all that the element takes."""
