"""The velocity form of unconstrained systems: the discrete Euler-Lagrange equations."""

import numpy as np

from ...errors import InputError
from ...polynomials import LagrangeBasis
from ..element import Space
from .base import Form, nodes
from .bases import EndingTests, RunningTest


class LagrangeForm(Form):
    """`<qdot - v> = 0`, `<T_v(q, v) - p> = 0`, `<pdot - L_q(q, v)> = 0`, tested by polynomials of degree k - 1.

    So v = qdot at the points, p follows from pdot, and what is left for q are the discrete Euler-Lagrange equations

    `int psi_j' (T_v - p_0) + Pi psi_j L_q dt = 0`

    with the tests psi_j that vanish at the end, and their projections `Pi psi_j`. With k Gauss points it is Gauss
    collocation, and symplectic.
    """

    name = "lagrange"

    def trial(self, element):
        return {"multipliers": Space(LagrangeBasis(element.degree - 1, element.nodes), False, "multipliers")}

    def test(self, element):
        k, own = element.degree, "coordinates"
        momenta = {f"momenta {i}": Space(RunningTest(k, element.nodes, i), False, own) for i in nodes(element)}
        return {"motion": Space(EndingTests(k, element.nodes), False, own)} | momenta

    def slots(self, element):
        return (("state", "value"), ("state", "rate"),
                *(("state", i) for i in range(element.degree + 1)))

    def test_slots(self, element):
        return tuple((name, where) for name in self.test(element) for where in ("rate", "value"))

    def density(self, element, s):
        load = s.load(s.q, s.v)
        rows = [s.momentum(s.q, s.v) - s.inertia(s.p0), load]
        for i in nodes(element):
            rows += [s.inertia(s.node(i)[1] - s.p0), -load]
        return rows

    def nodal_values(self, element, system, times, state, multipliers):
        return [state, multipliers]

    def kept_multipliers(self, system):
        return np.zeros(system.n_multipliers, bool)

    def check(self, element, system):
        super().check(element, system)
        if system.n_constraints:
            raise InputError(f"form='lagrange' takes no constraints ('{system.constraint_names[0]}'); use "
                             "form='impulse' or form='energy'")
