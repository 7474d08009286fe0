"""The energy form: Livens' equations with the constraints on both levels (Gear, Gupta and Leimkuhler)."""

import casadi as ca

from ...polynomials import LagrangeBasis
from ..components import nonholonomic_values
from ..element import Space
from .base import Form, at_nodes, momenta_rows, velocities


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
        return {name: Space(basis, False, own) for name, own in spaces.items()} | at_nodes("momenta", element)

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
        return [state, multipliers, nonholonomic_values(element, system, times, state),
                velocities(system, times, state)]

    def check(self, element, system):
        """Takes all that the element takes."""
