"""The velocity form of unconstrained systems: the discrete Euler-Lagrange equations."""

import numpy as np

from ...errors import InputError
from ...polynomials import LagrangeBasis
from ..element import Space
from .base import Form, nodes
from .bases import ActionTests


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
