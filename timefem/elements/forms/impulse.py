"""The impulse form of constrained systems: symplectic on the constraint manifold."""

import numpy as np

from ...polynomials import LagrangeBasis
from ..element import Space
from .base import Form, at_nodes, momenta_rows, velocities
from .bases import EndingTests, ImpulseBasis, inner_velocities


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
