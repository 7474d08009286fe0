"""The action in Livens' form with tests and trial functions from the same spaces."""

import numpy as np

from ...polynomials import LagrangeBasis
from ..element import Space
from .base import Form, at_nodes, momenta_rows, nodes, velocities
from .bases import ImpulseBasis, impulse_slopes


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
