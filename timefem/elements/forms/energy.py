"""The energy form: Livens' equations with the constraints on both levels (Gear, Gupta and Leimkuhler)."""

import casadi as ca

from ...polynomials import LagrangeBasis
from ..element import Space
from .base import Form, at_nodes, momenta_rows, velocities


class EnergyForm(Form):
    """q and the velocity u continuous of degree k, multipliers and tests of degree k - 1:

    `<T_v(q, qdot) - T_v(q, u) - G^T mu> = 0`, `<d/dt T_v(q, u) - L_q(q, u) + G^T gamma + (G u + Phi_t)_q^T mu> = 0`,
    `<dPhi/dt> = 0`, `<d/dt (G u + Phi_t)> = 0`, and p = T_v(q, u) at the nodes.

    For a regular constant mass matrix it is mG(k); it takes singular ones too, and keeps the energy there.
    """

    name = "energy"
    most_points = 2

    def trial(self, element):
        return {"multipliers": Space(LagrangeBasis(element.degree - 1, element.nodes), False, "multipliers"),
                "velocity": Space(LagrangeBasis(element.degree, element.nodes), True, "coordinates")}

    def test(self, element):
        basis = LagrangeBasis(element.degree - 1, element.nodes)
        spaces = {"motion": "coordinates", "multipliers": "multipliers", "velocity": "coordinates"}
        return {name: Space(basis, False, own) for name, own in spaces.items()} | at_nodes("momenta", element)

    def slots(self, element):
        ends = range(element.degree + 1)
        return (("state", "value"), ("state", "rate"), *(("state", i) for i in ends),
                ("velocity", "value"), ("velocity", "rate"), *(("velocity", i) for i in ends[1:]),
                ("multipliers", "value"))

    def density(self, element, s):
        u, acceleration = s.slots["velocity", "value"], s.slots["velocity", "rate"]
        multipliers = s.slots["multipliers", "value"]
        m = multipliers.numel() // 2
        gamma, mu = multipliers[:m], multipliers[m:]
        momentum, rate = s.momentum(s.q, u), s.constraint_rate(s.q, u)
        motion = (s.along(momentum, (s.q, s.v), (u, acceleration)) - s.load(s.q, u) + s.pulled(s.q, gamma)
                  + s.pulled_by_rate(s.q, u, mu) - s.rubbed(s.q, u, gamma))
        constraints = ca.vertcat(s.constraint_rate(s.q, s.v), s.along(rate, (s.q, s.v), (u, acceleration)))
        kinematics = s.momentum(s.q, s.v) - momentum - s.pulled(s.q, mu)
        return [motion, constraints, kinematics, *momenta_rows(element, s)]

    def nodal_values(self, element, system, times, state, multipliers):
        return [state, multipliers, velocities(system, times, state)]
