"""Hamilton's form: the equations of motion of (q, p) with the constraints on both levels."""

import casadi as ca
import numpy as np

from ... import validate
from ...polynomials import LagrangeBasis
from ..element import Space
from ..nonholonomic_terms import nonholonomic_values
from ..symbols import PointSymbols
from .base import Form


class HamiltonForm(Form):
    """`<J^T zdot - grad(H + lambda.Theta) + (Q, 0)> = 0`, `<dTheta/dt> = 0` with `Theta = (Phi, Psi)`.

    The inverse of the mass matrix enters H.
    """

    name = "hamilton"
    symbols = PointSymbols
    needs_inverse_mass, takes_coupled_inertia = True, False
    most_points = 2

    def trial(self, element):
        basis = LagrangeBasis(element.degree - 1, element.nodes)
        spaces = {"multipliers": Space(basis, False, "multipliers"),
                  "nonholonomic": Space(basis, False, "nonholonomic pairs")}
        if self._discrete(element):
            spaces["corrections"] = Space(LagrangeBasis(0), False, "multipliers")
        return spaces

    def test(self, element):
        return {"state": Space(LagrangeBasis(element.degree - 1, element.nodes), False)} | self.trial(element)

    def slots(self, element):
        slots = (("state", "value"), ("state", "rate"), ("multipliers", "value"), ("nonholonomic", "value"))
        if self._discrete(element):
            slots += (("corrections", "value"), ("state", "left"), ("state", "right"))
        return slots

    def nodal_values(self, element, system, times, state, multipliers):
        values = [state, multipliers, nonholonomic_values(element, system, times, state)]
        return values + [np.zeros((len(state), 1, system.n_multipliers))] * self._discrete(element)

    def density(self, element, s):
        rows = s.motion, s.constraint_rate, ca.vertcat(s.form_of_rate, s.form_rate)
        return discrete_constraints(s, *rows) if self._discrete(element) else rows

    def check(self, element, system):
        """Takes all that the element takes."""

    @staticmethod
    def _discrete(element):
        return element.constraints == "discrete-gradient"


def discrete_constraints(s, motion, constraint_rate, form):
    """Rows with the discrete gradient `D Theta = grad Theta + kappa (qdot, 0)` in the place of `grad Theta`.

    kappa is constant over the element, one number per constraint, such that the integral of `D Theta zdot` by Gauss
    quadrature is the increment of Theta: the midpoint discrete gradient of Gonzalez carried over to elements of any
    degree (May & Betsch, end of Sect. 3.1, ask for such a derivative). It is of the size of the error of quadrature,
    h^(2k) at least; where nothing moves it is zero.
    """
    kappa, n = s.slots["corrections", "value"], s.z.numel() // 2
    if not kappa.numel():
        return motion, constraint_rate, form, ca.SX(0, 1)
    if ca.depends_on(s.constraints, s.t):
        raise validate.InputError("constraints='discrete-gradient' needs constraints that do not depend on the time; "
                                  f"{s.part!r} does; leave constraints out")
    at = ca.Function("theta", [s.z, s.parameters], [s.constraints])
    left, right = s.slots["state", "left"], s.slots["state", "right"]
    rate = s.rate[:n]
    square = ca.sumsqr(rate)
    still = 1e-14 * (ca.sumsqr((left + right)[:n]) / 4 + 1e-30) / s.h**2
    motion = motion - ca.vertcat(ca.dot(kappa, s.multipliers) * rate, ca.SX(n, 1))
    increment = (at(right, s.parameters) - at(left, s.parameters)) / s.h
    return (motion, constraint_rate + kappa * square, form, constraint_rate + kappa * (square + still) - increment)
