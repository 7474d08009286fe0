"""Hamilton's form: the equations of motion of (q, p) with the constraints on both levels."""

import casadi as ca

from ...polynomials import LagrangeBasis
from ..components import nonholonomic_values
from ..element import Space
from ..symbols import PointSymbols
from .base import Form


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
